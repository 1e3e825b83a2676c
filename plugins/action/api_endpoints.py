# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API server addresses that kubeadm gives to joining machines."""

from __future__ import annotations

import functools
import typing as t
from urllib.parse import urlsplit

from ..module_utils.workload_api.compare_and_swap import Read
from ..plugin_utils.base_classes.workload_action import WORKLOAD_SPEC, Planner, WorkloadAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.workload import api_endpoints


class ActionModule(WorkloadAction):
    """Action plugin of the module kubeadm.control_plane.api_endpoints; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        **WORKLOAD_SPEC,
        "removed_nodes": {"type": "list", "elements": "str", "default": []},
        "endpoint": {"type": "dict", "options": {"host": {"type": "str", "required": True}, "port": {"type": "int"}}},
    }

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> tuple[tuple[Read, ...], Planner]:
        """Return the reads and planner for the given endpoint, else the cluster's."""
        nodes = arguments["removed_nodes"]
        endpoint = arguments["endpoint"] or (_endpoint(objects) if objects is not None else None)
        if not nodes and not endpoint:
            raise ControlPlaneFailure(
                "there is nothing to correct: give removed_nodes, endpoint, or a cluster that has an endpoint; nothing was done."
            )
        server = api_endpoints.server_url(endpoint["host"], int(endpoint.get("port") or 6443)) if endpoint else None
        return api_endpoints.READS, functools.partial(api_endpoints.plan, removed_nodes=nodes, server=server)


def _endpoint(objects: ClusterObjects) -> t.Optional[dict[str, t.Any]]:
    """Return the endpoint that kubeadm was given.

    It is the user's own controlPlaneEndpoint, else the Cluster's (objects/bootstrap_data.py, cluster_defaults).
    """
    spec = (objects.control_plane or {}).get("spec", {}).get("kubeadmConfigSpec") or {}
    written = str((spec.get("clusterConfiguration") or {}).get("controlPlaneEndpoint") or "")
    if not written:
        return objects.endpoint()
    parts = urlsplit(f"//{written}")
    return {"host": parts.hostname, "port": parts.port or 6443}
