# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusal to leave something out of an Action.

A Node that has a step of the whole cluster can't be left out: the Action would end as complete without it. Nor can what the Action records of all control
plane Nodes afterwards (docs/actions.md, "Leaving a Node out").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..objects import actions
from . import catalogue, command_type
from .matching import Execution, NodeNow

_INSTEAD = (
    "Nothing was done. Mend the Node and retry. Or abort the Action and begin it again with the same spec (a renewal without withinDays), which is "
    "planned for the Nodes that the cluster has then: one whose machine is gone has to be out of the cluster first."
)

# What a record says afterwards that every control plane Node has.
_RECORDED = ("changeControlPlaneConfiguration", "kubeadmUpgradeApply", "kubeadmUpgradeNode")


def refusal(execution: Execution, node: str, now: Sequence[NodeNow] | None) -> str:
    """Return why a Node can't be left out of an Action.

    The text ends with the remedy; "" where it can. ``now`` are the cluster's present Nodes, None where no API answers;
    they are needed for a Node that the plan lacks.
    """
    label = actions.label(execution.root)
    planned = {str(each["name"]): bool(each["controlPlane"]) for each in execution.plan["nodes"]}
    control_plane = {**{each.name: each.control_plane for each in now or ()}, **planned}
    if node not in control_plane:
        has = (
            "no API server answers that could tell whether the cluster has it"
            if now is None
            else "the cluster has none"
        )
        known = ", ".join(sorted(control_plane)) or "none"
        return f"{label} has no Node {node}, and {has}. Nothing was done. Name one of: {known}."
    groups = execution.plan["groups"]
    for group in groups:
        ours = [each for each in _ahead(execution, group, node) if _scope(each) != command_type.NODE]
        if ours and not {*group["nodes"]} - {node, *execution.left_out}:
            return (
                f"Node {node} can't be left out of {label}: its TaskGroup {group['name']} does there what concerns the whole cluster ({', '.join(ours)}), "
                f"and the Action would end as complete without it. {_INSTEAD}"
            )
    records = _records(execution)
    done = node in planned and not any(_ahead(execution, group, node) for group in groups)
    if control_plane[node] and records and not done:
        return (
            f"Node {node} can't be left out of {label}: it is a control plane Node that is not done, and the TaskGroup {records[0]} records what all "
            f"of them have. With an untrue record, reconcile would replace its machine. {_INSTEAD}"
        )
    return ""


def command_refusal(execution: Execution, task: Mapping[str, Any]) -> str:
    """Return why a failed Task's command can't be left out.

    The text ends with the remedy; "" where it can.
    """
    node = str(task["spec"]["nodeName"])
    commands = dict(enumerate(task["spec"]["commands"], 1))
    name = next(iter(commands.get(task["status"].get("currentCommand"), {})), "")
    control_plane = any(each["name"] == node and each["controlPlane"] for each in execution.plan["nodes"])
    records = _records(execution)
    if name not in _RECORDED or not control_plane or not records:
        return ""
    return (
        f"{name} on Node {node} can't be left out of {actions.label(execution.root)}: the TaskGroup {records[0]} records what all control plane Nodes have. "
        f"With an untrue record, reconcile would replace its machine, or never see what it lacks. {_INSTEAD}"
    )


def _records(execution: Execution) -> list[str]:
    """Return the groups ahead that record what all control plane Nodes have."""
    return [
        str(group["name"])
        for group in execution.plan["groups"]
        for each in group["nodes"]
        if command_type.CONTROL_PLANE in map(_scope, _ahead(execution, group, each))
    ]


def _ahead(execution: Execution, group: Mapping[str, Any], node: str) -> list[str]:
    """Return the names of a Node's commands ahead in a group."""
    status = (execution.task(group, node) or {}).get("status") or {}
    if node not in group["nodes"] or status.get("completionTime"):
        return []
    records = status.get("commands") or []
    ended = {index for index, each in enumerate(records) if each.get("completionTime")}
    return [next(iter(each)) for index, each in enumerate(group["commands"]) if index not in ended]


def _scope(name: str) -> str:
    command = catalogue.COMMANDS.get(name)
    # Of another release's command nothing is known.
    return command.scope if command else command_type.NODE


__all__ = ["command_refusal", "refusal"]
