# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfer of leadership off a member that is about to go.

So its end costs no election.
Source: docs/reference/cluster_api.md, "Removing etcd members".
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .membership import (
    Cluster,
    MembershipError,
    find_member,
    move_leader,
    require_candidate,
    require_cluster,
    silent_leader,
)
from .types import Member
from .view import View


@dataclass(frozen=True)
class Handover:
    """Result of a transfer of leadership.

    ``leader`` leads now; in check mode it is the one that still leads.
    """

    changed: bool
    message: str
    leader: Member
    before: View


def hand_over(
    cluster: Cluster,
    *,
    member_id: t.Optional[int] = None,
    name: t.Optional[str] = None,
    to: t.Sequence[str] = (),
    cluster_id: t.Optional[int] = None,
    check: bool = False,
    before_change: t.Callable[[], None] = lambda: None,
) -> Handover:
    """Move leadership off a member if it leads.

    A member that doesn't lead, or is absent, is no change.

    Args:
        cluster: access to the cluster.
        member_id, name: the member that is not to lead.
        to: names of those that may lead instead, best first; none: any healthy voter.
        cluster_id: the cluster that is meant; another is refused.
        check: stop before leadership moves.
        before_change: called right before it, to prove that the caller still may; an error it raises ends this.

    Raises:
        MembershipError: NotReachable, WrongCluster, AmbiguousName, UnknownMember, LeaderUnknown, LeaderSilent,
            LeadershipNotMoved.
    """
    view = cluster.view()
    found = view.get(view.leader)
    if found is None or silent_leader(view, found):
        view = cluster.patient_view()
    require_cluster(view, cluster_id)
    leader = view.get(view.leader)
    if leader is None:
        raise MembershipError(
            "LeaderUnknown",
            f"no healthy majority names the leader of etcd ({_silence(view) or 'an election is under way'}), so leadership can't be moved."
            " Nothing was changed.",
        )
    member = find_member(view, member_id, name)
    title = f"{leader.name} ({leader.hex_id})"
    if member is None or member.id != leader.id:
        return Handover(False, f"etcd's leader is {title}: nothing to move", leader, view)
    silent = silent_leader(view, leader)
    if silent:
        raise MembershipError(
            "LeaderSilent",
            f"{silent}. Nothing was changed. Only the leader itself can: mend what it is not asked for, or remove it (etcd_member), and the others elect one.",
        )
    require_candidate(view, leader, to)
    if check:
        return Handover(True, f"leadership of etcd would move away from {title}", leader, view)
    before_change()
    new = move_leader(cluster, view, leader, to)
    return Handover(True, f"leadership of etcd moved from {title} to {new.name} ({new.hex_id})", new, view)


def _silence(view: View) -> str:
    return "; ".join(f"{m.name or m.hex_id}: {view.unhealthy(m)}" for m in view.members if view.unhealthy(m))
