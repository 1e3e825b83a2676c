# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finalizers of stored objects that a machine depends on."""

from __future__ import annotations

from ...records.cluster_objects import FINALIZERS, ClusterObjects, Object
from ...store.base import kind_ref_of


def with_finalizer(objects: ClusterObjects, current: Object, changes: list[str]) -> Object:
    """Return an object with its finalizer put back.

    What was changed is added to `changes`. Without its finalizer, an object that is deleted is gone before its machine is. One that is being deleted gets none.
    """
    metadata, reference = current["metadata"], kind_ref_of(current)
    finalizer = FINALIZERS[reference]
    if metadata.get("deletionTimestamp") or finalizer in (metadata.get("finalizers") or []):
        return current

    def put_back(stored: Object) -> None:
        finalizers = stored["metadata"].get("finalizers") or []
        if finalizer not in finalizers and not stored["metadata"].get("deletionTimestamp"):
            stored["metadata"]["finalizers"] = [*finalizers, finalizer]

    changes.append(f"put back the finalizer of {reference[1]} {objects.namespace}/{metadata['name']}")
    return objects.store.modify(reference, objects.namespace, str(metadata["name"]), put_back)
