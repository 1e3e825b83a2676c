# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of one machine: InfraMachine, KubeadmConfig, Machine, in this order (kcp-behaviour.md §1.2)."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.bootstrap import config_spec
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds, names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.secrets import controller_reference
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import (
    CLUSTER_LABEL,
    CONTROL_PLANE,
    CONTROL_PLANE_LABEL,
    FINALIZERS,
    KUBEADM_CONFIG,
    MACHINE,
    ClusterObjects,
    Object,
    machine_kind_of_template,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.provider import (
    FAILURE_DOMAIN_ANNOTATION,
    VERSION_ANNOTATION,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.status_writer import annotate

INFRASTRUCTURE_VERSION = "v1beta1"
DELETION_KEYS = ("nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds")


def create_machine(objects: ClusterObjects, kind: str, name: t.Optional[str], failure_domain: str) -> str:
    """Create what is missing of a machine's three objects and return the machine's name.

    Args:
        objects: the cluster's objects.
        kind: ``init`` for the first machine, ``join`` for every other.
        name: the machine to complete, or None for a new one; a machine prepared ahead is used if it still matches.
        failure_domain: where a new machine goes; empty where the cluster has no failure domains.

    The order leaves nothing behind that a later run would not complete: an InfraMachine without a Machine is a prepared
    machine, a KubeadmConfig without one is taken over by the Machine of its name. A remediation in progress is handed on to
    the machine that replaces the removed one, and only then taken off the control plane (kcp-behaviour.md §1.9).
    """
    if name is None:
        prepared = [each for each in objects.prepared_machines() if prepared_matches(objects, each, failure_domain)]
        name = str(prepared[0]["metadata"]["name"]) if prepared else new_name(objects)
    control_plane = t.cast(Object, objects.control_plane)
    if name not in objects.infrastructure_machines:
        create_infrastructure_machine(objects, name, failure_domain)
    if name not in objects.kubeadm_configs:
        objects.kubeadm_configs[name] = objects.store.create(_kubeadm_config(objects, control_plane, kind, name))
    if objects.machine(name) is None:
        objects.machines.append(objects.store.create(_machine(objects, control_plane, name, failure_domain)))
        _hand_over_remediation(objects, control_plane)
    return name


def _hand_over_remediation(objects: ClusterObjects, control_plane: Object) -> None:
    if kinds.ANNOTATION_REMEDIATION_IN_PROGRESS in (control_plane["metadata"].get("annotations") or {}):
        objects.control_plane = objects.store.modify(
            CONTROL_PLANE,
            objects.namespace,
            str(control_plane["metadata"]["name"]),
            lambda stored: annotate(stored, {kinds.ANNOTATION_REMEDIATION_IN_PROGRESS: None}),
        )


def new_name(objects: ClusterObjects) -> str:
    """Return a machine name that no object of the cluster has."""
    control_plane = t.cast(Object, objects.control_plane)
    template = control_plane["spec"].get("machineNaming", {}).get("template", "")
    while True:
        name = names.machine_name(template, cluster=objects.name, control_plane=str(control_plane["metadata"]["name"]))
        if (
            name not in objects.infrastructure_machines
            and objects.machine(name) is None
            and name not in objects.kubeadm_configs
        ):
            return name


def stale_prepared(objects: ClusterObjects) -> list[Object]:
    """Return the machines prepared ahead that no new machine will use: they don't match any more, or are too many."""
    if objects.control_plane is None:
        return []
    wanted = int(objects.control_plane["spec"]["replicas"]) - len(objects.machines)
    usable = [each for each in objects.prepared_machines() if prepared_matches(objects, each)][: max(0, wanted)]
    return [each for each in objects.prepared_machines() if each not in usable]


def prepared_matches(objects: ClusterObjects, infrastructure: Object, failure_domain: t.Optional[str] = None) -> bool:
    """Tell whether a machine prepared ahead is still what a new machine (in that failure domain, where given) would be."""
    annotations = infrastructure["metadata"].get("annotations", {})
    control_plane = t.cast(Object, objects.control_plane)
    reference = objects.template_reference()
    return (
        annotations.get(kinds.ANNOTATION_CLONED_FROM_NAME) == reference["name"]
        and annotations.get(kinds.ANNOTATION_CLONED_FROM_GROUP_KIND) == f"{reference['kind']}.{reference['apiGroup']}"
        and failure_domain in (None, annotations.get(FAILURE_DOMAIN_ANNOTATION, ""))
        and annotations.get(VERSION_ANNOTATION) == control_plane["spec"]["version"]
        and not infrastructure["metadata"].get("deletionTimestamp")
    )


def create_infrastructure_machine(objects: ClusterObjects, name: str, failure_domain: str) -> Object:
    """Clone the machine template into an InfraMachine of that name and store it."""
    control_plane = t.cast(Object, objects.control_plane)
    template = t.cast(Object, objects.machine_template)
    reference = objects.template_reference()
    group, kind = machine_kind_of_template(reference)
    metadata = _metadata(objects, control_plane, name)
    metadata["annotations"].update(
        {
            kinds.ANNOTATION_CLONED_FROM_NAME: reference["name"],
            kinds.ANNOTATION_CLONED_FROM_GROUP_KIND: f"{reference['kind']}.{group}",
            FAILURE_DOMAIN_ANNOTATION: failure_domain,
            VERSION_ANNOTATION: control_plane["spec"]["version"],
        }
    )
    stored = objects.store.create(
        {
            "apiVersion": f"{group}/{INFRASTRUCTURE_VERSION}",
            "kind": kind,
            "metadata": metadata,
            "spec": copy.deepcopy(template["spec"]["template"]["spec"]),
            "status": {},
        }
    )
    objects.infrastructure_machines[name] = stored
    return stored


def _metadata(objects: ClusterObjects, control_plane: Object, name: str) -> Object:
    template = control_plane["spec"]["machineTemplate"].get("metadata", {})
    labels = {
        **template.get("labels", {}),
        CLUSTER_LABEL: objects.name,
        CONTROL_PLANE_LABEL: "",
        kinds.LABEL_CONTROL_PLANE_NAME: names.label_value(str(control_plane["metadata"]["name"])),
    }
    return {
        "name": name,
        "namespace": objects.namespace,
        "labels": labels,
        "annotations": dict(template.get("annotations", {})),
        "ownerReferences": [controller_reference(control_plane)],
    }


def _kubeadm_config(objects: ClusterObjects, control_plane: Object, kind: str, name: str) -> Object:
    return {
        "apiVersion": kinds.API_BOOTSTRAP,
        "kind": KUBEADM_CONFIG[1],
        "metadata": _metadata(objects, control_plane, name),
        "spec": config_spec(control_plane, kind),
        "status": {},
    }


def _machine(objects: ClusterObjects, control_plane: Object, name: str, failure_domain: str) -> Object:
    reference = objects.template_reference()
    group, kind = machine_kind_of_template(reference)
    template = control_plane["spec"]["machineTemplate"]["spec"]
    metadata = _metadata(objects, control_plane, name)
    metadata["annotations"][kinds.ANNOTATION_PRE_TERMINATE_HOOK] = ""
    record = (control_plane["metadata"].get("annotations") or {}).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS)
    if record is not None:
        metadata["annotations"][kinds.ANNOTATION_REMEDIATION_FOR] = record
    metadata["finalizers"] = [FINALIZERS[MACHINE]]
    deletion = {key: template["deletion"][key] for key in DELETION_KEYS if key in template.get("deletion", {})}
    spec: Object = {
        "clusterName": objects.name,
        "version": control_plane["spec"]["version"],
        "bootstrap": {"configRef": {"apiGroup": KUBEADM_CONFIG[0], "kind": KUBEADM_CONFIG[1], "name": name}},
        "infrastructureRef": {"apiGroup": group, "kind": kind, "name": name},
    }
    if failure_domain:
        spec["failureDomain"] = failure_domain
    if deletion:
        spec["deletion"] = deletion
    if template.get("readinessGates"):
        spec["readinessGates"] = template["readinessGates"]
    return {
        "apiVersion": kinds.API_CLUSTER,
        "kind": MACHINE[1],
        "metadata": metadata,
        "spec": spec,
        "status": {},
    }
