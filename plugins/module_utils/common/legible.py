# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Escaping of untrusted text before it is shown (docs/architecture.md).

Text of hosts, etcd members, manifests and Actions must not move a cursor, hide a part of itself or pass for another
line. All text that is shown is escaped here: results of modules (``node/module.py``), results and lines of the
controller's actions (``plugin_utils/calls/screen.py``), the journal, Events and conditions. Standard library alone: it
runs on nodes, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# Control characters but line feed and tab, lone surrogates (which JSON lets through and no encoding can write), line separators, and what
# Unicode calls Bidi_Control and Default_Ignorable_Code_Point.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_TEMPLATE = re.compile(r"\{(?=[{%#])")
_BREAK = re.compile(r"\r?\n|\t")
# Fields of a task's result that are for people, wherever in it they are. All others are data that something acts with or compares.
_TEXTS = frozenset({"msg", "message", "fix", "diff", "problem", "problems", "reasons", "warnings"})


def visible(text: str) -> str:
    """Return a text with control and hidden characters escaped (``\\x1b``, ``\\u202e``).

    Line feeds and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: ascii(found.group())[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return a text as :func:`visible` does, in one line.

    Line feeds and tabs become spaces.
    """
    return text if text.isascii() and text.isprintable() else visible(_BREAK.sub(" ", text))


def block(lines: Iterable[str]) -> str:
    """Return lines joined as one text.

    Line feeds within a line become spaces.
    """
    return "\n".join(one_line(each) for each in lines)


def untemplated(text: str) -> str:
    """Return a text that no template engine reads anything in.

    For what becomes a variable somewhere else, where Ansible would resolve it: what begins a template gets a space.
    """
    return _TEMPLATE.sub("{ ", text)


def lines(text: str) -> list[str]:
    """Return the lines of a text, each as :func:`one_line` does.

    Only a line feed ends a line.
    """
    return [one_line(each) for each in text.replace("\r\n", "\n").split("\n")]


def legible(document: Any, write: Callable[[str], str] = one_line) -> Any:
    """Return a JSON document's copy with texts and keys changed by ``write``."""
    if isinstance(document, str):
        return write(document)
    if isinstance(document, Mapping):
        return {legible(key, write): legible(value, write) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [legible(each, write) for each in document]
    return document


def readable(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task's result with its texts :func:`visible`, without lone surrogates.

    Ansible refuses a whole result for one lone surrogate.
    """
    return {key: _readable(value, key in _TEXTS) for key, value in result.items()}


def _readable(value: Any, text: bool) -> Any:
    if isinstance(value, str):
        if text:
            return visible(value)
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_readable(key, text): _readable(each, text or key in _TEXTS) for key, each in value.items()}
    return [_readable(each, text) for each in value] if isinstance(value, (list, tuple)) else value
