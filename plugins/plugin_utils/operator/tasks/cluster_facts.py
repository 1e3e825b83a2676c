# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the cluster for planners, gathered from its API and nodes.

They are all its Nodes with the workers, how each is reached, and the cluster's own configuration.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ....module_utils.common.kubernetes_versions import read_version
from ....module_utils.common.values import condition_of, now_rfc3339
from ....module_utils.workload_api.compare_and_swap import Read
from ...calls.machine_connection import Answer, Machine, MachineCaller
from ...documents.names import is_dns_subdomain
from ...objects import actions, kinds
from ...objects.conditions import READY
from ...observe.observation import observe
from ...records.cluster_objects import ClusterObjects, Object
from ...records.machine_objects import node_name
from ...records.workers import versions_in_place
from ...workload import swap
from .. import freeze
from ..matching import NodeNow
from ..node_selector import ROLE_LABELS
from ..planner_types import EXTRA_NOW, ClusterFacts, NodeFacts
from . import machine_patches
from .context import reach

NODES = "/api/v1/nodes"
_CONFIG = "/api/v1/namespaces/kube-system/configmaps/"
_KEEP = (
    "items[].metadata.name",
    "items[].metadata.labels",
    "items[].spec.unschedulable",
    "items[].status.nodeInfo.kubeletVersion",
    "items[].status.nodeInfo.machineID",
    "items[].status.nodeInfo.osImage",
    "items[].status.conditions[].type",
    "items[].status.conditions[].status",
)
# How a program of nobody is asked after: any call tells whether a machine answers, and which one it is.
_LOOK = {"name": "look"}


class Facts:
    """Collection of the facts that planners need of a cluster.

    Args:
        cluster_objects: the cluster's objects in the store.
        caller: reaches machines.
        hosts: the hosts of the inventory group of its workers.
    """

    def __init__(self, cluster_objects: ClusterObjects, caller: MachineCaller, hosts: t.Sequence[str]) -> None:
        self._objects = cluster_objects
        self._caller = caller
        self._hosts = tuple(hosts)

    def gather(self, root: Object) -> ClusterFacts:
        """Return the facts for an Action, with every needed Node probed."""
        workload = observe(self._objects, self._caller, now_rfc3339(), look_again=False)["workload"]
        facts = self._online(workload) if workload.get("reachable") else self._offline()
        asked = {"renewCertificates": facts.nodes, "rotateCertificateAuthorities": facts.control_plane_nodes}
        facts = dataclasses.replace(facts, certificates=self._certificates(asked.get(actions.what(root), ())))
        return self._probed(root, facts)

    def _online(self, workload: Object) -> ClusterFacts:
        versions = {name: _image_version(pods) for name, pods in workload["pods"].items()}
        lowest = _lowest([each for each in versions.values() if each])
        minor = read_version(lowest)
        kubelet = [_CONFIG + "kubelet-config"]
        kubelet += [f"{_CONFIG}kubelet-config-{minor.major}.{minor.minor}"] if minor else []
        names = [_CONFIG + "kubeadm-config", _CONFIG + "kube-proxy", *kubelet]
        dns = [_CONFIG + "coredns", _CONFIG + "kube-dns"]
        via = str(workload["via"])

        def ask(name: str, call: dict[str, t.Any]) -> Answer:
            return self._caller.call(self._objects.reach(name), swap.MODULE, call)

        found = swap.read(
            swap.through(ask, [via]), [Read(NODES, _KEEP), *(Read(each, ("data",)) for each in (*names, *dns))]
        )
        data = {path: ((found.get(path) or {}).get("data") or {}) for path in names}
        items = (found[NODES] or {}).get("items") or []
        for name in (str(each["metadata"]["name"]) for each in items):
            if not is_dns_subdomain(name):
                # Nothing else keeps it out of paths, hosts' names and commands.
                raise swap.SwapFailure(
                    f"the API server on {via} has a Node named {name[:80]!r}, which no Kubernetes allows"
                )
        nodes = [self._node(each, versions) for each in items]
        held = [str(each["metadata"]["name"]) for each in items if (each.get("spec") or {}).get("unschedulable")]
        own_kubelet = next((data[each]["kubelet"] for each in reversed(kubelet) if data[each].get("kubelet")), "")
        return ClusterFacts(
            cluster=self._objects.name,
            kubernetes_version=lowest,
            nodes=tuple(sorted(nodes, key=lambda each: each.name)),
            cluster_configuration=str(data[_CONFIG + "kubeadm-config"].get("ClusterConfiguration") or ""),
            kubelet_configuration=str(own_kubelet),
            kube_proxy_configuration=str(data[_CONFIG + "kube-proxy"].get("config.conf") or ""),
            external_etcd=self._external_etcd(),
            etcd_versions=_etcd_versions(workload.get("etcd") or {}),
            extra={
                **self._extra(),
                "unschedulable": sorted(held),
                "withoutDns": not any(found.get(each) for each in dns),
            },
        )

    def _node(self, item: Object, versions: t.Mapping[str, str]) -> NodeFacts:
        metadata, status = item["metadata"], item.get("status") or {}
        info = status.get("nodeInfo") or {}
        name = str(metadata["name"])
        found = self._machine(name, str(info.get("machineID") or ""))
        machine = str(found["metadata"]["name"]) if found else ""
        # What a Node says of its deployment is anybody's word; its Machine knows.
        labels = {**(metadata.get("labels") or {}), **(_deployment_of(found) if found else {})}
        # A Node that is a host of the user's own: a worker, or a control plane node that the store doesn't know.
        host = name if name in self._hosts and not machine else ""
        return NodeFacts(
            name=name,
            control_plane=any(each in labels for each in ROLE_LABELS),
            labels=labels,
            kubelet_version=str(info.get("kubeletVersion") or ""),
            api_server_version=versions.get(name, ""),
            ready=condition_of(item, READY).get("status") == "True",
            machine=machine,
            inventory_host=host,
            reachable=bool(machine or host),
            machine_id=str(info.get("machineID") or ""),
            os_image=str(info.get("osImage") or ""),
            patches=machine_patches.directory(self._objects, machine),
            deleting=found is not None and _is_deleted(found),
        )

    def _machine(self, node: str, machine_id: str) -> t.Optional[Object]:
        """Return a Node's Machine by its machine-id, else by its name."""
        known = [*self._objects.machines, *self._objects.workers]
        for each in known:
            status = each.get("status") or {}
            if machine_id and status.get("machineID") == machine_id:
                return each
        for each in known:
            if ((each.get("status") or {}).get("nodeRef") or {}).get("name") == node:
                return each
        return None

    def _offline(self) -> ClusterFacts:
        """Return the facts of a cluster whose API does not answer.

        The Nodes of Machines come from the store, other workers from the inventory.
        """
        nodes = [self._unasked(each, True) for each in self._objects.bootstrapped_machines()]
        nodes += [self._unasked(each, False) for each in self._objects.bootstrapped_workers()]
        known = {each.name for each in nodes}
        nodes += [
            NodeFacts(name=host, control_plane=False, ready=False, inventory_host=host)
            for host in self._hosts
            if host not in known
        ]
        return ClusterFacts(
            cluster=self._objects.name,
            kubernetes_version=_lowest([each.api_server_version for each in nodes if each.api_server_version]),
            nodes=tuple(sorted(nodes, key=lambda each: each.name)),
            external_etcd=self._external_etcd(),
            api_answers=False,
            extra=self._extra(),
        )

    def _unasked(self, machine: Object, control_plane: bool) -> NodeFacts:
        """Return a Machine's Node as the store has it."""
        name, version = str(machine["metadata"]["name"]), str(machine["spec"].get("version") or "")
        return NodeFacts(
            name=node_name(self._objects, machine),
            control_plane=control_plane,
            labels=dict.fromkeys(ROLE_LABELS, "") if control_plane else _deployment_of(machine),
            kubelet_version=version,
            api_server_version=version if control_plane else "",
            ready=False,
            machine=name,
            machine_id=str((machine.get("status") or {}).get("machineID") or ""),
            deleting=_is_deleted(machine),
        )

    def _external_etcd(self) -> bool:
        config = ((self._objects.control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
        return bool(((config.get("clusterConfiguration") or {}).get("etcd") or {}).get("external"))

    def _extra(self) -> Object:
        """Return additional facts: ignored preflight errors, recorded version, and time.

        The machines were made with these errors ignored, and an upgrade needs that again.
        """
        ignored: set[str] = set()
        for machine in self._objects.machines:
            name = str(machine["metadata"]["name"])
            image = (self._objects.infrastructure_machines.get(name) or {}).get("status", {}).get("kubeadm") or {}
            ignored.update(image.get("ignorePreflightErrors") or [])
            spec = (self._objects.kubeadm_configs.get(name) or {}).get("spec") or {}
            for section in ("initConfiguration", "joinConfiguration"):
                own = spec.get(section) or {}
                ignored.update((own.get("nodeRegistration") or {}).get("ignorePreflightErrors") or [])
        return {
            EXTRA_NOW: now_rfc3339(),
            "ignorePreflightErrors": sorted(ignored),
            "deployments": versions_in_place.recorded(self._objects),
            "recordedVersion": str(((self._objects.control_plane or {}).get("spec") or {}).get("version") or ""),
        }

    def _certificates(self, nodes: t.Sequence[NodeFacts]) -> dict[str, str]:
        """Return the expiry times of these Nodes' certificates.

        A Node that is not reached has none. They go by "<Node>/<kubeadm's name>"; the workers' kubelets' certificates are included.
        """
        found: dict[str, str] = {}
        for node in nodes:
            if not node.machine and not node.inventory_host:
                continue
            answer = self._caller.call(reach(self._objects, node), "kubeadm_certificates", {})
            known = {} if answer.failed else answer.result.get("certificates") or {}
            found.update({f"{node.name}/{name}": str(end) for name, end in known.items() if end})
        return found

    def _probed(self, root: Object, facts: ClusterFacts) -> ClusterFacts:
        """Return the facts with every Node of the plan probed.

        The probe gives whether the Node's machine answers, and its machine-id.
        """
        wanted = {name for each in freeze.group_plans(root, facts) for name in each.nodes}
        why: dict[str, str] = {}
        nodes = []
        for node in facts.nodes:
            if node.name in wanted:
                node, reason = self._probe(node)
                if reason:
                    why[node.name] = reason
            nodes.append(node)
        extra = {**facts.extra, **({"unreachable": why} if why else {})}
        return dataclasses.replace(facts, nodes=tuple(nodes), extra=extra)

    def _probe(self, node: NodeFacts) -> tuple[NodeFacts, str]:
        if not node.machine and not node.inventory_host:
            return dataclasses.replace(node, reachable=False), ""
        answer = self._caller.call(reach(self._objects, node), "node_command", dict(_LOOK))
        if answer.failed:
            return dataclasses.replace(node, reachable=False), answer.message
        return dataclasses.replace(node, reachable=True, machine_id=str(answer.result["actual_machine_id"])), ""


def nodes_now(
    cluster_objects: ClusterObjects, caller: MachineCaller, nodes: t.Sequence[NodeFacts]
) -> t.Optional[tuple[NodeNow, ...]]:
    """Return the cluster's present Nodes; None where no API answers.

    A control plane Node of the plan is asked.
    """

    def ask(name: str, call: dict[str, t.Any]) -> Answer:
        node = next(each for each in nodes if each.name == name)
        return caller.call(reach(cluster_objects, node), swap.MODULE, call)

    names = [each.name for each in nodes if each.control_plane]
    try:
        keep = ("items[].metadata.name", "items[].metadata.labels")
        found = swap.read(swap.through(ask, names), [Read(NODES, keep)])[NODES]
    except swap.SwapFailure:
        return None
    if found is None:
        return None
    return tuple(
        NodeNow(
            str(each["metadata"]["name"]),
            any(label in (each["metadata"].get("labels") or {}) for label in ROLE_LABELS),
        )
        for each in found.get("items") or []
    )


def _deployment_of(machine: Object) -> dict[str, str]:
    """Return a Machine's label with its MachineDeployment, {} without one."""
    found = (machine["metadata"].get("labels") or {}).get(kinds.LABEL_DEPLOYMENT_NAME)
    return {} if found is None else {kinds.LABEL_DEPLOYMENT_NAME: str(found)}


def _is_deleted(machine: Object) -> bool:
    """Return whether a Machine is marked for deletion."""
    return bool(machine["metadata"].get("deletionTimestamp"))


def _image_version(pods: Object) -> str:
    image = str((pods.get("kube-apiserver") or {}).get("image") or "")
    found = re.search(r":(v\d+\.\d+\.\d+[^@]*)", image)
    return found.group(1).replace("_", "+") if found else ""


def _etcd_versions(etcd: Object) -> dict[str, str]:
    """Return each etcd member's version by its name, the Node's name."""
    statuses = etcd.get("statuses") or {}
    found = {
        str(each.get("name")): (statuses.get(each["id"]) or {}).get("version") for each in etcd.get("members") or []
    }
    return {name: str(version) for name, version in found.items() if name and version}


def _lowest(versions: t.Sequence[str]) -> str:
    known = [(parsed, each) for each in versions if (parsed := read_version(each)) is not None]
    return min(known)[1] if known else ""


__all__ = ["Facts", "Machine", "nodes_now"]
