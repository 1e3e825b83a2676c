# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server-side apply of the fields that machines get from their machine template.

The field manager is one of its own.

An object says by an annotation which of its fields came from the template. A store of files keeps that annotation. In an API the same is
recorded by ``metadata.managedFields``, as Cluster API does it
(docs/reference/cluster_api.md, "Propagation"): what leaves the template is taken away by the API
server, unless another manager has it too. So the annotation is never stored there; the store reads it out of the managed fields, and
makes a request of it where it changes.
"""

from __future__ import annotations

import copy
import json
import typing as t

from ....module_utils.common.bounded_yaml import read_json
from ...objects import kinds
from ...objects.validate.machine_taints import taint_name
from ..base import Object

MANAGER = "kubeadm-control-plane-metadata"
# Which fields of an object came from the machine template, by part, as JSON.
RECORD = kinds.ANNOTATION_PREFIX + "from-machine-template"
LABELS, ANNOTATIONS, DELETION, GATES = "labels", "annotations", "deletion", "readinessGates"
MIN_READY, TAINTS = "minReadySeconds", "taints"
PARTS = (ANNOTATIONS, DELETION, LABELS, MIN_READY, GATES, TAINTS)
# The parts that are lists of named entries.
_LISTS: t.Mapping[str, t.Callable[[Object], str]] = {
    GATES: lambda gate: str(gate.get("conditionType")),
    TAINTS: taint_name,
}
Record = dict[str, list[str]]


def present(obj: Object) -> None:
    """Turn an API object's managed fields into the annotation, in place."""
    metadata = obj["metadata"]
    record: Record = {}
    # Says which fields whose requests set; nobody else decides on it, and it is longer than the rest.
    for entry in metadata.pop("managedFields", None) or []:
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply":
            record = _owned(entry.get("fieldsV1") or {})
    _note(metadata, record)


def _owned(fields: Object) -> Record:
    metadata, spec = fields.get("f:metadata") or {}, fields.get("f:spec") or {}
    lists = {
        part: [name(json.loads(key[2:])) for key in spec.get(f"f:{part}") or {} if key.startswith("k:")]
        for part, name in _LISTS.items()
    }
    return {
        ANNOTATIONS: _names(metadata.get("f:annotations")),
        DELETION: _names(spec.get("f:deletion")),
        LABELS: _names(metadata.get("f:labels")),
        MIN_READY: [MIN_READY] if f"f:{MIN_READY}" in spec else [],
        **lists,
    }


def _names(fields: t.Any) -> list[str]:
    return [key[2:] for key in fields or {} if key.startswith("f:")]


def _note(metadata: Object, record: Record) -> None:
    before = metadata.get(ANNOTATIONS) or {}
    annotations = {key: value for key, value in before.items() if key != RECORD}
    told = {part: sorted(keys) for part, keys in sorted(record.items()) if keys}
    if told:
        annotations[RECORD] = json.dumps(told)
    if annotations:
        metadata[ANNOTATIONS] = annotations
    elif RECORD in before:
        del metadata[ANNOTATIONS]


def read_record(obj: Object) -> Record | None:
    """Return the names of the template's fields, from an object's annotation.

    None where it has no such annotation. A damaged one counts as empty: nothing is removed because of it.
    """
    text = (obj["metadata"].get(ANNOTATIONS) or {}).get(RECORD)
    if text is None:
        return None
    try:
        record = read_json(text)
        return {part: [str(key) for key in record[part]] for part in PARTS if part in record}
    except (ValueError, TypeError):
        return {}


def given(obj: Object) -> Object:
    """Return the template's fields of an object, by part and name.

    The mapping is empty where there are none.
    """
    named = read_record(obj) or {}
    found = {part: {key: value for key, value in read_part(obj, part).items() if key in named[part]} for part in named}
    return {part: copy.deepcopy(fields) for part, fields in found.items() if fields}


def settled(obj: Object) -> Object:
    """Return an object whose annotation names only fields that it has.

    Another writer may have removed a field.
    """
    if RECORD not in (obj["metadata"].get(ANNOTATIONS) or {}):
        return obj
    made = {**obj, "metadata": dict(obj["metadata"])}
    _note(made["metadata"], {part: list(fields) for part, fields in given(obj).items()})
    return made


def own(obj: Object) -> Object:
    """Return an object without the annotation, as an API stores it."""
    made = {**obj, "metadata": dict(obj["metadata"])}
    _note(made["metadata"], {})
    return made


def rest(obj: Object, fields: Object) -> Object:
    """Return an object without the annotation and these fields.

    Fields that an object is created with would belong to its creator's field manager as well, for ever.
    """
    made = own(copy.deepcopy(obj))
    for part, names in fields.items():
        write_part(made, part, {key: value for key, value in read_part(made, part).items() if key not in names})
    return made


def request(stored: Object, fields: Object, resource_version: str | None) -> Object:
    """Return the body of a server-side apply of only these fields.

    Args:
        stored: the object as it was read; of another one that has its name now nothing is changed.
        fields: as of :func:`given`.
        resource_version: the version that the change is made to, None for any.
    """
    metadata = {key: stored["metadata"][key] for key in ("name", "namespace", "uid")}
    made: Object = {"apiVersion": stored["apiVersion"], "kind": stored["kind"], "metadata": metadata, "spec": {}}
    if resource_version is not None:
        metadata["resourceVersion"] = resource_version
    for part, content in fields.items():
        write_part(made, part, copy.deepcopy(content))
    return made if made["spec"] else {key: value for key, value in made.items() if key != "spec"}


def follow(obj: Object, stored: Object, before: Object) -> None:
    """Update an object to match the result of an apply, in place.

    A field that another manager has too is still there.

    Args:
        obj: the desired object.
        stored: as the API server has it now.
        before: the fields that had come from the template, as of :func:`given`.
    """
    now = given(stored)
    for part, fields in before.items():
        there, content = read_part(stored, part), read_part(obj, part)
        kept = {key: there[key] for key in fields if key in there and key not in now.get(part, {})}
        if kept:
            write_part(obj, part, {**content, **kept})
    _note(obj["metadata"], {part: list(fields) for part, fields in now.items()})


def read_part(obj: Object, part: str) -> Object:
    """Return the fields of a part of an object, by name.

    Fields of the template and others. The part is one of :data:`PARTS`; a readiness gate's name is its type, a taint's
    its key and effect.
    """
    if part in (LABELS, ANNOTATIONS):
        return dict(obj["metadata"].get(part) or {})
    spec = obj.get("spec") or {}
    if part == MIN_READY:
        return {MIN_READY: spec[MIN_READY]} if MIN_READY in spec else {}
    if part in _LISTS:
        return {_LISTS[part](entry): entry for entry in spec.get(part) or []}
    return dict(spec.get(part) or {})


def write_part(obj: Object, part: str, content: Object) -> None:
    """Replace the fields of a part of an object, in place.

    ``content`` is as :func:`read_part` returns it; without any the part is removed.
    """
    holder = obj["metadata"] if part in (LABELS, ANNOTATIONS) else obj["spec"]
    value: t.Any = (
        list(content.values()) if part in _LISTS else content.get(MIN_READY) if part == MIN_READY else content
    )
    if content:
        holder[part] = value
    else:
        holder.pop(part, None)
