# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leadership moved off a member of real etcd clusters."""

from __future__ import annotations

import typing as t

import pytest
from etcd_cluster import EtcdCluster, EtcdMember, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd import membership
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.leadership_transfer import hand_over
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import MembershipError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.view import members_view

Make = t.Callable[..., EtcdCluster]


def reach(cluster: EtcdCluster, *members: EtcdMember) -> membership.Cluster:
    urls = [member.client_url for member in members or cluster.members]
    return membership.Cluster(urls, cluster.credentials, timeout=1.0, looks=2, interval=0.1, settle=12.0)


def others(cluster: EtcdCluster, *members: EtcdMember) -> list[EtcdMember]:
    return [member for member in cluster.members if member not in members]


def test_the_leader_hands_over_to_the_first_that_can(cluster: EtcdCluster) -> None:
    leader = cluster.leader()
    first, second = others(cluster, leader)
    wanted = ["nobody", second.name, first.name]
    told = hand_over(reach(cluster, first), name=leader.name, to=wanted, check=True)
    assert told.changed and told.leader.name == leader.name == cluster.leader().name
    done = hand_over(reach(cluster, first), name=leader.name, to=wanted)
    assert done.changed and done.leader.name == second.name == cluster.leader().name
    again = hand_over(reach(cluster, first), name=leader.name, to=wanted)
    assert not again.changed and again.leader.name == second.name


def test_any_healthy_voter_will_do(cluster: EtcdCluster) -> None:
    leader = cluster.leader()
    identity = cluster.id_of(leader.name)
    done = hand_over(reach(cluster), member_id=identity, name=leader.name)
    assert done.changed and done.leader.id != identity
    assert done.leader.name == cluster.leader().name


def test_who_does_not_lead_or_is_not_there_is_no_change(cluster: EtcdCluster) -> None:
    leader = cluster.leader()
    for victim in ({"name": others(cluster, leader)[0].name}, {"name": "gone"}, {"member_id": 0x1234}):
        done = hand_over(reach(cluster), **victim)  # type: ignore[arg-type]
        assert not done.changed and done.leader.name == leader.name
    assert cluster.leader() is leader


def test_the_caller_that_may_not_any_more_moves_nothing(cluster: EtcdCluster) -> None:
    leader = cluster.leader()

    def lost() -> None:
        raise PermissionError("lost its lock")

    with pytest.raises(PermissionError):
        hand_over(reach(cluster), name=leader.name, before_change=lost)
    assert cluster.leader() is leader


def test_another_cluster_is_refused(cluster: EtcdCluster) -> None:
    with pytest.raises(MembershipError, match="Nothing was changed") as refused:
        hand_over(reach(cluster), name="m1", cluster_id=1)
    assert refused.value.reason == "WrongCluster"


def test_a_dead_candidate_is_named_and_not_tried(make_cluster: Make) -> None:
    cluster = make_cluster()
    leader = cluster.leader()
    dead, alive = others(cluster, leader)
    dead.kill()
    for check in (True, False):
        with pytest.raises(MembershipError, match=f"{dead.name}: .*refused") as refused:
            hand_over(reach(cluster, leader), name=leader.name, to=[dead.name], check=check)
        assert refused.value.reason == "LeadershipNotMoved"
    assert cluster.leader() is leader
    done = hand_over(reach(cluster, leader), name=leader.name, to=[dead.name, alive.name])
    assert done.leader.name == alive.name


def test_a_learner_is_no_candidate(make_cluster: Make) -> None:
    cluster = make_cluster(1)
    learner = cluster.add("m2", learner=True)
    until(
        "the learner is named",
        lambda: (
            len([m for m in members_view([cluster.members[0].client_url], cluster.credentials, 1.0).members if m.name])
            == 2
        ),
    )
    for check in (True, False):
        with pytest.raises(MembershipError, match="m2: it is a learner"):
            hand_over(reach(cluster, cluster.members[0]), name="m1", to=["m2"], check=check)
        with pytest.raises(MembershipError, match="no healthy voter to move to"):
            hand_over(reach(cluster, cluster.members[0]), name="m1", check=check)
    learner.kill()


def test_without_a_leader_nobody_can_hand_over(make_cluster: Make) -> None:
    cluster = make_cluster()
    leader = cluster.leader()
    for member in others(cluster, leader):
        member.kill()
    until("its leader gives up", lambda: not members_view([leader.client_url], cluster.credentials, 1.0).leader)
    with pytest.raises(MembershipError, match="no healthy majority names the leader") as refused:
        hand_over(reach(cluster, leader), name=leader.name)
    assert refused.value.reason == "LeaderUnknown"
