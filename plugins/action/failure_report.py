# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report of a failed run: open step, safety, and remedy."""

from __future__ import annotations

import contextlib
import typing as t

from ..module_utils.common.legible import block, lines
from ..module_utils.common.redact import redact
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.decision import terms
from ..plugin_utils.objects import advice
from ..plugin_utils.progress import kept_error
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.records.journal_entries import changes_of, close_intents, open_intents_of
from ..plugin_utils.records.status import decision_events
from ..plugin_utils.store.base import StoreError

# What each step can leave behind, so that a tired person needn't guess (docs/architecture.md, "whether it is safe now").
SAFETY = {
    "createInfrastructure": "No cluster existed yet, so none was touched.",
    "createCertificates": "No machine was touched. Certificates that were made are kept and are not made again.",
    "initialize": "There was no running control plane before this step; nothing that existed was changed.",
    "join": (
        "The machines that were members before are as they were. What was started on the new machine continues there or has finished there; "
        "the next run finds it and never starts it twice."
    ),
    "restore": (
        "Data that was moved aside is kept. What was started on the machine continues there, or was put back as it was; "
        "run restore again with the same consent."
    ),
    "remove": "A member leaves etcd only after the quorum check in the same call; the remaining machines were not changed.",
    "deleteMachines": "The cluster is being deleted; what is left of it is found and deleted by the next run.",
    "task": (
        "The Task's record has every command that came to its end. A program that was started continues on its node; the next run finds it and "
        "never starts it twice."
    ),
    "deleteInfrastructure": "The machines are gone; what is left of the cluster is found and deleted by the next run.",
}
NOTHING = "Yes: no step was under way, and this run had not begun to change anything."
KEPT = "Yes: no step was under way. What this run has changed is kept, and the next run continues from it."
_SHOWN = 12


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.failure_report; see its documentation."""

    ENDS = True
    # What failed may be the API.
    PATIENCE_SECONDS = 0.0
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "error": {"type": "str", "required": True},
        "output": {"type": "str", "default": ""},
        "task": {"type": "str", "default": ""},
        "run": {"type": "str", "default": ""},
        "playbook": {"type": "str", "default": "reconcile"},
        "hidden": {"type": "bool", "default": False},
        "fail": {"type": "bool", "default": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Close the journal's open step as failed, and show the report."""
        host = self.host_of(arguments["cluster"])
        error = kept_error.whole(host, arguments["error"], arguments["output"])
        if arguments["hidden"]:
            error = kept_error.KeptError(kept_error.HIDDEN)
        first, *more = lines(redact(error.message))
        first = first or "failed"
        under_way, safe, instead = "nothing", NOTHING, ""
        changes: list[str] = []
        intents: list[dict[str, t.Any]] = []
        try:
            journal = self.journal(arguments)
            intents = open_intents_of(journal, arguments["run"])
            changes = changes_of(journal, arguments["run"])
            safe = KEPT if changes else NOTHING
            if intents:
                last = intents[-1]
                target = f" of machine {last['target']}" if last.get("target") else ""
                under_way = f"{last['action']}{target}"
                safe = SAFETY.get(str(last["action"]), "The step's own message says what it left.")
                if not self.check_mode:
                    close_intents(journal, arguments["run"], "failed", first)
                    self._explain(arguments, last, first)
                instead = self._another(arguments) if last["action"] in (terms.INITIALIZE, terms.JOIN) else ""
        except StoreError as broken:
            # The store itself may be what failed; its own message is then the error that is shown.
            safe = f"The journal could not be read or written ({broken})."
        output = redact(error.output).strip()
        task = f" (task: {arguments['task']})" if arguments["task"] else ""
        todo = (
            "mend what the message names, then run the same playbook again "
            f"(kubeadm.control_plane.{arguments['playbook']}); it continues where this stopped. "
            "kubeadm.control_plane.status shows the cluster without changing it."
        )
        sent = self.display.send(
            "report",
            what="\n".join([first, *more]),
            step=under_way if intents else "",
            task=arguments["task"],
            why=output,
            changed=_listed(changes),
            safe=safe,
            todo=f"{todo}\n{instead}".strip(),
        )
        # Indented, so that no line of it passes for one of the report's own.
        report = [first, *(f"  {each}" for each in more)]
        if output:
            report += ["", "Last output:", *(f"  {each}" for each in lines(output))]
        report += [
            "",
            f"Under way:  {under_way}{task}",
            *([f"Changed:    {_listed(changes)}"] if changes else []),
            f"Safe now?   {safe}",
            f"What to do: {todo}",
            *([f"            {instead}"] if instead else []),
        ]
        told = block(report)
        if not arguments["fail"] and not sent:
            self.display.display(f"\n{host}: FAILED: {told}\n")
        headline = kept_error.sentence(kept_error.headline(told))
        return {"changed": False, "failed": arguments["fail"], "msg": told, "headline": headline}

    def _another(self, arguments: dict[str, t.Any]) -> str:
        """Return how to have another machine made where one can't be made.

        Each run resumes with the machine that was started, in its failure domain.
        """
        with contextlib.suppress(StoreError):
            objects = ClusterObjects.read(self.open_store(arguments), arguments["namespace"], arguments["cluster"])
            for machine in objects.machines if objects is not None else ():
                started = ((machine.get("status") or {}).get("bootstrap") or {}).get("state")
                if not started and not machine["metadata"].get("deletionTimestamp"):
                    name, domain = str(machine["metadata"]["name"]), machine["spec"].get("failureDomain")
                    where = f"is placed in the failure domain {domain}" if domain else "was begun"
                    return (
                        f"Machine {name} {where} and kubeadm was never started on it. If it can't be made, have another one made in its "
                        f"place, wherever there is room {advice.replace(name)}."
                    )
        return ""

    def _explain(self, arguments: dict[str, t.Any], intent: dict[str, t.Any], error: str) -> None:
        # Where the store is what failed there is nobody to explain it to.
        with contextlib.suppress(StoreError):
            objects = ClusterObjects.read(self.open_store(arguments), arguments["namespace"], arguments["cluster"])
            if objects is not None:
                decision_events.record_failure(objects, intent, error)


def _listed(changes: t.Sequence[str]) -> str:
    more = len(changes) - _SHOWN
    # The newest are what the failure is about.
    return (f"({more} more, then) " if more > 0 else "") + "; ".join(changes[-_SHOWN:])
