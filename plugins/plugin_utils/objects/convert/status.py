# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of status between the v1beta2 contract (hub form) and older ones.

Source: docs/reference/cluster_api.md, "Fields of older versions".

As in Cluster API, conditions of one contract never become conditions of the other: v1beta2's live in `status.v1beta2` of a v1beta1
object, the older ones in `status.deprecated.v1beta1` of a v1beta2 object, with failureReason, failureMessage and the old counters.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....module_utils.common.violations import Report
from ...documents.schema import ABSENT, MapOf, check
from .. import kinds

_V1ALPHA3, _V1ALPHA4, _V1BETA1 = 0, 1, 2
_DOMAIN = {"name": "string", "controlPlane": "boolean", "attributes": "any"}
# What the conversion looks into; everything else is carried as it is.
_SHAPES: Mapping[str, Any] = {
    "initialization": "object",
    "deprecated": {"v1beta1": "object"},
    "v1beta2": "object",
    "nodeRef": "object",
    "lastRemediation": "object",
    "readyReplicas": "integer",
}
_LEGACY = ("conditions", "failureReason", "failureMessage")


@dataclass(frozen=True)
class _Form:
    """Form of one kind's status, for its conversion.

    `same`: fields of one name and shape -> index of the Cluster API version that brought them. `ready`: key below `initialization` ->
    the old field's name. `counters`: old counters that the hub keeps in `deprecated.v1beta1`. `current`: what v1beta1 keeps beside the
    conditions in `v1beta2`. `both`: old fields that the hub carries at its top as well
    (the control plane contract reads them there).
    """

    same: Mapping[str, int]
    ready: Mapping[str, str]
    counters: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    both: tuple[str, ...] = ()


_FORMS: Mapping[str, _Form] = {
    kinds.CLUSTER: _Form(
        same={"phase": 0, "observedGeneration": 0},
        ready={"infrastructureProvisioned": "infrastructureReady", "controlPlaneInitialized": "controlPlaneReady"},
        current=("controlPlane", "workers"),
        both=("controlPlaneReady",),
    ),
    kinds.KUBEADM_CONTROL_PLANE: _Form(
        same={"selector": 0, "replicas": 0, "observedGeneration": 0, "version": _V1ALPHA4, "versions": _V1BETA1},
        ready={"controlPlaneInitialized": "initialized"},
        counters=("updatedReplicas", "readyReplicas", "unavailableReplicas"),
        current=("readyReplicas", "availableReplicas", "upToDateReplicas"),
        both=("initialized", "ready", "updatedReplicas", "unavailableReplicas"),
    ),
    kinds.MACHINE: _Form(
        same={
            "addresses": 0,
            "phase": 0,
            "observedGeneration": 0,
            "lastUpdated": 0,
            "nodeInfo": _V1ALPHA4,
            "certificatesExpiryDate": _V1BETA1,
            "deletion": _V1BETA1,
        },
        ready={"infrastructureProvisioned": "infrastructureReady", "bootstrapDataSecretCreated": "bootstrapReady"},
    ),
    kinds.KUBEADM_CONFIG: _Form(
        same={"dataSecretName": 0, "observedGeneration": 0},
        ready={"dataSecretCreated": "ready"},
    ),
    kinds.MACHINE_DEPLOYMENT: _Form(
        same={"selector": 0, "replicas": 0, "observedGeneration": 0, "phase": 0, "versions": _V1BETA1},
        ready={},
        counters=("updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"),
        current=("readyReplicas", "availableReplicas", "upToDateReplicas"),
    ),
    kinds.MACHINE_SET: _Form(
        same={"selector": 0, "replicas": 0, "observedGeneration": 0, "versions": _V1BETA1},
        ready={},
        counters=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        current=("readyReplicas", "availableReplicas", "upToDateReplicas"),
    ),
    # It has no status.
    kinds.KUBEADM_CONFIG_TEMPLATE: _Form(same={}, ready={}),
    kinds.MACHINE_HEALTH_CHECK: _Form(
        same=dict.fromkeys(
            ("expectedMachines", "currentHealthy", "remediationsAllowed", "observedGeneration", "targets"), 0
        ),
        ready={},
    ),
    kinds.CLUSTER_RESOURCE_SET: _Form(same={"observedGeneration": 0}, ready={}),
}


def checked_status(status: Any, report: Report) -> dict[str, Any]:
    """Return a status without fields of the wrong shape, which are reported."""
    found = check(status, "object", "status", report)
    if found is ABSENT:
        return {}
    known = {key: _SHAPES[key] for key in _SHAPES if key in found}
    domains = found.get("failureDomains")
    if domains is not None:
        known["failureDomains"] = [_DOMAIN] if isinstance(domains, list) else MapOf("object")
    checked = check({key: found[key] for key in known}, known, "status", report)
    return {
        key: checked.get(key) if key in known else value
        for key, value in found.items()
        if key not in known or key in checked
    }


def older_status(kind: str, status: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return a hub status in the Cluster API version number `index`.

    Fields that the version has no place for are left out.
    """
    form = _FORMS.get(kind)
    if form is None:
        return _older_infrastructure(status)
    written = {key: copy.deepcopy(status[key]) for key, since in form.same.items() if key in status and index >= since}
    initialization = status.get("initialization") or {}
    written.update({name: initialization[key] for key, name in form.ready.items() if key in initialization})
    legacy = (status.get("deprecated") or {}).get("v1beta1") or {}
    written.update({key: copy.deepcopy(legacy[key]) for key in (*_LEGACY, *form.counters) if key in legacy})
    current = {key: copy.deepcopy(status[key]) for key in ("conditions", *form.current) if key in status}
    if current and index >= _V1BETA1:
        written["v1beta2"] = current
    if kind in _SPECIAL_DOWN:
        _SPECIAL_DOWN[kind](status, written, index)
    return written


def hub_status(kind: str, status: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return the hub form of a status of Cluster API version `index`."""
    form = _FORMS.get(kind)
    if form is None:
        return _hub_infrastructure(status)
    hub = {key: copy.deepcopy(status[key]) for key, since in form.same.items() if key in status and index >= since}
    ready = {key: status[name] for key, name in form.ready.items() if name in status}
    if ready:
        hub["initialization"] = ready
    legacy = {key: copy.deepcopy(status[key]) for key in (*_LEGACY, *form.counters) if key in status}
    if legacy:
        hub["deprecated"] = {"v1beta1": legacy}
    current = status.get("v1beta2") or {}
    hub.update({key: copy.deepcopy(current[key]) for key in ("conditions", *form.current) if key in current})
    hub.update({key: status[key] for key in form.both if key in status})
    if kind in _SPECIAL_UP:
        _SPECIAL_UP[kind](status, hub, index)
    return hub


def _older_domains(domains: Any) -> Any:
    if not isinstance(domains, list):
        return domains
    return {
        domain["name"]: {key: copy.deepcopy(value) for key, value in domain.items() if key != "name"}
        for domain in domains
        if "name" in domain
    }


def _hub_domains(domains: Any) -> Any:
    if not isinstance(domains, dict):
        return domains
    return [{"name": name, **copy.deepcopy(domains[name])} for name in sorted(domains)]


def _older_infrastructure(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return an infrastructure object's status with the contract's fields converted.

    All other fields are its provider's.
    """
    written = copy.deepcopy(dict(status))
    initialization = written.pop("initialization", None) or {}
    if "provisioned" in initialization:
        written["ready"] = initialization["provisioned"]
    if "failureDomains" in written:
        written["failureDomains"] = _older_domains(written["failureDomains"])
    return written


def _hub_infrastructure(status: Mapping[str, Any]) -> dict[str, Any]:
    hub = copy.deepcopy(dict(status))
    if "ready" in hub and "initialization" not in hub:
        hub["initialization"] = {"provisioned": hub.pop("ready")}
    if "failureDomains" in hub:
        hub["failureDomains"] = _hub_domains(hub["failureDomains"])
    return hub


def _cluster_down(status: Mapping[str, Any], written: dict[str, Any], index: int) -> None:
    if "failureDomains" in status:
        written["failureDomains"] = _older_domains(status["failureDomains"])
    if index == _V1ALPHA3 and "controlPlaneReady" in written:
        written["controlPlaneInitialized"] = written["controlPlaneReady"]


def _cluster_up(status: Mapping[str, Any], hub: dict[str, Any], index: int) -> None:
    if "failureDomains" in status:
        hub["failureDomains"] = _hub_domains(status["failureDomains"])
    if index == _V1ALPHA3 and status.get("controlPlaneInitialized"):
        hub.setdefault("initialization", {})["controlPlaneInitialized"] = True


def _control_plane_down(status: Mapping[str, Any], written: dict[str, Any], index: int) -> None:
    for key in ("updatedReplicas", "unavailableReplicas"):
        if key in status:
            written.setdefault(key, status[key])
    if "ready" in status:
        written["ready"] = status["ready"]
    elif "readyReplicas" in written:
        written["ready"] = written["readyReplicas"] > 0
    if "lastRemediation" in status and index >= _V1BETA1:
        written["lastRemediation"] = _renamed(status["lastRemediation"], "time", "timestamp")


def _control_plane_up(status: Mapping[str, Any], hub: dict[str, Any], index: int) -> None:
    if "lastRemediation" in status and index >= _V1BETA1:
        hub["lastRemediation"] = _renamed(status["lastRemediation"], "timestamp", "time")


def _renamed(value: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: entry for key, entry in value.items()}


def _machine_down(status: Mapping[str, Any], written: dict[str, Any], index: int) -> None:
    if "name" in (status.get("nodeRef") or {}):
        written["nodeRef"] = {"apiVersion": "v1", "kind": "Node", "name": status["nodeRef"]["name"]}


def _machine_up(status: Mapping[str, Any], hub: dict[str, Any], index: int) -> None:
    if "name" in (status.get("nodeRef") or {}):
        hub["nodeRef"] = {"name": status["nodeRef"]["name"]}


_SPECIAL_DOWN = {
    kinds.CLUSTER: _cluster_down,
    kinds.KUBEADM_CONTROL_PLANE: _control_plane_down,
    kinds.MACHINE: _machine_down,
}
_SPECIAL_UP = {
    kinds.CLUSTER: _cluster_up,
    kinds.KUBEADM_CONTROL_PLANE: _control_plane_up,
    kinds.MACHINE: _machine_up,
}
