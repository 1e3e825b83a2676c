# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of a cluster's objects from an API to files (docs/move.md).

An encrypted file store on the controller.

A cluster that keeps its own objects can't be asked for them while its API is down, which is when they are needed to restore it.
"""

from __future__ import annotations

import json
import os
import typing as t

from ..calls.failure import ControlPlaneFailure
from ..calls.fence import Fence
from ..objects import origin
from ..records.cluster_objects import CLUSTER
from ..store import opening
from ..store.base import Store
from ..store.file import disk
from ..store.file.store import Cipher, FileStore
from ..store.lock import file_lock, marks
from ..store.lock.any_store import FileLocks
from . import deletion_marks
from .copied_objects import Copies
from .graph import Graph

PASSWORD_MISSING = (
    "the store's option export keeps a copy of the cluster's objects on the controller, its Secrets encrypted, but this run has no vault "
    "password; nothing was done. Give --vault-password-file, --vault-id or --ask-vault-pass."
)

# Which objects the copy ever had, by the uid of where they were made: what of these it has no more is gone, and not newer than it.
SEEN_FILE = "seen.json"
SEEN_COUNT = 5000


class Action(t.Protocol):
    """Interface of :class:`ControlPlaneAction` that keeping a copy needs."""

    def open_store(self, arguments: dict[str, t.Any]) -> Store:
        """Open the store of the arguments."""

    def ciphers(self) -> tuple[t.Optional[Cipher], t.Optional[Cipher]]:
        """Return the ciphers that encrypt and decrypt with the vault password.

        The run's vault password.
        """

    def fence(self, arguments: t.Mapping[str, t.Any]) -> t.Optional[Fence]:
        """Return the fencing number under which the run holds the lock."""


def keep_copy(action: Action, arguments: dict[str, t.Any]) -> list[str]:
    """Update the exported copy of a cluster's objects, where one is configured.

    The store's option ``export`` names its folder.

    Called after each step, and within one before what can take away the very API that the objects are in: what is made in that step
    (a machine, and that kubeadm was started on it) would be known nowhere else.

    Args:
        action: the running action.
        arguments: its arguments: cluster, namespace, store and fencing.

    Returns: what was done, in words.

    Raises:
        ControlPlaneFailure: the run has no vault password, or the copy was used by another run.
        StoreError: the folder can't be written.
    """
    directory = opening.export_directory(arguments["store"])
    if directory is None:
        return []
    encrypt, decrypt = action.ciphers()
    if encrypt is None or decrypt is None:
        raise ControlPlaneFailure(PASSWORD_MISSING)
    fence = action.fence(arguments)
    # The lock of the source: what a run copies that has lost it may be older than what is there.
    return Export(directory, encrypt, decrypt, fence.check if fence is not None else None).keep(
        action.open_store(arguments),
        arguments["namespace"],
        arguments["cluster"],
        arguments["fencing"],
        opening.title(arguments["store"]),
    )


class Export:
    """Folder with copies of clusters' objects.

    Args:
        directory: the folder; a file store.
        encrypt: encrypts a Secret's file.
        decrypt: the reverse.
        before: raises where the run that makes the copy may not write it any more; called before each write.
    """

    def __init__(
        self, directory: str, encrypt: Cipher, decrypt: Cipher, before: t.Optional[t.Callable[[], t.Any]] = None
    ) -> None:
        self.directory = directory
        self._store = FileStore(directory, encrypt=encrypt, decrypt=decrypt)
        if before is not None:
            self._store.fenced_by(before)
        self._locks = FileLocks(directory)

    def keep(
        self,
        source: Store,
        namespace: str,
        cluster: str,
        fencing: t.Optional[int],
        where: str,
        arrived: bool = False,
    ) -> list[str]:
        """Update the copy to the API's state; return the changes.

        In words. The run after a killed one completes it.

        Args:
            source: the API's store.
            namespace: the cluster's namespace.
            cluster: its name. One that the API has no more keeps its last copy.
            fencing: the run's number: another run that uses the copy gets a higher one.
            where: how messages name the API.
            arrived: the cluster was moved to the API just now, from whatever store: a copy that was moved on before has nothing newer.

        Raises:
            ControlPlaneFailure: another run uses, or has used, the copy: it may be newer than the API, or was moved to another store; or it is
                another Cluster's of that name.
            StoreError: the folder can't be written.
        """
        with source.view():
            graph = Graph(source, namespace, cluster)
        here = graph.get((CLUSTER, cluster))
        if here is None:
            return []
        mark, kept = self._locks.mark(namespace, cluster), self._store.get(CLUSTER, namespace, cluster)
        if (mark is None and kept is not None) or (mark is not None and mark.state not in (marks.EXPORT, marks.MOVED)):
            raise self._worked_on(f"{namespace}/{cluster}")
        if mark is not None and mark.state == marks.MOVED and mark.other != where and not arrived:
            raise self._elsewhere(f"{namespace}/{cluster}", mark.other)
        if kept is not None and origin.uid(kept) != origin.uid(here):
            raise self._anothers(f"{namespace}/{cluster}")
        try:
            file_lock.leave_number(self.directory, namespace, cluster, fencing or 0)
        except file_lock.Held as held:
            raise self._worked_on(f"{namespace}/{cluster}") from held
        if mark is None or mark.state != marks.EXPORT:
            self._locks.set_mark(namespace, cluster, marks.Mark(marks.EXPORT, "", where))
        self._store.seal_secrets()
        # Of the same folder another cluster's copies may be, with an object of that name of its own.
        own = seen(self.directory, namespace, cluster)
        copies = Copies(self._store, namespace, self.directory, replaced=own)
        done = copies.bring(graph)
        # Only what has arrived: of the rest nobody could say that it was here and went.
        self._note_seen(namespace, cluster, [origin.uid(each) for each in graph.objects])
        if deletion_marks.can_only_live_on(graph, source):
            # A cascade may have taken Secrets and InfraMachines away there, and this is the only place that still has them.
            return done
        return done + copies.delete(copies.remains(graph))

    def _note_seen(self, namespace: str, cluster: str, uids: t.Sequence[str]) -> None:
        known = seen(self.directory, namespace, cluster)
        new = [each for each in uids if each not in known]
        if new:
            content = json.dumps([*known, *new][-SEEN_COUNT:]).encode()
            with self._store.writing():
                disk.write_file(_seen_path(self.directory, namespace, cluster), content + b"\n", 0o640)

    def _anothers(self, title: str) -> ControlPlaneFailure:
        return ControlPlaneFailure(
            f"the copy in {self.directory} is of another Cluster {title} than the one that the API has (they have different uids): the Cluster was deleted "
            "and made again, or the API's objects were restored with new uids. The copy was left as it is, since it may have keys that are nowhere else. "
            "Move that folder aside, then run this again: a new copy is made there."
        )

    def _elsewhere(self, title: str, other: str) -> ControlPlaneFailure:
        return ControlPlaneFailure(
            f"the copy of {title}'s objects in {self.directory} was worked with, and was moved to {other}. Nothing was copied. Give that store in the "
            "inventory if the cluster is still kept there: what this API has is older. If it was moved from there to this API, or this API is that store "
            "under another name, move that folder aside, then run this again: a new copy is made there."
        )

    def _worked_on(self, title: str) -> ControlPlaneFailure:
        return ControlPlaneFailure(
            f"the copy of {title}'s objects in {self.directory} was worked with since it was made, and may be newer than what the API has. It was "
            "left as it is. Move it back with kubeadm.control_plane.move, that folder being the inventory's store; or, where it is not wanted, "
            "remove the folder."
        )


def seen(directory: str, namespace: str, cluster: str) -> list[str]:
    """Return the uids of all objects ever copied here, oldest first.

    None where the folder never was a copy.
    """
    content = disk.read_file(_seen_path(directory, namespace, cluster))
    try:
        return [str(each) for each in json.loads(content or b"[]")]
    except (ValueError, TypeError):
        # Without it a person is asked.
        return []


def _seen_path(directory: str, namespace: str, cluster: str) -> str:
    return os.path.join(FileLocks(directory).place(namespace, cluster), SEEN_FILE)
