# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of one machine.

Of one whose bootstrap failed or never started, or whose removal was started.

What always holds: docs/reference/invariants.md, "Quorum stays". The faults: docs/faults.md, "The run itself dies".
"""

from __future__ import annotations

from typing import Optional

from ....module_utils.common import quorum, settings
from ....module_utils.common.values import clip
from ...documents.names import typed_name
from ...objects import kinds
from ...objects.conditions import CONTROL_PLANE_COMPONENTS_HEALTHY, ETCD_CLUSTER_HEALTHY
from .. import terms
from ..checks import trouble
from ..conditions.control_plane import initialized
from ..conditions.machine import health_conditions, is_true
from ..creation.bootstrap import consent, ended_unseen, voters_of_nobody
from ..outcome import Context, Outcome, block, held, reason, target
from ..remediation.replacement import CANNOT
from ..snapshot.typed_snapshot import MachineView, View
from .hooks import held_by_hooks
from .leadership import hand_over

_HELP_OTHERS = "Bring the other machines back to health first. If the data of this one is not needed, that is the user's decision: see status."
_UNMATCHED = (
    "Compare its peer address with the machine's (module etcd_member_info). Remove that member with the module etcd_member where it is this machine's "
    "or belongs to no machine, then reconcile."
)
# A store never takes a mark of deletion back by itself.
_TAKE_BACK = (
    "No other machine that is to stay works, so this one may hold the only data. To keep it, take its deletion back by hand: "
    'docs/removing_a_machine.md, "The last machine"; playbook rollout then makes another one first. To end the cluster, run the playbook delete.'
)


def proven_uninitialized(view: View) -> bool:
    """Return whether evidence proves that no control plane was ever initialized.

    The evidence is an API that lacks kubeadm-config, or no API at the endpoint. A failed probe is no evidence.
    """
    if view.latched or view.initialized is True or any(machine.joined for machine in view.known):
        return False
    # A Node that was recorded without a bootstrap is another controller's word that there was one.
    recorded = any(machine.node_known and not machine.bootstrap for machine in view.known)
    return view.initialized is False or (view.endpoint_answers is False and not recorded)


def remove_unstarted(machine: MachineView, why: str) -> Outcome:
    """Remove a machine on which kubeadm was never started.

    It carries neither a Node nor a member.
    """
    text = f"it was never bootstrapped and {why}: nothing is lost with it"
    return Outcome(terms.REMOVE, [reason("NeverBootstrapped", text)], target(machine, resume=machine.deleting))


def remove_failed_first(context: Context, machine: MachineView) -> Outcome:
    """Remove the first machine, whose bootstrap failed.

    Only on evidence that there was no control plane yet; refused otherwise.
    """
    view = context.view
    said = machine.bootstrap_message or machine.infrastructure_gone or "no reason recorded"
    proven = proven_uninitialized(view)
    if proven and view.initialized is not False and not machine.is_join and ended_unseen(view, machine):
        text = (
            f"machine {machine.name} does not answer, and how kubeadm init ended on it is unknown: it may have succeeded. That no API answers at "
            f"{view.endpoint} proves nothing: the loss of the only machine looks the same"
        )
        return block("InitializationUnknown", text, _ask_it(machine))
    if proven:
        text = f"its bootstrap failed before a control plane existed ({said}): nothing is lost with it"
        return Outcome(terms.REMOVE, [reason("BootstrapFailed", text)], target(machine, resume=machine.deleting))
    if view.endpoint_answers or view.initialized or view.latched:
        text = f"the bootstrap of machine {machine.name} failed ({said}), but a control plane exists: its data may be the only copy"
        name = CANNOT
    else:
        text = f"the bootstrap of machine {machine.name} failed ({said}), and it is unknown whether a control plane exists: {_unknown(view)}"
        name = "InitializationUnknown"
    fix = (
        f"Check {typed_name(machine.name)} (kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes). If there is nothing to keep, delete the cluster "
        "with the playbook delete and reconcile again."
    )
    outcome = block(name, text, fix)
    lasted = view.held(view.cluster, "ControlPlaneEndpointReachable", terms.UNKNOWN)
    if name == "InitializationUnknown" and (lasted is None or lasted < settings.PATIENCE):
        outcome.action = terms.WAIT
    return outcome


def _ask_it(machine: MachineView) -> str:
    return (
        f"Start {typed_name(machine.name)}, or make it reachable: the next run asks it how kubeadm ended. If it stays off and nothing on it is to be kept, "
        f"have it removed (-e control_plane_consent={consent(machine.name)})."
    )


def _unknown(view: View) -> str:
    message = (view.workload.get("endpoint") or {}).get("message")
    return clip(message) or "neither a machine nor the endpoint could be asked"


def remove_joiner(context: Context, machine: MachineView, name: str, why: str) -> Outcome:
    """Remove a machine from a control plane that lives on.

    Only where its Node and etcd membership are known and the quorum allows it.
    """
    view = context.view
    if not view.reachable:
        return held([trouble.unreachable(view)])
    others = [each for each in view.machines if each is not machine and each.joined and not each.deleting]
    healthy = [each.name for each in others if is_true(context.machines[each.name], *_needed(view))]
    # A possible member counts too: nothing is removed from a cluster in which no other machine works.
    member = machine.member or (only_candidate(view, machine) if view.managed_etcd else None)
    if not healthy and (machine.joined or machine.node is not None or member is not None):
        waits = view.settling or not view.lasting(view.control_plane, CONTROL_PLANE_COMPONENTS_HEALTHY)
        text = f"removing machine {machine.name} ({why}) is refused: no other machine has all control plane components healthy"
        # Not those that are to be replaced: a restore, say, has moved their data aside.
        staying = any(not kinds.is_flagged(each.machine, kinds.ANNOTATION_REMEDIATE_MACHINE) for each in others)
        return _refused(text, waits and bool(others), _TAKE_BACK if machine.deleting and not staying else _HELP_OTHERS)
    if not view.managed_etcd:
        return Outcome(terms.REMOVE, [reason(name, why)], target(machine, resume=machine.deleting))
    return _with_etcd(context, machine, name, why)


def _with_etcd(context: Context, machine: MachineView, name: str, why: str) -> Outcome:
    view = context.view
    waits = view.settling or not view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
    if not view.etcd_known:
        text = f"removing machine {machine.name} ({why}) is refused: its etcd membership is unknown, etcd gave no member list"
        return _refused(text, waits)
    member = machine.member or only_candidate(view, machine)
    unmatched = voters_of_nobody(view, machine)
    loose = [each for each in view.members if not each.settled and each is not member] + unmatched
    if member is None and loose:
        text = f"removing machine {machine.name} ({why}) is refused: whose is the etcd {loose[0].describe()}?"
        unfinished = _UNMATCHED if unmatched else _HELP_OTHERS
        return _refused(text, False, trouble.claim_member(machine) if machine.joined else unfinished)
    identity = member.id if member is not None else ""
    leader = view.leader
    verdict = quorum.check_remove(view.members, identity, leader.id if leader else None)
    figures = verdict.document(view.leader_title, _order(view, member, why))
    if view.etcd.get("memberListAgrees") is not True:
        # Without a member in one list it may still be a voter in another.
        outcome = _refused(
            f"removing machine {machine.name} ({why}) is refused: etcd members don't all report the same list", waits
        )
    elif not verdict.allowed:
        last = verdict.after.voters < 1
        outcome = _refused(f"removing machine {machine.name} ({why}) is refused: {verdict.why}", waits and not last)
    else:
        outcome = Outcome(
            terms.REMOVE, [reason(name, why)], target(machine, resume=machine.deleting, member=identity or None)
        )
        outcome.leadership = hand_over(view, machine, context.machines, {each.name for each in context.old})
    outcome.quorum = figures
    return outcome


def only_candidate(view: View, machine: MachineView) -> Optional[quorum.MemberState]:
    """Return the only etcd member that may be an unfinished machine's.

    One unfinished machine without a member and one unmatched, unfinished member belong together; None otherwise.
    Source: docs/reference/cluster_api.md, "Conditions".
    """
    matched = {each.member.id for each in view.known if each.member is not None}
    loose = [each for each in view.members if each.id not in matched and not each.settled]
    unfinished = [each for each in view.known if each.member is None and not each.joined]
    return loose[0] if len(loose) == 1 and unfinished == [machine] else None


def _order(view: View, member: Optional[quorum.MemberState], why: str) -> str:
    if member is None:
        return "It has no etcd member: the membership does not change."
    text = f"Its member is removed before anything is added, because {why}; a member that does not work only raises the quorum."
    if view.leader is not None and view.leader.id == member.id:
        text += " It leads: leadership is moved to another member first."
    return text


def _needed(view: View) -> tuple[str, ...]:
    return health_conditions(view)


def _refused(text: str, waits: bool, fix: str = _HELP_OTHERS) -> Outcome:
    outcome = block(CANNOT, text, fix)
    if waits:
        outcome.action = terms.WAIT
    return outcome


def remove_deleting(context: Context, machine: MachineView) -> Outcome:
    """Resume the removal of a machine that is marked for deletion."""
    waiting = held_by_hooks(machine)
    if waiting is not None:
        return waiting
    if machine.without_trace:
        return remove_unstarted(machine, "is marked for deletion")
    if not initialized(context.view) and not any(each.joined for each in context.view.machines):
        return remove_failed_first(context, machine)
    return remove_joiner(context, machine, "MachineDeleting", "it is marked for deletion")
