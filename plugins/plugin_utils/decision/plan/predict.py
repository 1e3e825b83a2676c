# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prediction of the snapshot after a decision. Pure.

When it is carried out and nothing goes wrong; the old snapshot is not changed.
"""

from __future__ import annotations

import json
from typing import Any

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.values import format_time, parse_time
from ...kubeadm.etcd_releases import brought_by
from ...objects import kinds
from ...objects.conditions import READY
from ...objects.convert import failure_domains
from .. import terms
from ..creation import cluster_info, existing_hosts
from ..outcome import AUTHORITIES
from ..removal.one_machine import only_candidate
from ..rollout import resource_sets
from ..rollout.addons import outdated_addons
from ..snapshot.typed_snapshot import machine_view, read_snapshot
from ..workers import prediction as workers
from .predict_adoption import with_rebuilt_spec
from .predict_etcd import seen_by_witnesses, with_member, without_member
from .predict_removal import member_removed, node_removed, nothing_left, removed
from .times import FAR_FUTURE, LONG_AGO

Object = dict[str, Any]
ENDPOINT_PLACEHOLDER = "to-be-created"


def predict(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after a decision's action succeeded.

    New machines get the name that the target fixes, else the placeholder names <control plane>-new-1, -2, ...; a new
    member's ID is made from its name, so that the same plan is the same every time. wait, postponed, blocked and none
    change nothing.
    """
    action = decision["action"]
    predictions = {
        terms.CREATE_INFRASTRUCTURE: _infrastructure,
        terms.CREATE_CERTIFICATES: _certificates,
        terms.INITIALIZE: _bootstrapped,
        terms.JOIN: _bootstrapped,
        terms.ADOPT: _adopted,
        terms.REMOVE: removed,
        terms.REMOVE_MEMBER: member_removed,
        terms.REMOVE_NODE: node_removed,
        terms.UPDATE_ADDONS: _addons_updated,
        terms.APPLY_RESOURCE_SETS: _resources_applied,
        terms.RECOVER_SINGLE_VOTER: _recovered,
        terms.JOIN_WORKERS: workers.joined,
        terms.REMOVE_WORKERS: workers.removed,
        terms.DELETE_WORKERS: workers.removed,
        terms.DELETE_MACHINES: _machines_deleted,
        terms.DELETE_INFRASTRUCTURE: _infrastructure_deleted,
    }
    if action not in predictions:
        return snapshot
    after = predictions[action](_recorded(dict(snapshot), decision), decision)
    return cluster_info.corrected(after) if action in (terms.JOIN, terms.REMOVE) else after


def _recorded(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot with what a pass writes before it acts.

    Of its decision: the rollout's size, and the annotations of remediations.
    """
    control_plane = snapshot.get("controlPlane")
    if not control_plane:
        return snapshot
    annotations = dict((control_plane.get("metadata") or {}).get("annotations") or {})
    for key, value in (decision.get("annotations") or {}).get("controlPlane", {}).items():
        if value is None:
            annotations.pop(key, None)
        else:
            annotations[key] = value
    if decision.get("remediation"):
        annotations[kinds.ANNOTATION_REMEDIATION_IN_PROGRESS] = json.dumps(decision["remediation"], sort_keys=True)
    status = {**(control_plane.get("status") or {})}
    status["rollout"] = decision["status"]["controlPlane"].get("rollout") or {}
    metadata = {**control_plane["metadata"], "annotations": annotations}
    snapshot["controlPlane"] = {**control_plane, "metadata": metadata, "status": status}
    return snapshot


def _infrastructure(snapshot: Object, decision: Object) -> Object:
    infrastructure = dict(snapshot["infrastructureCluster"])
    status = dict(infrastructure.get("status") or {})
    status["initialization"] = {**(status.get("initialization") or {}), "provisioned": True}
    domains = failure_domains.of_contract((infrastructure.get("spec") or {}).get("failureDomains")) or [
        {"name": each, "controlPlane": True} for each in existing_hosts.planned_domains(read_snapshot(snapshot))
    ]
    if not status.get("failureDomains") and domains:
        status["failureDomains"] = domains
    infrastructure["status"] = status
    snapshot["infrastructureCluster"] = infrastructure
    cluster = dict(snapshot["cluster"])
    spec = dict(cluster.get("spec") or {})
    if not (spec.get("controlPlaneEndpoint") or {}).get("host"):
        given = (infrastructure.get("spec") or {}).get("controlPlaneEndpoint") or {}
        spec["controlPlaneEndpoint"] = (
            given if given.get("host") else {"host": ENDPOINT_PLACEHOLDER, "port": kubernetes_facts.DEFAULT_BIND_PORT}
        )
    cluster["spec"] = spec
    snapshot["cluster"] = cluster
    workload = dict(snapshot["workload"])
    if (workload.get("endpoint") or {}).get("answers") is None:
        workload["endpoint"] = {"answers": workload.get("reachable") is True, "message": ""}
    snapshot["workload"] = workload
    return snapshot


def _certificates(snapshot: Object, decision: Object) -> Object:
    certificates = dict(snapshot.get("certificates") or {})
    for purpose in AUTHORITIES:
        if not (certificates.get(purpose) or {}).get("present"):
            certificates[purpose] = {"present": True, "hasKey": True, "notAfter": FAR_FUTURE}
    if (certificates.get("ca") or {}).get("hasKey"):
        certificates["kubeconfig"] = {"present": True, "notAfter": FAR_FUTURE}
    snapshot["certificates"] = certificates
    return snapshot


def _bootstrapped(snapshot: Object, decision: Object) -> Object:
    target = decision["target"]
    entries = list(snapshot.get("machines") or [])
    index = next(
        (at for at, entry in enumerate(entries) if entry["machine"]["metadata"]["name"] == target["machine"]), None
    )
    begun = ""
    hostless = index is None or not _has_host(snapshot, target["machine"])
    if index is None:
        entry = _new_entry(snapshot, decision)
        entries.append(entry)
    else:
        entry = dict(entries[index])
        entries[index] = entry
        begun = _member_begun(snapshot, target["machine"]) if _managed(snapshot) else ""
    machine = dict(entry["machine"])
    name = machine["metadata"]["name"]
    status = dict(machine.get("status") or {})
    status["nodeRef"] = {"name": machine_view(entry).node_name}
    status["bootstrap"] = {"state": terms.SUCCEEDED, "message": "", "startedAt": snapshot["now"]}
    status["initialization"] = {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True}
    # The run waits until it is; a plan that goes on has waited.
    ready = {"type": READY, "status": terms.TRUE, "reason": "Ready", "message": "", "lastTransitionTime": LONG_AGO}
    status["conditions"] = [each for each in status.get("conditions") or [] if each["type"] != READY] + [ready]
    machine["status"] = status
    entry["machine"] = machine
    infrastructure = dict(entry.get("infrastructureMachine") or _infrastructure_machine(snapshot, name))
    infrastructure_status = {
        key: value
        for key, value in (infrastructure.get("status") or {}).items()
        if key not in ("state", "failureReason")
    }
    infrastructure["status"] = {**infrastructure_status, "initialization": {"provisioned": True}}
    entry["infrastructureMachine"] = infrastructure
    snapshot["machines"] = entries
    prepared = snapshot.get("preparedMachines") or []
    if index is None and prepared:
        snapshot["preparedMachines"] = prepared[1:]
    elif "hosts" in snapshot and hostless:
        snapshot["hosts"] = existing_hosts.take(snapshot, name, str(machine["spec"].get("failureDomain") or ""))
    workload = _with_node(snapshot, machine, begun)
    # Written before the machine is made, where it was not.
    workload["kubeadmConfig"] = {**(workload.get("kubeadmConfig") or {}), "asWanted": True}
    snapshot["workload"] = workload
    # A later machine is younger: what is chosen by age comes out as it will.
    snapshot["now"] = format_time((parse_time(snapshot["now"]) or 0) + 1)
    return snapshot


def _new_entry(snapshot: Object, decision: Object) -> Object:
    control_plane = snapshot["controlPlane"]
    taken = {entry["machine"]["metadata"]["name"] for entry in snapshot.get("machines") or []}
    number = 1
    while f"{control_plane['metadata']['name']}-new-{number}" in taken:
        number += 1
    name = decision["target"].get("name") or f"{control_plane['metadata']['name']}-new-{number}"
    config = dict((control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {})
    if decision["action"] == terms.INITIALIZE:
        config.pop("joinConfiguration", None)
    else:
        config.pop("initConfiguration", None)
        config["joinConfiguration"] = {"controlPlane": {}, **(config.get("joinConfiguration") or {})}
    spec: Object = {
        "clusterName": snapshot["cluster"]["metadata"]["name"],
        "version": (control_plane.get("spec") or {}).get("version", ""),
    }
    if decision["target"]["failureDomain"]:
        spec["failureDomain"] = decision["target"]["failureDomain"]
    record = control_plane["metadata"].get("annotations", {}).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS)
    metadata = {
        "name": name,
        "namespace": control_plane["metadata"].get("namespace", "default"),
        "creationTimestamp": snapshot["now"],
        "ownerReferences": [_owner(snapshot)],
        "annotations": {kinds.ANNOTATION_REMEDIATION_FOR: record} if record else {},
    }
    if record:
        kept = dict(control_plane["metadata"]["annotations"])
        del kept[kinds.ANNOTATION_REMEDIATION_IN_PROGRESS]
        metadata_of_control_plane = {**control_plane["metadata"], "annotations": kept}
        snapshot["controlPlane"] = {**control_plane, "metadata": metadata_of_control_plane}
    return {
        "machine": {
            "apiVersion": kinds.API_CLUSTER,
            "kind": kinds.MACHINE,
            "metadata": metadata,
            "spec": spec,
            "status": {},
        },
        "infrastructureMachine": _infrastructure_machine(snapshot, name),
        "kubeadmConfig": {
            "apiVersion": kinds.API_BOOTSTRAP,
            "kind": kinds.KUBEADM_CONFIG,
            "metadata": metadata,
            "spec": config,
        },
    }


def _owner(snapshot: Object) -> Object:
    return {
        "apiVersion": kinds.API_CONTROL_PLANE,
        "kind": kinds.KUBEADM_CONTROL_PLANE,
        "name": snapshot["controlPlane"]["metadata"]["name"],
        "controller": True,
    }


def _adopted(snapshot: Object, decision: Object) -> Object:
    entries = []
    for entry in snapshot["machines"]:
        if entry["machine"]["metadata"]["name"] in decision["target"]["machines"]:
            metadata = {**entry["machine"]["metadata"], "ownerReferences": [_owner(snapshot)]}
            machine = kinds.record_bootstrap({**entry["machine"], "metadata": metadata}, adopted=True)
            entry = {**entry, "machine": machine}
        entries.append(entry)
    snapshot["machines"] = entries
    return with_rebuilt_spec(snapshot)


def _addons_updated(snapshot: Object, decision: Object) -> Object:
    wanted = {each.name: each.wanted for each in outdated_addons(read_snapshot(snapshot)) if not each.problem}
    installed = snapshot["workload"]["addons"]
    updated = {name: {**installed[name], "image": image} for name, image in wanted.items()}
    if "dns" in updated:
        updated["dns"]["corefileKey"] = ""
    snapshot["workload"] = {**snapshot["workload"], "addons": {**installed, **updated}}
    return snapshot


def _resources_applied(snapshot: Object, decision: Object) -> Object:
    named = decision["target"]["resourceSets"]
    snapshot["resourceSets"] = [
        resource_sets.applied(each, snapshot["now"]) if each["name"] in named else each
        for each in snapshot["resourceSets"]
    ]
    return snapshot


def _infrastructure_machine(snapshot: Object, name: str) -> Object:
    reference = (((snapshot["controlPlane"].get("spec") or {}).get("machineTemplate") or {}).get("spec") or {}).get(
        "infrastructureRef"
    ) or {}
    annotations = {
        kinds.ANNOTATION_CLONED_FROM_NAME: reference.get("name", ""),
        kinds.ANNOTATION_CLONED_FROM_GROUP_KIND: f"{reference.get('kind', '')}.{reference.get('apiGroup', '')}",
    }
    kind = kinds.machine_kind(reference.get("kind", ""))
    return {"kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": {}, "status": {}}


def _member_begun(snapshot: Object, name: str) -> str:
    """Return the ID of the member that a machine has already.

    It is what becomes its voter; "" where the machine has none.
    """
    view = read_snapshot(snapshot)
    machine = next(each for each in view.machines if each.name == name)
    member = machine.member or only_candidate(view, machine)
    return member.id if member is not None else ""


def _has_host(snapshot: Object, name: str) -> bool:
    return any(each.name == name and existing_hosts.has_host(each) for each in read_snapshot(snapshot).machines)


def _with_node(snapshot: Object, machine: Object, begun: str) -> Object:
    """Return the workload once this machine carries a working control plane.

    `begun`: the ID of the member it has already.
    """
    workload = dict(snapshot["workload"])
    via, version = machine["metadata"]["name"], machine["spec"].get("version") or ""
    name = ((machine.get("status") or {}).get("nodeRef") or {}).get("name") or via
    try:
        labels, taints = kubernetes_facts.role_labels(version), kubernetes_facts.default_taint_keys(version)
    except ValueError:
        # What a stored Machine has for a version needn't be one; what kubeadm would set can't be told then.
        labels, taints = (kubernetes_facts.LABEL_CONTROL_PLANE,), ()
    first = workload.get("reachable") is not True
    workload.update(reachable=True, initialized=True, message="", via=via if first else workload.get("via"))
    workload["endpoint"] = {"answers": True, "message": ""}
    node = {
        "name": name,
        "kubeletVersion": version,
        "labels": dict.fromkeys(labels, ""),
        "taints": [{"key": key, "effect": "NoSchedule"} for key in taints],
        "ready": "True",
        "readyReason": "KubeletReady",
        "machineID": (machine.get("status") or {}).get("machineID") or "",
        "creationTimestamp": snapshot["now"],
    }
    workload["nodes"] = [each for each in workload.get("nodes") or [] if each["name"] != name] + [node]
    components = [
        component for component, _kind, _title in terms.COMPONENTS if component != "etcd" or _managed(snapshot)
    ]
    workload["pods"] = {
        **(workload.get("pods") or {}),
        name: {each: {"phase": "Running", "ready": True} for each in components},
    }
    if _managed(snapshot):
        workload["etcd"] = with_member(workload.get("etcd") or {}, name, begun, _etcd_release(snapshot, version))
        seen_by_witnesses(workload, lambda etcd: with_member(etcd, name, begun))
    return workload


def _etcd_release(snapshot: Object, version: str) -> str:
    spec = (snapshot["controlPlane"].get("spec") or {}).get("kubeadmConfigSpec") or {}
    local = ((spec.get("clusterConfiguration") or {}).get("etcd") or {}).get("local") or {}
    brought = brought_by(version, str(local.get("imageTag") or ""))
    return ".".join(map(str, brought)) if brought is not None else ""


def _recovered(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after the recovery of a single voter.

    Etcd is alone on the target; the lost machine counts as one whose bootstrap failed or, where it had joined, is
    marked.
    """
    target = decision["target"]
    entries = []
    for entry in snapshot["machines"]:
        if entry["machine"]["metadata"]["name"] == target.get("lost"):
            entry = {**entry, "machine": _given_up(entry["machine"])}
        entries.append(entry)
    snapshot["machines"] = entries
    survivor = next(each["machine"] for each in entries if each["machine"]["metadata"]["name"] == target["machine"])
    workload = {**snapshot["workload"], "recovery": None}
    own = next((each.member for each in read_snapshot(snapshot).machines if each.name == target["machine"]), None)
    if workload.get("etcd") and target.get("memberID"):
        workload["etcd"] = without_member(workload["etcd"], target["memberID"])
    snapshot["workload"] = workload
    snapshot["workload"] = _with_node(snapshot, survivor, own.id if own is not None else "")
    return snapshot


def _given_up(machine: Object) -> Object:
    status = machine.get("status") or {}
    bootstrap = status.get("bootstrap") or {}
    if bootstrap.get("state") == terms.SUCCEEDED:
        annotations = {**(machine["metadata"].get("annotations") or {}), kinds.ANNOTATION_REMEDIATE_MACHINE: ""}
        return {**machine, "metadata": {**machine["metadata"], "annotations": annotations}}
    return {**machine, "status": {**status, "bootstrap": {**bootstrap, "state": terms.FAILED}}}


def _managed(snapshot: Object) -> bool:
    configuration = ((snapshot["controlPlane"].get("spec") or {}).get("kubeadmConfigSpec") or {}).get(
        "clusterConfiguration"
    ) or {}
    return (configuration.get("etcd") or {}).get("external") is None


def _machines_deleted(snapshot: Object, decision: Object) -> Object:
    gone = decision["target"]["machines"]
    left = [each for each in snapshot["machines"] if each["machine"]["metadata"]["name"] not in gone]
    # Where others stay, what went never carried anything that they share.
    snapshot.update(machines=left, preparedMachines=[], workload=snapshot["workload"] if left else nothing_left())
    return snapshot


def _infrastructure_deleted(snapshot: Object, decision: Object) -> Object:
    snapshot["infrastructureCluster"] = None
    return snapshot
