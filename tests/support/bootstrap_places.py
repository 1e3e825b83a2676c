# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Places of a machine's bootstrap below a folder."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.script import Disks

KUBEADM = "#!/bin/sh\n[ $1 = version ] && echo v1.20.2\nexit 0\n"
_BELOW = {
    "state": "state",
    "kubernetes": "kubernetes",
    "etcd_data": "etcd",
    "kubeadm_run": "run",
    "sentinel": "cluster-api/done",
    "kubeadm": "kubeadm",
}


def bootstrap_places(folder: Path, **more: t.Any) -> Places:
    """Return the places, with ``more`` of them or others."""
    return Places(**{**{name: str(folder / path) for name, path in _BELOW.items()}, **more})


def places_with_kubeadm(folder: Path) -> Places:
    """Return the places, with a script for kubeadm that does nothing."""
    put(folder / "kubeadm", KUBEADM)
    (folder / "kubeadm").chmod(0o755)
    return bootstrap_places(folder, disks=Disks(kubelet=str(folder / "kubelet")))


def put(path: Path, text: str = "1") -> None:
    """Write a file, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def no_process(places: Places) -> str:
    """Return a folder to take for /proc: there may be an etcd on the machine that runs the tests."""
    return os.path.dirname(places.state)
