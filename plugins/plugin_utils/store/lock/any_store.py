# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interface of any store's cluster locks, and the file store's locks.

There is one lock per cluster. The file store's lock itself is in ``file_lock.py``.
"""

from __future__ import annotations

import abc
import os
import typing as t

from ...processes.failpoints import around
from ..file import disk
from ..file.store import FileStore
from . import file_lock, marks

OnWait = t.Callable[[str], None]


class Taken(t.NamedTuple):
    """Held lock: its fencing number and the name of the run.

    The fencing number travels with every irreversible call.
    """

    fencing: int
    run: str


class Locks(abc.ABC):
    """Locks of a store's clusters.

    All methods raise StoreError where the store itself fails.
    """

    def acquire(
        self,
        namespace: str,
        cluster: str,
        on_wait: OnWait | None = None,
        holder: file_lock.Holder | None = None,
        purpose: str = marks.WORK,
    ) -> Taken:
        """Take the lock, or raise :class:`lock.Held` at once.

        The same run gets its own again; a dead holder's is taken over.

        Raises :class:`marks.Marked` where the store is not the one to work with, unless ``purpose`` gets past the mark.
        """
        taken = self.take(namespace, cluster, on_wait, holder)
        try:
            mark = self.mark(namespace, cluster)
            marks.refuse(mark, purpose, namespace, cluster, self.place(namespace, cluster))
            if mark is not None and purpose == marks.USE_EXPORT:
                # From now on it is more than a copy.
                self.set_mark(namespace, cluster, None, taken.fencing)
        except file_lock.LockError:
            self.release_own(namespace, cluster)
            raise
        return taken

    @abc.abstractmethod
    def take(
        self, namespace: str, cluster: str, on_wait: OnWait | None = None, holder: file_lock.Holder | None = None
    ) -> Taken:
        """Take the lock of a cluster, whatever its mark is.

        It is taken for this run where no other holder is named.
        """

    @abc.abstractmethod
    def release_own(self, namespace: str, cluster: str) -> bool:
        """Release the lock if this run holds it; return whether it did."""

    @abc.abstractmethod
    def own(self, namespace: str, cluster: str) -> Taken | None:
        """Return the lock that this run holds on the cluster, or None."""

    @abc.abstractmethod
    def check(self, namespace: str, cluster: str, fencing: int) -> int:
        """Return the lock's current fencing number, which may have been raised.

        Called before every irreversible step.

        Raises :class:`lock.LostLock` where the run with the number ``fencing`` doesn't hold the lock any more.
        """

    @abc.abstractmethod
    def holder(self, namespace: str, cluster: str) -> file_lock.Holder | None:
        """Return the lock's holder, dead or alive, None where it is free."""

    @abc.abstractmethod
    def raise_above(self, namespace: str, cluster: str, number: int) -> Taken:
        """Raise the fencing number of this run's lock above another number.

        Machines may have seen that other number. Raises :class:`lock.LostLock`.

        The numbers that this run had before stay valid for :meth:`check`.
        """

    @abc.abstractmethod
    def mark(self, namespace: str, cluster: str) -> marks.Mark | None:
        """Return the mark of the lock, None where there is none."""

    @abc.abstractmethod
    def set_mark(self, namespace: str, cluster: str, mark: marks.Mark | None, fencing: int | None = None) -> None:
        """Set the mark of the lock, or remove it.

        Raises :class:`lock.LostLock` where the lock isn't held under ``fencing``; without it, it need not be held.
        """

    @abc.abstractmethod
    def place(self, namespace: str, cluster: str) -> str:
        """Return the lock's location for messages."""


class FileLocks(Locks):
    """Locks of a file store.

    Args:
        directory: the store's folder.
        owner: the inventory host of the run that takes them: a run's hosts are separate holders.
    """

    def __init__(self, directory: str, owner: str = "") -> None:
        self._directory, self._owner = directory, owner

    def take(
        self, namespace: str, cluster: str, on_wait: OnWait | None = None, holder: file_lock.Holder | None = None
    ) -> Taken:
        """Take the lock of a cluster."""
        lease = file_lock.acquire(self._directory, namespace, cluster, holder, on_wait=on_wait, owner=self._owner)
        return Taken(lease.fencing, lease.run)

    def release_own(self, namespace: str, cluster: str) -> bool:
        """Release the lock if this run holds it; return whether it did."""
        return file_lock.release_own(self._directory, namespace, cluster, self._owner)

    def own(self, namespace: str, cluster: str) -> Taken | None:
        """Return the lock that this run holds, or None."""
        lease = file_lock.own_lease(self._directory, namespace, cluster, self._owner)
        return Taken(lease.fencing, lease.run) if lease else None

    def check(self, namespace: str, cluster: str, fencing: int) -> int:
        """Compare the fencing number with the newest one and return the newest."""
        return file_lock.check(file_lock.Lease(self._directory, namespace, cluster, fencing, ""))

    def holder(self, namespace: str, cluster: str) -> file_lock.Holder | None:
        """Return the holder of the lock, None where it is free."""
        return file_lock.current_holder(self._directory, namespace, cluster)

    def raise_above(self, namespace: str, cluster: str, number: int) -> Taken:
        """Raise the fencing number of this run's lock above ``number``."""
        lease = file_lock.own_lease(self._directory, namespace, cluster, self._owner) or file_lock.Lease(
            self._directory, namespace, cluster, 0, ""
        )
        with around("lock take"):
            raised = file_lock.raise_fencing(lease, number)
        return Taken(raised.fencing, raised.run)

    def mark(self, namespace: str, cluster: str) -> marks.Mark | None:
        """Return the mark from the file beside the lock's."""
        content = disk.read_file(self._mark_path(namespace, cluster))
        return marks.parse(content.decode("utf-8", "replace") if content is not None else None)

    def set_mark(self, namespace: str, cluster: str, mark: marks.Mark | None, fencing: int | None = None) -> None:
        """Write or remove the mark's file under the writers' lock.

        No other run can take the lock meanwhile.
        """
        path = self._mark_path(namespace, cluster)
        with FileStore(self._directory).writing(), around("lock mark"):
            if fencing is not None:
                self.check(namespace, cluster, fencing)
            if mark is None:
                disk.remove_file(path)
            else:
                disk.write_file(path, f"{mark.text()}\n".encode(), 0o640)

    def place(self, namespace: str, cluster: str) -> str:
        """Return the lock's folder."""
        return os.path.dirname(self._mark_path(namespace, cluster))

    def _mark_path(self, namespace: str, cluster: str) -> str:
        folder = file_lock.folder_of(FileStore(self._directory).directory, namespace, cluster)
        return os.path.join(folder, marks.FILE_NAME)
