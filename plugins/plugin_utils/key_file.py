# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private key that ssh can read by a path and that no killed run leaves on a disk: it is in memory, and goes with its process."""

from __future__ import annotations

import os
import weakref


class KeyFile:
    """A key under a path, for as long as this object lives.

    On Linux the path leads to memory of this process. Elsewhere it is a file in ``folder``, which only its owner reads and Ansible
    removes with its temporary folder at a run's end.
    """

    def __init__(self, key: bytes, folder: str) -> None:
        self.path = _in_memory(self, key) or _on_disk(key, folder)


def _in_memory(owner: KeyFile, key: bytes) -> str:
    """Return the path of a file in memory, "" where there is no such thing or nobody can open it by a path."""
    if not hasattr(os, "memfd_create"):
        return ""
    try:
        descriptor = os.memfd_create("kubeadm-control-plane-key")
    except OSError:
        return ""
    path = f"/proc/{os.getpid()}/fd/{descriptor}"
    try:
        # ssh refuses a key that others could read.
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, key)
        with open(path, "rb") as file:
            readable = file.read() == key
    except OSError:
        readable = False
    if not readable:
        os.close(descriptor)
        return ""
    weakref.finalize(owner, os.close, descriptor)
    return path


def _on_disk(key: bytes, folder: str) -> str:
    path = os.path.join(folder, "ssh_key")
    temporary = f"{path}.{os.getpid()}"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(key)
    os.replace(temporary, path)
    return path
