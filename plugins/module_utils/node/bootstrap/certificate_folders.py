# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of kubeadm's certificates and keys on this machine.

kubeadm's default, and ``certificatesDir``, whose files kubeadm reset leaves there.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import typing as t

from ...etcd.certificates_dir import made_by_kubeadm, note

if t.TYPE_CHECKING:
    from .bootstrap_unit import Places

# kubeadm's own names (docs/reference/kubeadm.md, "Certificates"), and a rotation's pair with which the controller manager signs meanwhile.
_PAIRS = (
    *("ca", "front-proxy-ca", "front-proxy-client", "apiserver", "apiserver-kubelet-client", "apiserver-etcd-client"),
    *("etcd/ca", "etcd/server", "etcd/peer", "etcd/healthcheck-client", "ca-signing-old", "ca-signing-new"),
)
_NAMES = ("sa.pub", "sa.key", *(f"{pair}.{suffix}" for pair in _PAIRS for suffix in ("crt", "key")))


def elsewhere(places: Places) -> list[str]:
    """Return kubeadm's files in another folder, and the note about it."""
    folder = made_by_kubeadm(places.kubernetes, places.state)
    if folder in ("", _default(places)):
        return []
    found = [os.path.join(folder, name) for name in _NAMES]
    # What a write that was killed has left has the file's name in its own, and may be a key.
    found += [part for path in found for part in glob.glob(_partial(path))]
    return [path for path in (*found, note(places.state)) if os.path.lexists(path)]


def empty(places: Places) -> None:
    """Delete certificates and keys, and the note at last.

    kubeadm's default folder is its alone. Of any other one, which others may use, only files with kubeadm's names are deleted.
    """
    shutil.rmtree(_default(places), ignore_errors=True)
    folder = made_by_kubeadm(places.kubernetes, places.state)
    for path in elsewhere(places):
        if path != note(places.state):
            os.unlink(path)
    if folder:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(folder, "etcd"))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(note(places.state))


def _default(places: Places) -> str:
    return os.path.join(places.kubernetes, "pki")


def _partial(path: str) -> str:
    return os.path.join(glob.escape(os.path.dirname(path)), f".{glob.escape(os.path.basename(path))}.*.partial")
