# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper process that renews a file lock while the run's process lives.

It proves that the lock's holder lives: it counts, in a file, as long as that process lives.

Started by ``start_renewer.py`` as a file of its own, with the standard library alone and nothing secret in its arguments:
``python -I -S file_renewer.py FOLDER NUMBER PID START_TIME``. It stops by itself: with the run's process, with the release
of the lock, and when another holder took over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import time

COUNT_POLL_SECONDS = 2.0
# How soon a release is noticed. The end of the run's process is noticed at once where the system has pidfds.
RELEASE_POLL_SECONDS = 0.5


def still_held(folder: str, number: int) -> bool:
    """Return whether a fencing number's lock is neither released nor taken over."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    numbers = [
        int(name.partition(".")[0]) for name in names if name.endswith((".json", ".released")) and name[0].isdigit()
    ]
    return f"{number}.json" in names and max(numbers) == number


def start_time(pid: int) -> str:
    """Return a process's start time in clock ticks since boot.

    Empty where the process is gone, a zombie or not readable.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19] if fields[0] not in "ZX" else ""


def is_alive(pid: int, started: str) -> bool:
    """Return whether a process runs that started at that time.

    Without a start time any process of that number counts.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return not started or start_time(pid) == started


def renew(folder: str, number: int, pid: int, started: str) -> None:
    """Count in the lock's file until the run or its lock ends."""
    descriptor = os.open(os.path.join(folder, f"{number}.counter"), os.O_RDWR)
    try:
        # Held as long as this process lives: so it is seen whether one is there, and there is never a second.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return
    pidfd = -1
    with contextlib.suppress(OSError, AttributeError):
        pidfd = os.pidfd_open(pid)
    count = int(os.pread(descriptor, 20, 0) or b"0")
    due = time.monotonic()
    # Looked at after the pidfd was opened: else the number might have been given to another process in between.
    while is_alive(pid, started) and still_held(folder, number):
        if time.monotonic() >= due:
            count += 1
            due = time.monotonic() + COUNT_POLL_SECONDS
            # Overwritten in place: that works on a full disk. A failure is tried again; the counter then stands still.
            with contextlib.suppress(OSError):
                os.pwrite(descriptor, b"%020d\n" % count, 0)
                os.fsync(descriptor)
        if pidfd >= 0:
            select.select([pidfd], [], [], RELEASE_POLL_SECONDS)
        else:
            time.sleep(RELEASE_POLL_SECONDS)


def main(arguments: list[str]) -> int:
    """Detach this process from its parent and renew the lock."""
    folder, number, pid, started = arguments
    if os.fork():
        return 0
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        renew(folder, int(number), int(pid), started)
    return 0


if __name__ == "__main__":
    # A program of its own, not a module.
    sys.exit(main(sys.argv[1:]))  # pylint: disable=ansible-bad-function
