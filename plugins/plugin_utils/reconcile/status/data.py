# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status of a cluster as data. Pure.

Every text in it is one legible line. docs/reference/status.schema.json is its shape.
"""

from __future__ import annotations

import typing as t

from ....module_utils.common import quorum
from ....module_utils.common.legible import legible
from ....module_utils.common.values import clip, format_time
from ....module_utils.workload_api import untrusted
from ...decision.checks.drift import static_pod_drift
from ...decision.conditions.node_network import lacks_plugin
from ...decision.removal.left_behind import left_behind
from ...decision.rollout import in_place, resource_sets
from ...decision.rollout.uptodate import expiry_of
from ...decision.snapshot.typed_snapshot import View, read_snapshot
from ...objects.equivalence import without_nulls
from .machine_entries import deployment_statuses, machine_status
from .verdict import trouble, what_next

Object = dict[str, t.Any]
# Of a certificate; whatever else a snapshot might have of one stays out.
CERTIFICATE_FACTS = ("present", "hasKey", "notAfter", "fingerprint")


def status_data(snapshot: Object, decision: Object, host: str = "", last_failure: t.Optional[Object] = None) -> Object:
    """Return the status data of a valid snapshot and its decision.

    Args:
        snapshot: ``check_snapshot`` accepts it.
        decision: the decision about it.
        host: the cluster's host in the inventory, by default its name.
        last_failure: the step that failed last, from the journal.
    """
    view = read_snapshot(snapshot)
    left, drift = ([each["message"] for each in found(view)] for found in (left_behind, static_pod_drift))
    snapshot = without_nulls(snapshot)
    workload = snapshot["workload"]
    control_plane = snapshot.get("controlPlane") or {}
    cluster = snapshot["cluster"]
    status = (decision.get("status") or {}).get("controlPlane") or control_plane.get("status") or {}
    conditions = decision.get("conditions") or {}
    versions = sorted(
        {
            node["kubeletVersion"]
            for node in workload.get("nodes", [])
            if node.get("kubeletVersion") and node["name"] not in workload.get("workerNodes", [])
        }
    )
    endpoint = cluster.get("spec", {}).get("controlPlaneEndpoint") or {}
    ends = _certificates(view)
    data: Object = {
        "observedAt": snapshot.get("observedAt") or snapshot["now"],
        "cluster": cluster["metadata"]["name"],
        "namespace": cluster["metadata"].get("namespace", ""),
        "phase": ((decision.get("status") or {}).get("cluster") or {}).get("phase", ""),
        "paused": bool(view.paused),
        "replicas": {
            "desired": control_plane.get("spec", {}).get("replicas", 0),
            "existing": len(snapshot["machines"]),
            "ready": untrusted.integer(status.get("readyReplicas")),
            "upToDate": untrusted.integer(status.get("upToDateReplicas")),
        },
        "version": {"desired": control_plane.get("spec", {}).get("version", ""), "running": versions},
        "endpoint": {
            "address": f"{endpoint['host']}:{endpoint.get('port', 6443)}" if endpoint.get("host") else "",
            "answers": (workload.get("endpoint") or {}).get("answers"),
            "message": (workload.get("endpoint") or {}).get("message", ""),
        },
        "reachable": bool(workload.get("reachable")),
        "via": workload.get("via"),
        "message": workload.get("message", ""),
        "etcd": _etcd(workload.get("etcd")),
        "machines": [machine_status(each, conditions.get("machines") or {}, ends) for each in snapshot["machines"]],
        "addons": _addons(workload.get("addons") or {}, bool(workload.get("reachable"))),
        "workerNodes": workload.get("workerNodes", []),
        "machineDeployments": deployment_statuses(view, snapshot, decision),
        "resourceSets": [_resource_set(each) for each in snapshot.get("resourceSets") or []],
        "withoutNetworkPlugin": [each["name"] for each in workload.get("nodes", []) if lacks_plugin(each)],
        "conditions": conditions.get("controlPlane") or [],
        "certificates": {
            name: {key: facts[key] for key in CERTIFICATE_FACTS if key in facts}
            for name, facts in (snapshot.get("certificates") or {}).items()
        },
        "readinessGates": snapshot.get("readinessGates") or [],
        "leftBehind": left,
        "drift": drift,
        "maintenance": snapshot.get("maintenance"),
        "witnesses": [
            {key: each.get(key) for key in ("machine", "reachable", "message")}
            for each in workload.get("witnesses") or []
        ],
        "decision": {
            "action": decision["action"],
            "reasons": decision.get("reasons") or [],
            "blockedOn": decision.get("blockedOn") or [],
        },
        "lastFailure": last_failure,
    }
    data["host"] = host or data["cluster"]
    decision, unfinished = {**decision, "blockedOn": data["decision"]["blockedOn"]}, in_place.unfinished(view)
    data["trouble"] = trouble(data, decision, unfinished)
    data["next"] = what_next(decision, data["paused"], data["host"], unfinished)
    shown: Object = legible(data)
    return shown


def _resource_set(found: Object) -> Object:
    left = [f"{each['kind']} {each['name']}" for each in resource_sets.wanted(found)]
    left += [
        f"{each['kind']} {each['name']} ({each['state']})" for each in found["resources"] if each["state"] != "present"
    ]
    return {
        "name": found["name"],
        "strategy": found["strategy"],
        "paused": bool(found.get("paused")),
        "resources": len(found["resources"]),
        "notApplied": left,
        "message": found.get("message") or "",
    }


def _etcd(view: t.Optional[Object]) -> Object:
    if view and "members" not in view:
        said = "it answers" if view.get("reachable") else f"NOT WORKING: {view.get('message') or 'no reason given'}"
        answers = bool(view.get("reachable"))
        none: Object = {"known": False, "members": [], "alarms": [], "leader": None}
        return {**none, "message": said, "external": True, "answers": answers}
    if not view or not view.get("reachable"):
        return {
            "known": False,
            "members": [],
            "alarms": [],
            "leader": None,
            "message": (view or {}).get("message", "not asked"),
        }
    names = {member["id"]: member["name"] or f"unnamed ({member['id']})" for member in view["members"]}
    members = []
    for member in view["members"]:
        one = (view.get("statuses") or {}).get(member["id"]) or {}
        members.append(
            {
                "id": member["id"],
                "name": names[member["id"]],
                "learner": bool(member.get("isLearner")),
                "healthy": one.get("healthy"),
                "leader": member["id"] == view.get("leader"),
                "version": one.get("version", ""),
                "dbSize": one.get("dbSize"),
            }
        )
    alarms = [
        {"member": names.get(alarm.get("memberID", ""), alarm.get("memberID", "?")), "alarm": alarm["alarm"]}
        for alarm in view.get("alarms", [])
    ]
    return {
        "known": True,
        "members": members,
        "quorum": quorum.figures(quorum.member_states(view)).document(),
        # 0 is of a member that said none.
        "raftTerm": max((each.get("raftTerm") or 0 for each in (view.get("statuses") or {}).values()), default=0)
        or None,
        "leader": names.get(view.get("leader") or ""),
        "alarms": alarms,
        "agrees": view.get("memberListAgrees"),
        "message": view.get("message", ""),
    }


def _certificates(view: View) -> dict[str, dict[str, str]]:
    """Return when the certificates on machines' disks end: by machine, by file.

    Of a machine that was not asked the recorded end of apiserver.crt alone.
    """
    told = view.workload.get("machineCertificates") or {}
    recorded = {each.name: end for each in view.known for end in [expiry_of(each)] if end is not None}
    return {
        each.name: told.get(each.name)
        or ({"apiserver.crt": format_time(recorded[each.name])} if each.name in recorded else {})
        for each in view.known
    }


def _addons(addons: Object, reachable: bool) -> Object:
    def workload(key: str, name: str) -> Object:
        one = addons.get(key) or {}
        if not reachable or not one:
            return {"works": None, "message": f"{name}: not known, no API server was asked"}
        if not one.get("present"):
            # Not a fault: kubeadm can leave it out, as where the image has no CoreDNS, or another add-on does its work.
            return {"works": None, "message": f"{name}: not installed"}
        works = one.get("desired", 0) > 0 and one.get("ready", 0) >= one["desired"]
        said = f"{name}: {one.get('ready', 0)} of {one.get('desired', 0)} ready"
        updated = one.get("updated")
        if updated is not None and updated < one.get("desired", 0):
            said += f", {updated} updated to {clip(one.get('image'), 300).rpartition('/')[2]}"
        return {"works": works, "message": said}

    bootstrap = addons.get("bootstrap") or {}
    registers = (
        bool(bootstrap.get("clusterInfo") and bootstrap.get("bootstrapTokenRBAC")) if reachable and bootstrap else None
    )
    return {
        "kubeProxy": workload("kubeProxy", "kube-proxy"),
        "dns": workload("dns", "cluster DNS"),
        "nodeRegistration": {
            "works": registers,
            "message": "new Nodes can register"
            if registers
            else str(bootstrap.get("message") or "whether new Nodes can register is not known"),
        },
    }
