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
from ....module_utils.common.kubernetes_versions import read_version
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
    Returns what was changed, in words.
    """
    deployment = next(each for each in _open(objects) if each["metadata"]["name"] == name)
    owners = [(MACHINE_SET, each) for each in sets(objects, deployment) if _machines(objects, [each])]
    changed = []
    for kind, owner in [*owners, (MACHINE_DEPLOYMENT, deployment)]:
        if _older(_version(owner), version):
            own = str(owner["metadata"]["name"])
            bring = functools.partial(_bring, version=version, action=action if kind == MACHINE_DEPLOYMENT else "")
            objects.store.modify(kind, objects.namespace, own, bring)
            changed.append(f"{owner['kind']} {own}: spec.template.spec.version is {version}")
    return changed


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
            f"({advice.edit(kinds.MACHINE_DEPLOYMENT, str(stored['metadata']['name']))}), and every worker will be replaced."
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
            store.modify(
                MACHINE_DEPLOYMENT,
                str(metadata["namespace"]),
                str(metadata["name"]),
                lambda each: (each["metadata"].get("annotations") or {}).pop(ANNOTATION, None),
            )


def _stored(store: Store, deployment: Object) -> t.Optional[Object]:
    metadata = deployment["metadata"]
    return store.get(MACHINE_DEPLOYMENT, str(metadata.get("namespace", "default")), str(metadata["name"]))


def _note(deployment: Object) -> Object:
    try:
        found = read_json((deployment["metadata"].get("annotations") or {}).get(ANNOTATION, "{}"))
        return {"action": str(found.get("action", "")), "versions": [str(each) for each in found["versions"]]}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {"action": "", "versions": []}


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


def _older(recorded_version: str, version: str) -> bool:
    own, other = read_version(recorded_version), read_version(version)
    return own is not None and other is not None and own < other


def _bring(owner: Object, version: str, action: str) -> None:
    if action:
        versions = sorted({*_note(owner)["versions"], _version(owner)} - {version})
        note = json.dumps({"action": action, "versions": versions}, sort_keys=True)
        owner["metadata"].setdefault("annotations", {})[ANNOTATION] = note
    owner["spec"]["template"]["spec"]["version"] = version
