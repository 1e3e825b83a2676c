# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks for remediation on Machines, from health checks' findings. Pure.

Source: docs/reference/cluster_api.md, "Remediation".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ....module_utils.common.values import condition_in
from ...objects import kinds
from ...objects.conditions import HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, condition
from .. import terms
from ..snapshot.typed_snapshot import MachineView, View, annotations_of, condition_of, read_snapshot
from .retry import read_record
from .unhealthy_machines import (
    DELETING,
    HEALTHY,
    NOT_RESTORED,
    UNHEALTHY,
    Finding,
    Result,
    check,
    taken_out,
    watched,
    worst,
)

Object = dict[str, Any]
WAITING = "WaitingForRemediation"


@dataclass
class Marks:
    """Changes of one Machine's conditions.

    `set` are conditions to set, `remove` the types of conditions to remove.
    """

    set: list[Object] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    """Result of all health checks together for one machine.

    For people and for the task that registers it.
    """

    finding: Finding
    checks: tuple[str, ...]
    marked: bool
    note: str

    def document(self) -> Object:
        """Return the verdict as JSON types."""
        return {
            "machine": self.finding.machine,
            "state": self.finding.state,
            "reason": self.finding.reason,
            "message": self.finding.message,
            "marked": self.marked,
            "note": self.note,
            "healthChecks": list(self.checks),
        }


@dataclass
class Evaluation:
    """Evaluation of all MachineHealthChecks of a cluster.

    It has their results, and by machine name the verdicts and the marks.
    """

    results: list[Result]
    verdicts: dict[str, Verdict]
    marks: dict[str, Marks]


def evaluate(documents: Sequence[Object], snapshot: Object) -> Evaluation:
    """Evaluate MachineHealthChecks on a snapshot.

    The MachineHealthChecks are in the hub form, defaulted; the snapshot's Machines carry their current conditions.

    A machine is marked for remediation where a health check finds it unhealthy and that health check's limits allow it.
    A mark that no health check confirms any more, and that of a machine whose Node went with a restore, is removed, unless its remediation has started.
    Where no machine can be evaluated, marks stay.
    """
    view = read_snapshot(snapshot)
    results = [check(document, view) for document in sorted(documents, key=lambda each: str(each["metadata"]["name"]))]
    evaluation = Evaluation(results, {}, {})
    for machine in watched(view):
        found = worst(results, machine.name)
        marks = Marks()
        if found is None:
            _unmark(view, machine, marks)
        else:
            evaluation.verdicts[machine.name] = _verdict(view, machine, found, results, marks)
        if marks.set or marks.remove:
            evaluation.marks[machine.name] = marks
    return evaluation


def outlived(documents: Sequence[Object], snapshot: Object) -> dict[str, tuple[Marks, str]]:
    """Return marks to be taken back before a removal, and why.

    By machine; the arguments are those of `evaluate`. A machine is healthy again, the user has taken it out, or a restore of etcd took its Node away. Else
    what is not known is not healthy: such a mark stays. So does one that the user set, and one where only the limits or the health checks are others now: those
    are health_check's to take back.
    """
    evaluation = evaluate(documents, snapshot)
    found: dict[str, tuple[Marks, str]] = {}
    for machine in watched(read_snapshot(snapshot)):
        verdict, marks = evaluation.verdicts.get(machine.name), evaluation.marks.get(machine.name)
        asked = kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE)
        if marks is None or asked or not is_marked(machine):
            continue
        if annotation := taken_out(machine):
            found[machine.name] = marks, f"it has the annotation {annotation}"
        elif verdict is not None and verdict.finding.state == HEALTHY and _all_known(documents, verdict, machine):
            found[machine.name] = marks, f"it is healthy again (MachineHealthCheck {', '.join(verdict.checks)})"
        elif verdict is not None and verdict.finding.reason == NOT_RESTORED:
            found[machine.name] = marks, verdict.finding.message
    return found


def _all_known(documents: Sequence[Object], verdict: Verdict, machine: MachineView) -> bool:
    # A condition that is Unknown for a moment is not the status that is checked for either.
    listed = (machine.node or {}).get("conditions")
    covering = (each for each in documents if each["metadata"]["name"] in verdict.checks)
    for checks in ((each.get("spec") or {}).get("checks") or {} for each in covering):
        on_machine = (
            condition_of(machine.machine, each["type"]) for each in checks.get("unhealthyMachineConditions") or ()
        )
        on_node = (condition_in(listed, str(each["type"])) for each in checks.get("unhealthyNodeConditions") or ())
        if any(each.get("status") == terms.UNKNOWN for each in (*on_machine, *on_node)):
            return False
    return True


def _verdict(view: View, machine: MachineView, found: Finding, results: list[Result], marks: Marks) -> Verdict:
    sick = [each for each in results if machine.name in each.findings and each.findings[machine.name] == found]
    covering = tuple(each.name for each in results if machine.name in each.findings)
    if found.state == HEALTHY:
        _set(machine, condition(HEALTH_CHECK_SUCCEEDED, terms.TRUE, HEALTH_CHECK_SUCCEEDED), marks)
        return Verdict(found, covering, False, "")
    waits = condition_of(machine.machine, OWNER_REMEDIATED).get("status") == terms.FALSE
    if found.reason == NOT_RESTORED:
        # What was found before tells of the etcd of before.
        _unmark(view, machine, marks)
        return Verdict(found, covering, is_marked(machine) and not marks.remove, "")
    if found.state != UNHEALTHY:
        return Verdict(found, covering, is_marked(machine) and found.state != DELETING, "")
    _set(machine, condition(HEALTH_CHECK_SUCCEEDED, terms.FALSE, found.reason, found.message), marks)
    unhealthy = [each for each in results if _state(each, machine) == UNHEALTHY]
    if any(each.allowed for each in unhealthy):
        if not waits:
            marks.set.append(condition(OWNER_REMEDIATED, terms.FALSE, WAITING, "Waiting for remediation"))
        return Verdict(found, tuple(each.name for each in sick), True, "marked for remediation")
    checks = tuple(each.name for each in sick)
    if why := _stands(view, machine):
        return Verdict(found, checks, True, f"to be remediated, whatever the limits say: {why}")
    if waits:
        marks.remove.append(OWNER_REMEDIATED)
    refusal = next((each.message for each in unhealthy if each.message), "")
    return Verdict(found, checks, False, f"not marked: {refusal}")


def _state(result: Result, machine: MachineView) -> Optional[str]:
    found = result.findings.get(machine.name)
    return found.state if found is not None else None


def _set(machine: MachineView, wanted: Object, marks: Marks) -> None:
    stored = condition_of(machine.machine, wanted["type"])
    if any(stored.get(key, "") != wanted[key] for key in ("status", "reason", "message")):
        marks.set.append(wanted)


def _unmark(view: View, machine: MachineView, marks: Marks) -> None:
    """Remove a machine's marks where no health check evaluates it now.

    A mark that the user set, or whose remediation has started, stays.
    """
    if (
        view.paused
        or view.deleting
        or not condition_of(machine.machine, HEALTH_CHECK_SUCCEEDED)
        or _begun(view, machine)
    ):
        return
    marks.remove.append(HEALTH_CHECK_SUCCEEDED)
    waits = condition_of(machine.machine, OWNER_REMEDIATED).get("status") == terms.FALSE
    if waits and not _stands(view, machine):
        marks.remove.append(OWNER_REMEDIATED)


def _stands(view: View, machine: MachineView) -> str:
    """Return why a mark stays, whatever health checks find.

    "" where it does not.
    """
    if kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE):
        return "it has the annotation"
    return "its remediation has begun" if _begun(view, machine) else ""


def _begun(view: View, machine: MachineView) -> bool:
    record = read_record(annotations_of(view.control_plane).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS))
    return machine.deleting or (record is not None and record.machine == machine.name)


def is_marked(machine: MachineView) -> bool:
    """Return whether a machine has a health check's mark for remediation."""
    return all(
        condition_of(machine.machine, kind).get("status") == terms.FALSE
        for kind in (HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED)
    )
