# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label selector of an object (Kubernetes' metav1.LabelSelector)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common.violations import Report, child, item
from ...documents import names
from ...documents.schema import MapOf, Needed, Whole

SHAPE = Whole(
    {
        "matchLabels": MapOf("string"),
        "matchExpressions": [{"key": Needed("string"), "operator": Needed("string"), "values": ["string"]}],
    }
)
_VALUES_WANTED = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}


def is_empty(selector: Mapping[str, Any]) -> bool:
    """Return whether a selector asks for nothing."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def validate(selector: Mapping[str, Any], where: str, report: Report) -> None:
    """Check every rule for a selector at the path `where`."""
    key_fix = "Use [prefix/]name of letters, digits, '-', '_' and '.'."
    value_fix = "Use at most 63 letters, digits, '-', '_' and '.'."
    for key, value in (selector.get("matchLabels") or {}).items():
        path = child(f"{where}.matchLabels", key)
        if not names.is_qualified_name(key):
            report.add(path, None, f"{key!r} is not a valid label key", key_fix)
        if not names.is_label_value(value):
            report.add(path, value, "this is not a valid label value", value_fix)
    for index, entry in enumerate(selector.get("matchExpressions") or []):
        path = item(f"{where}.matchExpressions", index)
        key, operator, given = entry.get("key") or "", entry.get("operator"), entry.get("values") or []
        if not names.is_qualified_name(key):
            report.add(f"{path}.key", key, "this is not a valid label key", key_fix)
        wanted = _VALUES_WANTED.get(str(operator))
        if wanted is None:
            report.add(f"{path}.operator", operator, "there is no such operator", f"Use {', '.join(_VALUES_WANTED)}.")
        elif wanted != bool(given):
            rule = f"{operator} {'needs values' if wanted else 'takes no values'}"
            report.add(f"{path}.values", None, rule, "Add them." if wanted else "Remove them.")
        for number, value in enumerate(given):
            if not names.is_label_value(value):
                report.add(item(f"{path}.values", number), value, "this is not a valid label value", value_fix)


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a label selector selects these labels.

    Every part of it must hold, and an empty one selects nothing.
    """
    if is_empty(selector):
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(entry, labels) for entry in selector.get("matchExpressions") or [])


def _holds(entry: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, given = entry.get("key"), entry.get("operator"), entry.get("values") or []
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator == "In":
        return key in labels and labels[str(key)] in given
    # As in Kubernetes, an object without the label is not in the values either.
    return operator == "NotIn" and (key not in labels or labels[str(key)] not in given)
