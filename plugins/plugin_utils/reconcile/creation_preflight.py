# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight checks before machines are made.

Of hosts, provider roles, endpoint and external etcd; used by plan, check mode, reconcile and check_hosts.
"""

from __future__ import annotations

import os
import typing as t

from ...module_utils.common import settings
from ..base_classes.control_plane_action import ControlPlaneAction
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer, Machine, MachineCaller
from ..decision.creation.existing_hosts import ENDPOINT_MISSING, PROVIDER_MISSING, ROOT_NEEDED
from ..decision.creation.growth import endpoint_unknown
from ..decision.plan.steps import has_step, machines_ahead, workers_ahead
from ..objects import kinds
from ..providers import inventory_pool, pool_preflight, worker_hosts
from ..providers.contract import provider_role
from ..records.cluster_objects import ClusterObjects, Object
from . import provider_roles, worker_obstacles

LOCAL_MACHINES = "kubeadm.control_plane.machine_nspawn"


def look_beforehand(
    action: ControlPlaneAction,
    arguments: t.Mapping[str, t.Any],
    objects: ClusterObjects,
    caller: MachineCaller,
    snapshot: Object,
    whole: bool = False,
    every: bool = False,
) -> bool:
    """Run the preflight checks of new machines and add their results.

    The snapshot gets what keeps machines from being made. Returns whether one is to be made at all.

    Args:
        action: the action at work; its task's variables are read.
        arguments: the action's arguments: ``providers``, where they have any.
        objects: the cluster's objects.
        caller: reaches hosts.
        snapshot: what was observed; gets ``pool``, ``hosts`` and ``obstacles``.
        whole: for every step of the plan, not only for those that come before a host is given back.
        every: whether all hosts of the pool are asked, also where no machine is to be made.

    Raises:
        ControlPlaneFailure: the role of a machine that there is, or of the endpoint, or a task file of it, is missing.
    """
    given = arguments.get("providers") or {}
    ahead = machines_ahead(snapshot)
    unowned = objects.unowned_machines()
    former: list[Object] = []
    # What was prepared ahead and isn't used any more is deleted also by a run without a step. A worker whose role is missing fails by itself as
    # it is removed: neither the control plane nor another worker waits for it.
    if given and (objects.machines or unowned) and (ahead if every else unowned or has_step(snapshot)):
        try:
            provider_roles.require(action, objects, given)
        except ControlPlaneFailure as error:
            if not every:
                raise
            # Told with what each host lacks.
            former = [_provider_missing(error)]
    workers = workers_ahead(snapshot) if snapshot.get("workers") else {}
    if not ahead and not every and not workers:
        return False
    asks = Asks(action, objects.name, caller)
    variables = action._task_vars
    groups, hostvars = variables.get("groups") or {}, variables.get("hostvars") or {}
    role = provider_roles.endpoint_role(action, objects)
    providers = [*_roles(action, objects, given, role)]
    if ahead or every:
        found = pool_preflight.survey(
            objects, asks, snapshot, ahead, groups, hostvars, action.pool_groups(), whole, every
        )
        told = [*providers, *(each for each in former if each not in providers)]
        obstacles = [*told, *endpoint_obstacles(objects, snapshot, role), *found.pop("obstacles", [])]
        snapshot.update(found, **({"obstacles": obstacles} if obstacles else {}))
    lacking = worker_hosts.survey_workers(objects, asks, snapshot, workers, groups, hostvars, action.pool_groups())
    for name in workers:
        worker_obstacles.add(snapshot, name, [*providers, *([lacking[name]] if name in lacking else [])])
    return bool(ahead or workers)


class Asks(pool_preflight.Asks):
    """Calls of hosts in check mode, with a line of progress.

    Args:
        action: the action at work.
        cluster: the cluster's name.
        caller: reaches hosts.
    """

    def __init__(self, action: ControlPlaneAction, cluster: str, caller: MachineCaller) -> None:
        self._action, self._cluster, self._caller = action, cluster, caller
        self._said = False

    def one(self, machine: Machine, module: str, call: dict[str, t.Any]) -> Answer:
        """Call a module on a host."""
        with inventory_pool.in_check_mode(self._action._task, True):
            return inventory_pool.call_host(self._caller, machine, module, call)

    def each(self, calls: t.Sequence[t.Callable[[], Answer]]) -> list[Answer]:
        """Make calls of different hosts beside each other."""
        if calls and not self._said:
            # One that doesn't answer costs seconds.
            self._action.progress(self._cluster, "asking the hosts of the machine template's group what they lack")
            self._said = True
        return self._caller.beside_each_other(calls, settings.HOSTS_AT_ONCE)


def _roles(
    action: ControlPlaneAction, objects: ClusterObjects, providers: t.Mapping[str, str], endpoint_role: str
) -> t.Iterator[Object]:
    """Yield obstacles from missing provider roles, task files or root rights.

    Root is needed by local machines only.
    """
    wanted: dict[str, tuple[str, ...]] = {}
    cluster_kind = str((objects.infrastructure_cluster or {}).get("kind") or "")
    for kind in dict.fromkeys((cluster_kind, str(objects.template_reference().get("kind") or ""))):
        if kind and providers:
            try:
                wanted[provider_role(kind, providers)] = provider_roles.ENTRY_POINTS
            except ControlPlaneFailure as error:
                yield _provider_missing(error)
    if endpoint_role:
        wanted.setdefault(endpoint_role, provider_roles.ENDPOINT_ENTRY_POINTS)
    for role, entry_points in wanted.items():
        problem = provider_roles.role_problem(action, role, entry_points)
        if problem:
            yield {"reason": PROVIDER_MISSING, "message": problem, "fix": provider_roles.FIX}
    if LOCAL_MACHINES in wanted and os.geteuid() != 0 and not _becomes_root(action):
        yield {
            "reason": ROOT_NEEDED,
            "message": f"local machines need root on this host (mounts, namespaces, a bridge), and this run is of user id {os.geteuid()}",
            "fix": "Run Ansible as root on this host, or set ansible_become for the cluster's host.",
        }


def _provider_missing(error: ControlPlaneFailure) -> Object:
    what, _nothing, fix = str(error).partition(". ")
    return {"reason": PROVIDER_MISSING, "message": what, "fix": fix}


def _becomes_root(action: ControlPlaneAction) -> bool:
    return bool(action._play_context.become or getattr(action._connection, "become", None))


def endpoint_obstacles(objects: ClusterObjects, snapshot: Object, endpoint_role: str) -> t.Iterator[Object]:
    """Yield obstacles from a missing or unknown control plane endpoint.

    Missing: no role makes it. Unknown: it is unknown whether a control plane is behind it already.

    Args:
        objects: the cluster's objects.
        snapshot: what was observed.
        endpoint_role: the role that makes the endpoint, "" for one that exists.
    """
    cluster = objects.infrastructure_cluster or {}
    status = cluster.get("status") or {}
    # That the address is free is the word of a role, which looks again before kubeadm runs: it doesn't hold without that role.
    left = status.get("endpointIsUnused") is True and not objects.initialized
    provisioned = (status.get("initialization") or {}).get("provisioned") and not left
    if cluster.get("kind") != kinds.INVENTORY_CLUSTER or endpoint_role or provisioned:
        return
    endpoint = objects.wanted_endpoint()
    if endpoint is None:
        yield {
            "reason": ENDPOINT_MISSING,
            "message": f"the cluster {objects.title} has no control plane endpoint, and hosts of an inventory bring none",
            "fix": "Write the address of its load balancer, or a virtual address, to spec.controlPlaneEndpoint of the "
            f"InventoryCluster {cluster['metadata']['name']}, or name a role that makes one in {provider_roles.ENDPOINT_ROLE}.",
        }
        return
    answers = (snapshot["workload"].get("endpoint") or {}).get("answers")
    if (
        answers is None
        and not snapshot["workload"].get("reachable")
        and not kinds.is_flagged(objects.cluster, kinds.ANNOTATION_ENDPOINT_UNUSED)
    ):
        said = str((snapshot["workload"].get("endpoint") or {}).get("message") or "")
        reason, text, fix = endpoint_unknown(f"{endpoint['host']}:{endpoint.get('port') or 6443}", said)
        yield {"reason": reason, "message": text, "fix": fix}
