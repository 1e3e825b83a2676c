# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON Schema of a shape (decision/snapshot/json_shape.py). Run it to write docs/reference/snapshot.schema.json anew."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot import json_shape as shapes
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.shape import SNAPSHOT

SNAPSHOT_SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "snapshot.schema.json"
COMMENT = (
    "Copyright: (c) 2026, kubeadm.control_plane contributors; GNU General Public License v3.0+ "
    "(SPDX-License-Identifier: GPL-3.0-or-later)"
)
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"
HEX = "^[0-9a-f]{1,16}$"
WIDTH = 150
Schema = dict[str, Any]


def snapshot_schema() -> Schema:
    """The schema of a snapshot, as the file in docs/reference has it."""
    definitions: Schema = {}
    body = _schema(SNAPSHOT, definitions)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "snapshot.schema.json",
        "$comment": COMMENT,
        "title": "Snapshot",
    }
    return {**head, **body, "$defs": dict(sorted(definitions.items()))}


def _schema(shape: shapes.Shape, definitions: Schema) -> Schema:
    if isinstance(shape, shapes.Struct) and shape.name:
        if shape.name not in definitions:
            definitions[shape.name] = {}
            definitions[shape.name] = _body(shape, definitions)
        return {"$ref": f"#/$defs/{shape.name}"}
    return _body(shape, definitions)


def _body(shape: shapes.Shape, definitions: Schema) -> Schema:
    note = {"description": shape.note} if shape.note else {}
    if isinstance(shape, shapes.Text):
        return {**note, "type": "string", **({"minLength": shape.shortest} if shape.shortest else {})}
    if isinstance(shape, shapes.Boolean):
        return {**note, "type": "boolean"}
    if isinstance(shape, shapes.Integer):
        return {**note, "type": "integer", **({"minimum": shape.least} if shape.least is not None else {})}
    if isinstance(shape, shapes.Number):
        return {**note, "type": "number"}
    if isinstance(shape, shapes.Time):
        return {**note, "type": "string", "pattern": TIME}
    if isinstance(shape, shapes.HexID):
        return {**note, "type": "string", "pattern": HEX}
    if isinstance(shape, shapes.OneOf):
        return {**note, "enum": list(shape.values)}
    if isinstance(shape, shapes.Sequence):
        return {**note, "type": "array", "items": _schema(shape.item, definitions)}
    if isinstance(shape, shapes.Table):
        keys = {"propertyNames": {"pattern": HEX}} if shape.ids else {}
        return {**note, "type": "object", **keys, "additionalProperties": _schema(shape.value, definitions)}
    if isinstance(shape, shapes.Struct):
        fields = {
            key: _schema(each, definitions) if key in shape.required else _or_null(_schema(each, definitions))
            for key, each in shape.fields.items()
        }
        required = [key for key in shape.fields if key in shape.required]
        properties = {"properties": fields} if fields else {}
        return {**note, "type": "object", **properties, **({"required": required} if required else {})}
    raise TypeError(type(shape).__name__)


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {"anyOf": [schema, {"type": "null"}]}


def document(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return JSON with what fits into a line on one; ``before`` is what stands there before it."""
    line = _line(value)
    if not isinstance(value, (dict, list)) or not value or (indent and indent + before + len(line) <= WIDTH):
        return line
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {document(each, indent + 2, len(key) + 5)}" for key, each in value.items()]
    elif any(isinstance(each, (dict, list)) for each in value):
        rows = [document(each, indent + 2, 1) for each in value]
    else:
        rows = [textwrap.fill(", ".join(map(json.dumps, value)), WIDTH - len(pad)).replace("\n", f"\n{pad}")]
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n{pad}" + f",\n{pad}".join(rows) + f"\n{' ' * indent}{right}"


def _line(value: Any) -> str:
    if isinstance(value, dict) and value:
        return "{ " + ", ".join(f"{json.dumps(key)}: {_line(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_line, value)) + "]"
    return json.dumps(value)


if __name__ == "__main__":
    SNAPSHOT_SCHEMA.write_text(f"{document(snapshot_schema())}\n", encoding="utf-8")
