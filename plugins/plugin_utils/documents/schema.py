# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of JSON values against a description of their structure.

It checks types, limits, unknown fields, and fields that are refused by name.

A description is: the name of a scalar type ("string", "integer", "int64", "boolean", "intOrString", "duration",
"timestamp", "seconds", "days"), "any" or "object" (taken unchanged), a list with one description (a list of such),
`MapOf(description)`, a dict (a structure's fields), `Refused(rule, fix)`, or `Ignored(description, warning)`; with
limits `Text`, `Number`, `ListOf`; in a dict also `Needed(description)`.

A value beyond its limits is reported and kept, so that the entries of a list stay where they were written. What is
empty is not reported: it counts as absent.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils.common.values import utc_time
from ...module_utils.common.violations import Report, child, describe, item
from .scalars import parse_duration

INT32_MAX = 2**31 - 1
_LARGEST = {"int64": 2**63 - 1}


@dataclass(frozen=True)
class MapOf:
    """Mapping from free keys to values of one description."""

    value: Any


@dataclass(frozen=True)
class Text:
    """Text of bounded length, of a pattern, or one of a list.

    `pattern` holds for the whole text, in the syntax that Python and RE2 share; `rule` and `fix` say what it asks for.
    """

    most: int | None = None
    least: int = 1
    pattern: str = ""
    one_of: tuple[str, ...] = ()
    rule: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Number:
    """Whole number between bounds; `unit` is "integer", "int64", "seconds" or "days"."""

    least: int = 0
    most: int | None = None
    unit: str = "integer"


@dataclass(frozen=True)
class ListOf:
    """List of one description, of bounded length.

    `keys` are the fields that tell its entries apart for a server-side apply; without them the list has one owner.
    `unique` is the field that no two entries share.
    """

    value: Any
    most: int | None = None
    least: int = 1
    keys: tuple[str, ...] = ()
    unique: str = ""


@dataclass(frozen=True)
class Needed:
    """Field of a structure that can't be left out.

    An API server refuses it; a manifest without it is refused by the rules in objects/validate, which say why it is needed.
    """

    value: Any


class MayBeEmpty(dict[str, Any]):
    """Structure that says something even without any field."""


class Whole(MayBeEmpty):
    """Structure with one owner in a server-side apply; may be empty."""


@dataclass(frozen=True)
class Refused:
    """Field of Cluster API or kubeadm that is refused: rule and remedy."""

    rule: str
    fix: str


@dataclass(frozen=True)
class Ignored:
    """Field without effect that is read and not kept: description and warning.

    A value that is false asks for nothing and needs no warning.
    """

    value: Any
    warning: str


class _Absent:
    """Mark for a value that had to be left out."""


ABSENT = _Absent()


def bare(description: Any) -> Any:
    """Return a description without its limits, at its top level."""
    if isinstance(description, Needed):
        return bare(description.value)
    if isinstance(description, ListOf):
        return [description.value]
    if isinstance(description, Number):
        return description.unit
    return "string" if isinstance(description, Text) else description


def check(value: Any, description: Any, path: str, report: Report, hints: Mapping[str, str] | None = None) -> Any:
    """Return `value` without what does not fit `description`.

    Every misfit is reported as unreadable at its path.

    `hints` maps a field name to advice for people who wrote it where it does not exist. Null fields count as absent, as in the
    Kubernetes API. Returns ABSENT when the value itself does not fit.
    """
    if isinstance(description, Refused):
        report.unreadable(path, None, description.rule, description.fix)
        return ABSENT
    if isinstance(description, Ignored):
        if check(value, description.value, path, report, hints) not in (ABSENT, False):
            report.warn(path, description.warning)
        return ABSENT
    if isinstance(description, Needed):
        return check(value, description.value, path, report, hints)
    if isinstance(description, str):
        return _scalar(value, description, path, report)
    if isinstance(description, Text):
        return _text(value, description, path, report)
    if isinstance(description, Number):
        return _number(value, description, path, report)
    if isinstance(description, (list, ListOf)):
        listed = ListOf(description[0]) if isinstance(description, list) else description
        return _list(value, listed, path, report, hints)
    if not isinstance(value, dict):
        return _wrong(value, "a mapping", path, report)
    if isinstance(description, MapOf):
        return _present(
            {key: check(entry, description.value, child(path, key), report, hints) for key, entry in value.items()}
        )
    return _struct(value, description, path, report, hints or {})


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: entry for key, entry in values.items() if entry is not ABSENT}


def _struct(
    value: dict[str, Any], fields: Mapping[str, Any], path: str, report: Report, hints: Mapping[str, str]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, entry in value.items():
        if entry is None and key in fields:
            continue
        if key in fields:
            result[key] = check(entry, fields[key], child(path, key), report, hints)
        else:
            shown = entry if isinstance(entry, (bool, int, float)) else None
            report.unreadable(child(path, key), shown, "there is no such field here", _advice(key, fields, hints))
    return _present(result)


def _list(value: Any, description: ListOf, path: str, report: Report, hints: Mapping[str, str] | None) -> Any:
    if not isinstance(value, list):
        return _wrong(value, "a list", path, report)
    checked = [check(entry, description.value, item(path, index), report, hints) for index, entry in enumerate(value)]
    if description.most is not None and len(value) > description.most:
        rule = f"this has {len(value)} entries, and at most {description.most} are taken"
        report.beyond(path, None, rule, "Leave some out.")
    elif description.unique:
        _unique(checked, description.unique, path, report)
    return [entry for entry in checked if entry is not ABSENT]


def _unique(checked: list[Any], field: str, path: str, report: Report) -> None:
    seen: dict[Any, int] = {}
    for index, entry in enumerate(checked):
        value = entry.get(field) if isinstance(entry, dict) else None
        if value is not None and value in seen:
            rule = f"entry {seen[value]} has the same {field}, and Cluster API takes each of them once"
            report.beyond(item(path, index), value, rule, "Remove one of them.")
        elif value is not None:
            seen[value] = index


def _text(value: Any, description: Text, path: str, report: Report) -> Any:
    text = _scalar(value, "string", path, report)
    # An empty one is the same as none, or has a rule of its own.
    if text is ABSENT or not text:
        return text
    if description.most is not None and len(text) > description.most:
        rule = f"this text has {len(text)} characters, and at most {description.most} are taken"
        report.beyond(path, text, rule, "Write a shorter one.")
    elif description.one_of and text not in description.one_of:
        rule = description.rule or "there is no such value"
        report.beyond(path, text, rule, description.fix or f"Use one of {', '.join(description.one_of)}.")
    elif description.pattern and not re.fullmatch(description.pattern, text):
        report.beyond(path, text, description.rule, description.fix)
    return text


def _number(value: Any, description: Number, path: str, report: Report) -> Any:
    number = _scalar(value, description.unit, path, report)
    if number is ABSENT or (number == 0 and description.unit == "integer"):
        return number
    if number >= description.least and (description.most is None or number <= description.most):
        return number
    end = f"between {description.least} and {description.most}" if description.most is not None else None
    bounds = end or f"{description.least} or more"
    report.beyond(path, number, f"this number is not {bounds}", f"Write a number that is {bounds}.")
    return number


def _advice(key: str, fields: Mapping[str, Any], hints: Mapping[str, str]) -> str:
    if key in hints:
        return hints[key]
    known = sorted(name for name, description in fields.items() if not isinstance(description, Refused))
    lowered = {name.lower(): name for name in known}
    near = [lowered[key.lower()]] if key.lower() in lowered else difflib.get_close_matches(key, known, 1, 0.6)
    if near:
        return f"Did you mean {near[0]}?"
    if not known:
        return "Remove it."
    return f"Remove it, or use one of: {', '.join(known)}."


def _wrong(value: Any, expected: str, path: str, report: Report) -> Any:
    shown = value if isinstance(value, (bool, int, float)) else None
    report.unreadable(path, shown, f"this must be {expected}, not {describe(value)}", f"Write {expected}.")
    return ABSENT


def _scalar(value: Any, kind: str, path: str, report: Report) -> Any:
    if kind == "any":
        return value
    if kind == "object":
        return value if isinstance(value, dict) else _wrong(value, "a mapping", path, report)
    if kind == "boolean":
        return value if isinstance(value, bool) else _wrong(value, "true or false", path, report)
    if kind in ("integer", "int64", "seconds", "days"):
        return _integer(value, kind, path, report)
    if kind == "intOrString":
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        return _wrong(value, "a whole number", path, report)
    if not isinstance(value, str):
        if isinstance(value, (bool, int, float)):
            fix = "Quote it: an unquoted number, yes or no is not text in YAML, and 0644 is the number 420."
            report.unreadable(path, value, f"this must be text, not {describe(value)}", fix)
            return ABSENT
        return _wrong(value, "text", path, report)
    if kind == "duration" and parse_duration(value) is None:
        report.unreadable(path, value, "this is not a duration", 'Write it like "10m", "90s" or "1h30m".')
        return ABSENT
    if kind == "timestamp" and utc_time(value) is None:
        report.unreadable(path, value, "this is not an RFC 3339 time", 'Write it like "2026-01-31T10:00:00Z".')
        return ABSENT
    return value


def _integer(value: Any, kind: str, path: str, report: Report) -> Any:
    plain = kind in ("integer", "int64")
    if isinstance(value, bool) or not isinstance(value, int):
        return _wrong(value, "a whole number" if plain else f"a whole number of {kind}", path, report)
    largest = _LARGEST.get(kind, INT32_MAX)
    if not (-largest - 1 if plain else 0) <= value <= largest:
        report.unreadable(path, value, "the number is out of range", f"Write a number between 0 and {largest}.")
        return ABSENT
    return value
