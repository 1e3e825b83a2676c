# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status and conditions of a decision, written to the stored objects.

Nothing else carries state.
"""

from __future__ import annotations

import typing as t

from ...decision.removal.deleted_control_plane import latched
from ..cluster_objects import CLUSTER, CONTROL_PLANE, MACHINE, ClusterObjects, Object
from ..resource_sets import stored_resource_sets
from ..workers import worker_status
from .object_status import annotate, write_one

# Says that a rollout is under way; scaling waits for its end.
ROLLOUT = "rollout"


def write_status(objects: ClusterObjects, decision: Object, now: str, begins: bool = True) -> None:
    """Write a decision's status, conditions and annotations to the stored objects.

    To Cluster, KubeadmControlPlane and Machines.

    An object for which that is so already is not written. That a rollout is under way is recorded only with a step
    that is taken now (``begins``): one that is only desired must not keep anything else waiting. That a new control
    plane takes the place of a deleted one is, too: the consent to it is this run's alone.
    """
    conditions = decision.get("conditions") or {}
    status = decision.get("status") or {}
    if conditions.get("resourceSets"):
        stored_resource_sets.write_status(objects.store, objects.cluster, conditions["resourceSets"], now)
    annotations = decision.get("annotations") or {}
    if begins and annotations.get("cluster") and stored_resource_sets.went_with_etcd(objects):
        # Before the record of the deletion goes, which says so.
        stored_resource_sets.forget_applied(objects.store, objects.cluster)
    objects.cluster = write_one(
        objects,
        CLUSTER,
        objects.cluster,
        now,
        _cluster_status(objects.cluster, status.get("cluster"), begins),
        conditions.get("cluster"),
        annotations=annotations.get("cluster") if begins else None,
    )
    if objects.control_plane is not None:
        own = dict(status.get("controlPlane") or {})
        if not begins and not (objects.control_plane.get("status") or {}).get(ROLLOUT):
            own.pop(ROLLOUT, None)
        objects.control_plane = write_one(
            objects,
            CONTROL_PLANE,
            objects.control_plane,
            now,
            own,
            conditions.get("controlPlane"),
            annotations=annotations.get("controlPlane"),
        )
    machine_status, machine_conditions = status.get("machines") or {}, conditions.get("machines") or {}
    removed = (decision.get("removedConditions") or {}).get("machines") or {}
    objects.machines = [
        write_one(
            objects,
            MACHINE,
            machine,
            now,
            machine_status.get(machine["metadata"]["name"]),
            machine_conditions.get(machine["metadata"]["name"]),
            removed.get(machine["metadata"]["name"]),
        )
        for machine in objects.machines
    ]
    worker_status.write_status(objects, decision, now)


def _cluster_status(cluster: Object, status: t.Optional[Object], begins: bool) -> t.Optional[Object]:
    if status is None or begins or not latched(cluster):
        return status
    return {**status, "initialization": {**status["initialization"], "controlPlaneInitialized": True}}


__all__ = ["ROLLOUT", "annotate", "write_status"]
