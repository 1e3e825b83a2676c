# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluation of a cluster's MachineHealthChecks; marks machines to remediate, removes nothing."""

from __future__ import annotations

import difflib
import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.decision.remediation import unhealthy_machines
from ..plugin_utils.decision.remediation.health_marks import Evaluation
from ..plugin_utils.decision.snapshot.typed_snapshot import check_snapshot
from ..plugin_utils.objects.conditions import HEALTH_MARKS
from ..plugin_utils.observe.observation import observe
from ..plugin_utils.reconcile import plan_and_reconcile
from ..plugin_utils.records import stored_health_checks
from ..plugin_utils.records.cluster_objects import CLUSTER, MACHINE, ClusterObjects, Object
from ..plugin_utils.store.base import Store

NO_CHECKS = (
    "there is no MachineHealthCheck for this cluster, so no machine is checked; add one to the manifest and reconcile "
    "(docs/health_check.md)"
)


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.machine_health_check; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "remediate": {"type": "list", "elements": "str", "default": []},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Observe, evaluate and mark machines; return the finding of each."""
        store = self.open_store(arguments)
        namespace, name = arguments["namespace"], arguments["cluster"]
        if store.get(CLUSTER, namespace, name) is None:
            said = f"the store has no Cluster {namespace}/{name} yet: there is nothing to check"
            self.progress(name, said)
            return {"changed": False, "exists": False, "concerned": False, "msg": said, **_nothing()}
        objects = self.open_objects(arguments, store)
        own = self._named(store, objects, arguments["remediate"])
        if arguments["remediate"] and not own:
            said = (
                f"none of the named machines ({', '.join(arguments['remediate'])}) is this cluster's: it is left alone"
            )
            self.progress(name, said)
            return {"changed": False, "exists": True, "concerned": False, "msg": said, **_nothing()}
        annotated = stored_health_checks.annotate(objects, own)
        for each in annotated:
            self.progress(name, f"machine {each} {'would be' if self.check_mode else 'is'} marked: remediate it")
            self.note(f"mark machine {each} for remediation")
        snapshot = observe(objects, self.machine_caller(arguments, objects), now_rfc3339())
        plan_and_reconcile.refuse_contradictions(check_snapshot(snapshot))
        before = _marks_of(objects)
        evaluation = stored_health_checks.check_health(objects, snapshot)
        after = _marks_of(objects)
        for each in sorted(before):
            if before[each] != after.get(each):
                self.note(f"record the health of machine {each}")
        lines = _lines(evaluation, self.check_mode)
        for line in lines:
            self.progress(name, line)
        verdicts = [each.document() for _name, each in sorted(evaluation.verdicts.items())]
        return {
            "changed": bool(annotated) or before != after,
            "exists": True,
            "concerned": True,
            "msg": "; ".join(lines),
            "machines": verdicts,
            "unhealthy": [each for each in verdicts if each["state"] == unhealthy_machines.UNHEALTHY],
            "health_checks": [_shown(each) for each in evaluation.results],
        }

    @staticmethod
    def _named(store: Store, objects: ClusterObjects, wanted: t.Sequence[str]) -> list[str]:
        """Return the named machines that are this cluster's.

        Names that no machine of its namespace has are an error.
        """
        own = {str(each["metadata"]["name"]) for each in [*objects.machines, *objects.workers]}
        strange = [name for name in dict.fromkeys(wanted) if name not in own]
        if strange:
            everywhere = {str(each["metadata"]["name"]) for each in store.list(MACHINE, objects.namespace)}
            unknown = [name for name in strange if name not in everywhere]
            if unknown:
                near = difflib.get_close_matches(unknown[0], sorted(own), 1, 0.6)
                raise ControlPlaneFailure(
                    f"there is no machine {', '.join(unknown)}; nothing was marked. {objects.title} has: "
                    f"{', '.join(sorted(own)) or 'no machine'}." + (f" Did you mean {near[0]}?" if near else "")
                )
        return [name for name in dict.fromkeys(wanted) if name in own]


def _nothing() -> dict[str, t.Any]:
    return {"machines": [], "unhealthy": [], "health_checks": []}


def _marks_of(objects: ClusterObjects) -> dict[str, Object]:
    return {str(each["metadata"]["name"]): _marks(each) for each in [*objects.machines, *objects.workers]}


def _marks(machine: Object) -> Object:
    """Return the conditions by which a machine is to be remediated."""
    listed = (machine.get("status") or {}).get("conditions") or []
    wanted = HEALTH_MARKS
    return {each["type"]: (each["status"], each.get("reason")) for each in listed if each["type"] in wanted}


def _lines(evaluation: Evaluation, check_mode: bool) -> list[str]:
    """Return one line for each unhealthy machine, else one with the result."""
    if not evaluation.results:
        return [NO_CHECKS]
    lines = []
    for name, verdict in sorted(evaluation.verdicts.items()):
        if verdict.finding.state == unhealthy_machines.HEALTHY:
            continue
        note = (
            verdict.note.replace("marked for", "would be marked for") if check_mode and verdict.marked else verdict.note
        )
        said = f"machine {name} is {_WORDS[verdict.finding.state]}: {verdict.finding.message}"
        lines.append(said + (f"; {note}" if note else "") + f" (MachineHealthCheck {', '.join(verdict.checks)})")
    for result in evaluation.results:
        if not result.findings:
            lines.append(f"MachineHealthCheck {result.name} selects no machine of this cluster")
        lines += [
            f"machine {name} is not checked: it has the annotation {annotation} (MachineHealthCheck {result.name})"
            for name, annotation in sorted(result.skipped.items())
        ]
    healthy = sum(1 for each in evaluation.verdicts.values() if each.finding.state == unhealthy_machines.HEALTHY)
    return [*lines, f"{healthy} of {len(evaluation.verdicts)} checked machines are healthy"]


_WORDS = {
    unhealthy_machines.UNHEALTHY: "unhealthy",
    unhealthy_machines.PENDING: "not healthy, but not yet for long enough",
    unhealthy_machines.UNKNOWN: "not evaluated",
    unhealthy_machines.DELETING: "not evaluated",
}


def _shown(result: unhealthy_machines.Result) -> Object:
    status = result.status
    return {
        "name": result.name,
        "allowed": result.allowed,
        "message": result.message,
        "expected": status.get("expectedMachines"),
        "healthy": status.get("currentHealthy"),
        "skipped": sorted(result.skipped),
    }
