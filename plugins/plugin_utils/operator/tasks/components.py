# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patches of the kubelets' and kube-proxy's configuration in their ConfigMaps.

The text is kept as it was written but for the patch. A ConfigMap that another client has changed since the Action
started is not overwritten.
"""

from __future__ import annotations

import functools
import hashlib
import json
import typing as t
from dataclasses import dataclass

from ....module_utils.common import kubernetes_facts, settings
from ....module_utils.workload_api import compare_and_swap
from ...kubeadm.configuration import patch as configuration_patch
from ...objects import kinds
from ...workload import kubeadm_config_map, kubeadm_document, kubelet_config_map
from ...workload.writes import Objects, Plan, WorkloadError, resource_version

Object = dict[str, t.Any]
KUBE_PROXY = f"{kubelet_config_map.CONFIG_MAPS}/kube-proxy"
DAEMON_SET = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
# On the pods: of which configuration they are. On the DaemonSet, while they change: its minReadySeconds before.
ANNOTATION_CONFIGURATION = kinds.ANNOTATION_PREFIX + "configuration"
ANNOTATION_MIN_READY = kinds.ANNOTATION_PREFIX + "min-ready-seconds-before"
_DAEMON_SET_READ = compare_and_swap.Read(
    DAEMON_SET,
    (
        "metadata.generation",
        f"metadata.annotations[{ANNOTATION_MIN_READY}]",
        "spec.minReadySeconds",
        "spec.updateStrategy",
        f"spec.template.metadata.annotations[{ANNOTATION_CONFIGURATION}]",
        "status",
    ),
)
PROXY_READS = (compare_and_swap.Read(KUBE_PROXY, ("data",)), _DAEMON_SET_READ)


@dataclass(frozen=True)
class Change:
    """Change of a configuration: its documents before and after a patch.

    ``kind`` is the document's.
    """

    kind: str
    before: t.Mapping[str, t.Any]
    after: t.Mapping[str, t.Any]

    @classmethod
    def of(cls, kind: str, text: str, patch: t.Mapping[str, t.Any]) -> Change:
        """Return the change that a patch makes to a text.

        Raises WorkloadError where the text can't be read.
        """
        try:
            before = configuration_patch.read_component(text, kind)
        except configuration_patch.UnreadableConfiguration as error:
            raise WorkloadError(f"the cluster's {kind} can't be read: {error}.") from error
        return cls(kind, before, configuration_patch.merge(before, patch))

    def reversed(self) -> Change:
        """Return the reverse change, for a rollback."""
        return Change(self.kind, self.after, self.before)

    def text_for(self, text: str, where: str) -> t.Optional[str]:
        """Return the changed text; None where the change is made already.

        Raises:
            WorkloadError: the text is neither the document before the change nor the one after it.
        """
        present = configuration_patch.read_component(text, self.kind)
        if present == self.after:
            return None
        if present != self.before:
            told = "; ".join(configuration_patch.changes(self.before, present, self.kind)[:5])
            raise WorkloadError(
                f"{where} was changed by another client since this Action started ({told}); it was not written over. Look who did that; "
                "abort this Action and make a new one."
            )
        return kubeadm_document.text(self.after)


def kubelet_reads(version: str) -> tuple[compare_and_swap.Read, ...]:
    """Return the reads that :func:`kubelet_plan` needs."""
    names = kubernetes_facts.kubelet_config_map_names(version)
    return (
        *kubeadm_config_map.READS,
        *(compare_and_swap.Read(f"{kubelet_config_map.CONFIG_MAPS}/{name}", ("data",)) for name in names),
    )


def kubelet_plan(change: Change, version: str) -> t.Callable[[Objects], Plan]:
    """Return the planner that writes the kubelets' ConfigMap.

    The ConfigMap has the name that kubeadm of this version uses.
    """
    return functools.partial(_kubelet_plan, change=change, version=version)


def _kubelet_plan(objects: Objects, change: Change, version: str) -> Plan:
    item = objects.get(kubeadm_config_map.PATH) or {}
    stored = str((item.get("data") or {}).get(kubeadm_config_map.CLUSTER_CONFIGURATION) or "")
    gates = configuration_patch.read_cluster_configuration(stored).hub.get("featureGates") or {} if stored else {}
    name = kubernetes_facts.kubelet_config_map_name(version, gates)
    return _config_map_plan(objects, f"{kubelet_config_map.CONFIG_MAPS}/{name}", "kubelet", change)


def kubelet_says(change: Change, version: str) -> t.Callable[[Objects], Plan]:
    """Return a planner that checks whether the kubelets' ConfigMap has the change.

    It writes nothing; the answer is the fact ``says``.
    """

    def look(objects: Objects) -> Plan:
        plan = _kubelet_plan(objects, change, version)
        return Plan(plan.message, facts={"says": not plan.writes})

    return look


def _config_map_plan(objects: Objects, path: str, key: str, change: Change) -> Plan:
    name = path.rpartition("/")[2]
    item = objects.get(path)
    text = ((item or {}).get("data") or {}).get(key)
    if item is None or not text:
        raise WorkloadError(f"there is no ConfigMap kube-system/{name} with a key {key}; nothing was written.")
    written = change.text_for(str(text), f"ConfigMap kube-system/{name}")
    if written is None:
        return Plan(f"ConfigMap kube-system/{name} says it already")
    write = compare_and_swap.Write(path, compare_and_swap.MERGE, {"data": {key: written}}, resource_version(item))
    return Plan(f"ConfigMap kube-system/{name} written", (write,))


def proxy_plan(change: Change) -> t.Callable[[Objects], Plan]:
    """Return the planner that writes kube-proxy's ConfigMap and restarts its pods.

    The pods restart one machine after the other.
    """
    return functools.partial(_proxy_plan, change=change)


def _proxy_plan(objects: Objects, change: Change) -> Plan:
    plan = _config_map_plan(objects, KUBE_PROXY, "config.conf", change)
    item = objects.get(DAEMON_SET)
    if item is None:
        raise WorkloadError(
            "there is no DaemonSet kube-system/kube-proxy, whose pods would use it; nothing was written."
        )
    spec, metadata = item.get("spec") or {}, item.get("metadata") or {}
    if (spec.get("updateStrategy") or {}).get("type") == "OnDelete":
        raise WorkloadError(
            "the DaemonSet kube-system/kube-proxy has the update strategy OnDelete: its pods change only when they are deleted. "
            "Nothing was written. Set RollingUpdate, with maxUnavailable 1."
        )
    wanted = digest(change.after)
    own = (((spec.get("template") or {}).get("metadata") or {}).get("annotations") or {}).get(ANNOTATION_CONFIGURATION)
    known = {"generation": int(metadata.get("generation") or 0)}
    if own == wanted:
        return Plan(plan.message, plan.writes, facts=known)
    document: Object = {"spec": {"template": {"metadata": {"annotations": {ANNOTATION_CONFIGURATION: wanted}}}}}
    present = int(spec.get("minReadySeconds") or 0)
    if present < settings.KUBE_PROXY_READY_SECONDS:
        document["spec"]["minReadySeconds"] = settings.KUBE_PROXY_READY_SECONDS
        document["metadata"] = {"annotations": {ANNOTATION_MIN_READY: str(present)}}
    write = compare_and_swap.Write(DAEMON_SET, compare_and_swap.STRATEGIC, document, resource_version(item))
    return Plan(f"{plan.message}; its pods are restarted", (*plan.writes, write), facts=known)


def proxy_settled(objects: Objects) -> Plan:
    """Return the plan that restores minReadySeconds of kube-proxy's DaemonSet.

    Its write restarts no pod.
    """
    item = objects.get(DAEMON_SET) or {}
    before = ((item.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION_MIN_READY)
    if before is None:
        return Plan("the DaemonSet kube-system/kube-proxy is as it was")
    document: Object = {"metadata": {"annotations": {ANNOTATION_MIN_READY: None}}}
    # After an Action was given up half-way, another client may have set it: then it is that client's.
    if (item.get("spec") or {}).get("minReadySeconds") == settings.KUBE_PROXY_READY_SECONDS:
        seconds = int(before) if str(before).isdecimal() and len(str(before)) < 10 else 0
        document["spec"] = {"minReadySeconds": seconds}
    write = compare_and_swap.Write(DAEMON_SET, compare_and_swap.STRATEGIC, document, resource_version(item))
    return Plan("minReadySeconds of kube-proxy taken back", (write,))


def proxy_progress(objects: Objects) -> Plan:
    """Return the progress of kube-proxy's rollout as facts, without writes.

    The facts are ``rolledOut`` and ``progress``.
    """
    item = objects.get(DAEMON_SET) or {}
    status = item.get("status") or {}
    wanted, updated, available = (
        int(status.get(name) or 0) for name in ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    )
    seen = int(status.get("observedGeneration") or 0) >= int((item.get("metadata") or {}).get("generation") or 0)
    rolled_out = seen and updated == wanted and available == wanted
    text = f"{updated} of {wanted} pods of kube-proxy are new, {available} run for {settings.KUBE_PROXY_READY_SECONDS} s or longer"
    return Plan(text, facts={"rolledOut": rolled_out, "progress": text})


def digest(document: t.Mapping[str, t.Any]) -> str:
    """Return a short digest that identifies a configuration."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
