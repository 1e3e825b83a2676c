# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Learners that are added to real etcd clusters before their etcd runs, and are promoted when it does."""

from __future__ import annotations

import threading
import typing as t

import pytest
from etcd_cluster import EtcdCluster

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.addition import add_learner
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import (
    Cluster,
    MembershipError,
    remove_member,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.promotion import promote_member

Make = t.Callable[..., EtcdCluster]
QUICK = ("--heartbeat-interval=25", "--election-timeout=250")
NOWHERE = "https://127.0.0.1:1"


def reached(cluster: EtcdCluster) -> Cluster:
    return Cluster([member.client_url for member in cluster.members], cluster.credentials, looks=1, interval=0.0)


def members(cluster: EtcdCluster) -> list[tuple[str, bool]]:
    with cluster.gateway(cluster.members[0]) as gateway:
        return sorted((member.name, member.is_learner) for member in gateway.member_list().members)


@pytest.mark.parametrize("count", [1, 3])
def test_a_learner_that_never_starts_costs_nothing_and_goes_again(make_cluster: Make, count: int) -> None:
    """With one voter too: everything is written while the learner is nowhere, which with a voter it would not be."""
    cluster = make_cluster(count, options=QUICK)
    told = add_learner(reached(cluster), NOWHERE, check=True)
    assert told.changed and told.member is None and len(members(cluster)) == count
    done = add_learner(reached(cluster), NOWHERE)
    assert done.changed and done.member is not None and done.member.is_learner and not done.member.started
    assert done.verdict is not None and done.verdict.before == done.verdict.after
    cluster.put(b"key", b"value")
    again = add_learner(reached(cluster), NOWHERE)
    assert not again.changed and again.member == done.member
    with pytest.raises(MembershipError, match="an earlier change is unfinished") as refused:
        add_learner(reached(cluster), "https://127.0.0.1:2")
    assert refused.value.reason == "QuorumAtRisk"
    assert remove_member(reached(cluster), member_id=done.member.id).changed
    assert len(members(cluster)) == count


def test_a_started_one_is_promoted_while_it_is_waited_for(make_cluster: Make) -> None:
    """The one who waits began before the learner's etcd did; both voters write in the end."""
    cluster = make_cluster(1, options=QUICK)
    cluster.put(b"key", b"value")
    late = cluster.new_member("late")
    assert add_learner(reached(cluster), late.peer_url).changed
    seen = Cluster([cluster.members[0].client_url], cluster.credentials, looks=1, interval=0.0)
    begun, done = threading.Event(), []

    def promote() -> None:
        begun.set()
        done.append(promote_member(seen, peer_url=late.peer_url, wait=60))

    waiting = threading.Thread(target=promote)
    waiting.start()
    begun.wait()
    cluster.members.append(late)
    cluster.start(late, [(member.name, member.peer_url) for member in cluster.members])
    waiting.join()
    assert done and done[0].changed and members(cluster) == [("late", False), ("m1", False)]
    assert not promote_member(seen, peer_url=late.peer_url).changed
    cluster.put(b"key", b"again")


def test_what_is_not_waited_for_any_longer_is_refused(make_cluster: Make) -> None:
    cluster = make_cluster(1, options=QUICK)
    assert add_learner(reached(cluster), NOWHERE).changed
    with pytest.raises(MembershipError, match="it was added but never started") as refused:
        promote_member(reached(cluster), peer_url=NOWHERE, wait=0.5)
    assert refused.value.reason == "QuorumAtRisk"
    with pytest.raises(MembershipError, match="etcd has no member at") as refused:
        promote_member(reached(cluster), peer_url="https://127.0.0.1:2", wait=60)
    assert refused.value.reason == "UnknownMember"


def test_a_voters_url_another_cluster_and_no_quorum_are_refused(make_cluster: Make) -> None:
    cluster = make_cluster(3, options=QUICK)
    with pytest.raises(MembershipError) as refused:
        add_learner(reached(cluster), cluster.members[1].peer_url)
    assert refused.value.reason == "PeerUrlTaken"
    with pytest.raises(MembershipError) as refused:
        add_learner(reached(cluster), NOWHERE, cluster_id=1)
    assert refused.value.reason == "WrongCluster"
    for member in cluster.members[1:]:
        member.kill()
    with pytest.raises(MembershipError) as refused:
        add_learner(reached(cluster), NOWHERE)
    assert refused.value.reason == "ViewsDisagree"


def test_the_last_look_before_the_change_may_still_refuse(make_cluster: Make) -> None:
    cluster = make_cluster(1, options=QUICK)

    def lost() -> None:
        raise PermissionError("the lock is another run's")

    with pytest.raises(PermissionError):
        add_learner(reached(cluster), NOWHERE, before_change=lost)
    assert len(members(cluster)) == 1
