# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a static pod, recognised by the kernel.

That works on any container runtime, and tells whether they are the same as before.

The kubelet names a pod's log folder after its namespace, name and UID, and its control group after the UID. So a component is
told from another cluster's that runs in a pod of this machine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
import typing as t

from ...common.guard import end_process, read_text

# The kernel shows 15 characters of a program's name.
_COMM_LENGTH = 15
_NAMESPACE = "kube-system"
_HASH = re.compile("[0-9a-f]+")

# A process's ID and when it was started (clock ticks since boot): together they are never used again on this boot.
Instance = tuple[int, int]


def instances(
    component: str, proc: str = "/proc", pod_logs: str = "/var/log/pods", *, hashed: bool = False
) -> set[Instance]:
    """Return the processes of a static pod that run now.

    A process that ended and was not reaped yet is not among them. With ``hashed`` those of pods from the API are not, either: a static
    pod's UID is a hash, without dashes, and theirs is none.
    """
    found: dict[Instance, str] = {}
    for entry in os.listdir(proc):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            if read_text(os.path.join(proc, entry, "comm")) == component[:_COMM_LENGTH]:
                started = _started(os.path.join(proc, entry, "stat"))
                if started is not None:
                    found[(int(entry), started)] = read_text(os.path.join(proc, entry, "cgroup"))
    uids = {each for each in _uids(component, pod_logs) if not hashed or _HASH.fullmatch(each)}
    # Without control groups of pods (--cgroups-per-qos=false) there is nothing but the name to tell by.
    if (uids or hashed) and any("kubepods" in group for group in found.values()):
        return {each for each, group in found.items() if any(uid in group for uid in uids)}
    return set(found)


def alive(processes: t.Collection[Instance], proc: str = "/proc") -> set[Instance]:
    """Return those of some processes that still run.

    A kubelet may remove the logs of a static pod that it has to end while its process is still ending, such as an API server that
    answers its last requests: :func:`instances` doesn't know it then.
    """
    found: set[Instance] = set()
    for pid, started in processes:
        with contextlib.suppress(OSError):
            if _started(os.path.join(proc, str(pid), "stat")) == started:
                found.add((pid, started))
    return found


def since_epoch(ticks: int) -> float:
    """Return a process's start in seconds since the epoch.

    ``ticks`` are clock ticks since boot, as an Instance has them.
    """
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def end(processes: t.Collection[Instance], proc: str = "/proc") -> None:
    """Send SIGTERM to those of some processes that still run."""
    for each in processes:
        end_process(each[0], functools.partial(alive, {each}, proc))


def _started(path: str) -> t.Optional[int]:
    """Return a process's start from its ``stat``, None if it ended.

    Field 22 of proc(5), in clock ticks since boot.
    """
    with open(path, encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _uids(component: str, pod_logs: str) -> set[str]:
    """Return the UIDs under which the pod has run.

    They are in both of the forms that a control group's name has them in.
    """
    uids: set[str] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(pod_logs):
            namespace, _underscore, rest = name.partition("_")
            pod, _underscore, uid = rest.rpartition("_")
            if namespace == _NAMESPACE and pod.startswith(f"{component}-") and uid:
                uids |= {uid, uid.replace("-", "_")}
    return uids


def last_words(component: str, pod_logs: str = "/var/log/pods", lines: int = 3) -> str:
    """Return the end of a static pod's newest container log, not redacted.

    "" where there is none.
    """
    newest, when = "", 0.0
    with contextlib.suppress(OSError):
        for name in os.listdir(pod_logs):
            if not name.startswith(f"{_NAMESPACE}_{component}-"):
                continue
            folder = os.path.join(pod_logs, name, component)
            with contextlib.suppress(OSError):
                for each in os.listdir(folder):
                    path = os.path.join(folder, each)
                    if os.stat(path).st_mtime > when:
                        newest, when = path, os.stat(path).st_mtime
    if not newest:
        return ""
    with contextlib.suppress(OSError), open(newest, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
        # Each line begins with its time, its stream and a flag, which say nothing here.
        texts = [line.split(" ", 3)[-1] for line in file.read().decode(errors="replace").splitlines()]
        return " | ".join(texts[-lines:])
    return ""
