# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edit of one scalar in a manifest's text; all else stays unchanged.

Comments, order, quotes, line breaks and other documents stay.

The text is never written again from its data. Only the characters of the value are replaced, and afterwards the whole
text is read again and must hold what it held before, but for that one field.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

import yaml

from ...module_utils.common.violations import ManifestError, Violation
from .yaml_files import Document, read_text

Value = Union[int, str]
# What generators of text leave in a manifest that is not finished yet: Jinja, Go templates, shells and envsubst, ERB.
_TEMPLATE = re.compile(r"\{\{|\{%|\$\{|\$\(|<%|\$[A-Za-z_]")
_LINE_BREAK = re.compile("\r\n|\r|\n")
_WHOLE_LINE = re.compile(r"[\s\-]*[\"']?[A-Za-z]+[\"']?\s*:\s*")


@dataclass(frozen=True)
class Edit:
    """Edit of one field of a file's text.

    `before` and `after` are the whole texts, `old` and `new` the value as it is written, `line` counts from 1.
    """

    file: str
    line: int
    path: str
    old: str
    new: str
    before: str
    after: str

    def diff(self, before_name: str, after_name: str) -> str:
        """Return the edit as a unified diff without context lines.

        What is around the field may be secret.

        Where other fields stand on the same line they are shown as "..."; such a diff is for reading only.
        """
        lines = [
            f"{sign}{_shown(_line(text, self.line), self.path, value)}"
            for sign, text, value in (("-", self.before, self.old), ("+", self.after, self.new))
        ]
        head = [f"--- {before_name}", f"+++ {after_name}", f"@@ -{self.line} +{self.line} @@"]
        return "\n".join([*head, *lines]) + "\n"


class _Cannot(Exception):
    """Refusal to edit a field: its line, and why it isn't safe."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


def is_template(value: Any) -> bool:
    """Return whether a value is a text that a generator fills in.

    It has still to be filled in.
    """
    return isinstance(value, str) and _TEMPLATE.search(value) is not None


def set_scalar(text: str, document: Document, keys: Sequence[str], value: Value) -> Edit:
    """Return the edit that sets one field of a file's document.

    Args:
        text: the file's whole text, line breaks as they are.
        document: the document, as it was read from this text.
        keys: the field as it is written, such as ("spec", "rollout", "after"). It must be there.
        value: the new value; quotes stay as they are.

    Returns:
        the edit; where the value is written there already, `before` and `after` are the same.

    Raises:
        ManifestError: naming the line and what to type, where the value comes from an anchor, an alias, a tag or a template, or where
        the text would mean anything else than before.
    """
    path = ".".join(keys)
    try:
        event = _find(_events_of(text, document), keys, document.line)
        start, end, new = _replacement(text, event, value)
        line = _LINE_BREAK.sub("\n", text[:start]).count("\n") + 1
        edited = text[:start] + new + text[end:]
        if edited != text:
            _check_rest(text, edited, document, keys, value, line)
    except _Cannot as cannot:
        fix = f"Write {path}: {value} there yourself, in a plain way; nothing was written."
        where = f"{document.file}:{cannot.line}"
        raise ManifestError([Violation(document.label, path, None, cannot.why, fix, where)]) from None
    return Edit(document.file, line, path, text[start:end], new, text, edited)


def _events_of(text: str, document: Document) -> Iterator[Any]:
    """Return the parser's events of one document, after its root mapping's start."""
    events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            root: Any = next(events)
            if root.start_mark.line + 1 == document.line and isinstance(root, yaml.MappingStartEvent):
                return iter(events)
    raise _Cannot(document.line, "the document is not where it was read")


def _find(events: Iterator[Any], keys: Sequence[str], line: int) -> Any:
    """Return the event of the scalar at `keys` in the started mapping."""
    for key in events:
        if isinstance(key, yaml.MappingEndEvent):
            break
        name = key.value if isinstance(key, yaml.ScalarEvent) else None
        _skip(key, events)
        value = next(events)
        if name != keys[0]:
            _skip(value, events)
            continue
        here = value.start_mark.line + 1
        if isinstance(value, yaml.AliasEvent):
            raise _Cannot(here, f"the value of {keys[0]} is the alias *{value.anchor}, which may be used elsewhere too")
        if len(keys) > 1 and isinstance(value, yaml.MappingStartEvent):
            return _find(events, keys[1:], here)
        if len(keys) == 1 and isinstance(value, yaml.ScalarEvent):
            return value
        raise _Cannot(here, f"{keys[0]} is not written as one value")
    raise _Cannot(line, f"{keys[0]} is not written here: it comes from a merged alias ('<<') or from an annotation")


def _skip(event: Any, events: Iterator[Any]) -> None:
    depth = 1 if isinstance(event, yaml.CollectionStartEvent) else 0
    while depth:
        following = next(events)
        if isinstance(following, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(following, yaml.CollectionEndEvent):
            depth -= 1


def _replacement(text: str, event: Any, value: Value) -> tuple[int, int, str]:
    """Return the place of the value in the text, and its replacement."""
    line = event.start_mark.line + 1
    if event.anchor:
        raise _Cannot(line, f"the value has the anchor &{event.anchor}, and changing it may change other fields")
    if event.tag:
        raise _Cannot(line, f"the value has the tag {event.tag}")
    start, end = event.start_mark.index, event.end_mark.index
    written = text[start:end]
    if is_template(event.value):
        raise _Cannot(line, "the value is a template's: whatever fills it in would write over a number here")
    if event.style in ("'", '"') and written == f"{event.style}{event.value}{event.style}":
        return start, end, f"{event.style}{value}{event.style}"
    # Plain is "" to libyaml and None to PyYAML.
    if not event.style and written and written == event.value:
        return start, end, str(value)
    raise _Cannot(line, "the value is written in a form that is not edited (a block, escapes, or several lines)")


def _check_rest(text: str, edited: str, document: Document, keys: Sequence[str], value: Value, line: int) -> None:
    """Refuse the edit where anything but the field has changed.

    Fields that are made of it elsewhere are seen here, too.
    """
    before, _old = read_text(text, document.file)
    after, problems = read_text(edited, document.file)
    expected = [copy.deepcopy(each.data) for each in before]
    for each, wanted in zip(before, expected):
        if each.line == document.line:
            for key in keys[:-1]:
                wanted = wanted[key]
            wanted[keys[-1]] = value
    if problems or expected != [each.data for each in after]:
        raise _Cannot(line, "changing the value here would change something else in this file as well")


def _line(text: str, number: int) -> str:
    return _LINE_BREAK.split(text)[number - 1]


def _shown(line: str, path: str, value: str) -> str:
    """Return the line, or only the field.

    The whole line is returned if it holds nothing but the field and a comment.
    """
    whole = _WHOLE_LINE.match(line)
    rest = line[whole.end() :] if whole else ""
    if whole and rest.startswith(value) and re.fullmatch(r"\s*(#.*)?", rest[len(value) :]):
        return line
    return f"... {path.rpartition('.')[2]}: {value} ..."


__all__ = ["Edit", "is_template", "set_scalar"]
