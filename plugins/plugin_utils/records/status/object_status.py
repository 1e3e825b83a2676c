# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status, conditions and annotations of one stored object."""

from __future__ import annotations

import typing as t

from ...objects.conditions import remove_condition, set_condition
from ..cluster_objects import ClusterObjects, Object


def write_one(
    objects: ClusterObjects,
    kind: tuple[str, str],
    current: Object,
    now: str,
    status: t.Optional[Object],
    conditions: t.Optional[list[Object]],
    removed: t.Optional[t.Sequence[str]] = None,
    annotations: t.Optional[t.Mapping[str, t.Optional[str]]] = None,
) -> Object:
    """Write status, conditions and annotations of one stored object, and return it."""

    def bring(stored: Object) -> None:
        stored_status = stored.setdefault("status", {})
        stored_status.update(status or {})
        for key in [key for key, value in stored_status.items() if value is None]:
            del stored_status[key]
        for condition in conditions or []:
            set_condition(
                stored, condition["type"], condition["status"], condition["reason"], condition.get("message", ""), now
            )
        for name in removed or ():
            remove_condition(stored, name)
        annotate(stored, annotations or {})

    return objects.store.modify(kind, objects.namespace, current["metadata"]["name"], bring)


def annotate(stored: Object, annotations: t.Mapping[str, t.Optional[str]]) -> None:
    """Set annotations of an object in place; None removes one."""
    for key, value in annotations.items():
        if value is not None:
            stored["metadata"].setdefault("annotations", {})[key] = value
        else:
            (stored["metadata"].get("annotations") or {}).pop(key, None)
