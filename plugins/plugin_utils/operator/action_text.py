# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts about an Action's plan, its state and its remedies."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.common.legible import block, lines, one_line
from ...module_utils.common.systemd_units import TASK
from ..documents.names import typed_name
from ..objects import actions
from . import catalogue, flow, freeze
from .flow import Step
from .leaving_out import command_refusal
from .matching import Execution

PLAYBOOK = "kubeadm.control_plane."
_UPGRADES_COMPONENTS = ("kubeadmUpgradeApply", "kubeadmUpgradeNode")


def held_text(root: Mapping[str, Any], pauses: Sequence[str]) -> str:
    """Return that an Action doesn't begin, since its cluster is paused."""
    return one_line(
        f"{actions.label(root)} has not begun, since its cluster is paused: {'; '.join(pauses)}. Nothing was done. Run this again once that pause has ended."
    )


def plan_text(root: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """Return the plan as text, as DryRun and check mode show it.

    Every Task is listed in its exact order with the lines that it would run.
    """
    groups = plan["groups"]
    count = sum(len(each["nodes"]) for each in groups)
    head = f"{actions.label(root)} of {plan['facts']['cluster']}: {actions.what(root)}"
    if not groups:
        return one_line(f"{head}: there is nothing to do")
    text = [f"{head}, {_many(count, 'Task')} in {_many(len(groups), 'TaskGroup')}, one TaskGroup at a time"]
    known = {each.name: each for each in freeze.nodes_of(plan)}
    number = 0
    for group in groups:
        how = "one Node at a time"
        if int(group["maxUnavailable"]) > 1:
            how = f"at most {group['maxUnavailable']} Nodes at a time"
        text.append(f"  {group['order']} {group['name']} ({how})")
        for node in group["nodes"]:
            number += 1
            text.append(f"    {number:>3}. {node}")
            text += [f"           {line}" for line in catalogue.describe(group["commands"], known[node])]
    return block(text)


def task_text(task: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """Return a planned Task's command lines for the user who approves it."""
    node = next(each for each in freeze.nodes_of(plan) if each.name == task["spec"]["nodeName"])
    return block(
        [
            f"{actions.label(task)} on Node {node.name}:",
            *(f"  {line}" for line in catalogue.describe(task["spec"]["commands"], node)),
        ]
    )


def ending(execution: Execution, step: Step, cluster: str) -> str:
    """Return the message at the end of a run: state and remedy.

    ``cluster`` is the cluster's host in the inventory, for the lines to type.
    """
    return block(_ending(execution, step, typed_name(cluster, "CLUSTER")))


def _ending(execution: Execution, step: Step, cluster: str) -> list[str]:
    root = execution.root
    option = f"--limit {cluster} -e operator_action={typed_name(str(root['metadata']['name']))}"
    label = actions.label(root)
    if step.kind == flow.COMPLETED:
        said = f"{label} is complete since {(root.get('status') or {}).get('completionTime')}: {progress(execution)}"
        return [said, *_cordoned(execution)]
    if step.kind == flow.ABORTED:
        said = f"{label} was aborted at {(root.get('status') or {}).get('abortTime')}: {progress(execution)}"
        return [said + _half_upgraded(execution, cluster), *_running(execution), *_cordoned(execution)]
    if step.kind == flow.PAUSED:
        half = f" {', '.join(step.tasks)} was started and will be resumed." if step.tasks else ""
        if execution.pauses:
            return [
                f"{label} is held, since its cluster is paused ({'; '.join(execution.pauses)}): {progress(execution)}{half}",
                f"What to type, once that pause has ended: {PLAYBOOK}resume {option}; or {PLAYBOOK}abort {option} to give it up.",
            ]
        return [
            f"{label} is paused: {progress(execution)}{half}",
            f"What to type: {PLAYBOOK}resume {option} to continue, {PLAYBOOK}abort {option} to give it up.",
        ]
    if step.kind == flow.APPROVAL:
        return [
            f"{label} waits for approval: {progress(execution)}",
            *(line for each in step.tasks for line in lines(task_text(execution.tasks[each], execution.plan))),
            f"What to type: {PLAYBOOK}approve {option} to run it, {PLAYBOOK}abort {option} to reject it.",
        ]
    if step.kind == flow.FAILED:
        return _failed(execution, step, label, option)
    return [
        f"{label} is paused, because something is not as its frozen plan has it. No further Task was started: {progress(execution)}",
        *(f"  {each}" for each in step.problems),
        f"What to type: undo that and {PLAYBOOK}resume {option}; {PLAYBOOK}skip {option} -e operator_node=NAME to continue without a Node that "
        f"came or is gone; {PLAYBOOK}abort {option} to give it up and begin a new one.",
    ]


def _half_upgraded(execution: Execution, cluster: str) -> str:
    """Return an aborted upgrade's half-upgraded Nodes with the remedy, as text.

    It is "" where nothing was upgraded.
    """
    root = execution.root
    if actions.what(root) != actions.UPGRADE:
        return ""
    nodes = sorted(
        str(task["spec"]["nodeName"])
        for task in execution.tasks.values()
        for record in (task.get("status") or {}).get("commands") or []
        if record["name"] in _UPGRADES_COMPONENTS
    )
    if not nodes:
        return ""
    upgrade = root["spec"][actions.UPGRADE]
    # Quoted as a whole: a spec may hold what a shell reads.
    options = shlex.quote(json.dumps({"operator_spec": {actions.UPGRADE: upgrade}}))
    return (
        f" {', '.join(nodes)}: {upgrade['targetVersion']} whole or in part, and the others not. Complete the upgrade before machines are made or "
        f"replaced: {PLAYBOOK}action --limit {cluster} -e {options}"
    )


def _running(execution: Execution) -> list[str]:
    """Return the line on an aborted Action's programs that may still run.

    [] without any.
    """
    nodes = set()
    for task in execution.tasks.values():
        status = task.get("status") or {}
        killed = status.get("startTime") and not status.get("completionTime") and not flow.has_error(status)
        if killed or any(each.get("unobserved") for each in status.get("commands") or []):
            nodes.add(str(task["spec"]["nodeName"]))
    if not nodes:
        return []
    return [
        f"What it had begun may still run on {', '.join(sorted(nodes))}, and ends by itself: systemctl list-units '{TASK}*' there. "
        "Until then no Action starts a program beside it."
    ]


def _cordoned(execution: Execution) -> list[str]:
    """Return the lines on an ended Action's cordoned Nodes.

    A drain may still run there. No later Action uncordons them: it leaves a Node as unschedulable as it found it. [] without any.
    """
    drained: set[str] = set()
    drains: set[str] = set()
    # Cordoned before the Action: their kubectlUncordon leaves all as it is.
    held = set((execution.plan["facts"].get("extra") or {}).get("unschedulable") or [])
    for group in execution.plan["groups"]:
        for task in execution.tasks_of(group):
            node = str(task["spec"]["nodeName"])
            for record in (task.get("status") or {}).get("commands") or []:
                done = record.get("completionTime") and not record.get("skipped")
                if record.get("name") == "kubectlDrain":
                    (drained if done else drains).add(node)
                elif record.get("name") == "kubectlUncordon" and done and node not in held:
                    drained.discard(node)
                    drains.discard(node)
    drained -= drains | held
    text = []
    if drained:
        text.append(f"Drained and still cordoned, no pod is scheduled there: kubectl uncordon {_typed(drained)}")
    if drains:
        text.append(
            f"Still cordoned, and a drain that was not completed may still run: kubectl uncordon {_typed(drains)} ends it within two minutes. "
            "To cordon a Node again, wait until then."
        )
    return text


def _typed(nodes: Iterable[str]) -> str:
    return " ".join(typed_name(each) for each in sorted(nodes))


def _failed(execution: Execution, step: Step, label: str, option: str) -> list[str]:
    text = [f"{label} has paused, because a Task failed. Nothing else was started: {progress(execution)}"]
    for name in step.tasks:
        task = execution.tasks[name]
        status = task["status"]
        first, *more = lines(str(status["errorMessage"]))
        text += [
            "",
            f"Task {name} on Node {task['spec']['nodeName']}, command {status['currentCommand']} of "
            f"{len(task['spec']['commands'])}: {first}",
            *(f"  {line}" for line in more),
        ]
        output = last_output(task)
        if output:
            text += ["Last output:", *(f"  {line}" for line in lines(output["text"].rstrip("\n"))[-30:])]
            if output["logPath"]:
                text.append(f"The whole output is in {output['logPath']} on that Node.")
    chosen = f" -e operator_task={typed_name(step.tasks[0])}" if len(step.tasks) > 1 else ""
    skip = f"  {PLAYBOOK}skip {option}{chosen}   to leave that command out and continue with the next"
    return [
        *text,
        "",
        "What to type, once you have mended it:",
        f"  {PLAYBOOK}retry {option}   to run the failed command again",
        *([] if any(command_refusal(execution, execution.tasks[name]) for name in step.tasks) else [skip]),
        f"  {PLAYBOOK}abort {option}   to give the Action up; what is done stays done",
    ]


def last_output(task: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the output of the last program of a Task's current command.

    It is {text, logPath}; None where the command ran no program.
    """
    status = task.get("status") or {}
    index = int(status.get("currentCommand") or 1) - 1
    records = status.get("commands") or []
    outputs = records[index].get("outputs") if index < len(records) else None
    if not outputs:
        return None
    last = outputs[-1]
    return {"text": last.get("tail") or last.get("head") or "", "logPath": last.get("logPath", "")}


def progress(execution: Execution) -> str:
    """Return how many of an Action's Tasks are done."""
    planned = [node for group in execution.plan["groups"] for node in group["nodes"]]
    tasks = [task for group in execution.plan["groups"] for task in execution.tasks_of(group)]
    done = [each for each in tasks if (each.get("status") or {}).get("completionTime")]
    return f"{len(done)} of {_many(len(planned), 'Task')} {'is' if len(done) == 1 else 'are'} done."


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
