# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounded reading of untrusted YAML and JSON texts.

The bounds: depth, and the number of values and characters that aliases and merges expand to.

All such texts are read here. PyYAML's own constructors follow merges of merges for ever, and libyaml's composer overruns the
stack of the process where a text is nested deep enough (docs/architecture.md, "Untrusted text").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Callable, Optional

MAX_DEPTH = 64
MAX_VALUES = 200_000
# Of all keys and values. A text that is repeated takes no memory here, but wherever it is written again.
MAX_CHARACTERS = 32 * 1024**2

TAG = "tag:yaml.org,2002:"
# (event, line) -> the value of a scalar.
Scalar = Callable[[Any, int], Any]


class Refused(Exception):
    """Refusal of a YAML document, with line, broken rule and remedy."""

    def __init__(self, line: int, rule: str, fix: str) -> None:
        super().__init__(f"line {line}: {rule}")
        self.line, self.rule, self.fix = line, rule, fix


class Node:
    """One YAML node.

    Attributes:
        kind: "scalar", "merge" (an unquoted ``<<``), "list" or "map".
        value: the scalar's value, the children, or (key, node) pairs.
        size, length, height: number of values, of characters and of levels in it, aliases and merges expanded.
    """

    __slots__ = ("height", "kind", "length", "line", "size", "value")

    def __init__(self, kind: str, value: Any, line: int, size: int, length: int, height: int) -> None:
        self.kind = kind
        self.value = value
        self.line = line
        self.size = size
        self.length = length
        self.height = height


class Reader:
    """Builder of nodes from a YAML text's parser events.

    The documents of a text share one budget.

    Args:
        text: the text.
        scalar: returns the value of a scalar; raises Refused for one that is not to be read.
    """

    def __init__(self, text: str, scalar: Scalar) -> None:
        # Imported here: a node, which reads JSON alone, may have none, and would load it for nothing.
        import yaml

        self._yaml: Any = yaml
        self._events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._scalar = scalar
        self._anchors: dict[str, Optional[Node]] = {}
        self._values = 0
        self._characters = 0

    def documents(self) -> Iterator[Node]:
        """Yield the root node of each document. Raises Refused, and PyYAML's errors."""
        for event in self._events:
            if isinstance(event, self._yaml.DocumentStartEvent):
                self._anchors = {}
                root = next(self._events, None)
                if root is None:
                    return
                yield self._node(root, 1)

    def _node(self, event: Any, depth: int) -> Node:
        line = event.start_mark.line + 1
        alias = isinstance(event, self._yaml.AliasEvent)
        node = self._target(event, line) if alias else None
        # Refused while reading: what is too much to use is too much to keep. An alias counts as what it stands for.
        self._values += node.size if node is not None else 1
        self._characters += node.length if node is not None else len(getattr(event, "value", ""))
        for found, most, what in (
            (self._values, MAX_VALUES, "values"),
            (self._characters, MAX_CHARACTERS, "characters"),
        ):
            if found > most:
                rule = f"the file expands to more than {most} {what} (aliases and merges count each time)"
                raise Refused(line, rule, "Write the values out, or split the file.")
        if depth + (node.height if node is not None else 0) > MAX_DEPTH:
            raise Refused(line, f"the YAML is nested deeper than {MAX_DEPTH} levels", "Flatten it.")
        if node is not None:
            return node
        if event.anchor:
            self._anchors[event.anchor] = None
        node = self._content(event, line, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _target(self, event: Any, line: int) -> Node:
        if event.anchor not in self._anchors:
            raise Refused(line, f"the alias *{event.anchor} has no anchor before it", "Define the anchor first.")
        target = self._anchors[event.anchor]
        if target is None:
            raise Refused(line, f"the alias *{event.anchor} contains itself", "Remove the recursion.")
        return target

    def _content(self, event: Any, line: int, depth: int) -> Node:
        if isinstance(event, self._yaml.ScalarEvent):
            # Only an unquoted `<<` merges; quoted it is text.
            merges = event.value == "<<" and event.tag is None and event.implicit[0]
            return Node("merge" if merges else "scalar", self._scalar(event, line), line, 1, len(event.value), 0)
        values, characters = self._values, self._characters
        expected = TAG + ("seq" if isinstance(event, self._yaml.SequenceStartEvent) else "map")
        if event.tag not in (None, "!", expected):
            raise tag_refused(event.tag, line)
        inner: list[Node] = []
        for following in self._events:
            if isinstance(following, self._yaml.CollectionEndEvent):
                break
            inner.append(self._node(following, depth + 1))
        height = 1 + max((each.height for each in inner), default=0)
        size, length = 1 + self._values - values, self._characters - characters
        if isinstance(event, self._yaml.SequenceStartEvent):
            return Node("list", inner, line, size, length, height)
        return Node("map", list(zip(inner[::2], inner[1::2])), line, size, length, height)


def to_json(node: Node) -> Any:
    """Return the JSON value of a node; aliases are copied. Raises Refused."""
    if node.kind in ("scalar", "merge"):
        return node.value
    if node.kind == "list":
        return [to_json(each) for each in node.value]
    return _mapping(node)


def _mapping(node: Node) -> dict[str, Any]:
    result: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for key, value in node.value:
        if key.kind not in ("scalar", "merge") or not isinstance(key.value, str):
            raise Refused(key.line, "a mapping's key is not text", "Quote the key.")
        if key.value in seen:
            fix = f"Keep one of them; the first is on line {seen[key.value]}."
            raise Refused(key.line, f"the key {key.value!r} is written twice", fix)
        seen[key.value] = key.line
        if key.kind == "merge":
            for source in value.value if value.kind == "list" else [value]:
                if source.kind != "map":
                    rule = "'<<' merges something that is not a mapping"
                    raise Refused(key.line, rule, "Merge an alias of a mapping.")
                for name, content in _mapping(source).items():
                    merged.setdefault(name, content)
        else:
            result[key.value] = to_json(value)
    for name, content in merged.items():
        result.setdefault(name, content)
    return result


def tag_refused(tag: str, line: int) -> Refused:
    """Return the refusal of an unsupported YAML tag."""
    fix = "Remove the tag. Manifests are plain YAML: no vault values and no objects of a programming language."
    return Refused(line, f"the YAML tag {tag!r} is not supported", fix)


def read_json(text: Any) -> Any:
    """Return the value of an untrusted JSON text.

    Raises:
        ValueError: it is no JSON text, or is nested too deep.
    """
    if not isinstance(text, (str, bytes)):
        raise ValueError("it is no text")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    require_shallow(value)
    return value


def require_shallow(value: Any, most: int = MAX_DEPTH) -> None:
    """Refuse a JSON value that is nested too deep, with ValueError."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > most:
            raise ValueError(f"it is nested deeper than {most} levels")
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
