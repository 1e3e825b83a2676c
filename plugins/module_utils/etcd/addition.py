# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addition of a learner, before its etcd runs.

Evidence, arithmetic, the change and its proof in one call, as in membership.py. A learner has no vote: whatever becomes of its
machine, the quorum is what it was. ``promotion.py`` lets it vote once it has caught up.
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass

from ..common import settings
from ..common.https import Unreachable
from ..common.quorum import Figures, Verdict, figures, has_learners
from .gateway import Gateway
from .membership import Cluster, MembershipError, member_states, require_evidence
from .types import FAILED_PRECONDITION, UNAVAILABLE, EtcdError, Member
from .view import View

_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Addition:
    """Result of an addition.

    ``member`` is None in check mode, where there is none yet; ``after`` where nothing was changed.
    """

    changed: bool
    message: str
    member: t.Optional[Member]
    verdict: t.Optional[Verdict]
    before: View
    after: t.Optional[View] = None


def add_learner(
    cluster: Cluster,
    peer_url: str,
    *,
    cluster_id: t.Optional[int] = None,
    check: bool = False,
    before_change: t.Callable[[], None] = lambda: None,
) -> Addition:
    """Add a learner with a peer URL, or refuse with the arithmetic.

    A learner with that URL is no change, started or not.

    Args:
        cluster: access to the cluster.
        peer_url: where the new member will listen for the others.
        cluster_id: the cluster that is meant; another is refused.
        check: stop before anything is changed.
        before_change: called right before the change, to prove that the caller still may; an error it raises ends this.

    Raises:
        MembershipError: refused (NotReachable, WrongCluster, ViewsDisagree, PeerUrlTaken, NoLearners, QuorumAtRisk,
            LeaderUnknown), or NotProven.
    """
    view = cluster.patient_view()
    require_evidence(view, cluster_id)
    found = by_peer_url(view, peer_url)
    if found is not None and found.is_learner:
        return Addition(False, f"etcd has the learner {found.hex_id} at {peer_url} already", found, None, view)
    if found is not None:
        raise MembershipError(
            "PeerUrlTaken",
            f"{peer_url} is that of the voter {found.name or 'without a name'} ({found.hex_id}). Nothing was changed: remove that one first.",
        )
    if not has_learners(view.document()):
        raise MembershipError(
            "NoLearners", "etcd has learners since 3.4, and not every voter is known to be as new. Nothing was changed."
        )
    verdict = check_add_learner(view)
    if not verdict.allowed:
        text = f"adding a learner at {peer_url} is refused: {verdict.why}. Nothing was changed."
        raise MembershipError("QuorumAtRisk", text, verdict)
    if not view.leader:
        raise MembershipError("LeaderUnknown", "no healthy majority names the leader of etcd. Nothing was changed.")
    if check:
        return Addition(True, f"a learner would be added at {peer_url}: {verdict.why}", None, verdict, view)
    before_change()
    _add(cluster, view, peer_url)
    after, member = _prove(cluster, peer_url)
    text = f"the learner {member.hex_id} was added at {peer_url}: {verdict.why}"
    return Addition(True, text, member, verdict, view, after)


def by_peer_url(view: View, peer_url: str) -> t.Optional[Member]:
    """Return the member with a peer URL, or None."""
    return next((member for member in view.members if peer_url in member.peer_urls), None)


def check_add_learner(view: View) -> Verdict:
    """Return the verdict on one more learner.

    It changes no figure. Refused without quorum, and beside another unfinished change
    (docs/reference/invariants.md, "One change at a time").
    """
    states = member_states(view)
    now: Figures = figures(states)
    unsettled = ", ".join(each.describe() for each in states if not each.settled)
    if unsettled:
        return Verdict(False, now, now, f"an earlier change is unfinished: {unsettled}")
    if not now.has_quorum:
        return Verdict(False, now, now, f"etcd has no quorum to commit the change: {now}")
    return Verdict(True, now, now, f"{now}; a learner has no vote")


def _add(cluster: Cluster, view: View, peer_url: str) -> None:
    """Ask the leader to add the learner.

    A server that has not been connected to all voters for five seconds refuses; it is asked again for as long as a change
    is waited for.
    """
    deadline = time.monotonic() + cluster.settle
    while True:
        try:
            with Gateway(
                view.witnesses[view.leader].url, cluster.credentials, settings.MEMBER_CHANGE_SECONDS
            ) as gateway:
                gateway.member_add([peer_url], learner=True)
            return
        except EtcdError as error:
            if error.code not in (UNAVAILABLE, FAILED_PRECONDITION) or time.monotonic() >= deadline:
                raise MembershipError("QuorumAtRisk", f"{error}. No learner was added.") from error
            time.sleep(_POLL_SECONDS)
        except Unreachable:
            # The change may have been made all the same: what follows looks.
            return


def _prove(cluster: Cluster, peer_url: str) -> tuple[View, Member]:
    deadline = time.monotonic() + cluster.settle
    while True:
        view = cluster.view()
        member = by_peer_url(view, peer_url)
        listed = member is not None and all(each.get(member.id) == member for each in view.lists)
        if member is not None and listed and member.is_learner and view.leader:
            return view, member
        if time.monotonic() >= deadline:
            state = "it votes" if member is not None and not member.is_learner else "not every member lists it"
            raise MembershipError(
                "NotProven",
                f"a learner at {peer_url} was asked for, but {cluster.settle:g} s later {state}. Look at etcd before anything else is done.",
            )
        time.sleep(_POLL_SECONDS)
