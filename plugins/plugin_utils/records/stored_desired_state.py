# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Desired state in the store only, applied with kubectl or GitOps.

No manifest names such a cluster.

Cluster API's webhooks would have defaulted and refused; its core would have put labels and finalizers on them. Here a run does, before it
does anything else. What the API server itself refuses (``crds/webhook_rules.py``) never comes this far.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import functools
import typing as t

import yaml

from ...module_utils.common.violations import ManifestError, Violation
from ..decision.conditions import terminal_failure
from ..decision.removal import deleted_control_plane
from ..objects import kinds
from ..objects.convert.to_hub import without_zero_values
from ..objects.manifest.reader import read_cluster
from ..objects.user_annotations import KNOWN
from ..store import opening
from ..store.base import Store, kind_ref_of
from ..store.conflicts import retry_on_conflict
from . import cluster_labels, stored_health_checks
from .cluster_objects import CLUSTER, CONTROL_PLANE, FINALIZERS, Object, kind_of
from .propagation import changed_paths
from .secret_values import checked_secrets
from .stored_cluster import change_in_place
from .workers import stored_workers

# How messages name where a fault is, in place of a file.
WHERE = "the store"
# Of this collection's annotations, a person's are those that are known, or nearly; the others are runs' own notes.
MISSPELLED = 0.9
# Of the faults, what a status says.
_SAID = 1024
Warn = t.Callable[[str], object]


def _silent(_warning: str) -> None:
    """Show no warning."""


def settle_in_api(store: Store, arguments: t.Mapping[str, t.Any], warn: Warn = _silent) -> t.Optional[list[str]]:
    """Default and validate an action's cluster where its store is an API.

    The user may apply objects there without a manifest; see :func:`settle`, also for `warn`.

    None in a store of files, too: what is there was a manifest's.
    """
    if not opening.is_kubernetes(arguments["store"]):
        return None
    return settle(store, arguments["namespace"], arguments["cluster"], arguments["providers"] or None, warn)


def settle(
    store: Store,
    namespace: str,
    name: str,
    providers: t.Optional[t.Mapping[str, str]] = None,
    warn: Warn = _silent,
) -> t.Optional[list[str]]:
    """Default and validate a stored cluster's objects; return the changes in words.

    None where the store has no such Cluster. What is complete already is not written, and what is being deleted is left as it is.
    `warn` is given what a manifest of these objects would be warned of, a sentence each.

    Raises:
        ManifestError: every fault of the objects. Nothing was written then but that it is so: a terminal failure in the status of the
            Cluster and its control plane, where the user who applied them checks
            (the control plane contract, "ControlPlane: terminal failures").
        Conflict: another writer changes them all the time.
    """
    try:
        # What was completed belongs to the wish that was read.
        return retry_on_conflict(store, functools.partial(_settle, store, namespace, name, providers, warn))
    except ManifestError as error:
        # The lines are those of a text that nobody has.
        refused = ManifestError([dataclasses.replace(each, source=WHERE) for each in error.violations])
        _tell(store, namespace, name, str(refused)[:_SAID])
        raise refused from None


def _settle(
    store: Store, namespace: str, name: str, providers: t.Optional[t.Mapping[str, str]], warn: Warn
) -> t.Optional[list[str]]:
    stored = _objects(store, namespace, name, providers)
    if not stored:
        return None
    if stored[0]["metadata"].get("deletionTimestamp"):
        return []
    _refuse_without_control_plane(stored)
    text = yaml.safe_dump_all([_as_written(each) for each in stored])
    manifest = stored_workers.with_stored_values(
        store, read_cluster([WHERE], namespace, name, providers, {WHERE: text})
    )
    of_secrets = checked_secrets(store, manifest)
    violations = [*of_secrets.violations, *cluster_labels.update_violations(store, manifest)]
    if violations:
        raise ManifestError(violations)
    read = {(kind_ref_of(each), str(each["metadata"]["name"])): each for each in stored}
    before = read.get((CONTROL_PLANE, str(manifest.control_plane["metadata"]["name"])))
    changes = []
    wanted = (
        manifest.infrastructure_cluster,
        manifest.machine_template,
        manifest.control_plane,
        *manifest.health_checks,
        *manifest.worker_templates,
        *manifest.machine_deployments,
        manifest.cluster,
    )
    for desired in wanted:
        kind_ref, own = kind_ref_of(desired), str(desired["metadata"]["name"])
        current = read[(kind_ref, own)]
        altered = copy.deepcopy(current)
        _bring(altered, desired)
        cluster_labels.label(altered, manifest)
        if altered != current:
            # Only over what was read: an edit meanwhile is another wish.
            store.update(altered)
            changes.append(
                f"complete {desired['kind']} {namespace}/{own}: {', '.join(changed_paths(current, altered))}"
            )
    for warning in (*manifest.warnings, *of_secrets.warnings):
        warn(warning)
    return changes + change_in_place(store, namespace, name, before)


def _refuse_without_control_plane(stored: t.Sequence[Object]) -> None:
    """Refuse a Cluster whose KubeadmControlPlane was deleted, with the remedy."""
    found = deleted_control_plane.recorded(stored[0])
    if found is None or any(kind_ref_of(each) == CONTROL_PLANE for each in stored):
        return
    metadata = stored[0]["metadata"]
    raise ManifestError(
        [
            Violation(
                f"Cluster {metadata['namespace']}/{metadata['name']}",
                "spec.controlPlaneRef",
                None,
                f"{found.title}, and no other one is there",
                f"Apply a KubeadmControlPlane to have a new one. {deleted_control_plane.END_CLUSTER}",
            )
        ]
    )


def _tell(store: Store, namespace: str, name: str, message: str) -> None:
    """Record the refusal on the Cluster and its control plane.

    A terminal failure in the status and an Event; the next decision that can be made removes the former.
    """
    fields = {terminal_failure.REASON: terminal_failure.INVALID_CONFIGURATION, terminal_failure.MESSAGE: message}

    def note(found: Object) -> None:
        status = found.setdefault("status", {})
        older = status.setdefault("deprecated", {}).setdefault("v1beta1", {})
        status.update(fields)
        older.update(fields)

    for each in _objects(store, namespace, name):
        kind_ref = kind_ref_of(each)
        if kind_ref == CONTROL_PLANE and cluster_labels.also_named_by(store, namespace, name, each):
            # It may be the other Cluster's, in which nothing is wrong.
            continue
        if kind_ref in (CLUSTER, CONTROL_PLANE):
            store.modify(kind_ref, namespace, str(each["metadata"]["name"]), note)
        if kind_ref == CONTROL_PLANE:
            store.record(each, terminal_failure.INVALID_CONFIGURATION, message, warning=True)


def _objects(
    store: Store, namespace: str, name: str, providers: t.Optional[t.Mapping[str, str]] = None
) -> list[Object]:
    """Return a cluster's stored objects that a manifest would hold, Cluster first.

    Secrets are read where they are needed.
    """
    cluster = store.get(CLUSTER, namespace, name)
    if cluster is None:
        return []
    found = [cluster]
    spec = cluster.get("spec") or {}
    references = [spec.get("infrastructureRef")]
    if (spec.get("controlPlaneRef") or {}).get("name"):
        control_plane = store.get(CONTROL_PLANE, namespace, str(spec["controlPlaneRef"]["name"]))
        if control_plane is not None:
            found.append(control_plane)
            template = (control_plane.get("spec") or {}).get("machineTemplate") or {}
            references.append((template.get("spec") or {}).get("infrastructureRef"))
    for reference in references:
        if reference and reference.get("name") and reference.get("kind") and reference.get("apiGroup"):
            obj = store.get(kind_of(reference), namespace, str(reference["name"]))
            found += [obj] if obj is not None else []
    checks = store.list(stored_health_checks.HEALTH_CHECK, namespace)
    found += [each for each in checks if (each.get("spec") or {}).get("clusterName") == name]
    known = {(kind_ref_of(each), str(each["metadata"]["name"])) for each in found}
    workers = stored_workers.applied(
        store, namespace, name, kinds.DEFAULT_PROVIDERS if providers is None else providers
    )
    return found + [each for each in workers if (kind_ref_of(each), str(each["metadata"]["name"])) not in known]


def _as_written(stored: Object) -> Object:
    """Return a stored object as a manifest would state it.

    Without what controllers and runs recorded on it.
    """
    metadata = stored["metadata"]
    annotations = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if not key.startswith(kinds.ANNOTATION_PREFIX) or difflib.get_close_matches(key, KNOWN, 1, MISSPELLED)
    }
    own = {"name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata.get("labels") or {}}
    return {
        "apiVersion": stored["apiVersion"],
        "kind": stored["kind"],
        "metadata": {**own, "annotations": annotations},
        "spec": copy.deepcopy(stored.get("spec") or {}),
    }


def _bring(stored: Object, desired: Object) -> None:
    # Zero values alone are no reason to write: whoever applies them would write them again.
    if without_zero_values(stored).get("spec") != desired["spec"]:
        stored["spec"] = copy.deepcopy(desired["spec"])
    kind_ref, metadata = kind_ref_of(desired), stored["metadata"]
    finalizer = FINALIZERS.get(kind_ref)
    if finalizer and not metadata.get("deletionTimestamp") and finalizer not in (metadata.get("finalizers") or ()):
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), finalizer]
