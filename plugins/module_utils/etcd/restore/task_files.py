# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a restore and a recovery of etcd.

Apart from their code, so that a reset finds all of it and a claim loads no gateway.
"""

from __future__ import annotations

import os

RESTORE_FOLDER, RECOVERY_FOLDER = "etcd-restore", "recover-single-voter"


def restore_record(state: str) -> str:
    """Return the path of the restore's record."""
    return os.path.join(state, "etcd-restore.json")


def recovery_record(state: str) -> str:
    """Return the path of the recovery's record."""
    return os.path.join(state, "recover-single-voter.json")


def present(state: str) -> list[str]:
    """Return the folders and records that are there.

    In the order in which they can be deleted. The folders hold copies of etcd's data and manifests; they come first, as a record tells what is in them.
    """
    found = [os.path.join(state, name) for name in (RESTORE_FOLDER, RECOVERY_FOLDER)]
    found += [restore_record(state), recovery_record(state)]
    return [path for path in found if os.path.lexists(path)]
