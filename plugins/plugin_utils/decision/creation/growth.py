# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creation of machines: the first, the next, and a started one.

Source: docs/reference/cluster_api.md, "Creating a machine".
The invariants: docs/reference/invariants.md, "One change at a time", "One cluster".
"""

from __future__ import annotations

from typing import Optional

from ....module_utils.common import quorum, settings
from ....module_utils.common.values import clip, format_time
from ...objects import advice, kinds
from .. import terms
from ..checks.preflight import FAIL, PASS, check, preflight
from ..conditions.cluster import endpoint_is_unused
from ..conditions.control_plane import initialized
from ..outcome import Context, Outcome, block, held, max_surge, reason, target
from ..removal import deleted_control_plane
from ..rollout.gates import Step
from ..snapshot.typed_snapshot import MachineView, View
from .bootstrap import asked_to_go, clock_difference, consent
from .cluster_info import prerequisites
from .existing_hosts import HOSTS_AVAILABLE, hosts_checked
from .learner import BEFORE_KUBEADM, added_as_learner

HEALS = Step(heals=True)
BOOTSTRAP_UNKNOWN = "BootstrapUnknown"


def foreign_control_plane(view: View) -> Optional[Outcome]:
    """Block where an unknown control plane already exists.

    A Kubernetes API answers although no machine was ever bootstrapped here, or the control plane was deleted or lost;
    None otherwise.
    The invariant: docs/reference/invariants.md, "An empty store proves nothing".
    """
    if any(machine.bootstrap for machine in view.machines):
        return None
    if view.endpoint_answers is True or view.initialized is True:
        said = (
            clip((view.workload.get("endpoint") or {}).get("message")) or f"a Kubernetes API answers at {view.endpoint}"
        )
        text = f"the store knows no machine of this cluster that was ever bootstrapped, yet {said}"
        return block(
            "ForeignControlPlane",
            text,
            "Give the right store, or adopt the control plane that is there. Nothing is initialized over it.",
        )
    if view.deleted is not None and not deleted_control_plane.consented(view.deleted, view.raw):
        return block(
            deleted_control_plane.CONTROL_PLANE_DELETED,
            deleted_control_plane.what(view.deleted, view.managed_etcd),
            deleted_control_plane.way_out(view.deleted, view.raw, view.managed_etcd),
        )
    if not view.machines and view.latched:
        text = "this control plane was initialized once and no machine of it is left in the store"
        fix = "Give the right store or restore it. If the cluster is really gone, delete it (playbook delete) and reconcile again."
        return block("ControlPlaneLost", text, fix)
    return None


def initialize(context: Context, machine: Optional[MachineView]) -> Outcome:
    """Make the first machine, or resume it.

    Only on evidence that there is no control plane yet.
    """
    view = context.view
    checks = [check("CertificatesAvailable", PASS, "all certificate authorities are there")]
    checks.append(check("EndpointExists", PASS, f"the control plane endpoint is {view.endpoint}"))
    running = machine is not None and machine.bootstrap == terms.RUNNING
    if not running and view.endpoint_answers is not False and not endpoint_is_unused(view):
        return _endpoint_unknown(view, checks)
    said = "kubeadm init is under way" if running else f"no API answers at {view.endpoint}"
    checks.append(check("NoControlPlaneAnswers", PASS, said))
    missing = template_missing(context, machine)
    if missing is not None:
        return missing
    looked = hosts_checked(context, machine) if not running else None
    if looked is not None:
        troubles, found = looked
        checks.append(check(HOSTS_AVAILABLE, FAIL if troubles else PASS, troubles[0].message if troubles else found))
        if troubles:
            outcome = held(troubles)
            outcome.preflight = checks
            return outcome
    text = f"0 of {view.replicas} replicas" + (": resume the first machine" if machine else "")
    outcome = Outcome(terms.INITIALIZE, [reason("NotInitialized", text)], preflight=checks)
    if view.managed_etcd:
        verdict = quorum.check_add([])
        outcome.quorum = verdict.document(
            None, "The first member begins the etcd cluster; every other machine joins it afterwards, one at a time."
        )
    _place(context, outcome, machine)
    return outcome


def endpoint_unknown(endpoint: str, said: str) -> tuple[str, str, str]:
    """Return reason, message and remedy for an endpoint that can't be probed.

    It can't be decided whether a control plane answers there already. `said` is the result of the probe.
    """
    text = f"whether a control plane already answers at {endpoint} can't be known from here ({said}), and two must never be initialized"
    fix = (
        "Make the endpoint reachable from the controller. If nothing can be there yet (a virtual address of kube-vip or keepalived that no machine "
        f"holds before the first one runs), {advice.annotate(kinds.CLUSTER, kinds.ANNOTATION_ENDPOINT_UNUSED)}. It counts for the first machine alone "
        "and may stay there."
    )
    return "EndpointUnknown", text, fix


def _endpoint_unknown(view: View, checks: list[dict[str, object]]) -> Outcome:
    said = clip((view.workload.get("endpoint") or {}).get("message")) or "it could not be asked"
    reason_name, text, fix = endpoint_unknown(view.endpoint, said)
    outcome = block(reason_name, text, fix)
    outcome.preflight = [*checks, check("NoControlPlaneAnswers", FAIL, text)]
    lasted = view.held(view.cluster, "ControlPlaneEndpointReachable", terms.UNKNOWN)
    if lasted is None or lasted < settings.PATIENCE:
        outcome.action = terms.WAIT
    return outcome


def join(
    context: Context,
    machine: Optional[MachineView],
    name: str = "ScalingUp",
    why: str = "",
    step: Step = HEALS,
) -> Outcome:
    """Join one machine, or resume a started one, after every preflight check.

    `name` and `why` are the reason's; `step` is what the gates read.
    """
    view = context.view
    if machine is not None and machine.bootstrap == terms.RUNNING:
        # kubeadm runs on the machine anyway: the only safe step is to wait for it and to read its result.
        outcome = Outcome(terms.JOIN, [reason("ScalingUp", f"{_counts(view)}: kubeadm join is under way")])
        _place(context, outcome, machine)
        return outcome
    result = preflight(context, adding=True, step=step, machine=machine, fresh=True)
    figures = (
        result.verdict.document(view.leader_title, _why(view, result.verdict)) if result.verdict is not None else None
    )
    if result.failed:
        outcome = held(result.failed)
    else:
        missing = template_missing(context, machine)
        if missing is not None:
            return missing
        text = _counts(view) + (": resume a machine that was started" if machine else f": {why}" if why else "")
        outcome = Outcome(terms.JOIN, [reason(name, text)], prerequisites=prerequisites(view))
        _place(context, outcome, machine)
        if added_as_learner(view) == BEFORE_KUBEADM:
            outcome.target = {**(outcome.target or {}), "learner": True}
    outcome.preflight, outcome.quorum = result.checks, figures
    return outcome


def _place(context: Context, outcome: Outcome, machine: Optional[MachineView]) -> None:
    view = context.view
    new = machine is None
    left = context.replicas - len(view.live) - (1 if new else 0)
    ahead = min(max(0, left), settings.PREPARE_AHEAD) if max_surge(view) else 0
    domains = context.domains(ahead + (1 if new else 0))
    outcome.target = target(machine, domains[0] if new else None, resume=not new)
    outcome.prepare = domains[1:] if new else domains


def _counts(view: View) -> str:
    return f"{sum(1 for machine in view.live if machine.joined)} of {view.replicas} replicas"


def template_missing(context: Context, machine: Optional[MachineView]) -> Optional[Outcome]:
    """Return a blocked outcome where the machine template is missing.

    None where the template exists, or where `machine` has its infrastructure already.
    """
    if (machine is not None and machine.infrastructure is not None) or context.view.raw.get(
        "machineTemplate"
    ) is not None:
        return None
    reference = ((context.view.spec.get("machineTemplate") or {}).get("spec") or {}).get("infrastructureRef") or {}
    text = f"the machine template {reference.get('kind', '')} {reference.get('name', '')} does not exist"
    return block(
        "MachineTemplateNotFound",
        text,
        "Add it to the manifest, or correct spec.machineTemplate.spec.infrastructureRef.",
    )


def _why(view: View, verdict: quorum.Verdict) -> str:
    before, after = verdict.before, verdict.after
    text = "One machine joins at a time, so that at most one membership change is in flight."
    learner = added_as_learner(view)
    if before.voters == 1:
        text += (
            " RISK, the one step that has it: with 1 -> 2 voters both are needed for the quorum. "
            + (
                "The new member joins as a learner and is promoted only in step with the leader; if it dies right after that, etcd stops until it is back."
                if learner
                else "From the moment it is added until it answers, etcd does not serve; if it dies meanwhile, etcd stays so until it is back."
            )
            + " Have a snapshot."
        )
    else:
        text += f" Even if the new member never works, {after.healthy} of {after.voters} voters do, and {after.quorum} are enough."
        if learner:
            text += " It is added as a learner, and has no vote before it has caught up."
    return text


def go_on(context: Context, machine: MachineView) -> Outcome:
    """Resume a machine as what it was made for.

    Its KubeadmConfig decides between kubeadm init and kubeadm join.
    Blocked where it is to be removed, does not answer, and kubeadm may run there (docs/reference/bootstrap.md).
    """
    view = context.view
    if machine.silent and asked_to_go(machine):
        return _unheard(view, machine)
    outcome = _gone_on(context, machine)
    if machine.silent:
        outcome.reasons.append(
            reason(BOOTSTRAP_UNKNOWN, f"machine {machine.name} does not answer: {_silence(machine)}")
        )
    return outcome


def _gone_on(context: Context, machine: MachineView) -> Outcome:
    joins = machine.is_join if machine.is_join is not None else initialized(context.view)
    return join(context, machine) if joins else initialize(context, machine)


def _unheard(view: View, machine: MachineView) -> Outcome:
    end = format_time(machine.ends_at)
    text = (
        f"machine {machine.name} is to be removed and does not answer ({_silence(machine)}), and kubeadm may run there until {end}: it may be "
        "adding its etcd member, so it is not removed as a machine without one"
    )
    fix = (
        f"Run the same again after {end}: by then the machine itself has ended kubeadm. If it is off and stays off, resume at once "
        f"(-e control_plane_consent={consent(machine.name)})."
    )
    apart = clock_difference(view)
    if apart > settings.CLOCK_SKEW_SECONDS:
        fix += f" The clocks of the workload cluster and of this controller differ by {apart:.0f} s, and both must say so: set up time synchronisation."
    return block(BOOTSTRAP_UNKNOWN, text, fix)


def _silence(machine: MachineView) -> str:
    return clip(machine.unit.get("message")) or "no reason given"
