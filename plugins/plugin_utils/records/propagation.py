# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In-place propagation of machine template fields to existing machines' objects.

Source: docs/reference/cluster_api.md, "Propagation".

Labels, annotations, deletion timeouts, readiness gates and taints go to the objects of the machines that exist. An annotation of each object
records which of its keys came from the template: what leaves the template leaves the object, and what others set stays.
"""

from __future__ import annotations

import copy
import functools
import json
import typing as t

from ..objects import kinds
from ..objects.validate.machine_taints import taint_name
from ..store.base import kind_ref_of
from ..store.kubernetes import applied
from .cluster_objects import MACHINE, ClusterObjects, Object

# Which keys of an object came from the machine template, by part, as JSON; a Kubernetes API keeps it as managed fields.
PROPAGATED_ANNOTATION = applied.RECORD
DELETION_KEYS = ("nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds")
# What tells such a change from others, in words.
IN_PLACE = "in place"
LABELS, ANNOTATIONS, DELETION, GATES = applied.LABELS, applied.ANNOTATIONS, applied.DELETION, applied.GATES
MIN_READY, TAINTS = applied.MIN_READY, applied.TAINTS
_METADATA = (LABELS, ANNOTATIONS)
_EVERYTHING = (LABELS, ANNOTATIONS, DELETION, GATES, MIN_READY, TAINTS)
# What controllers themselves write on these objects; a template doesn't change it.
_RESERVED = frozenset(
    {
        kinds.LABEL_CLUSTER_NAME,
        kinds.LABEL_CONTROL_PLANE,
        kinds.LABEL_CONTROL_PLANE_NAME,
        kinds.LABEL_DEPLOYMENT_NAME,
        kinds.LABEL_SET_NAME,
        kinds.LABEL_TEMPLATE_HASH,
        kinds.ANNOTATION_PRE_TERMINATE_HOOK,
        kinds.ANNOTATION_REMEDIATION_FOR,
        kinds.ANNOTATION_CLONED_FROM_NAME,
        kinds.ANNOTATION_CLONED_FROM_GROUP_KIND,
    }
)


def from_template(control_plane: t.Optional[Object]) -> dict[str, Object]:
    """Return the machine template fields to propagate, by part and key."""
    template = (control_plane or {}).get("spec", {}).get("machineTemplate") or {}
    return {**of_template(template), MIN_READY: _min_ready((control_plane or {}).get("metadata") or {})}


def of_template(template: Object) -> dict[str, Object]:
    """Return a machine template's propagated fields, by part and key."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    deletion = spec.get("deletion") or {}
    return {
        **{part: {k: v for k, v in (metadata.get(part) or {}).items() if not _reserved(k)} for part in _METADATA},
        DELETION: {key: deletion[key] for key in DELETION_KEYS if key in deletion},
        GATES: {str(gate["conditionType"]): gate for gate in spec.get("readinessGates") or []},
        TAINTS: {taint_name(taint): taint for taint in spec.get("taints") or []},
        MIN_READY: {MIN_READY: spec[MIN_READY]} if spec.get(MIN_READY) is not None else {},
    }


def _min_ready(metadata: Object) -> Object:
    """Return minReadySeconds from the KubeadmControlPlane's annotation, {} without one.

    Cluster API has no such field on a KubeadmControlPlane.

    Source: the control plane contract, "MinReadySeconds and UpToDate propagation".
    """
    text = str((metadata.get("annotations") or {}).get(kinds.ANNOTATION_MIN_READY_SECONDS, ""))
    return {MIN_READY: int(text)} if text.isdecimal() and text.isascii() else {}


def give_new(obj: Object, control_plane: Object) -> Object:
    """Add the machine template's fields to a new object and return it.

    The object is changed in place; it is not stored yet.
    """
    _bring(obj, from_template(control_plane), {}, _parts_of(obj, False))
    return obj


def bring(obj: Object, template: Object) -> Object:
    """Return a worker's object with its machine template's fields set in place."""
    deleting = bool(obj["metadata"].get("deletionTimestamp"))
    _bring(obj, of_template(template), {}, _parts_of(obj, deleting))
    return obj


def propagate(objects: ClusterObjects, before: t.Optional[Object]) -> list[str]:
    """Propagate machine template changes in place; return the changes, never values.

    Args:
        objects: the cluster's objects, just read.
        before: the KubeadmControlPlane as it was stored until now. It tells what objects without a record were made with.

    Machines that are being deleted get the timeouts only; while the cluster is paused nothing is done. What this control plane doesn't control
    is left alone: a machine that may be adopted gets it when it is.
    """
    if objects.control_plane is None or objects.paused:
        return []
    wanted, former = from_template(objects.control_plane), from_template(before)
    going = {each["metadata"]["name"] for each in objects.machines if each["metadata"].get("deletionTimestamp")}
    own = {each["metadata"]["name"] for each in objects.machines if objects.controls(each)}
    parts_of_machines = [*objects.infrastructure_machines.items(), *objects.kubeadm_configs.items()]
    everything = [each for each in objects.machines if each["metadata"]["name"] in own]
    everything += [
        each
        for name, each in parts_of_machines
        if name in own or (not objects.has_machine(name) and objects.may_be_own(each))
    ]
    changes = []
    for obj in everything:
        metadata = obj["metadata"]
        parts = _parts_of(obj, metadata["name"] in going or bool(metadata.get("deletionTimestamp")))
        bring = functools.partial(_bring, wanted=wanted, former=former, parts=parts)
        altered = copy.deepcopy(obj)
        bring(altered)
        if altered != obj:
            objects.store.modify(kind_ref_of(obj), objects.namespace, metadata["name"], bring)
            changes.append(change_of(obj, altered))
    return changes


def change_of(obj: Object, altered: Object) -> str:
    """Return a change in place in words, never with values."""
    paths = [path for path in changed_paths(obj, altered) if not path.endswith(PROPAGATED_ANNOTATION)]
    told = ", ".join(paths) or "what came from the template is recorded"
    metadata = obj["metadata"]
    return f"change {obj['kind']} {metadata['namespace']}/{metadata['name']} {IN_PLACE}: {told}"


def _parts_of(obj: Object, deleting: bool) -> tuple[str, ...]:
    if kind_ref_of(obj) != MACHINE:
        return () if deleting else _METADATA
    return (DELETION,) if deleting else _EVERYTHING


def _reserved(key: str) -> bool:
    return key in _RESERVED or key.startswith(kinds.ANNOTATION_PREFIX)


def _bring(obj: Object, wanted: t.Mapping[str, Object], former: t.Mapping[str, Object], parts: tuple[str, ...]) -> None:
    """Set the propagated parts of an object in place and record them."""
    record = _record(obj, former, parts)
    for part in parts:
        current = applied.read_part(obj, part)
        kept = {key: value for key, value in current.items() if key in wanted[part] or key not in record.get(part, ())}
        content = {**kept, **wanted[part]}
        holder = obj["metadata"] if part in _METADATA else obj["spec"]
        # An empty part that is there already stays: it says nothing either way.
        if content or holder.get(part):
            applied.write_part(obj, part, content)
        record[part] = sorted(wanted[part])
    record = {part: keys for part, keys in sorted(record.items()) if keys}
    annotations = obj["metadata"].get(ANNOTATIONS) or {}
    if record:
        obj["metadata"][ANNOTATIONS] = {**annotations, PROPAGATED_ANNOTATION: json.dumps(record)}
    elif PROPAGATED_ANNOTATION in annotations:
        del annotations[PROPAGATED_ANNOTATION]


def _record(obj: Object, former: t.Mapping[str, Object], parts: tuple[str, ...]) -> applied.Record:
    """Return the recorded keys that an object has from the template."""
    record = applied.read_record(obj)
    if record is not None:
        return record
    # Made before there was a record, from the template as it was stored until now.
    found = {part: applied.read_part(obj, part) for part in parts}
    return {
        part: [key for key, value in former.get(part, {}).items() if own.get(key) == value]
        for part, own in found.items()
    }


def changed_paths(before: t.Any, after: t.Any, path: str = "") -> list[str]:
    """Return the paths at which two objects differ, without values.

    A Secret's data may be among them.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        paths: list[str] = []
        for key in sorted(set(before) | set(after)):
            if before.get(key) != after.get(key):
                paths += changed_paths(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
        return paths
    return [path]
