# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs, results and refusals of planners (docs/reference/kubeadm_operator.md, "Flow").

Source: the kubeadm operator's proposal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..objects import advice
from ..objects.actions import FieldError

SERIAL = "Serial"
PARALLEL = "Parallel"
# What the facts have in ``extra``: the controller's time (RFC 3339), with which ends are compared.
EXTRA_NOW = "now"


class RefusedAction(Exception):
    """Refusal of an Action that this cluster can't carry out now.

    Nothing was started.
    """

    def __init__(self, path: str, value: Any, rule: str, fix: str) -> None:
        shown = f" (found: {value!r})" if value not in (None, "") else ""
        super().__init__(f"{path}: {rule}{shown}. {fix}")
        self.error = FieldError(path, value, rule, fix)


@dataclass(frozen=True)
class NodeFacts:
    """Node of the cluster, and how its machine is reached.

    ``api_server_version`` is "" on a worker; ``machine`` is the Machine's name, "" where the store has none;
    ``inventory_host`` is "" where the machine is reached by the store's records; ``reachable`` is whether its machine
    answered just now; ``machine_id`` is that of /etc/machine-id there; ``os_image`` is the operating system's name as
    the kubelet reports it, such as "Ubuntu 24.04 LTS"; ``patches`` is the folder of kubeadm's patches that the machine was
    made with, "" without one; ``deleting`` is whether its Machine is marked for deletion.
    """

    name: str
    control_plane: bool
    labels: Mapping[str, str] = field(default_factory=dict)
    kubelet_version: str = ""
    api_server_version: str = ""
    ready: bool = True
    machine: str = ""
    inventory_host: str = ""
    reachable: bool = True
    machine_id: str = ""
    os_image: str = ""
    patches: str = ""
    deleting: bool = False


@dataclass(frozen=True)
class ClusterFacts:
    """Facts of the cluster when an Action starts.

    ``kubernetes_version`` is the lowest API server's ("v1.20.2"); ``nodes`` are all Nodes by name; the three
    configurations are YAML text as the cluster keeps it ("" where it could not be read: no API answers);
    ``certificates`` maps "<node>/<certificate>" to its notAfter (RFC 3339) as far as it is known; ``etcd_versions`` has
    the version that each member of the Nodes' own etcd gave, by its name; ``extra`` is what one kind of Action needs
    besides.
    """

    cluster: str
    kubernetes_version: str
    nodes: tuple[NodeFacts, ...]
    cluster_configuration: str = ""
    kubelet_configuration: str = ""
    kube_proxy_configuration: str = ""
    external_etcd: bool = False
    api_answers: bool = True
    certificates: Mapping[str, str] = field(default_factory=dict)
    etcd_versions: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def control_plane_nodes(self) -> tuple[NodeFacts, ...]:
        """Control plane Nodes, by name."""
        return tuple(each for each in self.nodes if each.control_plane)

    @property
    def workers(self) -> tuple[NodeFacts, ...]:
        """Worker Nodes, by name."""
        return tuple(each for each in self.nodes if not each.control_plane)

    def ends(self, node: NodeFacts) -> dict[str, str]:
        """Return when each certificate of a Node ends, where it is known."""
        known = ((key.partition("/"), end) for key, end in self.certificates.items())
        return {name: end for (owner, _slash, name), end in known if owner == node.name and end}

    def ended(self, node: NodeFacts) -> bool:
        """Return whether a certificate of a Node has ended.

        One whose end is unknown has not.
        """
        now = str(self.extra.get(EXTRA_NOW) or "")
        # RFC 3339 times in UTC with seconds sort as text.
        return bool(now) and any(end <= now for end in self.ends(node).values())

    def node(self, name: str) -> NodeFacts | None:
        """Return the Node of a name; None without one."""
        return next((each for each in self.nodes if each.name == name), None)


@dataclass(frozen=True)
class GroupPlan:
    """TaskGroup in a plan: the same commands on each of its Nodes.

    ``nodes`` are in the order of the operation; ``name`` is the suffix ("upgrade-cp-1"); ``commands`` are command
    descriptors, each a mapping of one command's name to its parameters; ``max_unavailable`` is the number of Nodes that
    a Parallel group changes at the same time (1 with Serial).
    """

    name: str
    nodes: tuple[str, ...]
    commands: tuple[Mapping[str, Any], ...]
    policy: str = SERIAL
    max_unavailable: int = 1


def workers_group(cluster: str) -> str:
    """Return the name of the inventory group of a cluster's workers."""
    return re.sub(r"[^A-Za-z0-9_]", "_", cluster) + "_workers"


def require_reachable(facts: ClusterFacts, names: Collection[str]) -> None:
    """Refuse where a Node of these names can't be reached.

    ``facts.extra["unreachable"]`` says why a machine that was asked gave no answer.

    Raises:
        RefusedAction: with the reason of the first such Node.
    """
    silent = [each for each in facts.nodes if each.name in names and not each.reachable]
    if not silent:
        return
    first, group = silent[0], workers_group(facts.cluster)
    why = "its machine was not reached"
    if not first.machine and not first.inventory_host:
        why = f"the store has no Machine of it, and the inventory group {group} no host of that name"
    why = str((facts.extra.get("unreachable") or {}).get(first.name) or why)
    rule = f"of the Nodes that this needs, {', '.join(each.name for each in silent)} can't be reached ({why})"
    fix = (
        f"Nothing was started. Make them reachable; a worker of no MachineDeployment must be a host of the inventory group {group} "
        "that has the Node's name. Or select other Nodes, where this Action has a nodeSelector."
    )
    lost = [each.machine for each in silent if each.control_plane and each.machine]
    if lost:
        # Never several in one line to paste: where a network is down, all are silent, and a mark can't be taken back.
        one = {"name": lost[0] if len(lost) == 1 else "NAME", "namespace": "NAMESPACE"}
        fix += (
            f" Where a control plane Node's machine is gone for good, mark its Machine for deletion ({advice.delete(one)}), and run reconcile; where no "
            "API answers, the Action renewCertificates first, which leaves it out (docs/renew_certificates.md)."
        )
    raise RefusedAction("spec", None, rule, fix)
