# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of JSON documents, and the check of values against them.

It is fast enough for every decision, and reports the path of each misfit.
A field that is null counts as absent. Fields that a shape doesn't know are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

from ....module_utils.common.values import clip, parse_time
from ....module_utils.common.violations import describe

# A path grows by one step on each level and is written out for a misfit only: (parent, step). A step is a field's name
# (text), an index (int) or a free key (1-tuple).
Path = Optional[tuple[Any, Any]]
Say = Callable[[Path, str], None]

HEX_DIGITS = frozenset("0123456789abcdef")


def written(path: Path) -> str:
    """Return a path as text, "$" for the document itself.

    As ``machines[1].machine.spec``.
    """
    parts: list[str] = []
    while path is not None:
        path, step = path
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif isinstance(step, tuple):
            parts.append(f"[{clip(step[0], 80)}]")
        else:
            parts.append(f".{step}")
    text = "".join(reversed(parts))
    return text[1:] if text.startswith(".") else text or "$"


def shown(value: Any) -> str:
    """Return a value as messages show it.

    Short and on one line, whatever it is.
    """
    return (
        repr(clip(value, 80))
        if isinstance(value, str)
        else clip(repr(value), 80)
        if _is_plain(value)
        else describe(value)
    )


def _is_plain(value: Any) -> bool:
    # The digits of a huge integer take time to write out.
    return value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 10**20)


class Shape:
    """Base of all shapes; by itself it takes any value."""

    def __init__(self, note: str = "") -> None:
        self.note = note

    def check(self, value: Any, path: Path, say: Say) -> None:
        """Call ``say`` for every misfit. ``value`` is not None."""


class Text(Shape):
    """Shape of a text, of at least ``shortest`` characters."""

    def __init__(self, shortest: int = 0, note: str = "") -> None:
        super().__init__(note)
        self.shortest = shortest

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, str):
            say(path, f"must be text, not {describe(value)}")
        elif len(value) < self.shortest:
            say(path, "is empty")


class Boolean(Shape):
    """Shape of true or false."""

    def check(self, value: Any, path: Path, say: Say) -> None:
        if value is not True and value is not False:
            say(path, f"must be true or false, not {describe(value)}")


class Integer(Shape):
    """Shape of a whole number that is at least ``least``."""

    def __init__(self, least: Optional[int] = None, note: str = "") -> None:
        super().__init__(note)
        self.least = least

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            say(path, f"must be a whole number, not {describe(value)}")
        elif self.least is not None and value < self.least:
            say(path, f"{shown(value)} is less than {self.least}")


class Number(Shape):
    """Shape of a number."""

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            say(path, f"must be a number, not {describe(value)}")


class Time(Shape):
    """Shape of an RFC 3339 time."""

    def check(self, value: Any, path: Path, say: Say) -> None:
        if parse_time(value) is None:
            say(path, f"{shown(value)} is not an RFC 3339 time such as 2026-01-31T12:00:00Z")


class HexID(Shape):
    """Shape of an etcd ID: 1 to 16 lower-case hexadecimal digits."""

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, str) or not 1 <= len(value) <= 16 or not HEX_DIGITS.issuperset(value):
            say(path, f"{shown(value)} is not an ID of 1 to 16 hexadecimal digits")


class OneOf(Shape):
    """Shape of one of a few texts."""

    def __init__(self, *values: str, note: str = "") -> None:
        super().__init__(note)
        self.values = values

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, str) or value not in self.values:
            options = ", ".join(repr(each) for each in self.values)
            say(path, f"{shown(value)} is not {'one of ' if len(self.values) > 1 else ''}{options}")


class Sequence(Shape):
    """Shape of a list of values of one shape."""

    def __init__(self, item: Shape, note: str = "") -> None:
        super().__init__(note)
        self.item = item

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, list):
            say(path, f"must be a list, not {describe(value)}")
            return
        check = self.item.check
        for index, entry in enumerate(value):
            if entry is None:
                say((path, index), "is nothing")
            else:
                check(entry, (path, index), say)


class Table(Shape):
    """Shape of a mapping from free keys to values of one shape.

    With ``ids`` the keys are IDs.
    """

    def __init__(self, value: Shape, ids: bool = False, note: str = "") -> None:
        super().__init__(note)
        self.value = value
        self.ids = ids

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, dict):
            say(path, f"must be a mapping, not {describe(value)}")
            return
        check = self.value.check
        for key, entry in value.items():
            where = (path, (key,))
            if self.ids and (not 1 <= len(key) <= 16 or not HEX_DIGITS.issuperset(key)):
                say(where, "the key is not an ID of 1 to 16 hexadecimal digits")
            if entry is None:
                say(where, "is nothing")
            else:
                check(entry, where, say)


class Struct(Shape):
    """Shape of a mapping with known fields.

    Fields whose names end with "!" are required. ``name``: its own definition in the schema.
    """

    def __init__(self, fields: Mapping[str, Shape], name: str = "", note: str = "") -> None:
        super().__init__(note)
        self.name = name
        self.fields = {key.rstrip("!"): shape for key, shape in fields.items()}
        self.required = frozenset(key[:-1] for key in fields if key.endswith("!"))
        self._plan = tuple((key, shape.check, key in self.required) for key, shape in self.fields.items())

    def check(self, value: Any, path: Path, say: Say) -> None:
        if not isinstance(value, dict):
            say(path, f"must be a mapping, not {describe(value)}")
            return
        get = value.get
        for key, check, required in self._plan:
            found = get(key)
            if found is not None:
                check(found, (path, key), say)
            elif required:
                say((path, key), "is missing")
