# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lock per cluster, whatever the store: what a run asks of it, and the file store's (``lock.py``) in that form."""

from __future__ import annotations

import abc
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import lock

OnWait = t.Callable[[str], None]


class Taken(t.NamedTuple):
    """A held lock: its fencing number, which travels with every irreversible call, and the name of the run."""

    fencing: int
    run: str


class Locks(abc.ABC):
    """The locks of a store's clusters. All methods raise StoreError where the store itself fails."""

    @abc.abstractmethod
    def acquire(self, namespace: str, cluster: str, on_wait: OnWait | None = None) -> Taken:
        """Take the lock, or raise :class:`lock.Held` at once. The same run gets its own again; a dead holder's is taken over."""

    @abc.abstractmethod
    def release_own(self, namespace: str, cluster: str) -> bool:
        """Release the lock if this run holds it; tell whether it did."""

    @abc.abstractmethod
    def own(self, namespace: str, cluster: str) -> Taken | None:
        """Return what this run holds of the cluster, or None."""

    @abc.abstractmethod
    def check(self, namespace: str, cluster: str, fencing: int) -> None:
        """Raise :class:`lock.LostLock` unless the lock is held under that number. Called before every irreversible step."""

    @abc.abstractmethod
    def holder(self, namespace: str, cluster: str) -> lock.Holder | None:
        """Return who holds the lock, dead or alive, or None where it is free."""


class FileLocks(Locks):
    """The locks of a file store."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def acquire(self, namespace: str, cluster: str, on_wait: OnWait | None = None) -> Taken:
        """Take the lock of a cluster."""
        lease = lock.acquire(self._directory, namespace, cluster, on_wait=on_wait)
        return Taken(lease.fencing, lease.run)

    def release_own(self, namespace: str, cluster: str) -> bool:
        """Release the lock if this run holds it."""
        return lock.release_own(self._directory, namespace, cluster)

    def own(self, namespace: str, cluster: str) -> Taken | None:
        """Return what this run holds."""
        lease = lock.own_lease(self._directory, namespace, cluster)
        return Taken(lease.fencing, lease.run) if lease else None

    def check(self, namespace: str, cluster: str, fencing: int) -> None:
        """Raise where the lock is lost."""
        lock.check(lock.Lease(self._directory, namespace, cluster, fencing, ""))

    def holder(self, namespace: str, cluster: str) -> lock.Holder | None:
        """Return who holds the lock."""
        return lock.current_holder(self._directory, namespace, cluster)
