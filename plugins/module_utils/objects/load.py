# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading manifest files: YAML documents to JSON types, safely, with the line of every field.

Nothing is templated and nothing is executed: `{{ }}` is text. Scalars mean what they mean to kubectl (scalars.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.errors import Report, Violation, steps
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.scalars import resolve_plain

try:
    import yaml

    HAS_YAML = True
except ImportError:
    HAS_YAML = False

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 200_000

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(_TAG + name for name in ("bool", "int", "float", "null", "timestamp"))
_REFUSED_VALUE = object()


class _Node:
    """One YAML node: kind is "scalar", "merge" (an unquoted `<<`), "list" or "map"; value is the JSON scalar, the children, or (key, node) pairs."""

    __slots__ = ("kind", "line", "value")

    def __init__(self, kind: str, value: Any, line: int) -> None:
        self.kind = kind
        self.value = value
        self.line = line


@dataclass(frozen=True, eq=False)
class Document:
    """One YAML document that is a Kubernetes object: `data` in JSON types, `line` where it begins in `file`."""

    file: str
    line: int
    data: dict[str, Any]
    root: Any

    @property
    def api_version(self) -> str:
        return str(self.data["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        return str(self.data["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.data["metadata"].get("namespace") or "default")

    @property
    def label(self) -> str:
        """ "Kind namespace/name", as messages name the object."""
        return f"{self.kind} {self.namespace}/{self.name}"

    def locate(self, path: str) -> str:
        """ "file:line" of the field at `path`, or of its nearest ancestor that was written."""
        node, line = self.root, self.line
        for step in steps(path):
            found = _step(node, step)
            if found is None:
                break
            node, line = found, found.line
        return f"{self.file}:{line}"

    def report(self) -> Report:
        """A report for this document's violations."""
        return Report(self.label, self.locate)


class _Refused(Exception):
    """This document cannot be read: why, and on which line."""

    def __init__(self, line: int, rule: str, fix: str) -> None:
        super().__init__(rule)
        self.line, self.rule, self.fix = line, rule, fix


def read_files(
    paths: Sequence[str], contents: Mapping[str, str] | None = None
) -> tuple[list[Document], list[Violation]]:
    """Every document of the files in order, and what is wrong with those that could not be read.

    `contents` holds the text of files that are to be read as if they were changed already.
    """
    documents: list[Document] = []
    violations: list[Violation] = []
    for path in paths:
        found, problems = read_text(contents[path], path) if contents and path in contents else read_file(path)
        documents += found
        violations += problems
    return documents, violations


def read_file(path: str) -> tuple[list[Document], list[Violation]]:
    """The documents of one file (at most 10 MB, UTF-8); see read_text."""
    try:
        with open(path, "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return [], [
            Violation(path, "", None, f"the file cannot be read: {error.strerror}", "Name a readable file.", path)
        ]
    if len(raw) > MAX_BYTES:
        fix = "Keep large file contents in Secrets or out of the manifest."
        return [], [Violation(path, "", None, "the file is larger than 10 MB", fix, path)]
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [], [Violation(path, "", None, "the file is not UTF-8 text", "Save it as UTF-8.", f"{path}:{line}")]
    return read_text(text, path)


def read_text(text: str, file: str) -> tuple[list[Document], list[Violation]]:
    """The documents of a YAML text. Empty documents are skipped; a document that is no object becomes a violation.

    Refused: syntax errors (what follows them is not read), duplicate keys, keys that are not text, tags of other tools, recursion,
    aliases that expand beyond 200,000 nodes, nesting beyond 64 levels, missing apiVersion, kind or metadata.name.
    """
    if not HAS_YAML:
        fix = "Install PyYAML for the Python that runs Ansible on the controller (ansible-core needs it too)."
        return [], [Violation(file, "", None, "manifests cannot be read without PyYAML", fix, file)]
    documents: list[Document] = []
    violations: list[Violation] = []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(yaml.parse(text, Loader=loader))
    try:
        for root in reader.documents():
            try:
                data = reader.to_json(root)
                _check_object(data, root)
            except _Refused as refused:
                source = f"{file}:{refused.line}"
                violations.append(Violation(file, "", None, refused.rule, refused.fix, source))
                continue
            if data is not None:
                documents.append(Document(file, root.line, data, root))
    except _Refused as refused:
        violations.append(Violation(file, "", None, refused.rule, refused.fix, f"{file}:{refused.line}"))
    except (yaml.YAMLError, RecursionError) as error:
        # Only the parser's own words: its text with context would quote the manifest, Secrets included.
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        line = mark.line + 1 if mark is not None else _line_of(text, getattr(error, "position", 0))
        fix = "Correct the YAML syntax on or just before this line."
        violations.append(Violation(file, "", None, f"this is not YAML: {problem}", fix, f"{file}:{line}"))
    return documents, violations


def _line_of(text: str, position: Any) -> int:
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 1


def _step(node: _Node | None, step: Any) -> _Node | None:
    if node is None:
        return None
    if isinstance(step, int):
        return node.value[step] if node.kind == "list" and step < len(node.value) else None
    if node.kind != "map":
        return None
    for key, value in node.value:
        if key.value == step:
            return value if isinstance(value, _Node) else None
    return None


def _check_object(data: Any, root: _Node) -> None:
    if data is None:
        return
    if not isinstance(data, dict):
        raise _Refused(
            root.line,
            "the document is not a mapping",
            "Every document is an object with apiVersion, kind and metadata.",
        )
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) or not data[key]:
            raise _Refused(
                root.line, f"the document has no {key}", f"Add {key} (text), as in Cluster API's documentation."
            )
    metadata = data.get("metadata")
    if data["kind"] == "List" or data["kind"].endswith("List"):
        raise _Refused(
            root.line,
            f"{data['kind']} is a list of objects",
            "Write each item as a document of its own, between '---' lines.",
        )
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        fix = "Add metadata.name; generateName is not supported because a second run must find the same object."
        raise _Refused(root.line, f"the {data['kind']} has no metadata.name", fix)
    if not isinstance(metadata.get("namespace", ""), (str, type(None))):
        raise _Refused(root.line, f"the {data['kind']}'s metadata.namespace is not text", "Quote it.")


class _Reader:
    """Builds nodes from parser events, with bounds on depth and size."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, _Node | None] = {}
        self._budget = MAX_NODES
        self._unread = MAX_NODES

    def documents(self) -> Iterator[_Node]:
        """The root node of each document. A file of several documents shares one budget."""
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                root = next(self._events, None)
                if root is None:
                    return
                yield self._node(root, 1)

    def to_json(self, node: _Node) -> Any:
        """JSON types of a node; aliases are copied, so the budget counts what they expand to."""
        self._budget -= 1
        if self._budget < 0:
            fix = "Write the values out, or split the file."
            raise _Refused(
                node.line, f"the file expands to more than {MAX_NODES} values (aliases count each time)", fix
            )
        if node.kind in ("scalar", "merge"):
            return node.value
        if node.kind == "list":
            return [self.to_json(child_node) for child_node in node.value]
        return self._mapping(node)

    def _mapping(self, node: _Node) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        seen: dict[str, int] = {}
        for key, value in node.value:
            if key.kind not in ("scalar", "merge") or not isinstance(key.value, str):
                raise _Refused(key.line, "a mapping's key is not text", "Quote the key.")
            if key.value in seen:
                fix = f"Keep one of them; the first is on line {seen[key.value]}."
                raise _Refused(key.line, f"the key {key.value!r} is written twice", fix)
            seen[key.value] = key.line
            if key.kind == "merge":
                for source in value.value if value.kind == "list" else [value]:
                    if source.kind != "map":
                        raise _Refused(
                            key.line, "'<<' merges something that is not a mapping", "Merge an alias of a mapping."
                        )
                    for name, content in self._mapping(source).items():
                        merged.setdefault(name, content)
            else:
                result[key.value] = self.to_json(value)
        for name, content in merged.items():
            result.setdefault(name, content)
        return result

    def _node(self, event: Any, depth: int) -> _Node:
        line = event.start_mark.line + 1
        self._unread -= 1
        # Refused while reading: what is too much to use is too much to keep.
        if self._unread < 0:
            raise _Refused(line, f"the file has more than {MAX_NODES} values", "Split the file.")
        if depth > MAX_DEPTH:
            raise _Refused(line, f"the YAML is nested deeper than {MAX_DEPTH} levels", "Flatten it.")
        if isinstance(event, yaml.AliasEvent):
            target = self._anchors.get(event.anchor or "", _REFUSED_VALUE)
            if target is _REFUSED_VALUE:
                raise _Refused(line, f"the alias *{event.anchor} has no anchor before it", "Define the anchor first.")
            if not isinstance(target, _Node):
                raise _Refused(line, f"the alias *{event.anchor} contains itself", "Remove the recursion.")
            return target
        if event.anchor:
            self._anchors[event.anchor] = None
        node = self._content(event, line, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _content(self, event: Any, line: int, depth: int) -> _Node:
        if isinstance(event, yaml.ScalarEvent):
            # Only an unquoted `<<` merges; quoted it is text.
            merges = event.value == "<<" and event.tag is None and event.implicit[0]
            return _Node("merge" if merges else "scalar", _scalar(event, line), line)
        expected = _TAG + ("seq" if isinstance(event, yaml.SequenceStartEvent) else "map")
        if event.tag not in (None, "!", expected):
            raise _tag_refused(event.tag, line)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[_Node] = []
            for following in self._events:
                if isinstance(following, yaml.SequenceEndEvent):
                    break
                items.append(self._node(following, depth + 1))
            return _Node("list", items, line)
        pairs: list[tuple[_Node, _Node]] = []
        for following in self._events:
            if isinstance(following, yaml.MappingEndEvent):
                break
            key = self._node(following, depth + 1)
            pairs.append((key, self._node(next(self._events), depth + 1)))
        return _Node("map", pairs, line)


def _scalar(event: Any, line: int) -> Any:
    tag = event.tag
    if tag in (None, "!") or tag in _PLAIN_TAGS:
        if tag is None and not event.implicit[0]:
            return event.value
        if tag == "!":
            return event.value
        try:
            return event.value if tag == _TAG + "timestamp" else resolve_plain(event.value)
        except ValueError as error:
            raise _Refused(line, str(error), "Write a finite number, or quote the text.") from None
    if tag == _TAG + "str":
        return event.value
    raise _tag_refused(tag, line)


def _tag_refused(tag: str, line: int) -> _Refused:
    fix = "Remove the tag. Manifests are plain YAML: no vault values and no objects of a programming language."
    return _Refused(line, f"the YAML tag {tag!r} is not supported", fix)


def read_any(text: str, file: str) -> list[Document]:
    """The documents of a YAML text that is not a manifest (kubeadm's configuration, a ConfigMap's content), whatever they hold.

    `data` is any JSON value; `locate` knows the line of every field. Raises ValueError naming the line for whatever read_text would
    refuse.
    """
    if not HAS_YAML:
        raise ValueError("PyYAML is not installed on the controller")
    reader = _Reader(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    try:
        return [Document(file, root.line, reader.to_json(root), root) for root in reader.documents()]
    except _Refused as refused:
        raise ValueError(f"line {refused.line}: {refused.rule}") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise ValueError(f"{where}this is not YAML: {problem}") from None


def read_documents(text: str) -> list[Any]:
    """The JSON values of a YAML text's documents; see read_any."""
    return [document.data for document in read_any(text, "")]


__all__ = ["MAX_BYTES", "Document", "read_any", "read_documents", "read_file", "read_files", "read_text"]
