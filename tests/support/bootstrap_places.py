# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Places of a machine's bootstrap below a folder."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places

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
