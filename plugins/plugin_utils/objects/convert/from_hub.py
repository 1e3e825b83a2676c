# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion from the hub form (v1beta2) to v1alpha3, v1alpha4 and v1beta1.

The shapes and the version in which each field came are those of Cluster API's types (its last v1alpha3, v1alpha4 and v1beta1). What a
version has no place for is left out here; whole_objects.py finds and reports it, or keeps it the way Cluster API does.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...documents.scalars import format_duration
from ...kubeadm.configuration import fields
from .. import kinds, machine_health_check
from . import workers

V1BETA2 = kinds.MANIFEST_VERSIONS[-1]
_V1ALPHA4, _V1BETA1, _HUB_ONLY = 1, 2, 3

# Kubeadm's fields that Cluster API's copy of its types got later than v1alpha3: name -> index of the version.
_KUBEADM_SINCE: Mapping[str, int] = {
    "ignorePreflightErrors": _V1ALPHA4,
    "imagePullPolicy": _V1BETA1,
    "imagePullSerial": _V1BETA1,
    "extraEnvs": _V1BETA1,
    "skipPhases": _V1BETA1,
    "patches": _V1BETA1,
    "encryptionAlgorithm": _V1BETA1,
    "certificateValidityPeriodDays": _V1BETA1,
    "caCertificateValidityPeriodDays": _V1BETA1,
    # Two of them have a field elsewhere in the older form.
    "timeouts": _HUB_ONLY,
}
_DELETION = (
    ("nodeDrainTimeoutSeconds", "nodeDrainTimeout", 0),
    ("nodeVolumeDetachTimeoutSeconds", "nodeVolumeDetachTimeout", _V1BETA1),
    ("nodeDeletionTimeoutSeconds", "nodeDeletionTimeout", _V1BETA1),
)
CLUSTER_API_GROUPS = (kinds.GROUP_CLUSTER, kinds.GROUP_CONTROL_PLANE, kinds.GROUP_BOOTSTRAP, kinds.GROUP_ADDONS)


@dataclass(frozen=True)
class Target:
    """Target of a conversion: Cluster API version, infrastructure version and namespace.

    The infrastructure version is that of references; the namespace is the object's.
    """

    version: str
    infrastructure_version: str
    namespace: str

    @property
    def index(self) -> int:
        """Index of the version: 0 is v1alpha3, 2 is v1beta1."""
        return kinds.MANIFEST_VERSIONS.index(self.version)

    def has(self, since: int) -> bool:
        """Return whether this version has fields that came with version `since`.

        `since` is the version's index.
        """
        return self.index >= since

    def api_version(self, group: str) -> str:
        """Return the apiVersion of a group's kinds in this version."""
        return f"{group}/{self.version if group in CLUSTER_API_GROUPS else self.infrastructure_version}"


def older_spec(kind: str, spec: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return a Cluster API kind's spec in an older version.

    The spec of other kinds is copied unchanged.
    """
    if kind == kinds.CLUSTER:
        return _cluster(spec, target)
    if kind == kinds.KUBEADM_CONTROL_PLANE:
        return _control_plane(spec, target)
    if kind == kinds.MACHINE:
        return _machine(spec, target)
    if kind == kinds.KUBEADM_CONFIG:
        return _config(spec, target)
    if kind == kinds.MACHINE_HEALTH_CHECK:
        return machine_health_check.to_classic(spec, target.index)
    if kind in workers.KINDS:
        return workers.to_classic(
            kind, spec, target.index, lambda found: _machine(found, target), lambda found: _config(found, target)
        )
    return copy.deepcopy(dict(spec))


def _reference(reference: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return an ObjectReference of the older form, with its namespace."""
    written = {"apiVersion": target.api_version(reference["apiGroup"])} if reference.get("apiGroup") else {}
    written.update({key: reference[key] for key in ("kind", "name") if key in reference})
    return {**written, "namespace": target.namespace}


def _cluster(spec: Mapping[str, Any], target: Target) -> dict[str, Any]:
    written = copy.deepcopy(dict(spec))
    for key in ("controlPlaneRef", "infrastructureRef"):
        if key in written:
            written[key] = _reference(written[key], target)
    return written


def _machine(spec: Mapping[str, Any], target: Target) -> dict[str, Any]:
    keys = ("clusterName", "version", "providerID", "failureDomain", "bootstrap")
    written = {key: copy.deepcopy(spec[key]) for key in keys if key in spec}
    if "configRef" in (written.get("bootstrap") or {}):
        written["bootstrap"]["configRef"] = _reference(written["bootstrap"]["configRef"], target)
    if "infrastructureRef" in spec:
        written["infrastructureRef"] = _reference(spec["infrastructureRef"], target)
    written.update(_lists_since_v1beta1(spec, target))
    written.update(_deletion(spec, target))
    return written


def _lists_since_v1beta1(spec: Mapping[str, Any], target: Target) -> dict[str, Any]:
    names = ("readinessGates", "taints") if target.has(_V1BETA1) else ()
    return {name: copy.deepcopy(spec[name]) for name in names if name in spec}


def _deletion(spec: Mapping[str, Any], target: Target) -> dict[str, str]:
    deletion = spec.get("deletion") or {}
    return {
        name: format_duration(deletion[hub])
        for hub, name, since in _DELETION
        if deletion.get(hub) is not None and target.has(since)
    }


def _control_plane(spec: Mapping[str, Any], target: Target) -> dict[str, Any]:
    written = {key: spec[key] for key in ("replicas", "version") if key in spec}
    template = spec.get("machineTemplate") or {}
    inner = template.get("spec") or {}
    reference = _reference(inner["infrastructureRef"], target) if inner.get("infrastructureRef") else None
    if not target.has(_V1ALPHA4):
        if reference is not None:
            written["infrastructureTemplate"] = reference
        written.update(_deletion(inner, target))
    elif "machineTemplate" in spec:
        older: dict[str, Any] = {"infrastructureRef": reference} if reference is not None else {}
        if "metadata" in template:
            older["metadata"] = copy.deepcopy(template["metadata"])
        written["machineTemplate"] = {**older, **_lists_since_v1beta1(inner, target), **_deletion(inner, target)}
    rollout = spec.get("rollout") or {}
    if "after" in rollout:
        written["rolloutAfter" if target.has(_V1ALPHA4) else "upgradeAfter"] = rollout["after"]
    if "strategy" in rollout:
        written["rolloutStrategy"] = copy.deepcopy(rollout["strategy"])
    if target.has(_V1BETA1):
        _since_v1beta1(spec, rollout, written)
    if "kubeadmConfigSpec" in spec:
        written["kubeadmConfigSpec"] = _config(spec["kubeadmConfigSpec"], target)
    return written


def _since_v1beta1(spec: Mapping[str, Any], rollout: Mapping[str, Any], written: dict[str, Any]) -> None:
    if "before" in rollout:
        written["rolloutBefore"] = copy.deepcopy(rollout["before"])
    if "machineNaming" in spec:
        written["machineNamingStrategy"] = copy.deepcopy(spec["machineNaming"])
    if "remediation" in spec:
        remediation = spec["remediation"]
        strategy = {key: remediation[key] for key in ("maxRetry",) if key in remediation}
        for name in ("retryPeriod", "minHealthyPeriod"):
            if remediation.get(name + "Seconds") is not None:
                strategy[name] = format_duration(remediation[name + "Seconds"])
        written["remediationStrategy"] = strategy


_PARTS = (
    ("clusterConfiguration", fields.CLUSTER_CONFIGURATION),
    ("initConfiguration", fields.INIT_CONFIGURATION),
    ("joinConfiguration", fields.JOIN_CONFIGURATION),
)


def _config(spec: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return a KubeadmConfigSpec in the older form."""
    parts = {name for name, _struct in _PARTS}
    written = {key: copy.deepcopy(value) for key, value in spec.items() if key not in parts}
    for name, struct in _PARTS:
        if spec.get(name) is not None:
            written[name] = _kubeadm(struct, spec[name], target)
    if not target.has(_V1BETA1):
        for section, later in (("files", "append"), ("files", "contentFormat"), ("users", "passwdFrom")):
            for entry in written.get(section) or []:
                entry.pop(later, None)
    _moved_timeouts(spec, written)
    return written


def _moved_timeouts(spec: Mapping[str, Any], written: dict[str, Any]) -> None:
    """Move the two timeouts that the older form has elsewhere.

    discovery follows kubeadm's own rule.

    Source: docs/reference/kubeadm.md, "Conversion".
    """

    def seconds(part: str, name: str) -> Any:
        return ((spec.get(part) or {}).get("timeouts") or {}).get(name + "Seconds")

    name = "controlPlaneComponentHealthCheck"
    health = seconds("initConfiguration", name)
    health = seconds("joinConfiguration", name) if health is None else health
    if health is not None:
        server = written.setdefault("clusterConfiguration", {}).setdefault("apiServer", {})
        server["timeoutForControlPlane"] = format_duration(health)
    discovery = seconds("joinConfiguration", "discovery")
    if discovery is not None:
        written["joinConfiguration"].setdefault("discovery", {})["timeout"] = format_duration(discovery)


def _kubeadm(struct: fields.Struct, value: Mapping[str, Any], target: Target) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for field in struct.fields:
        entry = value.get(field.hub_name) if field.hub and field.capi else None
        if entry is None or not target.has(_KUBEADM_SINCE.get(field.hub_name, 0)):
            continue
        # Cluster API counts days in every version; only its other durations were text.
        name = field.name if field.type == fields.DURATION else field.hub_name
        written[name] = _value(field, entry, target)
    return written


def _value(field: fields.Field, value: Any, target: Target) -> Any:
    if field.type == fields.STRUCTS and field.struct is not None:
        return [_kubeadm(field.struct, entry, target) for entry in value]
    if field.struct is not None:
        return _kubeadm(field.struct, value, target)
    if field.type == fields.ARGS:
        # As in Cluster API, the last of a repeated flag's values stays.
        return {str(entry.get("name", "")): entry.get("value", "") for entry in value}
    return format_duration(value) if field.type == fields.DURATION else copy.deepcopy(value)
