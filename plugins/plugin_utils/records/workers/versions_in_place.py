# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of MachineDeployments whose workers were upgraded in place.

Deployment and MachineSets get the version together, so that no rollout follows.
"""

from __future__ import annotations

import functools
import json
import typing as t

from ....module_utils.common.bounded_yaml import read_json
from ....module_utils.common.kubernetes_versions import is_newer, read_version
from ....module_utils.common.violations import Violation
from ...documents.names import label_value
from ...objects import advice, kinds
from ...objects.defaults import WORKER_VERSION
from ...objects.manifest.cluster_manifest import ClusterManifest
from ...store.base import Store
from ..cluster_objects import MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET, ClusterObjects, Object
from ..in_place_changes import ANNOTATION
from .stored_workers import deployments, is_controlled, sets


def recorded(objects: ClusterObjects) -> dict[str, str]:
    """Return the oldest version that each MachineDeployment records.

    It is the deployment's own, or that of a MachineSet with machines, by the label of its Nodes.
    """
    found = {}
    for deployment in _open(objects):
        owners = [deployment, *(each for each in sets(objects, deployment) if _machines(objects, [each]))]
        known = [(parsed, _version(each)) for each in owners if (parsed := read_version(_version(each))) is not None]
        if known:
            found[label_value(str(deployment["metadata"]["name"]))] = min(known)[1]
    return found


def record_machines(
    objects: ClusterObjects, version: str, nodes: t.Container[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Record a version on the Machines of workers.

    Args:
        nodes: the names of the Nodes that have it.

    Returns:
        what was changed, in words; and the machines of each MachineDeployment that are left without it.
    """
    changed, left = [], {}
    for deployment in _open(objects):
        machines = _machines(objects, sets(objects, deployment))
        behind = []
        for machine in machines:
            name = str(machine["metadata"]["name"])
            if ((machine.get("status") or {}).get("nodeRef") or {}).get("name") not in nodes:
                behind.append(name)
            elif machine["spec"].get("version") != version:
                objects.store.modify(
                    MACHINE, objects.namespace, name, lambda each: each["spec"].update(version=version)
                )
                changed.append(f"Machine {name}: spec.version is {version}")
        if machines:
            left[str(deployment["metadata"]["name"])] = behind
    return changed, left


def record_deployment(objects: ClusterObjects, name: str, version: str, action: str) -> list[str]:
    """Record a version on a MachineDeployment and its MachineSets.

    A newer one stays, and so does that of a set without machines. ``action`` is the name of the Action that brought it.
    The deployment is first, with a note of what it replaced and of the sets that are to follow: a run that is killed in between is completed
    by the next one (:func:`complete`). Returns what was changed, in words.
    """
    deployment = next(each for each in _open(objects) if each["metadata"]["name"] == name)
    owned = [each for each in sets(objects, deployment) if _machines(objects, [each])]
    behind = [str(each["metadata"]["name"]) for each in owned if is_newer(version, _version(each))]
    older = is_newer(version, _version(deployment))
    if not behind and not older:
        return []

    def bring(owner: Object) -> None:
        replaced = _note(owner)["versions"]
        if older:
            replaced = sorted({*replaced, _version(owner)} - {version})
            owner["spec"]["template"]["spec"]["version"] = version
        _write_note(owner, {"action": action, "versions": replaced, "version": version, "sets": behind})

    deployment = objects.store.modify(MACHINE_DEPLOYMENT, objects.namespace, name, bring)
    changed = [_recorded_text(deployment, version)] if older else []
    return changed + _follow(objects, deployment)


def complete(objects: ClusterObjects) -> list[str]:
    """Complete records of :func:`record_deployment` that a killed run left.

    Without it the workers that an Action upgraded would be replaced. Nothing is done while the cluster or the deployment is paused. Returns the
    changes.
    """
    if objects.paused or objects.going:
        return []
    return [line for each in _open(objects) if _note(each)["sets"] for line in _follow(objects, each)]


def _follow(objects: ClusterObjects, deployment: Object) -> list[str]:
    """Record a note's version on the MachineSets that it names."""
    note = _note(deployment)
    changed, version, behind = [], note["version"], note["sets"]
    for owned in sets(objects, deployment):
        own = str(owned["metadata"]["name"])
        if own in behind and is_newer(version, _version(owned)):
            objects.store.modify(
                MACHINE_SET,
                objects.namespace,
                own,
                lambda each: each["spec"]["template"]["spec"].update(version=version),
            )
            changed.append(_recorded_text(owned, version))
    if behind:
        name = str(deployment["metadata"]["name"])
        followed = functools.partial(_change_note, sets=[])
        objects.store.modify(MACHINE_DEPLOYMENT, objects.namespace, name, followed)
    return changed


def _recorded_text(owner: Object, version: str) -> str:
    return f"{owner['kind']} {owner['metadata']['name']}: spec.template.spec.version is {version}"


def violations(store: Store, manifest: ClusterManifest) -> list[Violation]:
    """Return violations for versions in the manifest that an Action replaced.

    Reconcile would replace every worker to revert that.
    """
    found: list[Violation] = []
    for deployment in manifest.machine_deployments:
        stored = _stored(store, deployment)
        wanted = _version(deployment)
        if stored is None or wanted not in _note(stored)["versions"] or wanted == _version(stored):
            continue
        report = manifest.report(deployment)
        rule = (
            f"is the version before the Action {_note(stored)['action']} upgraded its workers in place; reconcile would replace all of them to "
            "take that back"
        )
        fix = (
            f"Set it to {_version(stored)}. To go back, take the annotation {ANNOTATION} off "
            f"({advice.edit(kinds.MACHINE_DEPLOYMENT, stored['metadata'])}), and every worker will be replaced."
        )
        report.add(WORKER_VERSION, wanted, rule, fix)
        found += report.violations
    return found


def settle(store: Store, manifest: ClusterManifest) -> None:
    """Remove the record of an Action's upgrade once the manifest follows."""
    for deployment in manifest.machine_deployments:
        stored = _stored(store, deployment)
        if stored is not None and _note(stored)["versions"] and _version(deployment) not in _note(stored)["versions"]:
            metadata = stored["metadata"]
            settled = functools.partial(_change_note, versions=[])
            store.modify(MACHINE_DEPLOYMENT, str(metadata["namespace"]), str(metadata["name"]), settled)


def _stored(store: Store, deployment: Object) -> t.Optional[Object]:
    metadata = deployment["metadata"]
    return store.get(MACHINE_DEPLOYMENT, str(metadata.get("namespace", "default")), str(metadata["name"]))


def _note(deployment: Object) -> Object:
    """Return the note of an Action's upgrade.

    ``versions`` are those that it replaced; ``sets`` the names of the MachineSets that don't record the new ``version`` yet.
    """
    try:
        found = read_json((deployment["metadata"].get("annotations") or {}).get(ANNOTATION, "{}"))
        return {
            "action": str(found.get("action", "")),
            "versions": [str(each) for each in found["versions"]],
            "version": str(found.get("version", "")),
            "sets": [str(each) for each in found.get("sets", ())],
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {"action": "", "versions": [], "version": "", "sets": []}


def _change_note(deployment: Object, **fields: t.Any) -> None:
    """Change fields of a deployment's note in place."""
    _write_note(deployment, {**_note(deployment), **fields})


def _write_note(deployment: Object, note: Object) -> None:
    """Set a deployment's note in place; an empty one is removed."""
    annotations = deployment["metadata"].setdefault("annotations", {})
    if note["versions"] or note["sets"]:
        annotations[ANNOTATION] = json.dumps(note, sort_keys=True)
    else:
        annotations.pop(ANNOTATION, None)


def _open(objects: ClusterObjects) -> list[Object]:
    """Return the MachineDeployments that are neither paused nor being deleted."""
    return [
        each
        for each in deployments(objects)
        if not each["metadata"].get("deletionTimestamp") and not kinds.is_flagged(each, kinds.ANNOTATION_PAUSED)
    ]


def _machines(objects: ClusterObjects, owners: t.Sequence[Object]) -> list[Object]:
    names = [str(each["metadata"]["name"]) for each in owners]
    return [
        each
        for each in objects.workers
        if not each["metadata"].get("deletionTimestamp")
        and any(is_controlled(each, kinds.MACHINE_SET, name) for name in names)
    ]


def _version(owner: Object) -> str:
    return str(((owner["spec"].get("template") or {}).get("spec") or {}).get("version") or "")
