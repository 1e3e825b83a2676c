# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the templates that cloud-init would render in a KubeadmConfigSpec's texts.

Cluster API hands its texts to cloud-init as one Jinja template. Of Jinja's language this reads names, indexes, ``split``, text
in quotes, comments and ``raw`` blocks, with Jinja's rules for whitespace. Nothing else is evaluated: a manifest is data.

Each text is read once, from left to right, in time that grows with its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

LONGEST_EXPRESSION = 512
# More than a reader of messages wants of one text.
MOST_PROBLEMS = 20
_LONGEST_SHOWN = 80
_TAG = re.compile(r"\{\{|\{%|\{#")
_RAW = re.compile(r"\{%[-+]?\s*raw\s*(?P<trim>-?)%\}")
_END_RAW = re.compile(r"\{%(?P<before>-?)\+?\s*endraw\s*(?P<after>[-+]?)%\}")
_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<end>-?\}\})|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>-?[0-9]{1,4})(?![0-9])"""
    r"""|"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)'|(?P<sign>[.\[\]()]))"""
)

RAW_HINT = "Text for another program goes between {% raw %} and {% endraw %}"


@dataclass(frozen=True)
class Split:
    """Operation on a value: one part between separators, by its index."""

    separator: str
    index: int


@dataclass(frozen=True)
class Reference:
    """Reference to instance data: its keys and the operations on the value."""

    keys: tuple[str, ...]
    splits: tuple[Split, ...]
    shown: str
    line: int

    @property
    def name(self) -> str:
        """Keys as a dotted name, with cloud-init's alias for hyphens."""
        return ".".join(key.replace("-", "_") for key in self.keys)


@dataclass(frozen=True)
class Problem:
    """Part of a text that is refused, with the reason."""

    shown: str
    line: int
    rule: str


@dataclass(frozen=True)
class Template:
    """Text in parts: literal text and references, or the problems with it.

    `comments` are the lines in which comments begin.
    """

    parts: Sequence[Union[str, Reference]]
    problems: Sequence[Problem] = ()
    comments: Sequence[int] = ()

    @property
    def references(self) -> list[Reference]:
        """References to instance data, in their order."""
        return [part for part in self.parts if isinstance(part, Reference)]


class _Refused(Exception):
    """Expression that is not evaluated; its text is the rule."""


def has_tags(text: str) -> bool:
    """Return whether a text has anything that a template engine would read."""
    return "{{" in text or "{%" in text or "{#" in text


def read(text: str) -> Template:
    """Return a text's parts, and the problems with it."""
    return _Reader(text).read() if has_tags(text) else Template((text,))


def escaped(text: str) -> str:
    """Return the template that becomes this text."""
    return re.sub(r"\{(?=[{%#])", '{{ "{" }}', text)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[Union[str, Reference]] = []
        self._problems: list[Problem] = []
        self._comments: list[int] = []
        self._at = 0
        self._line, self._counted = 1, 0

    def read(self) -> Template:
        """Return the whole text's template."""
        text, look = self._text, 0
        last_comment = text.rfind("#}")
        while len(self._problems) < MOST_PROBLEMS:
            found = _TAG.search(text, look)
            if not found:
                break
            start, tag = found.start(), found.group()
            if tag == "{#":
                # In a shell ${#name} is a length, and what has no end is no comment.
                shell = text[max(start - 1, 0) : start] == "$"
                end = -1 if shell or start + 2 > last_comment else text.find("#}", start + 2)
                if end < 0:
                    look = start + 1
                    continue
                self._comments.append(self._line_of(start))
                self._literal(start, text.startswith("{#-", start))
                self._resume(end + 2, text[start + 2 : end].endswith("-"), newline=True)
            elif tag == "{%":
                self._block(start)
            else:
                self._expression(start)
            look = self._at
        self._add(text[self._at :])
        return Template(tuple(self._parts), tuple(self._problems), tuple(self._comments))

    def _add(self, part: Union[str, Reference]) -> None:
        if isinstance(part, str) and self._parts and isinstance(self._parts[-1], str):
            # One literal, however it is spelled: texts are compared by their parts.
            self._parts[-1] += part
        elif part:
            self._parts.append(part)

    def _literal(self, end: int, trim: bool) -> None:
        text = self._text[self._at : end]
        self._add(text.rstrip() if trim else text)

    def _resume(self, at: int, trim: bool, newline: bool = False) -> None:
        # cloud-init sets Jinja's trim_blocks: a line break right after a block or a comment belongs to it.
        if trim:
            match = _SPACE.match(self._text, at)
            at = match.end() if match else at
        elif newline and self._text.startswith("\n", at):
            at += 1
        self._at = at

    def _block(self, start: int) -> None:
        text = self._text
        raw = _RAW.match(text, start)
        if not raw:
            end = text.find("%}", start, start + LONGEST_EXPRESSION)
            rule = "statements of Jinja are not evaluated here, only instance data is filled in"
            self._refuse(start, end + 2 if end >= 0 else start + 2, rule)
            return
        end_raw = _END_RAW.search(text, raw.end())
        if not end_raw:
            self._refuse(start, raw.end(), "the raw block has no {% endraw %}")
            self._at = len(text)
            return
        self._literal(start, text.startswith("{%-", start))
        self._resume(raw.end(), bool(raw.group("trim")))
        # What the trimming took may reach into the end.
        self._at = min(self._at, end_raw.start())
        self._literal(end_raw.start(), bool(end_raw.group("before")))
        self._resume(end_raw.end(), end_raw.group("after") == "-", newline=end_raw.group("after") == "")

    def _expression(self, start: int) -> None:
        text = self._text
        try:
            part, end, trim = self._parse(start)
        except _Refused as refused:
            end = text.find("}}", start, start + LONGEST_EXPRESSION)
            self._refuse(start, end + 2 if end >= 0 else start + 2, str(refused))
            return
        self._literal(start, text.startswith("{{-", start))
        self._add(part)
        self._resume(end, trim)

    def _parse(self, start: int) -> tuple[Union[str, Reference], int, bool]:
        at = start + 2
        if self._text[at : at + 1] in ("-", "+") and not self._text[at + 1 : at + 2].isdecimal():
            at += 1
        tokens: list[tuple[str, str]] = []
        while True:
            match = _TOKEN.match(self._text, at, start + LONGEST_EXPRESSION)
            if not match:
                raise _Refused(_why(self._text[at : start + LONGEST_EXPRESSION]))
            kind = str(match.lastgroup)
            if kind == "end":
                return self._meaning(tokens, start, match.end()), match.end(), match.group("end").startswith("-")
            tokens.append(("text" if kind in ("double", "single") else kind, match.group(kind)))
            at = match.end()

    def _meaning(self, tokens: list[tuple[str, str]], start: int, end: int) -> Union[str, Reference]:
        if len(tokens) == 1 and tokens[0][0] == "text":
            return tokens[0][1]
        if not tokens or tokens[0][0] != "name":
            raise _Refused(_NOT_A_NAME)
        keys, splits, at = [tokens[0][1]], [], 1
        while at < len(tokens):
            step = [kind if kind != "sign" else value for kind, value in tokens[at : at + 8]]
            values = [value for _kind, value in tokens[at : at + 8]]
            if step == [".", "name", "(", "text", ")", "[", "number", "]"]:
                if values[1] != "split" or not values[3]:
                    raise _Refused("of functions only split with a text is evaluated")
                splits.append(Split(values[3], int(values[6])))
                at += 8
            elif splits or step[:3] == [".", "name", "("]:
                is_split = len(values) > 1 and values[1] == "split"
                raise _Refused(_SPLIT if splits or is_split else "functions other than split are not evaluated here")
            elif step[:2] == [".", "name"]:
                keys.append(values[1])
                at += 2
            elif step[:3] in (["[", "text", "]"], ["[", "number", "]"]):
                keys.append(values[1])
                at += 3
            else:
                raise _Refused(_NOT_A_NAME)
        return Reference(tuple(keys), tuple(splits), self._shown(start, end), self._line_of(start))

    def _refuse(self, start: int, stop: int, rule: str) -> None:
        self._problems.append(Problem(self._shown(start, stop), self._line_of(start), rule))
        self._at = stop

    def _shown(self, start: int, stop: int) -> str:
        if stop - start == 2:
            # Without an end: what follows says which it is.
            stop = start + 40
        text = self._text[start:stop]
        return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."

    def _line_of(self, at: int) -> int:
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line


_NOT_A_NAME = "this is no name of instance data"
_SPLIT = 'split is written like .split(".")[0], and nothing comes after it but another split'


def _why(rest: str) -> str:
    found: Optional[str] = next((sign for sign in rest.lstrip()[:1]), None)
    if "}}" not in rest:
        return f"it has no end within {LONGEST_EXPRESSION} characters"
    if found == "|":
        return "filters of Jinja are not evaluated here"
    if found == "-":
        return "a name has '_' in place of '-', or is written in brackets like [\"local-hostname\"]"
    return _NOT_A_NAME
