# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight check of the existing hosts for new workers (docs/machine_deployments.md).

As for control plane machines (pool_preflight.py), for each MachineDeployment by the group that its own template names.
"""

from __future__ import annotations

import typing as t

from ..decision.creation.existing_hosts import HOST_POOL_INVALID, short_of_hosts
from ..objects import kinds
from ..records.cluster_objects import MACHINE_DEPLOYMENT, ClusterObjects, Object, kind_of
from ..records.workers import managed
from . import inventory_pool
from .inventory_pool import PoolError
from .pool_preflight import Asks, Survey, note_others


def survey_workers(
    objects: ClusterObjects,
    asks: Asks,
    snapshot: Object,
    ahead: t.Mapping[str, tuple[list[str], list[str]]],
    groups: t.Mapping[str, t.Sequence[str]],
    hostvars: t.Mapping[str, t.Any],
    permitted: t.Sequence[str] = (),
) -> dict[str, Object]:
    """Return by MachineDeployment what keeps its next workers from being made.

    An obstacle ``{reason, message, fix}``; none for one whose hosts suffice, and for one whose machines are not made of existing hosts.

    Args:
        objects: the cluster's objects.
        asks: asks hosts.
        snapshot: what was observed, with the hosts that the control plane needs.
        ahead: the failure domains of each deployment's next workers, and the machines that are removed before (decision/plan/steps.py).
        groups: the inventory's groups.
        hostvars: the inventory's variables by host name, templated.
        permitted: the groups that the operator lets machine templates name, all where it is empty.
    """
    found: dict[str, Object] = {}
    # The control plane comes first, and then one deployment after the other.
    used = {str(each["name"]) for each in snapshot.get("hosts") or () if not each["missing"] and not each["machine"]}
    for name, (domains, removed) in sorted(ahead.items()):
        deployment = objects.store.get(MACHINE_DEPLOYMENT, objects.namespace, name)
        template = _template(objects, deployment) if deployment is not None else None
        spec = ((template or {}).get("spec") or {}).get("template", {}).get("spec") or {}
        if (
            deployment is None
            or (template or {}).get("kind") != kinds.INVENTORY_MACHINE_TEMPLATE
            or not spec.get("group")
        ):
            continue
        try:
            pool = inventory_pool.read_pool(spec, groups, hostvars, permitted)
        except PoolError as error:
            found[name] = {"reason": HOST_POOL_INVALID, "message": error.what, "fix": error.fix}
            continue
        besides = inventory_pool.no_machine(objects.namespace)
        version = str(deployment["spec"]["template"]["spec"]["version"])
        question = inventory_pool.question(objects, spec, version, _configuration(objects, deployment), "worker")
        known = inventory_pool.known_machine_ids(objects.store, besides)
        run = Survey(asks, question, spec, pool, hostvars, known, sorted(domains, reverse=True))
        held, own = inventory_pool.taken(objects.store, besides), _hosts_of(objects, removed)
        run.free([host for host in pool.hosts if host not in held and host not in used])
        if run.domains:
            run.used({host: own[host] for host in sorted(own) if host in pool.hosts and host not in used})
        note_others(run, pool, {host: who for host, who in held.items() if host not in own})
        obstacle = short_of_hosts(pool.group, domains, run.found)
        if obstacle is not None:
            found[name] = obstacle
        used |= {str(each["name"]) for each in run.found if not each["missing"]}
    return found


def _template(objects: ClusterObjects, deployment: Object) -> t.Optional[Object]:
    reference = managed.machine_reference(deployment)
    return objects.store.get(kind_of(reference), objects.namespace, reference["name"]) if reference else None


def _configuration(objects: ClusterObjects, deployment: Object) -> Object:
    reference = managed.config_reference(deployment)
    stored = objects.store.get(kind_of(reference), objects.namespace, reference["name"]) or {}
    spec: Object = ((stored.get("spec") or {}).get("template") or {}).get("spec") or {}
    return spec


def _hosts_of(objects: ClusterObjects, machines: t.Collection[str]) -> dict[str, str]:
    found = {
        inventory_pool.host_of(each): name for name, each in objects.infrastructure_machines.items() if name in machines
    }
    return {host: name for host, name in found.items() if host}
