# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Next step of an Action, computed from its objects alone (docs/reference/kubeadm_operator.md, "Flow")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..objects import actions
from ..objects.actions import Object
from .matching import Execution, inconsistencies

# What the frame does by itself, writing objects only.
CREATE_GROUP = "createGroup"
CREATE_TASKS = "createTasks"
LEAVE_OUT = "leaveOut"
RECOVER = "recover"
COMPLETE_GROUP = "completeGroup"
COMPLETE = "complete"
ABORT = "abort"
# What is run on nodes.
RUN = "run"
# What check mode says of an Action that would run something.
WOULD = "would"
# What ends a run.
COMPLETED = "completed"
ABORTED = "aborted"
PAUSED = "paused"
APPROVAL = "approval"
FAILED = "failed"
INCONSISTENT = "inconsistent"
# The reason of an object that differs from its frozen plan.
INVALID_STATE = "InvalidState"
ENDINGS = (COMPLETED, ABORTED, PAUSED, APPROVAL, FAILED, INCONSISTENT)


@dataclass(frozen=True)
class Step:
    """Next step of an Action.

    ``group`` is the planned group, ``tasks`` are names, ``nodes`` those for which Tasks are to be made.
    """

    kind: str
    group: Mapping[str, Any] | None = None
    tasks: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def next_step(execution: Execution) -> Step:
    """Return the next step of an Action whose plan is frozen.

    A half-run Task comes before anything new; a failure is reported before a pause; a completed Action stays completed.
    """
    root = execution.root
    status = root.get("status") or {}
    if status.get("completionTime"):
        return Step(COMPLETED)
    if status.get("abortTime"):
        return Step(ABORTED)
    if root["spec"].get("abort"):
        return Step(ABORT)
    problems = inconsistencies(execution)
    if problems:
        return Step(INCONSISTENT, problems=tuple(problems))
    group = current_group(execution)
    if group is None:
        return Step(COMPLETE)
    return _within(execution, group)


def current_group(execution: Execution) -> Mapping[str, Any] | None:
    """Return the first group that is not complete; None where all are."""
    for group in execution.plan["groups"]:
        obj = execution.group_object(group)
        if execution.root["kind"] == actions.TASK:
            if not _done(execution.root):
                return dict(group)
        elif obj is None or not _done(obj):
            return dict(group)
    return None


def _within(execution: Execution, group: Mapping[str, Any]) -> Step:
    if execution.group_object(group) is None:
        return Step(PAUSED) if execution.paused else Step(CREATE_GROUP, group)
    tasks = execution.tasks_of(group)
    out = [each for each in tasks if each["spec"]["nodeName"] in execution.left_out and not _done(each)]
    if out:
        return Step(LEAVE_OUT, group, _names(out))
    failed = [each for each in tasks if has_failed(each)]
    recovering = [each for each in tasks if each["spec"].get("recoveryMode") in actions.RECOVERIES and _begun(each)]
    if recovering:
        # Of a Task that has not failed: a run was killed between doing what it says and taking it off.
        return Step(RECOVER, group, _names(recovering))
    if not _missing(execution, group) and all(_done(each) for each in tasks) and execution.root["kind"] != actions.TASK:
        return Step(COMPLETE_GROUP, group)
    running = [each for each in tasks if _started(each) and not _done(each) and not has_failed(each)]
    if failed and not running:
        return Step(FAILED, group, _names(failed))
    if execution.paused:
        return Step(PAUSED, group, _names(running))
    if running:
        return Step(RUN, group, _names(running))
    return _start(execution, group, tasks)


def _start(execution: Execution, group: Mapping[str, Any], tasks: Sequence[Object]) -> Step:
    waiting = [each for each in tasks if not _started(each)]
    missing = _missing(execution, group)
    room = int(group["maxUnavailable"]) - len(waiting)
    if missing and room > 0:
        return Step(CREATE_TASKS, group, nodes=tuple(missing[:room]))
    if execution.root["spec"].get("executionMode") == actions.CONTROLLED:
        approved = [each for each in waiting if each["spec"].get("approved")]
        return Step(RUN, group, _names(approved)) if approved else Step(APPROVAL, group, _names(waiting))
    return Step(RUN, group, _names(waiting))


def startable(execution: Execution, group: Mapping[str, Any], busy: Sequence[str]) -> Step | None:
    """Return the next step beside running Tasks; None where none may start.

    ``busy`` are the names of the running Tasks. The result is a RUN or CREATE_TASKS step within the group's disruption
    budget. Whatever would end the run lets the running Tasks finish first.
    """
    root = execution.root
    if root["spec"].get("abort") or execution.paused or len(busy) >= int(group["maxUnavailable"]):
        return None
    if inconsistencies(execution):
        return None
    tasks = execution.tasks_of(group)
    idle = [each for each in tasks if each["metadata"]["name"] not in busy]
    if any(has_failed(each) or (_started(each) and not _done(each)) for each in idle):
        return None
    waiting = [each for each in idle if not _done(each)]
    if root["spec"].get("executionMode") == actions.CONTROLLED:
        waiting = [each for each in waiting if each["spec"].get("approved")]
    room = int(group["maxUnavailable"]) - len(busy)
    if waiting:
        return Step(RUN, group, _names(waiting[:room]))
    missing = _missing(execution, group)
    if missing and root["spec"].get("executionMode") != actions.CONTROLLED:
        return Step(CREATE_TASKS, group, nodes=tuple(missing[:room]))
    return None


def _missing(execution: Execution, group: Mapping[str, Any]) -> list[str]:
    return [node for node in group["nodes"] if node not in execution.left_out and execution.task(group, node) is None]


def _names(tasks: Sequence[Object]) -> tuple[str, ...]:
    return tuple(str(each["metadata"]["name"]) for each in tasks)


def _status(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    return obj.get("status") or {}


def _done(obj: Mapping[str, Any]) -> bool:
    return bool(_status(obj).get("completionTime"))


def has_error(status: Mapping[str, Any]) -> bool:
    """Return whether a Task's status has an error of its command.

    That a detached Task differs from its frozen plan is none.
    """
    return status.get("errorReason") not in (None, "", INVALID_STATE)


def has_failed(obj: Mapping[str, Any]) -> bool:
    """Return whether a Task has failed and is not done."""
    return has_error(_status(obj)) and not _done(obj)


def _begun(obj: Mapping[str, Any]) -> bool:
    return _started(obj) or has_failed(obj)


def _started(obj: Mapping[str, Any]) -> bool:
    return bool(_status(obj).get("startTime"))
