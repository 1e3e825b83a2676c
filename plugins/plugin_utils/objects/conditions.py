# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of Cluster API v1beta2: a list of {type, status, reason, message, lastTransitionTime}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.common.legible import visible

TRUE = "True"
FALSE = "False"
UNKNOWN = "Unknown"
STATUSES = (TRUE, FALSE, UNKNOWN)


def get_condition(obj: Mapping[str, Any], condition_type: str) -> dict[str, Any] | None:
    """The condition of that type in the object's status, or None."""
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition.get("type") == condition_type:
            found: dict[str, Any] = condition
            return found
    return None


def is_true(obj: Mapping[str, Any], condition_type: str) -> bool:
    """Whether the condition exists and is True; missing and Unknown are not."""
    return (get_condition(obj, condition_type) or {}).get("status") == TRUE


def condition(condition_type: str, status: str, reason: str, message: str = "") -> dict[str, str]:
    """A condition without a time, as decisions produce them; set_condition gives it one. ValueError for a status that is none."""
    if status not in STATUSES:
        raise ValueError(f"condition {condition_type}: status {status!r} is not one of {', '.join(STATUSES)}")
    return {"type": condition_type, "status": status, "reason": reason, "message": visible(message)}


def set_condition(obj: dict[str, Any], condition_type: str, status: str, reason: str, message: str, now: str) -> bool:
    """Set one condition in the object's status, in place, and tell whether anything changed.

    lastTransitionTime becomes `now` (RFC 3339) only when the status differs from before; another reason or message keeps it, since
    durations are counted from it. observedGeneration is the object's, as Cluster API's setter has it: `kubectl wait` doesn't take what was
    said of an older spec for an answer. Conditions stay sorted by type. ValueError for a status that is none.
    """
    desired: dict[str, Any] = {**condition(condition_type, status, reason, message)}
    generation = (obj.get("metadata") or {}).get("generation")
    if isinstance(generation, int):
        desired["observedGeneration"] = generation
    holder = obj.setdefault("status", {})
    existing: list[dict[str, Any]] = holder.get("conditions") or []
    before = next((entry for entry in existing if entry.get("type") == condition_type), None)
    since = now
    if before is not None and before.get("status") == status and before.get("lastTransitionTime"):
        since = str(before["lastTransitionTime"])
    after = {**desired, "lastTransitionTime": since}
    if before == after:
        return False
    others = [entry for entry in existing if entry.get("type") != condition_type]
    holder["conditions"] = sorted([*others, after], key=lambda entry: str(entry.get("type")))
    return True


def remove_condition(obj: dict[str, Any], condition_type: str) -> bool:
    """Remove the condition of that type from the object's status, in place, and tell whether it was there."""
    holder = obj.get("status") or {}
    existing = holder.get("conditions") or []
    kept = [entry for entry in existing if entry.get("type") != condition_type]
    if len(kept) == len(existing):
        return False
    holder["conditions"] = kept
    return True
