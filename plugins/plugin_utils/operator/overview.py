# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Overview of Actions for users: table, Tasks, and output of their commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.common.legible import block, lines, one_line
from ..objects import actions
from ..objects.actions import Object
from . import phases
from .matching import Execution

_COLUMNS = ("name", "kind", "mode", "phase", "tasks", "started", "ended")


def row(execution: Execution) -> Object:
    """Return an Action's row of the table."""
    root = execution.root
    status = root.get("status") or {}
    planned, done = [], []
    if actions.started(root):
        for group in execution.plan["groups"]:
            planned += group["nodes"]
            done += [each for each in execution.tasks_of(group) if (each.get("status") or {}).get("completionTime")]
    return {
        "name": str(root["metadata"]["name"]),
        "kind": actions.what(root),
        "mode": str(root["spec"].get("executionMode") or actions.AUTO),
        "phase": phases.phase(root),
        "tasks": f"{len(done)}/{len(planned)}",
        "started": str(status.get("startTime") or ""),
        "ended": str(status.get("completionTime") or status.get("abortTime") or ""),
        "message": str(status.get("errorMessage") or status.get("message") or ""),
    }


def table(cluster: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of all Actions of a cluster."""
    if not rows:
        return one_line(f"{cluster} has had no Action")
    cells = [[each.upper() for each in _COLUMNS], *([str(each[column]) or "-" for column in _COLUMNS] for each in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(_COLUMNS))]
    text = []
    for number, line in enumerate(cells):
        text.append("  ".join(part.ljust(width) for part, width in zip(line, widths)).rstrip())
        if number and rows[number - 1]["message"]:
            text += [f"    {part}" for part in lines(str(rows[number - 1]["message"]))]
    return block(text)


def tasks(execution: Execution) -> list[Object]:
    """Return the Tasks made so far, in the plan's order, without outputs."""
    if not actions.started(execution.root):
        return []
    found = []
    for group in execution.plan["groups"]:
        for each in execution.tasks_of(group):
            status = each.get("status") or {}
            found.append(
                {
                    "name": str(each["metadata"]["name"]),
                    "group": str(group["name"]),
                    "node": str(each["spec"]["nodeName"]),
                    "phase": phases.phase(each),
                    "progress": str(status.get("commandProgress") or ""),
                    "started": str(status.get("startTime") or ""),
                    "ended": str(status.get("completionTime") or ""),
                    "message": str(status.get("errorMessage") or ""),
                    "commands": status.get("commands") or [],
                }
            )
    return found


def details(execution: Execution, task: str = "", *, logs: bool = False) -> str:
    """Return an Action's text with its Tasks and their commands.

    With ``logs`` it also has the recorded parts of their outputs.
    """
    shown = row(execution)
    root = execution.root
    text = [f"{actions.label(root)} ({shown['kind']}, {shown['mode']}): {shown['phase']}, {shown['tasks']} Tasks done"]
    text += [f"  {each}" for each in lines(shown["message"]) if each]
    if not actions.started(root):
        return block([*text, "  it has not begun"])
    made = {each["name"]: each for each in tasks(execution)}
    for group in execution.plan["groups"]:
        names = [str(each["metadata"]["name"]) for each in execution.tasks_of(group)]
        if task and task not in names:
            continue
        text.append(f"  {group['order']} {group['name']}")
        for node in group["nodes"]:
            obj = execution.task(group, node)
            if obj is None:
                if not task:
                    text.append(f"    {node}: {'left out' if node in execution.left_out else 'not yet'}")
                continue
            name = str(obj["metadata"]["name"])
            if task in ("", name):
                text += _task(obj, made[name], logs=logs)
    return block(text)


def _task(obj: Mapping[str, Any], shown: Mapping[str, Any], *, logs: bool) -> list[str]:
    times = f", {shown['started']} to {shown['ended'] or 'now'}" if shown["started"] else ""
    text = [f"    {shown['node']}: {shown['phase']} {shown['progress']}{times} ({shown['name']})"]
    for index, descriptor in enumerate(obj["spec"]["commands"]):
        record = shown["commands"][index] if index < len(shown["commands"]) else {}
        text.append(f"      {index + 1}. {', '.join(descriptor)}: {_state(record)}")
        text += [f"         {each}" for note in record.get("notes") or [] for each in lines(note)]
        for output in record.get("outputs") or []:
            where = f", log {output['logPath']}" if output.get("logPath") else ""
            said = f"exit {output['exitCode']}, {output['size']} bytes, sha256 {output['sha256'][:12]}{where}"
            text.append(f"         $ {' '.join(output['argv'])}  ({said})")
            if logs:
                text += [f"         | {each}" for each in _kept(output)]
    return text


def _kept(output: Mapping[str, Any]) -> list[str]:
    head, tail = str(output.get("head") or ""), str(output.get("tail") or "")
    gap = (
        int(output.get("size") or 0) > len(head.encode("utf-8", "replace")) + len(tail.encode("utf-8", "replace"))
        and tail
    )
    return [*_lines(head), *(["[...]"] if gap else []), *_lines(tail)]


def _lines(text: str) -> list[str]:
    return lines(text.rstrip("\n")) if text else []


def _state(record: Mapping[str, Any]) -> str:
    if record.get("skipped"):
        return "left out by a person"
    if record.get("error"):
        return f"failed: {record['error']}"
    if record.get("completionTime"):
        return "done"
    return "under way" if record.get("startTime") else "not yet"
