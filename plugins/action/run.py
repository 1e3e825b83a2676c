# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and end of a run: lock, manifest, copy, summary."""

from __future__ import annotations

import contextlib
import hashlib
import os
import typing as t

from ansible import constants as C

from ..module_utils.common import settings
from ..module_utils.common.redact import redact
from ..module_utils.common.violations import ManifestError
from ..plugin_utils.calls import role_variables
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.decision import terms
from ..plugin_utils.move import export
from ..plugin_utils.operator import flow
from ..plugin_utils.progress import channel, kept_error
from ..plugin_utils.reconcile import plan_and_reconcile, run_outcomes
from ..plugin_utils.reconcile.applying import MANIFEST_SPEC, ApplyingAction
from ..plugin_utils.reconcile.metrics import files
from ..plugin_utils.records.journal_entries import steps_of
from ..plugin_utils.store import lasting, opening
from ..plugin_utils.store.base import StoreError
from ..plugin_utils.store.lock import file_lock, marks

SHOWN_STEPS = 6


class ActionModule(ApplyingAction):
    """Action plugin of the module kubeadm.control_plane.run; see its documentation."""

    # What a run starts and ends with says at once where the API can't be reached.
    PATIENCE_SECONDS = 0.0
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "playbook": {"type": "str", "default": "reconcile"},
        "entry_point": {"type": "str", "default": ""},
        "skip_if_held": {"type": "bool", "default": False},
        "use_export": {"type": "bool", "default": False},
        "batch": {"type": "list", "elements": "str", "default": []},
        "failed_hosts": {"type": "list", "elements": "str", "default": []},
        "cluster_state": {"type": "str", "choices": ["present", "absent"]},
        "deployment": {"type": "str", "default": ""},
        **MANIFEST_SPEC,
        "started": {"type": "dict", "default": {}},
        "error": {"type": "str", "default": ""},
        "decision": {"type": "dict", "default": {}},
        "action_step": {"type": "dict"},
        "hosts": {"type": "list", "elements": "str", "default": []},
        "settled": {"type": "int", "default": 0},
        "metrics_directory": {"type": "path", "default": ""},
        "backup_directory": {"type": "path", "default": ""},
    }

    def ends(self, arguments: t.Mapping[str, t.Any]) -> bool:
        """Return whether the run is ended."""
        return arguments["state"] == "absent"

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Start the run, or end it.

        The helper process that renews the lock lives as long as the run.
        """
        return self._end(arguments) if self.ends(arguments) else self._start(arguments)

    def _start(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        self.display.send("run")
        self._refuse_role_arguments(arguments["entry_point"])
        earlier = sorted({*arguments["failed_hosts"]} - {*arguments["batch"]})
        if earlier:
            said = f"not reached, as a cluster of an earlier batch failed: {', '.join(earlier)}"
            self.progress(arguments["cluster"], said)
            return {**_not_begun(arguments), "msg": said}
        if opening.export_directory(arguments["store"]) and self.ciphers()[0] is None:
            # Said before anything is done, not after the first step.
            raise ControlPlaneFailure(export.PASSWORD_MISSING)
        if arguments["plan"] is not None:
            # What is no plan of this cluster is refused before anything is locked.
            plan_and_reconcile.followed(arguments, self.host_of(arguments["cluster"]), self.open_store(arguments))
        if self.check_mode:
            self.refuse_beforehand(arguments)
            started = {**_not_begun(arguments), "begun": True}
        else:
            started = self._take_lock(arguments)
        if arguments["cluster_state"] is None or not started["begun"]:
            return started
        self.PATIENCE_SECONDS = settings.STORE_PATIENCE_SECONDS
        under_lock = {
            **arguments,
            "state": arguments["cluster_state"],
            "infrastructure_deleted": False,
            "fencing": started["fencing"],
        }
        try:
            return {**started, **self.apply(under_lock)}
        except (ControlPlaneFailure, ManifestError, StoreError) as error:
            # The end of the run needs what its start returned.
            raise ControlPlaneFailure(str(error), **{**started, **getattr(error, "result", {})}) from error

    def _take_lock(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        store = self.open_store(arguments)
        del store  # opening it tells options that contradict each other, and a password that is missing
        lasting.require(arguments["store"])
        opening.refuse_others(arguments["store"], self.PATIENCE_SECONDS)
        purpose = marks.USE_EXPORT if arguments["use_export"] else marks.WORK
        try:
            lease = self.open_locks(arguments).acquire(
                arguments["namespace"],
                arguments["cluster"],
                on_wait=lambda text: self.progress(arguments["cluster"], text),
                purpose=purpose,
            )
        except file_lock.Held as held:
            if not arguments["skip_if_held"]:
                raise
            said = f"{held.what}, so nothing is done here: {held.holder.text()}"
            self.progress(arguments["cluster"], said)
            return {**_not_begun(arguments), "held_by": held.holder.text(), "msg": said}
        note = lasting.journal_note(arguments["store"])
        if note:
            self.progress(arguments["cluster"], note)
        return {**_not_begun(arguments), "begun": True, "fencing": lease.fencing, "run": lease.run}

    def _refuse_role_arguments(self, entry_point: str) -> None:
        """Fail where the role's variables break its argument specification.

        Here rather than in a task of its own, which every run would pay for.
        """
        if not entry_point:
            return
        problems = role_variables.argument_problems(self._templar, self._task_vars, entry_point)
        if problems:
            raise ControlPlaneFailure("\n".join(["Validation of arguments failed:", *problems]))

    def _end(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        started = arguments["started"]
        if arguments["decision"].get("run", "") != started.get("run", ""):
            # An earlier run of the same play decided that.
            arguments = {**arguments, "decision": {}}
        problem = self._keep_copy(arguments) if started.get("begun") else None
        told = {**arguments, "error": arguments["error"] or str(problem or "")}
        reached = bool(told["error"] or started.get("begun") or started.get("held_by"))
        outcome = self._outcome(told) if reached else {}
        if started.get("run") and not self.check_mode:
            self._note_end(told, outcome)
        released = False
        if not self.check_mode:
            released = self.open_locks(arguments).release_own(arguments["namespace"], arguments["cluster"])
        result: dict[str, t.Any] = {"changed": False, "released": released}
        if not reached:
            return result
        if arguments["metrics_directory"] and not self.check_mode:
            self._write_metrics(told, outcome["result"])
        outcomes = {self.host_of(arguments["cluster"]): outcome}
        if len(arguments["hosts"]) + arguments["settled"] > 1:
            summed_up, more = self._sum_up(told, outcome)
            result.update(summed_up)
            outcomes.update(more)
        elif channel.is_open():
            self._send_verdict(told, outcome)
        if problem is not None and not arguments["error"]:
            raise problem
        return {**result, "ansible_stats": run_outcomes.statistics(outcomes)}

    def _keep_copy(self, arguments: dict[str, t.Any]) -> t.Optional[Exception]:
        """Update the exported copy; return why that failed.

        The lock is released all the same.
        """
        if self.check_mode:
            return None
        try:
            export.keep_copy(self, arguments)
        except (ControlPlaneFailure, StoreError) as error:
            return error
        return None

    def _note_end(self, arguments: dict[str, t.Any], outcome: run_outcomes.Outcome) -> None:
        """Record how the run ended, where the journal has something of it."""
        run = str(arguments["started"]["run"])
        # For people alone.
        with contextlib.suppress(StoreError):
            journal = self.journal(arguments)
            if arguments["error"] or any(each.get("run") == run for each in journal.entries()):
                details = {"playbook": arguments["playbook"], "result": outcome["result"]}
                journal.fact("end", run, outcome["message"], details=details)

    def _send_verdict(self, arguments: dict[str, t.Any], outcome: run_outcomes.Outcome) -> None:
        """Send the verdict on one cluster, as a summary says of several."""
        if not arguments["error"]:
            # A deletion's last step has no pass after it.
            self.display.send("done", result="succeeded")
        decision = {} if _of_an_action(arguments) else arguments["decision"]
        # Where the last decision was a step, as the last one of a deletion, that step's line has said it.
        said = "" if arguments["error"] or decision.get("act") else _plain(str(decision.get("msg") or ""))
        if outcome["result"] == run_outcomes.HELD:
            said = outcome["message"]
        # Of an Action, a backup and the like the lines above say what came of them.
        result = outcome["result"] if said or decision or arguments["error"] else ""
        self.display.send("verdict", result=result, message=said)

    def _write_metrics(self, arguments: dict[str, t.Any], result: str) -> None:
        """Write the cluster's metrics; what they are for fails no run."""
        try:
            files.write_end(self, arguments["metrics_directory"], arguments, arguments["playbook"], result)
        except (ControlPlaneFailure, ManifestError, StoreError) as error:
            self.display.warning(str(error))

    def _sum_up(
        self, arguments: dict[str, t.Any], outcome: run_outcomes.Outcome
    ) -> tuple[dict[str, t.Any], dict[str, run_outcomes.Outcome]]:
        """Note the cluster's outcome; show the summary after the last cluster.

        Returns:
            What is added to the task's result, and the outcomes of clusters that this one's failure kept from being reached.
        """
        host = self.host_of(arguments["cluster"])
        hosts = sorted({*map(str, arguments["hosts"]), host})
        key = "\0".join([str(self._task_vars.get("ansible_play_name") or ""), arguments["playbook"], *hosts])
        folder = os.path.join(C.DEFAULT_LOCAL_TMP, "kubeadm-outcomes", hashlib.sha256(key.encode()).hexdigest()[:16])
        result: dict[str, t.Any] = {"result": outcome["result"]}
        try:
            batch = arguments["batch"] or arguments["started"].get("batch")
            found = run_outcomes.Outcomes(folder, hosts).note(host, outcome, {*map(str, batch), host} if batch else ())
        except (OSError, StoreError) as error:
            # What is for people only fails nothing.
            self.display.warning(f"the summary of this run can't be made: {error}")
            return result, {}
        if found is None:
            return result, {}
        settled = arguments["settled"]
        self.display.display("\n" + run_outcomes.summary_text(arguments["playbook"], found, settled) + "\n")
        result["summary"] = run_outcomes.counts(found, settled)
        return result, {each: one for each, one in found.items() if one["result"] == run_outcomes.NOT_REACHED}

    def _outcome(self, arguments: dict[str, t.Any]) -> run_outcomes.Outcome:
        steps = self._steps(arguments)
        result, message = self._result_of(arguments, steps)
        return {"result": result, "message": message, "steps": len(steps)}

    def _result_of(self, arguments: dict[str, t.Any], steps: t.Sequence[str]) -> tuple[str, str]:
        """Return a cluster's result and message."""
        decision, started = arguments["decision"], arguments["started"]
        said = str(decision.get("msg") or "")
        if arguments["error"]:
            return run_outcomes.FAILED, kept_error.headline(redact(arguments["error"]))
        if started.get("held_by"):
            return run_outcomes.HELD, str(started["held_by"])
        if _of_an_action(arguments):
            return _result_of_action(arguments["action_step"], steps)
        if self.check_mode and decision.get("changed"):
            return run_outcomes.WOULD_CHANGE, said
        taken = f"{len(steps)} {'step' if len(steps) == 1 else 'steps'}: {_listed(steps)}" if steps else ""
        decided = decision.get("decision") or {}
        paused = any(each.get("reason") == "Paused" for each in decided.get("reasons") or [])
        # A run itself waits for what changes by itself; check mode only tells it.
        if paused or decided.get("action") in (terms.POSTPONED, terms.WAIT):
            return run_outcomes.WAITS, f"{taken}; {said}" if taken else said
        return (run_outcomes.CHANGED, taken) if steps else (run_outcomes.NOTHING, said)

    def _steps(self, arguments: dict[str, t.Any]) -> list[str]:
        """Return the steps that this run took, from the journal."""
        run = str(arguments["started"].get("run") or "")
        try:
            mine = steps_of(self.journal(arguments), run) if run else []
        except StoreError:
            return []
        return [" ".join(str(each[key]) for key in ("action", "target") if each.get(key)) for each in mine]


def _not_begun(arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {"changed": False, "begun": False, "fencing": 0, "run": "", "held_by": "", "batch": arguments["batch"]}


def _of_an_action(arguments: t.Mapping[str, t.Any]) -> bool:
    return arguments["action_step"] is not None


def _result_of_action(step: t.Mapping[str, t.Any], steps: t.Sequence[str]) -> tuple[str, str]:
    """Return the result and message of an Action.

    Its Tasks are the run's steps.
    """
    said = kept_error.headline(redact(str(step.get("msg") or "")))
    if step.get("fails"):
        return run_outcomes.FAILED, said
    kind = step.get("step")
    if kind == flow.WOULD:
        return run_outcomes.WOULD_CHANGE, said
    if kind == flow.ABORTED:
        return run_outcomes.CHANGED, said
    # What fails a run only waits in check mode, which fails nothing.
    if kind in (flow.PAUSED, flow.APPROVAL, flow.FAILED, flow.INCONSISTENT):
        return run_outcomes.WAITS, said
    return run_outcomes.CHANGED if steps else run_outcomes.NOTHING, said


def _plain(said: str) -> str:
    """Return a decision's text without the words that the verdict begins with."""
    return said.removeprefix("nothing to do").removeprefix(": ")


def _listed(steps: t.Sequence[str]) -> str:
    more = len(steps) - SHOWN_STEPS
    return ", ".join(steps[:SHOWN_STEPS]) + (f" and {more} more" if more > 0 else "")
