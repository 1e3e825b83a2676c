# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the machines that leave the control plane's endpoint.

A machine may leave it while a Task stops its API server.
"""

from __future__ import annotations

import typing as t

from ...base_classes.control_plane_action import ControlPlaneAction
from ...observe.parse import parse
from ...providers.contract import endpoint_servers
from ...records.cluster_objects import ClusterObjects
from .. import freeze, stopped_api_servers
from ..matching import Execution
from ..planner_types import NodeFacts
from .context import QUICK_LOOK, reach


def may_have_left(cluster_objects: ClusterObjects, execution: Execution) -> bool:
    """Return whether a run of this Action may have removed endpoint servers.

    It is so once a Task was made for which machines leave the endpoint.
    """
    return any(_leaving(cluster_objects, execution, [each]) for each in execution.tasks)


def out_of_endpoint(
    plugin: ControlPlaneAction,
    arguments: dict[str, t.Any],
    cluster_objects: ClusterObjects,
    execution: Execution,
    names: t.Sequence[str],
) -> list[str]:
    """Return the machines that leave the endpoint while these Tasks run.

    None leaves where no machine that stays behind the endpoint has a ready API server: it may then be the only one that
    serves requests.
    """
    behind = {each["name"] for each in endpoint_servers(cluster_objects)}
    found = [name for name in _leaving(cluster_objects, execution, names) if name in behind]
    if not found:
        return []
    nodes = freeze.nodes_of(execution.plan)
    staying = [each for each in nodes if each.control_plane and each.machine in behind - set(found)]
    if any(_is_ready(plugin, arguments, cluster_objects, each) for each in staying):
        return found
    plugin.progress(
        cluster_objects.name, f"{', '.join(found)} stays behind the endpoint: no other API server says that it is ready"
    )
    return []


def _leaving(cluster_objects: ClusterObjects, execution: Execution, names: t.Sequence[str]) -> t.Sequence[str]:
    """Return the machines that these Tasks need out of the endpoint.

    None where the store knows of no endpoint.
    """
    if cluster_objects.infrastructure_cluster is None:
        return ()
    return stopped_api_servers.leaving(execution.plan, [execution.tasks[name] for name in names])


def _is_ready(
    plugin: ControlPlaneAction, arguments: dict[str, t.Any], cluster_objects: ClusterObjects, node: NodeFacts
) -> bool:
    caller = plugin.machine_caller(arguments, cluster_objects)
    answer = caller.call(reach(cluster_objects, node), "node_observe", QUICK_LOOK)
    if answer.failed:
        return False
    own = parse(answer.result.get("observation"), node.name)["pods"].get(node.name) or {}
    return (own.get("kube-apiserver") or {}).get("answers") is True
