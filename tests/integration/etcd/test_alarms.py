# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alarms of real etcd clusters: refused while what raised them is there, taken back after a defragmentation."""

from __future__ import annotations

import os
import signal
import typing as t

import pytest
from etcd_cluster import EtcdCluster, EtcdMember, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.quorum import (
    Figures,
    figures,
    member_states,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.alarms import (
    CORRUPT,
    DEFAULT_QUOTA,
    NOSPACE,
    disarm,
    listed,
    may_pause,
    quota_of,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import (
    Cluster,
    MembershipError,
    remove_member,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import Alarm

Make = t.Callable[..., EtcdCluster]
QUOTA = 1024 * 1024
QUICK = ("--heartbeat-interval=25", "--election-timeout=250", f"--quota-backend-bytes={QUOTA}")


def through(cluster: EtcdCluster, first: t.Optional[EtcdMember] = None) -> Cluster:
    member = first or cluster.members[0]
    return Cluster([member.client_url], cluster.credentials, looks=1, interval=0.0)


def fill(cluster: EtcdCluster, compacted: bool = True) -> None:
    """Write until etcd refuses, then have all but the last forgotten."""
    until("etcd refuses writes", lambda: cluster.put(b"key", os.urandom(100_000)) != 200)
    with cluster.gateway(cluster.members[0]) as gateway:
        if compacted:
            gateway.compact(gateway.linearizable_read())
        until("the members know", lambda: bool(gateway.alarms()))


def test_nospace_is_disarmed_after_every_alarmed_member_was_defragmented(make_cluster: Make) -> None:
    cluster = make_cluster(3, options=QUICK)
    fill(cluster)
    raised = {each.member_id for each in listed(through(cluster)).alarms}
    # A member counts what was forgotten as in use until its next write.
    with pytest.raises(MembershipError, match=r"raised again at once: .* of 1 MiB, [01] MiB in use") as refused:
        disarm(through(cluster), NOSPACE, quota=QUOTA)
    assert refused.value.reason == "NoSpaceLeft"
    leader = cluster.leader()
    first = [leader, *(each for each in cluster.members if each is not leader)]
    told = disarm(through(cluster, leader), NOSPACE, quota=QUOTA * 100, defragment=True, check=True)
    assert told.changed and told.defragmented == leader.name and told.alarms == ()
    assert {each.member_id for each in listed(through(cluster)).alarms} == raised
    done = None
    for member in first:
        try:
            done = disarm(through(cluster, member), NOSPACE, quota=QUOTA, defragment=True)
        except MembershipError as error:
            # Another one is still full: it comes next.
            assert error.reason == "NoSpaceLeft"
            continue
        break
    assert done is not None and done.changed and done.alarms == () and done.defragmented
    assert done.verdict is not None and str(done.verdict.after) == "3 voters, 2 healthy, quorum 2"
    again = disarm(through(cluster, member), NOSPACE, quota=QUOTA, defragment=True)
    assert not again.changed and "no alarm NOSPACE is raised" in again.message
    # Last: a member that has not been defragmented may raise it again by this.
    assert cluster.put(b"key", b"value") == 200


def test_what_was_overwritten_is_forgotten_where_that_is_wanted(make_cluster: Make) -> None:
    """As after a flood of writes: the database is in use, and kube-apiserver's own compaction, which writes a key, is refused."""
    cluster = make_cluster(3, options=QUICK)
    fill(cluster, compacted=False)
    # Of what is free in a database that has grown in steps, more or less may be given back: not three quarters of its quota.
    least = QUOTA // 4
    with pytest.raises(MembershipError, match="compact first") as refused:
        disarm(through(cluster), NOSPACE, quota=least, defragment=True)
    assert refused.value.reason == "NoSpaceLeft"
    assert disarm(through(cluster), NOSPACE, quota=QUOTA * 100, compact=True, defragment=True, check=True).changed
    with cluster.gateway(cluster.members[0]) as gateway:
        assert gateway.status().db_size_in_use > least, "check mode has compacted"
    ends = []
    for member in cluster.members:
        try:
            ends.append(disarm(through(cluster, member), NOSPACE, quota=least, compact=True, defragment=True).alarms)
        except MembershipError as error:
            assert error.reason == "NoSpaceLeft"
    assert () in ends and listed(through(cluster)).alarms == ()
    assert cluster.put(b"key", b"value") == 200


def test_no_member_is_defragmented_where_that_costs_the_quorum(make_cluster: Make) -> None:
    cluster = make_cluster(3, options=QUICK)
    fill(cluster)
    dead = next(each for each in cluster.members[1:] if each is not cluster.leader())
    dead.kill()
    with pytest.raises(MembershipError, match=r"would cost the quorum: .* 1 of 3 voters serve, quorum 2") as refused:
        disarm(through(cluster), NOSPACE, quota=QUOTA, defragment=True)
    assert refused.value.reason == "QuorumAtRisk" and refused.value.verdict is not None
    assert refused.value.verdict.after == Figures(3, 1)


def test_the_only_voter_is_defragmented_with_consent_alone(make_cluster: Make) -> None:
    cluster = make_cluster(1, options=QUICK)
    fill(cluster)
    with pytest.raises(MembershipError, match=r"is the only voter: .* allow_interruption"):
        disarm(through(cluster), NOSPACE, quota=QUOTA, defragment=True)
    done = disarm(through(cluster), NOSPACE, quota=QUOTA, defragment=True, allow_interruption=True)
    assert done.changed and done.alarms == () and cluster.put(b"key", b"value") == 200


def test_two_voters_are_defragmented_one_after_another_with_consent_alone(make_cluster: Make) -> None:
    cluster = make_cluster(2, options=QUICK)
    fill(cluster)
    with pytest.raises(MembershipError, match=r"is one of two voters: .* allow_interruption") as refused:
        disarm(through(cluster), NOSPACE, quota=QUOTA, defragment=True)
    assert refused.value.reason == "QuorumAtRisk"
    ends = []
    for member in cluster.members:
        try:
            done = disarm(through(cluster, member), NOSPACE, quota=QUOTA, defragment=True, allow_interruption=True)
            ends.append(done.alarms)
        except MembershipError as error:
            assert error.reason == "NoSpaceLeft"
    assert ends and listed(through(cluster)).alarms == () and cluster.put(b"key", b"value") == 200


def test_corrupt_is_disarmed_for_the_member_that_is_named_alone(make_cluster: Make) -> None:
    cluster = make_cluster(3, options=QUICK)
    bad = cluster.id_of("m2")
    with cluster.gateway(cluster.members[0]) as gateway:
        gateway._post("alarm", "/v3/maintenance/alarm", {"action": "ACTIVATE", "memberID": str(bad), "alarm": CORRUPT})
        assert gateway.alarms() == (Alarm(bad, CORRUPT),)
    for named in (None, cluster.id_of("m1")):
        with pytest.raises(
            MembershipError, match=rf"m2 .* not to be relied on.*give corrupt_member={bad:016x}\."
        ) as refused:
            disarm(through(cluster), CORRUPT, corrupt_member=named)
        assert refused.value.reason == "ConsentMissing"
    assert not disarm(through(cluster), NOSPACE).changed
    assert disarm(through(cluster), CORRUPT, corrupt_member=bad, check=True).changed
    assert disarm(through(cluster), CORRUPT, corrupt_member=bad).alarms == ()
    assert not disarm(through(cluster), CORRUPT, corrupt_member=bad).changed
    view = listed(through(cluster))
    assert may_pause(view, view.members[0]).allowed


def test_with_corrupt_nothing_is_written_until_the_member_went_and_the_alarm_was_disarmed(make_cluster: Make) -> None:
    """As the message says: the alarm stays when its member goes. Etcd 3.5.1 names no member in it."""
    cluster = make_cluster(3, options=(*QUICK, "--experimental-corrupt-check-time=1s"))
    bad = cluster.member("m3")
    assert cluster.put(b"key", b"what-is-right") == 200
    bad.process.send_signal(signal.SIGTERM)
    bad.process.wait()
    database = bad.directory / "data" / "member" / "snap" / "db"
    database.write_bytes(database.read_bytes().replace(b"what-is-right", b"what-is-wrong"))
    cluster.start(bad)
    cluster.wait_ready()
    until("etcd finds it", lambda: listed(through(cluster)).alarms)
    [raised] = listed(through(cluster)).alarms
    assert raised.alarm == CORRUPT and cluster.put(b"key", b"value") != 200
    states = member_states(listed(through(cluster)).document())
    assert figures(states) == Figures(3, 2 if raised.member_id else 3)
    removed = remove_member(through(cluster), name="m3")
    assert removed.changed and listed(through(cluster)).alarms == (raised,)
    assert cluster.put(b"key", b"value") != 200
    with pytest.raises(MembershipError, match=rf"Where it is gone, .* give corrupt_member={raised.member_id:016x}\."):
        disarm(through(cluster), CORRUPT)
    assert disarm(through(cluster), CORRUPT, corrupt_member=raised.member_id).alarms == ()
    assert cluster.put(b"key", b"value") == 200


def test_an_alarm_corrupt_that_names_a_member_that_stays_is_disarmed_first(make_cluster: Make) -> None:
    """A member that has the alarm counts for nothing, so that the removal of another one is refused."""
    cluster = make_cluster(3, options=QUICK)
    named = cluster.id_of("m1")
    with cluster.gateway(cluster.members[0]) as gateway:
        gateway._post(
            "alarm", "/v3/maintenance/alarm", {"action": "ACTIVATE", "memberID": str(named), "alarm": CORRUPT}
        )
    with pytest.raises(MembershipError) as refused:
        remove_member(through(cluster), name="m3")
    assert refused.value.reason == "QuorumAtRisk"
    assert disarm(through(cluster), CORRUPT, corrupt_member=named).changed
    assert remove_member(through(cluster), name="m3").changed


def test_the_quota_is_the_manifests() -> None:
    assert quota_of("    - --quota-backend-bytes=8589934592\n") == 8 * 2**30
    assert quota_of("- etcd") == quota_of("- --quota-backend-bytes=0") == DEFAULT_QUOTA
