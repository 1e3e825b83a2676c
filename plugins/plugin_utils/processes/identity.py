# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Identity of processes of this machine: number and start time.

A number is given again; number and start time together are not.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import socket
import typing as t
from dataclasses import dataclass

PROC = "/proc"
MAX_ANCESTORS = 64
_ANSIBLE_COMMAND = re.compile(r"ansible(-playbook|-console|-pull|-navigator)?\Z")
_PLAYBOOK_ARGUMENT = re.compile(r"[\w./-]+\.ya?ml\Z|[a-z_]\w*\.[a-z_]\w*\.[a-z_]\w*(\.\w+)*\Z")
# Options that take no value: what follows one is not its value.
_FLAG = re.compile(
    r"-[vCDbkKJ]+\Z|--(verbose|check|diff|become|ask-become-pass|ask-pass|ask-vault-pass(word)?)\Z|--[\w-]+="
)


@dataclass(frozen=True)
class Process:
    """Process: its number and its start time in clock ticks since boot.

    The start time is None where the system doesn't tell.
    """

    pid: int
    start_time: int | None


@dataclass(frozen=True)
class _Entry:
    state: str
    parent: int
    start_time: int


def this_boot() -> str | None:
    """Return the id of this machine's boot, or None (not Linux)."""
    return _read(os.path.join(PROC, "sys/kernel/random/boot_id")) or None


def this_pid_namespace() -> str | None:
    """Return the namespace in which this process's number counts.

    Containers on one machine share the boot, but not the namespace.
    """
    try:
        return os.readlink(os.path.join(PROC, "self/ns/pid"))
    except OSError:
        return None


def this_host() -> str:
    """Return this machine's name, for display."""
    return socket.gethostname()


def this_user() -> str:
    """Return the user that runs this process, for display.

    It is the system's user, and the user that became it by sudo.
    """
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    original = os.environ.get("SUDO_USER", "")
    return f"{original} as {name}" if original and original != name else name


def this_awx_job() -> str:
    """Return the AWX (or automation controller) job of this process, or ""."""
    job = os.environ.get("JOB_ID", "")
    awx = any(name.startswith(("AWX_", "TOWER_")) for name in os.environ)
    return job if awx and job.isdigit() else ""


def identify(pid: int) -> Process:
    """Return a running process with its start time."""
    entry = _entry(pid)
    return Process(pid, entry.start_time if entry else None)


def is_alive(process: Process) -> bool:
    """Return whether that very process runs.

    Where it is unknown it counts as running.
    """
    if process.pid <= 0:
        return False
    try:
        os.kill(process.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, under another user
    entry = _entry(process.pid)
    if entry is None:
        return True
    return entry.state not in "ZX" and process.start_time in (None, entry.start_time)


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped, a zombie, or gone.

    It does nothing until it is woken, or nothing any more.
    """
    entry = _entry(pid)
    return entry is None or entry.state in "TtZX"


def find_run_process(pid: int | None = None) -> Process:
    """Return the run's process: the ``ansible-playbook`` above this process.

    The run lives as long as that process.

    From this process upwards, the nearest one that is an ansible command, and from there on upwards while the parent
    has the very same command line: workers are forks of the main process. Not simply the outermost: a playbook that
    starts ``ansible-playbook`` twice at once has two runs in it. Without an ansible command above, the process itself
    counts (and what it was forked from). The run may be process 1, as in ``podman run IMAGE ansible-playbook``.
    """
    start = os.getpid() if pid is None else pid
    chain = [start]
    while len(chain) < MAX_ANCESTORS:
        entry = _entry(chain[-1])
        # Process 1 is one of them: in a container it is what the container was started for. 0 is what can't be seen from here.
        if entry is None or entry.parent < 1:
            break
        chain.append(entry.parent)
    commands = [_arguments(each) for each in chain]
    first = next((index for index, command in enumerate(commands) if is_ansible_command(command)), 0)
    last = first
    while last + 1 < len(chain) and commands[first] and commands[last + 1] == commands[first]:
        last += 1
    return identify(chain[last])


def descendants(pid: int) -> list[int]:
    """Return a running process and all its descendants, parents first.

    A process whose parent has ended is not among them.
    """
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for each in filter(str.isdigit, os.listdir(PROC)):
            entry = _entry(int(each))
            if entry is not None:
                children.setdefault(entry.parent, []).append(int(each))
    found = [pid]
    for each_pid in found:
        found.extend(children.get(each_pid, ()))
    return found


def name_of(pid: int) -> str:
    """Return the name of a process's command, "" where it is gone.

    The system cuts it to 15 characters.
    """
    return _read(os.path.join(PROC, str(pid), "comm"))


def is_ansible_command(arguments: t.Sequence[str]) -> bool:
    """Return whether these arguments of a process start an ansible command.

    It is started directly or by its interpreter.
    """
    return any(_ANSIBLE_COMMAND.match(os.path.basename(each)) for each in arguments[:3] if not each.startswith("-"))


def describe_command(pid: int) -> str:
    """Return the program and the playbooks of a process.

    No other argument is returned: ``-e`` may carry a secret.
    """
    arguments = _arguments(pid)
    if not arguments:
        return "unknown command"
    program = next((each for each in arguments[:3] if is_ansible_command([each])), arguments[0])
    after = arguments[arguments.index(program) + 1 :]
    shown = [os.path.basename(program)]
    for previous, each in zip([program, *after], after):
        is_value = previous.startswith("-") and not _FLAG.match(previous)
        if not is_value and _PLAYBOOK_ARGUMENT.match(each):
            shown.append(os.path.basename(each))
    return " ".join(shown)[:200]


def _arguments(pid: int) -> list[str]:
    text = _read(os.path.join(PROC, str(pid), "cmdline"))
    return text.split("\0")[:-1] if text.endswith("\0") else text.split("\0") if text else []


def _entry(pid: int) -> _Entry | None:
    # The command's name is in parentheses and may hold anything, parentheses too.
    fields = _read(os.path.join(PROC, str(pid), "stat")).rpartition(")")[2].split()
    try:
        return _Entry(fields[0], int(fields[1]), int(fields[19]))
    except (IndexError, ValueError):
        return None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            text = stream.read()
    except OSError:
        return ""
    return text.strip("\n ")
