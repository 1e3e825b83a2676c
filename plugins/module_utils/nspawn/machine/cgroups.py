# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups of the host, with one group for each machine.

The group is in every hierarchy, of whichever cgroup version the host has.

Each machine is started in groups of its own. systemd-nspawn gives it a cgroup namespace, so that these groups are the
roots it sees; deleting them removes whatever the machine made below. Text in, facts out, except where a function says so.
"""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from ..errors import NspawnError

PARENT = "kubeadm-control-plane"
CPUSET_INHERITED = ("cpuset.cpus", "cpuset.mems")


@dataclass(frozen=True)
class Hierarchies:
    """Mount points of the host's cgroup hierarchies.

    ``unified`` is cgroup v2's mount point, if any.
    """

    legacy: tuple[tuple[str, tuple[str, ...]], ...]
    unified: t.Optional[str]

    @property
    def version(self) -> int:
        """The cgroup version: 2 for v2 alone, 1 for v1 or hybrid."""
        return 1 if self.legacy else 2

    @property
    def mount_points(self) -> list[str]:
        """Mount point of every hierarchy."""
        return [path for path, _names in self.legacy] + ([self.unified] if self.unified else [])

    def groups(self, machine_id: str) -> list[str]:
        """Return the machine's group in every hierarchy."""
        return [os.path.join(path, PARENT, machine_id) for path in self.mount_points]


def parse_mountinfo(text: str) -> Hierarchies:
    """Return the hierarchies in the text of ``/proc/self/mountinfo``.

    Raises:
        NspawnError: no hierarchy is mounted.
    """
    legacy: dict[str, tuple[str, ...]] = {}
    unified = None
    for line in text.splitlines():
        left, _separator, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        path = fields[4].replace("\\040", " ")
        if kind[0] == "cgroup":
            options = kind[2].split(",")
            legacy.setdefault(path, tuple(each for each in options if each not in ("rw", "ro", "xattr")))
        elif kind[0] == "cgroup2" and unified is None:
            unified = path
    if not legacy and unified is None:
        raise NspawnError(
            "no cgroup hierarchy is mounted on this host (/proc/self/mountinfo), so that neither systemd nor a kubelet can run "
            "in a machine. Mount one, or use a host that has it."
        )
    return Hierarchies(tuple(sorted(legacy.items())), unified)


def detect() -> Hierarchies:
    """Return this host's hierarchies (reads ``/proc/self/mountinfo``)."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return parse_mountinfo(file.read())


def make(hierarchies: Hierarchies, machine_id: str) -> list[str]:
    """Make the machine's groups that are missing; return all of them."""
    groups = hierarchies.groups(machine_id)
    for group in groups:
        parent = os.path.dirname(group)
        for path in (parent, group):
            if not os.path.isdir(path):
                os.makedirs(path, exist_ok=True)
            # An empty cpuset takes no process at all; cgroup v1 fills it from the parent only on demand.
            for name in CPUSET_INHERITED:
                _inherit(path, name)
        if group.startswith(f"{hierarchies.unified}/") and hierarchies.version == 2:
            for path in (os.path.dirname(parent), parent):
                _delegate(path)
    return groups


def _inherit(path: str, name: str) -> None:
    source = os.path.join(os.path.dirname(path), name)
    target = os.path.join(path, name)
    if not os.path.exists(target) or not os.path.exists(source):
        return
    with open(target, encoding="utf-8") as file:
        if file.read().strip():
            return
    with open(source, encoding="utf-8") as file:
        value = file.read()
    if value.strip():
        with open(target, "w", encoding="utf-8") as file:
            file.write(value)


def _delegate(path: str) -> None:
    with open(os.path.join(path, "cgroup.controllers"), encoding="utf-8") as file:
        controllers = file.read().split()
    for controller in controllers:
        try:
            with open(os.path.join(path, "cgroup.subtree_control"), "w", encoding="utf-8") as file:
                file.write(f"+{controller}")
        except OSError:
            # A controller that is busy at this level isn't available below; the kubelet names it if it needs it.
            continue


def processes(groups: t.Iterable[str]) -> set[int]:
    """Return the ids of all processes in the groups and below.

    0 means one outside this pid namespace: left out.
    """
    found: set[int] = set()
    for group in groups:
        for path, _folders, _files in os.walk(group):
            try:
                with open(os.path.join(path, "cgroup.procs"), encoding="utf-8") as file:
                    found.update(int(line) for line in file.read().split())
            except OSError:
                continue
    return found - {0}


def thaw(groups: t.Iterable[str]) -> None:
    """Thaw frozen groups: a frozen process (cgroup v1) doesn't even end."""
    for group in groups:
        for path, _folders, names in os.walk(group):
            for name, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
                if name not in names:
                    continue
                try:
                    with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                        file.write(value)
                except OSError:
                    continue


def remove(groups: t.Iterable[str]) -> list[str]:
    """Remove empty groups from the bottom up; return the busy ones.

    The common parent is removed if nothing is left in it.
    """
    busy = []
    for group in groups:
        for path, _folders, _files in os.walk(group, topdown=False):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                continue
            except OSError:
                busy.append(path)
        try:
            os.rmdir(os.path.dirname(group))
        except OSError:
            continue
    return busy
