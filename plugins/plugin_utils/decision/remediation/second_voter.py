# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recovery from the loss of the second voter (docs/second_voter.md).

etcd on the other machine continues alone, with the user's consent.

Two voters need both for every write. Where one of them is lost, etcd commits nothing and cannot even remove the lost
one. All committed data are on the machine that is left: before the second voter was added it was the only one, and from
then on nothing was committed without it. So starting its etcd as the only member (--force-new-cluster) loses nothing
but the lost machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common import quorum, settings, systemd_units
from ....module_utils.common.values import clip, host_of
from ...documents.names import typed_name
from ...objects.conditions import REMOTE_CONNECTION_PROBE
from .. import terms
from ..checks.preflight import FAIL, PASS, check
from ..creation.bootstrap import under_way
from ..creation.growth import go_on
from ..outcome import Context, Outcome, block, reason, target
from ..removal.one_machine import only_candidate
from ..snapshot.typed_snapshot import MachineView, View

Object = dict[str, Any]
QUORUM_LOST = "QuorumLostAtSecondVoter"
RECOVERING = "RecoveringSingleVoter"
SECOND_VOTER_LOST = "SecondVoterLost"
CONSENT = "Consent"
RECORD_UNREADABLE = "RecoveryRecordUnreadable"
# A recovery that the machine reports in one of these states is resumed in every case: etcd's manifest there may still
# have --force-new-cluster.
_UNFINISHED = ("Running", "Interrupted", "Succeeded")


@dataclass(frozen=True)
class LostVoter:
    """Loss of one of two voters: the survivor and the other.

    At most one of them answers. `survivor` is the machine that holds the data, `machine` the other one. `member` is the
    other's ID, `title` the member as messages name it.
    """

    survivor: MachineView
    machine: MachineView
    member: str
    title: str

    @property
    def consent(self) -> str:
        """Return the user's consent to lose that machine."""
        return f"{terms.RECOVER_SINGLE_VOTER}:{self.machine.name}"


def lost_second_voter(view: View) -> Optional[LostVoter]:
    """Return the lost second voter without which etcd has no quorum.

    None where the loss is another one.

    The machine that was asked joined, and its etcd lists itself and one other voter: in its member list, without a
    leader, or, where it answers nothing (as every etcd that was started without a quorum), in its database. The other
    voter is on a machine of this cluster whose bootstrap did not succeed, or that its provider reports as dead or
    missing. No third machine was ever bootstrapped.
    """
    survivor = next((each for each in view.machines if each.name == view.workload.get("via") and each.joined), None)
    if view.reachable or not view.managed_etcd or survivor is None:
        return None
    begun = [each for each in view.machines if _began(view, each) and each is not survivor]
    if len(begun) != 1 or (begun[0].joined and not begun[0].infrastructure_gone):
        return None
    return _by_word(view, survivor, begun[0]) if view.etcd_known else _by_database(view, survivor, begun[0])


def _began(view: View, machine: MachineView) -> bool:
    """Return whether a machine's bootstrap was ever started.

    As recorded, or as etcd's members show.
    """
    stored = view.workload.get("storedMembers") or ()
    return bool(machine.bootstrap) or machine.member is not None or any(_is_of(each, machine) for each in stored)


def _by_word(view: View, survivor: MachineView, lost: MachineView) -> Optional[LostVoter]:
    own = survivor.member
    if own is None or len(view.members) != 2 or view.etcd.get("leader"):
        return None
    if any(member.learner or member.counts for member in view.members):
        return None
    if not ((view.etcd.get("statuses") or {}).get(own.id) or {}).get("version"):
        return None
    other = next(member for member in view.members if member is not own)
    if lost.member is not other and only_candidate(view, lost) is not other:
        return None
    return LostVoter(survivor, lost, other.id, other.describe())


def _by_database(view: View, survivor: MachineView, lost: MachineView) -> Optional[LostVoter]:
    # By addresses alone: the database has no names of members that were added later, and who was promoted may be a learner there
    # (checks/outage.py). The only voter would answer.
    stored = view.workload.get("storedMembers") or ()
    if len(stored) != 2:
        return None
    own = [member for member in stored if _is_of(member, survivor)]
    other = [member for member in stored if _is_of(member, lost)]
    if len(own) != 1 or len(other) != 1 or own == other or other[0].get("listens") is not False:
        return None
    return LostVoter(survivor, lost, str(other[0]["id"]), f"member {other[0]['id']}")


def _is_of(member: Object, machine: MachineView) -> bool:
    return any(host_of(url) in machine.addresses for url in member.get("peerURLs") or ())


def recover(context: Context) -> Optional[Outcome]:
    """Return the step for a lost second voter.

    It waits, asks for consent, or recovers; None where no second voter is lost.
    """
    view = context.view
    begun = _unfinished(view)
    if begun is not None:
        return begun
    found = lost_second_voter(view)
    if found is None:
        return None
    if under_way(view, found.machine) and not found.machine.silent and not _consented(view, found):
        # Its result is asked for first: kubeadm may still run there. The lost quorum is reported all the same.
        outcome = go_on(context, found.machine)
        outcome.reasons.append(reason(QUORUM_LOST, f"{_what(found)}. {_fix(found)}"))
        return outcome
    outcome = _judge(view, found)
    outcome.quorum = _certificate(found)
    outcome.preflight.insert(0, check(SECOND_VOTER_LOST, PASS, _what(found)))
    return outcome


def _unfinished(view: View) -> Optional[Outcome]:
    record = view.workload.get("recovery") or {}
    machine = next((each for each in view.machines if each.name == view.workload.get("via")), None)
    # What was interrupted at its first stage has changed nothing, and etcd may have its quorum again: it is decided again.
    unchanged = record.get("state") == "Interrupted" and record.get("stage") == "start"
    if record.get("state") not in _UNFINISHED or unchanged or machine is None:
        return None
    if not record.get("memberID"):
        text = f"what machine {machine.name} has recorded of a recovery of etcd can't be read: {clip(record.get('message')) or 'no reason given'}"
        fix = (
            f"Check /var/lib/kubeadm-control-plane/recover-single-voter.json on {machine.name}, where no unit {systemd_units.RECOVERY}* runs any more. If "
            "/etc/kubernetes/manifests/etcd.yaml is missing there or has --force-new-cluster, copy the newest "
            "/var/lib/kubeadm-control-plane/recover-single-voter/*/etcd.yaml to it, which is the manifest from before. Then remove the record and reconcile."
        )
        return block(RECORD_UNREADABLE, text, fix)
    lost = clip(record.get("lost"), 80)
    text = f"the recovery of etcd on machine {machine.name} from the loss of {lost or 'its second voter'} was started"
    outcome = Outcome(terms.RECOVER_SINGLE_VOTER, [reason(RECOVERING, text)])
    outcome.target = {**target(machine, resume=True, member=record.get("memberID")), "lost": record.get("lost") or None}
    return outcome


def _judge(view: View, found: LostVoter) -> Outcome:
    consented = _consented(view, found)
    gone = bool(found.machine.infrastructure_gone)
    asked = check(CONSENT, PASS if consented else FAIL, found.consent if consented else f"not given: {found.consent}")
    if not _lasted(view, settings.PATIENCE):
        return _waits(_what(found), "It is observed for a minute before it counts as lost.", asked)
    if not gone and view.settling and found.machine.bootstrap == terms.FAILED:
        return _waits(_what(found), f"{found.machine.name} still runs: its etcd may come up yet.", asked)
    if not consented:
        outcome = block(QUORUM_LOST, _what(found), _fix(found))
        outcome.preflight = [asked]
        return outcome
    text = f"etcd on {found.survivor.name} continues alone, without machine {found.machine.name}, as was consented to"
    outcome = Outcome(terms.RECOVER_SINGLE_VOTER, [reason(QUORUM_LOST, text)], preflight=[asked])
    outcome.target = {**target(found.survivor, member=found.member), "lost": found.machine.name}
    return outcome


def _waits(text: str, fix: str, asked: Object) -> Outcome:
    outcome = block(QUORUM_LOST, text, fix)
    outcome.action, outcome.preflight = terms.WAIT, [asked]
    return outcome


def _consented(view: View, found: LostVoter) -> bool:
    return found.consent in ((view.raw.get("policy") or {}).get("consent") or ())


def _lasted(view: View, seconds: int) -> bool:
    held = [view.held(view.cluster, REMOTE_CONNECTION_PROBE, status) for status in (terms.FALSE, terms.UNKNOWN)]
    return max((each for each in held if each is not None), default=0) >= seconds


def _what(found: LostVoter) -> str:
    """Return the problem with the arithmetic, as a text for messages."""
    machine = found.machine
    if machine.infrastructure_gone:
        why = f"its provider says: {clip(machine.infrastructure_gone, 80)}"
    elif machine.bootstrap == terms.FAILED:
        why = f"its bootstrap failed: {clip(machine.bootstrap_message) or 'no reason recorded'}"
    else:
        why = "its bootstrap has not ended"
    return (
        f"etcd has lost its quorum at the second voter: it has 2 voters and needs both; the one on {found.survivor.name} is there, the one of "
        f"machine {machine.name} is not ({found.title}; {why}), so that nothing can be written and the API is down"
    )


def _fix(found: LostVoter) -> str:
    lost, survivor = typed_name(found.machine.name), typed_name(found.survivor.name)
    held = (
        f"{survivor} holds everything that was committed, for two voters commit nothing without both"
        if found.machine.joined
        else f"{survivor} is the only member that ever held the data"
    )
    return (
        f"Bring {lost} back (power, network) and reconcile: if its etcd starts, nothing is lost. If it is gone for good, reconcile with "
        f"-e control_plane_consent={terms.RECOVER_SINGLE_VOTER}:{lost}: a snapshot is kept, etcd on {survivor} continues alone, and {lost} is lost and "
        f"replaced; {held}."
    )


def _certificate(found: LostVoter) -> Object:
    before, after = quorum.Figures(2, 0), quorum.Figures(1, 1)
    why = (
        f"RISK, taken with consent: etcd on {found.survivor.name} is started as the only member (--force-new-cluster). Its data is kept, and with it "
        f"everything that was committed; {found.machine.name} never comes back into this etcd cluster."
    )
    return {"before": before.document(), "after": after.document(), "leader": None, "whyThisOrder": why}
