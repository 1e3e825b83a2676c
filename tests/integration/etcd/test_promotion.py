# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Learners of real etcd clusters that are promoted, or are not yet."""

from __future__ import annotations

import typing as t

import pytest
from etcd_cluster import EtcdCluster, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import Cluster, MembershipError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.promotion import check_promote, promote_member

Make = t.Callable[..., EtcdCluster]
QUICK = ("--heartbeat-interval=25", "--election-timeout=250")


def reached(cluster: EtcdCluster) -> Cluster:
    return Cluster([member.client_url for member in cluster.members], cluster.credentials, looks=1, interval=0.0)


def learners(cluster: EtcdCluster) -> list[str]:
    with cluster.gateway(cluster.members[0]) as gateway:
        return [member.name for member in gateway.member_list().members if member.is_learner]


def test_a_learner_that_caught_up_votes_and_a_voter_is_no_change(make_cluster: Make) -> None:
    cluster = make_cluster(3, options=QUICK)
    cluster.put(b"key", b"value")
    cluster.add("late", learner=True)
    until("the learner answers", lambda: learners(cluster) == ["late"])
    told = promote_member(reached(cluster), name="late", wait=20, check=True)
    assert told.changed and learners(cluster) == ["late"]
    done = promote_member(reached(cluster), name="late", wait=20)
    assert done.changed and done.after is not None and learners(cluster) == []
    assert "3 voters, 3 healthy, quorum 2; with the new voter 4 voters, 4 healthy, quorum 3" in done.message
    assert not promote_member(reached(cluster), name="late").changed
    with pytest.raises(MembershipError) as refused:
        promote_member(reached(cluster), name="nobody")
    assert refused.value.reason == "UnknownMember"


def test_from_one_voter_to_two_a_learner_that_works_is_enough(make_cluster: Make) -> None:
    cluster = make_cluster(1, options=QUICK)
    cluster.add("late", learner=True)
    until("the learner answers", lambda: learners(cluster) == ["late"])
    assert promote_member(reached(cluster), name="late", wait=20).changed


def test_one_that_never_started_or_would_cost_the_quorum_is_refused_with_the_figures(make_cluster: Make) -> None:
    cluster = make_cluster(3, options=QUICK)
    cluster.add("absent", learner=True, start=False)
    with cluster.gateway(cluster.members[0]) as gateway:
        [added] = [member for member in gateway.member_list().members if member.is_learner]
    with pytest.raises(MembershipError, match="it was added but never started") as refused:
        promote_member(reached(cluster), member_id=added.id)
    assert refused.value.reason == "QuorumAtRisk"
    late = cluster.members[-1]
    initial = [(member.name, member.peer_url) for member in cluster.members]
    cluster.start(late, initial)
    until("the learner answers", lambda: learners(cluster) == ["absent"])
    cluster.members[1].kill()
    until("the others see it", lambda: reached(cluster).view().leader)
    with pytest.raises(MembershipError, match="4 voters, 2 healthy, quorum 3 if the new voter fails") as refused:
        promote_member(reached(cluster), name="absent")
    assert refused.value.verdict is not None and not refused.value.verdict.allowed
    assert learners(cluster) == ["absent"]


def test_one_that_was_behind_is_promoted_once_it_has_caught_up(make_cluster: Make) -> None:
    cluster = make_cluster(1, options=QUICK)
    late = cluster.add("late", learner=True)
    until("the learner answers", lambda: learners(cluster) == ["late"])
    view = until("both are seen", lambda: seen(cluster))
    assert check_promote(view, view.get(cluster.id_of("late"))).allowed
    late.pause()
    try:
        for number in range(400):
            cluster.put(b"key-%d" % number, b"value")
    finally:
        late.resume()
    # It catches up at once: what etcd says in between is its own, what is waited for is here.
    assert promote_member(reached(cluster), name="late", wait=20).changed


def seen(cluster: EtcdCluster) -> t.Any:
    view = reached(cluster).view()
    return view if len(view.witnesses) == 2 and all(witness.status for witness in view.witnesses.values()) else None
