# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data folder in etcd's static pod manifest.

Apart from local.py, so that whoever needs no more loads no gateway.
"""

from __future__ import annotations

import re

from ..common.guard import NodeError

DATA_DIR = re.compile(r"^(\s*- )([\"']?)--data-dir=([^\s\"']+)", re.MULTILINE)


def etcd_data(manifest: str) -> str:
    """Return the data folder in etcd's static pod manifest. Raises NodeError."""
    found = DATA_DIR.search(manifest)
    if found is None:
        raise NodeError("etcd's static pod manifest names no --data-dir.", "Check that kubeadm made this etcd.")
    return found.group(3)
