# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of etcd's data on this machine.

kubeadm's default, and ``etcd.local.dataDir``.

The latter is in etcd's static pod manifest alone, which kubeadm reset deletes; so a reset keeps a note of it until the data is gone.
"""

from __future__ import annotations

import os
import shutil
import typing as t

from ...common import guard
from ...common.guard import NodeError
from ...etcd.data_dir import etcd_data

if t.TYPE_CHECKING:
    from .bootstrap_unit import Places

# What etcd makes there, and what a restore leaves beside it (etcd/restore/from_snapshot.py).
_MEMBER = "member"
_BESIDE = ("member-before-", ".restored-")
_LONGEST_PATH = 4096


def note(places: Places) -> str:
    """Return the path of the note that a reset keeps."""
    return os.path.join(places.state, "etcd-data")


def current(places: Places) -> str:
    """Return the folder of this machine's etcd.

    That is the one in its manifest, else the one that a reset has noted, else kubeadm's default.
    """
    try:
        named = etcd_data(guard.read_text(os.path.join(places.kubernetes, "manifests", "etcd.yaml")))
    except NodeError:
        named = guard.read_text(note(places))
    # A longer path is none on Linux, and another one could forge the text of a message.
    fits = os.path.isabs(named) and len(named) < _LONGEST_PATH and named.isprintable()
    return os.path.normpath(named) if fits else places.etcd_data


def data(places: Places) -> list[str]:
    """Return the folders of a member's data that are there."""
    found = [os.path.join(each, _MEMBER) for each in dict.fromkeys((places.etcd_data, current(places)))]
    return [each for each in found if os.path.exists(each)]


def keep_note(places: Places) -> None:
    """Write the note, where the folder isn't the default."""
    if current(places) != places.etcd_data:
        guard.write_atomically(note(places), f"{current(places)}\n".encode())


def empty(places: Places) -> None:
    """Delete etcd's data.

    kubeadm's default folder is etcd's alone; it may be a mount point, and stays. Of any other folder only what etcd and a restore make is
    deleted: by a mistake in a manifest it may be one that others use.
    """
    folder = current(places)
    for name in _names(places.etcd_data):
        _delete(os.path.join(places.etcd_data, name))
    for name in _names(folder):
        if name == _MEMBER or name.startswith(_BESIDE):
            _delete(os.path.join(folder, name))


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
