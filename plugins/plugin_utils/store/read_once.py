# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""View of a store: each object and list is read once.

It is for a store that costs a request for every question.

A view is as old as its first question. Its caller decides for how long that is good enough (one observation, as a
rule). What is written through the same store is seen in it; where a write finds that another writer was faster, all of
it is forgotten.
"""

from __future__ import annotations

import copy
import typing as t

from .base import KindRef, Object, Objects

Labels = t.Optional[t.Mapping[str, str]]
_Place = tuple[KindRef, str, str]
_Places = list[_Place]
_Listed = tuple[KindRef, t.Optional[str], tuple[tuple[str, str], ...]]
# Of each kind that is asked for everything is read, in the namespace that is asked for or in all of them.
OF_NAMESPACE, OF_ALL = "namespace", "all"


class View:
    """View of a store: the objects and lists that were read.

    Args:
        whole: None, ``OF_NAMESPACE`` or ``OF_ALL``: for callers that read many clusters one after another.
    """

    def __init__(self, whole: str | None = None) -> None:
        self._whole = whole
        self._objects: dict[_Place, Object | None] = {}
        self._lists: dict[_Listed, _Places] = {}
        # What could not be read as a whole.
        self.unreadable: set[tuple[KindRef, str | None]] = set()
        # Of each list, by a label's name and then its value: a fleet's clusters are asked for one after another.
        self._labelled: dict[tuple[_Listed, str], dict[t.Any, _Places]] = {}

    def widened(self, namespace: str | None, labels: Labels) -> tuple[str | None, Labels]:
        """Return the namespace and labels to request in place of these."""
        if self._whole is None:
            return namespace, labels
        return (None if self._whole == OF_ALL else namespace), None

    @property
    def reads_whole_kinds(self) -> bool:
        """Flag of a view that reads each kind as a whole."""
        return self._whole is not None

    def lists(self, kind_ref: KindRef, namespace: str | None) -> bool:
        """Return whether all objects of a kind are known."""
        return any((kind_ref, each, ()) in self._lists for each in (namespace, None))

    def knows(self, kind_ref: KindRef, namespace: str, name: str) -> bool:
        """Return whether an object is known, as present or as missing."""
        return (kind_ref, namespace, name) in self._objects or self.lists(kind_ref, namespace)

    def get(self, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        """Return a copy of a known object; None where there is none."""
        return copy.deepcopy(self._objects.get((kind_ref, namespace, name)))

    def list(self, kind_ref: KindRef, namespace: str | None, labels: Labels) -> Objects | None:
        """Return the known objects of a kind, None if never requested.

        They are ordered by namespace and name.
        """
        wanted = _sorted(labels)
        for key in ((kind_ref, namespace, wanted), (kind_ref, namespace, ()), (kind_ref, None, ())):
            if key in self._lists:
                places = self._places(key, wanted)
                found = [self._objects[place] for place in sorted(places) if namespace in (None, place[1])]
                return [copy.deepcopy(each) for each in found if each is not None and _carries(each, wanted)]
        return None

    def _places(self, key: _Listed, wanted: tuple[tuple[str, str], ...]) -> _Places:
        if not wanted:
            return self._lists[key]
        name, value = wanted[0]
        if (key, name) not in self._labelled:
            by_value = self._labelled[(key, name)] = {}
            for place in self._lists[key]:
                labels = (self._objects[place] or {"metadata": {}})["metadata"].get("labels") or {}
                by_value.setdefault(labels.get(name), []).append(place)
        return self._labelled[(key, name)].get(value, [])

    def keep(self, kind_ref: KindRef, obj: Object, written: bool = False) -> None:
        """Record an object's current state in the view.

        ``written``: this store itself wrote it, so that lists may have changed.
        """
        metadata = obj["metadata"]
        place = (kind_ref, str(metadata["namespace"]), str(metadata["name"]))
        before = self._objects.get(place)
        # The last finalizer was taken off.
        gone = bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")
        self._objects[place] = None if gone else copy.deepcopy(obj)
        relabelled = before is None or (before["metadata"].get("labels") or {}) != (metadata.get("labels") or {})
        if gone or relabelled:
            self._labelled.clear()
            if written:
                self._drop_lists(kind_ref)

    def keep_missing(self, kind_ref: KindRef, namespace: str, name: str) -> None:
        """Record in the view that an object does not exist."""
        place = (kind_ref, namespace, name)
        if self._objects.get(place) is not None:
            self._drop_lists(kind_ref)
        self._objects[place] = None

    def keep_list(self, kind_ref: KindRef, namespace: str | None, labels: Labels, found: Objects) -> None:
        """Record all objects of a kind in the view."""
        places = []
        for each in found:
            place = (kind_ref, str(each["metadata"]["namespace"]), str(each["metadata"]["name"]))
            self._objects[place] = copy.deepcopy(each)
            places.append(place)
        self._labelled.clear()
        self._lists[(kind_ref, namespace, _sorted(labels))] = places

    def forget(self) -> None:
        """Forget everything, because another writer changes the same objects."""
        self._objects.clear()
        self._lists.clear()
        self._labelled.clear()
        self.unreadable.clear()

    def forget_kind(self, kind_ref: KindRef) -> None:
        """Forget one kind, whose objects are read in another version.

        A fleet's manifests may be of two versions, one after another: what else was read stays.
        """
        self._drop_lists(kind_ref)
        for place in [each for each in self._objects if each[0] == kind_ref]:
            del self._objects[place]

    def _drop_lists(self, kind_ref: KindRef) -> None:
        self._labelled.clear()
        for key in [each for each in self._lists if each[0] == kind_ref]:
            del self._lists[key]


def _sorted(labels: Labels) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((labels or {}).items()))


def _carries(obj: Object, labels: tuple[tuple[str, str], ...]) -> bool:
    carried = obj["metadata"].get("labels") or {}
    return all(carried.get(name) == value for name, value in labels)
