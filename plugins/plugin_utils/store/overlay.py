# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Store for check mode: reads another store, keeps writes in memory."""

from __future__ import annotations

import contextlib
import copy
import typing as t

from .base import AlreadyExists, KindRef, Object, Objects, Store, describe, kind_ref_of, not_found


class OverlayStore(Store):
    """Store that keeps writes in memory above the store ``base``.

    ``base`` is None where there is no store yet.
    """

    def __init__(self, base: t.Optional[Store], now: str) -> None:
        self._base = base
        self._now = now
        self._written: dict[tuple[KindRef, str, str], t.Optional[Object]] = {}

    def prefer(self, obj: Object) -> None:
        """Use an object's API version in the store below."""
        if self._base is not None:
            self._base.prefer(obj)

    def journal_directory(self) -> t.Optional[str]:
        """Return the other store's journal directory, for reading only."""
        return self._base.journal_directory() if self._base is not None else None

    def host(self) -> str:
        """Return the URL of the API that the other store is in."""
        return self._base.host() if self._base is not None else ""

    @contextlib.contextmanager
    def view(self, whole: t.Optional[str] = None) -> t.Iterator[None]:
        """Open a view of the other store."""
        with self._base.view(whole) if self._base is not None else contextlib.nullcontext():
            yield

    def look_again(self) -> None:
        """Start the other store's view again; writes in memory stay."""
        if self._base is not None:
            self._base.look_again()

    def ahead(self, kind_ref: KindRef, namespace: str, labels: t.Mapping[str, str]) -> None:
        """Request objects at once that the other store's view will read."""
        if self._base is not None:
            self._base.ahead(kind_ref, namespace, labels)

    def refused(self, obj: Object) -> t.Sequence[str]:
        """Return the fields that the other store would refuse."""
        return self._base.refused(obj) if self._base is not None else []

    def get(self, kind_ref: KindRef, namespace: str, name: str) -> t.Optional[Object]:
        """Return a copy of the object, with the writes in memory."""
        key = (kind_ref, namespace, name)
        if key in self._written:
            return copy.deepcopy(self._written[key])
        return self._base.get(kind_ref, namespace, name) if self._base is not None else None

    def list(
        self, kind_ref: KindRef, namespace: t.Optional[str] = None, labels: t.Optional[t.Mapping[str, str]] = None
    ) -> Objects:
        """Return the objects of a kind, with the writes in memory."""
        found = {}
        # What a change in memory gives these labels is among the written.
        for each in self._base.list(kind_ref, namespace, labels) if self._base is not None else []:
            found[(kind_ref, each["metadata"]["namespace"], each["metadata"]["name"])] = each
        for key, written in self._written.items():
            if key[0] == kind_ref and namespace in (None, key[1]):
                found.pop(key, None)
                if written is not None:
                    found[key] = copy.deepcopy(written)
        return [
            each
            for _key, each in sorted(found.items())
            if all((each["metadata"].get("labels") or {}).get(name) == value for name, value in (labels or {}).items())
        ]

    def create(self, obj: Object) -> Object:
        """Keep a new object in memory."""
        key = self._key(obj)
        if self.get(*key) is not None:
            raise AlreadyExists(
                f"{describe(*key)} exists already",
                "check mode",
                "an object of that name is there",
                "Nothing was written.",
            )
        stored = copy.deepcopy(obj)
        stored["metadata"].update(uid=f"check-mode-{len(self._written)}", resourceVersion="1", generation=1)
        stored["metadata"].setdefault("creationTimestamp", self._now)
        self._written[key] = stored
        return copy.deepcopy(stored)

    def update(self, obj: Object) -> Object:
        """Keep the changed object in memory."""
        key = self._key(obj)
        if self.get(*key) is None:
            raise not_found(*key)
        gone = obj["metadata"].get("deletionTimestamp") and not obj["metadata"].get("finalizers")
        self._written[key] = None if gone else copy.deepcopy(obj)
        return copy.deepcopy(obj)

    def delete(
        self, kind_ref: KindRef, namespace: str, name: str, resource_version: t.Optional[str] = None
    ) -> t.Optional[Object]:
        """Keep the deletion in memory."""
        stored = self.get(kind_ref, namespace, name)
        if stored is None:
            raise not_found(kind_ref, namespace, name)
        if stored["metadata"].get("finalizers"):
            stored["metadata"].setdefault("deletionTimestamp", self._now)
            self._written[(kind_ref, namespace, name)] = stored
            return copy.deepcopy(stored)
        self._written[(kind_ref, namespace, name)] = None
        return None

    def changes(self) -> t.Sequence[tuple[t.Optional[Object], t.Optional[Object]]]:
        """Return each object that a write in memory changes, before and after.

        None means one that is not there.
        """
        there = self._base.get if self._base is not None else lambda *_key: None
        both = [(there(*key), copy.deepcopy(written)) for key, written in self._written.items()]
        return [(before, after) for before, after in both if before != after]

    @staticmethod
    def _key(obj: Object) -> tuple[KindRef, str, str]:
        return kind_ref_of(obj), str(obj["metadata"]["namespace"]), str(obj["metadata"]["name"])
