# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of this host: machines' inits, listeners on a port, ending."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
import typing as t
import uuid

from .errors import NspawnError

POLL_SECONDS = 0.05
LISTEN_STATE = "0A"


def read_file(path: str) -> bytes:
    """Return a file of /proc, empty if its process is gone."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def process_ids() -> list[int]:
    """Return the ids of all processes that this pid namespace shows."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def is_namespace_init(status: str) -> bool:
    """Return whether a process is the first in its own pid namespace.

    ``status`` is the text of /proc/PID/status.
    """
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            ids = line.split()[1:]
            return len(ids) > 1 and ids[-1] == "1"
    return False


def machine_inits() -> dict[str, int]:
    """Return the init process of every systemd-nspawn machine, by machine-id.

    The machine-id has 32 hex digits.

    systemd-nspawn tells a machine its id in ``container_uuid``; that holds whether or not anything of ours remembers the process.
    """
    found: dict[str, int] = {}
    for pid in process_ids():
        environ = read_file(f"/proc/{pid}/environ")
        if b"container_uuid=" not in environ:
            continue
        status = read_file(f"/proc/{pid}/status").decode(errors="replace")
        if not is_namespace_init(status) or "\nState:\tZ" in status:
            continue
        for entry in environ.split(b"\0"):
            if entry.startswith(b"container_uuid="):
                with contextlib.suppress(ValueError):
                    found[uuid.UUID(entry.split(b"=", 1)[1].decode(errors="replace")).hex] = pid
    return found


def lower_folders(pid: int) -> list[str]:
    """Return the lower folders of the overlays that a process sees."""
    text = read_file(f"/proc/{pid}/mountinfo").decode(errors="replace")
    overlays = [line for line in text.splitlines() if " - overlay " in line]
    return re.findall(r"[=:](/[^,:\s]+)", "\n".join(re.findall(r"lowerdir\+?=[^,\s]+", "\n".join(overlays))))


def find_by_arguments(*wanted: str) -> list[int]:
    """Return the processes whose command line has all of these arguments.

    Each one is compared as a whole.
    """
    found = []
    for pid in process_ids():
        arguments = read_file(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")
        if all(each in arguments for each in wanted):
            found.append(pid)
    return found


def directories_of(name: str, machine_id: str) -> list[str]:
    """Return the directories in which a running machine was made."""
    found = []
    for pid in find_by_arguments(f"--machine={name}", f"--uuid={uuid.UUID(machine_id)}"):
        arguments = read_file(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")
        roots = [each.partition("=")[2] for each in arguments if each.startswith("--directory=")]
        found += [each.removesuffix(f"/machines/{name}/root") for each in roots]
    return found


def is_alive(pid: int) -> bool:
    """Return whether a process exists and isn't a zombie."""
    stat = read_file(f"/proc/{pid}/stat")
    return bool(stat) and stat.rpartition(b")")[2].split()[:1] != [b"Z"]


def name_of(pid: int) -> str:
    """Return a process's short name."""
    return read_file(f"/proc/{pid}/comm").decode(errors="replace").strip() or "unknown"


def end(pids: t.Iterable[int], sig: int = signal.SIGKILL) -> None:
    """Send a signal to processes; missing ones are ignored."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)


def wait_until(condition: t.Callable[[], bool], timeout: float, what: str) -> None:
    """Wait until a condition holds.

    Raises:
        NspawnError: it doesn't within ``timeout`` seconds; says ``what`` was waited for.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise NspawnError(f"{what} did not happen within {timeout:.0f} s. Look at this host's load; run again.")
        time.sleep(POLL_SECONDS)


def listening_inodes(text: str, address: str, port: int) -> list[str]:
    """Return the socket inodes that listen on an IPv4 address and port.

    ``text`` is that of /proc/net/tcp; a socket that listens on all addresses counts.
    """
    wanted = {"".join(f"{int(part):02X}" for part in reversed(address.split("."))), "00000000"}
    found = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 10 or fields[3] != LISTEN_STATE:
            continue
        host, _separator, hexadecimal = fields[1].partition(":")
        if host in wanted and int(hexadecimal, 16) == port:
            found.append(fields[9])
    return found


def listeners(address: str, port: int) -> t.Optional[list[int]]:
    """Return the processes that listen on an IPv4 address and port.

    They are process ids: [] where they can't be seen, None where none listens.
    """
    inodes = listening_inodes(read_file("/proc/net/tcp").decode(), address, port)
    # An IPv6 wildcard socket takes the IPv4 port as well; its line has the same fields with a longer address.
    wildcard = "0" * 32
    for line in read_file("/proc/net/tcp6").decode().splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == LISTEN_STATE and fields[1] == f"{wildcard}:{port:04X}":
            inodes.append(fields[9])
    if not inodes:
        return None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    found = []
    for pid in process_ids():
        with contextlib.suppress(OSError):
            if any(_target(f"/proc/{pid}/fd/{name}") in wanted for name in os.listdir(f"/proc/{pid}/fd")):
                found.append(pid)
    return found


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
