# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of everything that the provider made on this host.

It works after crashes, too. The image cache stays.
"""

from __future__ import annotations

import os

from ..common import settings
from . import pool, processes
from .endpoint import lifecycle
from .file_operations import mounts_below, read_json, remove_tree
from .layout import Layout
from .machine import cgroups
from .machine import lifecycle as machine
from .network import remove_bridge
from .programs import run


def everything(layout: Layout) -> dict[str, list[str]]:
    """Remove all machines, endpoints, bridges and the directory; return their names."""
    found = present(layout)
    known = read_json(layout.network) or {}
    for name in found["machines"]:
        machine.remove(layout, name)
    for name in found["endpoints"]:
        namespace, _separator, cluster = name.partition("/")
        lifecycle.remove(layout, namespace, cluster)
    _end_strays(layout)
    for name in {*found["bridges"], str(known.get("bridge", ""))}:
        remove_bridge(name, layout.directory)
    for point in mounts_below(layout.directory):
        run(["umount", "--lazy", point], check=False)
    remove_tree(layout.directory)
    return found


def present(layout: Layout) -> dict[str, list[str]]:
    """Return the names of what ``everything`` would remove."""
    endpoints = [name.replace("_", "/") for name in pool.endpoint_records(layout)]
    return {"machines": list(pool.machine_records(layout)), "endpoints": endpoints, "bridges": _bridges(layout)}


def _bridges(layout: Layout) -> list[str]:
    """Return the bridges of this directory, also one whose record is lost."""
    found = []
    for name in sorted(os.listdir("/sys/class/net")):
        text = processes.read_file(f"/sys/class/net/{name}/ifalias").decode(errors="replace").strip()
        if text == f"kubeadm.control_plane {layout.directory}":
            found.append(name)
    return found


def _end_strays(layout: Layout) -> None:
    """End processes whose command line names our directory.

    They are left where its records were deleted by hand.
    """
    prefixes = (f"--directory={layout.machines}/", f"{layout.endpoints}/")

    def strays() -> list[int]:
        found = []
        for pid in processes.process_ids():
            arguments = processes.read_file(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")
            ours = os.path.basename(arguments[0]) in ("systemd-nspawn", "haproxy") and any(
                each.startswith(prefixes) for each in arguments[1:]
            )
            if ours and processes.is_alive(pid):
                found.append(pid)
        return found

    def gone() -> bool:
        pids = strays()
        # systemd-nspawn takes its machine's init with it.
        processes.end(pids)
        return not pids

    processes.wait_until(gone, settings.END_SECONDS, f"the end of all processes of {layout.directory}")
    hierarchies = cgroups.detect()
    for mount in hierarchies.mount_points:
        parent = os.path.join(mount, cgroups.PARENT)
        if os.path.isdir(parent):
            idle = [
                os.path.join(parent, name) for name in os.listdir(parent) if os.path.isdir(os.path.join(parent, name))
            ]
            # Another directory's running machines keep theirs: a group with processes can't be removed.
            cgroups.remove(idle)
