# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remediation of unhealthy machines: removal, then replacement.

Source: docs/reference/cluster_api.md, "Remediation".

A machine is a candidate where a MachineHealthCheck marked it (HealthCheckSucceeded and OwnerRemediated are False),
where the user did with the annotation remediate-machine, or where it can't come back (repair.py).
Upstream never remediates with an external etcd, whose member list it can't have; here its connectivity is what counts.
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import quorum
from ....module_utils.common.values import clip
from ...objects import advice, kinds
from ...objects.conditions import (
    COMPONENT_CONDITIONS,
    CONTROL_PLANE_COMPONENTS_HEALTHY,
    ETCD_CLUSTER_HEALTHY,
    ETCD_MEMBER_HEALTHY,
    ETCD_POD_HEALTHY,
    HEALTH_CHECK_SUCCEEDED,
    OWNER_REMEDIATED,
)
from .. import terms
from ..checks.preflight import FAIL, PASS, SKIP, check, topology_trouble
from ..checks.second_witness import VIEWS_AGREE, views_trouble
from ..checks.trouble import Trouble, claim_member
from ..conditions.machine import condition, health_conditions, is_true
from ..creation.bootstrap import marked, voters_of_nobody
from ..outcome import Context, Outcome, first_that_acts, reason, target
from ..removal.leadership import hand_over
from ..rollout.gates import REPLACEMENT_POLICY, replacement_policy
from ..snapshot.typed_snapshot import MachineView, View, annotations_of, condition_of
from .repair import beyond_repair
from .retry import Record, in_progress, read_record, to_be_remediated, try_again

Object = dict[str, Any]
CANNOT = "CannotBeRemediated"
DEFERRED = "RemediationDeferred"
UNHEALTHY = "MachineUnhealthy"


def remediate(context: Context) -> Optional[Outcome]:
    """Return the remediation that is due.

    It is the removal of a machine, or the reason why the most broken one's is refused or deferred. None where no
    machine is to be remediated.

    A refusal does not end the pass: the caller continues with rollout and scaling, whose own checks decide.
    """
    view = context.view
    record = in_progress(view)
    begun = next((each for each in view.live if record is not None and each.name == record.machine), None)
    if begun is not None and record is not None:
        # The run ended between writing the record and deleting the Machine: resume it, the attempt is counted already.
        return _judge(context, begun, record)
    # Where the first one's removal is refused, another one may have to be removed before it.
    return first_that_acts(_remedy(context, each, record) for each in _candidates(context))


def deferred(context: Context, action: str) -> list[Outcome]:
    """Return the remediations that another machine's removal defers.

    That one was begun, or is of a machine whose bootstrap failed. `action` is how it ends the pass.
    """
    text = "another machine's removal comes first, and has not come to its end"
    return [
        _refuse(
            context,
            each,
            DEFERRED,
            text,
            f"If the machine can't come back, delete it as well: {advice.delete(each.machine['metadata'])}. Then its own removal is tried, too.",
            action,
        )
        for each in _candidates(context)
    ]


def _candidates(context: Context) -> list[MachineView]:
    """Return the candidates for a remediation, the most broken one first.

    Machines that have not joined are left to creation/bootstrap.py (the table in docs/reference/bootstrap.md).
    """
    view = context.view
    return sorted((each for each in view.live if each.joined and to_be_remediated(view, each)), key=_rank(context))


def _remedy(context: Context, picked: MachineView, record: Optional[Record]) -> Outcome:
    view = context.view
    if record is not None and not (_must_go_first(view, picked) or _holds_up_rotation(context, picked)):
        text = f"waiting for the replacement of machine {clip(record.machine, 80)}: one remediation at a time"
        return _refuse(context, picked, DEFERRED, text, "", terms.WAIT)
    topology = topology_trouble(view)
    if topology is not None:
        return _refuse(context, picked, DEFERRED, topology.message, topology.fix, terms.BLOCKED)
    fresh, refusal = try_again(view, picked)
    if refusal is not None:
        action = terms.POSTPONED if refusal.reason == DEFERRED else terms.BLOCKED
        return _refuse(context, picked, refusal.reason, refusal.message, refusal.fix, action)
    return _judge(context, picked, fresh)


def _must_go_first(view: View, machine: MachineView) -> bool:
    """Return whether this machine's member must be removed before any addition.

    Then the replacement that is waited for can't be added before it: older releases of etcd refuse that
    (docs/reference/invariants.md, "A silent voter blocks an addition").
    """
    silent = machine.member is not None and not machine.member.counts
    return view.managed_etcd and silent and not quorum.adds_beside_silent_voter(view.etcd)


def _holds_up_rotation(context: Context, machine: MachineView) -> bool:
    """Return whether a rotation of authorities can't be completed with a machine.

    It does not work, and until the rotation is over no replacement is made that could be waited for (rollout/in_place.py).
    """
    view = context.view
    ready = (machine.node or {}).get("ready") == terms.TRUE
    works = ready and is_true(context.machines[machine.name], *health_conditions(view))
    return bool(view.raw.get("unfinishedRotation")) and not works


def _rank(context: Context) -> Any:
    """Return the sort key for machines, the most broken one first.

    Source: docs/reference/cluster_api.md, "Remediation", step 4.
    """
    view = context.view
    kinds_in_order = (
        *((ETCD_MEMBER_HEALTHY, ETCD_POD_HEALTHY) if view.managed_etcd else ()),
        *COMPONENT_CONDITIONS,
        "NodeKubeadmLabelsAndTaintsSet",
    )

    def key(machine: MachineView) -> tuple[Any, ...]:
        conditions = context.machines[machine.name]
        return (
            not kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE),
            machine.node is not None,
            *(is_true(conditions, kind) for kind in kinds_in_order),
            machine.order,
        )

    return key


def _refuse(context: Context, machine: MachineView, name: str, text: str, fix: str, action: str) -> Outcome:
    message = f"machine {machine.name} is not remediated: {text}"
    said = name if name in (CANNOT, DEFERRED) else (DEFERRED if action != terms.BLOCKED else CANNOT)
    _say(context, machine, said, text)
    entry = {"reason": name, "message": message, "fix": fix}
    return Outcome(action, [reason(name, message)], blocked_on=[entry])


def _say(context: Context, machine: MachineView, name: str, text: str) -> None:
    context.machines[machine.name].append(condition(OWNER_REMEDIATED, terms.FALSE, name, text))


def _judge(context: Context, machine: MachineView, record: Record) -> Outcome:
    """Evaluate the gates before a remediation, in order.

    The first that is violated refuses.
    Source: docs/reference/cluster_api.md, "Remediation", step 9.
    """
    view = context.view
    checks: list[Object] = []
    verdict = _verdict(view, machine)
    outcome = None
    for name, found, text in _gates(context, machine, verdict):
        checks.append(check(name, FAIL if found else (PASS if text else SKIP), found.message if found else text))
        if found is not None and outcome is None:
            action = terms.WAIT if found.waits else terms.POSTPONED if found.postpones else terms.BLOCKED
            outcome = _refuse(context, machine, found.reason, found.message, found.fix, action)
    why = f"machine {machine.name} {_found(view, machine)}: it is removed, then replaced"
    if outcome is None:
        _say(context, machine, "MachineDeleting", "Machine is deleting")
        identity = machine.member.id if machine.member is not None else None
        outcome = Outcome(terms.REMOVE, [reason(UNHEALTHY, why)], target(machine, member=identity))
        outcome.remediation = record.document()
        outcome.leadership = hand_over(view, machine, context.machines, {each.name for each in context.old})
    outcome.preflight = checks
    if verdict is not None:
        outcome.quorum = verdict.document(view.leader_title, _order(view, machine, verdict))
    return outcome


def _found(view: View, machine: MachineView) -> str:
    lost = "" if marked(machine) else beyond_repair(view, machine)
    if lost:
        return f"can't come back ({lost})"
    found = condition_of(machine.machine, HEALTH_CHECK_SUCCEEDED)
    text = clip(found.get("message"), 120) or clip(found.get("reason"), 80)
    return f"was found unhealthy ({text})" if text else "was found unhealthy"


def _verdict(view: View, machine: MachineView) -> Optional[quorum.Verdict]:
    if not view.managed_etcd or not view.etcd_known:
        return None
    identity = machine.member.id if machine.member is not None else ""
    return quorum.check_remove(view.members, identity, view.leader.id if view.leader else None)


def _order(view: View, machine: MachineView, verdict: quorum.Verdict) -> str:
    if machine.member is None:
        return "It has no etcd member: the membership does not change."
    text = "An unhealthy member is removed before its replacement is added: it gives no vote, but raises the number of votes needed."
    if view.leader is not None and view.leader.id == machine.member.id:
        text += " It leads: leadership is moved to another member first."
    return text if verdict.allowed else f"{text} Refused: {verdict.why}."


def _gates(
    context: Context, machine: MachineView, verdict: Optional[quorum.Verdict]
) -> list[tuple[str, Optional[Trouble], str]]:
    view = context.view
    others = [each for each in view.live if each is not machine and each.joined]
    found: list[tuple[str, Optional[Trouble], str]] = []

    def gate(name: str, violated: Optional[Trouble], text: str) -> None:
        found.append((name, violated, text))

    policy, said = replacement_policy(view)
    gate(REPLACEMENT_POLICY, policy[0] if policy else None, said)
    text = "can't remediate if current replicas are less or equal to 1"
    fix = "Repair this machine: with one machine there is nothing to rebuild it from. See the docs on restoring."
    gate(
        "MoreThanOneMachine",
        None if others else _no(CANNOT, text, fix),
        f"{', '.join(each.name for each in others)} stay",
    )
    young = [each.name for each in others if each.node is None and not each.node_lost and not marked(each)]
    text = f"waiting for control plane Machine provisioning to complete: {', '.join(young)}"
    gate("NoMachineProvisioning", _no(DEFERRED, text, "", True) if young else None, "no machine is being provisioned")
    gate("EtcdKnown", *_etcd_known(view))
    needed = health_conditions(view)
    healthy = [each.name for each in others if is_true(context.machines[each.name], *needed)]
    text = "it could result in loosing Kubernetes control plane components: no other machine has all of them healthy"
    fix = "Bring another machine back to health first."
    waits = view.settling and bool(others)
    gate("AnotherMachineHealthy", None if healthy else _no(CANNOT, text, fix, waits), f"{', '.join(healthy)} work")
    if verdict is not None:
        waits = view.settling or not view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
        # With a member of its own, the quorum arithmetic refuses the same; without one it would compute nothing.
        loose = [each.describe() for each in view.members if not each.settled and machine.member is None]
        text = f"an earlier change of the membership is unfinished: {', '.join(loose)}"
        fix = "It is finished, or the member removed, before another machine is removed."
        gate("MembersSettled", _no(DEFERRED, text, fix, waits) if loose else None, "no member is unfinished")
        unknown = [each.describe() for each in voters_of_nobody(view, machine)]
        text = f"whose is the etcd {', '.join(unknown)}? It may be this machine's, and would be lost with it"
        gate(
            "MemberKnown",
            _no(CANNOT, text, claim_member(machine), waits) if unknown else None,
            "" if machine.member is None else "its member is known",
        )
        fix = "Bring the other unhealthy members back first; without a majority only a snapshot helps."
        text = f"it could result in etcd quorum loss: {verdict.why}"
        waits = waits and verdict.after.voters > 0
        gate("EtcdQuorum", None if verdict.allowed else _no(CANNOT, text, fix, waits), verdict.why)
        gate(VIEWS_AGREE, views_trouble(view, machine) or _lists_differ(view), "no problem with the view")
        leadership = hand_over(view, machine, context.machines, {each.name for each in context.old})
        stuck = leadership is not None and not leadership["to"]
        text = "it leads etcd, and no other machine can take the leadership over"
        gate(
            "LeadershipCandidate",
            _no(CANNOT, text, fix) if stuck else None,
            "" if leadership is None else "leadership can be moved",
        )
    return found


def _lists_differ(view: View) -> Optional[Trouble]:
    # Without a member in one list it may still be a voter in another: agreement is required for every machine.
    if view.etcd.get("memberListAgrees") is True:
        return None
    text = "the etcd members do not all report the same member list"
    waits = view.etcd.get("memberListAgrees") is None and (
        view.settling or not view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
    )
    return _no("ViewsDisagree", text, "Check the network between the members.", waits)


def _etcd_known(view: View) -> tuple[Optional[Trouble], str]:
    waits = view.settling or not view.lasting(view.control_plane, CONTROL_PLANE_COMPONENTS_HEALTHY)
    said = clip(view.etcd.get("message")) or "no reason given"
    fix = "Check etcd; nothing is removed while it is unknown."
    if view.managed_etcd:
        text = f"failed to check etcd cluster health before remediation: {said}"
        return (None, "etcd gave its member list") if view.etcd_known else (_no(DEFERRED, text, fix, waits), "")
    if view.etcd.get("reachable") is False:
        return _no(DEFERRED, f"the external etcd does not answer: {said}", fix, waits), ""
    return None, "the external etcd answers" if view.etcd else ""


def _no(name: str, text: str, fix: str, waits: bool = False) -> Trouble:
    return Trouble("Remediation", name, text, fix, waits)


def retried(context: Context, machine: MachineView, removal: Outcome) -> Outcome:
    """Return the removal with its retry record, or its refusal.

    The machine's bootstrap failed: the removal has the retry limits of a remediation, because it is one in all but
    name.
    """
    if removal.action != terms.REMOVE or machine.deleting:
        return removal
    record, refusal = try_again(context.view, machine)
    known = read_record(annotations_of(context.view.control_plane).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS))
    if known is not None and known.machine == machine.name:
        record, refusal = known, None
    if refusal is not None:
        action = terms.POSTPONED if refusal.reason == DEFERRED else terms.BLOCKED
        return _refuse(context, machine, refusal.reason, refusal.message, refusal.fix, action)
    removal.remediation = record.document()
    return removal
