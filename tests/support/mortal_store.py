# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store that writes a new object's status by itself, as with an API server, and whose user is killed before a write."""

from __future__ import annotations

import itertools
import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import kind_ref_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


class Killed(BaseException):
    """Stands in for SIGKILL: nothing catches it."""


class MortalStore(FileStore):
    """A store whose user is killed before one write more than are ``left``."""

    left = 10_000

    def _counted(self) -> None:
        if self.left <= 0:
            raise Killed
        self.left -= 1

    def create(self, obj: Object) -> Object:
        self._counted()
        made = super().create({key: value for key, value in obj.items() if key != "status"})
        if not obj.get("status"):
            return made
        metadata = made["metadata"]
        return self.modify(
            kind_ref_of(made), metadata["namespace"], metadata["name"], lambda found: found.update(status=obj["status"])
        )

    def modify(self, *arguments: t.Any, **options: t.Any) -> Object:
        self._counted()
        return super().modify(*arguments, **options)

    def delete(self, *arguments: t.Any, **options: t.Any) -> t.Optional[Object]:
        self._counted()
        return super().delete(*arguments, **options)


def killed_after(writes: int, folder: Path, run: t.Callable[[MortalStore], object]) -> bool:
    """Whether a run on the store of a folder is killed, which has these writes."""
    store = MortalStore(str(folder))
    store.left = writes
    try:
        run(store)
    except Killed:
        return True
    return False


def every_end(ends: t.Callable[[int], tuple[bool, t.Any]]) -> t.Any:
    """What all runs come to, whenever they were killed; `ends` has whether one with these writes was, and what it came to."""
    found = []
    for writes in itertools.count():
        killed, end = ends(writes)
        found.append(end)
        assert end == found[0], f"killed after {writes} writes: {end} instead of {found[0]}"
        if not killed:
            break
    assert len(found) > 1
    return found[0]
