# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Actions and reconcile keep out of each other's way: a rollout under way refuses an Action (and decide the other way round)."""

from __future__ import annotations

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects


def under_way(objects: ClusterObjects) -> str:
    """What reconcile has begun and not ended with this cluster's machines, in words; "" where nothing."""
    if objects.going:
        return "the cluster is being deleted"
    if objects.control_plane is None:
        return "the store has no KubeadmControlPlane of it"
    if not objects.initialized:
        return "its control plane was not initialized yet"
    status = objects.control_plane.get("status") or {}
    if (status.get("rollout") or {}).get("replicas") is not None:
        return "a rollout is under way (status.rollout)"
    annotations = objects.control_plane["metadata"].get("annotations") or {}
    if kinds.ANNOTATION_REMEDIATION_IN_PROGRESS in annotations:
        return "a remediation is under way"
    for machine in objects.machines:
        name = str(machine["metadata"]["name"])
        if machine["metadata"].get("deletionTimestamp"):
            return f"machine {name} is being removed"
        state = ((machine.get("status") or {}).get("bootstrap") or {}).get("state")
        if state != "Succeeded":
            return f"machine {name} is being made" if state != "Failed" else f"the bootstrap of machine {name} failed"
    return ""
