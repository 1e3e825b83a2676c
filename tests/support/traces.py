# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster's machines leave on the host: looked up in the kernel, not in the provider's own records."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

STATE = Path("/var/lib/kubeadm-control-plane/nspawn")


def processes(*needles: str) -> list[str]:
    """The command lines of other processes that name one of the needles."""
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        if int(cmdline.parent.name) in (os.getpid(), os.getppid()):
            continue
        try:
            text = cmdline.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if any(needle in text for needle in needles) and "pytest" not in text:
            found.append(f"{cmdline.parent.name}: {text.strip()}")
    return found


def traces(*needles: str) -> list[str]:
    """Every process, mount, link, cgroup and folder that names one of the needles (machine or cluster names)."""
    found = [f"process {each}" for each in processes(*needles)]
    mounts = Path("/proc/mounts").read_text()
    found += [f"mount {line}" for line in mounts.splitlines() if any(needle in line for needle in needles)]
    links = subprocess.run(["ip", "-o", "link"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found += [f"link {line}" for line in links.splitlines() if any(needle in line for needle in needles)]
    for root in (Path("/sys/fs/cgroup"), STATE):
        for folder, names, files in os.walk(root):
            found += [f"path {folder}/{name}" for name in names + files if any(needle in name for needle in needles)]
    return found


def left_of(machine: str) -> list[str]:
    """What is left of one machine of a cluster that lives on: the others' etcd and records name it for as long as they live."""
    own = (f"--machine={machine}", f"/machines/{machine}")
    return [each for each in traces(machine) if each.startswith("link") or any(part in each for part in own)]
