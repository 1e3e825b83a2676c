# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mark of a cluster's lock that keeps runs from using this store (docs/move.md).

The store is not, or not yet, or not any more, the one to work with.

Every run that changes a cluster takes its lock first, so that none gets past it.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict, dataclass

from . import file_lock

# The cluster is being carried from here; is being carried here; lives elsewhere; what is here is a copy.
MOVING, ARRIVING, MOVED, EXPORT = STATES = ("moving", "arriving", "moved", "export")
FILE_NAME = "mark.json"
ANNOTATION = "kubeadm.control-plane/mark"
# What a run takes a lock for that may be marked.
WORK, MOVE, USE_EXPORT = "work", "move", "export"


class Marked(file_lock.LockError):
    """Refusal of a free lock because the cluster's mark forbids the run."""

    def __init__(self, namespace: str, cluster: str, where: str, mark: Mark) -> None:
        what, why, fix = _WORDS[mark.state]
        super().__init__(f"cluster {namespace}/{cluster} {what}", where, why.format(mark.other), fix.format(mark.other))
        self.mark = mark


@dataclass(frozen=True)
class Mark:
    """Mark of a cluster's lock: its state and the other store.

    Attributes:
        state: one of ``STATES``.
        move: the name of the move, the same in both stores.
        other: the other store, as messages name it.
        paused: the Cluster's ``spec.paused`` before the move; None where it had none.
        before: the state that an earlier mark had, with its other store, which an undone move leaves.
    """

    state: str
    move: str
    other: str
    paused: bool | None = None
    before: tuple[str, str] | None = None

    def text(self) -> str:
        """Return the mark as the JSON text that is stored."""
        return json.dumps(asdict(self), sort_keys=True)


def parse(text: str | None) -> Mark | None:
    """Return the mark of a stored text; None where there is none.

    One that can't be read counts as a move under way, during which no run uses the store.
    """
    if not text:
        return None
    try:
        found = json.loads(text)
        before = found.get("before")
        mark = Mark(
            state=str(found["state"]),
            move=str(found["move"]),
            other=str(found["other"]),
            paused=None if found.get("paused") is None else bool(found["paused"]),
            before=(str(before[0]), str(before[1])) if before else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Mark(ARRIVING, "", "a store that can't be read from the mark")
    return mark if mark.state in STATES else Mark(ARRIVING, "", mark.other)


def refuse(mark: Mark | None, purpose: str, namespace: str, cluster: str, where: str) -> None:
    """Raise :class:`Marked` where the mark forbids a run with this purpose.

    Args:
        mark: the mark, None where there is none.
        purpose: what the lock is taken for: ``MOVE`` gets past every mark, ``USE_EXPORT`` past that of an export.
        namespace: the cluster's namespace.
        cluster: the cluster.
        where: the lock's place.
    """
    if mark is None or purpose == MOVE or (purpose == USE_EXPORT and mark.state == EXPORT):
        return
    raise Marked(namespace, cluster, where, mark)


_WORDS: t.Mapping[str, tuple[str, str, str]] = {
    MOVING: (
        "is being moved away from here",
        "a move to {0} has begun and not ended. What is changed here now could be lost there",
        "This run changed nothing. Run kubeadm.control_plane.move again as it was started, which continues where it was; or take it back with "
        "-e control_plane_move_undo=true.",
    ),
    ARRIVING: (
        "is being moved here",
        "a move from {0} has begun and not ended: not everything is here",
        "This run changed nothing. Run kubeadm.control_plane.move again as it was begun, with that store as the inventory's. Only where that move was taken "
        f"back and the cluster is kept in a third store by now, this mark is left over: take it off (the file {FILE_NAME} beside the lock, or the annotation "
        f"{ANNOTATION} of the Lease), and move the cluster here from there.",
    ),
    MOVED: (
        "is not here any more",
        "it was moved to {0}",
        "This run changed nothing. Give that store in the inventory (option store), or move the cluster back with kubeadm.control_plane.move.",
    ),
    EXPORT: (
        "is not kept here",
        "this is a copy of what is kept in {0}, the cluster's own API",
        "This run changed nothing. As long as that API answers, give that store. Where it can't be brought to answer without its objects, "
        "work with this copy: -e control_plane_use_export=true; then move it back with kubeadm.control_plane.move.",
    ),
}
