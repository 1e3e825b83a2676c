# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of etcd members and transfer of leadership, without quorum loss.

Evidence, arithmetic, the change and its proof in one call.

The arithmetic is ``common/quorum.py``; what is asked for here is the evidence that it needs (docs/reference/invariants.md,
"Quorum stays", "Fresh evidence"): each member's own member list, status and a linearizable read, all taken now.
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, field

from ..common import settings
from ..common.https import Unreachable
from ..common.quorum import MemberState, Verdict, check_remove
from .gateway import Credentials, Gateway
from .types import NOT_FOUND, UNAVAILABLE, EtcdError, Member, to_hex
from .view import View, look_again, members_view

_POLL_SECONDS = 0.25


class MembershipError(Exception):
    """Refused or unproven change of the membership.

    ``reason`` is a stable name: NotReachable, WrongCluster, ViewsDisagree, UnknownMember, AmbiguousName, QuorumAtRisk,
    LeaderUnknown, LeaderSilent, LeadershipNotMoved, NotInSync, NoLearners, PeerUrlTaken, NoSpaceLeft, ConsentMissing,
    NotProven.
    ``verdict`` holds the arithmetic where there was one.
    """

    def __init__(self, reason: str, message: str, verdict: t.Optional[Verdict] = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.verdict = verdict
        self.fields: dict[str, t.Any] = {"reason": reason}
        if verdict is not None:
            self.fields["quorum"] = {"before": verdict.before.document(), "after": verdict.after.document()}


@dataclass(frozen=True)
class Cluster:
    """Access to an etcd cluster, with its timeouts and retries.

    Args:
        endpoints: client URLs to begin with; the members that they name are asked too.
        credentials: the client's certificate, None without TLS.
        timeout: seconds for each question.
        looks, interval: the count of observations of what seems dead, and the seconds between.
        settle: seconds, at most, until a change must be seen by every member that answers.
    """

    endpoints: t.Sequence[str]
    credentials: t.Optional[Credentials]
    timeout: float = settings.ANSWER_SECONDS
    looks: int = 3
    interval: float = 2.5
    settle: float = 10.0

    def view(self) -> View:
        """Return one observation of the cluster."""
        return members_view(self.endpoints, self.credentials, self.timeout)

    def patient_view(self) -> View:
        """Observe until nothing seems dead, at most ``looks`` times."""
        return look_again(self.view, self.looks, self.interval)


@dataclass(frozen=True)
class Removal:
    """Result of a removal.

    ``after`` is None where nothing was changed (already absent, or check mode).
    """

    changed: bool
    message: str
    member: t.Optional[Member]
    verdict: t.Optional[Verdict]
    before: View
    after: t.Optional[View] = None
    new_leader: t.Optional[str] = None
    warnings: list[str] = field(default_factory=list)


def remove_member(
    cluster: Cluster,
    *,
    member_id: t.Optional[int] = None,
    name: t.Optional[str] = None,
    cluster_id: t.Optional[int] = None,
    check: bool = False,
    before_change: t.Callable[[], None] = lambda: None,
) -> Removal:
    """Remove one member from etcd, or refuse with the arithmetic.

    Evidence is taken in this very call from at least two voters (one, where there is only one). If the member leads,
    leadership moves first; where it gives no status it can't be asked to hand over, and the others elect a leader when
    it is gone. Afterwards every member that answers must no longer list it. An absent member is no change.

    Args:
        cluster: access to the cluster.
        member_id, name: the member. By name it must be one only; a member that never started has no name.
        cluster_id: the cluster that is meant; another is refused.
        check: stop before anything is changed.
        before_change: called right before the first change, to prove that the caller still may; an error it raises ends
            this.

    Raises:
        MembershipError: refused, or not proven. Anything that was done is in the message.
    """
    view = cluster.patient_view()
    require_evidence(view, cluster_id)
    victim = find_member(view, member_id, name)
    if victim is None:
        what = to_hex(member_id) if member_id is not None else f"named {name}"
        return Removal(False, f"etcd has no member {what}: nothing to remove", None, None, view)
    leader = to_hex(view.leader) if view.leader else None
    verdict = check_remove(member_states(view), victim.hex_id, leader)
    if not verdict.allowed:
        raise MembershipError("QuorumAtRisk", _refusal(view, victim, verdict), verdict)
    title = f"{victim.name or 'the member that never started'} ({victim.hex_id})"
    if check:
        return Removal(True, f"etcd member {title} would be removed: {verdict.why}", victim, verdict, view)
    before_change()
    new_leader = None
    warnings = []
    silent = silent_leader(view, victim)
    if silent:
        warnings.append(f"{silent}: the others elect one when it is removed")
    elif view.leader == victim.id:
        new_leader = move_leader(cluster, view, victim)
    _remove(cluster, view, victim, new_leader)
    after = _prove(cluster, view, victim)
    if silent:
        new_leader = after.get(after.leader)
    return Removal(
        True,
        f"etcd member {title} was removed: {verdict.why}",
        victim,
        verdict,
        view,
        after,
        new_leader.hex_id if new_leader else None,
        warnings,
    )


def member_states(view: View) -> list[MemberState]:
    """Return the members' states for the quorum's arithmetic.

    Healthy only where that was proven just now.
    """
    return [
        MemberState(member.hex_id, member.name, member.is_learner, not view.unhealthy(member))
        for member in view.members
    ]


def require_cluster(view: View, cluster_id: t.Optional[int]) -> None:
    """Refuse an etcd that doesn't answer, or is another cluster.

    Raises:
        MembershipError: NotReachable, WrongCluster.
    """
    if not view.reachable:
        raise MembershipError("NotReachable", f"{view.message}. Nothing was changed.")
    if cluster_id is not None and view.cluster_id != cluster_id:
        raise MembershipError(
            "WrongCluster",
            f"this is the etcd cluster {to_hex(view.cluster_id)}, but {to_hex(cluster_id)} is meant. Nothing was changed.",
        )


def require_evidence(view: View, cluster_id: t.Optional[int]) -> None:
    """Refuse a change of the membership on too little evidence.

    Too little: members that disagree, or too few that answered.

    Raises:
        MembershipError: NotReachable, WrongCluster, ViewsDisagree.
    """
    require_cluster(view, cluster_id)
    if view.agrees is False:
        raise MembershipError("ViewsDisagree", f"{view.disagreement}. Nothing was changed.")
    voters = [member for member in view.members if not member.is_learner]
    needed = min(2, len(voters))
    if len(view.lists) < needed:
        silent = "; ".join(f"{m.name or m.hex_id}: {view.unhealthy(m)}" for m in voters if view.unhealthy(m))
        raise MembershipError(
            "ViewsDisagree",
            f"{len(view.lists)} of {len(voters)} voters gave its own member list, and {needed} have to agree before the"
            f" membership is changed ({silent}). Nothing was changed.",
        )


def find_member(view: View, member_id: t.Optional[int], name: t.Optional[str]) -> t.Optional[Member]:
    """Return the member with an ID, a name or both, else None.

    Raises:
        MembershipError: several members have that name, or the ID's member has another one.
    """
    if member_id is not None:
        found = view.get(member_id)
        if found is not None and name is not None and found.name != name:
            raise MembershipError(
                "UnknownMember",
                f"member {found.hex_id} is named {found.name!r}, not {name!r}. Nothing was changed: which one is meant?",
            )
        return found
    named = [member for member in view.members if name and member.name == name]
    if len(named) > 1:
        identifiers = ", ".join(member.hex_id for member in named)
        raise MembershipError(
            "AmbiguousName",
            f"{len(named)} members are named {name!r}: {identifiers}. Nothing was changed: give the ID.",
        )
    return named[0] if named else None


def _refusal(view: View, victim: Member, verdict: Verdict) -> str:
    lines = [
        f"removing etcd member {victim.name or 'that never started'} ({victim.hex_id}) is refused: {verdict.why}.",
        f"Before: {verdict.before}. After: {verdict.after}.",
    ]
    sick = [f"{m.name or m.hex_id}: {view.unhealthy(m)}" for m in view.members if view.unhealthy(m)]
    if sick:
        lines.append(f"Not healthy: {'; '.join(sick)}.")
    lines.append("Nothing was changed.")
    return " ".join(lines)


def silent_leader(view: View, member: Member) -> str:
    """Return why a leading member can't hand over leadership, else "".

    "" also where it does not lead. Only the leader itself hands over.
    """
    witness = view.witnesses.get(member.id)
    if view.leader != member.id or (witness is not None and witness.status is not None):
        return ""
    return f"etcd member {member.name or 'without a name'} ({member.hex_id}) leads and can't be asked to hand over ({view.unhealthy(member)})"


def move_leader(cluster: Cluster, view: View, leader: Member, to: t.Sequence[str] = ()) -> Member:
    """Move leadership off the leader; return the new one once seen.

    Args:
        cluster: access to the cluster.
        view: what the members said just now.
        leader: the member that leads.
        to: names of the members to try, in this order; none: every healthy voter, the one whose log is furthest first.

    Raises:
        MembershipError: LeadershipNotMoved, with what each candidate said.
    """
    candidates, reasons = _candidates(view, leader, to)
    witness = view.witnesses.get(leader.id)
    for candidate in candidates:
        try:
            # Only the leader itself can hand over.
            with Gateway(
                witness.url if witness else leader.client_urls[0], cluster.credentials, cluster.timeout
            ) as gateway:
                gateway.move_leader(candidate.id)
        except (EtcdError, Unreachable, IndexError) as error:
            reasons.append(f"{candidate.name}: {error}")
            continue
        deadline = time.monotonic() + cluster.settle
        while time.monotonic() < deadline:
            seen = cluster.view().leader
            if seen and seen != leader.id:
                return next((m for m in view.members if m.id == seen), candidate)
            time.sleep(_POLL_SECONDS)
        reasons.append(f"{candidate.name}: it did not become the leader within {cluster.settle:g} s")
    raise MembershipError(
        "LeadershipNotMoved",
        f"etcd member {leader.name} ({leader.hex_id}) leads, and leadership did not move away from it"
        f" ({'; '.join(reasons) or 'no healthy voter to move to'}). Nothing else was done.",
    )


def require_candidate(view: View, leader: Member, to: t.Sequence[str] = ()) -> None:
    """Refuse if no other member can lead now.

    Raises MembershipError: LeadershipNotMoved.
    """
    able, reasons = _candidates(view, leader, to)
    if not able:
        said = "; ".join(reasons) or "no healthy voter to move to"
        raise MembershipError(
            "LeadershipNotMoved",
            f"etcd member {leader.name} ({leader.hex_id}) leads, and no other can take that over ({said}). Nothing was changed.",
        )


def _candidates(view: View, leader: Member, to: t.Sequence[str]) -> tuple[list[Member], list[str]]:
    """Return the next leader's candidates, best first, and reasons against others.

    The reasons are only about members that were asked for.
    """
    able = [m for m in view.members if m.id != leader.id and not m.is_learner and not view.unhealthy(m)]
    if not to:
        return sorted(able, key=lambda m: (-_applied(view, m), m.id)), []
    chosen: list[Member] = []
    reasons = []
    for name in dict.fromkeys(to):
        found = [member for member in able if member.name == name]
        chosen += found
        if not found:
            named = [member for member in view.members if member.name == name]
            if not named:
                why = "etcd has no member of that name"
            elif named[0].id == leader.id:
                why = "it is the one that leads"
            else:
                why = "it is a learner" if named[0].is_learner else view.unhealthy(named[0])
            reasons.append(f"{name}: {why}")
    return chosen, reasons


def _applied(view: View, member: Member) -> int:
    status = view.witnesses[member.id].status
    return status.raft_applied_index or status.raft_index if status is not None else 0


def _remove(cluster: Cluster, view: View, victim: Member, new_leader: t.Optional[Member]) -> None:
    first = new_leader.id if new_leader else view.leader
    healthy = [m for m in view.members if m.id != victim.id and not m.is_learner and not view.unhealthy(m)]
    healthy.sort(key=lambda m: (m.id != first, m.id))
    if not healthy:
        raise MembershipError(
            "NotReachable", f"no healthy voter is left to remove {victim.hex_id} through. Nothing was changed."
        )
    through = healthy[0]
    url = view.witnesses[through.id].url
    deadline = time.monotonic() + cluster.settle
    with Gateway(url, cluster.credentials, settings.MEMBER_CHANGE_SECONDS) as gateway:
        while True:
            try:
                gateway.member_remove(victim.id)
                return
            except EtcdError as error:
                if error.code == NOT_FOUND:
                    return
                # etcd refuses while its members have been connected for less than five seconds.
                if error.code != UNAVAILABLE or time.monotonic() >= deadline:
                    raise MembershipError("QuorumAtRisk", f"{error}. The member was not removed.") from error
            except Unreachable:
                # The change may have been made all the same: what follows looks.
                return
            time.sleep(_POLL_SECONDS)


def _prove(cluster: Cluster, before: View, victim: Member) -> View:
    """Wait until the victim is gone; return the view that proves it.

    Gone: no member that answers lists it, and a quorum works.
    """
    survivors = [w.url for identity, w in before.witnesses.items() if identity != victim.id and w.members is not None]
    deadline = time.monotonic() + cluster.settle
    while True:
        view = members_view(survivors, cluster.credentials, cluster.timeout)
        gone = view.reachable and all(listed.get(victim.id) is None for listed in view.lists)
        if gone and view.leader and any(witness.reads for witness in view.witnesses.values()):
            return view
        if time.monotonic() >= deadline:
            state = "it is no longer listed, but etcd does not serve" if gone else "it is still listed"
            raise MembershipError(
                "NotProven",
                f"the removal of etcd member {victim.name} ({victim.hex_id}) was asked for, but {cluster.settle:g} s later"
                f" {state} ({view.message or view.disagreement or 'no leader'}). Look at etcd before anything else is done.",
            )
        time.sleep(_POLL_SECONDS)
