# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image of CoreDNS, and migration of its Corefile."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..module_utils.common import kubernetes_versions
from ..module_utils.workload_api.compare_and_swap import Read
from ..plugin_utils.base_classes.workload_action import WORKLOAD_SPEC, Planner, WorkloadAction
from ..plugin_utils.kubeadm import addon_images
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.workload import coredns, desired_state

_WANTED: dict[str, t.Any] = {
    "kubernetes_version": {"type": "str"},
    "image_repository": {"type": "str"},
    "image_tag": {"type": "str"},
}


class ActionModule(WorkloadAction):
    """Action plugin of the module kubeadm.control_plane.coredns; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**WORKLOAD_SPEC, **_WANTED}

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> t.Union[str, tuple[tuple[Read, ...], Planner]]:
        """Return the reads and planner: given values, else the control plane's.

        A text is returned instead where CoreDNS is left to the user.
        """
        given = {name: arguments[name] for name in _WANTED if arguments[name]}
        wanted = coredns.Wanted(**given)
        if objects is not None and objects.control_plane is not None:
            if desired_state.skips(objects.control_plane, desired_state.SKIP_COREDNS):
                return f"CoreDNS is the user's own business: annotation {desired_state.SKIP_COREDNS}"
            wanted = dataclasses.replace(addon_images.wanted_coredns(objects.control_plane), **given)
        if wanted.kubernetes_version:
            kubernetes_versions.parse(wanted.kubernetes_version)
        return coredns.READS, functools.partial(coredns.plan, wanted=wanted)
