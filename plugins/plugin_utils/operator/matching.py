# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inconsistencies between an Action's frozen plan, its objects and the cluster.

They are the reason why an Action pauses instead of continuing.

Sources: the kubeadm operator's proposal, "Risks and Mitigations"; docs/reference/kubeadm_operator.md, "Defects".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..objects import actions
from ..objects.actions import Object
from . import freeze


@dataclass(frozen=True)
class NodeNow:
    """Node that the cluster has now."""

    name: str
    control_plane: bool


@dataclass
class Execution:
    """Action with all objects made from it, as stored now.

    ``root`` is the Action, or a detached TaskGroup or Task; ``groups`` and ``tasks`` go by name; ``others`` are the
    names of the cluster's other unfinished Actions; ``nodes`` are the cluster's present Nodes, None where no API
    answers. ``pauses`` are why the cluster is paused, whatever its Actions say. A detached Task is also its only Task.
    """

    root: Object
    groups: dict[str, Object] = field(default_factory=dict)
    tasks: dict[str, Object] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    nodes: tuple[NodeNow, ...] | None = None
    pauses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.root["kind"] == actions.TASK:
            self.tasks = {str(self.root["metadata"]["name"]): self.root}

    @property
    def paused(self) -> bool:
        """Pause of the Action itself, or of its cluster."""
        return bool(self.root["spec"].get("paused") or self.pauses)

    @property
    def plan(self) -> Object:
        """Frozen plan of the Action."""
        found: Object = self.root["status"]["plan"]
        return found

    @property
    def left_out(self) -> tuple[str, ...]:
        """Nodes that the user left out."""
        return tuple(self.root["spec"].get("leftOut") or ())

    def group_object(self, group: Mapping[str, Any]) -> Object | None:
        """Return the object of a planned group.

        A detached TaskGroup is its own group, and a detached Task is returned for its own.
        """
        return self.root if self.root["kind"] != actions.ACTION else self.groups.get(str(group["name"]))

    def task(self, group: Mapping[str, Any], node: str) -> Object | None:
        """Return the object of a planned Task; None before it is made."""
        if self.root["kind"] == actions.TASK:
            return self.root
        return self.tasks.get(freeze.task_name(self.root, group, node))

    def tasks_of(self, group: Mapping[str, Any]) -> list[Object]:
        """Return a group's Tasks made so far, in its order of Nodes."""
        found = [self.task(group, node) for node in group["nodes"]]
        return [each for each in found if each is not None]


def inconsistencies(execution: Execution) -> list[str]:
    """Return every difference from the frozen plan as texts; [] without any."""
    root = execution.root
    found = []
    if freeze.request_hash(root) != execution.plan.get("requestHash"):
        found.append(f"{actions.label(root)} was edited after it had started")
    if freeze.plan_hash(execution.plan) != execution.plan.get("hash"):
        found.append(f"the plan in the status of {actions.label(root)} was edited")
        return found
    found += _children(execution)
    found += [f"{each} has not ended either, and one cluster has one Action at a time" for each in execution.others]
    if execution.nodes is not None:
        found += _nodes(execution, execution.nodes)
    return found


def _children(execution: Execution) -> list[str]:
    root = execution.root
    if root["kind"] == actions.TASK:
        return []
    groups = {str(each["name"]): each for each in execution.plan["groups"]}
    found = []
    wanted: dict[str, Object] = {}
    for group in groups.values():
        for node in group["nodes"]:
            wanted[freeze.task_name(root, group, node)] = {"nodeName": node, "commands": group["commands"]}
    if root["kind"] == actions.ACTION:
        specs = {name: freeze.group_spec(each) for name, each in groups.items()}
        found += _compare(execution.groups, specs, actions.TASK_GROUP)
    found += _compare(execution.tasks, wanted, actions.TASK)
    present = {*execution.groups, *execution.tasks}
    made = (root.get("status") or {}).get("created") or []
    kinds = {name: actions.TASK_GROUP if name in groups else actions.TASK for name in made}
    found += [f"{kinds[name]} {name} was deleted" for name in made if name not in present]
    return found


def _compare(present: Mapping[str, Object], wanted: Mapping[str, Object], kind: str) -> list[str]:
    found = []
    for name, each in sorted(present.items()):
        if name not in wanted:
            found.append(f"{kind} {name} is not part of the plan")
        elif _frozen(each["spec"]) != wanted[name]:
            found.append(f"{kind} {name} was edited after it had been made")
        elif each["metadata"].get("deletionTimestamp"):
            found.append(f"{kind} {name} is being deleted")
    return found


def _frozen(spec: Mapping[str, Any]) -> Object:
    return {key: value for key, value in spec.items() if key not in actions.FLOW_FIELDS}


def _nodes(execution: Execution, now: Sequence[NodeNow]) -> list[str]:
    planned = {str(each["name"]): bool(each["controlPlane"]) for each in execution.plan["nodes"]}
    selected = {node for group in execution.plan["groups"] for node in group["nodes"]}
    workers_too = any(not planned.get(node, True) for node in selected)
    names = {each.name for each in now}
    found = []
    for each in now:
        matters = each.name not in execution.left_out and (each.control_plane or workers_too)
        if each.name not in planned and matters:
            found.append(f"Node {each.name} has come since the plan was made, which does not cover it")
    for name in sorted(selected - names - set(execution.left_out)):
        found.append(f"Node {name}, which the plan covers, is gone")
    return found
