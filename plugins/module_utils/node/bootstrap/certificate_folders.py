# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of kubeadm's certificates and keys on this machine.

kubeadm's default, and those of ``certificatesDir`` and ``caCertPath``, whose files kubeadm reset leaves there.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import typing as t

from ...common import guard
from ...etcd.certificates_dir import made_by_kubeadm, note

if t.TYPE_CHECKING:
    from .bootstrap_unit import Places

# kubeadm's own names (docs/reference/kubeadm.md, "Certificates"), and a rotation's pair with which the controller manager signs meanwhile.
_PAIRS = (
    *("ca", "front-proxy-ca", "front-proxy-client", "apiserver", "apiserver-kubelet-client", "apiserver-etcd-client"),
    *("etcd/ca", "etcd/server", "etcd/peer", "etcd/healthcheck-client", "ca-signing-old", "ca-signing-new"),
)
_NAMES = ("sa.pub", "sa.key", *(f"{pair}.{suffix}" for pair in _PAIRS for suffix in ("crt", "key")))


def note_of_ca(places: Places) -> str:
    """Return the path of the note about the file of ``JoinConfiguration.caCertPath``."""
    return os.path.join(places.state, "ca-cert-path")


def keep_note_of_ca(places: Places, path: str) -> None:
    """Write the note before kubeadm join writes the file.

    None where the file is in kubeadm's default folder, which is deleted whole, or is there already: then it isn't kubeadm's.
    """
    path = guard.named_path(path)
    if path and os.path.dirname(path) != _default(places) and not os.path.lexists(path):
        guard.write_atomically(note_of_ca(places), f"{path}\n".encode())


def elsewhere(places: Places) -> list[str]:
    """Return kubeadm's files in other folders, and the notes about them."""
    folder = made_by_kubeadm(places.kubernetes, places.state)
    found = []
    if folder not in ("", _default(places)):
        found = [os.path.join(folder, name) for name in _NAMES]
        # What a write that was killed has left has the file's name in its own, and may be a key.
        found += [part for path in found for part in glob.glob(_partial(path))]
        found.append(note(places.state))
    found += [guard.named_path(guard.read_text(note_of_ca(places))), note_of_ca(places)]
    return [path for path in dict.fromkeys(found) if os.path.lexists(path)]


def empty(places: Places) -> None:
    """Delete certificates and keys, and the notes at last.

    kubeadm's default folder is its alone. Of any other one, which others may use, only files with kubeadm's names are deleted.
    """
    shutil.rmtree(_default(places), ignore_errors=True)
    folder = made_by_kubeadm(places.kubernetes, places.state)
    notes = (note(places.state), note_of_ca(places))
    for path in elsewhere(places):
        if path not in notes:
            os.unlink(path)
    if folder:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(folder, "etcd"))
    for path in notes:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _default(places: Places) -> str:
    return os.path.join(places.kubernetes, "pki")


def _partial(path: str) -> str:
    return os.path.join(glob.escape(os.path.dirname(path)), f".{glob.escape(os.path.basename(path))}.*.partial")
