# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of manifest files: YAML documents as JSON types, with field lines.

Nothing is templated and nothing is executed: `{{ }}` is text. Scalars mean what they mean to kubectl (scalars.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ...module_utils.common.bounded_yaml import TAG, Node, Reader, Refused, tag_refused, to_json
from ...module_utils.common.violations import Report, Violation, steps
from .scalars import resolve_plain

MAX_BYTES = 10 * 1024 * 1024

_PLAIN_TAGS = frozenset(TAG + name for name in ("bool", "int", "float", "null", "timestamp"))


@dataclass(frozen=True, eq=False)
class Document:
    """YAML document that is a Kubernetes object.

    `data` is in JSON types, `line` where it begins in `file`.
    """

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
        """Label of the object in messages: "Kind namespace/name"."""
        return f"{self.kind} {self.namespace}/{self.name}"

    def locate(self, path: str) -> str:
        """Return "file:line" of the field at `path`.

        Where the field is not written, its nearest written ancestor counts.
        """
        node, line = self.root, self.line
        for step in steps(path):
            found = _step(node, step)
            if found is None:
                break
            node, line = found, found.line
        return f"{self.file}:{line}"

    def report(self) -> Report:
        """Return a report for this document's violations."""
        return Report(self.label, self.locate)


def read_files(
    paths: Sequence[str], contents: Mapping[str, str] | None = None
) -> tuple[list[Document], list[Violation]]:
    """Return every document of the files in order, and the violations.

    The violations are those of files that could not be read.

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
    """Return the documents of one file (at most 10 MB, UTF-8).

    See read_text.
    """
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
    """Return the documents of a YAML text, and the violations.

    Empty documents are skipped; a document that is no object becomes a violation.

    Refused: syntax errors (what follows them is not read), duplicate keys, keys that are not text, tags of other tools, recursion,
    aliases that expand beyond 200,000 nodes, nesting beyond 64 levels, missing apiVersion, kind or metadata.name.
    """
    documents: list[Document] = []
    violations: list[Violation] = []
    try:
        for root in Reader(text, _scalar).documents():
            try:
                data = to_json(root)
                _check_object(data, root)
            except Refused as refused:
                source = f"{file}:{refused.line}"
                violations.append(Violation(file, "", None, refused.rule, refused.fix, source))
                continue
            if data is not None:
                documents.append(Document(file, root.line, data, root))
    except Refused as refused:
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


def _step(node: Node | None, step: Any) -> Node | None:
    if node is None:
        return None
    if isinstance(step, int):
        return node.value[step] if node.kind == "list" and step < len(node.value) else None
    if node.kind != "map":
        return None
    for key, value in node.value:
        if key.value == step:
            return value if isinstance(value, Node) else None
    return None


def _check_object(data: Any, root: Node) -> None:
    if data is None:
        return
    if not isinstance(data, dict):
        raise Refused(
            root.line,
            "the document is not a mapping",
            "Every document is an object with apiVersion, kind and metadata.",
        )
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) or not data[key]:
            raise Refused(
                root.line, f"the document has no {key}", f"Add {key} (text), as in Cluster API's documentation."
            )
    metadata = data.get("metadata")
    if data["kind"] == "List" or data["kind"].endswith("List"):
        raise Refused(
            root.line,
            f"{data['kind']} is a list of objects",
            "Write each item as a document of its own, between '---' lines.",
        )
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        fix = "Add metadata.name; generateName is not supported because a second run must find the same object."
        raise Refused(root.line, f"the {data['kind']} has no metadata.name", fix)
    if not isinstance(metadata.get("namespace", ""), (str, type(None))):
        raise Refused(root.line, f"the {data['kind']}'s metadata.namespace is not text", "Quote it.")


def _scalar(event: Any, line: int) -> Any:
    tag = event.tag
    if tag in (None, "!") or tag in _PLAIN_TAGS:
        if tag is None and not event.implicit[0]:
            return event.value
        if tag == "!":
            return event.value
        try:
            return event.value if tag == TAG + "timestamp" else resolve_plain(event.value)
        except ValueError as error:
            raise Refused(line, str(error), "Write a finite number, or quote the text.") from None
    if tag == TAG + "str":
        return event.value
    raise tag_refused(tag, line)


def read_any(text: str, file: str) -> list[Document]:
    """Return the documents of a YAML text that is not a manifest.

    It may be kubeadm's configuration or a ConfigMap's content, whatever it holds.

    `data` is any JSON value; `locate` knows the line of every field. Raises ValueError naming the line for whatever read_text would
    refuse.
    """
    try:
        return [Document(file, root.line, to_json(root), root) for root in Reader(text, _scalar).documents()]
    except Refused as refused:
        raise ValueError(str(refused)) from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise ValueError(f"{where}this is not YAML: {problem}") from None


def read_documents(text: str) -> list[Any]:
    """Return the JSON values of a YAML text's documents; see read_any."""
    return [document.data for document in read_any(text, "")]


__all__ = ["MAX_BYTES", "Document", "read_any", "read_documents", "read_file", "read_files", "read_text"]
