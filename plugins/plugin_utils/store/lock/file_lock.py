# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lock of a cluster in a file store, with a fencing number (docs/store.md, "The lock").

In ``<store>/<namespace>/locks/<cluster>/`` the file with the highest number is the lock's state: ``<n>.json`` is held
by the holder it describes, ``<n>.released`` is free. Taking it is the exclusive creation of ``<n+1>.json``, complete
from the start; releasing it is one rename. So no kill between two steps can leave it half-taken, a full disk can't keep
it from being released, and ``n``, the fencing number, only ever grows.

A holder is dead when its process is gone, seen on the same boot in the same process namespace; else when its counter,
which a helper process moves every two seconds, stands still on the waiter's own clock. Clocks are never compared.
"""

from __future__ import annotations

import json
import os
import time
import typing as t
from dataclasses import dataclass, replace

from ....module_utils.common import settings
from ....module_utils.common.values import now_rfc3339
from ...processes import identity
from ...processes.failpoints import around
from ...processes.identity import Process
from .. import base
from ..file import disk
from ..file.layout import LOCKS_FOLDER
from ..file.store import FileStore
from ..journal import new_run_id
from . import start_renewer as renewal

OBSERVE_POLL_SECONDS = 0.5
ATTEMPTS = 20


class LockError(base.StoreError):
    """Failure to take or keep a cluster's lock."""


class Held(LockError):
    """Lock held by another run, which ``holder`` describes."""

    def __init__(self, what: str, where: str, why: str, fix: str, holder: Holder) -> None:
        super().__init__(what, where, why, fix)
        self.holder = holder


class LostLock(LockError):
    """Lock that this run does not hold any more."""


@dataclass(frozen=True)
class Holder:
    """Holder of a lock: its run, process, host and user."""

    user: str = "an unknown user"
    host: str = "an unknown host"
    boot_id: str | None = None
    pid_namespace: str | None = None
    pid: int = 0
    start_time: int | None = None
    command: str = "unknown command"
    awx_job: str = ""
    acquired: str = "an unknown time"
    run: str = ""
    owner: str = ""
    # The number that it was given first, where it was raised since: it holds all from that on, and nobody else ever had one of them.
    first: int | None = None

    def text(self) -> str:
        """Return the holder's description in one line."""
        job = f", AWX job {self.awx_job}" if self.awx_job else ""
        return f"{self.user} on host {self.host}, process {self.pid} ({self.command}), since {self.acquired}{job}"

    def is_process(self, other: Process) -> bool:
        """Return whether the holder is that process of this machine."""
        here = (identity.this_boot(), identity.this_pid_namespace())
        same_machine = here == (self.boot_id, self.pid_namespace)
        if None in here:  # not Linux: the name of the host has to do
            same_machine = same_machine and self.host == identity.this_host()
        return same_machine and (self.pid, self.start_time) == (other.pid, other.start_time)

    def is_seen_alive(self) -> bool | None:
        """Return whether the holder's process runs; None where unknown from here."""
        return identity.is_alive(Process(self.pid, self.start_time)) if self._comparable() else None

    def _comparable(self) -> bool:
        here = (identity.this_boot(), identity.this_pid_namespace())
        return None not in here and here == (self.boot_id, self.pid_namespace)


@dataclass(frozen=True)
class Lease:
    """Held lock of a cluster, with its ``fencing`` number and ``run`` name."""

    store_dir: str
    namespace: str
    cluster: str
    fencing: int
    run: str


@dataclass(frozen=True)
class _State:
    number: int
    holder: Holder | None  # None: free


def this_holder(run_process: Process | None = None, owner: str = "") -> Holder:
    """Return this run as a holder; ``owner`` separates a play's hosts."""
    main = run_process or identity.find_run_process()
    return Holder(
        user=identity.this_user(),
        host=identity.this_host(),
        boot_id=identity.this_boot(),
        pid_namespace=identity.this_pid_namespace(),
        pid=main.pid,
        start_time=main.start_time,
        command=identity.describe_command(main.pid),
        awx_job=identity.this_awx_job(),
        acquired=now_rfc3339(),
        run=new_run_id(),
        owner=owner,
    )


def acquire(
    store_dir: str,
    namespace: str,
    cluster: str,
    holder: Holder | None = None,
    observe_seconds: float = settings.FILE_LOCK_SECONDS,
    on_wait: t.Callable[[str], None] | None = None,
    owner: str = "",
) -> Lease:
    """Take the lock of a cluster, or raise :class:`Held` at once.

    The same run (process and owner) gets its own lease again. A dead holder's lock is taken over: at once where its
    process is seen to be gone, after ``observe_seconds`` without a sign of life where it ran elsewhere (``on_wait`` is
    told so). Raises :class:`Held`, and :class:`base.StoreError` where the store can't be written.
    """
    store = FileStore(store_dir)
    folder = folder_of(store.directory, namespace, cluster)
    mine = holder or this_holder(owner=owner)
    where = (store.directory, namespace, cluster)
    for _attempt in range(ATTEMPTS):
        state = _state(folder)
        if state.holder is not None:
            if _is_same_run(state.holder, mine):
                lease = Lease(*where, state.number, state.holder.run)
                renewal.start(folder, state.number, Process(mine.pid, mine.start_time))
                return lease
            if not _is_dead(folder, state, observe_seconds, on_wait, where):
                raise held(folder, namespace, cluster, state.holder)
        with around("lock take"):
            taken = _claim(store, folder, state.number, state.number + 1, mine)
        if taken:
            lease = Lease(*where, state.number + 1, mine.run)
            try:
                renewal.start(folder, lease.fencing, Process(mine.pid, mine.start_time))
            except base.StoreError:
                release(lease)
                raise
            return lease
    raise LockError(
        f"the lock of cluster {namespace}/{cluster} could not be taken",
        folder,
        f"other runs were faster {ATTEMPTS} times in a row",
        "Nothing was changed. Run again.",
    )


def release(lease: Lease) -> bool:
    """Release a held lock, even on a full disk; return whether released."""
    folder = folder_of(lease.store_dir, lease.namespace, lease.cluster)
    if _is_lost(folder, lease):
        return False
    with around("lock release"):
        return disk.rename_file(_claim_path(folder, lease.fencing), os.path.join(folder, f"{lease.fencing}.released"))


def release_own(store_dir: str, namespace: str, cluster: str, owner: str = "") -> bool:
    """Release the lock if this run holds it; return whether it did."""
    lease = own_lease(store_dir, namespace, cluster, owner)
    return release(lease) if lease else False


def own_lease(store_dir: str, namespace: str, cluster: str, owner: str = "") -> Lease | None:
    """Return the lease that this run holds on the cluster, or None."""
    directory = FileStore(store_dir).directory
    state = _state(folder_of(directory, namespace, cluster))
    if state.holder is None or not state.holder.is_process(identity.find_run_process()) or state.holder.owner != owner:
        return None
    return Lease(directory, namespace, cluster, state.number, state.holder.run)


def check(lease: Lease) -> int:
    """Return the lease's current fencing number; call before every irreversible step.

    Raises:
        LostLock: the lock is not this lease's any more.
    """
    folder = folder_of(lease.store_dir, lease.namespace, lease.cluster)
    if not _is_lost(folder, lease):
        return lease.fencing
    state = _state(folder)
    if holds(state.holder, state.number, lease.fencing):
        return state.number
    raise lost(lease.namespace, lease.cluster, lease.fencing, state.number, state.holder)


def holds(holder: Holder | None, newest: int, number: int) -> bool:
    """Return whether a number belongs to the holder of the newest number."""
    return holder is not None and (newest if holder.first is None else holder.first) <= number <= newest


def lost(namespace: str, cluster: str, number: int, newest: int, holder: Holder | None) -> LostLock:
    """Return the error for a run that lost its lock."""
    now = f"it is now held by {holder.text()}" if holder else "it is free now"
    return LostLock(
        f"this run does not hold the lock of cluster {namespace}/{cluster} any more",
        f"fencing number {number}, newest {newest}",
        f"it stood still too long and was taken for dead, or its lock was released; {now}",
        "Nothing more is changed by this run, so the cluster is safe. Run again when no other run is under way.",
    )


def raise_fencing(lease: Lease, above: int) -> Lease:
    """Raise the fencing number of a held lock above ``above``.

    The workload cluster has seen a higher one (a restored store). Returns the new lease, of which the old number is a
    part. Raises :class:`LostLock`.
    """
    lease = replace(lease, fencing=check(lease))
    if lease.fencing > above:
        return lease
    store = FileStore(lease.store_dir)
    folder = folder_of(store.directory, lease.namespace, lease.cluster)
    holder = _state(folder).holder
    if holder is not None:
        holder = replace(holder, first=lease.fencing if holder.first is None else holder.first)
    if holder is None or not _claim(store, folder, lease.fencing, above + 1, holder):
        check(lease)
        raise LockError("the lock's number could not be raised", folder, "another run was faster", "Run again.")
    renewal.start(folder, above + 1, Process(holder.pid, holder.start_time))
    return replace(lease, fencing=above + 1)


def leave_number(store_dir: str, namespace: str, cluster: str, number: int) -> None:
    """Reserve fencing numbers up to ``number`` without the lock. Raises :class:`Held`."""
    store = FileStore(store_dir)
    folder = folder_of(store.directory, namespace, cluster)
    with store.writing():
        for each in (os.path.dirname(os.path.dirname(folder)), os.path.dirname(folder), folder):
            disk.make_folder(each, 0o750)
        state = _state(folder)
        if state.holder is not None:
            raise held(folder, namespace, cluster, state.holder)
        if state.number < number:
            disk.write_file_exclusively(os.path.join(folder, f"{number}.released"), b"{}\n", 0o640)
            if state.number:
                disk.remove_file(os.path.join(folder, f"{state.number}.released"))


def current_holder(store_dir: str, namespace: str, cluster: str) -> Holder | None:
    """Return the holder of a cluster's lock, dead or alive, or None."""
    return _state(folder_of(FileStore(store_dir).directory, namespace, cluster)).holder


def folder_of(directory: str, namespace: str, cluster: str) -> str:
    """Return the folder of a cluster's lock; both names are checked."""
    base.check_namespace(namespace)
    base.check_name(cluster)
    return os.path.join(directory, namespace, LOCKS_FOLDER, cluster)


def _claim_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"{number}.json")


def _newest(folder: str) -> tuple[int, bool]:
    """Return the highest fencing number and whether it is held."""
    newest, held = 0, False
    # Sorted: where a release is just under way and both names show up, the released one comes last and counts.
    for name in disk.names_in(folder):
        number, _dot, kind = name.partition(".")
        if number.isdigit() and kind in ("json", "released") and int(number) >= newest:
            newest, held = int(number), kind == "json"
    return newest, held


def _is_lost(folder: str, lease: Lease) -> bool:
    return _newest(folder) != (lease.fencing, True)


def _state(folder: str) -> _State:
    while True:
        number, held = _newest(folder)
        if not held:
            return _State(number, None)
        content = disk.read_file(_claim_path(folder, number))
        if content is not None:
            return _State(number, parse_holder(content))


def parse_holder(content: bytes) -> Holder:
    """Return the holder that a lock's text describes, or an unknown one."""
    try:
        fields = json.loads(content.decode("utf-8"))
        known = {name: fields[name] for name in Holder.__dataclass_fields__ if name in fields}
        holder = Holder(**known)
        numbers_fit = isinstance(holder.pid, int)
        numbers_fit = numbers_fit and all(
            isinstance(each, (int, type(None))) for each in (holder.start_time, holder.first)
        )
    except (ValueError, TypeError):
        return Holder()
    # Who can't be told apart is watched like a holder on another machine.
    return holder if numbers_fit else Holder()


def _is_same_run(holder: Holder, mine: Holder) -> bool:
    return holder.owner == mine.owner and holder.is_process(Process(mine.pid, mine.start_time))


def _is_dead(
    folder: str,
    state: _State,
    observe_seconds: float,
    on_wait: t.Callable[[str], None] | None,
    where: tuple[str, str, str],
) -> bool:
    holder = t.cast(Holder, state.holder)
    alive = holder.is_seen_alive()
    if alive is not None:
        return not alive
    if on_wait:
        on_wait(f"the lock is held by {holder.text()}; watching {observe_seconds:.0f} s whether that run still lives")
    first = _sign_of_life(folder, state.number)
    watched, last = 0.0, time.monotonic()
    while True:
        if _newest(folder) != (state.number, True):
            return True  # released or taken over meanwhile: the claim that follows tells
        if _sign_of_life(folder, state.number) != first:
            return False
        if watched >= observe_seconds:
            return True
        time.sleep(OBSERVE_POLL_SECONDS)
        # Time in which this waiter itself was stopped doesn't count: the holder may have been stopped with it.
        now = time.monotonic()
        watched += min(now - last, 2 * OBSERVE_POLL_SECONDS)
        last = now


def _sign_of_life(folder: str, number: int) -> bytes | None:
    return disk.read_file(renewal.counter_path(folder, number))


def _claim(store: FileStore, folder: str, seen: int, number: int, holder: Holder) -> bool:
    """Take the lock under ``number`` for ``holder``, if ``seen`` is still newest."""
    text = json.dumps({**holder.__dict__, "fencing": number}, indent=1, sort_keys=True) + "\n"
    with store.writing():
        namespace_folder = os.path.dirname(os.path.dirname(folder))
        for each in (namespace_folder, os.path.dirname(folder), folder):
            disk.make_folder(each, 0o750)
        disk.remove_leftovers(folder)
        if _newest(folder)[0] != seen:
            return False
        disk.write_file_exclusively(renewal.counter_path(folder, number), b"%020d\n" % 0, 0o640)
        # The store's lock keeps others away; exclusive creation holds even where a file system has no working locks.
        if not disk.write_file_exclusively(_claim_path(folder, number), text.encode("utf-8"), 0o640):
            return False
        if _newest(folder) != (number, True):
            disk.remove_file(_claim_path(folder, number))
            return False
        for name in disk.names_in(folder):
            older = name.partition(".")[0]
            if older.isdigit() and int(older) < number:
                disk.remove_file(os.path.join(folder, name))
    return True


def held(where: str, namespace: str, cluster: str, holder: Holder) -> Held:
    """Return the error for a lock at ``where`` that another holds."""
    what = "is locked by another run"
    fix = f"Wait until that run ends, or stop process {holder.pid} on {holder.host}; a run that died is recognised by itself, there is nothing to delete."
    if holder.is_process(identity.find_run_process()):
        what = f"is locked by another host of this run, {holder.owner}"
        fix = "Give one host of the cluster at a time, such as with --limit."
    why = f"held by {holder.text()}. Two runs at once could each take a member away"
    return Held(f"cluster {namespace}/{cluster} {what}", where, why, f"This run changed nothing. {fix}", holder)
