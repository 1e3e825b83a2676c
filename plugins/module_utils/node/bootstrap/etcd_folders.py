# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of etcd's data on this machine.

kubeadm's default, and ``etcd.local.dataDir``, which etcd's static pod manifest names, or a note (etcd/data_dir.py).
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from ...common import guard
from ...etcd import data_dir
from ...etcd.restore import task_files

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


def made_by_kubeadm(places: Places) -> bool:
    """Return whether this machine says that kubeadm made its etcd.

    By the static pod's manifest, wherever a restore, a recovery or a restart has it, or by the note of a reset that was killed. Without either an etcd
    here is another one, such as the external one that the cluster uses. Certificates are no proof: whoever moves etcd out of its pod keeps them.
    """
    marks = [os.path.join(places.kubernetes, each, "etcd.yaml") for each in ("manifests", guard.PARKED_MANIFESTS)]
    marks += [data_dir.note(places.state), *task_files.present(places.state)]
    return any(map(os.path.lexists, marks))


def unexplained(places: Places) -> list[str]:
    """Return the folders of a member's data that nothing here explains.

    Only the default folder can be one: any other is known by the manifest alone, or the note of it.
    """
    default, own = (os.path.join(each, _MEMBER) for each in (places.etcd_data, current(places)))
    if not os.path.exists(default):
        return []
    # A link or a mount can give kubeadm's folder the default one's name, too.
    return [] if made_by_kubeadm(places) and os.path.exists(own) and os.path.samefile(default, own) else [default]


def keep_note(places: Places) -> None:
    """Note the folder of kubeadm's etcd.

    For the time after the manifest that names it is deleted.
    """
    data_dir.keep_note(places.kubernetes, places.state, places.etcd_data)
    if owns_default(places) and data(places):
        # A full disk must not keep its machine from being reset, which makes room.
        try:
            guard.write_atomically(data_dir.note(places.state), f"{places.etcd_data}\n".encode())
        except OSError:
            # An empty file takes no room, and says of the default folder as much.
            with contextlib.suppress(OSError), open(data_dir.note(places.state), "a", encoding="utf-8"):
                pass


def empty(places: Places, *, whole: bool) -> None:
    """Delete etcd's data.

    ``whole`` is whether :func:`owns_default` was true before kubeadm's reset. kubeadm's default folder is its etcd's alone then; it may be a mount
    point, and stays, as does another etcd's data folder in it, such as that of Debian's package. Of any other folder only what etcd and a restore
    make is deleted: by a mistake in a manifest it may be one that others use.
    """
    for folder in dict.fromkeys((places.etcd_data, current(places))):
        for name in _names(folder):
            path = os.path.join(folder, name)
            own = name == _MEMBER or name.startswith(_BESIDE)
            if own or (whole and folder == places.etcd_data and not os.path.isdir(os.path.join(path, _MEMBER))):
                guard.delete(path)


def owns_default(places: Places) -> bool:
    """Return whether the default folder is that of kubeadm's etcd."""
    return made_by_kubeadm(places) and current(places) == places.etcd_data


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []
