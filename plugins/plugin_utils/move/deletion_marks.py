# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletion marks of a cluster's objects in a copy (docs/move.md).

No store accepts since when something is being deleted; it accepts a deletion only.
"""

from __future__ import annotations

import typing as t

from ..decision.removal import whole_control_plane
from ..decision.snapshot.typed_snapshot import condition_of
from ..objects.conditions import DELETING
from ..records.cluster_objects import CLUSTER, CONTROL_PLANE, Object
from ..store import opening
from ..store.base import Store
from .graph import Graph, key_of

# An API server's own, by which its garbage collector finishes a cascade; no other store has anybody who takes them off.
CASCADE_FINALIZERS = ("foregroundDeletion", "orphan")


def is_marked(obj: t.Mapping[str, t.Any]) -> bool:
    """Return whether an object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def whole(graph: Graph) -> list[Object]:
    """Return the Cluster and KubeadmControlPlane, where marked for deletion.

    Then all of the cluster is to be deleted.
    """
    return [each for each in graph.objects if is_marked(each) and key_of(each)[0] in (CLUSTER, CONTROL_PLANE)]


def can_only_live_on(graph: Graph, store: Store) -> bool:
    """Return whether a marked cluster keeps its own objects.

    No run can finish its deletion there (``decision/removal/whole_control_plane.py``).

    Args:
        graph: its objects.
        store: where they are.
    """
    cluster = graph.get((CLUSTER, graph.cluster))
    # By an address, or as a run found and noted that could ask its machines.
    noted = {condition_of(each, DELETING).get("reason") for each in graph.objects if key_of(each)[0] == CONTROL_PLANE}
    itself = whole_control_plane.OBJECTS_IN_ITSELF in noted or (
        cluster is not None and opening.keeps_itself(store, cluster)
    )
    return itself and bool(whole(graph))


def carried(graph: Graph) -> list[Object]:
    """Return the objects to delete in the other store, in marking order.

    A machine that was being removed before the whole cluster was marked is removed there as well; what a cascade
    (``kubectl delete --cascade=foreground``) marked at that moment or later is not. What waits only for the cascade itself is none.
    """
    marks = [str(each["metadata"]["deletionTimestamp"]) for each in whole(graph)]
    found = [
        each
        for each in graph.objects
        if is_marked(each)
        and key_of(each)[0] not in (CLUSTER, CONTROL_PLANE)
        and set(each["metadata"].get("finalizers") or []) - set(CASCADE_FINALIZERS)
        and (not marks or str(each["metadata"]["deletionTimestamp"]) < min(marks))
    ]
    return sorted(found, key=lambda each: (each["metadata"]["deletionTimestamp"], key_of(each)))


def left_behind(graph: Graph) -> list[Object]:
    """Return the objects being deleted that will not be copied."""
    going_on = {key_of(each) for each in carried(graph)}
    return [each for each in graph.objects if is_marked(each) and key_of(each) not in going_on]


def named(objects: t.Iterable[Object]) -> str:
    """Return the objects' kinds and names for messages."""
    return ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in objects)


def said(graph: Graph) -> list[str]:
    """Return what becomes of the objects being deleted, in words."""
    behind, going_on = left_behind(graph), carried(graph)
    found = []
    if behind:
        found.append(f"leave the mark of deletion behind, so that the cluster lives on: {named(behind)}")
    if going_on:
        found.append(f"continue there with the deletion of {named(going_on)}")
    return found
