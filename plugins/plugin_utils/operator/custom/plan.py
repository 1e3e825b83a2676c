# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planner of custom Actions, and of TaskGroups and Tasks without an Action.

Sources: the kubeadm operator's proposal, "Extensibility"; docs/reference/kubeadm_operator.md, "Custom workflows".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...objects import actions
from ...objects.actions import FieldError
from .. import catalogue, node_selector
from ..planner_types import PARALLEL, SERIAL, ClusterFacts, GroupPlan, NodeFacts, RefusedAction
from ..upgrade import plan as upgrade

ALL, HEAD, TAIL = "All", "Head", "Tail"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")


def validate(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in a custom Action's list of TaskGroups."""
    found = [
        FieldError(f"{path}.{key}", None, "there is no such field (there is: workflow)", "Correct its name.")
        for key in sorted(set(spec) - {"workflow"})
    ]
    workflow = spec.get("workflow")
    if not isinstance(workflow, list) or not workflow:
        rule = "must be a list of at least one TaskGroup"
        return [*found, FieldError(f"{path}.workflow", None, rule, "Say what is to be done.")]
    names = []
    for index, each in enumerate(workflow):
        where = f"{path}.workflow[{index}]"
        if not isinstance(each, Mapping):
            continue
        name = each.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            rule = "must be at most 42 lower-case letters, digits and '-'"
            found.append(FieldError(f"{where}.name", name, rule, "Name the TaskGroup; its Tasks are named after it."))
        elif name in names:
            found.append(
                FieldError(f"{where}.name", name, "is the name of an earlier TaskGroup", "Give it another one.")
            )
        names.append(name)
        unknown = sorted(set(each.get("spec") or {}) - set(actions.WORKFLOW_FIELDS))
        found += [FieldError(f"{where}.{key}", None, "there is no such field", "Correct its name.") for key in unknown]
        found += group_errors(each.get("spec") or {}, where)
    return found


def group_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in a TaskGroup's spec."""
    found: list[FieldError] = []
    names = spec.get("nodeNames")
    if "nodeSelector" in spec:
        found += node_selector.errors(spec["nodeSelector"], f"{path}.nodeSelector")
    elif names is None:
        rule = "says neither nodeSelector nor nodeNames"
        found.append(FieldError(path, None, rule, "Say which Nodes are meant; nodeSelector: {} is every Node."))
    if names is not None and (not isinstance(names, list) or not all(isinstance(each, str) for each in names)):
        found.append(FieldError(f"{path}.nodeNames", None, "must be a list of Nodes' names", "Correct it."))
    if spec.get("nodeFilter", ALL) not in (ALL, HEAD, TAIL):
        rule = f"must be one of {ALL}, {HEAD}, {TAIL}"
        found.append(FieldError(f"{path}.nodeFilter", spec["nodeFilter"], rule, "Correct it."))
    policy, most = spec.get("policy", SERIAL), spec.get("maxUnavailable")
    if policy not in (SERIAL, PARALLEL):
        found.append(FieldError(f"{path}.policy", policy, f"must be {SERIAL} or {PARALLEL}", "Correct it."))
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        found.append(FieldError(f"{path}.maxUnavailable", most, "must be a number of at least 1", "Correct it."))
    elif most is not None and most > 1 and policy == SERIAL:
        rule = f"is {most}, but the policy {SERIAL} works on one Node at a time"
        found.append(FieldError(f"{path}.maxUnavailable", most, rule, f"Set policy: {PARALLEL}, or leave it out."))
    elif most is None and policy == PARALLEL:
        rule = f"the policy {PARALLEL} needs maxUnavailable, the disruption budget"
        found.append(FieldError(f"{path}.maxUnavailable", None, rule, "Say on how many Nodes at a time."))
    return found + _commands(((spec.get("template") or {}).get("spec") or {}).get("commands"), f"{path}.template.spec")


def task_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in a detached Task's spec."""
    found = []
    if not isinstance(spec.get("nodeName"), str) or not spec["nodeName"]:
        found.append(FieldError(f"{path}.nodeName", None, "must be a Node's name", "Say on which Node."))
    return found + _commands(spec.get("commands"), path)


def _commands(commands: Any, path: str) -> list[FieldError]:
    if not isinstance(commands, list) or not commands:
        rule = "must be a list of at least one command"
        return [FieldError(f"{path}.commands", None, rule, "A Task without a command would succeed at nothing.")]
    found = []
    for index, each in enumerate(commands):
        found += catalogue.descriptor_errors(each, f"{path}.commands[{index}]")
    return found


def plan(spec: Mapping[str, Any], facts: ClusterFacts) -> tuple[GroupPlan, ...]:
    """Return a custom Action's TaskGroups in the order of its list.

    Their numbers keep that order.
    """
    return tuple(
        group_plan(str(each["name"]), each["spec"], facts, f"spec.custom.workflow[{index}]")
        for index, each in enumerate(spec["workflow"])
    )


def group_plan(name: str, spec: Mapping[str, Any], facts: ClusterFacts, path: str) -> GroupPlan:
    """Return the plan of a TaskGroup with its presently selected Nodes.

    Raises RefusedAction where it selects none.
    """
    nodes = _nodes(spec, facts, path)
    _require_etcd(spec["template"]["spec"]["commands"], facts, f"{path}.template.spec")
    policy = str(spec.get("policy", SERIAL))
    planned = GroupPlan(
        name=name,
        nodes=tuple(each.name for each in nodes),
        commands=tuple(spec["template"]["spec"]["commands"]),
        policy=policy,
        max_unavailable=int(spec.get("maxUnavailable") or 1) if policy == PARALLEL else 1,
    )
    _require_one_at_a_time(planned, nodes, path)
    return planned


def task_plan(spec: Mapping[str, Any], facts: ClusterFacts) -> GroupPlan:
    """Return the plan of a detached Task: a TaskGroup of one.

    Raises RefusedAction where there is no such Node.
    """
    name = str(spec["nodeName"])
    if facts.node(name) is None:
        raise _no_node("spec.nodeName", name, facts)
    _require_etcd(spec["commands"], facts, "spec")
    return GroupPlan(name=name, nodes=(name,), commands=tuple(spec["commands"]))


def _nodes(spec: Mapping[str, Any], facts: ClusterFacts, path: str) -> tuple[NodeFacts, ...]:
    named = spec.get("nodeNames")
    for each in named or ():
        if facts.node(each) is None:
            raise _no_node(f"{path}.nodeNames", each, facts)
    found = [
        each
        for each in sorted(facts.nodes, key=lambda node: node.name)
        if (named is None or each.name in named) and node_selector.matches(spec.get("nodeSelector") or {}, each.labels)
    ]
    chosen = {ALL: found, HEAD: found[:1], TAIL: found[1:]}[str(spec.get("nodeFilter", ALL))]
    if not chosen and not (found and spec.get("nodeFilter") == TAIL):
        have = ", ".join(each.name for each in facts.nodes) or "none"
        rule = "matches no Node"
        raise RefusedAction(
            f"{path}.nodeSelector", None, rule, f"The cluster's Nodes are: {have}. Correct the selector."
        )
    return tuple(chosen)


def _require_etcd(commands: Sequence[Mapping[str, Any]], facts: ClusterFacts, path: str) -> None:
    """Refuse a workflow's upgrade commands that etcd is too old for.

    It is the same rule as an Action upgrade's (upgrade.require_etcd).
    """
    for index, each in enumerate(commands):
        for name in ("kubeadmUpgradeApply", "kubeadmUpgradeNode"):
            parameters = each.get(name) or {}
            if parameters.get("version") and parameters.get("etcdUpgrade") is not False:
                upgrade.require_etcd(str(parameters["version"]), facts, f"{path}.commands[{index}].{name}.version")


def _require_one_at_a_time(planned: GroupPlan, nodes: Sequence[NodeFacts], path: str) -> None:
    """Refuse to stop two Nodes' etcd members or API servers at once.

    Each Node asks whether the others are a quorum before it stops its own member: two that ask at the same moment both hear that they are.
    """
    control_plane = [each.name for each in nodes if each.control_plane]
    stops = catalogue.stops_api_server(planned.commands)
    if stops and planned.max_unavailable > 1 and len(control_plane) > 1:
        rule = (
            f"would have {stops} run on up to {min(planned.max_unavailable, len(control_plane))} control plane Nodes at once "
            f"({', '.join(control_plane)}): etcd could lose its quorum, and clients every API server"
        )
        fix = f"Leave policy: {PARALLEL} out, or give the control plane Nodes a TaskGroup of their own without it."
        raise RefusedAction(f"{path}.maxUnavailable", planned.max_unavailable, rule, fix)


def _no_node(path: str, name: str, facts: ClusterFacts) -> RefusedAction:
    have = ", ".join(each.name for each in facts.nodes) or "none"
    return RefusedAction(path, name, "there is no such Node", f"The cluster's Nodes are: {have}.")
