# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of Cluster API v1beta2 objects.

They are a list of {type, status, reason, message, lastTransitionTime}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.common.legible import visible
from ...module_utils.common.values import condition_in, condition_of

TRUE = "True"
FALSE = "False"
UNKNOWN = "Unknown"
STATUSES = (TRUE, FALSE, UNKNOWN)

# Types that objects of several kinds have; a Node its READY.
AVAILABLE, READY, UP_TO_DATE, DELETING, PAUSED = "Available", "Ready", "UpToDate", "Deleting", "Paused"
INITIALIZED, INFRASTRUCTURE_READY, REMOTE_CONNECTION_PROBE = (
    "Initialized",
    "InfrastructureReady",
    "RemoteConnectionProbe",
)
ROLLING_OUT, SCALING_UP, SCALING_DOWN, REMEDIATING = "RollingOut", "ScalingUp", "ScalingDown", "Remediating"
# Types of a Machine's conditions: of its static pods, of its etcd member, of health checks.
API_SERVER_POD_HEALTHY = "APIServerPodHealthy"
CONTROLLER_MANAGER_POD_HEALTHY = "ControllerManagerPodHealthy"
SCHEDULER_POD_HEALTHY = "SchedulerPodHealthy"
ETCD_POD_HEALTHY = "EtcdPodHealthy"
ETCD_MEMBER_HEALTHY = "EtcdMemberHealthy"
HEALTH_CHECK_SUCCEEDED = "HealthCheckSucceeded"
OWNER_REMEDIATED = "OwnerRemediated"
COMPONENT_CONDITIONS: tuple[str, ...] = (API_SERVER_POD_HEALTHY, CONTROLLER_MANAGER_POD_HEALTHY, SCHEDULER_POD_HEALTHY)
# With managed etcd alone.
ETCD_CONDITIONS: tuple[str, ...] = (ETCD_POD_HEALTHY, ETCD_MEMBER_HEALTHY)
# By which a MachineHealthCheck asks for a replacement.
HEALTH_MARKS: tuple[str, ...] = (HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED)
# Types of a control plane's conditions; the preflight checks on them have the same names.
CONTROL_PLANE_COMPONENTS_HEALTHY = "ControlPlaneComponentsHealthy"
ETCD_CLUSTER_HEALTHY = "EtcdClusterHealthy"


def is_true(obj: Mapping[str, Any], condition_type: str) -> bool:
    """Return whether a condition exists and has the status True."""
    return condition_of(obj, condition_type).get("status") == TRUE


def best_to_ask(machines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return Machines in the order in which to ask them.

    Ready ones first, those that are being deleted last; else as they come.
    """
    return sorted(
        machines, key=lambda each: (bool(each["metadata"].get("deletionTimestamp")), not is_true(each, READY))
    )


def condition(condition_type: str, status: str, reason: str, message: str = "") -> dict[str, str]:
    """Return a condition without a time, which set_condition adds.

    Decisions produce such conditions. ValueError for an invalid status.
    """
    if status not in STATUSES:
        raise ValueError(f"condition {condition_type}: status {status!r} is not one of {', '.join(STATUSES)}")
    return {"type": condition_type, "status": status, "reason": reason, "message": visible(message)}


def set_condition(obj: dict[str, Any], condition_type: str, status: str, reason: str, message: str, now: str) -> bool:
    """Set one condition of an object, in place; return whether it changed.

    lastTransitionTime becomes `now` (RFC 3339) only when the status differs from before; another reason or message keeps it, since
    durations are counted from it. observedGeneration is the object's, as Cluster API's setter has it: `kubectl wait` doesn't take what was
    stated of an older spec for an answer. Conditions stay sorted by type. ValueError for a status that is none.
    """
    desired: dict[str, Any] = {**condition(condition_type, status, reason, message)}
    generation = (obj.get("metadata") or {}).get("generation")
    if isinstance(generation, int):
        desired["observedGeneration"] = generation
    holder = obj.setdefault("status", {})
    existing: list[dict[str, Any]] = holder.get("conditions") or []
    before = condition_in(existing, condition_type)
    since = now
    if before.get("status") == status and before.get("lastTransitionTime"):
        since = str(before["lastTransitionTime"])
    after = {**desired, "lastTransitionTime": since}
    if before == after:
        return False
    others = [entry for entry in existing if entry.get("type") != condition_type]
    holder["conditions"] = sorted([*others, after], key=lambda entry: str(entry.get("type")))
    return True


def remove_condition(obj: dict[str, Any], condition_type: str) -> bool:
    """Remove a condition of an object, in place; return whether it existed."""
    holder = obj.get("status") or {}
    existing = holder.get("conditions") or []
    kept = [entry for entry in existing if entry.get("type") != condition_type]
    if len(kept) == len(existing):
        return False
    holder["conditions"] = kept
    return True
