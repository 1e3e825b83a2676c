# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stored objects of a cluster, applied from a manifest."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import typing as t

from ...module_utils.common.bounded_yaml import read_json
from ...module_utils.common.violations import ManifestError, Violation
from ..kubeadm import coredns_releases
from ..objects import defaults, infrastructure_versions, kinds
from ..objects.equivalence import keep_equivalent, settle, without_nulls
from ..objects.manifest.reader import ClusterManifest
from ..objects.user_annotations import FROM_MANIFEST, OWNED_BY_THE_MANIFEST
from ..objects.validate import control_plane as validate
from ..objects.validate import update
from ..store import pause
from ..store.base import Store, kind_ref_of
from ..store.conflicts import retry_on_conflict
from . import cluster_labels, in_place_changes, stored_health_checks
from .adopted_machines import with_rebuilt_spec
from .cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    FINALIZERS,
    MACHINE_DEPLOYMENT,
    ClusterObjects,
    Object,
)
from .propagation import changed_paths, propagate
from .resource_sets import stored_resource_sets
from .secret_values import checked_secrets
from .workers import stored_workers, versions_in_place

_METADATA = ("labels", "annotations")
# What anybody may set on a Cluster whose manifest is silent on it: whoever pauses one must not be overruled by a silent file.
_SPEC, _PAUSED = "spec", "paused"
_PAUSABLE = (CLUSTER, MACHINE_DEPLOYMENT)
_NOTED = (kinds.CLUSTER_RESOURCE_SET, kinds.CONFIG_MAP, kinds.MACHINE_DEPLOYMENT)
_STORED = "the store (the manifest leaves replicas out)"
_SCALE = "Set it with the playbook scale, or in the manifest."
_Written = t.Callable[[t.Optional[Object], Object], object]


def apply_manifest(
    store: Store,
    manifest: ClusterManifest,
    warn: t.Callable[[str], object] = lambda _warning: None,
    changed: t.Callable[[t.Optional[Object], Object], object] = lambda _before, _after: None,
    held: t.Collection[str] = (),
) -> list[str]:
    """Apply the manifest's objects to the store; return the changes in words.

    What a controller fills in and the manifest leaves out is kept: status, finalizers, the endpoint that the
    infrastructure gave; so are the fields that others may set (``manifest.left_out``), also where they set them in the
    middle of this. What means the same as what is stored is no change. A user's Secret replaces a stored one only where
    their contents differ. What the machine template states of the machines without replacing them is propagated to their objects (propagation.py). Raises
    ManifestError with every violation, and has then written nothing, where the manifest changes what can't be changed
    (docs/reference/cluster_api.md, "Admission rules"), and Conflict where another writer changes the objects all the
    time. `warn` is given each warning about the changes, a sentence, before they are written;
    `changed` each object that was written, as it was (None where it is new) and as it is to be. `held` names MachineDeployments that are made paused
    (pause.hold).
    """
    later = (*manifest.resource_sets, *manifest.machine_deployments)
    for wanted in (*infrastructure_versions.wanted(manifest), *later):
        store.prefer(wanted)
    before, changes = _stored(store, manifest.control_plane), []

    def written(stored: t.Optional[Object], desired: Object) -> None:
        changes.append(_change_of(stored, desired))
        changed(stored, desired)

    # What is filled in and merged belongs to the objects that were read.
    manifest = retry_on_conflict(
        store, functools.partial(_store_objects, store, manifest, functools.cache(warn), written, held)
    )
    in_place_changes.settle(store, _stored(store, manifest.control_plane), manifest)
    versions_in_place.settle(store, manifest)
    changes += stored_health_checks.delete_others(store, manifest) + stored_resource_sets.delete_others(store, manifest)
    metadata = manifest.cluster["metadata"]
    return changes + change_in_place(store, str(metadata.get("namespace", "default")), str(metadata["name"]), before)


def _store_objects(
    store: Store, given: ClusterManifest, warn: t.Callable[[str], object], written: _Written, held: t.Collection[str]
) -> ClusterManifest:
    """Store a manifest's objects; return it with values left out."""
    # Read before anything is filled in from them: of what changes after that the update is refused.
    read = [_stored(store, each) for each in _objects(given)]
    manifest = with_rebuilt_spec(store, given)
    manifest = stored_workers.with_stored_values(store, _with_stored_values(store, manifest))
    of_secrets = checked_secrets(store, manifest)
    violations = [*_update_violations(store, manifest), *of_secrets.violations]
    if violations:
        raise ManifestError(violations)
    for warning in (*_update_warnings(store, manifest), *of_secrets.warnings):
        warn(warning)
    # The Cluster is the last one.
    cluster = manifest.cluster if read[-1] is None else _merged(read[-1], manifest.cluster)
    for stored, desired in zip(read, _objects(manifest)):
        if stored is None:
            created = _label(copy.deepcopy(_with_record(desired)), manifest)
            if kind_ref_of(desired) in FINALIZERS:
                created["metadata"]["finalizers"] = [FINALIZERS[kind_ref_of(desired)]]
            if kind_ref_of(desired) == MACHINE_DEPLOYMENT and desired["metadata"]["name"] in held:
                pause.hold(created)
            store.create(created)
            written(None, created)
            continue
        merged = _label(_merged(stored, desired, cluster), manifest)
        if merged != stored:
            store.update(merged)
            written(stored, merged)
    return manifest


def _objects(manifest: ClusterManifest) -> list[Object]:
    """Return a manifest's objects in the order in which they are stored."""
    found = [
        manifest.infrastructure_cluster,
        manifest.machine_template,
        manifest.control_plane,
        *manifest.secrets,
        *manifest.health_checks,
        *manifest.resource_sets,
        *manifest.resources,
        *manifest.worker_templates,
        *manifest.machine_deployments,
        manifest.cluster,
    ]
    return [each for each in found if each is not None]


def _change_of(stored: t.Optional[Object], written: Object) -> str:
    """Return the change of an object that was stored, in words."""
    metadata = written["metadata"]
    title = f"{written['kind']} {metadata.get('namespace', 'default')}/{metadata['name']}"
    return f"create {title}" if stored is None else f"change {title}: {', '.join(changed_paths(stored, written))}"


def _label(obj: Object, manifest: ClusterManifest) -> Object:
    """Label an object; the Cluster notes its infrastructure's versions."""
    if kind_ref_of(obj) == CLUSTER:
        infrastructure_versions.note(obj, manifest)
    cluster_labels.label(obj, manifest)
    return obj


def change_in_place(store: Store, namespace: str, name: str, before: t.Optional[Object]) -> list[str]:
    """Change a stored cluster's machines and workers in place.

    Returns the changes in words.
    ``before`` is the KubeadmControlPlane as it was before it was written.
    """
    objects = ClusterObjects.read(store, namespace, name)
    if objects is None:
        return []
    completed = in_place_changes.complete(objects) + versions_in_place.complete(objects)
    return propagate(objects, before) + completed + stored_workers.propagate(objects)


def _update_violations(store: Store, manifest: ClusterManifest) -> list[Violation]:
    """Return violations for changes of immutable fields, in the manifest's own terms."""
    control_plane = _stored(store, manifest.control_plane)
    cluster = _stored(store, manifest.cluster)
    was_initialized = update.initialized(cluster, control_plane)
    violations: list[Violation] = []
    if defaults.REPLICAS in manifest.left_out:
        report = manifest.report(manifest.control_plane)
        validate.validate_replicas(manifest.control_plane, report)
        # The manifest's file and line would be those of something that it does not say.
        violations += [
            dataclasses.replace(each, source=_STORED, fix=f"{each.fix} {_SCALE}") for each in report.violations
        ]
    if cluster is not None:
        report = manifest.report(manifest.cluster)
        wanted = _merged(cluster, manifest.cluster)
        update.validate_cluster_update(cluster, wanted, was_initialized, report)
        violations += report.violations
    if control_plane is not None:
        clusters = (cluster, _merged(cluster, manifest.cluster)) if cluster is not None else None
        report = manifest.report(manifest.control_plane)
        update.validate_control_plane_update(
            control_plane, manifest.control_plane, report, clusters, coredns_releases.refusal, was_initialized
        )
        violations += report.violations
        violations += in_place_changes.violations(control_plane, cluster, manifest)
    for each in (*manifest.secrets, *manifest.resources):
        stored = _stored(store, each)
        if stored is not None:
            has_keys = was_initialized and each in manifest.secrets
            update.validate_content_update(stored, each, has_keys, report := manifest.report(each))
            violations += report.violations
    violations += versions_in_place.violations(store, manifest)
    violations += stored_resource_sets.update_violations(store, manifest)
    return violations + cluster_labels.update_violations(store, manifest)


def _with_stored_values(store: Store, manifest: ClusterManifest) -> ClusterManifest:
    """Return the manifest with stored values for the fields it leaves out.

    Another controller or the user may have set them; they are never reverted.
    """
    stored = _stored(store, manifest.control_plane) if manifest.left_out else None
    if stored is None:
        return manifest
    control_plane = copy.deepcopy(manifest.control_plane)
    replicas = stored["spec"].get("replicas")
    if defaults.REPLICAS in manifest.left_out and replicas is not None:
        control_plane["spec"]["replicas"] = replicas
    after = (stored["spec"].get("rollout") or {}).get("after")
    if defaults.ROLLOUT_AFTER in manifest.left_out and after is not None:
        control_plane["spec"].setdefault("rollout", {})["after"] = after
    return dataclasses.replace(manifest, control_plane=control_plane)


def _update_warnings(store: Store, manifest: ClusterManifest) -> list[str]:
    found = update.template_warnings(_stored(store, manifest.machine_template), manifest.machine_template)
    for template in manifest.worker_templates:
        found += update.template_warnings(_stored(store, template), template, kinds.MACHINE_DEPLOYMENT)
    found += stored_workers.left_behind(store, manifest)
    return found + update.component_warnings(_stored(store, manifest.control_plane), manifest.control_plane)


def _stored(store: Store, desired: Object) -> t.Optional[Object]:
    metadata = desired["metadata"]
    return store.get(kind_ref_of(desired), str(metadata.get("namespace", "default")), str(metadata["name"]))


def _merged(stored: Object, desired: Object, cluster: t.Optional[Object] = None) -> Object:
    merged = copy.deepcopy(stored)
    for key in ("apiVersion", "spec", "data", "immutable", "type"):
        # Of another provider's template an API keeps no nulls.
        if key in desired and without_nulls(desired[key]) != without_nulls(stored.get(key)):
            merged[key] = copy.deepcopy(desired[key])
    recorded = _given_before(stored)
    if kind_ref_of(desired) in _PAUSABLE:
        merged["spec"] = keep_equivalent(stored["spec"], _with_pause(stored["spec"], desired["spec"], recorded))
    elif kind_ref_of(desired) == CONTROL_PLANE and cluster is not None:
        merged["spec"] = settle(stored["spec"], desired["spec"], cluster)
    desired = _with_record(desired)
    for key in _METADATA:
        given = desired["metadata"].get(key) or {}
        if given or key in stored["metadata"]:
            # What a user takes out of the manifest no longer holds; what controllers wrote stays.
            gone = {*OWNED_BY_THE_MANIFEST, FROM_MANIFEST, *recorded.get(key, ())}
            kept = {name: value for name, value in (stored["metadata"].get(key) or {}).items() if name not in gone}
            merged["metadata"][key] = {**kept, **given}
    endpoint = stored.get("spec", {}).get("controlPlaneEndpoint")
    if endpoint and not merged["spec"].get("controlPlaneEndpoint", {}).get("host"):
        merged["spec"]["controlPlaneEndpoint"] = endpoint
    return merged


def _with_pause(stored: Object, desired: Object, recorded: t.Mapping[str, list[str]]) -> Object:
    """Return a spec, with the stored pause where unstated.

    It is a Cluster's or a MachineDeployment's. Unstated: the manifest neither states whether it is paused nor started the pause.
    """
    silent = desired.get(_PAUSED) is None and _PAUSED not in recorded.get(_SPEC, ())
    return {**desired, _PAUSED: stored[_PAUSED]} if silent and stored.get(_PAUSED) else desired


def _with_record(desired: Object) -> Object:
    """Return a manifest's object with the record of the fields it gives.

    Recorded are its labels and annotations, and whether it pauses what it is about.

    What a user alone makes elsewhere has the note in any case: without it, a Secret of Cluster API's type would be taken for a controller's.
    """
    noted = desired.get("type") in (kinds.SECRET_TYPE, kinds.RESOURCE_SET_SECRET_TYPE) or desired["kind"] in _NOTED
    if kind_ref_of(desired) not in (CLUSTER, CONTROL_PLANE) and not noted:
        return desired
    given = {key: sorted(desired["metadata"].get(key) or {}) for key in _METADATA}
    if kind_ref_of(desired) in _PAUSABLE and desired["spec"].get(_PAUSED):
        given[_SPEC] = [_PAUSED]
    record = {key: names for key, names in given.items() if names}
    if not record and not noted:
        return desired
    annotations = {**(desired["metadata"].get("annotations") or {}), FROM_MANIFEST: json.dumps(record)}
    return {**desired, "metadata": {**desired["metadata"], "annotations": annotations}}


def _given_before(stored: Object) -> dict[str, list[str]]:
    """Return what the manifest gave of a stored object.

    As :func:`_with_record` records it; nothing where the record is missing or damaged.
    """
    try:
        record = read_json((stored["metadata"].get("annotations") or {}).get(FROM_MANIFEST, "{}"))
        return {key: [str(name) for name in record[key]] for key in (*_METADATA, _SPEC) if key in record}
    except (ValueError, TypeError):
        return {}
