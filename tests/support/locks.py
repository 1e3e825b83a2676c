# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that hold a cluster's lock, and the helper processes that renew it, for tests."""

from __future__ import annotations

import os
import select
import subprocess
import time
import typing as t
from dataclasses import replace

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock

BOUND_SECONDS = 20


# Takes the lock as a run of its own, says so, and lives until told otherwise.
HOLD = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
me = process.identify(os.getpid())
lease = lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(me))
print(lease.fencing, flush=True)
sys.stdin.readline()
print(lock.release(lease), flush=True)
"""


def renewers(store: str) -> list[int]:
    """Return the helper processes of this store."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                arguments = stream.read()
            with open(f"/proc/{pid}/stat", "rb") as stream:
                zombie = stream.read().rpartition(b")")[2].split()[0] == b"Z"
        except OSError:
            continue
        if b"renewer" in arguments and store.encode() in arguments and not zombie:
            found.append(int(pid))
    return found


def one_renewer(store: str) -> int:
    """Return this store's one helper. One that finds another at work ends by itself, and so does each one's parent."""
    deadline = time.monotonic() + BOUND_SECONDS
    while len(found := renewers(store)) != 1:
        assert time.monotonic() < deadline, f"{len(found)} helpers"
        select.select([], [], [], 0.05)
    return found[0]


def wait_for_end(pid: int) -> None:
    """Wait until a process that need not be a child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], BOUND_SECONDS)[0], f"process {pid} does not end"
    finally:
        os.close(descriptor)


def count(folder: str, number: int) -> int:
    """Return how often the lease of this number was renewed."""
    with open(os.path.join(folder, f"{number}.counter"), encoding="utf-8") as stream:
        return int(stream.read())


def wait_for_count(folder: str, number: int, more_than: int) -> None:
    """Wait until the lease of this number was renewed more often than that."""
    deadline = time.monotonic() + BOUND_SECONDS
    while count(folder, number) <= more_than:
        assert time.monotonic() < deadline, "the counter stands still"
        select.select([], [], [], 0.05)


def as_run(run: subprocess.Popen[bytes], **changes: t.Any) -> file_lock.Holder:
    """Describe another process as the run that takes the lock."""
    return replace(file_lock.this_holder(identity.identify(run.pid)), **changes)


def in_process_namespace(command: t.Sequence[str]) -> list[str]:
    """Return the command line that runs a command as process 1 of a process namespace of its own, as a container does; skips where none may be made."""
    for privileges in ([], ["--user", "--map-root-user"]):
        alone = ["unshare", *privileges, "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*alone, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return [*alone, *command]
    pytest.skip("no process namespace may be made here")


def gone() -> identity.Process:
    """Return a process that has ended."""
    with subprocess.Popen(["sleep", "600"]) as started:
        found = identity.identify(started.pid)
        started.kill()
    return found


def elsewhere(run_process: identity.Process, **changes: t.Any) -> file_lock.Holder:
    """Describe a process as a run on another machine."""
    return replace(
        file_lock.this_holder(run_process),
        boot_id="another boot",
        host="ctrl2",
        user="bob",
        pid_namespace="pid:[1]",
        **changes,
    )
