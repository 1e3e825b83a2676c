# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adoption of Machines without a controller: all of them or none.

Source: docs/reference/cluster_api.md, "Adoption", "Certificates".
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.common.kubernetes_versions import read_version
from ...module_utils.common.values import controller_of
from ..calls.failure import ControlPlaneFailure
from ..documents import names
from ..kubeadm.configuration.rebuild import has_configuration, rebuild
from ..objects import kinds
from ..objects.manifest.reader import ClusterManifest
from ..pki.secrets import set_controller
from ..store.base import Store, kind_ref_of
from .cluster_objects import (
    CLUSTER_LABEL,
    CONTROL_PLANE,
    CONTROL_PLANE_LABEL,
    FINALIZERS,
    KUBEADM_CONFIG,
    MACHINE,
    SECRET,
    ClusterObjects,
    Object,
)
from .status.status_writer import annotate

# Says that spec.kubeadmConfigSpec was made from the machines' KubeadmConfigs, since the manifest gives none.
REBUILT = kinds.ANNOTATION_PREFIX + "rebuilt-kubeadm-config-spec"
_NOTHING_DONE = "No machine is adopted and nothing was written."


def adopt(objects: ClusterObjects, machines: t.Sequence[str]) -> list[str]:
    """Adopt these Machines for the KubeadmControlPlane; return the changes in words.

    Everything is checked before the first write. A run killed in the middle leaves machines without a controller, for which
    the next pass decides the same again; each machine's ownerReference is the last that is written of it.

    Raises:
        ControlPlaneFailure: the control plane is being deleted, or a machine is gone, is controlled by something else, has no
            KubeadmConfig or a version more than one minor away.
    """
    control_plane = _control_plane(objects)
    adopted = [_candidate(objects, control_plane, name) for name in machines]
    changes = _rebuild_spec(objects, control_plane)
    changes += _own_secrets(objects, control_plane, machines)
    for machine in adopted:
        changes += _own_machine(objects, control_plane, machine)
    return changes


def _control_plane(objects: ClusterObjects) -> Object:
    found = objects.control_plane
    if found is None:
        raise ControlPlaneFailure(
            f"the cluster {objects.namespace}/{objects.name} has no KubeadmControlPlane in the store, so its machines would have no controller. "
            f"{_NOTHING_DONE} Run reconcile with the cluster's manifest."
        )
    if found["metadata"].get("deletionTimestamp"):
        raise ControlPlaneFailure(
            f"KubeadmControlPlane {objects.namespace}/{found['metadata']['name']} has just been marked for deletion: machines that it "
            f"adopted now would be deleted with it. {_NOTHING_DONE} Take the Machines out of this cluster's labels, or delete them with it."
        )
    return found


def _candidate(objects: ClusterObjects, control_plane: Object, name: str) -> Object:
    machine = next((each for each in objects.all_machines if each["metadata"]["name"] == name), None)
    what = f"Machine {objects.namespace}/{name}"
    if machine is None:
        raise ControlPlaneFailure(
            f"{what} is not in the store any more, or has lost its labels. {_NOTHING_DONE} Run reconcile again."
        )
    owner = controller_of(machine)
    if owner is not None and owner.get("uid") != control_plane["metadata"]["uid"]:
        raise ControlPlaneFailure(
            f"{what} is controlled by {owner.get('kind')} {owner.get('name')} by now: two must never manage one control plane. "
            f"{_NOTHING_DONE} Let go of it there (remove the controller reference), or take it out of this cluster's labels."
        )
    if _config_of(objects, machine) is None:
        raise ControlPlaneFailure(
            f"{what} has no KubeadmConfig in the store (spec.bootstrap.configRef), so nothing says how it was made. {_NOTHING_DONE} "
            "Put its KubeadmConfig into the store, or remove this cluster's labels from the Machine."
        )
    wanted, own = (
        read_version(str(each.get("version") or "")) for each in (control_plane["spec"], machine.get("spec") or {})
    )
    if wanted and own and not own.within_one_minor(wanted):
        raise ControlPlaneFailure(
            f"{what} has version {own} and spec.version is {wanted}: they are more than one minor version apart. {_NOTHING_DONE} "
            "Set spec.version to what runs, adopt, then upgrade."
        )
    return machine


def _config_of(objects: ClusterObjects, machine: Object) -> t.Optional[Object]:
    reference = ((machine.get("spec") or {}).get("bootstrap") or {}).get("configRef") or {}
    name = str(reference.get("name") or machine["metadata"]["name"])
    return objects.kubeadm_configs.get(name) or objects.store.get(KUBEADM_CONFIG, objects.namespace, name)


def _rebuild_spec(objects: ClusterObjects, control_plane: Object) -> list[str]:
    if has_configuration(control_plane["spec"].get("kubeadmConfigSpec")):
        return []
    ordered = sorted(
        objects.machines,
        key=lambda each: (str(each["metadata"].get("creationTimestamp", "")), each["metadata"]["name"]),
    )
    configs = [_config_of(objects, machine) for machine in ordered]
    rebuilt = rebuild([each["spec"] for each in configs if each is not None and each.get("spec")])
    if not has_configuration(rebuilt):
        return []

    def write(stored: Object) -> None:
        stored["spec"]["kubeadmConfigSpec"] = {**(stored["spec"].get("kubeadmConfigSpec") or {}), **rebuilt}
        annotate(stored, {REBUILT: "true"})

    name = str(control_plane["metadata"]["name"])
    objects.control_plane = objects.store.modify(CONTROL_PLANE, objects.namespace, name, write)
    return [f"make KubeadmControlPlane {name}'s spec.kubeadmConfigSpec from its machines' KubeadmConfigs"]


def _own_secrets(objects: ClusterObjects, control_plane: Object, machines: t.Sequence[str]) -> list[str]:
    """Transfer Secrets owned by KubeadmConfigs to the KubeadmControlPlane.

    They hold certificates and kubeconfig, and would be deleted with the KubeadmConfig.
    """
    changes = []
    configs = {
        str(config["metadata"]["name"]) for name in machines for config in [_config_of_name(objects, name)] if config
    }
    bootstrap = {
        str(((each.get("spec") or {}).get("bootstrap") or {}).get("dataSecretName")) for each in objects.machines
    }
    for secret in objects.store.list(SECRET, objects.namespace):
        name = str(secret["metadata"]["name"])
        if name in configs or name in bootstrap:
            continue
        owners = secret["metadata"].get("ownerReferences") or []
        if not any(_is_config(each) and str(each.get("name")) in configs for each in owners):
            continue

        def write(stored: Object) -> None:
            stored["metadata"]["ownerReferences"] = [
                each
                for each in stored["metadata"].get("ownerReferences") or []
                if not (_is_config(each) and str(each.get("name")) in configs)
            ]
            set_controller(stored, control_plane)
            stored["metadata"].setdefault("labels", {})[CLUSTER_LABEL] = objects.name

        objects.store.modify(SECRET, objects.namespace, name, write)
        changes.append(f"own Secret {name}")
    return changes


def _config_of_name(objects: ClusterObjects, name: str) -> t.Optional[Object]:
    machine = objects.machine(name)
    return _config_of(objects, machine) if machine is not None else None


def _is_config(owner: t.Mapping[str, t.Any]) -> bool:
    return owner.get("kind") == kinds.KUBEADM_CONFIG


def _own_machine(objects: ClusterObjects, control_plane: Object, machine: Object) -> list[str]:
    name = str(machine["metadata"]["name"])
    for dependent in (_config_of(objects, machine), objects.infrastructure_machines.get(name)):
        if dependent is not None:
            objects.store.modify(
                kind_ref_of(dependent),
                objects.namespace,
                str(dependent["metadata"]["name"]),
                lambda stored: _label(objects, control_plane, stored),
            )

    def write(stored: Object) -> None:
        _label(objects, control_plane, stored)
        metadata = stored["metadata"]
        annotations = metadata.setdefault("annotations", {})
        annotations.setdefault(kinds.ANNOTATION_PRE_TERMINATE_HOOK, "")
        finalizers = metadata.setdefault("finalizers", [])
        if FINALIZERS[MACHINE] not in finalizers and not metadata.get("deletionTimestamp"):
            finalizers.append(FINALIZERS[MACHINE])
        set_controller(kinds.record_bootstrap(stored, adopted=True), control_plane)

    after = objects.store.modify(MACHINE, objects.namespace, name, write)
    return [f"adopt Machine {name}"] if after != machine else []


def _label(objects: ClusterObjects, control_plane: Object, stored: Object) -> None:
    stored["metadata"].setdefault("labels", {}).update(
        {
            CLUSTER_LABEL: objects.name,
            CONTROL_PLANE_LABEL: "",
            kinds.LABEL_CONTROL_PLANE_NAME: names.label_value(str(control_plane["metadata"]["name"])),
        }
    )


def with_rebuilt_spec(store: Store, manifest: ClusterManifest) -> ClusterManifest:
    """Return the manifest with the KubeadmConfigSpec rebuilt at adoption.

    Only where the manifest gives none of its own.

    Without it, a manifest that leaves kubeadmConfigSpec out would take away at the next run what was rebuilt, and every
    machine would count as outdated. A manifest that gives one is taken as it is.
    """
    desired = manifest.control_plane
    if has_configuration(desired["spec"].get("kubeadmConfigSpec")):
        return manifest
    metadata = desired["metadata"]
    stored = store.get(CONTROL_PLANE, str(metadata.get("namespace", "default")), str(metadata["name"]))
    if stored is None or not kinds.is_marked(stored, REBUILT):
        return manifest
    kept = {
        **(stored["spec"].get("kubeadmConfigSpec") or {}),
        **{key: value for key, value in (desired["spec"].get("kubeadmConfigSpec") or {}).items() if value},
    }
    return dataclasses.replace(
        manifest, control_plane={**desired, "spec": {**desired["spec"], "kubeadmConfigSpec": kept}}
    )
