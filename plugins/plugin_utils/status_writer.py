# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the status and the conditions that a decision computed to the stored objects; nothing else carries state."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.conditions import set_condition
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
    ClusterObjects,
    Object,
)


def write_status(objects: ClusterObjects, decision: Object, now: str) -> None:
    """Bring status and conditions of Cluster, KubeadmControlPlane and Machines to what the decision says.

    An object whose status already is that is not written.
    """
    conditions = decision.get("conditions") or {}
    status = decision.get("status") or {}
    objects.cluster = _write(objects, CLUSTER, objects.cluster, status.get("cluster"), conditions.get("cluster"), now)
    if objects.control_plane is not None:
        objects.control_plane = _write(
            objects,
            CONTROL_PLANE,
            objects.control_plane,
            status.get("controlPlane"),
            conditions.get("controlPlane"),
            now,
        )
    machine_status, machine_conditions = status.get("machines") or {}, conditions.get("machines") or {}
    objects.machines = [
        _write(
            objects,
            MACHINE,
            machine,
            machine_status.get(machine["metadata"]["name"]),
            machine_conditions.get(machine["metadata"]["name"]),
            now,
        )
        for machine in objects.machines
    ]


def _write(
    objects: ClusterObjects,
    kind: tuple[str, str],
    current: Object,
    status: t.Optional[Object],
    conditions: t.Optional[list[Object]],
    now: str,
) -> Object:
    def bring(stored: Object) -> None:
        stored_status = stored.setdefault("status", {})
        stored_status.update(status or {})
        for condition in conditions or []:
            set_condition(
                stored, condition["type"], condition["status"], condition["reason"], condition.get("message", ""), now
            )

    return objects.store.modify(kind, objects.namespace, current["metadata"]["name"], bring)
