# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look at an Action under way: its objects brought forward, and what is to be run next."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator import freeze, objects
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.flow import Step
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.matching import Execution
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import operator_facts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import ControlPlaneAction
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects, Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator_store import Executions


def look(
    plugin: ControlPlaneAction,
    arguments: dict[str, t.Any],
    cluster_objects: ClusterObjects,
    executions: Executions,
    root: Object,
) -> tuple[Execution, Step]:
    """Compare an Action with its frozen plan and with the cluster's Nodes, write what needs no node, and return the next step."""
    nodes = None
    if not objects.finished(root):
        plan = root["status"]["plan"]
        if plan["facts"]["apiAnswers"]:
            caller = plugin.machine_caller(arguments, cluster_objects)
            nodes = operator_facts.nodes_now(cluster_objects, caller, freeze.nodes_of(plan))
        plugin.check_lock(arguments)
    return executions.advance(root, nodes)
