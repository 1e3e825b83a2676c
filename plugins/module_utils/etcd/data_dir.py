# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data folder in etcd's static pod manifest.

Apart from local.py, so that whoever needs no more loads no gateway. A restore and a recovery take the manifest away, and kubeadm reset deletes it; so
all of these keep a note of a folder that isn't the default.
"""

from __future__ import annotations

import os
import re

from ..common import guard
from ..common.guard import NodeError
from ..common.kubernetes_facts import DEFAULT_ETCD_DATA_DIR

DATA_DIR = re.compile(r"^(\s*- )([\"']?)--data-dir=([^\s\"']+)", re.MULTILINE)


def etcd_data(manifest: str) -> str:
    """Return the data folder in etcd's static pod manifest. Raises NodeError."""
    found = DATA_DIR.search(manifest)
    if found is None:
        raise NodeError("etcd's static pod manifest names no --data-dir.", "Check that kubeadm made this etcd.")
    return found.group(3)


def note(state: str) -> str:
    """Return the path of the note about the folder."""
    return os.path.join(state, "etcd-data")


def current(kubernetes: str, state: str, default: str = DEFAULT_ETCD_DATA_DIR) -> str:
    """Return the folder of this machine's etcd.

    That is the one in its manifest, else the noted one, else that of a manifest which a restart of the pod has moved out, else the default.
    """
    return (
        _in_manifest(os.path.join(kubernetes, "manifests", "etcd.yaml"))
        or guard.named_path(guard.read_text(note(state)))
        or _in_manifest(os.path.join(kubernetes, guard.PARKED_MANIFESTS, "etcd.yaml"))
        or default
    )


def keep_note(kubernetes: str, state: str, default: str = DEFAULT_ETCD_DATA_DIR) -> None:
    """Write the note, where the folder isn't the default."""
    folder = current(kubernetes, state, default)
    if folder != default:
        guard.write_atomically(note(state), f"{folder}\n".encode())


def _in_manifest(path: str) -> str:
    try:
        return guard.named_path(etcd_data(guard.read_text(path)))
    except NodeError:
        return ""
