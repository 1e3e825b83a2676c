# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Note of a restore of etcd, an annotation of the KubeadmControlPlane.

The restore that was started, or the last one that was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.common.bounded_yaml import read_json
from . import kinds

ANNOTATION = kinds.ANNOTATION_PREFIX + "etcd-restore"
BEGUN, DONE = "Begun", "Done"


def read(control_plane: Mapping[str, Any]) -> dict[str, Any]:
    """Return the note, {} where there is none.

    Raises:
        ValueError: it can't be read.
    """
    text = (control_plane["metadata"].get("annotations") or {}).get(ANNOTATION)
    found = read_json(text) if text else {}
    return found if isinstance(found, dict) else {}


def started(control_plane: Mapping[str, Any]) -> dict[str, Any]:
    """Return the note of a restore that is not done, else {}.

    {} also where it can't be read, which the playbook restore reports.
    """
    try:
        note = read(control_plane)
    except ValueError:
        return {}
    return note if note.get("state") == BEGUN else {}
