# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that run an upgrade's commands and those shared by every Action."""

from __future__ import annotations

import typing as t

from ....module_utils.common import settings
from ....module_utils.common.kubernetes_versions import read_version
from ....module_utils.workload_api.compare_and_swap import Read
from ...objects import origin
from ...records.workers import versions_in_place
from ...workload.writes import Plan
from ..tasks import health_gate, manifest_update
from ..tasks.cluster_facts import NODES
from ..tasks.context import CommandFailure, Run, TaskContext
from .commands import PACKAGES, upgrade_arguments

Parameters = t.Mapping[str, t.Any]

KUBEADM = "kubeadm"
# What an existing node's preflight says of its components is asked by waitHealthy, with patience; and its programs may be of two
# versions, as where an upgrade was begun: kubeadm itself knows which of them go together.
_NOT_HERE = ("ControlPlane", "Port-", "KubeadmVersion", "KubeletVersion")


def once(context: TaskContext) -> str:
    """Return the key of this command's attempt for the node's records.

    By it a node knows what it has done for the command already. It names command, Task and attempt.
    """
    metadata = context.task["metadata"]
    return f"{metadata['name']}/{origin.uid(context.task)}/{context.index}/{attempt_of(context)}"


def attempt_of(context: TaskContext) -> int:
    """Return the attempt's number of this command, from 1."""
    records = (context.task.get("status") or {}).get("commands") or []
    return int((records[context.index] if context.index < len(records) else {}).get("attempt") or 1)


def preflight(context: TaskContext, parameters: Parameters) -> None:
    """Check that the node answers and is fit for the new version.

    kubeadm reports its version, and a control plane Node lacks nothing that the new version needs.
    """
    context.run([KUBEADM, "version", "--output=short"], step="version", timeout_seconds=60)
    if not context.node.control_plane:
        return
    call = {"existing": True, "node_name": context.node.name, "ignore": parameters["ignore"], "report_only": True}
    if parameters["version"]:
        call["version"] = parameters["version"]
    checks = context.call("preflight", call)["checks"]
    wrong = [
        each
        for each in checks
        if not each["ok"] and each["severity"] == "error" and not each["name"].startswith(_NOT_HERE)
    ]
    if wrong:
        said = "; ".join(f"{each['name']}: {each['message']}. {each['remedy']}" for each in wrong)
        raise CommandFailure(f"Node {context.node.name} is not fit: {said} Nothing was begun on it. Retry then.")


def upgrade_kubeadm(context: TaskContext, parameters: Parameters) -> None:
    """Install kubeadm at the requested version."""
    _install(context, parameters, [KUBEADM])


def upgrade_kubelet_and_kubectl(context: TaskContext, parameters: Parameters) -> None:
    """Install kubelet and kubectl at the requested version; restart the kubelet."""
    context.check_lock()
    _install(context, parameters, ["kubelet", "kubectl"])


def _install(context: TaskContext, parameters: Parameters, names: list[str]) -> None:
    binaries = parameters["binaries"]
    call = {
        "version": parameters["version"],
        "names": names,
        "source": binaries.get("source") or PACKAGES,
        "path": binaries.get("path"),
        "package_version": binaries.get("packageVersion"),
        "checksums": binaries.get("checksums"),
        "fencing": context.fencing,
    }
    done = context.call("kubernetes_binaries", {key: value for key, value in call.items() if value is not None})
    context.note(str(done["msg"]))


def kubeadm_upgrade_plan(context: TaskContext, parameters: Parameters) -> None:
    """Run `kubeadm upgrade plan`: kubeadm's own checks, which change nothing."""
    words = [KUBEADM, "upgrade", "plan", parameters["version"]]
    if parameters["ignorePreflightErrors"]:
        words.append(f"--ignore-preflight-errors={','.join(parameters['ignorePreflightErrors'])}")
    context.run(words, step="plan", timeout_seconds=settings.UPGRADE_PLAN_SECONDS)


def kubeadm_upgrade_apply(context: TaskContext, parameters: Parameters) -> None:
    """Run `kubeadm upgrade apply` on the first control plane Node.

    It upgrades the configuration that the cluster keeps, too.
    """
    # It can be run again at any point, and is: what it uploads first says nothing of what it does last.
    _upgrade(context, parameters, "apply", parameters["version"], "--yes")


def kubeadm_upgrade_node(context: TaskContext, parameters: Parameters) -> None:
    """Run `kubeadm upgrade node` on another control plane Node or a worker."""
    _upgrade(context, parameters, "node")


def _upgrade(context: TaskContext, parameters: Parameters, verb: str, *words: str) -> None:
    context.check_lock()
    remove_link(context)
    command = [KUBEADM, "upgrade", verb, *words, *upgrade_arguments(parameters, context.node)]
    context.run(command, step=verb, timeout_seconds=settings.UPGRADE_APPLY_SECONDS)
    reread_kubeconfig(context)
    _prune_backups(context)


def remove_link(context: TaskContext) -> None:
    """Remove a rotation's link, with which kubeadm doesn't renew.

    Source: docs/rotate_certificate_authorities.md, "Running pods".
    """
    if not context.node.control_plane:
        return
    if context.call("kubeadm_certificates", {"state": "unlinked", "fencing": context.fencing}).get("changed"):
        context.note(
            "the link from a rotation was removed from apiserver.crt, since kubeadm takes a single certificate there: pods that run since before that "
            "rotation don't trust this API server any more until they are restarted"
        )


def reread_kubeconfig(context: TaskContext) -> None:
    """Have this collection's kube-vip read a newer admin.conf.

    Every Action that may have written the file calls it: a control plane whose machine doesn't leave its endpoint meanwhile has no other
    moment at which kube-vip is started again. It needs no API.
    """
    if not context.node.control_plane:
        return
    if context.call("host_endpoint", {"state": "reread", "fencing": context.fencing}).get("changed"):
        context.note("kube-vip was restarted, for it reads admin.conf only when it starts")


def _prune_backups(context: TaskContext) -> None:
    """Delete older backups that kubeadm's upgrades left on the node.

    An upgrade that is done doesn't fail for it.
    """
    try:
        done = context.call("kubeadm_backups", {"fencing": context.fencing})
    except CommandFailure as failure:
        context.note(f"kubeadm's older backups were not deleted: {failure}")
        return
    if done["deleted"]:
        context.note(str(done["msg"]))


def restart_component(context: TaskContext, parameters: Parameters) -> None:
    """Restart a static pod of this Node.

    etcd is restarted only where the other members hold the quorum, unless ``offline``.
    """
    context.check_lock()
    component, offline = str(parameters["component"]), bool(parameters["offline"])
    call = {
        "component": component,
        "once": once(context),
        "timeout": parameters["timeoutSeconds"],
        "force": offline,
        # Of the first members that are restarted none has a quorum yet.
        "healthy": not (offline and component == "etcd"),
        "fencing": context.fencing,
    }
    context.note(str(context.call("static_pod", call)["msg"]))


def through_others(context: TaskContext, module: str, call: dict[str, t.Any]) -> dict[str, t.Any]:
    """Run a module on another control plane Node that answers.

    The others are tried by name, and this Node last.
    """
    names = [each.name for each in context.nodes if each.control_plane and each.name != context.node.name]
    failures = []
    for name in [*names, *([context.node.name] if context.node.control_plane else [])]:
        try:
            return context.call(module, call, node=name)
        except CommandFailure as failure:
            failures.append(str(failure))
    raise CommandFailure("; ".join(failures) or "no control plane Node is left to ask")


def _was_unschedulable(context: TaskContext) -> bool:
    return context.node.name in ((context.plan_facts.get("extra") or {}).get("unschedulable") or [])


def kubectl_drain(context: TaskContext, parameters: Parameters) -> None:
    """Cordon the Node and evict its pods within the time limit.

    Otherwise it fails, and the Node stays cordoned.
    """
    name, bound = context.node.name, int(parameters["timeoutSeconds"])
    call = {
        "name": name,
        "timeout": bound,
        "wait": settings.WAITING_CALL_SECONDS,
        # The Node comes back: what is attached to it may stay.
        "wait_for_volumes": False,
        "fencing": context.fencing,
    }
    if attempt_of(context) > 1:
        # The node counts the bound from a drain's first call on: a person who says retry means all of it anew.
        through_others(context, "node_drain", {"name": name, "state": "absent", "fencing": context.fencing})
    waiting = context.plugin.waiting(context.cluster, bound + 120 if bound else settings.LONGEST_DRAIN_SECONDS)
    while True:
        answer = through_others(context, "node_drain", call)
        state, said = str(answer.get("state")), str(answer.get("message"))
        if state != "Running":
            break
        call["started_at"] = call.get("started_at") or answer.get("started_at")
        if not waiting.again(said, pause_seconds=0.0):
            state = "TimedOut"
            break
    if state == "TimedOut":
        raise CommandFailure(
            f"Node {name} was not drained in time: {said}. It is cordoned and stays so; nothing else was done. Free what holds it "
            "(kubectl get pdb -A), then retry; or skip, which continues without; or abort, and kubectl uncordon it."
        )
    context.note(said)


def kubectl_uncordon(context: TaskContext, parameters: Parameters) -> None:
    """Make the Node schedulable again.

    A Node that was unschedulable before the Action started stays so.
    """
    del parameters
    name = context.node.name
    if _was_unschedulable(context):
        context.note(f"Node {name} was unschedulable before the Action began, and stays so")
        return
    done = through_others(context, "node_drain", {"name": name, "state": "absent", "fencing": context.fencing})
    context.note(str(done.get("message")))


def record_workers(context: TaskContext, parameters: Parameters) -> None:
    """Record the version of the workers whose kubelets report it.

    A MachineDeployment's follows where all of its workers have it: otherwise the next rollout would replace those.
    """
    version, action = str(parameters["version"]), str(context.action["metadata"]["name"])

    def listed(found: t.Mapping[str, t.Any]) -> Plan:
        items = (found[NODES] or {}).get("items") or []
        names = [
            str(each["metadata"]["name"])
            for each in items
            if read_version(str(each["status"]["nodeInfo"]["kubeletVersion"])) == read_version(version)
        ]
        return Plan("the Nodes' kubelets were listed", facts={"names": names})

    keep = ("items[].metadata.name", "items[].status.nodeInfo.kubeletVersion")
    nodes = context.workload([Read(NODES, keep)], listed)["names"]
    context.check_lock()
    changed, left = versions_in_place.record_machines(context.objects, version, nodes)
    for name, behind in left.items():
        if behind:
            changed.append(f"MachineDeployment {name} keeps its version, for these have another: {', '.join(behind)}")
            continue
        # Before the manifest: a reconcile of the new version without the record would replace the workers, and one of the old version is refused by it.
        changed += versions_in_place.record_deployment(context.objects, name, version, action)
        changed.append(f"manifest: {manifest_update.follow_version(context.arguments, version, name)}")
    for each in changed:
        context.note(each)


REGISTRY: dict[str, Run] = {
    "preflight": preflight,
    "upgradeKubeadm": upgrade_kubeadm,
    "kubeadmUpgradePlan": kubeadm_upgrade_plan,
    "kubeadmUpgradeApply": kubeadm_upgrade_apply,
    "kubeadmUpgradeNode": kubeadm_upgrade_node,
    "upgradeKubeletAndKubectl": upgrade_kubelet_and_kubectl,
    "waitHealthy": health_gate.wait_healthy,
    "restartComponent": restart_component,
    "kubectlDrain": kubectl_drain,
    "kubectlUncordon": kubectl_uncordon,
    "recordWorkers": record_workers,
}
