# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Program on the controller that ends with the process that started it.

It is a Python program, and is ended, too, as soon as it may not continue.

Run as a file, ``bound.py PID MODULE ARGUMENT...``, this is the program itself: it asks the kernel to be ended with its parent
``PID``, then becomes ``python -m MODULE``. Only the standard library is at hand then.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import runpy
import signal
import subprocess
import sys
import time
import typing as t

if __name__ != "__main__":
    from ...module_utils.common import settings

# How often it is asked whether to go on.
POLL_SECONDS = 1.0
# How often it is asked whether what was killed has gone.
END_POLL_SECONDS = 0.01
# As timeout(1) and node_command tell it.
TIMED_OUT = 124
_PR_SET_PDEATHSIG = 1


class Ended(t.NamedTuple):
    """End of a program: exit status or TIMED_OUT, and all output.

    TIMED_OUT where it took too long.
    """

    status: int
    output: bytes


def run(
    module: str,
    arguments: t.Sequence[str],
    environment: t.Mapping[str, str],
    timeout_seconds: float,
    may_go_on: t.Callable[[], None],
) -> Ended:
    """Run ``python -m module`` to its end.

    It is ended, with all that it started, when the time is over or ``may_go_on`` raises.

    Raises:
        whatever ``may_go_on`` raises, once it has been ended.
    """
    command = [sys.executable, os.path.abspath(__file__), str(os.getpid()), module, *arguments]
    end = time.monotonic() + timeout_seconds
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            while True:
                left = end - time.monotonic()
                try:
                    output, _nothing = process.communicate(timeout=max(0.01, min(POLL_SECONDS, left)))
                    return Ended(process.returncode, output)
                except subprocess.TimeoutExpired:
                    if left <= POLL_SECONDS and time.monotonic() >= end:
                        return Ended(TIMED_OUT, _ended(process))
                may_go_on()
        except BaseException:
            _ended(process)
            raise


def _ended(process: subprocess.Popen[bytes]) -> bytes:
    """End a process and what it started; return its output."""
    started = _descendants(process.pid)
    process.terminate()
    output = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        output, _nothing = process.communicate(timeout=settings.GRACE_SECONDS)
    for pid, begun in started:
        if _start_time(pid) == begun:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    process.kill()
    _await_end(started)
    if output is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _nothing = process.communicate(timeout=settings.GRACE_SECONDS)
    return output or b""


def _await_end(started: list[tuple[int, str]]) -> None:
    """Wait until none of the processes runs any more.

    The kernel ends a killed process a moment after the signal.
    """
    end = time.monotonic() + settings.GRACE_SECONDS
    while any(_start_time(pid) == begun and _stat(pid, 0) not in "ZX" for pid, begun in started):
        if time.monotonic() >= end:
            return
        time.sleep(END_POLL_SECONDS)


def _descendants(pid: int) -> list[tuple[int, str]]:
    """Return a process's descendants with their start times.

    Start times tell each from a later process of its number; nothing is returned where /proc is not.
    """
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                children.setdefault(int(_stat(int(name), 1) or 0), []).append(int(name))
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append((child, _start_time(child)))
            queue.append(child)
    return found


def _start_time(pid: int) -> str:
    return _stat(pid, 19)


def _stat(pid: int, field: int) -> str:
    """Return a field of /proc/PID/stat, or "" for a missing process.

    Fields are counted from 0 behind the program's name.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[field]
    except (OSError, IndexError):
        return ""


def _become(parent: int, module: str, arguments: t.Sequence[str]) -> None:
    # Another system than Linux has no prctl: there it is ended only by who started it.
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        # It died before the kernel had been asked.
        sys.exit(f"process {parent}, which started this, has ended")
    # This file's folder is no place to import from.
    sys.path[:] = [each for each in sys.path if each != os.path.dirname(os.path.abspath(__file__))]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
