# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Summary of a play's outcomes, noted cluster by cluster.

It is shown after the play's last cluster.
"""

from __future__ import annotations

import hashlib
import os
import typing as t

from ansible import constants as C

from ..module_utils.common.redact import redact
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.decision import names
from ..plugin_utils.reconcile import run_outcomes
from ..plugin_utils.records.journal_entries import steps_of
from ..plugin_utils.store.base import StoreError

SHOWN_STEPS = 6


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.run_summary; see its documentation."""

    ENDS = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "playbook": {"type": "str", "default": "reconcile"},
        "hosts": {"type": "list", "elements": "str", "required": True},
        "error": {"type": "str", "default": ""},
        "held_by": {"type": "str", "default": ""},
        "run": {"type": "str", "default": ""},
        "decision": {"type": "dict", "default": {}},
        "ends": {"type": "bool", "default": False},
        "batch": {"type": "list", "elements": "str", "default": []},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Note the outcome; show the summary after the last cluster."""
        host = str(self._task_vars.get("inventory_hostname") or arguments["cluster"])
        outcome = self._outcome(arguments)
        hosts = sorted({*map(str, arguments["hosts"]), host})
        key = "\0".join([str(self._task_vars.get("ansible_play_name") or ""), arguments["playbook"], *hosts])
        folder = os.path.join(C.DEFAULT_LOCAL_TMP, "kubeadm-outcomes", hashlib.sha256(key.encode()).hexdigest()[:16])
        result: dict[str, t.Any] = {"changed": False, "result": outcome["result"]}
        try:
            batch = {*map(str, arguments["batch"]), host} if arguments["ends"] else set()
            found = run_outcomes.Outcomes(folder, hosts).note(host, outcome, batch)
        except (OSError, StoreError) as error:
            # What is for people only fails nothing.
            self.display.warning(f"the summary of this run can't be made: {error}")
            return result
        if found is not None:
            self.display.display("\n" + run_outcomes.summary_text(arguments["playbook"], found) + "\n")
            result["summary"] = run_outcomes.counts(found)
        return result

    def _outcome(self, arguments: dict[str, t.Any]) -> run_outcomes.Outcome:
        decision = arguments["decision"]
        said = str(decision.get("msg") or "")
        if arguments["error"]:
            return {"result": run_outcomes.FAILED, "message": _first(redact(arguments["error"]))}
        if arguments["held_by"]:
            return {"result": run_outcomes.HELD, "message": arguments["held_by"]}
        if self.check_mode and decision.get("changed"):
            return {"result": run_outcomes.WOULD_CHANGE, "message": said}
        steps = self._steps(arguments)
        taken = f"{len(steps)} {'step' if len(steps) == 1 else 'steps'}: {_listed(steps)}" if steps else ""
        decided = decision.get("decision") or {}
        paused = any(each.get("reason") == "Paused" for each in decided.get("reasons") or [])
        # A run itself waits for what changes by itself; check mode only tells it.
        if paused or decided.get("action") in (names.POSTPONED, names.WAIT):
            return {"result": run_outcomes.WAITS, "message": f"{taken}; {said}" if taken else said}
        if steps:
            return {"result": run_outcomes.CHANGED, "message": taken}
        return {"result": run_outcomes.NOTHING, "message": said}

    def _steps(self, arguments: dict[str, t.Any]) -> list[str]:
        """Return the steps that this run took, from the journal."""
        try:
            mine = steps_of(self.journal(arguments), arguments["run"])
        except StoreError:
            return []
        return [" ".join(str(each[key]) for key in ("action", "target") if each.get(key)) for each in mine]


def _first(error: str) -> str:
    """Return the first sentence of an error.

    Where that is the head of a list, the list's first entry is added.
    """
    lines = [line.strip() for line in error.splitlines() if line.strip()] or ["failed"]
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def _listed(steps: t.Sequence[str]) -> str:
    more = len(steps) - SHOWN_STEPS
    return ", ".join(steps[:SHOWN_STEPS]) + (f" and {more} more" if more > 0 else "")
