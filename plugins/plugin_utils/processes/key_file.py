# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private files in memory, for programs that read them by a path.

They end with their process: no killed run leaves one on a disk.
"""

from __future__ import annotations

import os
import weakref


class KeyFile:
    """Key under a path, for as long as this object lives.

    On Linux the path leads to memory of this process. Elsewhere it is a file in ``folder``, which only its owner reads and Ansible
    removes with its temporary folder at a run's end.
    """

    def __init__(self, key: bytes, folder: str) -> None:
        self.path = in_memory(self, key) or _on_disk(key, folder)


def in_memory(owner: object, content: bytes) -> str:
    """Return the path of a file in memory, bound to its owner.

    The file lives as long as its owner.

    "" where the system has no such files, or does not open them by a path.
    """
    if not hasattr(os, "memfd_create"):
        return ""
    try:
        descriptor = os.memfd_create("kubeadm-control-plane-key")
    except OSError:
        return ""
    path = f"/proc/{os.getpid()}/fd/{descriptor}"
    try:
        # No other user may read it; ssh refuses a key that one could.
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, content)
        with open(path, "rb") as file:
            readable = file.read() == content
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
