# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of a hand-made cluster, and the problems that any may have."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import dataclass

from ...module_utils.common.values import clip
from ..management.recognition import is_ours

Object = dict[str, t.Any]
SILENT = "HostUnreachable"
CLAIM_FILE = "/var/lib/kubeadm-control-plane/claim.json"
OUT_OF_CLUSTER_API = (
    "Take it out of Cluster API first (pause its Cluster, remove that one's Machine objects without deleting machines, then kubectl annotate node NODE "
    "cluster.x-k8s.io/machine-). Never remove a Machine of another cluster: its machine would be deleted as unwanted."
)
OWN_MACHINE_ID = (
    "A machine is identified by its machine-id. Give the copy one of its own, never a host that is a machine of a store: "
    "systemd-id128 new > /etc/machine-id, and restart kubelet."
)
_MACHINE_ANNOTATION = "cluster.x-k8s.io/machine"


@dataclass(frozen=True)
class Problem:
    """Problem with adopting a control plane.

    It has a stable name, the host ("" for all), what is wrong, and the remedy.
    """

    reason: str
    host: str
    message: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.host}: " if self.host else ""
        return f"{self.reason}: {where}{self.message}. {self.fix}"


class AnyHost(t.Protocol):
    """Host that becomes a machine, of the control plane or a worker.

    ``adoption`` has its ``claim``, what it lacks (``missing``) and its ``kubeletArguments``; ``node`` is its Node.
    """

    name: str
    adoption: Object

    @property
    def machine(self) -> Object:
        """Facts of the host itself."""

    @property
    def node(self) -> t.Optional[Object]:
        """Node of this host, or None."""


def machine_id(host: AnyHost) -> str:
    """Return the machine-id of the host itself, "" where it told none."""
    return str(host.machine.get("machineID") or "")


def node_of(machine: t.Mapping[str, t.Any], nodes: t.Sequence[Object]) -> t.Optional[Object]:
    """Return the Node of a host, by its machine-id, or None."""
    own = [each for each in nodes if each.get("machineID") == str(machine.get("machineID") or "")]
    # Machine-ids that are there twice are a problem of its own; the host's name tells which is meant.
    named = [each for each in own if each["name"] == machine.get("hostname")]
    return next(iter([*named, *own]), None)


def without_spares(
    wrong: t.Sequence[Problem], spare: str, all_known: bool
) -> tuple[list[Problem], list[tuple[str, str]]]:
    """Return the problems that matter, and notes on hosts left out.

    Each note comes with its host's name.

    Args:
        wrong: problems with hosts that are not adopted.
        spare: the reason of a host that carries nothing of the kind, and is left out.
        all_known: whether every Node has a host or a Machine: a host that is silent matters only while one has none.
    """
    left = [each for each in wrong if each.reason == spare or (each.reason == SILENT and all_known)]
    notes = [(each.host, f"left out: {each.host}: {each.message}") for each in left]
    return [each for each in wrong if each not in left], notes


def same_machine(hosts: t.Sequence[AnyHost]) -> list[Problem]:
    """Return problems with hosts that are one machine, or copies of one."""
    found = []
    by_identity: dict[str, list[AnyHost]] = defaultdict(list)
    for host in hosts:
        by_identity[machine_id(host)].append(host)
    for identity, same in sorted(by_identity.items()):
        if len(same) < 2:
            continue
        names = ", ".join(host.name for host in same)
        if len({host.machine.get("bootID") for host in same}) < len(same):
            text = f"these names lead to one and the same machine ({same[0].machine.get('hostname')}, machine-id {identity})"
            fix = "Correct ansible_host in the inventory: each of them must lead to a machine of its own."
            found.append(Problem("WrongHost", names, text, fix))
        else:
            text = f"these are different machines with one machine-id ({identity}): one was copied from the other"
            found.append(Problem("WrongHost", names, text, OWN_MACHINE_ID))
    return found


def machines_of_cluster_api(host: t.Any) -> list[Object]:
    """Return Cluster API's Machines in the cluster of a host.

    None where the definitions are this collection's: no controller is at work there, and another cluster's Machines may have Nodes of the same names.
    """
    api = host.adoption.get("clusterAPI") or {}
    return [] if is_ours(api.get("definition") or {}) else list(api.get("machines") or [])


def annotated(hosts: t.Sequence[AnyHost], fix: str) -> list[Problem]:
    """Return problems with Nodes that Cluster API's annotation says are its own."""
    found = []
    for host in hosts:
        owner = ((host.node or {}).get("annotations") or {}).get(_MACHINE_ANNOTATION)
        if owner:
            text = f"its Node belongs to Machine {owner} of Cluster API (annotation {_MACHINE_ANNOTATION})"
            found.append(Problem("ManagedByClusterAPI", host.name, text, fix))
    return found


def unfit(hosts: t.Sequence[AnyHost], claim_id: t.Callable[[AnyHost], str]) -> list[Problem]:
    """Return problems with hosts as machines of the provider machine_inventory.

    ``claim_id`` gives this cluster's own claim on a host.
    """
    found = []
    for host in hosts:
        claim = host.adoption.get("claim")
        if claim and claim.get("id") != claim_id(host):
            text = (
                f"it is claimed by cluster {claim.get('namespace')}/{claim.get('cluster')}, machine {claim.get('machine')}, "
                f"since {claim.get('claimedAt')}"
            )
            fix = f"Adopt with the store that knows this cluster. If that is lost, delete {CLAIM_FILE} there and adopt again."
            found.append(Problem("HostClaimed", host.name, text, fix))
        for each in host.adoption.get("missing") or []:
            text = f"{each.get('message')} ({each.get('check')})"
            found.append(Problem("HostUnfit", host.name, text, str(each.get("fix") or "")))
    return found


def other_etcds(hosts: t.Sequence[AnyHost]) -> list[str]:
    """Return notes on hosts with an etcd that kubeadm did not make.

    None of them is ever reset.
    """
    return [
        f"{host.name}: {clip(str(host.adoption['otherEtcd']), 500)}, which kubeadm did not make: reconcile and delete refuse to reset this host as long as "
        "it is there. Move that etcd away before this machine has to go"
        for host in hosts
        if host.adoption.get("otherEtcd")
    ]
