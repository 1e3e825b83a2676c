# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Store of files in which another writer is faster, once, at a chosen moment."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import KindRef, Object, kind_ref_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


class RacingStore(FileStore):
    """Store that lets another writer in right before the nth read or update of a kind's object.

    Args:
        directory: the store's.
        kind_ref: the kind that counts.
        number: from 1.
        other: what the other writer does, with a store of its own.
    """

    def __init__(self, directory: str, kind_ref: KindRef, number: int, other: t.Callable[[], t.Any]) -> None:
        super().__init__(directory)
        self._kind_ref, self._left, self._other = kind_ref, number, other

    @property
    def raced(self) -> bool:
        """Whether the other writer came in."""
        return self._left <= 0

    def get(self, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        """Read an object."""
        self._count(kind_ref)
        return super().get(kind_ref, namespace, name)

    def update(self, obj: Object) -> Object:
        """Replace an object."""
        self._count(kind_ref_of(obj))
        return super().update(obj)

    def _count(self, kind_ref: KindRef) -> None:
        if kind_ref == self._kind_ref:
            self._left -= 1
            if self._left == 0:
                self._other()
