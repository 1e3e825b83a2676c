# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Promotion of a learner to a voter.

Evidence, arithmetic, the change and its proof in one call, as in membership.py.
kubeadm promotes the learners that it adds itself, but one that it was cut off from; those that are added before kubeadm runs are
promoted by this alone (docs/reference/kubeadm.md, "Joining").
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass

from ..common import settings
from ..common.https import Unreachable
from ..common.quorum import Figures, Verdict, figures
from .addition import by_peer_url
from .gateway import Gateway
from .membership import Cluster, MembershipError, find_member, member_states, require_evidence
from .types import EtcdError, Member, to_hex
from .view import View

# etcd promotes a learner whose log has this share of the leader's (server.go: readyPercentThreshold).
IN_SYNC = 0.9
_POLL_SECONDS = 0.25
# Refusals that may pass by themselves, while it is waited for that.
_PASSING = ("NotReachable", "ViewsDisagree", "QuorumAtRisk", "LeaderUnknown", "NotInSync")


@dataclass(frozen=True)
class Promotion:
    """Result of a promotion.

    ``after`` is None where nothing was changed (a voter already, or check mode).
    """

    changed: bool
    message: str
    member: Member
    verdict: t.Optional[Verdict]
    before: View
    after: t.Optional[View] = None


def promote_member(
    cluster: Cluster,
    *,
    member_id: t.Optional[int] = None,
    name: t.Optional[str] = None,
    peer_url: t.Optional[str] = None,
    cluster_id: t.Optional[int] = None,
    wait: float = 0.0,
    check: bool = False,
    before_change: t.Callable[[], None] = lambda: None,
) -> Promotion:
    """Promote a learner to a voter, or refuse with the arithmetic.

    A member that votes already is no change.

    Args:
        cluster: access to the cluster.
        member_id, name, peer_url: the member, by one of them or by more that all fit.
        cluster_id: the cluster that is meant; another is refused.
        wait: seconds, at most, until the learner has started, has caught up with the leader, and nothing else refuses it.
        check: stop before anything is changed.
        before_change: called right before the change, to prove that the caller still may; an error it raises ends this.

    Raises:
        MembershipError: refused (NotReachable, WrongCluster, ViewsDisagree, UnknownMember, AmbiguousName, QuorumAtRisk,
            LeaderUnknown, NotInSync), or NotProven.
    """
    deadline = time.monotonic() + wait
    # Who waits looks again anyway; else one sample is not enough to call somebody dead.
    view = cluster.view() if wait > 0 else cluster.patient_view()
    while True:
        try:
            learner, verdict = _promotable(view, member_id, name, peer_url, cluster_id)
            break
        except MembershipError as error:
            if error.reason not in _PASSING or time.monotonic() >= deadline:
                raise
        time.sleep(_POLL_SECONDS)
        view = cluster.view()
    title = _title(learner)
    if verdict is None:
        return Promotion(False, f"etcd member {title} votes already", learner, None, view)
    if check:
        return Promotion(True, f"etcd member {title} would be promoted: {verdict.why}", learner, verdict, view)
    before_change()
    _promote(cluster, view, learner)
    return Promotion(
        True, f"etcd member {title} was promoted: {verdict.why}", learner, verdict, view, _prove(cluster, learner)
    )


def _promotable(
    view: View,
    member_id: t.Optional[int],
    name: t.Optional[str],
    peer_url: t.Optional[str],
    cluster_id: t.Optional[int],
) -> tuple[Member, t.Optional[Verdict]]:
    """Return the learner with the verdict on its promotion, or refuse.

    The verdict is None for a voter.
    """
    require_evidence(view, cluster_id)
    learner = by_peer_url(view, peer_url) if peer_url else find_member(view, member_id, name)
    if learner is None:
        what = f"at {peer_url}" if peer_url else to_hex(member_id) if member_id is not None else f"named {name}"
        raise MembershipError(
            "UnknownMember", f"etcd has no member {what}. Nothing was changed: join its machine first."
        )
    if peer_url and (member_id not in (None, learner.id) or name not in (None, learner.name)):
        raise MembershipError("UnknownMember", f"the member at {peer_url} is {_title(learner)}. Nothing was changed.")
    if not learner.is_learner:
        return learner, None
    verdict = check_promote(view, learner)
    if not verdict.allowed:
        raise MembershipError(
            "QuorumAtRisk", f"promoting {_title(learner)} is refused: {verdict.why}. Nothing was changed.", verdict
        )
    if not view.leader:
        raise MembershipError(
            "LeaderUnknown",
            f"no healthy majority names the leader of etcd, so {_title(learner)} can't be promoted. Nothing was changed.",
        )
    has, leads = progress(view, learner)
    if not leads or has < IN_SYNC * leads:
        raise MembershipError("NotInSync", _behind(view, learner))
    return learner, verdict


def _title(member: Member) -> str:
    return f"{member.name or 'the member that never started'} ({member.hex_id})"


def check_promote(view: View, learner: Member) -> Verdict:
    """Return the quorum's verdict on one more voter.

    Allowed where etcd has its quorum now, and would have it if the new voter failed.
    From one voter to two that can't be; there, a learner that is proven to work is enough
    (docs/reference/invariants.md, "Quorum stays", "One change at a time").
    """
    states = member_states(view)
    before = figures(states)
    works = not view.unhealthy(learner)
    after = Figures(before.voters + 1, before.healthy + (1 if works and before.voters <= 1 else 0))
    unsettled = [each.describe() for each in states if each.id != learner.hex_id and not each.settled]
    if unsettled:
        return Verdict(False, before, after, f"another change is unfinished: {', '.join(unsettled)}")
    if not works:
        return Verdict(False, before, after, f"it is not proven to work: {view.unhealthy(learner)}")
    if not before.has_quorum:
        return Verdict(False, before, after, f"etcd has no quorum to commit the change: {before}")
    if not after.has_quorum:
        return Verdict(False, before, after, f"{after} if the new voter fails: fewer healthy than the quorum")
    return Verdict(True, before, after, f"{before}; with the new voter {Figures(after.voters, before.healthy + 1)}")


def progress(view: View, learner: Member) -> tuple[int, int]:
    """Return the log indexes of the learner and of the leader.

    0 for one that is not known.
    """
    found = []
    for identity in (learner.id, view.leader):
        witness = view.witnesses.get(identity)
        status = witness.status if witness is not None else None
        found.append(status.raft_applied_index or status.raft_index if status is not None else 0)
    return found[0], found[1]


def _behind(view: View, learner: Member) -> str:
    has, leads = progress(view, learner)
    share = f" ({100 * has // leads}%)" if leads else ""
    return (
        f"{learner.name} ({learner.hex_id}) has not caught up: its log is at {has} of the leader's {leads}{share}, and etcd promotes from"
        f" {IN_SYNC:.0%}. Nothing was changed. Wait (option wait), and look at the disk and the network of its machine if it stays so."
    )


def _promote(cluster: Cluster, view: View, learner: Member) -> None:
    url = view.witnesses[view.leader].url
    try:
        with Gateway(url, cluster.credentials, settings.MEMBER_CHANGE_SECONDS) as gateway:
            gateway.member_promote(learner.id)
    except EtcdError as error:
        if "in sync" in error.detail:
            raise MembershipError(
                "NotInSync", f"{_behind(cluster.view(), learner)} etcd said: {error.detail}."
            ) from error
        raise MembershipError("QuorumAtRisk", f"{error}. The member was not promoted.") from error
    except Unreachable:
        # The change may have been made all the same: what follows looks.
        return


def _prove(cluster: Cluster, learner: Member) -> View:
    deadline = time.monotonic() + cluster.settle
    while True:
        view = cluster.view()
        known = [listed.get(learner.id) for listed in view.lists]
        votes = bool(known) and all(each is not None and not each.is_learner for each in known)
        if votes and view.leader and any(witness.reads for witness in view.witnesses.values()):
            return view
        if time.monotonic() >= deadline:
            raise MembershipError(
                "NotProven",
                f"the promotion of {learner.name} ({learner.hex_id}) was asked for, but {cluster.settle:g} s later"
                f" {'etcd does not serve' if votes else 'not every member lists it as a voter'}. Look at etcd before anything else is done.",
            )
        time.sleep(_POLL_SECONDS)
