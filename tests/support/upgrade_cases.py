# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters for plans of an upgrade in place."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    GroupPlan,
    NodeFacts,
)

OLD, NEW = "v1.20.2", "v1.21.0"
CONFIGURATION = """\
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: {version}
{more}
"""


def control_plane(name: str, api: str = OLD, kubelet: str = OLD, **more: t.Any) -> NodeFacts:
    """A control plane Node."""
    return NodeFacts(name, True, kubelet_version=kubelet, api_server_version=api, machine=name, **more)


def worker(name: str, kubelet: str = OLD, **more: t.Any) -> NodeFacts:
    """A worker."""
    return NodeFacts(name, False, kubelet_version=kubelet, inventory_host=name, **more)


def cluster(
    *nodes: NodeFacts, lowest: str = OLD, configured: str = OLD, more: str = "", **facts: t.Any
) -> ClusterFacts:
    """A cluster of these Nodes."""
    text = CONFIGURATION.format(version=configured, more=more)
    given = {"cluster_configuration": text, **facts}
    return ClusterFacts("prod", lowest, tuple(sorted(nodes, key=lambda each: each.name)), **given)


THREE = (control_plane("cp-a"), control_plane("cp-b"), control_plane("cp-c"))


def verbs(group: GroupPlan) -> list[str]:
    """The names of a group's commands."""
    return [next(iter(each)) for each in group.commands]


def shape(groups: t.Sequence[GroupPlan]) -> list[tuple[str, tuple[str, ...]]]:
    """Names and Nodes of the groups."""
    return [(each.name, each.nodes) for each in groups]
