# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence from the hosts of a hand-made cluster's workers; problems with adoption."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import dataclass

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import read_version, with_v
from ....module_utils.common.values import clip, shortened
from ...documents.names import typed_name
from ...observe.parse import machine_facts
from ...pki.certificates import PkiError, ca_cert_hash
from ..evidence import Host
from ..host_problems import (
    OUT_OF_CLUSTER_API,
    OWN_MACHINE_ID,
    Problem,
    annotated,
    machine_id,
    machines_of_cluster_api,
    node_of,
    same_machine,
)

Object = dict[str, t.Any]
SPARE = "NotAWorker"
_SHOWN = 10


@dataclass
class WorkerHost:
    """Host of a worker, with its Node as the API has it.

    ``deployment`` is the MachineDeployment that it is named for.
    """

    name: str
    deployment: str
    machine: Object
    adoption: Object
    node: t.Optional[Object]


def read_worker(
    name: str, deployment: str, result: t.Mapping[str, t.Any], lead: Host
) -> tuple[t.Optional[WorkerHost], t.Optional[Problem]]:
    """Return a worker's host from its node_adoption_info result, or a problem.

    Args:
        name: the inventory host.
        deployment: the MachineDeployment that it is named for.
        result: what the module returned there.
        lead: a control plane host of the cluster; it has the cluster's CA and Nodes.

    Where it carries nothing at all the problem is ``NotAWorker``: such a host is of no cluster, and may be left out.
    """
    machine, adoption = machine_facts(result.get("observation")), result.get("worker")
    if not isinstance(adoption, dict):
        text = f"it carries a control plane, and MachineDeployment {deployment} has workers alone"
        return None, Problem("ControlPlaneHost", name, text, "Take it out of the group of the workers.")
    carried, own = str(adoption.get("caCertHash") or ""), _ca_of(lead)
    if not carried:
        text = "it carries no worker (kubeadm has joined it to no cluster)"
        return None, Problem(SPARE, name, text, "It is left as it is.")
    if own and carried != own:
        text = f"it carries a cluster with the CA {clip(carried, 100)}, and this cluster's is {own}"
        fix = "Give the hosts of one cluster; adopt the other one under a name of its own."
        return None, Problem("MixedClusters", name, text, fix)
    node = node_of(machine, lead.workload.get("workers") or []) if machine.get("machineID") else None
    if node is None:
        text = (
            f"it carries this cluster's CA, and no worker Node of the cluster has its machine-id {machine.get('machineID') or '(none)'} "
            f"(hostname {machine.get('hostname')})"
        )
        fix = "Look whether its kubelet runs and has registered. Where it is no worker any more, run kubeadm reset there, or take it out of the group."
        return None, Problem("WrongHost", name, text, fix)
    return WorkerHost(name, deployment, machine, adoption, node), None


def _ca_of(lead: Host) -> str:
    try:
        return ca_cert_hash(lead.public.get("ca", ""))
    except PkiError:
        return ""


def worker_problems(
    hosts: t.Sequence[WorkerHost],
    control_plane: t.Sequence[Host],
    hub: t.Mapping[str, t.Any],
    managed: t.Mapping[str, str],
) -> list[Problem]:
    """Return all problems with adopting these hosts as workers.

    Args:
        hosts: the workers' hosts.
        control_plane: those of the control plane.
        hub: kubeadm's configuration of the cluster; it has the control plane's version.
        managed: the MachineDeployments of the workers that have a Machine already, by their Nodes' names.
    """
    names = {each.name for each in hosts}
    # Those of control plane hosts alone are told there.
    found = [each for each in same_machine([*control_plane, *hosts]) if names & set(each.host.split(", "))]
    told = {name for each in found for name in each.host.split(", ")}
    nodes = control_plane[0].workload.get("workers") or []
    new = [each for each in hosts if node_name(each) not in managed]
    found += [each for host in new if host.name not in told for each in _copied(host, nodes)]
    for host in hosts:
        other = managed.get(node_name(host), host.deployment)
        if other != host.deployment:
            text = f"its Node {node_name(host)} is a machine of MachineDeployment {other or '(unknown)'}, and it is named for {host.deployment}"
            fix = "Take it out of the group; a machine stays with its MachineDeployment until it goes."
            found.append(Problem("OtherMachineDeployment", host.name, text, fix))
    version = str((hub.get("clusterConfiguration") or {}).get("kubernetesVersion") or "")
    for host in new:
        found += _skew(host, version)
    return [*found, *_managed(new, control_plane)]


def _copied(host: WorkerHost, nodes: t.Sequence[Object]) -> list[Problem]:
    """Return problems with a host whose machine-id several Nodes have."""
    having = [each for each in nodes if each.get("machineID") == machine_id(host)]
    same = sorted(str(each["name"]) for each in having)
    if len(same) < 2:
        return []
    silent = sorted(
        typed_name(str(each["name"]))
        for each in having
        if each.get("ready") != "True" and each["name"] != node_name(host)
    )
    cause, fix = "one was copied from the other", OWN_MACHINE_ID
    if silent:
        cause += ", or the host had another name before"
        fix = f"If the host had another name before: kubectl delete node {' '.join(silent[:_SHOWN])}. If it was copied: {OWN_MACHINE_ID}"
    text = f"several Nodes of the cluster have its machine-id {machine_id(host)} ({clip(shortened(same, _SHOWN), 1000)}): {cause}"
    return [Problem("WrongHost", host.name, text, fix)]


def named_twice(groups: t.Mapping[str, t.Sequence[str]]) -> list[Problem]:
    """Return problems with hosts of several deployments; hosts by deployment."""
    by_host: dict[str, list[str]] = defaultdict(list)
    for deployment, hosts in sorted(groups.items()):
        for host in hosts:
            by_host[host].append(deployment)
    fix = "A worker belongs to one: give each MachineDeployment a group of its own hosts."
    return [
        Problem("OtherMachineDeployment", host, f"it is named for several MachineDeployments ({', '.join(found)})", fix)
        for host, found in sorted(by_host.items())
        if len(found) > 1
    ]


def node_name(host: WorkerHost) -> str:
    """Return the name of a worker's Node, "" without one."""
    return str((host.node or {}).get("name") or "")


def version_of(host: WorkerHost) -> str:
    """Return the version of a worker's kubelet, as its Node has it."""
    return str((host.node or {}).get("kubeletVersion") or "")


def _skew(host: WorkerHost, control_plane: str) -> list[Problem]:
    own, limit = read_version(version_of(host)), read_version(with_v(control_plane))
    if own is None:
        text = f"its Node tells no version of its kubelet ({version_of(host) or 'none'})"
        return [Problem("VersionSkew", host.name, text, "Look whether its kubelet runs.")]
    if limit is None:
        return []
    if limit < own:
        text = f"its kubelet has version {own}, and the control plane {limit}: workers are never newer"
        fix = "Upgrade the control plane first (kubeadm upgrade), then adopt."
        return [Problem("VersionSkew", host.name, text, fix)]
    behind = kubernetes_facts.kubelet_skew(limit)
    if limit.minors_after(own) > behind:
        text = f"its kubelet has version {own}, and with API servers of {limit} it may be at most {behind} minor versions older"
        return [Problem("VersionSkew", host.name, text, "Upgrade it with kubeadm upgrade node, then adopt.")]
    return []


def _managed(hosts: t.Sequence[WorkerHost], control_plane: t.Sequence[Host]) -> list[Problem]:
    fix = f"Two must never manage one machine. {OUT_OF_CLUSTER_API}"
    found = annotated(hosts, fix)
    by_node = {node_name(each): each.name for each in hosts}
    for each in machines_of_cluster_api(control_plane[0]):
        if each["node"] in by_node:
            text = f"the cluster holds Machine {each['namespace']}/{each['name']} of Cluster API for its Node {each['node']}"
            found.append(Problem("ManagedByClusterAPI", by_node[each["node"]], text, fix))
    return found
