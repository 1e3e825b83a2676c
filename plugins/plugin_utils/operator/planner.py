# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a planner is given, what it returns, and how it refuses (docs/reference/kubeadm_operator.md, "Flow").

Source: the kubeadm operator's proposal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..objects.actions import FieldError

SERIAL = "Serial"
PARALLEL = "Parallel"


class RefusedAction(Exception):
    """An Action that can't be carried out on this cluster as it is. Nothing was started."""

    def __init__(self, path: str, value: Any, rule: str, fix: str) -> None:
        shown = f" (found: {value!r})" if value not in (None, "") else ""
        super().__init__(f"{path}: {rule}{shown}. {fix}")
        self.error = FieldError(path, value, rule, fix)


@dataclass(frozen=True)
class NodeFacts:
    """A Node of the cluster, and how its machine is reached.

    ``api_server_version`` is "" on a worker; ``machine`` is the Machine's name, "" where the store has none; ``inventory_host`` is
    "" where the machine is reached by what the store knows of it; ``reachable`` is whether its machine answered just now;
    ``machine_id`` is that of /etc/machine-id there; ``os_image`` is the system's name as the kubelet tells it, such as "Ubuntu 24.04 LTS".
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


@dataclass(frozen=True)
class ClusterFacts:
    """The cluster as it is when an Action starts.

    ``kubernetes_version`` is the lowest API server's ("v1.20.2"); ``nodes`` are all Nodes by name; the three configurations are
    YAML text as the cluster keeps it ("" where it could not be read: no API answers); ``certificates`` maps
    "<node>/<certificate>" to its notAfter (RFC 3339) as far as it is known; ``etcd_versions`` has the version that each member of the
    Nodes' own etcd gave, by its name; ``extra`` is what one kind of Action needs besides.
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
        """The control plane's Nodes, by name."""
        return tuple(each for each in self.nodes if each.control_plane)

    @property
    def workers(self) -> tuple[NodeFacts, ...]:
        """The other Nodes, by name."""
        return tuple(each for each in self.nodes if not each.control_plane)

    def node(self, name: str) -> NodeFacts | None:
        """The Node of that name."""
        return next((each for each in self.nodes if each.name == name), None)


@dataclass(frozen=True)
class GroupPlan:
    """One TaskGroup to be: the same commands on each of these Nodes, in this order.

    ``name`` is the suffix ("upgrade-cp-1"); ``commands`` are command descriptors, each a mapping of one command's name to its
    parameters; ``max_unavailable`` is how many Nodes a Parallel group works on at the same time (1 with Serial).
    """

    name: str
    nodes: tuple[str, ...]
    commands: tuple[Mapping[str, Any], ...]
    policy: str = SERIAL
    max_unavailable: int = 1
