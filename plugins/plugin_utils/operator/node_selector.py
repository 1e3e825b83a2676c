# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label selectors that select Nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..objects.actions import FieldError

# kubeadm calls it master up to 1.19, both from 1.20 to 1.23, control-plane since: either name means both.
# Source: docs/reference/kubeadm.md, "Labels and taints".
ROLE_LABELS = ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def errors(selector: Any, path: str) -> list[FieldError]:
    """Return the errors in a selector."""
    if not isinstance(selector, Mapping):
        return [FieldError(path, None, "must be a mapping", "Write matchLabels: {...} in it; {} selects every Node.")]
    found = [
        FieldError(f"{path}.{key}", None, "a selector has matchLabels and matchExpressions", "Correct its name.")
        for key in sorted(set(selector) - {"matchLabels", "matchExpressions"})
    ]
    labels = selector.get("matchLabels") or {}
    if not isinstance(labels, Mapping) or not all(isinstance(each, str) for each in labels.values()):
        found.append(FieldError(f"{path}.matchLabels", None, "must be a mapping of texts", "Quote numbers."))
    expressions = selector.get("matchExpressions", [])
    if not isinstance(expressions, list):
        return [*found, FieldError(f"{path}.matchExpressions", None, "must be a list", "Correct it.")]
    for index, each in enumerate(expressions):
        where = f"{path}.matchExpressions[{index}]"
        if not isinstance(each, Mapping) or not isinstance(each.get("key"), str):
            found.append(FieldError(where, None, "must have a key", "Name the label."))
        elif each.get("operator") not in _OPERATORS:
            rule = f"must be one of {', '.join(_OPERATORS)}"
            found.append(FieldError(f"{where}.operator", each.get("operator"), rule, "Correct it."))
        elif (each["operator"] in ("In", "NotIn")) != bool(each.get("values")):
            rule = "In and NotIn have values, Exists and DoesNotExist have none"
            found.append(FieldError(f"{where}.values", None, rule, "Correct it."))
    return found


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a selector matches a Node's labels.

    An empty selector matches every Node.
    """
    wanted = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted((selector.get("matchLabels") or {}).items())
    ]
    return all(_holds(each, labels) for each in [*wanted, *(selector.get("matchExpressions") or [])])


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = str(expression["key"]), expression["operator"]
    values = [labels[each] for each in (ROLE_LABELS if key in ROLE_LABELS else (key,)) if each in labels]
    if operator == "Exists":
        return bool(values)
    if operator == "DoesNotExist":
        return not values
    given = set(expression.get("values") or [])
    return bool(given & set(values)) if operator == "In" else not given & set(values)
