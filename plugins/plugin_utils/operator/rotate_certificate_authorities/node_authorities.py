# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of a rotation, and their certificates of the authorities.

Source: docs/reference/kubeadm.md, "Authorities".
"""

from __future__ import annotations

import re
import typing as t

from ....module_utils.workload_api.compare_and_swap import Read
from ...workload.writes import Plan
from ..matching import NodeNow
from ..node_selector import ROLE_LABELS
from ..planner_types import NodeFacts
from ..tasks.context import CommandFailure, TaskContext
from . import one_node
from .materials import Materials
from .one_node import NodeCertificates

MODULE = "node_certificates"
NODES = "/api/v1/nodes"


def folder(ctx: TaskContext) -> str:
    """Return the folder of kubeadm's certificates: ClusterConfiguration.certificatesDir.

    It is the same on every node.
    """
    found = re.search(
        r"^certificatesDir:\s*[\"']?([^\s\"']+)", str(ctx.plan_facts.get("clusterConfiguration") or ""), re.M
    )
    return found.group(1).rstrip("/") if found else "/etc/kubernetes/pki"


def look(ctx: TaskContext, node: NodeFacts, materials: Materials, authorities: t.Collection[str]) -> NodeCertificates:
    """Return a node's certificates, as observed on it now."""
    found = ctx.call(MODULE, one_node.question(authorities, node.control_plane, folder(ctx)), node.name)
    external = bool(ctx.plan_facts.get("externalEtcd"))
    return NodeCertificates(node.name, node.control_plane, materials, found, folder(ctx), external, ctx.now())


def members(ctx: TaskContext) -> tuple[tuple[NodeFacts, ...], tuple[NodeNow, ...]]:
    """Return the plan's present Nodes, and the Nodes added since.

    The Action pauses where either is not as planned, until the user has left out such a Node: one that was removed has
    nothing to lose then, one that is new has everything. Where no API server answers, they are the plan's Nodes.
    """

    def listed(found: t.Mapping[str, t.Any]) -> Plan:
        items = (found[NODES] or {}).get("items") or []
        return Plan("the Nodes were listed", facts={"nodes": [each["metadata"] for each in items]})

    try:
        found = ctx.workload([Read(NODES, ("items[].metadata.name", "items[].metadata.labels"))], listed)["nodes"]
    except CommandFailure:
        return ctx.nodes, ()
    now = {str(each["name"]): any(label in (each.get("labels") or {}) for label in ROLE_LABELS) for each in found}
    known = {each.name for each in ctx.nodes}
    strangers = tuple(NodeNow(name, now[name]) for name in sorted(set(now) - known))
    return tuple(each for each in ctx.nodes if each.name in now), strangers
