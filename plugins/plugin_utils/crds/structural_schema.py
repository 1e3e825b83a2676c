# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structural schemas of CustomResourceDefinitions, from the descriptions of manifests.

Manifests are checked by the same descriptions (``documents/schema.py``).

One definition of every field, so that an API server and a manifest never disagree on what there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.schema import INT32_MAX, MapOf, Refused

Schema = dict[str, Any]

_ANYTHING: Mapping[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
_SCALARS: Mapping[str, Mapping[str, Any]] = {
    # API servers before 1.22 take "" for null when they were built with a newer Go than their own, as distributions build them.
    "string": {"type": "string", "nullable": True},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer", "format": "int32"},
    "seconds": {"type": "integer", "format": "int32", "minimum": 0, "maximum": INT32_MAX},
    "days": {"type": "integer", "format": "int32", "minimum": 0, "maximum": INT32_MAX},
    "intOrString": {"x-kubernetes-int-or-string": True},
    # Texts in their own forms are checked when a manifest is read; here a wrong one must not make a stored object unreadable.
    "duration": {"type": "string"},
    "timestamp": {"type": "string", "format": "date-time"},
    "object": {"type": "object", **_ANYTHING},
    "any": _ANYTHING,
}


def schema_of(description: Any) -> Schema:
    """Return the structural schema (apiextensions.k8s.io/v1) of a description.

    A field that is refused by name is kept as it is: pruned, it would be gone without a word, while a run that reads it says
    why it is refused and what to do instead.

    Args:
        description: as ``documents/schema.py`` describes.
    """
    if isinstance(description, Refused):
        return {"description": f"Refused: {description.rule}. {description.fix}", **_ANYTHING}
    if isinstance(description, str):
        return dict(_SCALARS[description])
    if isinstance(description, list):
        return {"type": "array", "items": schema_of(description[0])}
    if isinstance(description, MapOf):
        return {"type": "object", "additionalProperties": schema_of(description.value)}
    return {"type": "object", "properties": {name: schema_of(field) for name, field in description.items()}}


def open_schema_of(description: Mapping[str, Any]) -> Schema:
    """Return the schema of a structure that may hold more than described.

    It holds at any depth: for a status, which other releases add to.
    """
    opened: Schema = _opened(schema_of(description))
    return opened


def _opened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_opened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _opened(value) for key, value in schema.items()}
    return {**made, **_ANYTHING} if isinstance(made.get("properties"), dict) else made
