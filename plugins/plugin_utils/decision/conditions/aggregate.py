# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One condition that sums up a condition of several machines.

Source: docs/reference/cluster_api.md, "Conditions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.common.values import condition_in
from .. import terms
from ..snapshot.typed_snapshot import MachineView
from .machine import condition

Object = dict[str, Any]


def aggregate(
    kind: str, source: str, machines: Sequence[MachineView], conditions: Mapping[str, list[Object]]
) -> Object:
    """Return a condition that sums up one condition of several machines."""
    if not machines:
        return condition(kind, terms.TRUE, "NoReplicas")
    texts: dict[str, list[str]] = {}
    worst = terms.TRUE
    for machine in machines:
        each = condition_in(conditions[machine.name], source)
        if each["status"] != terms.TRUE:
            worst = terms.FALSE if terms.FALSE in (worst, each["status"]) else terms.UNKNOWN
            # A one-line text reads the same in the bullets of both levels.
            texts.setdefault(each["message"].replace("\n* ", "; ").lstrip("* ") or each["reason"], []).append(
                machine.name
            )
    reason = {terms.TRUE: source, terms.FALSE: f"Not{source}"}.get(worst, f"{source}Unknown")
    return condition(kind, worst, reason, bullets(texts))


def bullets(texts: Mapping[str, Sequence[str]]) -> str:
    """Return a line per text, with the machines that it is about."""
    lines = []
    for text, owners in texts.items():
        first = ", ".join(sorted(owners)[:3]) + (f", ... ({len(owners) - 3} more)" if len(owners) > 3 else "")
        lines.append(f"* Machine{'s' if len(owners) > 1 else ''} {first}: {text}")
    return "\n".join(lines)
