# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prediction of the snapshot after a step about workers. Pure."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from ....module_utils.common.values import format_time, parse_time
from ...objects import kinds
from .. import terms
from ..plan.times import LONG_AGO
from ..snapshot.typed_snapshot import machine_view
from .worker_view import identity_of, is_foreign

Object = dict[str, Any]


def joined(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after `joinWorkers`: all have joined and are available."""
    workers = dict(snapshot["workers"])
    machines = list(workers["machines"])
    nodes: list[Object] = []
    for entry in decision["target"]["workers"]:
        workers["deployments"] = [
            _with_set(each, entry, snapshot) if _name(each["machineDeployment"]) == entry["deployment"] else each
            for each in workers["deployments"]
        ]
        names = [_name(each["machine"]) for each in machines]
        if entry["machine"] in names:
            index = names.index(entry["machine"])
        else:
            machines.append(_new(snapshot, workers, entry, names))
            index = len(machines) - 1
        machines[index] = _joined(machines[index], snapshot["now"])
        nodes.append(_node(machines[index]["machine"]))
    snapshot["workers"] = {**workers, "machines": machines}
    new = {node["name"] for node in nodes}
    snapshot["workload"] = _workload(snapshot["workload"], [*_left(snapshot["workload"], new), *nodes])
    snapshot["now"] = format_time((parse_time(snapshot["now"]) or 0) + 1)
    return snapshot


def removed(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after `removeWorkers` or `deleteWorkers`."""
    target, workers = decision["target"], dict(snapshot["workers"])
    gone = {each["machine"] for each in target.get("workers") or ()} | set(target.get("machines") or ())
    ended = target.get("deployments") or ()
    workers["deployments"] = [each for each in workers["deployments"] if _name(each["machineDeployment"]) not in ended]
    going = [each for each in workers["machines"] if _name(each["machine"]) in gone]
    workers["machines"] = [each for each in workers["machines"] if each not in going]
    known = {node["name"]: node for node in snapshot["workload"].get("workers") or ()}
    nodes = {
        name
        for name, each in ((machine_view(one).node_name, one) for one in going)
        # Another machine's stays.
        if name in known
        and not is_foreign(known[name], identity_of(each["machine"], each.get("infrastructureMachine")))
    }
    snapshot["workers"] = workers
    snapshot["workload"] = _workload(snapshot["workload"], _left(snapshot["workload"], nodes))
    return snapshot


def _left(workload: Object, without: Collection[str]) -> list[Object]:
    return [node for node in workload.get("workers") or () if node["name"] not in without]


def _workload(workload: Object, nodes: list[Object]) -> Object:
    """Return the workload with these worker Nodes, and the counted ones."""
    before = workload.get("workers") or []
    known, versions = {node["name"] for node in before}, dict(workload.get("workerVersions") or {})
    for node in before:
        versions[node.get("kubeletVersion") or ""] = versions.get(node.get("kubeletVersion") or "", 0) - 1
    for node in nodes:
        versions[node.get("kubeletVersion") or ""] = max(0, versions.get(node.get("kubeletVersion") or "", 0)) + 1
    others = [name for name in workload.get("workerNodes") or () if name not in known]
    return {
        **workload,
        "workers": nodes,
        "workerNodes": sorted({*others, *(node["name"] for node in nodes)}),
        "workerVersions": {version: count for version, count in versions.items() if version and count > 0},
    }


def _with_set(entry: Object, made: Object, snapshot: Object) -> Object:
    """Return a deployment's entry with the current MachineSet."""
    if any(_name(each) == made["machineSet"] for each in entry["machineSets"]):
        return entry
    deployment = entry["machineDeployment"]
    owned = {
        "apiVersion": kinds.API_CLUSTER,
        "kind": kinds.MACHINE_SET,
        "metadata": {
            "name": made["machineSet"],
            "creationTimestamp": snapshot["now"],
            "ownerReferences": [_owner(kinds.MACHINE_DEPLOYMENT, _name(deployment))],
        },
        "spec": {"template": copy.deepcopy(deployment["spec"].get("template") or {})},
    }
    return {**entry, "machineSets": [*entry["machineSets"], owned]}


def _new(snapshot: Object, workers: Object, entry: Object, names: Collection[str]) -> Object:
    number = 1
    while f"{entry['machineSet']}-new-{number}" in names:
        number += 1
    name = entry.get("name") or f"{entry['machineSet']}-new-{number}"
    owned = next(
        each
        for deployment in workers["deployments"]
        for each in deployment["machineSets"]
        if _name(each) == entry["machineSet"]
    )
    template = (owned["spec"].get("template") or {}).get("spec") or {}
    spec: Object = {"clusterName": _name(snapshot["cluster"]), "version": template.get("version") or ""}
    if entry["failureDomain"]:
        spec["failureDomain"] = entry["failureDomain"]
    if template.get("minReadySeconds"):
        spec["minReadySeconds"] = template["minReadySeconds"]
    metadata = {
        "name": name,
        "creationTimestamp": snapshot["now"],
        "ownerReferences": [_owner(kinds.MACHINE_SET, entry["machineSet"])],
    }
    return {
        "machine": {"apiVersion": kinds.API_CLUSTER, "kind": kinds.MACHINE, "metadata": metadata, "spec": spec},
        "kubeadmConfig": {"kind": kinds.KUBEADM_CONFIG, "metadata": metadata, "spec": {"joinConfiguration": {}}},
    }


def _joined(entry: Object, now: str) -> Object:
    machine = dict(entry["machine"])
    status = dict(machine.get("status") or {})
    status["nodeRef"] = {"name": machine_view(entry).node_name}
    status["bootstrap"] = {"state": terms.SUCCEEDED, "message": "", "startedAt": now}
    ready = {"type": "Ready", "status": terms.TRUE, "reason": "Ready", "message": "", "lastTransitionTime": LONG_AGO}
    status["conditions"] = [each for each in status.get("conditions") or [] if each["type"] != "Ready"] + [ready]
    machine["status"] = status
    infrastructure = dict(entry.get("infrastructureMachine") or {"metadata": {"name": _name(machine)}, "spec": {}})
    known = {
        key: value
        for key, value in (infrastructure.get("status") or {}).items()
        if key not in ("state", "failureReason")
    }
    infrastructure["status"] = {**known, "initialization": {"provisioned": True}}
    made = {key: value for key, value in entry.items() if key != "bootstrapUnit"}
    return {**made, "machine": machine, "infrastructureMachine": infrastructure}


def _node(machine: Object) -> Object:
    return {
        "name": str(machine["status"]["nodeRef"]["name"]),
        "kubeletVersion": str(machine["spec"].get("version") or ""),
        "labels": {},
        "taints": [],
        "ready": terms.TRUE,
        "readyReason": "KubeletReady",
        "machineID": str((machine.get("status") or {}).get("machineID") or ""),
        "creationTimestamp": machine["metadata"].get("creationTimestamp") or "",
    }


def _owner(kind: str, name: str) -> Object:
    return {"apiVersion": kinds.API_CLUSTER, "kind": kind, "name": name, "controller": True}


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
