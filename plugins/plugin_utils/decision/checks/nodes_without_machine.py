# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of the workload cluster that belong to no machine.

And the time since which a Node's kubelet is silent.
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import kubernetes_facts as kubeadm_facts
from ....module_utils.common.values import condition_in, parse_time
from ...objects.conditions import READY
from .. import terms
from ..snapshot.typed_snapshot import View
from ..workers.worker_view import read_workers

Object = dict[str, Any]


def unmanaged_nodes(view: View) -> list[Object]:
    """Return the control plane Nodes that belong to no machine.

    None while a machine that has no Node yet may still claim one.
    """
    if any(not (machine.joined and machine.node_known) for machine in view.known):
        return []
    known = {machine.node_name for machine in view.known} | {each.impostor for each in view.known}
    return [node for name, node in control_plane_nodes(view).items() if name not in known]


def labelled_workers(view: View) -> dict[str, str]:
    """Return workers' Machines whose Nodes have the control plane's label.

    By the Node's name.
    """
    return {each.node_name: each.name for each in read_workers(view).machines if each.node_labelled}


def silent_since(node: Object) -> Optional[int]:
    """Return the time since which a Node's kubelet is silent.

    In seconds since the epoch, by the cluster's own clock; None where it reports or the time is not known.
    """
    ready = condition_in(node.get("conditions"), READY)
    return parse_time(ready.get("lastTransitionTime")) if ready.get("status") == terms.UNKNOWN else None


def control_plane_nodes(view: View) -> dict[str, Object]:
    """Return the Nodes with one of kubeadm's control plane labels, by name."""
    roles = (kubeadm_facts.LABEL_CONTROL_PLANE, kubeadm_facts.LABEL_MASTER)
    nodes = view.workload.get("nodes") or ()
    return {str(node["name"]): node for node in nodes if any(role in (node.get("labels") or {}) for role in roles)}
