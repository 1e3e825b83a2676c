# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stored MachineDeployments and MachineSets of a cluster, for a snapshot.

Source: docs/reference/cluster_api.md, "MachineDeployments".
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import typing as t

from ....module_utils.common.values import controller_of
from ...calls.failure import ControlPlaneFailure
from ...documents.names import typed_name
from ...objects import kinds
from ...objects.manifest.cluster_manifest import ClusterManifest
from ...store.base import Store, kind_ref_of
from .. import journal_entries, propagation
from ..cluster_objects import (
    CLUSTER_LABEL,
    CONTROL_PLANE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    ClusterObjects,
    Object,
    delete_finally,
    kind_of,
)
from . import managed
from .machine_sets import propagate_to_set
from .managed import config_reference, machine_reference

CONFIG_TEMPLATE = (kinds.GROUP_BOOTSTRAP, kinds.KUBEADM_CONFIG_TEMPLATE)
# Returns what a machine reports of its bootstrap, as an entry of a snapshot has it.
Unit = t.Callable[[Object], Object]


def deployments(objects: ClusterObjects) -> list[Object]:
    """Return the MachineDeployments of a cluster that are managed here, by name."""
    return managed.deployments(objects.store, objects.namespace, objects.name, objects.template_reference())


def sets(objects: ClusterObjects, deployment: Object) -> list[Object]:
    """Return the MachineSets that a deployment controls."""
    name = str(deployment["metadata"]["name"])
    found = objects.store.list(MACHINE_SET, objects.namespace, {CLUSTER_LABEL: objects.name})
    return [each for each in found if is_controlled(each, kinds.MACHINE_DEPLOYMENT, name)]


def is_controlled(obj: Object, kind: str, name: str) -> bool:
    """Return whether an object's controller has that kind and name."""
    owner = controller_of(obj) or {}
    return (owner.get("kind"), owner.get("name")) == (kind, name)


def facts(objects: ClusterObjects, unit: Unit) -> Object:
    """Return the ``workers`` of a snapshot, {} without MachineDeployments."""
    listed = deployments(objects)
    if not listed:
        return {}
    entries, names = [], set()
    for each in listed:
        owned = sets(objects, each)
        names |= {str(one["metadata"]["name"]) for one in owned}
        entries.append(
            {
                "machineDeployment": each,
                "machineSets": owned,
                "configTemplate": _exists(objects, config_reference(each)),
                "machineTemplate": _exists(objects, machine_reference(each)),
                **(_without_templates(objects, owned) if each["spec"].get("paused") else {}),
            }
        )
    machines = [
        {
            "machine": machine,
            "infrastructureMachine": objects.infrastructure_machines.get(machine["metadata"]["name"]),
            "kubeadmConfig": objects.kubeadm_configs.get(machine["metadata"]["name"]),
            **unit(machine),
        }
        for machine in objects.workers
        if (controller_of(machine) or {}).get("name") in names
    ]
    return {"workers": {"deployments": entries, "machines": machines}}


def _without_templates(objects: ClusterObjects, owned: t.Sequence[Object]) -> Object:
    """Return the names of the sets whose templates don't all exist.

    Only of a deployment that is held new machines are made of an earlier set; a set on its way from another provider need not be readable.
    """
    named = {str(each["metadata"]["name"]): (config_reference(each), machine_reference(each)) for each in owned}
    lacking = [name for name, both in named.items() if not all(_exists(objects, each) for each in both)]
    return {"setsWithoutTemplates": lacking} if lacking else {}


def _exists(objects: ClusterObjects, reference: Object) -> bool:
    return bool(reference) and objects.store.get(kind_of(reference), objects.namespace, reference["name"]) is not None


def with_stored_values(store: Store, manifest: ClusterManifest) -> ClusterManifest:
    """Return the manifest with stored values for what its MachineDeployments leave out.

    An autoscaler, `kubectl scale` or the playbooks may have set them; they are never reverted.
    """
    found = []
    for deployment in manifest.machine_deployments:
        metadata = deployment["metadata"]
        name = str(metadata["name"])
        stored = store.get(MACHINE_DEPLOYMENT, str(metadata.get("namespace", "default")), name)
        if stored is not None:
            deployment = copy.deepcopy(deployment)
            left_out = manifest.workers_left_out.get(name, ())
            # Where the field itself was taken away (kubectl apply of a file without it), none of its machines is to go for that.
            replicas = stored["spec"].get("replicas", (stored.get("status") or {}).get("replicas") or None)
            if "spec.replicas" in left_out and replicas is not None:
                deployment["spec"]["replicas"] = replicas
            after = (stored["spec"].get("rollout") or {}).get("after")
            if "spec.rollout.after" in left_out and after is not None:
                deployment["spec"].setdefault("rollout", {})["after"] = after
        found.append(deployment)
    return dataclasses.replace(manifest, machine_deployments=tuple(found))


def applied(store: Store, namespace: str, cluster: str, providers: t.Container[str]) -> list[Object]:
    """Return a cluster's MachineDeployments as a user applied them, with their templates.

    Each template once. Those that are left alone are left out, and so are those that are being deleted.
    """
    found: dict[tuple[tuple[str, str], str], Object] = {}
    for each in store.list(MACHINE_DEPLOYMENT, namespace):
        references = [config_reference(each), machine_reference(each)]
        read = references[0].get("kind") == kinds.KUBEADM_CONFIG_TEMPLATE and references[1].get("kind") in providers
        own = (each.get("spec") or {}).get("clusterName") == cluster
        if not own or not read or each["metadata"].get("deletionTimestamp"):
            continue
        found[MACHINE_DEPLOYMENT, str(each["metadata"]["name"])] = each
        for reference in references:
            if reference.get("name") and reference.get("apiGroup"):
                template = store.get(kind_of(reference), namespace, str(reference["name"]))
                if template is not None:
                    found[kind_of(reference), str(reference["name"])] = template
    return list(found.values())


def left_behind(store: Store, manifest: ClusterManifest) -> list[str]:
    """Return warnings for stored MachineDeployments that the manifest does not have.

    The workers of those that have left it stay: no typing error costs workers. Those that it never had were applied to the store.
    """
    metadata = manifest.cluster["metadata"]
    namespace, cluster = str(metadata.get("namespace", "default")), str(metadata["name"])
    named = {str(each["metadata"]["name"]) for each in manifest.machine_deployments}
    template = manifest.control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
    found = []
    for each in store.list(MACHINE_DEPLOYMENT, namespace, {CLUSTER_LABEL: cluster}):
        name = str(each["metadata"]["name"])
        if name in named or each["metadata"].get("deletionTimestamp"):
            continue
        words = f"-e control_plane_delete={typed_name(cluster)} -e control_plane_deployment={typed_name(name)}"
        if managed.is_given(each):
            found.append(
                f"{kinds.MACHINE_DEPLOYMENT} {namespace}/{name} is no longer in the manifest: it and its workers stay as they are. "
                f"To delete them: kubeadm.control_plane.delete {words}. To keep them, put it back."
            )
        elif managed.is_managed(each, template):
            found.append(
                f"{kinds.MACHINE_DEPLOYMENT} {namespace}/{name} is in the store and was never in the manifest: it is carried out as it is stored. To leave it "
                f"alone, pause it (annotation {kinds.ANNOTATION_PAUSED}). To delete it: kubeadm.control_plane.delete {words}."
            )
    return found


def propagate(objects: ClusterObjects) -> list[str]:
    """Propagate deployments' templates to their sets and machines in place.

    Returns the changes of machines, never values. Nothing is done while the cluster or the deployment is paused.
    """
    if objects.paused or objects.going:
        return []
    changes = []
    for deployment in deployments(objects):
        if kinds.is_flagged(deployment, kinds.ANNOTATION_PAUSED):
            continue
        for owned in sets(objects, deployment):
            template = propagate_to_set(objects, deployment, owned)["spec"]["template"]
            name = str(owned["metadata"]["name"])
            for machine in objects.workers:
                if is_controlled(machine, kinds.MACHINE_SET, name):
                    changes += _propagate_to_machine(objects, machine, template)
    return changes


def _propagate_to_machine(objects: ClusterObjects, machine: Object, template: Object) -> list[str]:
    changes = []
    for obj in _parts(objects, machine):
        altered = propagation.bring(copy.deepcopy(obj), template)
        if altered != obj:
            bring, own = functools.partial(propagation.bring, template=template), str(obj["metadata"]["name"])
            objects.store.modify(kind_ref_of(obj), objects.namespace, own, bring)
            changes.append(propagation.change_of(obj, altered))
    return changes


def _parts(objects: ClusterObjects, machine: Object) -> list[Object]:
    name = str(machine["metadata"]["name"])
    beside = (objects.infrastructure_machines.get(name), objects.kubeadm_configs.get(name))
    return [machine, *(each for each in beside if each is not None)]


def mark_deleting(objects: ClusterObjects, name: str) -> list[str]:
    """Set deletionTimestamp on a MachineDeployment; return the changes.

    There are none where the cluster had it until a run deleted it, which may have been killed right after that.

    Raises:
        ControlPlaneFailure: the cluster has none of that name, and no run of this journal's has deleted one.
    """
    listed = {str(each["metadata"]["name"]): each for each in deployments(objects)}
    if name not in listed:
        if journal_entries.deleted_deployment(objects, name):
            return []
        raise ControlPlaneFailure(
            f"{objects.title} has no MachineDeployment {name}; nothing was done. Give one that it has: {', '.join(sorted(listed)) or 'none'}."
        )
    if listed[name]["metadata"].get("deletionTimestamp"):
        return []
    objects.store.delete(MACHINE_DEPLOYMENT, objects.namespace, name)
    return [f"mark {kinds.MACHINE_DEPLOYMENT} {name} for deletion"]


def delete_deployment(objects: ClusterObjects, name: str) -> list[str]:
    """Delete a MachineDeployment without machines, with its sets; return the changes."""
    deployment = objects.store.get(MACHINE_DEPLOYMENT, objects.namespace, name)
    if deployment is None:
        return []
    done = []
    for owned in sets(objects, deployment):
        own = str(owned["metadata"]["name"])
        if delete_finally(objects.store, MACHINE_SET, objects.namespace, own):
            done.append(f"delete {kinds.MACHINE_SET} {own}")
    delete_finally(objects.store, MACHINE_DEPLOYMENT, objects.namespace, name)
    return [*done, f"delete {kinds.MACHINE_DEPLOYMENT} {name}"]


def delete_with_cluster(objects: ClusterObjects) -> list[str]:
    """Delete all MachineDeployments of a deleted cluster, with their templates.

    A template that something else names stays.
    """
    store, namespace, done = objects.store, objects.namespace, []
    named = {(CONFIG_TEMPLATE, "")}
    for deployment in deployments(objects):
        for owner in (deployment, *sets(objects, deployment)):
            references = (config_reference(owner), machine_reference(owner))
            named |= {(kind_of(each), str(each["name"])) for each in references if each.get("name")}
        done += delete_deployment(objects, str(deployment["metadata"]["name"]))
    for kind in sorted({each for each, _name in named}):
        for template in store.list(kind, namespace):
            name = str(template["metadata"]["name"])
            label = (template["metadata"].get("labels") or {}).get(CLUSTER_LABEL)
            # One that was shared has the label of the first cluster that named it.
            ours = label == objects.name or (label and (kind, name) in named)
            if ours and not is_named(objects, kind[1], name) and delete_finally(store, kind, namespace, name):
                done.append(f"delete {kind[1]} {name}")
    return done


def is_named(objects: ClusterObjects, kind: str, name: str, besides: str = "") -> bool:
    """Return whether something that is stored names a template.

    Of whichever cluster it is. The KubeadmControlPlane `besides` doesn't count.
    """
    store, namespace = objects.store, objects.namespace
    owners = [*store.list(MACHINE_DEPLOYMENT, namespace), *store.list(MACHINE_SET, namespace)]
    references = [reference for each in owners for reference in (config_reference(each), machine_reference(each))]
    for each in store.list(CONTROL_PLANE, namespace):
        if each["metadata"]["name"] != besides:
            references.append(each["spec"]["machineTemplate"]["spec"]["infrastructureRef"])
    return (kind, name) in {(str(each.get("kind")), str(each.get("name"))) for each in references}
