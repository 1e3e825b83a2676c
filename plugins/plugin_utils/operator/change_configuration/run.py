# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that run the commands for configuration changes (docs/reference/kubeadm.md, "Reconfiguring")."""

from __future__ import annotations

import hashlib
import json
import time
import typing as t
from dataclasses import dataclass

from ....module_utils.common import kubernetes_facts, settings
from ....module_utils.common.violations import ManifestError, Report
from ....module_utils.workload_api import compare_and_swap
from ....module_utils.workload_api.api import ADMIN_KUBECONFIG
from ...kubeadm.configuration import patch as configuration_patch
from ...objects import origin
from ...records import control_plane_fields, in_place_changes
from ...records.cluster_objects import CONTROL_PLANE, Object
from ...workload import kubeadm_config_map, kubeadm_document
from ...workload.writes import Objects, Plan, WorkloadError, resource_version
from ..tasks import components, machine_patches
from ..tasks.context import CommandFailure, NotReached, Run, TaskContext
from .plan import affected

MODULE = "node_configuration"
# Of a node's work as a whole: every component may take its time, and so may the way back.
_PARTS = 10
KUBELET_KUBECONFIG = "/etc/kubernetes/kubelet.conf"
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Configuration:
    """ClusterConfiguration before and after a patch.

    It is kept as documents for kubeadm and in the hub form.
    """

    before: Object
    after: Object
    before_hub: Object
    after_hub: Object


def read_configuration(text: str, patch: t.Mapping[str, t.Any], version: str) -> Configuration:
    """Return kubeadm-config's ClusterConfiguration before and after a patch.

    Raises CommandFailure.
    """
    try:
        stored = kubeadm_document.read(text, "clusterConfiguration")
        report = Report("ConfigMap kube-system/kubeadm-config")
        after = configuration_patch.merge_cluster_configuration(stored.hub, patch, "clusterConfiguration", report)
        if report.violations:
            raise ManifestError(report.violations)
        document, _warnings = kubeadm_document.write(stored, after, stored.api, version)
    except (WorkloadError, ManifestError) as error:
        raise CommandFailure(str(error)) from error
    return Configuration(stored.data, document, stored.hub, after)


def check_control_plane(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Check on the node what would change, and note the changes.

    It fails where the node has a reason to refuse them.
    """
    request = _control_plane_request(context, parameters)
    result = context.call(MODULE, {**request, "step": _step(context), "only_compare": True})
    for line in result["changes"]:
        context.note(line)
    if not result["changes"]:
        context.note("already as wanted: nothing would change here")


def change_control_plane(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Change the node's certificates and static pods, or roll back."""
    request = _control_plane_request(context, parameters)
    context.check_lock()
    _work(context, {**request, "timeout": parameters["timeoutSeconds"]}, int(parameters["timeoutSeconds"]))


def record(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Record the changed configuration in kubeadm-config, then in the store.

    The store's objects are the control plane and its machines.
    """
    version = _version(context)
    configuration = _configuration(context, parameters["patch"])

    def plan(objects: Objects) -> Plan:
        item = objects[kubeadm_config_map.PATH]
        text = ((item or {}).get("data") or {}).get(kubeadm_config_map.CLUSTER_CONFIGURATION)
        if item is None or not text:
            raise WorkloadError(f"{kubeadm_document.OBJECT} is gone; nothing was written.")
        stored = kubeadm_document.read(text, "clusterConfiguration")
        if stored.hub == configuration.after_hub:
            return Plan("already: kubeadm-config says it")
        if stored.hub != configuration.before_hub:
            told = "; ".join(
                configuration_patch.changes(configuration.before_hub, stored.hub, "clusterConfiguration")[:5]
            )
            raise WorkloadError(
                f"{kubeadm_document.OBJECT} was changed by another client since this Action started ({told}); it was not written over. "
                "Look who did that; abort this Action and make a new one."
            )
        document, warnings = kubeadm_document.write(stored, configuration.after_hub, stored.api, version)
        data = {kubeadm_config_map.CLUSTER_CONFIGURATION: kubeadm_document.text(document)}
        write = compare_and_swap.Write(
            kubeadm_config_map.PATH, compare_and_swap.MERGE, {"data": data}, resource_version(item)
        )
        return Plan("kubeadm-config written", (write,), warnings=tuple(warnings))

    context.note(str(context.workload(kubeadm_config_map.READS, plan)["msg"]))
    for line in _follow(context, parameters["patch"]):
        context.note(line)


def check_kubelet(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Check on the node whether its kubelet would take the change."""
    request = _kubelet_request(context, parameters["fields"], parameters)
    for line in context.call(MODULE, {**request, "step": _step(context), "only_compare": True})["changes"]:
        context.note(line)


def change_kubelet(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Change the kubelets' ConfigMap, then this node's kubelet.

    Where the kubelet does not become healthy, both are rolled back.
    """
    version = _version(context)
    text = str(context.plan_facts.get("kubeletConfiguration") or "")
    try:
        change = components.Change.of("KubeletConfiguration", text, parameters["patch"])
    except WorkloadError as error:
        raise CommandFailure(str(error)) from error
    reads = components.kubelet_reads(version)
    context.note(str(context.workload(reads, components.kubelet_plan(change, version))["msg"]))
    fields = configuration_patch.fields_of(parameters["patch"])
    request = _kubelet_request(context, fields, parameters)
    context.check_lock()
    try:
        _work(context, {**request, "timeout": parameters["timeoutSeconds"]}, int(parameters["timeoutSeconds"]))
    except Refused as error:
        back = components.kubelet_plan(change.reversed(), version)
        try:
            said = str(context.workload(reads, back)["msg"])
        except CommandFailure as second:
            raise CommandFailure(f"{error} The ConfigMap still says what is new: {second}") from second
        context.note(f"taken back: {said}")
        raise CommandFailure(
            f"{error} Its ConfigMap is as before, too; Nodes that were changed before this one keep what is new. Correct the change, or retry."
        ) from error
    if not context.workload(reads, components.kubelet_says(change, version))["says"]:
        # Beside it, another Node has failed and taken the ConfigMap back: this one may have read either.
        raise CommandFailure(
            f"Node {context.node.name}: the kubelets' ConfigMap was taken back meanwhile, for another Node did not work with it. "
            "Mend that one first, then retry both."
        )


def change_kube_proxy(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
    """Change kube-proxy's ConfigMap and its pods, machine by machine.

    Where a pod does not stay up, everything is rolled back.
    """
    text = str(context.plan_facts.get("kubeProxyConfiguration") or "")
    seconds = int(parameters["timeoutSeconds"])
    try:
        change = components.Change.of("KubeProxyConfiguration", text, parameters["patch"])
    except WorkloadError as error:
        raise CommandFailure(str(error)) from error
    done = context.workload(components.PROXY_READS, components.proxy_plan(change))
    context.note(str(done["msg"]))
    progress = _rolled_out(context, seconds)
    if progress is None:
        context.workload(components.PROXY_READS, components.proxy_settled)
        return
    back = components.proxy_plan(change.reversed())
    context.workload(components.PROXY_READS, back)
    left = _rolled_out(context, seconds)
    context.workload(components.PROXY_READS, components.proxy_settled)
    after = "Everything was put back as it was, and runs." if left is None else f"It was put back, and then: {left}."
    raise CommandFailure(
        f"kube-proxy did not stay up with the changed configuration within {seconds} s ({progress}). {after} Then "
        "look at its pods: kubectl -n kube-system logs -l k8s-app=kube-proxy --previous."
    )


class Refused(CommandFailure):
    """Refusal of a change, as the node reported; nothing continues there."""


def _rolled_out(context: TaskContext, seconds: int) -> t.Optional[str]:
    """Wait until kube-proxy's rollout is complete; else return its progress.

    It is complete, and None returned, when all pods are new and stay up.
    """
    waiting = context.plugin.waiting(context.cluster, seconds)
    while True:
        seen = context.workload(components.PROXY_READS, components.proxy_progress)
        if seen["rolledOut"]:
            return None
        if not waiting.again(str(seen["progress"]), 1.0):
            return str(seen["progress"])


def _work(context: TaskContext, request: t.Mapping[str, t.Any], seconds: int) -> None:
    """Run a change on a node and wait for its end.

    It is found again by its step's name after a kill.
    """
    call = {
        **request,
        "step": _step(context),
        "fencing": context.fencing,
        "wait": settings.WAITING_CALL_SECONDS,
        "fail_after_rollback": False,
    }
    waiting = context.plugin.waiting(context.cluster, seconds * _PARTS)
    heard = time.monotonic()
    while True:
        try:
            result = context.call(MODULE, call)
        except NotReached as error:
            # Its unit goes on without us; a network that comes back is not a failure of the change.
            if time.monotonic() - heard > settings.SILENCE_SECONDS:
                raise
            waiting.again(str(error), 2.0)
            continue
        except CommandFailure as error:
            raise Refused(str(error)) from error
        heard = time.monotonic()
        if result["state"] != "Running":
            break
        if not waiting.again(f"{context.node.name}: {result['stage'] or 'begins'}", 0.2):
            raise CommandFailure(
                f"Node {context.node.name}: the change has not ended within {seconds * _PARTS} s. Look at it, then retry."
            )
    for line in result["changes"]:
        context.note(line)
    if result["state"] == "Succeeded":
        if not result["changes"]:
            context.note("already as wanted: nothing was changed here")
        return
    name = context.node.name
    if result["state"] == "RolledBack":
        raise Refused(
            f"Node {name}: the changed configuration did not work: {result['message']} This Node was put back as it was and is healthy; "
            "no other was touched by it."
        )
    raise Refused(
        f"Node {name}: the changed configuration did not work: {result['message']} Look at this machine NOW. What was in use before is "
        f"in {result['folder']}/backup there, and stays there for a retry. After an abort, put it back by hand before another Action is made."
    )


def _control_plane_request(context: TaskContext, parameters: t.Mapping[str, t.Any]) -> Object:
    configuration = _configuration(context, parameters["patch"])
    return {
        "work": "control_plane",
        "node": context.node.name,
        "configuration": json.dumps(configuration.after),
        "previous": json.dumps(configuration.before),
        "components": list(parameters["components"]),
        "certificates": list(parameters["certificates"]),
        "manual_changes": parameters["manualChanges"],
        "patches": machine_patches.directory(context.objects, context.node.machine) or None,
    }


def _kubelet_request(context: TaskContext, fields: t.Sequence[str], parameters: t.Mapping[str, t.Any]) -> Object:
    return {
        "work": "kubelet",
        "node": context.node.name,
        "fields": list(fields),
        "manual_changes": parameters["manualChanges"],
        "kubeconfig": ADMIN_KUBECONFIG if context.node.control_plane else KUBELET_KUBECONFIG,
        "patches": (machine_patches.directory(context.objects, context.node.machine) or None)
        if "kubeletconfiguration" in kubernetes_facts.patch_targets(_version(context))
        else None,
    }


def _configuration(context: TaskContext, patch: t.Mapping[str, t.Any]) -> Configuration:
    text = str(context.plan_facts.get("clusterConfiguration") or "")
    if not text:
        raise CommandFailure(
            "what kubeadm-config held when this began is not known; nothing was changed. Abort this Action and start it again."
        )
    return read_configuration(text, patch, _version(context))


def _version(context: TaskContext) -> str:
    return str(context.plan_facts["kubernetesVersion"])


def _step(context: TaskContext) -> str:
    """Return the step's name, the same for every call of this command.

    No other command has the same name.
    """
    metadata = context.task["metadata"]
    key = json.dumps([origin.uid(context.task) or None, metadata["name"], context.index])
    return f"{metadata['name'][:_LONGEST_NAME]}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _follow(context: TaskContext, patch: t.Mapping[str, t.Any]) -> list[str]:
    """Record the change in the store, so that no rollout follows.

    The objects are the machines' configurations and the stored control plane. Returns texts of what was recorded and of
    what is left.
    """
    wanted = dict(patch)
    _components, certificates = affected(wanted, bool(context.plan_facts.get("externalEtcd")))
    try:
        kind = f"{context.action['metadata']['name']} (changeConfiguration)"
        lines = in_place_changes.record_configuration(context.objects, wanted, bool(certificates), kind)
    except ManifestError as error:
        raise CommandFailure(f"the store's objects can't say it: {error}") from error
    left = _manifest_text(context, wanted)
    return (lines or ["already recorded in the store"]) + ([left] if left else [])


def _manifest_text(context: TaskContext, patch: t.Mapping[str, t.Any]) -> str:
    """Return the sections that the user has to write in the manifest.

    They are in the form that its API version has; "" where there is no manifest.
    """
    manifests = context.arguments.get("manifests") or []
    names = (context.objects.namespace, context.cluster)
    document = control_plane_fields.control_plane_document(manifests, *names) if manifests else None
    if document is None or context.objects.control_plane is None:
        return ""
    name = str(context.objects.control_plane["metadata"]["name"])
    stored = context.objects.store.get(CONTROL_PLANE, context.objects.namespace, name) or context.objects.control_plane
    config = (stored["spec"].get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
    sections = {key: config.get(key) for key in patch}
    if not document.api_version.endswith("/v1beta2"):
        sections = configuration_patch.classic(sections)
    text = kubeadm_document.text(configuration_patch.without_secrets(sections))
    return (
        f"manifest: {document.file}: write these sections of spec.kubeadmConfigSpec.clusterConfiguration like this (null: not at all) before "
        f"the next reconcile, which refuses the old ones:\n{text}"
    )


REGISTRY: dict[str, Run] = {
    "checkControlPlaneConfiguration": check_control_plane,
    "changeControlPlaneConfiguration": change_control_plane,
    "recordClusterConfiguration": record,
    "checkKubeletConfiguration": check_kubelet,
    "changeKubeletConfiguration": change_kubelet,
    "changeKubeProxyConfiguration": change_kube_proxy,
}
