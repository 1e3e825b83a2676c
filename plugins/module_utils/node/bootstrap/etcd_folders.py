# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of etcd's data on this machine.

kubeadm's default, and ``etcd.local.dataDir``, which etcd's static pod manifest names, or a note (etcd/data_dir.py).
"""

from __future__ import annotations

import os
import typing as t

from ...common import guard
from ...etcd import data_dir

if t.TYPE_CHECKING:
    from .bootstrap_unit import Places

# What etcd makes there, and what a restore leaves beside it (etcd/restore/from_snapshot.py).
_MEMBER = "member"
_BESIDE = ("member-before-", ".restored-")


def current(places: Places) -> str:
    """Return the folder of this machine's etcd (etcd/data_dir.py)."""
    return data_dir.current(places.kubernetes, places.state, places.etcd_data)


def data(places: Places) -> list[str]:
    """Return the folders of a member's data that are there."""
    found = [os.path.join(each, _MEMBER) for each in dict.fromkeys((places.etcd_data, current(places)))]
    return [each for each in found if os.path.exists(each)]


def empty(places: Places) -> None:
    """Delete etcd's data.

    kubeadm's default folder is etcd's alone; it may be a mount point, and stays. Of any other folder only what etcd and a restore make is
    deleted: by a mistake in a manifest it may be one that others use.
    """
    folder = current(places)
    for name in _names(places.etcd_data):
        guard.delete(os.path.join(places.etcd_data, name))
    for name in _names(folder):
        if name == _MEMBER or name.startswith(_BESIDE):
            guard.delete(os.path.join(folder, name))


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []
