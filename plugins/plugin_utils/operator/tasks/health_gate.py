# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health gate between two disruptive commands: Node, control plane and etcd.

Source: docs/reference/kubeadm_operator.md, "Beyond the proof of concept".

The result is a function of the Node's present observation; nothing in it is remembered.
"""

from __future__ import annotations

import re
import typing as t

from ....module_utils.common.values import condition_in, host_of
from ....module_utils.workload_api.compare_and_swap import Read
from ...objects.conditions import READY
from ...observe.parse import parse
from ...workload.writes import Objects, Plan
from .context import QUICK_LOOK, CommandFailure, TaskContext

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def wait_healthy(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Wait until the Node, its control plane and etcd are healthy.

    The Node is Ready, its components answer, every etcd member that votes is healthy, and the versions are the requested ones.
    """
    seconds = int(parameters["timeoutSeconds"])
    waiting = context.plugin.waiting(context.cluster, seconds)
    look = control_plane_problems if context.node.control_plane else worker_problems
    while True:
        found = look(context, str(parameters["kubeletVersion"]), str(parameters["apiServerVersion"]))
        if not found:
            return
        said = "; ".join(found)
        if not waiting.again(f"{context.node.name}: {said}", pause_seconds=0.5):
            raise CommandFailure(
                f"Node {context.node.name} is unhealthy after {seconds} s: {said}. Nothing else was started. Mend that (kubectl get nodes, "
                "journalctl -u kubelet, /var/log/pods on the node), then retry."
            )


def control_plane_problems(context: TaskContext, kubelet: str, api_server: str) -> list[str]:
    """Return the problems of a control plane Node, observed on its machine."""
    try:
        answer = context.call("node_observe", QUICK_LOOK)
    except CommandFailure as failure:
        return [str(failure)]
    return judge(answer.get("observation"), context.node.name, kubelet, api_server)


def judge(observation: t.Any, node: str, kubelet: str = "", api_server: str = "") -> list[str]:
    """Return the problems in an observation of a control plane Node.

    The observation is of the Node's own machine. There are none where all is healthy.
    """
    workload = parse(observation, node)
    if not workload["reachable"]:
        return [f"its API server does not answer ({workload['message']})"]
    own = workload["pods"].get(node) or {}
    found = []
    for component in COMPONENTS:
        pod = own.get(component) or {}
        # A component's own answer is nearer than its pod's condition, which may be a minute old.
        if not pod.get("answers", pod.get("ready")):
            found.append(f"its {component} does not report that it is healthy")
    known = next((each for each in workload["nodes"] if each["name"] == node), None)
    found += _etcd(workload["etcd"], node, str((known or {}).get("internalIP") or ""))
    found += _node(known, kubelet)
    image = str((own.get("kube-apiserver") or {}).get("image") or "")
    if api_server and version_of(image) != api_server:
        found.append(f"its API server is {version_of(image) or 'of an unknown version'}, {api_server} is wanted")
    return found


def version_of(image: str) -> str:
    """Return the version in a component's image; "" without one."""
    found = re.search(r":(v\d+\.\d+\.\d+[^@]*)", image)
    return found.group(1).replace("_", "+") if found else ""


def _etcd(etcd: t.Optional[t.Mapping[str, t.Any]], node: str, address: str) -> list[str]:
    if etcd is None:
        return []
    if not etcd["reachable"]:
        return [f"its etcd does not answer ({etcd['message']})"]
    found = []
    own = [each for each in etcd["members"] if each["name"] == node]
    if not own and address:
        # The host was renamed beneath its etcd, which goes on as a member of the old name: no two members have the same address.
        own = [each for each in etcd["members"] if address in map(host_of, each["peerURLs"])]
    for member in etcd["members"]:
        # It has no vote, and its machine may join only when what is done here is over: renewals while a machine joins.
        if member["isLearner"] and member not in own:
            continue
        status = etcd["statuses"].get(member["id"]) or {}
        if not status.get("healthy"):
            found.append(f"etcd member {member['name'] or member['id']} is not healthy ({status.get('message', '')})")
    if not own:
        found.append("no etcd member has its name or address")
    if etcd["memberListAgrees"] is False:
        found.append("etcd's members disagree about who they are")
    return found


def _node(node: t.Optional[t.Mapping[str, t.Any]], kubelet: str) -> list[str]:
    if node is None:
        return ["the cluster has no Node of its name"]
    found = [] if node["ready"] == "True" else ["its Node is not Ready"]
    if kubelet and node["kubeletVersion"] != kubelet:
        found.append(f"its kubelet reports {node['kubeletVersion'] or 'no version'}, {kubelet} is wanted")
    return found


def worker_problems(context: TaskContext, kubelet: str, api_server: str) -> list[str]:
    """Return the problems of a worker, as the API reports its Node.

    Any control plane Node that answers is asked.
    """
    del api_server
    path = f"/api/v1/nodes/{context.node.name}"
    keep = ("status.conditions[].type", "status.conditions[].status", "status.nodeInfo.kubeletVersion")

    def planner(objects: Objects) -> Plan:
        status = ((objects.get(path) or {}).get("status") or {}) if objects.get(path) else None
        return Plan("", facts={"status": status})

    try:
        status = context.workload([Read(path, keep)], planner)["status"]
    except CommandFailure as failure:
        return [str(failure)]
    if status is None:
        return _node(None, kubelet)
    ready = condition_in(status.get("conditions"), READY).get("status") or "Unknown"
    version = str((status.get("nodeInfo") or {}).get("kubeletVersion") or "")
    return _node({"ready": ready, "kubeletVersion": version}, kubelet)
