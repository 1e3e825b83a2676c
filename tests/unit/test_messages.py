# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of messages: each error that a plugin raises says what to do, as far as its text tells that."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
# What the code puts in.
VARIES = "…"
VERBS = (
    "abort|add|ask|begin|bring|change|check|choose|continue|copy|correct|create|delete|drain|edit|export|free|give|grant|have|install|"
    "leave|let|limit|look|make|mend|mount|move|name|pause|point|prepare|put|read|remove|rename|renew|repeat|replace|report|"
    "reset|restart|restore|resume|retry|run|select|send|set|skip|start|state|stop|take|try|turn|undo|update|use|wait|write"
)
# A sentence or a part of one that begins with what to do; a command or a variable to give; a page that says it.
WAY_OUT = re.compile(
    rf"(?:^|[.;:,(]\s|\bor |\band |\bthen )\(?(?:{VERBS})\b|kubeadm\.control_plane\.\w+|-e \w+=|docs/\w+", re.IGNORECASE
)
ENDS_OPEN = re.compile(rf"{VARIES}(?:\.? Nothing was \w+\.)?$")
# Whose last argument is the remedy, and how many they take; a file's own errors of that name have one (the message).
REMEDY_LAST = {"StoreError": 4, "add": 4, "unreadable": 4, "beyond": 4}
# Whose first argument is the message, and those of which every argument is a part of it.
MESSAGES = ("ControlPlaneFailure", "UnusableConnection")
WHOLE = ("CommandFailure", "NodeError", "NspawnError")
# Whose text doesn't show the way out: it has one in what is put in, or there is none. Only fewer may come.
WITHOUT = {
    "action/management_cluster.py": 1,
    "plugin_utils/reconcile/plan_and_reconcile.py": 1,
}


class Message(NamedTuple):
    """A text that is raised, and where."""

    file: str
    line: int
    text: str


def text_of(node: ast.expr, constants: dict[str, str]) -> str:
    """A literal's text, with what differs left open."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(each, constants) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value, constants) if isinstance(node.value, ast.Name) else VARIES
    if isinstance(node, ast.BinOp):
        return text_of(node.left, constants) + text_of(node.right, constants)
    return constants.get(node.id, VARIES) if isinstance(node, ast.Name) else VARIES


def constants_of(tree: ast.Module) -> dict[str, str]:
    """The texts that a file has names for."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = text_of(node.value, found)
    return found


@cache
def calls() -> tuple[tuple[str, list[ast.expr], Message], ...]:
    """Every call in the plugins whose function is one of the above, with its last argument's text."""
    return tuple(_calls())


def _calls() -> Iterator[tuple[str, list[ast.expr], Message]]:
    for file in sorted(PLUGINS.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        constants = constants_of(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = str(getattr(node.func, "attr", getattr(node.func, "id", "")))
            if name in MESSAGES or name in WHOLE or name in REMEDY_LAST:
                parts = node.args if name in WHOLE else node.args[0:1] if name in MESSAGES else node.args[-1:]
                said = "; ".join(text_of(each, constants) for each in parts)
                yield name, node.args, Message(file.relative_to(PLUGINS).as_posix(), node.lineno, said)


def test_a_failure_says_what_to_do() -> None:
    """A text that ends with what the code puts in, often another error, is taken to have it there."""
    told = [said for name, _arguments, said in calls() if name in MESSAGES or name in WHOLE]
    assert len(told) > 380
    without = [each for each in told if not WAY_OUT.search(each.text) and not ENDS_OPEN.search(each.text)]
    assert dict(Counter(each.file for each in without)) == WITHOUT, without


@pytest.mark.parametrize("name", REMEDY_LAST)
def test_an_error_with_a_remedy_of_its_own_has_one(name: str) -> None:
    """It is a sentence: it begins with a capital letter and ends with a full stop, or the code puts it in."""
    told = [said for found, arguments, said in calls() if found == name and len(arguments) == REMEDY_LAST[name]]
    assert told
    wrong = [
        each for each in told if not re.fullmatch(rf"(?:[A-Z`\"'{{{VARIES}].*)?[.)!?{VARIES}]", each.text, re.DOTALL)
    ]
    assert wrong == []
