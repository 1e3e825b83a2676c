# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fencing number of a run, compared before each write of the store.

Each call of a machine carries it (docs/store.md, "The fencing number").
"""

from __future__ import annotations

import typing as t

from ..store.lock import file_lock
from ..store.lock.any_store import Locks

# Modules that refuse a run whose number is smaller than another's: all that take the option fencing.
FENCED = frozenset(
    {
        "bootstrap_token",
        "etcd_alarm",
        "etcd_leader",
        "etcd_member",
        "etcd_recover_single_voter",
        "etcd_restore",
        "etcd_restore_info",
        "etcd_snapshot",
        "host_claim",
        "host_endpoint",
        "kubeadm_backups",
        "kubeadm_certificates",
        "kubernetes_binaries",
        "node_bootstrap",
        "node_certificates",
        "node_command",
        "node_configuration",
        "node_drain",
        "node_file",
        "node_observe",
        "service_account_tokens",
        "static_pod",
        "workload_apply",
        "workload_node",
        "workload_objects",
    }
)
# A Lease takes 2**31 - 1, and no cluster ever has so many runs: a machine that says so is damaged, or hostile.
HIGHEST = 2_000_000_000
# Of these, what changes nothing of the cluster: an observation, from which decisions are taken.
_OBSERVING = frozenset({"etcd_restore_info", "node_observe"})


class Fence:
    """Fence of a run: its fencing number for a cluster's lock.

    Args:
        locks: the store's locks.
        namespace: the cluster's namespace.
        cluster: its name.
        number: the number that the run was given when it took the lock.
    """

    def __init__(self, locks: Locks, namespace: str, cluster: str, number: int) -> None:
        self._locks = locks
        self._at = (namespace, cluster)
        self.number = number

    def check(self) -> int:
        """Return the current number. Raises LostLock where the lock is lost.

        It is lost where it is another run's, or no run's.
        """
        self.number = self._locks.check(*self._at, self.number)
        return self.number

    @property
    def run(self) -> str:
        """Name of the run, "" where this process is none of its."""
        taken = self._locks.own(*self._at)
        return taken.run if taken is not None else ""

    def answer(self, highest: int, sent: int, observing: bool) -> bool:
        """Return whether a call refused for its number is worth repeating.

        A machine, or the cluster itself, has seen ``highest``, which is more than what was ``sent``, or the same by
        another run.

        A run that holds the lock and meets a higher number has a store that was restored, copied or made again. It
        takes a number above all others when it observes, and never for a step: the run that raised the number since the
        observation may have changed what the step was decided on.

        Args:
            highest: what was seen.
            sent: the number that the call had.
            observing: whether the call that was refused changes nothing.

        Returns:
            whether the call is worth repeating, with the number by now.

        Raises:
            LostLock: the lock is another run's, or no run's.
            LockError: another run, of another store, is at work.
        """
        if self.check() >= highest and self.number > sent:
            # It was raised by a task before this one.
            return True
        if highest > HIGHEST:
            raise file_lock.LockError(
                "a machine has seen a fencing number that no run can have had",
                f"fencing number {self.number}, seen {highest}",
                "with the next one the cluster's lock could not be taken any more",
                "Nothing was done there. Look at /var/lib/kubeadm-control-plane/fencing on the machines and at the Lease "
                "kube-system/kubeadm-control-plane, and who changed them; then delete the one that is wrong.",
            )
        if observing:
            self.number = self._locks.raise_above(*self._at, highest).fencing
            return True
        namespace, cluster = self._at
        raise file_lock.LockError(
            f"another run took over cluster {namespace}/{cluster} since it was observed, and not by this store's lock",
            f"fencing number {self.number}, newest {highest}",
            "two stores have this cluster, each with a lock of its own (a copy, a restored backup), and what was decided on may not hold any more",
            f"The step was not carried out. Find out which store is the cluster's, use that one alone, and look at what is in "
            f"{self._locks.place(namespace, cluster)}; then run again.",
        )


def is_observing(module: str, arguments: t.Mapping[str, t.Any], check_mode: bool) -> bool:
    """Return whether a call of a fenced module changes nothing."""
    return check_mode or module in _OBSERVING or (module == "workload_objects" and not arguments.get("write"))
