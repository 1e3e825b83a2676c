# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of references, Machines and KubeadmConfigs to the hub form.

Templates of MachineDeployments and MachineSets are such specs, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common.violations import Report, child
from ...kubeadm.configuration import classic_form
from .. import kinds

# (name in the classic form, name in the hub form) of durations below machineTemplate.
DELETION = (
    ("nodeDrainTimeout", "nodeDrainTimeoutSeconds"),
    ("nodeVolumeDetachTimeout", "nodeVolumeDetachTimeoutSeconds"),
    ("nodeDeletionTimeout", "nodeDeletionTimeoutSeconds"),
)


def hub_reference(
    reference: Mapping[str, Any], form: str, namespace: str, written: str, hub: str, report: Report
) -> dict[str, Any]:
    """Return an object reference as {apiGroup, kind, name}.

    An ObjectReference of the classic form loses its version only. `written` and `hub` are its paths in the two forms.
    """
    if form == "hub":
        return dict(reference)
    report.moved(child(hub, "apiGroup"), child(written, "apiVersion"))
    if reference.get("namespace") not in (None, "", namespace):
        rule = f"a reference cannot leave its object's namespace {namespace!r}"
        report.unreadable(child(written, "namespace"), reference["namespace"], rule, "Put both into one namespace.")
    result = {key: reference[key] for key in ("kind", "name") if key in reference}
    if "apiVersion" in reference:
        group = kinds.group(reference["apiVersion"])
        if result.get("kind") == kinds.KUBEADM_CONTROL_PLANE and group == kinds.GROUP_CLUSTER:
            group = kinds.GROUP_CONTROL_PLANE
        result["apiGroup"] = group
    return result


def hub_machine(spec: dict[str, Any], path: str, form: str, namespace: str, report: Report) -> dict[str, Any]:
    """Return the hub form of a Machine's checked spec.

    It is at `path` of its object.
    """
    holders = (
        (spec, "infrastructureRef", path),
        (spec.get("bootstrap") or {}, "configRef", child(path, "bootstrap")),
    )
    for holder, key, at in holders:
        if key in holder:
            where = child(at, key)
            holder[key] = hub_reference(holder[key], form, namespace, where, where, report)
    for name, hub_name in DELETION if form == "classic" else ():
        if name in spec:
            deletion = spec.setdefault("deletion", {})
            deletion[hub_name] = classic_form.whole_seconds(spec.pop(name), child(path, name), report)
            report.moved(child(path, "deletion", hub_name), child(path, name))
    return without_empty_taints(spec)


def without_empty_taints(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a Machine's spec or template without empty taints.

    They mean the same as none, unlike kubeadm's, and v1beta2 has no place for them.
    """
    if not spec.get("taints"):
        spec.pop("taints", None)
    for taint in spec.get("taints") or []:
        if taint.get("value") == "":
            del taint["value"]
    return spec


def hub_config(spec: dict[str, Any], path: str, report: Report) -> dict[str, Any]:
    """Return the hub form of a KubeadmConfig's checked classic spec.

    It is at `path` of its object.
    """
    result = {**spec, **classic_form.configuration(spec, path, report)}
    parts = ("initConfiguration", "joinConfiguration")
    # One machine's configuration is for init or for join; a moved timeout must not make it both.
    kept = [part for part in parts if part in spec] or parts[:1]
    return {key: value for key, value in result.items() if key not in parts or key in kept}
