# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of in-place changes by Actions, so that no rollout follows.

On the machines' objects, in the control plane's spec and in its manifest.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import typing as t

from ...module_utils.common.bounded_yaml import read_json
from ...module_utils.common.kubernetes_versions import is_newer
from ...module_utils.common.violations import ManifestError, Report, Violation
from ..kubeadm.configuration.patch import merge_cluster_configuration
from ..objects import advice, equivalence, kinds
from ..objects.manifest.reader import ClusterManifest
from ..store.base import Store
from .cluster_objects import CLUSTER, CONTROL_PLANE, KUBEADM_CONFIG, MACHINE, ClusterObjects, Object

# On a KubeadmControlPlane: which ClusterConfigurations Actions replaced, until the manifest and all machines' objects have followed.
ANNOTATION = kinds.ANNOTATION_PREFIX + "changed-in-place"
_PATH = "spec.kubeadmConfigSpec.clusterConfiguration"


def record_on_machine(
    objects: ClusterObjects, machine: str, version: t.Optional[str], patch: t.Optional[Object], certificates: bool
) -> list[str]:
    """Record an Action's change on a Machine and its KubeadmConfig.

    Returns what was changed, in words.
    """
    changed: list[str] = []
    stored = objects.machine(machine)
    if version and stored is not None and stored["spec"].get("version") != version:
        objects.store.modify(MACHINE, objects.namespace, machine, lambda each: each["spec"].update(version=version))
        changed.append(f"Machine {machine}: spec.version is {version}")
    if _is_behind(objects, machine, patch, certificates):
        name = str(objects.kubeadm_configs[machine]["metadata"]["name"])
        change = functools.partial(_change_config, patch=patch, certificates=certificates)
        objects.store.modify(KUBEADM_CONFIG, objects.namespace, name, change)
        changed.append(f"KubeadmConfig {name} says what the machine has now")
    return changed


def _change_config(each: Object, patch: t.Optional[Object], certificates: bool) -> None:
    """Change a KubeadmConfig in place: its machine has that after an Action."""
    if patch is not None:
        each["spec"]["clusterConfiguration"] = _merged(each["spec"].get("clusterConfiguration"), patch)
    if certificates:
        (each["metadata"].get("annotations") or {}).pop(kinds.ANNOTATION_CERTIFICATES_EXPIRY, None)


def _is_behind(objects: ClusterObjects, machine: str, patch: t.Optional[Object], certificates: bool) -> bool:
    config = objects.kubeadm_configs.get(machine)
    changed = copy.deepcopy(config)
    if changed is not None:
        _change_config(changed, patch, certificates)
    return changed != config


def record_configuration(objects: ClusterObjects, patch: Object, certificates: bool, action: str) -> list[str]:
    """Record an Action's change of the configuration on all objects.

    The control plane is first, with a note of the machines that are to follow: a run that is killed in between is completed by the next one
    (:func:`complete`). Machines that were recorded before it would be replaced. Returns what was changed, in words.
    """
    # Of an Action that was given up: the note is this one's from here on.
    changed = complete(objects)
    staying = (each["metadata"] for each in objects.machines if not each["metadata"].get("deletionTimestamp"))
    behind = [str(each["name"]) for each in staying if _is_behind(objects, str(each["name"]), patch, certificates)]
    follow = {"machines": behind, "patch": patch, "certificates": certificates}
    recorded = record_on_control_plane(objects, None, patch, action, follow)
    changed += [f"KubeadmControlPlane: {each}" for each in recorded]
    for machine in behind:
        changed += record_on_machine(objects, machine, None, patch, certificates)
    _note_followed(objects)
    return changed


def complete(objects: ClusterObjects) -> list[str]:
    """Complete a record of :func:`record_configuration` that a killed run left.

    Without it the machines that the Action changed would be replaced. Nothing is done while the cluster is paused. Returns the changes.
    """
    if objects.control_plane is None or objects.paused or objects.going:
        return []
    note, stated = _note(objects.control_plane), _configuration(objects.control_plane)
    if not note["machines"]:
        return []
    changed = []
    # What was changed since is a new wish, for which machines are replaced.
    if _digest(stated) == note["recorded"]:
        for machine in note["machines"]:
            changed += record_on_machine(objects, machine, None, note["patch"], note["certificates"])
    _note_followed(objects)
    return changed


def _note_followed(objects: ClusterObjects) -> None:
    """Record that all machines have followed the control plane."""
    if objects.control_plane is None:
        return
    name = str(objects.control_plane["metadata"]["name"])
    stored = objects.store.get(CONTROL_PLANE, objects.namespace, name)
    if stored is not None and _note(stored)["machines"]:
        followed = functools.partial(_change_note, machines=[])
        objects.store.modify(CONTROL_PLANE, objects.namespace, name, followed)


def record_on_control_plane(
    objects: ClusterObjects,
    version: t.Optional[str],
    patch: t.Optional[Object],
    action: str,
    follow: t.Optional[Object] = None,
) -> list[str]:
    """Record an Action's change in the KubeadmControlPlane's spec.

    A newer version stays. ``follow`` is noted with a change of the configuration: which machines are to follow it, and in what. Returns what was
    changed, and that a newer version stayed, in words.
    """
    if objects.control_plane is None:
        return []
    stored = objects.control_plane
    changed: list[str] = []

    def change(each: Object) -> None:
        spec = each["spec"]
        if version and not is_newer(str(spec.get("version") or ""), version):
            spec["version"] = version
        if patch is None:
            return
        config = spec.setdefault("kubeadmConfigSpec", {})
        before = config.get("clusterConfiguration") or {}
        after = _merged(before, patch)
        differs = _digest(after) != _digest(before)
        if differs:
            config["clusterConfiguration"] = after
        # Machines can be behind a control plane that says it already: by a manifest whose rollout has not begun.
        if differs or (follow and follow["machines"]):
            before_it = {*_note(each)["configurations"], *(_digests(before, objects.cluster) if differs else ())}
            replaced = sorted(before_it - _digests(after, objects.cluster))
            _change_note(each, configurations=replaced, action=action, recorded=_digest(after), **(follow or {}))

    wanted = copy.deepcopy(stored)
    change(wanted)
    if wanted != stored:
        wanted = objects.store.modify(CONTROL_PLANE, objects.namespace, stored["metadata"]["name"], change)
    kept = wanted["spec"].get("version")
    if version and kept != version:
        changed.append(
            f"spec.version is {kept}, {newer_stays(version)}; where a manifest states another, reconcile brings that one"
        )
    elif version and stored["spec"].get("version") != version:
        changed.append(f"spec.version is {version}")
    if patch is not None and wanted["spec"] != stored["spec"]:
        changed.append(f"{_PATH} has the change")
    return changed


def newer_stays(version: str) -> str:
    """Return what follows where a newer version stays."""
    return f"which is newer than {version}, and stays: the next reconcile brings it, and replaces machines for that"


def violations(stored: t.Optional[Object], cluster: t.Optional[Object], manifest: ClusterManifest) -> list[Violation]:
    """Return violations where the manifest still states what an Action replaced.

    Reconcile would replace every machine to revert that. ``stored`` and ``cluster`` are the stored KubeadmControlPlane and Cluster.
    """
    if stored is None or ANNOTATION not in (stored["metadata"].get("annotations") or {}):
        return []
    note = _note(stored)
    wanted, kept = (
        _digests(_configuration(each), cluster or manifest.cluster) for each in (manifest.control_plane, stored)
    )
    if wanted.isdisjoint(note["configurations"]) or not wanted.isdisjoint(kept):
        return []
    report = manifest.report(manifest.control_plane)
    rule = f"is as it was before the Action {note['action']} changed it in place; reconcile would replace every machine to take that back"
    fix = (
        "Bring the Action's change into the manifest. To take it back, run an Action changeConfiguration that does; or take the annotation "
        f"{ANNOTATION} off ({advice.edit(kinds.KUBEADM_CONTROL_PLANE, stored['metadata'])}), and every machine will be replaced."
    )
    report.add(_PATH, None, rule, fix)
    return list(report.violations)


def settle(store: Store, stored: t.Optional[Object], manifest: ClusterManifest) -> None:
    """Remove the record of an Action's change once the manifest follows.

    The manifest states what the machines have, or something new.
    """
    if stored is None or ANNOTATION not in (stored["metadata"].get("annotations") or {}):
        return
    metadata, configuration = stored["metadata"], _configuration(manifest.control_plane)
    cluster = (
        store.get(CLUSTER, str(metadata["namespace"]), str(manifest.cluster["metadata"]["name"])) or manifest.cluster
    )
    if not _digests(configuration, cluster).isdisjoint(_note(stored)["configurations"]):
        return
    settled = functools.partial(_change_note, configurations=[])
    store.modify(CONTROL_PLANE, str(metadata["namespace"]), str(metadata["name"]), settled)


def _configuration(control_plane: Object) -> Object:
    return ((control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}


def _merged(before: t.Optional[Object], patch: Object) -> Object:
    report = Report("clusterConfiguration")
    merged = merge_cluster_configuration(before or {}, patch, "clusterConfiguration", report)
    if report.violations:
        raise ManifestError(report.violations)
    return dict(merged)


def _note(control_plane: Object) -> Object:
    """Return the note of an Action's change.

    ``configurations`` are digests of those that it replaced. Where a run was killed, ``machines`` are still to get the ``patch`` that
    led to the one ``recorded`` (its digest), and ``certificates`` says whether theirs were made again.
    """
    try:
        return _fields(read_json((control_plane["metadata"].get("annotations") or {}).get(ANNOTATION, "{}")))
    except (ValueError, TypeError, KeyError, AttributeError):
        return _fields({"configurations": []})


def _fields(note: Object) -> Object:
    return {
        "action": str(note.get("action", "")),
        "configurations": [str(each) for each in note["configurations"]],
        "machines": [str(each) for each in note.get("machines", ())],
        "patch": dict(note.get("patch") or {}),
        "recorded": str(note.get("recorded", "")),
        "certificates": note.get("certificates") is True,
    }


def _change_note(control_plane: Object, **fields: t.Any) -> None:
    """Change fields of a control plane's note in place."""
    note = {**_note(control_plane), **fields}
    annotations = control_plane["metadata"].setdefault("annotations", {})
    if note["configurations"] or note["machines"]:
        annotations[ANNOTATION] = json.dumps(note, sort_keys=True)
    else:
        annotations.pop(ANNOTATION, None)


def _digests(configuration: Object, cluster: Object) -> set[str]:
    """Return a clusterConfiguration's digests by its words and by its meaning.

    Notes of earlier releases have the first alone.
    """
    meaning = equivalence.canonical(equivalence.without_cluster_values(configuration, cluster))
    return {_digest(configuration), _digest({} if meaning is equivalence.ABSENT else meaning)}


def _digest(value: t.Any) -> str:
    text = json.dumps(_trimmed(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _trimmed(value: t.Any) -> t.Any:
    """Return a value without empty fields and kubernetesVersion, for comparison."""
    if isinstance(value, dict):
        kept = {key: _trimmed(each) for key, each in value.items() if key != "kubernetesVersion"}
        return {key: each for key, each in kept.items() if each not in (None, "", {}, [])}
    return [_trimmed(each) for each in value] if isinstance(value, list) else value
