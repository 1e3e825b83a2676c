# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words for tests of the decision's rules: situations beyond the builder's own, and plans in short."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any, Optional

from builders import Builder, at, member_id

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan

Object = dict[str, Any]
NEW_VERSION = "v1.21.1"
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
REMEDIATE_MACHINE = "cluster.x-k8s.io/remediate-machine"
IN_PROGRESS = "controlplane.cluster.x-k8s.io/remediation-in-progress"
REMEDIATION_FOR = "controlplane.cluster.x-k8s.io/remediation-for"
MIN_READY = "kubeadm.control-plane/min-ready-seconds"
ALLOW_PATCH_DOWNGRADE = "kubeadm.control-plane/allow-patch-downgrade"


def outdate(builder: Builder, *names: str) -> Builder:
    """These machines were made from another KubeadmConfigSpec than the one wanted now."""
    for name in names:
        builder.entry(name)["kubeadmConfig"]["spec"]["preKubeadmCommands"] = ["echo of the old spec"]
    return builder


def upgrade(builder: Builder, version: str = NEW_VERSION) -> Builder:
    """Another version is wanted: every machine is outdated."""
    return builder.wants(version=version)


def surge(builder: Builder, count: Any) -> Builder:
    """The rollout strategy's maxSurge."""
    builder.spec.setdefault("rollout", {})["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": count}}
    return builder


def external(builder: Builder, etcd: Optional[Object] = None) -> Builder:
    """etcd is external to the machines; ``etcd`` is what was observed of it (None: nothing)."""
    settings = {"external": {"endpoints": ["https://etcd.example:2379"]}}
    for entry in [builder.spec["kubeadmConfigSpec"]] + [
        each["kubeadmConfig"]["spec"] for each in builder.snapshot["machines"]
    ]:
        entry["clusterConfiguration"]["etcd"] = settings
    for pods in builder.workload["pods"].values():
        pods.pop("etcd", None)
    builder.workload["etcd"] = etcd
    return builder


def in_progress(builder: Builder, machine: str, seconds: float = 60, count: int = 0) -> Builder:
    """The control plane's record that this machine is being remediated."""
    text = json.dumps({"machine": machine, "timestamp": at(seconds), "retryCount": count})
    return builder.annotate(IN_PROGRESS, text)


def replaces(builder: Builder, name: str, seconds: float, count: int = 0) -> Builder:
    """The machine is the replacement of another one that was remediated so many seconds ago."""
    text = json.dumps({"machine": "earlier", "timestamp": at(seconds), "retryCount": count})
    return builder.annotate(REMEDIATION_FOR, text, name)


def witness(builder: Builder, name: str, **etcd: Any) -> Builder:
    """A second machine's own view of etcd: the same as the first one's but for what ``etcd`` changes."""
    view = {**copy.deepcopy(builder.workload["etcd"]), **etcd}
    builder.workload.setdefault("witnesses", []).append(
        {"machine": name, "reachable": True, "message": "", "etcd": view}
    )
    return builder


def silent_witness(builder: Builder, name: str) -> Builder:
    """A second machine that could not be asked."""
    builder.workload.setdefault("witnesses", []).append(
        {"machine": name, "reachable": False, "message": "timed out", "etcd": None}
    )
    return builder


def dead(builder: Builder, name: str) -> Builder:
    """The machine's host is gone: kubelet is silent for long, its member does not answer."""
    builder.sick_member(name).node(name, ready="Unknown")
    return lasting(builder)


def lasting(builder: Builder) -> Builder:
    """Whatever is wrong has been wrong for long: conditions that are older than any patience."""
    for kind in ("EtcdClusterHealthy", "ControlPlaneComponentsHealthy", "Available"):
        builder.stored(kind, "False", 3000)
    return seen(builder, 3000)


def seen(builder: Builder, seconds: float, *names: str) -> Builder:
    """These etcd members (all without names) were first seen as belonging to no machine so many seconds ago, if they do."""
    listed = (builder.workload.get("etcd") or {}).get("members") or ()
    known = [member_id(name) for name in names] or [each["id"] for each in listed]
    since = at(seconds, builder.snapshot["now"])
    builder.snapshot["controlPlane"]["status"]["strayMembers"] = [{"id": each, "since": since} for each in known]
    return builder


def ready_for(builder: Builder, seconds: float, *names: str) -> Builder:
    """These machines (all without names) have been Ready for so many seconds."""
    for entry in builder.snapshot["machines"]:
        if not names or entry["machine"]["metadata"]["name"] in names:
            status = entry["machine"]["status"]
            since = at(seconds, builder.snapshot["now"])
            ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": since}
            status["conditions"] = [each for each in status.get("conditions", []) if each["type"] != "Ready"] + [ready]
    return builder


def etcd_version(builder: Builder, version: Optional[str], *names: str) -> Builder:
    """The version of etcd that these members (all without names) say they run."""
    etcd = builder.workload["etcd"]
    for member in etcd["members"]:
        if member["id"] in etcd["statuses"] and (not names or member["name"] in names):
            etcd["statuses"][member["id"]]["version"] = version
    return builder


def sicken(builder: Builder, name: str) -> Builder:
    """The member of that name does not answer, whoever made it and its ID."""
    etcd = builder.workload["etcd"]
    identity = next(each["id"] for each in etcd["members"] if each["name"] == name)
    etcd["statuses"][identity] = {"healthy": False, "message": "context deadline exceeded"}
    return builder


def without_node(builder: Builder, name: str) -> Builder:
    """The machine has joined, and its Node has not appeared yet."""
    builder.entry(name)["machine"]["status"].pop("nodeRef", None)
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != name]
    builder.workload["pods"].pop(name, None)
    return builder


def says(decision: Object) -> tuple[str, Optional[str]]:
    """The action, and the first reason: of what it is held by, else of the action."""
    return decision["action"], (decision["blockedOn"] or decision["reasons"])[0]["reason"]


def reasons(decision: Object) -> list[str]:
    """The names of all reasons, those of what it is held by included."""
    return [each["reason"] for each in [*decision["reasons"], *decision["blockedOn"]]]


def victim(builder: Builder) -> Optional[str]:
    """The machine that is removed next; None where none is."""
    decision = decide(builder.build())
    found: Optional[str] = decision["target"]["machine"] if decision["action"] == "remove" else None
    return found


def check(decision: Object, name: str) -> Optional[str]:
    """The result of one preflight check, None where it was not run."""
    return next((each["result"] for each in decision["preflight"] if each["check"] == name), None)


def condition(decision: Object, kind: str, machine: str = "") -> Object:
    """A condition of the decision: of a machine, or of the control plane (""). {} where there is none."""
    listed = decision["conditions"]["machines"][machine] if machine else decision["conditions"]["controlPlane"]
    return next((each for each in listed if each["type"] == kind), {})


def short(decision: Object) -> str:
    """A step in short: "+" joins a new machine ("+a" in domain a), "~m3" goes on with m3, "-m1" removes, an end says why."""
    action, target = decision["action"], decision["target"] or {}
    name = str(target.get("machine") or "").replace("prod-", "")
    if action == "join":
        return f"~{name}" if target["resume"] else f"+{target['failureDomain'] or ''}"
    if action == "remove":
        return f"-{name}"
    if action in ("wait", "blocked", "postponed"):
        return f"{action} {says(decision)[1]}"
    return str(action)


def walk(builder: Builder) -> list[str]:
    """The whole plan in short."""
    return [short(step) for step in plan(builder.build())]


def walked(builder: Builder, count: int) -> Builder:
    """The builder after so many steps of its plan were carried out and their status was stored."""
    for _step in range(count):
        builder.snapshot = carried_out(builder.build(), decide(builder.build()))
    return builder


def carried_out(snapshot: Object, decision: Object) -> Object:
    """What follows from a decision: the status it gives is stored, its action succeeds."""
    for key in ("cluster", "controlPlane"):
        status = snapshot[key].setdefault("status", {})
        status.update(copy.deepcopy(decision["status"][key]))
    after: Object = copy.deepcopy(predict(snapshot, decision))
    return after


def rename(steps: Iterable[str]) -> list[str]:
    """Steps with new machines numbered no more: for plans in which only the order of kinds matters."""
    return ["-new" if step.startswith("-new") else step for step in steps]


def runs(builder: Builder, kube_proxy: str = "", dns: str = "", **dns_facts: Any) -> Builder:
    """The images that the add-ons run; "" for one that is not installed. `dns_facts`: further facts of CoreDNS in the snapshot."""
    builder.workload["addons"] = {
        "kubeProxy": {"present": bool(kube_proxy), "desired": 3, "ready": 3, "image": kube_proxy},
        "dns": {"present": bool(dns), "desired": 2, "ready": 2, "image": dns, "corefile": bool(dns), **dns_facts},
    }
    return builder
