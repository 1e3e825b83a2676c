# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phases, counters and reasons in the status of Actions, TaskGroups and Tasks.

Source: docs/reference/kubeadm_operator.md, "Status and phases", "Defects".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..objects import actions
from ..objects.actions import Object
from . import flow
from .flow import Step
from .matching import Execution

DELETED, FAILED, SUCCEEDED, PAUSED, RUNNING, PENDING = (
    "Deleted",
    "Failed",
    "Succeeded",
    "Paused",
    "Running",
    "Pending",
)
ABORTED = "Aborted"

FAILED_NODES = "FailedNodes"
FAILED_GROUPS = "FailedTaskGroups"
INVALID_STATE = flow.INVALID_STATE
EXECUTION_ERROR = "ExecutionError"
INDEX_OUT_OF_RANGE = "IndexOutOfRange"


def phase(obj: Mapping[str, Any]) -> str:
    """Return the phase of an object: the first that holds.

    Aborted is one more than the proposal has: an object that the user gave up.
    """
    status = obj.get("status") or {}
    if obj["metadata"].get("deletionTimestamp"):
        return DELETED
    if status.get("abortTime"):
        return ABORTED
    if status.get("completionTime"):
        return SUCCEEDED
    if status.get("errorReason"):
        return FAILED
    if status.get("paused"):
        return PAUSED
    return RUNNING if status.get("startTime") else PENDING


def task_error(obj: Mapping[str, Any]) -> str:
    """Return a failed Task's error with its Node; "" without an error."""
    status = obj.get("status") or {}
    if not status.get("errorReason") or status.get("completionTime"):
        return ""
    return f"Node {obj['spec']['nodeName']}: {status.get('errorMessage', '')}"


def group_status(execution: Execution, group: Mapping[str, Any], step: Step, now: str) -> Object:
    """Return a TaskGroup's status with the counters and errors of its Tasks."""
    obj = execution.group_object(group) or {}
    status: Object = {**(obj.get("status") or {})}
    tasks = execution.tasks_of(group)
    status.update(_counters("Nodes", [phase(each) for each in tasks]), nodes=len(group["nodes"]))
    left_out = [each for each in tasks if (each.get("status") or {}).get("leftOut")]
    if left_out:
        status["leftOutNodes"] = len(left_out)
    status.setdefault("startTime", now)
    errors = [] if step.kind == flow.RUN else [each for each in map(task_error, tasks) if each]
    active = step.group is not None and step.group["name"] == group["name"]
    _ending(status, FAILED_NODES if errors else "", "; ".join(errors), active and _stands(step))
    return status


def root_status(execution: Execution, step: Step, now: str) -> Object:
    """Return the status of a root object, computed from its groups.

    The root is an Action, or a detached TaskGroup or Task.
    """
    root = execution.root
    status: Object = {**(root.get("status") or {})}
    if root["kind"] == actions.TASK:
        # The command's own error stays, so that it can be retried once the difference is undone.
        if not flow.has_error(status):
            _ending(status, INVALID_STATE if step.problems else "", "; ".join(step.problems), _stands(step))
        return _with_phase(root, status)
    if root["kind"] == actions.TASK_GROUP:
        status = group_status(execution, execution.plan["groups"][0], step, now)
    else:
        made = [execution.group_object(each) for each in execution.plan["groups"]]
        phases = [phase(each) for each in made if each is not None]
        status.update(_counters("Groups", phases), groups=len(made))
        errors = [
            f"TaskGroup {group['name']}: {error}"
            for group in execution.plan["groups"]
            for error in map(task_error, execution.tasks_of(group))
            # While others still run it runs; what failed is told when they have ended.
            if error and step.kind != flow.RUN
        ]
        _ending(status, FAILED_GROUPS if errors else "", "; ".join(errors), _stands(step))
    if step.problems:
        status.update(errorReason=INVALID_STATE, errorMessage="; ".join(step.problems))
    return _with_phase(root, status)


def _with_phase(obj: Mapping[str, Any], status: Object) -> Object:
    status["phase"] = phase({**obj, "status": status})
    return status


def _ending(status: Object, reason: str, message: str, stands: bool) -> None:
    status["paused"] = stands
    status.pop("errorReason", None)
    status.pop("errorMessage", None)
    if reason:
        status.update(errorReason=reason, errorMessage=message)


def _stands(step: Step) -> bool:
    return step.kind in (flow.PAUSED, flow.APPROVAL, flow.FAILED, flow.INCONSISTENT)


def _counters(what: str, phases: Sequence[str]) -> Object:
    """Return the counts of running, succeeded and failed objects.

    Paused and waiting ones count as running.
    """
    return {
        f"running{what}": sum(1 for each in phases if each in (RUNNING, PAUSED, PENDING)),
        f"succeeded{what}": sum(1 for each in phases if each == SUCCEEDED),
        f"failed{what}": sum(1 for each in phases if each == FAILED),
    }
