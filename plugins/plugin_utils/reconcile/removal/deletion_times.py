# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of a Machine's deletion, and their starts.

Source: docs/removing_a_machine.md, "How long it waits".
"""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import utc_time
from ...records.cluster_objects import Object


def bound(machine: Object, key: str, default: int) -> int:
    """Return the seconds of a field of a Machine's spec.deletion."""
    value = (machine.get("spec") or {}).get("deletion", {}).get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def begun(machine: Object) -> dict[str, str]:
    """Return the times in a Machine's status.deletion.

    One from before its mark of deletion is of an earlier mark, which the user took back or a move left behind: it ends no bound of this one.
    """
    recorded, marked = (machine.get("status") or {}).get("deletion"), _marked(machine)
    told = {str(field): utc_time(each) for field, each in recorded.items()} if isinstance(recorded, dict) else {}
    return {field: each for field, each in told.items() if each and each >= marked}


def not_before_deletion(machine: Object, told: t.Any) -> str:
    """Return a start that a node told, "" for no time.

    A clock that is behind must not end the bound on the other machines before it has begun there. One that is ahead does no harm:
    each counts from its own record where that is earlier.
    """
    start = utc_time(told) or ""
    return max(start, _marked(machine)) if start else ""


def _marked(machine: Object) -> str:
    return utc_time(machine["metadata"].get("deletionTimestamp")) or ""
