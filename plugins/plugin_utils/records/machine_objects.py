# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of one machine: InfraMachine, KubeadmConfig, Machine, created in this order.

Source: docs/reference/cluster_api.md, "Creating a machine".
"""

from __future__ import annotations

import copy
import json
import time
import typing as t

from ...module_utils.common.values import format_time, parse_time
from ..documents import names
from ..objects import kinds
from ..objects.bootstrap_data import config_spec
from ..objects.convert.to_hub import without_zero_values
from ..objects.instance_data.node_names import expected_node_name
from ..pki.secrets import controller_reference
from ..store.base import kind_ref_of
from .cluster_objects import (
    BOOTSTRAP_STARTED_ANNOTATION,
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
from .propagation import give_new
from .status.status_writer import annotate


def infrastructure_api_version(objects: ClusterObjects, group: str) -> str:
    """Return the apiVersion of a new infrastructure machine: its template's.

    The infrastructure cluster's where the template is of another group, or gone.
    """
    known = [str(each["apiVersion"]) for each in (objects.machine_template, objects.infrastructure_cluster) if each]
    of_group = [each for each in known if kinds.group(each) == group]
    return (of_group or [f"{group}/{kinds.API_INFRASTRUCTURE.rpartition('/')[2]}"])[0]


def create_machine(objects: ClusterObjects, kind: str, name: t.Optional[str], failure_domain: str) -> str:
    """Create a machine's missing objects and return the machine's name.

    Args:
        objects: the cluster's objects.
        kind: ``init`` for the first machine, ``join`` for every other.
        name: the machine to complete, or None for a new one; a machine prepared ahead is used if it still matches.
        failure_domain: where a new machine goes; empty where the cluster has no failure domains.

    The order leaves nothing behind that a later run would not complete: an InfraMachine without a Machine that says so is a
    prepared machine, a KubeadmConfig without one is made what this step wants and goes to the Machine of its name. A remediation in
    progress is handed on to the machine that replaces the removed one, and only then taken off the control plane
    (docs/reference/cluster_api.md, "Remediation").
    """
    if name is None:
        prepared = [each for each in objects.prepared_machines() if prepared_matches(objects, each, failure_domain)]
        name = str(prepared[0]["metadata"]["name"]) if prepared else new_name(objects)
    control_plane = t.cast(Object, objects.control_plane)
    if name not in objects.infrastructure_machines:
        create_infrastructure_machine(objects, name, failure_domain)
    _keep_config(objects, without_zero_values(_kubeadm_config(objects, control_plane, kind, name)))
    if objects.machine(name) is None:
        made = machine_object(objects, control_plane, name, failure_domain)
        _note_rollout(made, control_plane)
        objects.machines.append(objects.store.create(made))
        _hand_over_remediation(objects, control_plane)
    return name


def _keep_config(objects: ClusterObjects, wanted: Object) -> None:
    name = str(wanted["metadata"]["name"])
    if name not in objects.kubeadm_configs:
        objects.kubeadm_configs[name] = objects.store.create(wanted)
    elif not objects.has_machine(name):
        # Left by a run that ended before it made the Machine. That run's step may have been another one (kubeadm init), and its spec an older one;
        # nothing was started with it, or the Machine would have been made again (reconcile/deleted/deleted_machines.py).
        objects.kubeadm_configs[name] = objects.store.modify(
            KUBEADM_CONFIG, objects.namespace, name, lambda stored: stored.update(spec=wanted["spec"])
        )


def _note_rollout(made: Object, control_plane: Object) -> None:
    """Note on a new Machine the spec.rollout.after that has come.

    Its creation is by the store's clock: with that one behind, it would be older than the rollout that it is made for.
    """
    after = parse_time((control_plane["spec"].get("rollout") or {}).get("after"))
    if after is not None and after <= time.time():
        made["metadata"]["annotations"][kinds.ANNOTATION_MADE_FOR_ROLLOUT] = format_time(after)


def _hand_over_remediation(objects: ClusterObjects, control_plane: Object) -> None:
    if kinds.ANNOTATION_REMEDIATION_IN_PROGRESS in (control_plane["metadata"].get("annotations") or {}):
        objects.control_plane = objects.store.modify(
            CONTROL_PLANE,
            objects.namespace,
            str(control_plane["metadata"]["name"]),
            lambda stored: annotate(stored, {kinds.ANNOTATION_REMEDIATION_IN_PROGRESS: None}),
        )


def note_start(objects: ClusterObjects, name: str) -> None:
    """Record that kubeadm is about to start on a machine.

    On its InfraMachine and KubeadmConfig, before the start, and never reverted: a run that finds them without their
    Machine must not take them for unused.
    """
    infrastructure = objects.infrastructure_machines.get(name)
    if infrastructure is not None:
        objects.infrastructure_machines[name] = objects.store.modify(
            kind_ref_of(infrastructure),
            objects.namespace,
            str(infrastructure["metadata"]["name"]),
            lambda stored: annotate(stored, {BOOTSTRAP_STARTED_ANNOTATION: "true"}),
        )

    def created(stored: Object) -> None:
        status = stored.setdefault("status", {})
        status["initialization"] = {**(status.get("initialization") or {}), "dataSecretCreated": True}

    # Where there is none the store says so, by the Machine's name.
    config = objects.kubeadm_configs.get(name) or {"metadata": {"name": name}}
    objects.kubeadm_configs[name] = objects.store.modify(
        KUBEADM_CONFIG, objects.namespace, str(config["metadata"]["name"]), created
    )


def record_remediation(objects: ClusterObjects, remediation: t.Mapping[str, t.Any]) -> None:
    """Record on the KubeadmControlPlane that a remediation removes a machine.

    Source: docs/reference/cluster_api.md, "Remediation".

    Args:
        objects: the cluster's objects.
        remediation: ``{machine, timestamp, retryCount}`` as the decision gives it.
    """
    if objects.control_plane is None:
        return
    record = {"machine": remediation["machine"], "timestamp": remediation["timestamp"]}
    text = json.dumps({**record, "retryCount": int(remediation["retryCount"])})
    objects.control_plane = objects.store.modify(
        CONTROL_PLANE,
        objects.namespace,
        str(objects.control_plane["metadata"]["name"]),
        lambda stored: annotate(stored, {kinds.ANNOTATION_REMEDIATION_IN_PROGRESS: text}),
    )


def new_name(objects: ClusterObjects, suffix: t.Callable[[], str] = names.random_suffix) -> str:
    """Return a machine name that no object of the cluster has.

    ``suffix`` gives the five characters at its end, others each time.
    """
    control_plane = t.cast(Object, objects.control_plane)
    template = control_plane["spec"].get("machineNaming", {}).get("template", "")
    own = str(control_plane["metadata"]["name"])
    return free_name(
        objects, lambda: names.machine_name(template, cluster=objects.name, control_plane=own, random=suffix())
    )


def stale_prepared(objects: ClusterObjects) -> list[Object]:
    """Return prepared machines that no new machine will use.

    They don't match any more, or are too many.
    """
    if objects.control_plane is None or objects.paused or objects.going:
        return []
    wanted = int(objects.control_plane["spec"]["replicas"]) - len(objects.all_machines)
    usable = [each for each in objects.prepared_machines() if prepared_matches(objects, each)][: max(0, wanted)]
    return [each for each in objects.prepared_machines() if each not in usable]


def prepared_matches(objects: ClusterObjects, infrastructure: Object, failure_domain: t.Optional[str] = None) -> bool:
    """Return whether a prepared machine still has the desired template and version.

    In that failure domain, where one is given.
    """
    annotations = infrastructure["metadata"].get("annotations", {})
    control_plane = t.cast(Object, objects.control_plane)
    reference = objects.template_reference()
    return (
        annotations.get(kinds.ANNOTATION_CLONED_FROM_NAME) == reference["name"]
        and annotations.get(kinds.ANNOTATION_CLONED_FROM_GROUP_KIND) == f"{reference['kind']}.{reference['apiGroup']}"
        and failure_domain in (None, annotations.get(kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN, ""))
        and annotations.get(kinds.ANNOTATION_PREPARED_VERSION) == control_plane["spec"]["version"]
        and not infrastructure["metadata"].get("deletionTimestamp")
    )


def create_infrastructure_machine(objects: ClusterObjects, name: str, failure_domain: str) -> Object:
    """Clone the machine template into a named InfraMachine and store it."""
    control_plane = t.cast(Object, objects.control_plane)
    template = t.cast(Object, objects.machine_template)
    reference = objects.template_reference()
    metadata = machine_metadata(objects, control_plane, name)
    version = str(control_plane["spec"]["version"])
    made = new_infrastructure_machine(template, reference, metadata, version, failure_domain)
    made["apiVersion"] = infrastructure_api_version(objects, reference["apiGroup"])
    stored = objects.store.create(give_new(made, control_plane))
    objects.infrastructure_machines[name] = stored
    return stored


def machine_metadata(objects: ClusterObjects, control_plane: Object, name: str) -> Object:
    """Return the metadata of each object of a machine."""
    labels = {
        CLUSTER_LABEL: objects.name,
        CONTROL_PLANE_LABEL: "",
        kinds.LABEL_CONTROL_PLANE_NAME: names.label_value(str(control_plane["metadata"]["name"])),
    }
    return {
        "name": name,
        "namespace": objects.namespace,
        "labels": labels,
        "annotations": {},
        "ownerReferences": [controller_reference(control_plane)],
    }


def _kubeadm_config(objects: ClusterObjects, control_plane: Object, kind: str, name: str) -> Object:
    made = new_kubeadm_config(machine_metadata(objects, control_plane, name), config_spec(control_plane, kind))
    return give_new(made, control_plane)


def machine_object(objects: ClusterObjects, control_plane: Object, name: str, failure_domain: str) -> Object:
    """Return a new Machine object of that name; it is not stored."""
    reference, version = objects.template_reference(), str(control_plane["spec"]["version"])
    metadata = machine_metadata(objects, control_plane, name)
    metadata["annotations"][kinds.ANNOTATION_PRE_TERMINATE_HOOK] = ""
    record = (control_plane["metadata"].get("annotations") or {}).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS)
    if record is not None:
        metadata["annotations"][kinds.ANNOTATION_REMEDIATION_FOR] = record
    made = new_machine(objects.name, reference, metadata, version, failure_domain)
    return give_new(made, control_plane)


def free_name(objects: ClusterObjects, drawn: t.Callable[[], str]) -> str:
    """Return the first drawn name that no object of the cluster has."""
    while True:
        name = drawn()
        known = name in objects.infrastructure_machines or name in objects.kubeadm_configs
        if not known and not objects.has_machine(name):
            return name


def new_infrastructure_machine(
    template: Object, reference: Object, metadata: Object, version: str, failure_domain: str
) -> Object:
    """Return a machine template's clone, named by `metadata`; it is not stored.

    It is made for `version`, and goes to `failure_domain`, "" for any.
    """
    group, kind = machine_kind_of_template(reference)
    metadata["annotations"].update(
        {
            kinds.ANNOTATION_CLONED_FROM_NAME: reference["name"],
            kinds.ANNOTATION_CLONED_FROM_GROUP_KIND: f"{reference['kind']}.{group}",
            kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN: failure_domain,
            kinds.ANNOTATION_PREPARED_VERSION: version,
            # Said, not left open: only what says that it was never started is ever taken for a machine prepared ahead.
            BOOTSTRAP_STARTED_ANNOTATION: "false",
        }
    )
    return {
        "apiVersion": template["apiVersion"],
        "kind": kind,
        "metadata": metadata,
        "spec": copy.deepcopy(template["spec"]["template"]["spec"]),
        "status": {},
    }


def new_kubeadm_config(metadata: Object, spec: Object) -> Object:
    """Return a KubeadmConfig without bootstrap data yet."""
    return {
        "apiVersion": kinds.API_BOOTSTRAP,
        "kind": KUBEADM_CONFIG[1],
        "metadata": metadata,
        "spec": spec,
        "status": {"initialization": {"dataSecretCreated": False}},
    }


def new_machine(cluster: str, reference: Object, metadata: Object, version: str, failure_domain: str) -> Object:
    """Return a Machine that is not stored.

    Its KubeadmConfig and infrastructure machine have its name.
    """
    group, kind = machine_kind_of_template(reference)
    name = metadata["name"]
    spec: Object = {
        "clusterName": cluster,
        "version": version,
        "bootstrap": {"configRef": {"apiGroup": KUBEADM_CONFIG[0], "kind": KUBEADM_CONFIG[1], "name": name}},
        "infrastructureRef": {"apiGroup": group, "kind": kind, "name": name},
    }
    if failure_domain:
        spec["failureDomain"] = failure_domain
    metadata["finalizers"] = [FINALIZERS[MACHINE]]
    return {"apiVersion": kinds.API_CLUSTER, "kind": MACHINE[1], "metadata": metadata, "spec": spec, "status": {}}


def node_name(objects: ClusterObjects, machine: Object) -> str:
    """Return the name of a Machine's Node, recorded or expected."""
    name = str(machine["metadata"]["name"])
    return expected_node_name(machine, objects.kubeadm_configs.get(name), objects.infrastructure_machines.get(name))
