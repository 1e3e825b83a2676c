# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of machines on this host: root, packages, inotify, their folder."""

from __future__ import annotations

import ctypes
import os
import shutil
import typing as t

from . import processes
from .errors import NspawnError
from .layout import Layout
from .programs import Progress, run

# docs/machine_nspawn.md, "What it needs".
MACHINE_PACKAGES = (
    "systemd-container",
    "debootstrap",
    "debian-archive-keyring",
    "iproute2",
    "haproxy",
    "openssh-client",
    "util-linux",
)
# Debian starts this one by itself when it is installed; here every cluster's endpoint starts its own.
SERVICES = {"haproxy": "haproxy.service"}
# What systemd, kubelet, containerd and the rest of one machine hold (docs/machine_nspawn.md, "What it needs").
INOTIFY_INSTANCES = 14
INOTIFY_LIMIT = "/proc/sys/fs/inotify/max_user_instances"


def require_root() -> None:
    """Check that this process is root.

    Raises:
        NspawnError: it isn't root.
    """
    if os.geteuid() != 0:
        raise NspawnError(
            f"local machines need root (mounts, namespaces, a bridge), and this process runs as user id {os.geteuid()}. "
            "Nothing was done. Run Ansible as root on this host, or set ansible_become for it."
        )


def require_inotify_instances(name: str, machines: int) -> None:
    """Check that one more machine can watch its files.

    Where it can't, its kubelet ends at once, again and again. Machines are root's processes, and the kernel has one limit for all of a user's.
    What is free can't be read, so it is taken and given back; a machine that has just been started has not taken its own yet.

    Args:
        name: the machine.
        machines: how many others run on this host.

    Raises:
        NspawnError: there are too few.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    taken: list[int] = []
    try:
        while len(taken) < INOTIFY_INSTANCES:
            number = libc.inotify_init1(os.O_CLOEXEC)
            if number < 0:
                break
            taken.append(number)
    finally:
        for number in taken:
            os.close(number)
    with open(INOTIFY_LIMIT, encoding="ascii") as file:
        limit = int(file.read())
    if len(taken) < INOTIFY_INSTANCES or (machines + 1) * INOTIFY_INSTANCES > limit:
        raise NspawnError(
            f"machine {name} was not started: each machine's systemd, kubelet and containerd take {INOTIFY_INSTANCES} inotify instances, {machines} "
            f"machines run on this host, and root may have {limit} instances in all, of which {_free(len(taken))} are free. Without them its "
            f"kubelet would end at once. Allow more: sysctl -w fs.inotify.max_user_instances={max(1024, 2 * limit)}, and the same in /etc/sysctl.d; "
            "or delete other machines."
        )


def _free(found: int) -> str:
    return str(found) if found < INOTIFY_INSTANCES else f"{found} or more"


def installed(packages: t.Iterable[str]) -> set[str]:
    """Return those of the packages that are installed."""
    done = run(["dpkg-query", "--show", "--showformat", "${Package}|${db:Status-Status}\\n", *packages], check=False)
    return {line.partition("|")[0] for line in done.stdout.splitlines() if line.endswith("|installed")}


def missing_packages(packages: t.Iterable[str]) -> list[str]:
    """Return those of the packages that have to be installed, in order.

    Raises:
        NspawnError: this host has no apt.
    """
    wanted = list(packages)
    if not wanted:
        return []
    if shutil.which("apt-get") is None:
        raise NspawnError(
            "this host has no apt-get: the local provider installs what it needs from Debian's packages. Use a Debian 12 host."
        )
    there = installed(wanted)
    return [each for each in wanted if each not in there]


def ensure_packages(packages: t.Iterable[str], progress: Progress) -> list[str]:
    """Install the missing packages; return their names.

    Services that Debian would start are masked before.
    """
    missing = missing_packages(packages)
    if not missing:
        return []
    for package in missing:
        unit = SERVICES.get(package)
        if unit and not os.path.lexists(f"/etc/systemd/system/{unit}"):
            os.makedirs("/etc/systemd/system", exist_ok=True)
            os.symlink("/dev/null", f"/etc/systemd/system/{unit}")
    progress.say(f"installing {', '.join(missing)}")
    noninteractive = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
    progress.run(["apt-get", "update"], env=noninteractive)
    progress.run(["apt-get", "install", "--yes", "--no-install-recommends", *missing], env=noninteractive)
    return missing


def require_here(layout: Layout, machine_ids: t.Mapping[str, str]) -> None:
    """Refuse a folder other than that of machines that run.

    Taken for missing there, a machine that runs would be removed, and its etcd member with it.

    Args:
        layout: where machines live.
        machine_ids: the recorded machine-ids by name.
    """
    inits = processes.machine_inits()
    for name, identity in machine_ids.items():
        if identity not in inits or os.path.isdir(layout.machine(name).path):
            continue
        for directory in processes.directories_of(name, identity):
            if directory != layout.directory:
                raise NspawnError(
                    f"machine {name} runs on this host in {directory}, and {layout.directory} has no such machine. It was not taken for missing, since a "
                    f"missing machine is replaced, and nothing was recorded. Set machine_nspawn_directory to {directory}."
                )
