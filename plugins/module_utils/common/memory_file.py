# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret for what reads files alone (OpenSSL takes a client's key by path): in memory, so that no killed run leaves it on a disk."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def memory_file(text: str) -> Iterator[str]:
    """Give a path under which this process reads a text, while within.

    Where the system has no files in memory (macOS), it is a file in a folder that only its owner enters.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory(prefix="kubeadm-") as folder:
            path = os.path.join(folder, "secret")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            yield path
        return
    descriptor = os.memfd_create("kubeadm-control-plane")
    try:
        with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
