# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletion of a cluster's stored objects: marked first, deleted last.

Source: docs/reference/cluster_api.md, "Deletion".
"""

from __future__ import annotations

from ...module_utils.common.values import now_rfc3339
from ..calls.failure import ControlPlaneFailure
from ..decision.removal import deleted_control_plane, whole_control_plane
from ..objects import kinds
from ..pki import secrets
from ..store.base import kind_ref_of
from . import cluster_labels, stored_health_checks
from .cluster_objects import (
    CLUSTER,
    CLUSTER_LABEL,
    CONTROL_PLANE,
    SECRET,
    ClusterObjects,
    Object,
    delete_finally,
    kind_of,
)
from .plans import kept_plans
from .resource_sets import stored_resource_sets
from .workers import stored_workers


def mark_deleting(objects: ClusterObjects, ignore_worker_nodes: bool, deployment: str = "") -> list[str]:
    """Set deletionTimestamp on the Cluster and its KubeadmControlPlane, as Cluster API does.

    On the MachineDeployment `deployment` instead, where one is given.

    Raises:
        ControlPlaneFailure: another Cluster names the same objects.

    Source: docs/reference/cluster_api.md, "Deletion".
    """
    if deployment:
        return stored_workers.mark_deleting(objects, deployment)
    other = shared_with(objects)
    if other:
        text, fix = whole_control_plane.shared_with(
            objects.cluster["metadata"], objects.control_plane, other, bool(objects.all_machines)
        )
        raise ControlPlaneFailure(f"{text}. Nothing was done. {fix}")
    changes = []
    for reference, current in ((CLUSTER, objects.cluster), (CONTROL_PLANE, objects.control_plane)):
        if current is None:
            continue

        def mark(stored: Object) -> None:
            annotations = stored["metadata"].setdefault("annotations", {})
            if ignore_worker_nodes:
                annotations[kinds.ANNOTATION_IGNORE_WORKER_NODES] = "true"
            else:
                annotations.pop(kinds.ANNOTATION_IGNORE_WORKER_NODES, None)

        name = str(current["metadata"]["name"])
        objects.store.modify(reference, objects.namespace, name, mark)
        if not current["metadata"].get("deletionTimestamp"):
            objects.store.delete(reference, objects.namespace, name)
            changes.append(f"mark {current['kind']} {current['metadata']['name']} for deletion")
    return changes


def shared_with(objects: ClusterObjects) -> str:
    """Return the Cluster that would lose its objects with this one.

    "" for none. As after a manifest that was copied, in a store of a release that did not refuse it, or in an API.
    """
    named = (objects.control_plane, objects.infrastructure_cluster)
    return cluster_labels.also_named_by(objects.store, objects.namespace, objects.name, *named)


def delete_marked(objects: ClusterObjects) -> list[str]:
    """Delete the objects marked for deletion once their machines are gone.

    All objects where the Cluster is marked, else the KubeadmControlPlane alone.
    `kubectl delete kcp` marks no Cluster: that stays, and its infrastructure, of which only their objects know
    (docs/reference/cluster_api.md, "Deletion"). So do the keys, without which no backup of etcd could be restored any more.
    """
    if objects.cluster["metadata"].get("deletionTimestamp"):
        return delete_records(objects)
    control_plane = objects.control_plane
    if control_plane is None or not control_plane["metadata"].get("deletionTimestamp"):
        return []
    name = str(control_plane["metadata"]["name"])
    done = secrets.hand_over(objects.store, objects.cluster, control_plane, objects.cluster)
    done += _record_deletion(objects, control_plane)
    delete_finally(objects.store, CONTROL_PLANE, objects.namespace, name)
    return [*done, f"delete {CONTROL_PLANE[1]} {name}"]


def _record_deletion(objects: ClusterObjects, control_plane: Object) -> list[str]:
    """Record the deleted control plane on its Cluster; return the changes.

    Otherwise the next run finds an initialized Cluster without a control plane and takes that for a loss.

    One that was never initialized itself leaves the earlier note unchanged. Where another one's machines are there, nothing was lost.
    """
    if objects.others:
        return []
    known = deleted_control_plane.recorded(objects.cluster)
    if not objects.initialized or (known is not None and not deleted_control_plane.latched(control_plane)):
        return []
    if known is not None and known.uid == control_plane["metadata"]["uid"]:
        # By a run that was killed right after that.
        return []
    text = deleted_control_plane.record(control_plane, now_rfc3339())

    def note(stored: Object) -> None:
        stored["metadata"].setdefault("annotations", {})[kinds.ANNOTATION_DELETED_CONTROL_PLANE] = text
        stored.setdefault("status", {}).setdefault("initialization", {})["controlPlaneInitialized"] = True

    objects.store.modify(CLUSTER, objects.namespace, objects.name, note)
    return [f"note on Cluster {objects.name} that its control plane was deleted"]


def delete_records(objects: ClusterObjects) -> list[str]:
    """Delete all objects of a deleted cluster, the Cluster last.

    Its machines and infrastructure are gone already. With the Cluster last, a rerun finishes the deletion. A Secret that neither the Cluster nor its
    control plane owns is a user's own, whatever its labels are, and is left (docs/contract.md).
    """
    store, namespace, deleted = objects.store, objects.namespace, []

    def delete(reference: tuple[str, str], name: str) -> None:
        if delete_finally(store, reference, namespace, name):
            deleted.append(f"delete {reference[1]} {name}")

    for check in stored_health_checks.of_cluster(store, namespace, objects.name):
        delete(stored_health_checks.HEALTH_CHECK, check["metadata"]["name"])
    deleted += stored_resource_sets.delete_with_cluster(store, objects.cluster) + stored_workers.delete_with_cluster(
        objects
    )
    kept_plans.delete_with_cluster(store, namespace, objects.name)
    for secret in store.list(SECRET, namespace, {CLUSTER_LABEL: objects.name}):
        if _owned(objects, secret):
            delete(SECRET, secret["metadata"]["name"])
    if objects.control_plane is not None:
        own = str(objects.control_plane["metadata"]["name"])
        template = objects.machine_template
        if template is not None:
            kind, name = kind_ref_of(template), str(template["metadata"]["name"])
            # Before the control plane, without which a killed run would leave it behind.
            if not stored_workers.is_named(objects, kind[1], name, besides=own):
                delete(kind, name)
        delete(CONTROL_PLANE, own)
    if objects.infrastructure_cluster is not None:
        infrastructure = objects.cluster["spec"]["infrastructureRef"]
        delete(kind_of(infrastructure), infrastructure["name"])
    delete(CLUSTER, objects.name)
    return deleted


def _owned(objects: ClusterObjects, secret: Object) -> bool:
    """Return whether a Secret is this cluster's own.

    A Cluster or KubeadmControlPlane owns it, or only an Action's rotation of authorities can have made it.
    """
    if secret["metadata"]["name"] == kinds.secret_name(objects.name, kinds.PURPOSE_AUTHORITY_ROTATION):
        return True
    listed = secret["metadata"].get("ownerReferences") or []
    # Its label tells the cluster; a control plane that it had before may have made it.
    return any(
        each.get("kind") == CONTROL_PLANE[1] or (each.get("kind"), each.get("name")) == (CLUSTER[1], objects.name)
        for each in listed
    )


def is_last_record(objects: ClusterObjects) -> bool:
    """Return whether a deletion's run ended with only the Cluster left."""
    if not objects.cluster["metadata"].get("deletionTimestamp"):
        return False
    return objects.control_plane is None and objects.infrastructure_cluster is None and not objects.all_machines
