# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writer of the objects of adopted workers.

Each has the MachineSet of what it runs: where that is what the MachineDeployment asks for, no rollout follows.
"""

from __future__ import annotations

import copy
import typing as t

from ....module_utils.common.values import controller_of
from ...objects import kinds
from ...objects.workers import template_hash
from ...providers.inventory_pool import host_of
from ...records import machine_objects
from ...records.cluster_objects import MACHINE_DEPLOYMENT, ClusterObjects, Object
from ...records.workers import stored_workers, worker_objects
from ...records.workers.machine_sets import ensure_set
from ...store import pause
from ...store.base import Store
from ..machine_writer import MachineWriter, is_complete
from .worker_evidence import WorkerHost, node_name, version_of


def machine_of(objects: t.Optional[ClusterObjects], host: WorkerHost) -> str:
    """Return the Machine's name of a host or its Node, or ""."""
    if objects is None:
        return ""
    for machine in objects.workers:
        name = str(machine["metadata"]["name"])
        infrastructure = objects.infrastructure_machines.get(name) or {}
        if machine_objects.node_name(objects, machine) == node_name(host) or host_of(infrastructure) == host.name:
            return name
    return ""


def managed_nodes(objects: t.Optional[ClusterObjects]) -> dict[str, str]:
    """Return the MachineDeployment of each worker's Node with a Machine.

    "" where that is not known.
    """
    if objects is None:
        return {}
    owners = _deployments(objects)
    return {machine_objects.node_name(objects, each): owners.get(_set_of(each), "") for each in objects.workers}


def staying_machines(objects: t.Optional[ClusterObjects], deployment: str) -> set[str]:
    """Return the names of a MachineDeployment's machines that are not being deleted."""
    owners = _deployments(objects) if objects is not None else {}
    return {
        str(each["metadata"]["name"])
        for each in (objects.workers if objects is not None else ())
        if owners.get(_set_of(each)) == deployment and not each["metadata"].get("deletionTimestamp")
    }


def _deployments(objects: ClusterObjects) -> dict[str, str]:
    """Return the MachineDeployment of each MachineSet."""
    return {
        str(owned["metadata"]["name"]): str(deployment["metadata"]["name"])
        for deployment in stored_workers.deployments(objects)
        for owned in stored_workers.sets(objects, deployment)
    }


def _set_of(machine: Object) -> str:
    return str((controller_of(machine) or {}).get("name") or "")


def to_adopt(
    objects: t.Optional[ClusterObjects], hosts: t.Mapping[str, t.Sequence[WorkerHost]]
) -> dict[str, list[WorkerHost]]:
    """Return the hosts that still lack something of a Machine, by MachineDeployment.

    Also a MachineDeployment, without hosts, that an earlier run has left paused.
    """
    found = {}
    for deployment, named in hosts.items():
        lacking = [each for each in named if objects is None or not is_complete(objects, machine_of(objects, each))]
        stored = objects.store.get(MACHINE_DEPLOYMENT, objects.namespace, deployment) if objects is not None else None
        if lacking or kinds.is_paused_by_adoption(stored):
            found[deployment] = lacking
    return found


def replicas_of(objects: t.Optional[ClusterObjects], deployment: Object, left_out: bool, running: int) -> int:
    """Return how many replicas a manifest's MachineDeployment asks for.

    What it leaves out is as many as there are, so that none of them goes, or more where the store asks for more.
    """
    if not left_out:
        return int(deployment["spec"]["replicas"])
    name = str(deployment["metadata"]["name"])
    stored = objects.store.get(MACHINE_DEPLOYMENT, objects.namespace, name) if objects is not None else None
    return max(running, int(stored["spec"].get("replicas", 0))) if stored is not None else running


class WorkerWriter:
    """Writer of what is missing of workers, in a safe order."""

    def __init__(self, store: Store, machines: MachineWriter) -> None:
        self._store = store
        self._machines = machines

    def hold(self, namespace: str, names: t.Iterable[str]) -> None:
        """Pause the MachineDeployments that are stored already."""
        for name in names:
            if self._store.get(MACHINE_DEPLOYMENT, namespace, name) is not None:
                self._store.modify(MACHINE_DEPLOYMENT, namespace, name, pause.hold)

    def write(self, objects: ClusterObjects, name: str, hosts: t.Sequence[WorkerHost]) -> None:
        """Write all objects of a MachineDeployment's workers, and end its pause."""
        deployment = t.cast(Object, self._store.get(MACHINE_DEPLOYMENT, objects.namespace, name))
        domain = deployment["spec"]["template"]["spec"].get("failureDomain")
        for host in sorted(hosts, key=node_name):
            owned, own = self._set(objects, deployment, version_of(host)), node_name(host)
            entry = {"failureDomain": domain}
            infrastructure = worker_objects.infrastructure_machine(objects, owned, own, entry)
            machine = worker_objects.machine_object(objects, owned, own, entry)
            self._machines.write(host, infrastructure, worker_objects.kubeadm_config(objects, owned, own), machine)
        if kinds.is_paused_by_adoption(deployment):
            self._store.modify(MACHINE_DEPLOYMENT, objects.namespace, name, pause.release)
            self._machines.changes.append(f"end the pause of MachineDeployment {objects.namespace}/{name}")

    def _set(self, objects: ClusterObjects, deployment: Object, version: str) -> Object:
        """Return the MachineSet of a deployment's workers of a version."""
        former = copy.deepcopy(deployment)
        former["spec"]["template"]["spec"]["version"] = version
        template, name = former["spec"]["template"], str(deployment["metadata"]["name"])
        sets = stored_workers.sets(objects, deployment)
        for each in sets:
            if not template_hash.differences(each["spec"]["template"], template):
                return each
        taken = {str(each["metadata"]["name"]): each["spec"]["template"] for each in sets}
        made = ensure_set(objects, former, template_hash.free_name(name, template, taken))
        self._machines.changes.append(f"create MachineSet {objects.namespace}/{made['metadata']['name']}")
        return made
