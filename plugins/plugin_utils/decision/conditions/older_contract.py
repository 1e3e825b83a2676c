# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of the contract v1beta1, beside those of v1beta2.

Source: the control plane contract, "ControlPlane: conditions".

They are in ``status.deprecated.v1beta1.conditions``, where Cluster API keeps them, and become ``status.conditions`` in
a v1beta1 object (``objects/convert/status.py``). Each has a severity where it is False, and a summary Ready, which
Cluster API mirrors on the Cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.common.values import clip, condition_in, format_time
from ...objects.conditions import HEALTH_MARKS, INFRASTRUCTURE_READY, INITIALIZED, READY, SCALING_DOWN, SCALING_UP
from .. import terms

Object = dict[str, Any]

ERROR, WARNING, INFO = "Error", "Warning", "Info"
# Old type -> today's, the reasons where it is False and where it is Unknown, and the severity where it is False.
_CONTROL_PLANE: Mapping[str, tuple[str, str, str, str]] = {
    "Available": (INITIALIZED, "WaitingForKubeadmInit", "WaitingForKubeadmInit", INFO),
    "CertificatesAvailable": ("CertificatesAvailable", "CertificatesGenerationFailed", "CertificatesUnknown", WARNING),
    "ControlPlaneComponentsHealthy": (
        "ControlPlaneComponentsHealthy",
        "ControlPlaneComponentsUnhealthy",
        "ControlPlaneComponentsUnknown",
        ERROR,
    ),
    "EtcdClusterHealthy": ("EtcdClusterHealthy", "EtcdClusterUnhealthy", "EtcdClusterUnknown", ERROR),
    "MachinesReady": ("MachinesReady", "MachinesNotReady", "MachinesUnknown", WARNING),
    "MachinesSpecUpToDate": ("MachinesUpToDate", "RollingUpdateInProgress", "MachinesUnknown", WARNING),
}
_MACHINE: Mapping[str, tuple[str, str, str, str]] = {
    INFRASTRUCTURE_READY: (INFRASTRUCTURE_READY, "WaitingForInfrastructure", "InfrastructureUnknown", INFO),
    "BootstrapReady": ("BootstrapConfigReady", "WaitingForDataSecret", "BootstrapUnknown", INFO),
    "NodeHealthy": ("NodeHealthy", "NodeConditionsFailed", "NodeConditionsUnknown", WARNING),
    "APIServerPodHealthy": ("APIServerPodHealthy", "PodFailed", "PodInspectionFailed", ERROR),
    "ControllerManagerPodHealthy": ("ControllerManagerPodHealthy", "PodFailed", "PodInspectionFailed", ERROR),
    "SchedulerPodHealthy": ("SchedulerPodHealthy", "PodFailed", "PodInspectionFailed", ERROR),
    "EtcdPodHealthy": ("EtcdPodHealthy", "PodFailed", "PodInspectionFailed", ERROR),
    "EtcdMemberHealthy": ("EtcdMemberHealthy", "EtcdMemberUnhealthy", "MemberInspectionFailed", ERROR),
    # A MachineHealthCheck and the remediation set these two on the stored Machine; no decision computes them.
    "HealthCheckSucceeded": ("HealthCheckSucceeded", "UnhealthyNode", "UnhealthyNode", WARNING),
    "OwnerRemediated": ("OwnerRemediated", "WaitingForRemediation", "WaitingForRemediation", WARNING),
}
# Today's reasons that are more exact where the status is False: the older reason, and its severity.
_EXACTLY: Mapping[str, tuple[str, str]] = {
    "DoesNotExist": ("PodMissing", ERROR),
    "Provisioning": ("PodProvisioning", INFO),
    "Deleting": ("Deleting", INFO),
    "NodeDeleted": ("NodeNotFound", ERROR),
    "NodeStartupTimeout": ("NodeStartupTimeout", WARNING),
    "HasRemediateAnnotation": ("HasRemediateAnnotation", WARNING),
    "RemediationFailed": ("RemediationFailed", ERROR),
}
_CLUSTER: Mapping[str, tuple[str, str, str, str]] = {
    INFRASTRUCTURE_READY: (INFRASTRUCTURE_READY, "WaitingForInfrastructure", "InfrastructureUnknown", INFO),
    "ControlPlaneInitialized": (
        "ControlPlaneInitialized",
        "WaitingForControlPlaneProviderInitialized",
        "ControlPlaneUnknown",
        INFO,
    ),
}
_MACHINE_DEPLOYMENT: Mapping[str, tuple[str, str, str, str]] = {
    "Available": ("Available", "WaitingForAvailableMachines", "WaitingForAvailableMachines", WARNING),
    "MachineSetReady": ("MachinesReady", "WaitingForMachineSet", "WaitingForMachineSet", INFO),
}
# The conditions that a Machine's summary is made of; the others count for its control plane only.
_MACHINE_SUMMARY = (INFRASTRUCTURE_READY, "BootstrapReady", "NodeHealthy", *HEALTH_MARKS)


def control_plane(stored: Object, current: Sequence[Object], now: int) -> list[Object]:
    """Return the KubeadmControlPlane's conditions of the older contract.

    Args:
        stored: the object as it is stored; its times are kept where a status stays the same.
        current: its conditions of today's contract.
        now: seconds since the epoch.
    """
    return _whole(stored, [*_translated(_CONTROL_PLANE, current), _resized(current), _created()], now)


def machine(stored: Object, current: Sequence[Object], now: int, removed: Sequence[str] = ()) -> list[Object]:
    """Return a Machine's conditions of the older contract.

    The other arguments are those of :func:`control_plane`.

    Args:
        removed: types of conditions that this decision removes from the stored object.
    """
    known = (stored.get("status") or {}).get("conditions") or ()
    marks = [
        {**each, "message": clip(each.get("message"))}
        for each in known
        if each.get("type") in HEALTH_MARKS and each["type"] not in removed
    ]
    return _whole(stored, _translated(_MACHINE, [*current, *marks]), now, _MACHINE_SUMMARY)


def machine_deployment(stored: Object, current: Sequence[Object], now: int) -> list[Object]:
    """Return a MachineDeployment's conditions of the older contract.

    Its summary is whether enough of its machines are available. The arguments are those of :func:`control_plane`.
    """
    return _whole(stored, _translated(_MACHINE_DEPLOYMENT, current), now, ("Available",))


def machine_set(stored: Object, current: Sequence[Object], now: int) -> list[Object]:
    """Return a MachineSet's conditions of the older contract.

    The arguments are those of :func:`control_plane`.
    """
    machines = {"MachinesReady": _CONTROL_PLANE["MachinesReady"]}
    return _whole(stored, [*_translated(machines, current), _resized(current), _created()], now)


def cluster(stored: Object, current: Sequence[Object], control_plane_ready: Object, now: int) -> list[Object]:
    """Return the Cluster's conditions of the older contract.

    ``control_plane_ready`` is the control plane's summary, which is mirrored.
    """
    mirrored = {**control_plane_ready, "type": "ControlPlaneReady"}
    return _whole(stored, [*_translated(_CLUSTER, current), mirrored], now)


def ready(conditions: Sequence[Object]) -> Object:
    """Return the summary Ready of older conditions, without its time."""
    return {key: value for key, value in condition_in(conditions, READY).items() if key != "lastTransitionTime"}


def _translated(table: Mapping[str, tuple[str, str, str, str]], current: Sequence[Object]) -> list[Object]:
    made = []
    for kind, (today, failed, unknown, severity) in table.items():
        found = condition_in(current, today)
        if found:
            reason, weight = _EXACTLY.get(str(found.get("reason", "")), (failed, severity))
            made.append(_condition(kind, found["status"], reason, unknown, weight, str(found.get("message", ""))))
    return made


def _condition(kind: str, status: str, failed: str, unknown: str, severity: str, message: str) -> Object:
    if status == terms.TRUE:
        return {"type": kind, "status": status}
    made: Object = {"type": kind, "status": status, "reason": failed if status == terms.FALSE else unknown}
    if status == terms.FALSE:
        made["severity"] = severity
    return {**made, "message": message} if message else made


def _resized(current: Sequence[Object]) -> Object:
    for kind in (SCALING_UP, SCALING_DOWN):
        found = condition_in(current, kind)
        if found.get("status") == terms.TRUE:
            return _condition("Resized", terms.FALSE, kind, kind, WARNING, found["message"])
    return {"type": "Resized", "status": terms.TRUE}


def _created() -> Object:
    # A run that can't write a machine's objects ends: no intermediate state is ever visible.
    return {"type": "MachinesCreated", "status": terms.TRUE}


def _whole(stored: Object, conditions: list[Object], now: int, summed: Sequence[str] = ()) -> list[Object]:
    """Return the conditions with their summary and their times.

    The summary comes first, the others by type.
    """
    counted = [each for each in conditions if not summed or each["type"] in summed]
    worst = [each for each in counted if each["status"] == terms.FALSE] or [
        each for each in counted if each["status"] != terms.TRUE
    ]
    order = {ERROR: 0, WARNING: 1, INFO: 2}
    first = min(worst, key=lambda each: order.get(each.get("severity", ""), 3), default={"status": terms.TRUE})
    summary = {**first, "type": READY}
    older = ((stored.get("status") or {}).get("deprecated") or {}).get("v1beta1") or {}
    before = {each.get("type"): each for each in older.get("conditions") or ()}
    made = []
    for each in [summary, *sorted(conditions, key=lambda each: str(each["type"]))]:
        known = before.get(each["type"]) or {}
        same = known.get("status") == each["status"] and known.get("lastTransitionTime")
        made.append({**each, "lastTransitionTime": known["lastTransitionTime"] if same else format_time(now)})
    return made
