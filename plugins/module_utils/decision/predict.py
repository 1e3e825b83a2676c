# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot that follows when a decision is carried out and nothing goes wrong. Pure; the old snapshot is not changed."""

from __future__ import annotations

import hashlib
from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.outcome import AUTHORITIES
from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm import facts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds

Object = dict[str, Any]
FAR_FUTURE = "9999-12-31T23:59:59Z"
ENDPOINT_PLACEHOLDER = "to-be-created"


def predict(snapshot: Object, decision: Object) -> Object:
    """The snapshot after a decision's action succeeded.

    New machines get the placeholder names <control plane>-new-1, -2, ...; a new member's ID is made from its name, so that the
    same plan is the same every time. wait, blocked and none change nothing.
    """
    action = decision["action"]
    predictions = {
        names.CREATE_INFRASTRUCTURE: _infrastructure,
        names.CREATE_CERTIFICATES: _certificates,
        names.INITIALIZE: _bootstrapped,
        names.JOIN: _bootstrapped,
        names.REMOVE: _removed,
        names.DELETE_MACHINES: _machines_deleted,
        names.DELETE_INFRASTRUCTURE: _infrastructure_deleted,
    }
    if action not in predictions:
        return snapshot
    return predictions[action](dict(snapshot), decision)


def _infrastructure(snapshot: Object, decision: Object) -> Object:
    infrastructure = dict(snapshot["infrastructureCluster"])
    status = dict(infrastructure.get("status") or {})
    status["initialization"] = {**(status.get("initialization") or {}), "provisioned": True}
    if not status.get("failureDomains") and (infrastructure.get("spec") or {}).get("failureDomains"):
        status["failureDomains"] = infrastructure["spec"]["failureDomains"]
    infrastructure["status"] = status
    snapshot["infrastructureCluster"] = infrastructure
    cluster = dict(snapshot["cluster"])
    spec = dict(cluster.get("spec") or {})
    if not (spec.get("controlPlaneEndpoint") or {}).get("host"):
        given = (infrastructure.get("spec") or {}).get("controlPlaneEndpoint") or {}
        spec["controlPlaneEndpoint"] = (
            given if given.get("host") else {"host": ENDPOINT_PLACEHOLDER, "port": facts.DEFAULT_BIND_PORT}
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
    if index is None:
        entry = _new_entry(snapshot, decision)
        entries.append(entry)
    else:
        entry = dict(entries[index])
        entries[index] = entry
    machine = dict(entry["machine"])
    name = machine["metadata"]["name"]
    status = dict(machine.get("status") or {})
    status["nodeRef"] = {"name": name}
    status["bootstrap"] = {"state": names.SUCCEEDED, "message": "", "startedAt": snapshot["now"]}
    status["initialization"] = {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True}
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
    snapshot["workload"] = _with_node(snapshot, machine)
    return snapshot


def _new_entry(snapshot: Object, decision: Object) -> Object:
    control_plane = snapshot["controlPlane"]
    taken = {entry["machine"]["metadata"]["name"] for entry in snapshot.get("machines") or []}
    number = 1
    while f"{control_plane['metadata']['name']}-new-{number}" in taken:
        number += 1
    name = f"{control_plane['metadata']['name']}-new-{number}"
    config = dict(control_plane["spec"].get("kubeadmConfigSpec") or {})
    if decision["action"] == names.INITIALIZE:
        config.pop("joinConfiguration", None)
    else:
        config.pop("initConfiguration", None)
        config["joinConfiguration"] = {"controlPlane": {}, **(config.get("joinConfiguration") or {})}
    spec: Object = {
        "clusterName": snapshot["cluster"]["metadata"]["name"],
        "version": control_plane["spec"].get("version", ""),
    }
    if decision["target"]["failureDomain"]:
        spec["failureDomain"] = decision["target"]["failureDomain"]
    metadata = {
        "name": name,
        "namespace": control_plane["metadata"].get("namespace", "default"),
        "creationTimestamp": snapshot["now"],
    }
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


def _infrastructure_machine(snapshot: Object, name: str) -> Object:
    reference = ((snapshot["controlPlane"]["spec"].get("machineTemplate") or {}).get("spec") or {}).get(
        "infrastructureRef"
    ) or {}
    annotations = {
        kinds.ANNOTATION_CLONED_FROM_NAME: reference.get("name", ""),
        kinds.ANNOTATION_CLONED_FROM_GROUP_KIND: f"{reference.get('kind', '')}.{reference.get('apiGroup', '')}",
    }
    kind = kinds.machine_kind(reference.get("kind", ""))
    return {"kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": {}, "status": {}}


def _with_node(snapshot: Object, machine: Object) -> Object:
    """The workload as it is once this machine carries a working control plane."""
    workload = dict(snapshot["workload"])
    name, version = machine["metadata"]["name"], machine["spec"].get("version") or ""
    first = workload.get("reachable") is not True
    workload.update(reachable=True, initialized=True, message="", via=name if first else workload.get("via"))
    workload["endpoint"] = {"answers": True, "message": ""}
    node = {
        "name": name,
        "kubeletVersion": version,
        "labels": dict.fromkeys(facts.role_labels(version), ""),
        "taints": [{"key": key, "effect": "NoSchedule"} for key in facts.default_taint_keys(version)],
        "ready": "True",
        "readyReason": "KubeletReady",
        "machineID": (machine.get("status") or {}).get("machineID") or "",
        "creationTimestamp": snapshot["now"],
    }
    workload["nodes"] = [each for each in workload.get("nodes") or [] if each["name"] != name] + [node]
    components = [
        component for component, _kind, _title in names.COMPONENTS if component != "etcd" or _managed(snapshot)
    ]
    workload["pods"] = {
        **(workload.get("pods") or {}),
        name: {each: {"phase": "Running", "ready": True} for each in components},
    }
    if _managed(snapshot):
        workload["etcd"] = _with_member(workload.get("etcd") or {}, name, machine)
    return workload


def _managed(snapshot: Object) -> bool:
    configuration = (snapshot["controlPlane"]["spec"].get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
    return (configuration.get("etcd") or {}).get("external") is None


def _with_member(etcd: Object, name: str, machine: Object) -> Object:
    identity = hashlib.sha256(name.encode()).hexdigest()[:16]
    known = (
        [member for member in etcd.get("members") or [] if member.get("name") != name] if etcd.get("reachable") else []
    )
    member = {"id": identity, "name": name, "peerURLs": [], "clientURLs": [], "isLearner": False}
    members = [*known, member]
    statuses = {each["id"]: (etcd.get("statuses") or {}).get(each["id"]) or {"healthy": False} for each in known}
    leader = etcd.get("leader") if any(each["id"] == etcd.get("leader") for each in members) else members[0]["id"]
    return {
        "reachable": True,
        "message": "",
        "members": members,
        "memberListAgrees": True,
        "leader": leader,
        "clusterID": etcd.get("clusterID"),
        "alarms": etcd.get("alarms") or [],
        "statuses": {**statuses, identity: {"healthy": True, "message": "", "leader": leader}},
    }


def _removed(snapshot: Object, decision: Object) -> Object:
    target = decision["target"]
    gone = [entry for entry in snapshot["machines"] if entry["machine"]["metadata"]["name"] == target["machine"]]
    snapshot["machines"] = [entry for entry in snapshot["machines"] if entry not in gone]
    nodes = {
        ((entry["machine"].get("status") or {}).get("nodeRef") or {}).get("name") or target["machine"] for entry in gone
    }
    workload = dict(snapshot["workload"])
    if workload.get("via") == target["machine"]:
        left = [entry for entry in snapshot["machines"] if _state(entry) == names.SUCCEEDED]
        if not left:
            snapshot["workload"] = _nothing(False)
            return snapshot
        workload["via"] = left[0]["machine"]["metadata"]["name"]
    workload["nodes"] = [node for node in workload.get("nodes") or [] if node["name"] not in nodes]
    workload["pods"] = {name: pods for name, pods in (workload.get("pods") or {}).items() if name not in nodes}
    if workload.get("etcd") and target.get("memberID"):
        workload["etcd"] = _without_member(workload["etcd"], target["memberID"])
    snapshot["workload"] = workload
    return snapshot


def _state(entry: Object) -> str:
    return str(((entry["machine"].get("status") or {}).get("bootstrap") or {}).get("state") or "")


def _without_member(etcd: Object, identity: str) -> Object:
    etcd = dict(etcd)
    etcd["members"] = [member for member in etcd["members"] if member["id"] != identity]
    etcd["statuses"] = {key: value for key, value in (etcd.get("statuses") or {}).items() if key != identity}
    etcd["alarms"] = [alarm for alarm in etcd.get("alarms") or [] if alarm.get("memberID") != identity]
    if etcd.get("leader") == identity:
        voters = [member["id"] for member in etcd["members"] if not member.get("isLearner")]
        etcd["leader"] = voters[0] if voters else None
    return etcd


def _nothing(answers: Any) -> Object:
    return {
        "reachable": False,
        "via": None,
        "message": "no machine has been bootstrapped yet",
        "endpoint": {"answers": answers, "message": ""},
        "initialized": None,
        "kubeadmConfig": {"clusterConfiguration": None, "clusterStatus": None},
        "nodes": [],
        "pods": {},
        "etcd": None,
        "addons": {},
        "workerNodes": [],
    }


def _machines_deleted(snapshot: Object, decision: Object) -> Object:
    snapshot.update(machines=[], preparedMachines=[], workload=_nothing(False))
    return snapshot


def _infrastructure_deleted(snapshot: Object, decision: Object) -> Object:
    snapshot["infrastructureCluster"] = None
    return snapshot
