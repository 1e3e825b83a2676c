# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""More or fewer machines.

Sources: the proposal for KubeadmControlPlane, "Scale Up" and "Scale Down";
docs/reference/cluster_api.md, "Admission rules".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, cluster, healthy
from decisions import Change, changed
from rules import DELETE_MACHINE, check, condition, external, lasting, outdate, reasons, says, victim, walk

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        (1, 3, ["+", "+", "none"]),
        (3, 5, ["+", "+", "none"]),
        (3, 3, ["none"]),
        (5, 3, ["-m1", "-m2", "none"]),
        (3, 1, ["-m1", "-m2", "none"]),
        (5, 1, ["-m1", "-m2", "-m3", "-m4", "none"]),
        (2, 3, ["+", "none"]),
        (2, 1, ["-m1", "none"]),
        (4, 3, ["-m1", "none"]),
        (7, 9, ["+", "+", "none"]),
    ],
)
def test_one_machine_at_a_time(there: int, wanted: int, expected: list[str]) -> None:
    assert walk(healthy(there, replicas=wanted)) == expected


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [(2, 4, ["+", "+", "none"]), (4, 2, ["-m1", "-m2", "none"]), (2, 1, ["-m1", "none"]), (3, 2, ["-m1", "none"])],
)
@pytest.mark.parametrize("etcd", [None, {"reachable": True, "message": ""}])
def test_external_etcd_may_have_even_numbers(there: int, wanted: int, expected: list[str], etcd: Any) -> None:
    builder = external(healthy(there, replicas=wanted), etcd)
    assert walk(builder) == expected
    decision = decide(builder.build())
    assert (decision["quorum"], decision["leadership"]) == (None, None)
    assert (decision["target"] or {}).get("memberID") is None


def test_a_join_that_was_begun_in_a_rollout_that_has_lost_a_machine_makes_up_for_it() -> None:
    builder = outdate(healthy(2, replicas=3), "m1").machine("m3", "")
    builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    assert says(decide(builder.build())) == ("join", "ScalingUp")
    builder.machine("m4")
    assert says(decide(builder.build())) == ("join", "RollingOut")


@pytest.mark.parametrize("wanted", [3, 1])
def test_an_external_etcd_that_does_not_answer_stops_it(wanted: int) -> None:
    builder = external(healthy(2, replicas=wanted), {"reachable": False, "message": "timeout"})
    assert says(decide(builder.build())) == ("wait", "EtcdUnreachable")


@pytest.mark.parametrize("wanted", [0, -1, 2, 4, 6])
@pytest.mark.parametrize("there", [cluster(3), cluster(3).bare(), healthy(1), healthy(3), healthy(5)])
def test_numbers_that_are_refused(wanted: int, there: Builder) -> None:
    decision = decide(there.wants(replicas=wanted).build())
    assert says(decision) == ("blocked", "ReplicasInvalid")
    assert decision["blockedOn"][0]["fix"]


@pytest.mark.parametrize(("wanted", "why"), [(0, "not scaled to 0"), (-1, "a number above 0"), (2, "an even number")])
def test_why_a_number_is_refused(wanted: int, why: str) -> None:
    assert why in decide(healthy(3).wants(replicas=wanted).build())["blockedOn"][0]["message"]


@pytest.mark.parametrize("wanted", [0, -1])
def test_none_at_all_is_refused_with_external_etcd_too(wanted: int) -> None:
    assert says(decide(external(healthy(2)).wants(replicas=wanted).build())) == ("blocked", "ReplicasInvalid")


def test_a_deletion_and_a_pause_come_before_the_number() -> None:
    assert decide(healthy(3).wants(replicas=0).deleting().build())["action"] == "deleteMachines"
    builder = healthy(3).wants(replicas=0)
    builder.snapshot["cluster"]["spec"]["paused"] = True
    assert says(decide(builder.build())) == ("none", "Paused")


class TestUp:
    def test_the_step_says_what_it_is(self) -> None:
        decision = decide(healthy(3, replicas=5).build())
        assert says(decision) == ("join", "ScalingUp")
        assert condition(decision, "ScalingUp")["message"] == "Scaling up from 3 to 5 replicas"
        assert check(decision, "CertificatesAvailable") == "pass"

    def test_a_deleting_machine_goes_first(self) -> None:
        assert walk(healthy(3, replicas=5).deleting("m2")) == ["-m2", "+", "+", "+", "none"]

    def test_nothing_joins_beside_trouble(self) -> None:
        builder = lasting(healthy(3, replicas=5).sick_member("m2"))
        assert "EtcdMemberUnhealthy" in reasons(decide(builder.build()))
        assert decide(builder.build())["action"] in ("wait", "blocked")


class TestDown:
    def test_the_step_says_what_it_is(self) -> None:
        decision = decide(healthy(5, replicas=3).build())
        assert says(decision) == ("remove", "ScalingDown")
        assert decision["quorum"]["before"] == {"voters": 5, "healthy": 5, "quorum": 3, "tolerance": 2}
        assert decision["quorum"]["after"] == {"voters": 4, "healthy": 4, "quorum": 3, "tolerance": 1}
        assert decision["quorum"]["whyThisOrder"]
        assert decision["target"]["resume"] is False
        assert condition(decision, "ScalingDown")["message"] == "Scaling down from 5 to 3 replicas"

    @pytest.mark.parametrize(("leader", "said"), [("m1", True), ("m5", False)])
    def test_that_leadership_moves_is_said_of_the_leader_alone(self, leader: str, said: bool) -> None:
        decision = decide(healthy(5, replicas=3).leads(leader).build())
        assert victim(healthy(5, replicas=3).leads(leader)) == "m1"
        assert ("leadership is moved first" in decision["quorum"]["whyThisOrder"]) is said

    def test_nothing_is_remembered_for_a_replacement(self) -> None:
        decision = decide(healthy(5, replicas=3).build())
        assert decision["remediation"] is None
        assert decision["status"]["controlPlane"]["rollout"] == {}

    def test_the_mark_of_a_user_decides(self) -> None:
        assert walk(healthy(3, replicas=1).annotate(DELETE_MACHINE, "", "m3")) == ["-m3", "-m1", "none"]

    def test_a_deleting_machine_counts_and_goes_first(self) -> None:
        assert walk(healthy(5, replicas=3).deleting("m4")) == ["-m4", "-m1", "none"]

    def test_a_marked_machine_may_be_in_any_state(self) -> None:
        builder = healthy(5, replicas=3).annotate(DELETE_MACHINE, "", "m4").sick_member("m4").pod("m4", "etcd")
        assert victim(builder) == "m4"

    @pytest.mark.parametrize(
        ("reason", "change"),
        [
            ("ComponentMissing", lambda b: b.pod("m3", "kube-scheduler")),
            ("ComponentUnknown", lambda b: b.node("m3", ready="Unknown")),
            ("EtcdMemberUnhealthy", lambda b: b.sick_member("m3")),
            ("NodeNotFound", lambda b: b.workload["nodes"].pop(2)),
            ("EtcdNoLeader", lambda b: b.workload["etcd"].update(leader=None)),
            ("ViewsDisagree", lambda b: b.workload["etcd"].update(memberListAgrees=None)),
            ("EndpointNotReachable", lambda b: b.endpoint(False)),
            ("EtcdUnreachable", lambda b: b.workload["etcd"].update(reachable=False)),
        ],
    )
    def test_nothing_goes_beside_trouble(self, reason: str, change: Change) -> None:
        decision = decide(changed(healthy(5, replicas=3), change).build())
        assert decision["action"] == "wait"
        assert reason in reasons(decision)

    def test_certificates_matter_only_for_a_join(self) -> None:
        builder = healthy(5, replicas=3)
        builder.snapshot["certificates"]["sa"].update(present=False)
        decision = decide(builder.build())
        assert (decision["action"], check(decision, "CertificatesAvailable")) == ("remove", "skip")

    def test_of_two_voters_the_other_one_must_work(self) -> None:
        builder = healthy(2, replicas=1).annotate(DELETE_MACHINE, "", "m1").sick_member("m2")
        assert decide(builder.build())["action"] == "wait"
        assert victim(healthy(2, replicas=1)) == "m1"
