# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command that starts a machine. Pure."""

from __future__ import annotations

import typing as t
import uuid
from dataclasses import dataclass

from ..layout import MachineLayout

# The kubelet and runc need bpf (cgroup v2 device rules) and keyctl, which systemd-nspawn's default filter refuses.
SYSTEM_CALLS = "@known bpf keyctl"

# Run by a shell in a mount namespace of its own, so that the overlay is gone with the last process of the machine.
# First its own groups, so that whoever removes the machine finds even a start that was cut off here.
LAUNCHER = """set -eu
count=$1; shift
while [ "$count" -gt 0 ]; do echo $$ > "$1/cgroup.procs"; shift; count=$((count - 1)); done
options=$1 root=$2; shift 2
exec unshare --mount --propagation slave sh -euc 'mount -t overlay -o "$1" overlay "$2"; shift 2; exec "$@"' sh "$options" "$root" "$@"
"""


@dataclass(frozen=True)
class Start:
    """Parameters of a machine's start command."""

    name: str
    machine_id: str
    bridge: str
    layout: MachineLayout
    lower: tuple[str, ...]
    cgroup_version: int
    has_kmsg: bool = True


def nspawn_arguments(start: Start) -> list[str]:
    """Return systemd-nspawn's command line (docs/machine_nspawn.md, "How a machine is started")."""
    layout = start.layout
    arguments = [
        "systemd-nspawn",
        f"--directory={layout.root}",
        f"--machine={start.name}",
        f"--uuid={uuid.UUID(start.machine_id)}",
        "--boot",
        # Works where systemd isn't PID 1: neither systemd-machined nor a unit of ours is asked for anything.
        "--register=no",
        "--keep-unit",
        f"--network-bridge={start.bridge}",
        "--capability=all",
        f"--system-call-filter={SYSTEM_CALLS}",
        "--console=pipe",
        "--link-journal=no",
        "--resolv-conf=off",
        "--timezone=off",
        "--settings=no",
        f"--bind={layout.containerd}:/var/lib/containerd",
        f"--bind={layout.kubelet}:/var/lib/kubelet",
        f"--bind={layout.etcd}:/var/lib/etcd",
    ]
    if start.has_kmsg:
        arguments.append("--bind=/dev/kmsg")
    return arguments


def nspawn_environment(start: Start) -> dict[str, str]:
    """Return the environment variables of systemd-nspawn."""
    return {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1" if start.cgroup_version == 2 else "0"}


def overlay_options(start: Start) -> str:
    """Return the overlay's mount options.

    The image's folders, the topmost first, are below the machine's own.
    """
    # Colons separate lower folders and commas options; the layout's names have neither.
    return f"lowerdir={':'.join(start.lower)},upperdir={start.layout.upper},workdir={start.layout.work}"


def launch_command(start: Start, groups: t.Sequence[str]) -> list[str]:
    """Return the whole command that starts a machine.

    It joins the groups, mounts the overlay out of the host's sight, and becomes systemd-nspawn.
    """
    return [
        "/bin/sh",
        "-c",
        LAUNCHER,
        "sh",
        str(len(groups)),
        *groups,
        overlay_options(start),
        start.layout.root,
        *nspawn_arguments(start),
    ]
