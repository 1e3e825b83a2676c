# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image of kube-proxy."""

from __future__ import annotations

import functools
import typing as t

from ..module_utils.workload_api.compare_and_swap import Read
from ..plugin_utils.base_classes.workload_action import WORKLOAD_SPEC, Planner, WorkloadAction, needed_version
from ..plugin_utils.kubeadm import addon_images
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.workload import desired_state, kube_proxy


class ActionModule(WorkloadAction):
    """Action plugin of the module kubeadm.control_plane.kube_proxy; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        **WORKLOAD_SPEC,
        "kubernetes_version": {"type": "str"},
        "image_repository": {"type": "str"},
    }

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> t.Union[str, tuple[tuple[Read, ...], Planner]]:
        """Return the reads and planner: given values, else the control plane's.

        A text is returned instead where kube-proxy is left to the user.
        """
        version, repository = arguments["kubernetes_version"], arguments["image_repository"]
        if objects is not None and objects.control_plane is not None:
            if desired_state.skips(objects.control_plane, desired_state.SKIP_KUBE_PROXY):
                return f"kube-proxy is the user's own business: annotation {desired_state.SKIP_KUBE_PROXY}"
            version = version or desired_state.version(objects.control_plane)
            repository = repository or addon_images.image_repository(objects.control_plane)
        planner = functools.partial(kube_proxy.plan, version=needed_version(version), image_repository=repository)
        return kube_proxy.READS, planner
