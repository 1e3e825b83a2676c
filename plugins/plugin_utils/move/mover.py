# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Move of a cluster between stores, safe to kill anywhere (docs/move.md).

Until everything was read back from the target and compared, the source is the cluster's store; its mark states so,
and the Cluster is paused in both. Then one write, the source's mark, makes the target the store. What follows only
tidies up.
"""

from __future__ import annotations

import secrets
import typing as t
from dataclasses import dataclass, replace

from ..calls.failure import ControlPlaneFailure
from ..records.cluster_objects import CLUSTER, Object
from ..store.base import Store
from ..store.kubernetes.requests import ApiUnavailable
from ..store.lock import marks
from ..store.lock.any_store import Locks, Taken
from ..store.lock.marks import ARRIVING, EXPORT, MOVED, MOVING, Mark
from ..store.pause import paused_because
from . import deletion_marks
from . import graph as cluster_graph
from .copied_objects import Copies
from .graph import Graph, key_of

# How often what was changed in the source meanwhile is carried once more.
ROUNDS = 5


@dataclass(frozen=True)
class Side:
    """Store of a move with its locks and its name in messages."""

    store: Store
    locks: Locks
    where: str


class Mover:
    """Move of one cluster; ``changes`` lists what was done, in words.

    Args:
        source: where the cluster is.
        target: where it is to be.
        namespace: its namespace, in both.
        cluster: its name.
        told: is given a line for the user before each stage.
        use_export: whether what may be moved is a copy that an API's cluster left (docs/move.md).
        seen: what the source, such a copy, is known to have had.
    """

    def __init__(
        self,
        source: Side,
        target: Side,
        namespace: str,
        cluster: str,
        told: t.Callable[[str], None],
        use_export: bool = False,
        seen: t.Iterable[str] = (),
    ) -> None:
        self._source = source
        self._target = target
        self._namespace = namespace
        self._cluster = cluster
        self._at = (namespace, cluster)
        self._told = told
        self._use_export = use_export
        self._copies = Copies(target.store, namespace, target.where, seen, locks=target.locks)
        # Which one answers nobody, so that it is not waited for once more.
        self._silent: t.Optional[Side] = None
        self._numbers: dict[str, int] = {}
        self.changes: list[str] = []

    def move(self) -> bool:
        """Move the cluster, or resume a killed run's move.

        Returns whether anything was left to do.
        """
        held = self._take(self._source)
        mark = self._mark_of_source()
        graph = self._graph()
        if mark is not None and mark.state == MOVED:
            return self._after(mark, graph, None)
        # Taken before anything is noted: where another run or another move is at work there, nothing has begun.
        self._take(self._target)
        if mark is None or mark.state != MOVING:
            self._refuse_anothers(self._target.locks.mark(*self._at), "")
            mark = self._begin(graph)
        self._pause(self._source.store, True)
        arrived = self._arrive(mark, held)
        verified = self._carry()
        # A run that stood still long enough may have lost them to another one; the source's is compared as it is marked.
        self._target.locks.check(*self._at, arrived.fencing)
        self._mark(self._source, replace(mark, state=MOVED))
        self.changes.append(f"from now on the cluster is kept in {self._target.where}")
        self._told(self.changes[-1])
        self._after(mark, verified, verified)
        return True

    def undo(self, check: bool = False) -> bool:
        """Revert an unfinished move; return whether there was one.

        With `check` nothing is written, and ``changes`` lists what would be done.
        """
        if not check:
            self._take(self._source)
        mark = self._source.locks.mark(*self._at)
        if mark is None or mark.state == EXPORT:
            return False
        if mark.state == ARRIVING:
            raise marks.Marked(*self._at, self._source.where, mark)
        if mark.state == MOVED:
            raise ControlPlaneFailure(
                f"{self._namespace}/{self._cluster} was moved to {mark.other} and lives there: nothing is left that could be taken back, and nothing was done. "
                "Move it here again, with that store as the inventory's."
            )
        self._refuse_another_target(mark)
        try:
            self._take_back(mark, check)
        except ApiUnavailable as error:
            # What makes the target the cluster's store is written in this one, and was not. Its mark keeps runs away there.
            self._silent = self._target
            self._told(f"what was copied stays where it is: {error}")
        if check:
            self.changes.append(f"end the move, so that the cluster stays in {self._source.where}")
            return True
        self._pause(self._source.store, mark.paused)
        self._mark(self._source, None)
        self.changes.append(f"the cluster stays in {self._source.where}")
        return True

    def _take_back(self, mark: Mark, check: bool) -> None:
        if not check:
            self._take(self._target)
        theirs = self._target.locks.mark(*self._at)
        if theirs is None or not _arrives(theirs, mark):
            return
        before = Mark(theirs.before[0], "", theirs.before[1]) if theirs.before else None
        stays = before is not None and before.state == EXPORT
        if check:
            self.changes += [] if stays else _deletions(self._own_copies())
            return
        if stays:
            # The cluster's own copy, which may be the only one of its keys outside of it: the next run of the cluster brings it up to date.
            self._pause(self._target.store, mark.paused)
        else:
            self.changes += self._copies.delete(self._own_copies())
        self._mark(self._target, before)

    def _own_copies(self) -> list[Object]:
        here, there = self._graph(), Graph(self._target.store, *self._at)
        return [
            each
            for each in reversed(there.objects)
            if here.get(key_of(each)) and self._is_ours(self._target.store, there, each)
        ]

    def would(self) -> list[str]:
        """Return the changes a move would make, without making them.

        Both stores are checked, and refused is what a move would refuse.
        """
        mark = self._mark_of_source()
        graph = self._graph()
        theirs = self._target.locks.mark(*self._at)
        if mark is not None and mark.state == MOVED:
            # What differs in the target was changed there since: it is the cluster's store already.
            arrives = _arrives(theirs, mark)
            if graph.objects and not arrives:
                self._require_there()
            ours = [each for each in graph.objects if self._is_ours(self._source.store, graph, each)]
            return ([f"end the move in {self._target.where}"] if arrives else []) + _deletions(ours)
        self._refuse_anothers(theirs, mark.move if mark is not None and mark.state == MOVING else "")
        self._refuse(graph)
        self._copies.refuse_foreign(graph)
        self._copies.refuse_beyond_limits(graph)
        gone = _deletions(self._copies.remains(graph))
        moved = [f"move {each['kind']} {each['metadata']['name']}" for each in graph.objects]
        return [*moved, *gone, *self._said(graph)]

    def release(self) -> None:
        """Release both locks, as far as this run holds them."""
        self._release(self._source, self._target)

    def leave_source(self) -> None:
        """Release the source's lock only.

        The cluster is not there any more, and the folder may become its copy again.
        """
        self._release(self._source)

    def _release(self, *sides: Side) -> None:
        for side in sides:
            if side is self._silent:
                continue
            try:
                side.locks.release_own(*self._at)
            except ApiUnavailable as error:
                # Its lock ends by itself when this run does, and what was or was not moved is decided.
                self._told(f"the lock in {side.where} is left to run out: {error}")

    def _take(self, side: Side) -> Taken:
        taken = side.locks.acquire(*self._at, on_wait=self._told, purpose=marks.MOVE)
        self._numbers[side.where] = taken.fencing
        side.store.fenced_by(lambda: side.locks.check(*self._at, taken.fencing))
        return taken

    def _mark(self, side: Side, mark: t.Optional[Mark]) -> None:
        side.locks.set_mark(*self._at, mark, self._numbers[side.where])

    def _graph(self) -> Graph:
        with self._source.store.view():
            return Graph(self._source.store, *self._at)

    def _mark_of_source(self) -> t.Optional[Mark]:
        """Return the source's mark; refuse one that forbids this move."""
        mark = self._source.locks.mark(*self._at)
        if mark is None:
            return None
        elsewhere = mark.state == MOVED and mark.other != self._target.where
        if mark.state == ARRIVING or elsewhere or (mark.state == EXPORT and not self._use_export):
            raise marks.Marked(*self._at, self._source.where, mark)
        if mark.state == MOVING:
            self._refuse_another_target(mark)
        return mark

    def _refuse_another_target(self, mark: Mark) -> None:
        if mark.other != self._target.where:
            raise ControlPlaneFailure(
                f"a move of {self._namespace}/{self._cluster} to {mark.other} has begun and not ended, and this one is to {self._target.where}. Nothing was "
                "done. Give that store as control_plane_move_to: complete that move (run it again), or take it back with "
                "-e control_plane_move_undo=true."
            )

    def _begin(self, graph: Graph) -> Mark:
        self._refuse(graph)
        self._copies.refuse_foreign(graph)
        self._copies.remains(graph)
        self._copies.refuse_beyond_limits(graph)
        cluster = t.cast(Object, graph.get((CLUSTER, self._cluster)))
        begun = Mark(MOVING, secrets.token_hex(6), self._target.where, (cluster.get("spec") or {}).get("paused"))
        self._mark(self._source, begun)
        return begun

    def _refuse(self, graph: Graph) -> None:
        if graph.get((CLUSTER, self._cluster)) is None:
            raise ControlPlaneFailure(
                f"the store {self._source.where} has no Cluster {self._namespace}/{self._cluster}, so there is nothing to move. Nothing was done. "
                "Check which store the inventory names."
            )
        whole = deletion_marks.whole(graph)
        if whole and not deletion_marks.can_only_live_on(graph, self._source.store):
            raise ControlPlaneFailure(
                f"{self._namespace}/{self._cluster} is being deleted as a whole: {deletion_marks.named(whole)}. Nothing was done. Let "
                "kubeadm.control_plane.reconcile of this cluster end that. Where this API is the cluster's own by another name, that run finds it out and "
                "notes it; move the cluster then."
            )

    def _arrive(self, mark: Mark, held: Taken) -> Taken:
        """Mark the target as arriving and raise its fencing number.

        The mark keeps other runs out; the number is above every one that the source ever gave.
        """
        theirs = self._target.locks.mark(*self._at)
        if theirs is not None and theirs.move == mark.move and theirs.state == MOVING:
            self._pause(self._source.store, mark.paused)
            self._mark(self._source, None)
            raise ControlPlaneFailure(
                f"{self._target.where} is the store that {self._namespace}/{self._cluster} is in. Nothing was moved. "
                "Give the other store as control_plane_move_to."
            )
        self._refuse_anothers(theirs, mark.move)
        if not _arrives(theirs, mark):
            before = (theirs.state, theirs.other) if theirs is not None and theirs.state != ARRIVING else None
            self._mark(self._target, Mark(ARRIVING, mark.move, self._source.where, mark.paused, before))
        return self._target.locks.raise_above(*self._at, held.fencing)

    def _refuse_anothers(self, theirs: t.Optional[Mark], move: str) -> None:
        """Refuse a target that another move has marked. Raises Marked.

        Another move than ``move``.
        """
        if theirs is None or theirs.state not in (MOVING, ARRIVING):
            return
        # A move from the same source that was taken back there while this store could not be reached is over.
        if theirs.state == ARRIVING and (theirs.move == move or theirs.other == self._source.where):
            return
        raise marks.Marked(*self._at, self._target.where, theirs)

    def _carry(self) -> Graph:
        for _round in range(ROUNDS):
            graph = self._graph()
            self._refuse(graph)
            self._told(f"{len(graph.objects)} objects go to {self._target.where}")
            self.changes += self._copies.bring(graph)
            self.changes += self._copies.delete(self._copies.remains(graph))
            self._copies.verify(graph)
            if _versions(self._graph()) == _versions(graph):
                self._told(f"all {len(graph.objects)} objects were read back and are the same")
                for each in self._said(graph):
                    self.changes.append(each)
                    self._told(each)
                return graph
        raise ControlPlaneFailure(
            f"objects of {self._namespace}/{self._cluster} are changed all the time in the store {self._source.where}, though it is paused. Nothing is lost: "
            "that store keeps everything. Find out who does it (managedFields say), then run this again."
        )

    def _after(self, mark: Mark, graph: Graph, verified: t.Optional[Graph]) -> bool:
        """Finish a move: unpause the target, then delete the source's objects.

        The target is the cluster's store already.
        """
        theirs = self._target.locks.mark(*self._at)
        changed = bool(graph.objects)
        if _arrives(theirs, mark):
            changed = True
            self._take(self._target)
            self._late(verified)
            self._pause(self._target.store, mark.paused)
            self._mark(self._target, None)
        elif graph.objects:
            self._require_there()
        self._tidy()
        return changed

    def _said(self, graph: Graph) -> list[str]:
        """Return what doesn't go along unchanged, in words.

        It is marks of deletion, and the pause of the namespace.
        """
        here, there = (paused_because(each.store, self._namespace) for each in (self._source, self._target))
        said = deletion_marks.said(graph)
        if there:
            said.append(f"have the cluster paused by its namespace in {self._target.where}: {there}")
        elif here:
            said.append(f"leave the pause of the namespace behind, which is not there in {self._target.where}: {here}")
        return said

    def _late(self, verified: t.Optional[Graph]) -> None:
        """Copy changes made in the source just before its mark.

        Between the last check and the mark another writer may have been there. Nothing was deleted there yet.
        """
        now = self._graph()
        if verified is None or _versions(now) != _versions(verified):
            self.changes += self._copies.bring(now)
            self._copies.verify(now)

    def _require_there(self) -> None:
        if self._target.store.get(CLUSTER, *self._at) is None:
            raise ControlPlaneFailure(
                f"{self._namespace}/{self._cluster} was moved, but not to {self._target.where}: there is no such Cluster there. Nothing was deleted here. Give "
                "the store that it was moved to."
            )

    def _tidy(self) -> None:
        left = self._graph()
        # What is only named goes before who names it: a killed run's next one would not find it any more.
        named = [each for each in left.objects if key_of(each) not in left.own]
        mine = [each for each in named if self._is_ours(self._source.store, left, each)]
        own = [each for each in left.objects if key_of(each) in left.own]
        self.changes += Copies(self._source.store, self._namespace, self._source.where).delete([*mine, *reversed(own)])

    def _is_ours(self, store: Store, graph: Graph, obj: Object) -> bool:
        key = key_of(obj)
        return key in graph.own or not cluster_graph.used_by_others(store, *self._at, key)

    def _pause(self, store: Store, paused: t.Optional[bool]) -> None:
        def write(stored: Object) -> None:
            spec = stored.setdefault("spec", {})
            spec.pop("paused", None)
            if paused is not None:
                spec["paused"] = paused

        if store.get(CLUSTER, *self._at) is not None:
            store.modify(CLUSTER, *self._at, write)


def _arrives(theirs: t.Optional[Mark], mark: Mark) -> bool:
    """Return whether the target's mark is of the same move."""
    return theirs is not None and theirs.state == ARRIVING and theirs.move == mark.move


def _deletions(objects: t.Iterable[Object]) -> list[str]:
    return [f"delete {each['kind']} {each['metadata']['name']}" for each in objects]


def _versions(graph: Graph) -> dict[t.Any, str]:
    return {key_of(each): str(each["metadata"]["resourceVersion"]) for each in graph.objects}
