# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all members say, and the removal of one, against real etcd clusters with really dead members."""

from __future__ import annotations

import dataclasses
import os
import socket
import typing as t

import pytest
from etcd_cluster import EtcdCluster, EtcdMember, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd import membership
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.leadership_transfer import hand_over
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import (
    MembershipError,
    remove_member,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import to_hex
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.view import View, members_view

Make = t.Callable[..., EtcdCluster]


def reach(cluster: EtcdCluster, *members: EtcdMember) -> membership.Cluster:
    urls = [member.client_url for member in members or cluster.members]
    return membership.Cluster(urls, cluster.credentials, timeout=1.0, looks=2, interval=0.1, settle=12.0)


def view(cluster: EtcdCluster, member: EtcdMember, timeout: float = 1.0) -> View:
    return members_view([member.client_url], cluster.credentials, timeout)


def names(seen: View) -> list[str]:
    return sorted(member.name for member in seen.members)


def test_one_endpoint_is_enough_to_hear_every_member(cluster: EtcdCluster) -> None:
    seen = view(cluster, cluster.members[1])
    assert names(seen) == ["m1", "m2", "m3"]
    assert len(seen.lists) == 3
    assert seen.agrees is True
    assert seen.leader == cluster.id_of(cluster.leader().name)
    document = seen.document()
    assert document["reachable"] and document["memberListAgrees"]
    assert document["alarms"] == []
    assert all(status["healthy"] and status["version"] for status in document["statuses"].values())
    assert document["leader"] in document["statuses"]


def test_a_dead_member_is_unhealthy_with_a_reason_and_the_rest_agree(make_cluster: Make) -> None:
    cluster = make_cluster()
    cluster.member("m3").kill()
    until("the others have a leader", lambda: view(cluster, cluster.members[0]).leader)
    seen = cluster_view = view(cluster, cluster.members[0])
    dead = seen.get(cluster.id_of("m3"))
    assert dead is not None
    assert "refused" in seen.unhealthy(dead)
    assert cluster_view.agrees is True
    assert seen.document()["statuses"][dead.hex_id] == {
        "healthy": False,
        "message": seen.unhealthy(dead),
        "looks": 1,
        "failedLooks": 1,
    }


def test_a_hanging_member_costs_its_timeout_and_is_unhealthy(make_cluster: Make) -> None:
    cluster = make_cluster()
    cluster.member("m3").pause()
    seen = view(cluster, cluster.members[0])
    hanging = seen.get(cluster.id_of("m3"))
    assert hanging is not None
    assert "no answer within" in seen.unhealthy(hanging)


def test_no_member_answering_is_a_view_and_not_an_error(make_cluster: Make) -> None:
    cluster = make_cluster(1)
    cluster.members[0].kill()
    seen = view(cluster, cluster.members[0])
    assert not seen.reachable
    assert "refused" in seen.message
    assert seen.document()["memberListAgrees"] is None


def test_a_follower_is_removed_by_id_and_again_is_no_change(make_cluster: Make) -> None:
    cluster = make_cluster()
    leader = cluster.leader()
    victim = next(member for member in cluster.members if member is not leader)
    others = [member for member in cluster.members if member is not victim]
    identity = cluster.id_of(victim.name)
    told = remove_member(reach(cluster, *others), member_id=identity, check=True)
    assert told.changed and told.after is None
    assert len(view(cluster, leader).members) == 3
    done = remove_member(reach(cluster, *others), member_id=identity)
    assert done.changed and done.new_leader is None
    assert done.verdict is not None
    assert (done.verdict.before.voters, done.verdict.after.voters, done.verdict.after.quorum) == (3, 2, 2)
    assert names(view(cluster, leader)) == sorted(member.name for member in others)
    again = remove_member(reach(cluster, *others), member_id=identity)
    assert not again.changed
    assert "nothing to remove" in again.message


def test_leadership_moves_before_the_leader_is_removed(make_cluster: Make) -> None:
    cluster = make_cluster()
    leader = cluster.leader()
    done = remove_member(reach(cluster, *(m for m in cluster.members if m is not leader)), name=leader.name)
    assert done.changed
    assert done.after is not None
    assert done.new_leader in [member.hex_id for member in done.after.members]
    assert leader.name not in names(done.after)


def test_a_dead_member_of_three_is_removed(make_cluster: Make) -> None:
    cluster = make_cluster()
    identity = cluster.id_of("m3")
    cluster.member("m3").kill()
    until("the others have a leader", lambda: view(cluster, cluster.members[0]).leader)
    assert remove_member(reach(cluster, cluster.members[0]), member_id=identity).changed
    assert names(view(cluster, cluster.members[0])) == ["m1", "m2"]


def test_a_healthy_member_is_not_removed_while_another_is_dead(make_cluster: Make) -> None:
    cluster = make_cluster()
    cluster.member("m3").kill()
    until("the others have a leader", lambda: view(cluster, cluster.members[0]).leader)
    with pytest.raises(MembershipError) as refused:
        remove_member(reach(cluster, cluster.members[0]), name="m2")
    assert refused.value.reason == "QuorumAtRisk"
    assert "Before: 3 voters, 2 healthy, quorum 2. After: 2 voters, 1 healthy, quorum 2." in str(refused.value)
    assert "m3" in str(refused.value)
    assert names(view(cluster, cluster.members[0])) == ["m1", "m2", "m3"]


def test_nothing_is_removed_without_quorum(make_cluster: Make) -> None:
    cluster = make_cluster()
    identity = cluster.id_of("m3")
    cluster.member("m2").kill()
    cluster.member("m3").kill()
    with pytest.raises(MembershipError, match="Nothing was changed") as refused:
        remove_member(reach(cluster, cluster.members[0]), member_id=identity)
    assert refused.value.reason in ("ViewsDisagree", "QuorumAtRisk")


def test_the_last_voter_is_never_removed(make_cluster: Make) -> None:
    cluster = make_cluster(1)
    with pytest.raises(MembershipError, match="last voter") as refused:
        remove_member(reach(cluster), name="m1")
    assert refused.value.reason == "QuorumAtRisk"


def test_the_second_of_two_voters_can_go_while_both_are_well(make_cluster: Make) -> None:
    cluster = make_cluster(2)
    assert remove_member(reach(cluster, cluster.members[0]), name="m2").changed
    with pytest.raises(MembershipError, match="last voter"):
        remove_member(reach(cluster, cluster.members[0]), name="m1")


def test_a_dead_one_of_two_is_refused(make_cluster: Make) -> None:
    cluster = make_cluster(2)
    cluster.member("m2").kill()
    with pytest.raises(MembershipError, match="Nothing was changed"):
        remove_member(reach(cluster, cluster.members[0]), name="m2")


def test_a_learner_is_removed_and_blocks_the_removal_of_others(make_cluster: Make) -> None:
    cluster = make_cluster()
    learner = cluster.add("m4", learner=True)
    until("the learner is named", lambda: "m4" in names(view(cluster, cluster.members[0])))
    with pytest.raises(MembershipError, match="unfinished: learner m4"):
        remove_member(reach(cluster), name="m3")
    assert remove_member(reach(cluster), name="m4").changed
    learner.kill()
    assert names(view(cluster, cluster.members[0])) == ["m1", "m2", "m3"]


def test_a_member_that_never_started_is_removed_by_its_id(make_cluster: Make) -> None:
    cluster = make_cluster()
    ghost = cluster.add("m4", start=False)
    seen = view(cluster, cluster.members[0])
    entry = next(member for member in seen.members if member.peer_urls == (ghost.peer_url,))
    assert seen.unhealthy(entry) == "it was added but never started"
    with pytest.raises(MembershipError, match="that never started"):
        remove_member(reach(cluster), name="m3")
    assert remove_member(reach(cluster), member_id=entry.id).changed


def test_an_alarm_counts_against_the_quorum(make_cluster: Make) -> None:
    cluster = make_cluster(2, options=["--quota-backend-bytes=262144"])
    until("etcd refuses writes", lambda: cluster.put(b"key", os.urandom(65536)) != 200)

    def view_with_alarms() -> View | None:
        found = view(cluster, cluster.members[0])
        return found if found.alarms else None

    seen = until("the alarm is seen", view_with_alarms)
    alarmed = {alarm.member_id for alarm in seen.alarms}
    assert all(seen.unhealthy(member) for member in seen.members if member.id in alarmed)
    assert all(status["errors"] == [] for status in seen.document()["statuses"].values())
    with pytest.raises(MembershipError, match="alarm NOSPACE"):
        remove_member(reach(cluster), name="m2")


def test_another_cluster_than_meant_is_refused(cluster: EtcdCluster) -> None:
    with pytest.raises(MembershipError) as refused:
        remove_member(reach(cluster), name="m1", cluster_id=0xDEAD)
    assert refused.value.reason == "WrongCluster"
    assert to_hex(0xDEAD) in str(refused.value)


def test_a_name_and_an_id_that_contradict_each_other_are_refused(cluster: EtcdCluster) -> None:
    with pytest.raises(MembershipError) as refused:
        remove_member(reach(cluster), name="m1", member_id=cluster.id_of("m2"))
    assert refused.value.reason == "UnknownMember"


def test_what_is_raised_right_before_the_change_prevents_it(make_cluster: Make) -> None:
    cluster = make_cluster()

    def lost() -> None:
        raise PermissionError("the lock is lost")

    with pytest.raises(PermissionError):
        remove_member(reach(cluster), name="m3", before_change=lost)
    assert names(view(cluster, cluster.members[0])) == ["m1", "m2", "m3"]


# What a real etcd publishes as a member's client URL, whatever it leads to.
NOT_TO_BE_ASKED = (
    "https://10.0.0.1:99999",
    "https://a..b:2379",
    "https://x@127.0.0.1:2379",
    "https://[zz]:2379",
    "https://[::1%25a%20b]:2379",
    "https://$(id):2379",
    "unix://localhost:2379",
    "http://127.0.0.1:{port}",
)


def test_a_member_whose_url_is_not_to_be_asked_is_unhealthy_and_can_be_removed(make_cluster: Make) -> None:
    """Plain HTTP is among them, where the others have TLS: nothing listens to what is never sent."""
    cluster = make_cluster()
    victim = cluster.member("m3")
    identity = cluster.id_of("m3")
    # Nobody here is silent: the others have all the time that a busy machine takes.
    asked = dataclasses.replace(reach(cluster, cluster.members[0]), timeout=20.0)
    with socket.create_server(("127.0.0.1", 0)) as plain:
        plain.setblocking(False)
        for url in NOT_TO_BE_ASKED:
            victim.kill()
            victim.advertised = url.format(port=plain.getsockname()[1])
            cluster.start(victim)

            def published() -> View | None:
                seen = view(cluster, cluster.members[0], 20.0)
                listed = [each.get(identity) for each in seen.lists]
                told = [each.client_urls for each in listed if each is not None]
                return seen if told == [(victim.advertised,)] * 2 and seen.leader else None

            seen = until(f"{url} is listed", published)
            entry = seen.get(identity)
            assert "is not asked" in seen.unhealthy(entry)
            assert [seen.unhealthy(each) for each in seen.members if each.id != identity] == ["", ""]
            assert remove_member(asked, member_id=identity, check=True).changed
        with pytest.raises(MembershipError, match="is not asked") as refused:
            remove_member(asked, name="m2")
        assert refused.value.reason == "QuorumAtRisk"
        with pytest.raises(BlockingIOError):
            plain.accept()
    assert remove_member(asked, member_id=identity).changed
    assert names(view(cluster, cluster.members[0], 20.0)) == ["m1", "m2"]


def test_a_leader_that_can_not_be_asked_is_removed_and_another_elected(make_cluster: Make) -> None:
    """Only the leader itself can hand over; where it can't be asked, the election does it."""
    cluster = make_cluster()
    victim = cluster.member("m3")
    identity = cluster.id_of("m3")
    victim.kill()
    victim.advertised = "https://10.0.0.1:99999"
    cluster.start(victim)
    cluster.wait_ready()
    with cluster.gateway(cluster.leader()) as gateway:
        gateway.move_leader(identity)
    until("it leads", lambda: view(cluster, cluster.members[0]).leader == identity)
    with pytest.raises(MembershipError, match=r"is not asked.*etcd_member") as refused:
        hand_over(reach(cluster, cluster.members[0]), member_id=identity)
    assert refused.value.reason == "LeaderSilent"
    done = remove_member(reach(cluster, cluster.members[0]), member_id=identity)
    assert done.changed and done.after is not None
    assert done.new_leader in [member.hex_id for member in done.after.members]
    assert "is not asked" in done.warnings[0]
    assert names(view(cluster, cluster.members[0])) == ["m1", "m2"]
