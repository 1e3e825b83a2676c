# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deadline of a call of a machine.

A process that hangs there, in I/O say, keeps its SSH connection alive for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import types
import typing as t

from ...module_utils.common import settings
from ..processes import identity

# Modules that may take longer by their own bounds (docs/architecture.md, "How a machine is reached"). What takes minutes otherwise is a
# unit of the machine that is asked again and again.
LONG_CALLS: t.Mapping[str, int] = {
    # kubeadm reset
    "host_claim": 600,
    "node_bootstrap": 600,
    # kubeadm certs renew, once for each certificate
    "kubeadm_certificates": 1800,
    "node_certificates": 600,
    # apt or dnf, and whoever else has their lock
    "kubernetes_binaries": 3600,
    "host_endpoint": 3600,
    # etcd's whole database, read from a disk, written to one, verified
    "etcd_snapshot": 5400,
    "etcd_snapshot_file": 600,
    "etcd_restore": 2400,
    "etcd_restore_info": 600,
    "etcd_alarm": 1500,
    # kubeadm renders, components restart
    "node_configuration": 600,
    "static_pod": 300,
    "service_account_tokens": 600,
    # Many documents, one after the other
    "workload_apply": 600,
}
# What a module is told to wait for within one call. Where it works on as a unit, its own "timeout" bounds that unit and no call.
_WAITS = ("wait", "settle")
_WAITS_FOR_ITS_TIMEOUT = ("node_certificates", "service_account_tokens", "static_pod")
_TICK_SECONDS = 1.0


class TookTooLong(BaseException):
    """Signal that the deadline has passed.

    Not an Exception, so that no connection plugin takes it for a failure to be tried again.
    """


def seconds_of(module: str, arguments: t.Mapping[str, t.Any]) -> float:
    """Return the seconds that one call of a module may take.

    Args:
        module: its name, of this collection where it has no dot.
        arguments: what it is called with.
    """
    name = module.rpartition(".")[2] if module.startswith("kubeadm.control_plane.") else module
    if "." in name:
        return settings.FOREIGN_ROLE_SECONDS
    waits = [*_WAITS, *(["timeout"] if name in _WAITS_FOR_ITS_TIMEOUT else [])]
    told = sum(float(arguments[each]) for each in waits if arguments.get(each))
    return LONG_CALLS.get(name, settings.CALL_SECONDS) + told


@contextlib.contextmanager
def deadline(seconds: float) -> t.Iterator[None]:
    """Bound the duration of what is done within it.

    It works in the main thread of a process. A task's own ``timeout`` holds besides.

    Time in which this process itself was stopped doesn't count: the answer may be there when it wakes.

    Raises:
        TookTooLong: the time is over. Every process that was started within it has been killed then.
    """
    before = _children()
    passed, last = 0.0, time.monotonic()

    def tick(number: int, frame: t.Optional[types.FrameType]) -> None:
        nonlocal passed, last
        now = time.monotonic()
        passed, last = passed + min(now - last, 2 * _TICK_SECONDS), now
        if due is not None and now >= due and callable(previous):
            previous(number, frame)
        if passed >= seconds:
            raise TookTooLong

    left = signal.getitimer(signal.ITIMER_REAL)[0]
    due = time.monotonic() + left if left else None
    previous = signal.signal(signal.SIGALRM, tick)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TookTooLong:
        _kill_what_began(before)
        raise
    finally:
        signal.signal(signal.SIGALRM, previous or signal.SIG_DFL)
        if due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, due - time.monotonic()))


def end_shared_connection(connection: t.Any) -> None:
    """End the ssh process that several calls share (ControlPersist).

    It has left its process family and waits for the hung process.
    """
    build = getattr(connection, "_build_command", None)
    if build is None:
        return
    with contextlib.suppress(OSError, subprocess.SubprocessError, KeyError):
        words = build(connection.get_option("ssh_executable"), "ssh", "-O", "exit", connection.get_option("host"))
        subprocess.run(
            words, capture_output=True, stdin=subprocess.DEVNULL, timeout=settings.GRACE_SECONDS, check=False
        )


def _children() -> list[identity.Process]:
    """Return every descendant of this process."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (AttributeError, ChildProcessError):
        # As before most calls: the table of all processes, of which there may be thousands, need not be read. macOS has no such table.
        return []
    return [identity.identify(pid) for pid in identity.descendants(os.getpid())[1:]]


def _kill_what_began(before: t.Sequence[identity.Process]) -> None:
    """Kill every descendant of this process that was not there before."""
    for each in _children():
        if each not in before and each.start_time is not None:
            with contextlib.suppress(OSError):
                os.kill(each.pid, signal.SIGKILL)
