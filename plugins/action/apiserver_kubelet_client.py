# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterRoleBindings that a rollout needs and no join makes."""

from __future__ import annotations

import functools
import typing as t

from ..module_utils.workload_api.compare_and_swap import Read
from ..plugin_utils.base_classes.workload_action import WORKLOAD_SPEC, Planner, WorkloadAction
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.workload import desired_state, rbac


class ActionModule(WorkloadAction):
    """Action plugin of the module kubeadm.control_plane.apiserver_kubelet_client; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**WORKLOAD_SPEC, "kubernetes_version": {"type": "str"}}

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> tuple[tuple[Read, ...], Planner]:
        """Return the reads and planner for the given or stored version.

        Without a version only kubeadm:apiserver-kubelet-client is created where it is missing.
        """
        stored = desired_state.version(objects.control_plane) if objects and objects.control_plane else None
        version = arguments["kubernetes_version"] or stored
        return rbac.BINDINGS_READS, functools.partial(rbac.bindings_plan, version=version)
