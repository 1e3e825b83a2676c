# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completion of objects whose creation was interrupted.

An API server takes a new object without its status, which is a request of its own: a run that is killed in between leaves an object without one.
"""

from __future__ import annotations

import copy
import typing as t

from .base import Object, Store, kind_ref_of


def complete_status(store: Store, stored: Object, desired: Object) -> t.Optional[Object]:
    """Give a stored object what its status lacks of the desired one's.

    What it has stays as it is. Returns the object as stored then, or None where nothing was lacking.
    """
    wanted = desired.get("status") or {}
    if not _fill(copy.deepcopy(stored.get("status") or {}), wanted):
        return None
    metadata = stored["metadata"]

    def fill(found: Object) -> None:
        found["status"] = found.get("status") or {}
        _fill(found["status"], wanted)

    return store.modify(kind_ref_of(stored), str(metadata["namespace"]), str(metadata["name"]), fill)


def _fill(status: Object, wanted: Object) -> bool:
    """Set in place what a status lacks; return whether it did."""
    changed = False
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(status.get(key), dict):
            changed = _fill(status[key], value) or changed
        elif value and not status.get(key):
            status[key] = copy.deepcopy(value)
            changed = True
    return changed
