# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of in-place changes by Actions, so that no rollout follows.

On the machines' objects, in the control plane's spec and in its manifest.
"""

from __future__ import annotations

import copy
import hashlib
import json
import typing as t

from ...module_utils.common.bounded_yaml import read_json
from ...module_utils.common.violations import ManifestError, Report, Violation
from ..kubeadm.configuration.patch import merge_cluster_configuration
from ..objects import advice, kinds
from ..objects.manifest.reader import ClusterManifest
from ..store.base import Store
from .cluster_objects import CONTROL_PLANE, KUBEADM_CONFIG, MACHINE, ClusterObjects, Object

# On a KubeadmControlPlane: which ClusterConfigurations Actions replaced, until the manifest is seen to have followed.
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
    config = objects.kubeadm_configs.get(machine)
    if config is None:
        return changed
    name = str(config["metadata"]["name"])

    def change(each: Object) -> None:
        if patch is not None:
            each["spec"]["clusterConfiguration"] = _merged(each["spec"].get("clusterConfiguration"), patch)
        if certificates:
            (each["metadata"].get("annotations") or {}).pop(kinds.ANNOTATION_CERTIFICATES_EXPIRY, None)

    wanted = copy.deepcopy(config)
    change(wanted)
    if wanted != config:
        objects.store.modify(KUBEADM_CONFIG, objects.namespace, name, change)
        changed.append(f"KubeadmConfig {name} says what the machine has now")
    return changed


def record_on_control_plane(
    objects: ClusterObjects, version: t.Optional[str], patch: t.Optional[Object], action: str
) -> list[str]:
    """Record an Action's change in the KubeadmControlPlane's spec.

    Returns what was changed, in words.
    """
    if objects.control_plane is None:
        return []
    stored = objects.control_plane
    changed: list[str] = []

    def change(each: Object) -> None:
        spec = each["spec"]
        if version:
            spec["version"] = version
        if patch is None:
            return
        config = spec.setdefault("kubeadmConfigSpec", {})
        before = config.get("clusterConfiguration") or {}
        after = _merged(before, patch)
        if _digest(after) != _digest(before):
            config["clusterConfiguration"] = after
            note = _note(each)
            note["configurations"] = sorted({*note["configurations"], _digest(before)} - {_digest(after)})
            note["action"] = action
            each["metadata"].setdefault("annotations", {})[ANNOTATION] = json.dumps(note, sort_keys=True)

    wanted = copy.deepcopy(stored)
    change(wanted)
    if wanted["spec"] != stored["spec"]:
        objects.store.modify(CONTROL_PLANE, objects.namespace, stored["metadata"]["name"], change)
        if wanted["spec"].get("version") != stored["spec"].get("version"):
            changed.append(f"spec.version is {version}")
        if patch is not None:
            changed.append(f"{_PATH} has the change")
    return changed


def violations(stored: t.Optional[Object], manifest: ClusterManifest) -> list[Violation]:
    """Return violations where the manifest still states what an Action replaced.

    Reconcile would replace every machine to revert that.
    """
    if stored is None or ANNOTATION not in (stored["metadata"].get("annotations") or {}):
        return []
    note = _note(stored)
    wanted = _digest(_configuration(manifest.control_plane))
    if wanted not in note["configurations"] or wanted == _digest(_configuration(stored)):
        return []
    report = manifest.report(manifest.control_plane)
    rule = f"is as it was before the Action {note['action']} changed it in place; reconcile would replace every machine to take that back"
    fix = (
        "Bring the Action's change into the manifest. To take it back, run an Action changeConfiguration that does; or take the annotation "
        f"{ANNOTATION} off ({advice.edit(kinds.KUBEADM_CONTROL_PLANE, str(stored['metadata']['name']))}), and every machine will be replaced."
    )
    report.add(_PATH, None, rule, fix)
    return list(report.violations)


def settle(store: Store, stored: t.Optional[Object], manifest: ClusterManifest) -> None:
    """Remove the record of an Action's change once the manifest follows.

    The manifest states what the machines have, or something new.
    """
    if stored is None or ANNOTATION not in (stored["metadata"].get("annotations") or {}):
        return
    if _digest(_configuration(manifest.control_plane)) in _note(stored)["configurations"]:
        return

    def change(each: Object) -> None:
        (each["metadata"].get("annotations") or {}).pop(ANNOTATION, None)

    metadata = stored["metadata"]
    store.modify(CONTROL_PLANE, str(metadata["namespace"]), str(metadata["name"]), change)


def _configuration(control_plane: Object) -> Object:
    return ((control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}


def _merged(before: t.Optional[Object], patch: Object) -> Object:
    report = Report("clusterConfiguration")
    merged = merge_cluster_configuration(before or {}, patch, "clusterConfiguration", report)
    if report.violations:
        raise ManifestError(report.violations)
    return dict(merged)


def _note(control_plane: Object) -> Object:
    try:
        found = read_json((control_plane["metadata"].get("annotations") or {}).get(ANNOTATION, "{}"))
        return {
            "action": str(found.get("action", "")),
            "configurations": [str(each) for each in found["configurations"]],
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {"action": "", "configurations": []}


def _digest(value: t.Any) -> str:
    text = json.dumps(_trimmed(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _trimmed(value: t.Any) -> t.Any:
    """Return a value without empty fields and kubernetesVersion, for comparison."""
    if isinstance(value, dict):
        kept = {key: _trimmed(each) for key, each in value.items() if key != "kubernetesVersion"}
        return {key: each for key, each in kept.items() if each not in (None, "", {}, [])}
    return [_trimmed(each) for each in value] if isinstance(value, list) else value
