# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pauses of clusters: their own, and their namespace's, a ConfigMap (docs/eda.md)."""

from __future__ import annotations

from ...module_utils.common.values import clip
from ..objects import kinds
from .base import Object, Store

NAME = "kubeadm-control-plane-pause"
_LONGEST_REASON = 200


def paused_because(store: Store, namespace: str) -> str:
    """Return why all clusters of a namespace are paused, or ""."""
    found = store.get(("", kinds.CONFIG_MAP), namespace, NAME)
    if found is None:
        return ""
    data = found.get("data")
    # It pauses by being there, whatever a file of the store has in it.
    reason = clip(data.get("reason"), _LONGEST_REASON) if isinstance(data, dict) else ""
    return f"the ConfigMap {NAME} of the namespace {namespace} is there" + (f": {reason}" if reason else "")


def reasons(store: Store, namespace: str, name: str) -> list[str]:
    """Return why a cluster is paused, [] where it is not.

    In the words of the decision core (``View.paused``), for what works on a cluster beside it.

    Source: Cluster API's contract, "pausing": the Cluster's ``spec.paused``, or the annotation on either object.
    """
    cluster = store.get((kinds.GROUP_CLUSTER, kinds.CLUSTER), namespace, name) or {}
    spec = cluster.get("spec") or {}
    found = ["Cluster spec.paused is true"] if spec.get("paused") else []
    reference = (spec.get("controlPlaneRef") or {}).get("name")
    kind_ref = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)
    control_plane = store.get(kind_ref, namespace, str(reference)) if reference else None
    both = (cluster, control_plane or {})
    going = any((each.get("metadata") or {}).get("deletionTimestamp") for each in both)
    found += [text for obj in both if (text := kinds.pause_of(obj, going))]
    of_all = paused_because(store, namespace)
    return [*found, of_all] if of_all else found


def hold(obj: Object) -> None:
    """Pause an object until :func:`release`, in place, unless it is paused."""
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {kinds.ANNOTATION_PAUSED: kinds.PAUSED_BY_ADOPTION, **annotations}


def release(obj: Object) -> None:
    """Take the pause of :func:`hold` off an object, in place."""
    if kinds.is_paused_by_adoption(obj):
        del obj["metadata"]["annotations"][kinds.ANNOTATION_PAUSED]
