# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of a cluster's objects in another store.

With that store's uids, recognized by their origin (``objects/origin.py``).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import typing as t

from ...module_utils.common.legible import block
from ..calls.failure import ControlPlaneFailure
from ..objects import origin
from ..objects.convert.to_hub import without_zero_values
from ..records.cluster_objects import CLUSTER, SECRET, Object, delete_finally
from ..records.plans import kept_plans
from ..store.base import AlreadyExists, Store, StoreError, describe
from ..store.kubernetes import applied
from ..store.kubernetes.store import as_kept
from ..store.lock.any_store import Locks
from ..store.lock.marks import MOVING
from ..store.read_once import OF_NAMESPACE
from . import deletion_marks
from .graph import Graph, Key, can_be_shared, key_of, used_by_others

# A store's own fields of metadata; no other store can be told since when something is being deleted (deletion_marks.py).
_OWN = (
    "deletionTimestamp",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionGracePeriodSeconds",
)


class NotTheSame(StoreError):
    """Error of a differing copy, or of a foreign object instead."""


def copy_of(obj: Object, uids: t.Mapping[str, str]) -> Object:
    """Return the copy of an object for the other store.

    Args:
        obj: as it is stored.
        uids: the uid there, by the uid here, of the owners that are there already. Others are left out: an API's garbage collector
            would take what it owns for garbage.
    """
    made = without_zero_values(applied.settled(as_kept(obj)))
    metadata = {key: copy.deepcopy(value) for key, value in made["metadata"].items() if key not in _OWN}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **origin.notes(obj)}
    metadata.update(_finalizers(metadata))
    owners = [
        {**each, "uid": uids[str(each["uid"])]}
        for each in metadata.pop("ownerReferences", None) or []
        if str(each.get("uid")) in uids
    ]
    if owners:
        metadata["ownerReferences"] = owners
    return {**made, "metadata": metadata}


def difference(wanted: t.Any, found: t.Any, path: str = "", filled: bool = True) -> t.Optional[str]:
    """Return the path at which a stored copy differs, else None.

    An empty mapping or list and a field that isn't there are the same.

    Args:
        wanted: the copy as it is to be.
        found: the copy as it is stored.
        path: of both in the object, "" for the whole.
        filled: whether to leave out of account what an API server may have filled in: a spec's defaults, a Secret's type.
    """
    if isinstance(wanted, dict) or (wanted is None and isinstance(found, dict)):
        wanted, found = wanted or {}, found if isinstance(found, dict) else {}
        for key in sorted({*wanted, *found}):
            own = f"{path}.{key}" if path else key
            if filled and key not in wanted and (path.startswith("spec") or own in ("type", "spec")):
                continue
            inner = difference(wanted.get(key), found.get(key), own, filled)
            if inner is not None:
                return inner
        return None
    if isinstance(wanted, list) or (wanted is None and isinstance(found, list)):
        wanted, found = wanted or [], found if isinstance(found, list) else []
        if len(wanted) != len(found):
            return path
        for index, each in enumerate(wanted):
            inner = difference(each, found[index], f"{path}[{index}]", filled)
            if inner is not None:
                return inner
        return None
    return None if wanted == found else path


class Copies:
    """Copies of a cluster's objects in another store: written and verified.

    Args:
        target: the other store.
        namespace: the cluster's namespace, the same in both.
        where: how messages name the other store.
        seen: uids (of where they were made) of what the first store is known to have had.
        replaced: uids (the same) whose copies become those of another object of the same name. For an export alone, where what was deleted and
            made again under its name is the new one, too: elsewhere the one that is there may be in use.
        locks: the other store's, where clusters may be kept there whose objects are newer than copies (a move). None where all of them are copies
            (an export).
    """

    def __init__(
        self,
        target: Store,
        namespace: str,
        where: str,
        seen: t.Iterable[str] = (),
        replaced: t.Iterable[str] = (),
        locks: t.Optional[Locks] = None,
    ) -> None:
        self._target = target
        self._namespace = namespace
        self._where = where
        self._seen = frozenset(seen)
        self._replaced = frozenset(replaced)
        self._locks = locks

    def bring(self, graph: Graph) -> list[str]:
        """Create or update the copy of every object, owners first.

        What is being deleted here is deleted there (``deletion_marks.py``).

        Returns what was done, in words. The run after a killed one resumes.
        """
        uids: dict[str, str] = {}
        going = deletion_marks.carried(graph)
        known = {key: self._stored(obj) for key, obj in graph.by_key().items()}
        for obj in graph.objects:
            self._require_copy(graph, obj, known[key_of(obj)])
        done = self._make_room(graph, {key_of(each) for each in going}, known)
        for obj in graph.objects:
            stored, said = self._bring_one(graph, obj, copy_of(obj, uids), known[key_of(obj)])
            done += said
            uids[str(obj["metadata"]["uid"])] = str(stored["metadata"]["uid"])
            known[key_of(obj)] = stored
        # Only now that everything is there: what is in deletion can't be given finalizers any more.
        for obj in going:
            kind_ref, name = key_of(obj)
            if not deletion_marks.is_marked(t.cast(Object, known[kind_ref, name])):
                self._target.delete(kind_ref, self._namespace, name)
                done.append(f"mark {obj['kind']} {name} for deletion")
        return done

    def _bring_one(
        self, graph: Graph, obj: Object, wanted: Object, stored: t.Optional[Object]
    ) -> tuple[Object, list[str]]:
        """Create or update a copy; return it and the changes.

        In words. Another run may write the copy of what clusters share at the same time.
        """
        (kind_ref, name), what = key_of(obj), f"{obj['kind']} {obj['metadata']['name']}"
        if stored is None:
            with contextlib.suppress(AlreadyExists):
                return self._target.create(wanted), [f"create {what}"]
        elif not _is_other(wanted, stored):
            return stored, []
        before = ""

        def follow(found: Object) -> t.Optional[Object]:
            nonlocal before
            self._require_copy(graph, obj, found)
            before = str(found["metadata"]["resourceVersion"])
            return {**wanted, "metadata": {**wanted["metadata"], **_own(found)}} if _is_other(wanted, found) else None

        self._target.prefer(obj)
        written = self._target.modify(kind_ref, self._namespace, name, follow)
        return written, [] if written["metadata"]["resourceVersion"] == before else [f"change {what}"]

    def _make_room(self, graph: Graph, going: t.Collection[Key], known: dict[Key, t.Optional[Object]]) -> list[str]:
        """Delete all copies where one is wrongly being deleted.

        No store takes a deletion back, and a new owner has another uid.

        ``known``, what the other store has of the graph, is brought up to date.
        """
        if not any(each and deletion_marks.is_marked(each) and key not in going for key, each in known.items()):
            return []
        there = Graph(self._target, self._namespace, graph.cluster)
        copies = [each for each in reversed(there.objects) if key_of(each) in known and key_of(each) in there.own]
        done = self.delete(copies)
        known.update({key_of(each): None for each in copies})
        return done

    def verify(self, graph: Graph) -> None:
        """Verify every copy by reading it back.

        Raises NotTheSame, naming the first difference.
        """
        there = Graph(self._target, self._namespace, graph.cluster).by_key()
        uids: dict[str, str] = {}
        going = {key_of(each) for each in deletion_marks.carried(graph)}
        for obj in graph.objects:
            stored = there.get(key_of(obj))
            if stored is None or stored["apiVersion"] != obj["apiVersion"]:
                stored = self._stored(obj)
            if stored is None:
                raise self._not_there(obj, "it is not there")
            uids[str(obj["metadata"]["uid"])] = str(stored["metadata"]["uid"])
            differs = difference(copy_of(obj, uids), _plain(stored), filled=bool(self._target.host()))
            if differs is not None:
                raise self._not_there(obj, f"{differs} is another than it was")
            if deletion_marks.is_marked(stored) != (key_of(obj) in going):
                raise self._not_there(obj, "it is being deleted in one of the two only")

    def refuse_foreign(self, graph: Graph) -> None:
        """Refuse another store with own objects under needed names.

        Also one whose clusters use other contents of them. Raises NotTheSame. Nothing is written.
        """
        for obj in graph.objects:
            self._require_copy(graph, obj, self._stored(obj))

    def refuse_beyond_limits(self, graph: Graph) -> None:
        """Refuse objects of which the other store would not take a field.

        Its definitions may have limits that the store of the objects has not. Raises ControlPlaneFailure with every object and
        field. Nothing is written.
        """
        found: list[str] = []
        for obj in graph.objects:
            wanted, stored = copy_of(obj, {}), self._stored(obj)
            if stored is not None and not deletion_marks.is_marked(stored):
                wanted = {**wanted, "metadata": {**wanted["metadata"], **_own(stored)}}
            name = describe(key_of(obj)[0], self._namespace, str(obj["metadata"]["name"]))
            found += [f"  {name}: {each}" for each in self._target.refused(wanted)]
        if found:
            raise ControlPlaneFailure(
                block(
                    [
                        f"{self._where} would not take the cluster {self._namespace}/{graph.cluster} as it is:",
                        *found,
                        "Nothing was written. Correct the manifest and run reconcile, which replaces a machine whose KubeadmConfig is named here; then "
                        "run this again.",
                    ]
                )
            )

    def remains(self, graph: Graph) -> list[Object]:
        """Return the other store's leftovers to delete, dependents first.

        Leftovers: the first store had them and has them no more. Raises NotTheSame where there is more than that. Plans that were kept there
        are nothing of the cluster's life, and stay.
        """
        known, at = graph.by_key(), (self._namespace, graph.cluster)
        there = Graph(self._target, *at)
        more = [each for each in there.objects if key_of(each) not in known]
        theirs = [each for each in more if not self._was_had(each) and key_of(each)[0] != SECRET]
        own = [each for each in theirs if not kept_plans.is_one(each)]
        if own:
            names = ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in own)
            raise NotTheSame(
                f"the cluster {self._namespace}/{graph.cluster} has more in the store that it is to be moved to than in the one that it comes from",
                self._where,
                f"only there are: {names}",
                "Nothing of it was changed. Where these are of an earlier life of the cluster, look whether their machines are gone, and delete "
                "them there; then run this again.",
            )
        had = [(each, key_of(each)) for each in reversed(more) if self._was_had(each)]
        return [each for each, key in had if key in there.own or not used_by_others(self._target, *at, key)]

    def delete(self, objects: t.Iterable[Object]) -> list[str]:
        """Delete objects of the other store."""
        done = []
        for each in objects:
            kind_ref, name = key_of(each)
            if delete_finally(self._target, kind_ref, self._namespace, name):
                done.append(f"delete {each['kind']} {name}")
        return done

    def _was_had(self, obj: Object) -> bool:
        return is_copy(obj) or origin.uid(obj) in self._seen

    def _stored(self, obj: Object) -> t.Optional[Object]:
        # In the object's own version: files may have machines of one kind in several.
        self._target.prefer(obj)
        kind_ref, name = key_of(obj)
        return self._target.get(kind_ref, self._namespace, name)

    def _require_copy(self, graph: Graph, obj: Object, stored: t.Optional[Object]) -> None:
        """Refuse to write over what another object or cluster there needs."""
        if stored is None:
            return
        kind_ref, name = key_of(obj)
        differs = difference(_content(obj), _content(stored), filled=bool(self._target.host())) is not None
        is_copy_there = origin.uid(stored) == origin.uid(obj) or origin.uid(stored) in self._replaced
        # Made by a person beforehand, a Secret or a template: the same is no contradiction.
        if not is_copy_there and (kind_ref == CLUSTER or differs):
            raise NotTheSame(
                f"{describe(kind_ref, self._namespace, name)} is there already, and is not this one",
                self._where,
                "it was made there and not moved there; writing over it could take something away that is needed",
                "Nothing of it was changed. Look whether this is the right store and namespace; delete it there where it is needed no more.",
            )
        # A kept cluster is read with its provider's kinds, which this one may have none of, nor a right to read.
        asked = differs and (key_of(obj) not in graph.own or can_be_shared(kind_ref))
        others = [each for each in self._kept if each.cluster != graph.cluster] if asked else []
        user = next((each.cluster for each in others if each.get(key_of(obj))), None)
        if user is not None:
            raise NotTheSame(
                f"{describe(kind_ref, self._namespace, name)} is there already with other contents, and the cluster {user}, which is kept there, uses it",
                self._where,
                "either of the two may be the newer one, and writing over it would change it for that cluster too",
                "Nothing of it was changed. See which contents are right and give them to the object in the other store as well; then run this again.",
            )

    @functools.cached_property
    def _kept(self) -> list[Graph]:
        """Objects of each cluster whose store the other one is."""
        if self._locks is None:
            return []
        with self._target.view(OF_NAMESPACE):
            names = [str(each["metadata"]["name"]) for each in self._target.list(CLUSTER, self._namespace)]
            known = {name: self._locks.mark(self._namespace, name) for name in names}
            # Of what is a copy, arrives or was moved away, another store has the newer one.
            kept = [name for name, mark in known.items() if mark is None or mark.state == MOVING]
            return [Graph(self._target, self._namespace, name) for name in kept]

    def _not_there(self, obj: Object, why: str) -> NotTheSame:
        kind_ref, name = key_of(obj)
        return NotTheSame(
            f"{describe(kind_ref, self._namespace, name)} did not arrive whole",
            self._where,
            why,
            "The store that it comes from keeps everything. Run this again; if it stays so, the definitions there may be another release's: "
            "run kubeadm.control_plane.install.",
        )


def is_copy(obj: Object) -> bool:
    """Return whether an object was copied from another store."""
    return origin.ORIGINAL_UID in (obj["metadata"].get("annotations") or {})


def _is_other(wanted: Object, stored: Object) -> bool:
    """Return whether a stored copy is another one than is wanted.

    Also by what it has more: a field that was removed since. Where that is a server's default, an update changes nothing.
    """
    return difference(wanted, _plain(stored), filled=False) is not None


def _plain(stored: Object) -> Object:
    made = as_kept(stored)
    metadata = {key: value for key, value in made["metadata"].items() if key not in _OWN}
    return {**made, "metadata": {**metadata, **_finalizers(metadata)}}


def _finalizers(metadata: t.Mapping[str, t.Any]) -> Object:
    """Return the finalizers without those of an API server's garbage collector.

    No other store has such a collector; {} where there are none.
    """
    if "finalizers" not in metadata:
        return {}
    return {"finalizers": [each for each in metadata["finalizers"] if each not in deletion_marks.CASCADE_FINALIZERS]}


def _own(stored: Object) -> Object:
    return {key: stored["metadata"][key] for key in _OWN if key in stored["metadata"]}


def _content(obj: Object) -> Object:
    return {
        key: value for key, value in without_zero_values(as_kept(obj)).items() if key in ("spec", "data", "binaryData")
    }
