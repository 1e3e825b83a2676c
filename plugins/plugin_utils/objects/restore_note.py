# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Note of a restore of etcd, an annotation of the KubeadmControlPlane.

The restore that was started, or the last one that was done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.common.bounded_yaml import read_json
from ...module_utils.common.values import format_time, parse_time
from . import kinds

ANNOTATION = kinds.ANNOTATION_PREFIX + "etcd-restore"
BEGUN, DONE = "Begun", "Done"
NEWEST = "newestMachine"


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


def newest(machines: Iterable[Mapping[str, Any]]) -> str:
    """Return the creation time of the newest Machine.

    The note of a restore that is done has it: by the store's clock, as that of each Machine to come. The machine on which etcd was restored may have
    another clock.
    """
    return format_time(
        max((parse_time(each["metadata"].get("creationTimestamp")) or 0 for each in machines), default=0)
    )


def covers(control_plane: Mapping[str, Any], created: int) -> bool:
    """Return whether etcd may have been restored after a Machine was made.

    True also where a restore is not done, or its note can't be read.
    """
    try:
        note = read(control_plane)
    except ValueError:
        return True
    until = parse_time(note.get(NEWEST))
    return bool(note) and (until is None or created <= until)
