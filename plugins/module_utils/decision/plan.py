# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: decide, predict what follows, decide again, until nothing is left (DESIGN.md idea 3: the same function run forward)."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.predict import predict

__all__ = ["plan", "predict"]

Object = dict[str, Any]


def plan(snapshot: Object, limit: int = names.PLAN_LIMIT) -> list[Object]:
    """The ordered steps from a snapshot on, each a decision with its number as `step`.

    The last one is what it ends with: none, or what it is blocked on or waits for. A plan never has more than `limit` steps;
    one that would is cut off with a step that is blocked by PlanTooLong, which means a fault of this code.
    """
    steps: list[Object] = []
    current = snapshot
    while len(steps) < limit:
        decision = decide(current)
        steps.append({"step": len(steps) + 1, **decision})
        if decision["action"] in names.ENDINGS:
            return steps
        current = predict(current, decision)
    text = f"the plan has not come to an end after {limit} steps"
    fault = {
        "reason": "PlanTooLong",
        "message": text,
        "fix": "Report this with the snapshot: it is a fault of this collection.",
    }
    steps[-1] = {
        **steps[-1],
        "action": names.BLOCKED,
        "target": None,
        "reasons": [{"reason": "PlanTooLong", "message": text}],
        "blockedOn": [fault],
    }
    return steps
