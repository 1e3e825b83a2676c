# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backups of kubeadm's upgrades in /etc/kubernetes/tmp, which kubeadm never deletes.

They are copies of etcd's data, of manifests, of the kubelet's file.
"""

from __future__ import annotations

import os
import re
import shutil

from ...common import settings
from ...common.guard import NodeError, remedy

FOLDER = "/etc/kubernetes/tmp"
# Named with their time (2006-01-02-15-04-05), which a copy's own times don't tell; or with a random number.
_TIMED = re.compile(r"(kubeadm-backup-etcd|kubeadm-backup-manifests)-(\d{4}(?:-\d\d){5})")
_RANDOM = re.compile(r"(kubeadm-upgraded-manifests|kubeadm-kubelet-config)\d+")


def prune(kept: int = settings.KUBEADM_BACKUPS_KEPT, *, folder: str = FOLDER, check: bool = False) -> list[str]:
    """Delete all but the newest backups of each kind; return deleted paths.

    The paths are sorted.

    Whatever else is in that folder stays: other names, links, files.

    Raises:
        NodeError: one can't be deleted.
    """
    kinds: dict[str, list[tuple[str, float, str]]] = {}
    try:
        with os.scandir(folder) as found:
            for each in found:
                timed, random = _TIMED.fullmatch(each.name), _RANDOM.fullmatch(each.name)
                match = timed or random
                if match is None or not each.is_dir(follow_symlinks=False):
                    continue
                moment = 0.0 if timed else each.stat(follow_symlinks=False).st_mtime
                kinds.setdefault(match.group(1), []).append((timed.group(2) if timed else "", moment, each.path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise NodeError(f"{folder} can't be read: {error.strerror}.", remedy(folder, error)) from error
    old = [
        path for entries in kinds.values() for _time, _moment, path in sorted(entries)[: max(0, len(entries) - kept)]
    ]
    for path in [] if check else old:
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise NodeError(f"{path} can't be deleted: {error.strerror}.", "Delete it by hand.") from error
    return sorted(old)


__all__ = ["FOLDER", "prune"]
