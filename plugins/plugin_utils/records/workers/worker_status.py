# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status of workers, MachineSets and MachineDeployments, written to the stored objects."""

from __future__ import annotations

import typing as t

from ...objects import kinds
from ..cluster_objects import MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET, ClusterObjects, Object, delete_finally
from ..status.object_status import write_one
from . import stored_workers


def write_status(objects: ClusterObjects, decision: Object, now: str) -> None:
    """Write a decision's status and conditions to the objects of workers.

    MachineSets that have no machine and are not current are deleted; the others are given the number of their machines. Nothing is written
    where a decision says nothing of workers.
    """
    status, conditions = decision.get("status") or {}, decision.get("conditions") or {}
    if "machineDeployments" not in status:
        return
    _write(objects, MACHINE_DEPLOYMENT, status["machineDeployments"], conditions["machineDeployments"], now)
    _write(objects, MACHINE_SET, status["machineSets"], conditions["machineSets"], now)
    objects.workers = _write(objects, MACHINE, status["workers"], conditions["workers"], now)
    for deployment in [] if objects.paused else stored_workers.deployments(objects):
        _count(objects, deployment)


def _write(
    objects: ClusterObjects, kind: tuple[str, str], status: Object, conditions: Object, now: str
) -> list[Object]:
    written = []
    for name in sorted(status):
        current = objects.store.get(kind, objects.namespace, name)
        if current is not None:
            written.append(write_one(objects, kind, current, now, status[name], conditions.get(name)))
    return written


def _count(objects: ClusterObjects, deployment: Object) -> None:
    owned = stored_workers.sets(objects, deployment)
    counted = {
        str(each["metadata"]["name"]): [
            machine
            for machine in objects.workers
            if stored_workers.is_controlled(machine, kinds.MACHINE_SET, str(each["metadata"]["name"]))
        ]
        for each in owned
    }
    for each in owned:
        name = str(each["metadata"]["name"])
        staying = sum(1 for machine in counted[name] if not machine["metadata"].get("deletionTimestamp"))
        if not counted[name] and any(counted.values()):
            delete_finally(objects.store, MACHINE_SET, objects.namespace, name)
        elif each["spec"].get("replicas") != staying:

            def count(stored: Object, staying: int = staying) -> None:
                stored["spec"]["replicas"] = staying

            objects.store.modify(MACHINE_SET, objects.namespace, name, t.cast(t.Callable[[Object], object], count))
