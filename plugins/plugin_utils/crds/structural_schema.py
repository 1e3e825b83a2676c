# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structural schemas of CustomResourceDefinitions, from the descriptions of manifests.

Manifests are checked by the same descriptions (``documents/schema.py``).

One definition of every field, so that an API server and a manifest never disagree on what there is.

Limits of lengths and numbers, enumerations, what is required and how lists are merged reach only an API server that lets a stored
object keep what it has (``LIMITS_SINCE_MINOR``). An older one would refuse every write of an object that was stored before the limits
came, its status and its finalizers included; there a run alone checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.schema import INT32_MAX, ListOf, MapOf, MayBeEmpty, Needed, Number, Refused, Text, Whole

Schema = dict[str, Any]

# Ratcheting of CustomResourceDefinitions is on by default from Kubernetes 1.30 on: what an update leaves as it is, is not refused.
LIMITS_SINCE_MINOR = 30
# Rules of CEL are on by default from Kubernetes 1.25 on; these come with the limits, without which their cost has no bound.
_UNIQUE = "self.all(x, self.exists_one(y, x.{0} == y.{0}))"

_ANYTHING: Mapping[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
_INTEGER: Mapping[str, Any] = {"type": "integer", "format": "int32"}
_SCALARS: Mapping[str, Mapping[str, Any]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "integer": _INTEGER,
    "int64": {"type": "integer", "format": "int64"},
    "seconds": {**_INTEGER, "minimum": 0},
    "days": {**_INTEGER, "minimum": 0},
    "intOrString": {"x-kubernetes-int-or-string": True},
    # Texts in their own forms are checked when a manifest is read; here a wrong one must not make a stored object unreadable.
    "duration": {"type": "string"},
    "timestamp": {"type": "string", "format": "date-time"},
    "object": {"type": "object", **_ANYTHING},
    "any": _ANYTHING,
}
# API servers before 1.22 take "" for null when they were built with a newer Go than their own, as distributions build them.
_UNLIMITED: Mapping[str, Mapping[str, Any]] = {
    "string": {"nullable": True},
    "seconds": {"maximum": INT32_MAX},
    "days": {"maximum": INT32_MAX},
}


def schema_of(description: Any, limits: bool = False) -> Schema:
    """Return the structural schema (apiextensions.k8s.io/v1) of a description.

    A field that is refused by name is kept as it is: pruned, it would be gone without a word, while a run that reads it says
    why it is refused and what to do instead.

    Args:
        description: as ``documents/schema.py`` describes.
        limits: whether the API server is given the limits, too.
    """
    if isinstance(description, Refused):
        return {"description": f"Refused: {description.rule}. {description.fix}", **_ANYTHING}
    if isinstance(description, Needed):
        return schema_of(description.value, limits)
    if isinstance(description, str):
        return {**_SCALARS[description], **({} if limits else _UNLIMITED.get(description, {}))}
    if isinstance(description, Text):
        return _text(description) if limits else schema_of("string")
    if isinstance(description, Number):
        return _number(description) if limits else schema_of(description.unit)
    if isinstance(description, list):
        return {"type": "array", "items": schema_of(description[0], limits)}
    if isinstance(description, ListOf):
        listed = {"type": "array", "items": schema_of(description.value, limits)}
        return {**listed, **_list(description)} if limits else listed
    if isinstance(description, MapOf):
        return {"type": "object", "additionalProperties": schema_of(description.value, limits)}
    made = {"type": "object", "properties": {name: schema_of(field, limits) for name, field in description.items()}}
    return {**made, **_structure(description)} if limits else made


def _text(description: Text) -> Schema:
    made = schema_of("string", limits=True)
    if description.one_of:
        return {**made, "enum": list(description.one_of)}
    if description.least:
        made["minLength"] = description.least
    if description.most is not None:
        made["maxLength"] = description.most
    if description.pattern:
        made["pattern"] = f"^{description.pattern}$"
    return made


def _number(description: Number) -> Schema:
    made = {**_SCALARS[description.unit], "minimum": description.least}
    return made if description.most is None else {**made, "maximum": description.most}


def _list(description: ListOf) -> Schema:
    made: Schema = {"x-kubernetes-list-type": "map" if description.keys else "atomic"}
    if description.keys:
        made["x-kubernetes-list-map-keys"] = list(description.keys)
    if description.least:
        made["minItems"] = description.least
    if description.most is not None:
        made["maxItems"] = description.most
    if description.unique:
        message = f"no two entries may have the same {description.unique}"
        made["x-kubernetes-validations"] = [{"rule": _UNIQUE.format(description.unique), "message": message}]
    return made


def _structure(description: Mapping[str, Any]) -> Schema:
    needed = [name for name, field in description.items() if isinstance(field, Needed)]
    if needed:
        return {"required": needed}
    if isinstance(description, Whole):
        return {"x-kubernetes-map-type": "atomic"}
    # What is in no structure is left out, as in Cluster API's types; an empty one would say nothing.
    return {"minProperties": 1} if description and not isinstance(description, MayBeEmpty) else {}


def open_schema_of(description: Mapping[str, Any], limits: bool = False) -> Schema:
    """Return the schema of a structure that may hold more than described.

    It holds at any depth: for a status, which other releases add to.
    """
    opened: Schema = _opened(schema_of(description, limits))
    return opened


def _opened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_opened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _opened(value) for key, value in schema.items() if key != "minProperties"}
    return {**made, **_ANYTHING} if isinstance(made.get("properties"), dict) else made
