# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gates that the user sets for changes.

They are readiness gates, the time between steps, maintenance windows and the consent to replacements.

They hold back changes by choice. A step that brings a control plane back to strength is never held back by a window, a
gate or a missing consent: a missing machine is made, and a started replacement is finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common.values import clip
from ...objects import advice, kinds
from ...objects.conditions import READY
from .. import terms
from ..checks.trouble import MIN_READY_SECONDS, READINESS_GATES, Trouble
from ..conditions.machine import min_ready_seconds
from ..remediation.retry import replacement_owed
from ..snapshot.typed_snapshot import MachineView, View

Object = dict[str, Any]
MAINTENANCE_WINDOW = "MaintenanceWindow"
REPLACEMENT_POLICY = "ReplacementPolicy"


@dataclass(frozen=True)
class Step:
    """Kind of the next step, as far as the gates distinguish kinds.

    `begins`: it starts a replacement or a removal by choice; `replaces`: it replaces a machine; `heals`: it brings a
    missing machine back.
    """

    begins: bool = False
    replaces: bool = False
    heals: bool = False


def gate_results(view: View, step: Step, victim: Optional[MachineView] = None) -> list[tuple[str, list[Trouble], str]]:
    """Return the gates' results for a step.

    Each is the check, the problems with it, and the text where there is none ("" = no such gate is set).
    """
    return [
        (MIN_READY_SECONDS, *_min_ready(view, step, victim)),
        (READINESS_GATES, *(([], "") if step.heals else _readiness(view))),
        (MAINTENANCE_WINDOW, *(_window(view) if step.begins else ([], ""))),
        (REPLACEMENT_POLICY, *(replacement_policy(view) if step.replaces else ([], ""))),
    ]


def _min_ready(view: View, step: Step, victim: Optional[MachineView]) -> tuple[list[Trouble], str]:
    wanted = min_ready_seconds(view)
    if wanted == 0:
        return [], ""
    if step.heals and replacement_owed(view):
        return [], "not asked for: it replaces a machine that was remediated"
    if wanted is None:
        text = f"the annotation {kinds.ANNOTATION_MIN_READY_SECONDS} is no number of seconds"
        wanted_text = advice.correct_annotation(kinds.KUBEADM_CONTROL_PLANE, kinds.ANNOTATION_MIN_READY_SECONDS)
        fix = f'To continue, {wanted_text}: for example "60".'
        return [Trouble(MIN_READY_SECONDS, "MinReadySecondsInvalid", text, fix, False)], ""
    early = []
    for machine in view.live:
        held = view.held(machine.machine, READY, terms.TRUE)
        if machine is not victim and machine.joined and (held is None or held < wanted):
            early.append(machine.name)
    if not early:
        return [], f"every machine has been Ready for {wanted} s"
    text = f"not Ready for {wanted} s yet: {', '.join(early)}"
    fix = f"If it does not become Ready, check its Node; the annotation {kinds.ANNOTATION_MIN_READY_SECONDS} asks for this."
    return [Trouble(MIN_READY_SECONDS, "WaitingForMinReadySeconds", text, fix, True)], ""


def _readiness(view: View) -> tuple[list[Trouble], str]:
    gates = view.raw.get("readinessGates") or []
    found = []
    for gate in gates:
        if gate.get("status") != terms.TRUE:
            name, said = clip(gate.get("name"), 80), clip(gate.get("message"))
            state = "is not met" if gate.get("status") == terms.FALSE else "is unknown"
            text = f"readiness gate {name} {state}" + (f": {said}" if said else "")
            fix = f"Check the object that the gate names (annotation {kinds.ANNOTATION_READINESS_GATES})."
            found.append(Trouble(READINESS_GATES, "ReadinessGateNotMet", text, fix, True))
    return found, f"all {len(gates)} are met" if gates else ""


def _window(view: View) -> tuple[list[Trouble], str]:
    window = view.raw.get("maintenance")
    if not window:
        return [], ""
    said = clip(window.get("message"))
    if window.get("open") is True:
        return [], f"open until {clip(window.get('closesAt'), 40)}"
    if window.get("open") is False:
        opens = clip(window.get("opensAt"), 40)
        when = f"it opens at {opens}" if opens else "when it opens is unknown"
        text = f"outside of the maintenance window; {when}" + (f" ({said})" if said else "")
        fix = f"Run reconcile again then, or {advice.unannotate(kinds.KUBEADM_CONTROL_PLANE, kinds.ANNOTATION_MAINTENANCE_WINDOW)}."
        return [Trouble(MAINTENANCE_WINDOW, "OutsideMaintenanceWindow", text, fix, False, postpones=True)], ""
    text = f"it is unknown whether the maintenance window is open: {said or 'no reason given'}"
    fix = f"To do so, {advice.correct_annotation(kinds.KUBEADM_CONTROL_PLANE, kinds.ANNOTATION_MAINTENANCE_WINDOW)}."
    return [Trouble(MAINTENANCE_WINDOW, "MaintenanceWindowInvalid", text, fix, False)], ""


def replacement_policy(view: View) -> tuple[list[Trouble], str]:
    """Return the problems with the policy for replacements, and a text.

    The text is for a policy without problems.
    """
    policy = view.raw.get("policy") or {}
    wish = policy.get("replace") or terms.REPLACE_ALLOW
    if wish == terms.REPLACE_ALLOW:
        return [], "replacements are allowed"
    if wish == terms.REPLACE_ASK and policy.get("approved") is True:
        return [], "this replacement was approved with the plan"
    if wish == terms.REPLACE_ASK:
        text = "a machine would be replaced, and that needs your consent (control_plane_replace is ask)"
        fix = "Run plan with -e control_plane_plan_file=FILE, read it, then reconcile with the same file."
        return [Trouble(REPLACEMENT_POLICY, "ReplacementNotApproved", text, fix, False, postpones=True)], ""
    text = "a machine would have to be replaced, and that is not allowed (control_plane_replace is never)"
    fix = "Put the spec back, or allow it: -e control_plane_replace=ask (or allow)."
    return [Trouble(REPLACEMENT_POLICY, "ReplacementNotAllowed", text, fix, False)], ""
