# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step leaves when it is really carried out, built without the planner's prediction: other IDs, addresses, times, another leader."""

from __future__ import annotations

import datetime
import json
from typing import Any

from builders import NOW, Builder, at, member_id

Object = dict[str, Any]
IN_PROGRESS = "controlplane.cluster.x-k8s.io/remediation-in-progress"
REMEDIATION_FOR = "controlplane.cluster.x-k8s.io/remediation-for"


def carry_out(builder: Builder, step: Object, seconds_later: int = 240) -> Builder:
    """Carry one planned step out; the clock goes on meanwhile."""
    _record(builder, step)
    now = at(-seconds_later, builder.snapshot["now"])
    builder.snapshot["now"] = now
    {
        "createInfrastructure": _infrastructure,
        "createCertificates": _certificates,
        "initialize": _machine,
        "join": _machine,
        "adopt": _adopt,
        "remove": _remove,
        "removeMember": _remove_member,
    }[step["action"]](builder, step)
    return builder


def _record(builder: Builder, step: Object) -> None:
    """A pass writes status and records before it acts."""
    control_plane = builder.snapshot["controlPlane"]
    control_plane["status"].update(step["status"]["controlPlane"])
    if step["remediation"]:
        control_plane["metadata"]["annotations"][IN_PROGRESS] = json.dumps(step["remediation"])
    for kind in ("controlPlane", "cluster"):
        owner = builder.snapshot[kind]
        owner["status"]["conditions"] = [
            {**each, "lastTransitionTime": builder.snapshot["now"]} for each in step["conditions"][kind]
        ]


def _infrastructure(builder: Builder, step: Object) -> None:
    infrastructure = builder.snapshot["infrastructureCluster"]
    infrastructure["status"].update(
        initialization={"provisioned": True},
        failureDomains=infrastructure["spec"].get("failureDomains") or [],
        hostAddress="10.88.0.1",
    )
    infrastructure["spec"]["controlPlaneEndpoint"] = {"host": "10.88.0.77", "port": 6443}
    builder.snapshot["cluster"]["spec"]["controlPlaneEndpoint"] = {"host": "10.88.0.77", "port": 6443}
    builder.workload["endpoint"] = {"answers": False, "message": "no API behind 10.88.0.77:6443 (SSLEOFError)"}


def _certificates(builder: Builder, step: Object) -> None:
    for name, facts in builder.snapshot["certificates"].items():
        facts.update(present=True, notAfter="2035-06-01T00:00:00Z")
        if name != "kubeconfig":
            facts["hasKey"] = True


def _machine(builder: Builder, step: Object) -> None:
    target = step["target"]
    name = target["machine"] or target["name"]
    prepared = [each for each in builder.snapshot["preparedMachines"] if each["metadata"]["name"] != name]
    # The machines of the next steps are made ahead of their turn.
    prepared.append({"kind": "NspawnMachine", "metadata": {"name": "ahead"}, "spec": {}, "status": {}})
    builder.snapshot["preparedMachines"] = prepared
    record = builder.snapshot["controlPlane"]["metadata"]["annotations"].pop(IN_PROGRESS, None)
    external = builder.spec["kubeadmConfigSpec"]["clusterConfiguration"].get("etcd")
    if external:
        builder.workload["etcd"] = None
    if any(each["machine"]["metadata"]["name"] == name for each in builder.snapshot["machines"]):
        builder.entry(name)["machine"]["status"] = {"bootstrap": {"state": "Succeeded", "message": ""}}
        builder.entry(name)["infrastructureMachine"]["status"]["initialization"] = {"provisioned": True}
        builder.works(name)
    else:
        builder.machine(
            name, age=_ago(builder, 100), domain=target["failureDomain"] or "", init=step["action"] == "initialize"
        )
    machine = builder.entry(name)["machine"]
    if record is not None:
        machine["metadata"]["annotations"][REMEDIATION_FOR] = record
    machine["status"].update(machineID=f"id-{name}", addresses=[{"type": "InternalIP", "address": "10.88.0.9"}])
    machine["status"]["conditions"] = [
        {
            "type": "Ready",
            "status": "False",
            "reason": "NotReady",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    # No pod network yet: a Node that is not Ready decides nothing.
    builder.node(name, ready="False", age=_ago(builder, 50))
    builder.workload["endpoint"] = {"answers": True, "message": "ok"}
    if external:
        builder.workload["etcd"] = {"reachable": True, "message": ""}
        builder.workload["pods"][name].pop("etcd")
        return
    etcd = builder.workload["etcd"]
    etcd["leader"] = member_id(name)
    etcd["statuses"][member_id(name)].update(version="3.4.13", raftTerm=7, leader=member_id(name))


def _ago(builder: Builder, seconds: int) -> float:
    """So many seconds before the snapshot's time, as an age: the builder counts ages from its own fixed time."""
    now, fixed = (datetime.datetime.strptime(each, "%Y-%m-%dT%H:%M:%SZ") for each in (builder.snapshot["now"], NOW))
    return seconds - (now - fixed).total_seconds()


def _adopt(builder: Builder, step: Object) -> None:
    for name in step["target"]["machines"]:
        metadata = builder.entry(name)["machine"]["metadata"]
        metadata["ownerReferences"] = [
            {
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                "kind": "KubeadmControlPlane",
                "name": "prod",
                "uid": "77",
                "controller": True,
            }
        ]


def _remove(builder: Builder, step: Object) -> None:
    name = step["target"]["machine"]
    builder.snapshot["machines"] = [
        each for each in builder.snapshot["machines"] if each["machine"]["metadata"]["name"] != name
    ]
    workload = builder.workload
    workload["nodes"] = [each for each in workload["nodes"] if each["name"] != name]
    workload["pods"].pop(name, None)
    if workload["etcd"] and "members" in workload["etcd"]:
        builder.without_member(name)
        members = workload["etcd"]["members"]
        workload["etcd"]["leader"] = members[-1]["id"] if members else None
        workload["etcd"]["alarms"] = [
            each for each in workload["etcd"]["alarms"] if each["memberID"] != member_id(name)
        ]
    if workload["via"] == name:
        workload["via"] = builder.snapshot["machines"][0]["machine"]["metadata"]["name"]


def _remove_member(builder: Builder, step: Object) -> None:
    etcd = builder.workload["etcd"]
    etcd["members"] = [each for each in etcd["members"] if each["id"] != step["target"]["memberID"]]
    etcd["statuses"].pop(step["target"]["memberID"], None)
