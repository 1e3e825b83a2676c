# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replacing machines that were found unhealthy: which one, when, and the four scenarios of the proposal.

Source: docs/reference/cluster_api.md, "Remediation".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import NOW, Builder, cluster, healthy, member_id
from decisions import Change, changed
from rules import (
    IN_PROGRESS,
    REMEDIATE_MACHINE,
    check,
    condition,
    dead,
    etcd_version,
    external,
    in_progress,
    lasting,
    outdate,
    reasons,
    says,
    surge,
    upgrade,
    victim,
    walk,
    walked,
    without_node,
    witness,
)

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


class TestCandidates:
    """Both conditions are needed: unhealthy, and to be remediated by the owner."""

    @pytest.mark.parametrize(
        ("health", "owner", "expected"),
        [
            ("False", "False", "m2"),
            ("False", None, None),
            (None, "False", None),
            ("Unknown", "False", None),
            ("False", "Unknown", None),
            ("True", "False", None),
        ],
    )
    def test_marks(self, health: Any, owner: Any, expected: Any) -> None:
        builder = healthy(3)
        for kind, status in (("HealthCheckSucceeded", health), ("OwnerRemediated", owner)):
            if status is not None:
                builder.stored(kind, status, 600, "m2")
        assert victim(builder) == expected

    def test_the_step(self) -> None:
        decision = decide(healthy(3).marked("m2").build())
        assert says(decision) == ("remove", "MachineUnhealthy")
        assert decision["target"]["memberID"] == member_id("m2")
        assert decision["remediation"] == {"machine": "m2", "timestamp": NOW, "retryCount": 0}
        assert decision["quorum"]["after"] == {"voters": 2, "healthy": 2, "quorum": 2, "tolerance": 0}
        assert "its replacement" in decision["quorum"]["whyThisOrder"]
        owner = condition(decision, "OwnerRemediated", "m2")
        assert (owner["status"], owner["reason"]) == ("False", "MachineDeleting")

    def test_a_persons_annotation_is_enough(self) -> None:
        decision = decide(healthy(3).annotate(REMEDIATE_MACHINE, "", "m2").build())
        assert decision["target"]["machine"] == "m2" and "()" not in decision["reasons"][0]["message"]
        builder = healthy(3).annotate(REMEDIATE_MACHINE, "", "m2").stored("HealthCheckSucceeded", "True", 5, "m2")
        assert victim(builder) == "m2"

    def test_a_machine_that_is_sick_without_being_marked_stays(self) -> None:
        assert victim(dead(healthy(3), "m2")) is None


@pytest.mark.parametrize(
    ("what", "chosen", "change"),
    [
        ("the oldest", "m2", lambda b: b),
        ("the user's mark", "m4", lambda b: b.annotate(REMEDIATE_MACHINE, "", "m4").sick_member("m2")),
        ("no node", "m4", lambda b: without_node(b, "m4").sick_member("m2")),
        ("member", "m4", lambda b: b.sick_member("m4").pod("m2", "etcd")),
        ("etcd pod", "m4", lambda b: b.pod("m4", "etcd").pod("m2", "kube-apiserver")),
        ("API server", "m4", lambda b: b.pod("m4", "kube-apiserver").pod("m2", "kube-controller-manager")),
        ("controller manager", "m4", lambda b: b.pod("m4", "kube-controller-manager").pod("m2", "kube-scheduler")),
        ("scheduler", "m4", lambda b: (b.pod("m4", "kube-scheduler"), b.workload["nodes"][1].update(labels={}))),
        ("labels", "m4", lambda b: b.workload["nodes"][3].update(labels={})),
        ("unknown counts as bad", "m4", lambda b: b.node("m4", ready="Unknown")),
    ],
)
def test_which_one_goes_first(what: str, chosen: str, change: Change) -> None:
    builder = changed(healthy(5).marked("m2", "m4"), change)
    assert victim(witness(builder, "m5")) == chosen


def test_equally_old_ones_go_by_name() -> None:
    builder = cluster(3).machine("m3").machine("m2").machine("m1").marked("m3", "m2")
    assert victim(builder) == "m2"


NO_LIST: dict[str, Any] = {"reachable": False, "members": [], "leader": None, "statuses": {}}


def provisioning(builder: Builder, name: str) -> Builder:
    """The machine has joined a moment ago, and its Node has not appeared yet."""
    return without_node(builder.machine(name, age=30), name)


GATES: list[tuple[str, str, str, Builder]] = [
    ("the only machine", "blocked", "CannotBeRemediated", healthy(1).marked("m1")),
    ("still provisioning", "wait", "RemediationDeferred", provisioning(healthy(2, replicas=3).marked("m2"), "m3")),
    (
        "members not known",
        "wait",
        "RemediationDeferred",
        changed(healthy(3).marked("m2"), lambda b: b.workload["etcd"].update(NO_LIST)),
    ),
    (
        "quorum would be lost",
        "blocked",
        "CannotBeRemediated",
        witness(
            lasting(healthy(3).marked("m2").sick_member("m3")).stored("EtcdMemberHealthy", "False", 900, "m3"), "m3"
        ),
    ),
    (
        "quorum is lost",
        "blocked",
        "CannotBeRemediated",
        witness(lasting(healthy(3).marked("m2").sick_member("m2").sick_member("m3")), "m3"),
    ),
    (
        "a learner is left",
        "blocked",
        "CannotBeRemediated",
        witness(lasting(healthy(5).marked("m2").member("m3", learner=True)), "m4"),
    ),
    (
        "an alarm of one that stays",
        "blocked",
        "CannotBeRemediated",
        witness(
            changed(
                lasting(healthy(3).marked("m2")),
                lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m3"), "alarm": "NOSPACE"}),
            ),
            "m3",
        ),
    ),
    (
        "no other control plane works",
        "blocked",
        "CannotBeRemediated",
        lasting(healthy(3).marked("m2").pod("m1", "kube-scheduler").pod("m3", "kube-apiserver")),
    ),
    (
        "no leader",
        "blocked",
        "CannotBeRemediated",
        changed(lasting(healthy(3).marked("m2")), lambda b: b.workload["etcd"].update(leader=None)),
    ),
    (
        "lists differ",
        "blocked",
        "ViewsDisagree",
        changed(lasting(healthy(3).marked("m2")), lambda b: b.workload["etcd"].update(memberListAgrees=False)),
    ),
]


@pytest.mark.parametrize(("what", "action", "reason", "builder"), GATES, ids=[case[0] for case in GATES])
def test_gates(what: str, action: str, reason: str, builder: Builder) -> None:
    decision = decide(builder.build())
    assert decision["action"] == action
    assert reason in reasons(decision)
    assert decision["remediation"] is None
    owner = condition(decision, "OwnerRemediated", "m1" if what == "the only machine" else "m2")
    expected = "RemediationDeferred" if reason == "RemediationDeferred" else "CannotBeRemediated"
    assert (owner["status"], owner["reason"]) == ("False", expected)
    assert owner["message"]


@pytest.mark.parametrize("alarmed", ["m2"])
def test_an_alarm_of_the_one_that_goes_is_ignored(alarmed: str) -> None:
    builder = healthy(3).marked("m2")
    builder.workload["etcd"]["alarms"].append({"memberID": member_id(alarmed), "alarm": "CORRUPT"})
    assert victim(witness(builder, "m3")) == "m2"


def test_one_that_was_never_started_is_not_waited_for() -> None:
    builder = healthy(3, replicas=5).machine("m4", "", age=20).marked("m2")
    assert victim(builder) == "m2"


def test_nothing_is_removed_beside_one_that_is_going() -> None:
    assert victim(healthy(5).marked("m2").deleting("m4")) == "m4"


@pytest.mark.parametrize("count", [1, 3])
def test_where_every_machine_is_to_go_none_does(count: int) -> None:
    """No other machine can be mended: what helps is to take the deletion back."""
    builder = healthy(count)
    for number in range(1, count + 1):
        builder = builder.deleting(f"m{number}")
    decision = decide(builder.build())
    assert says(decision) == ("blocked", "CannotBeRemediated")
    assert "The last machine" in decision["blockedOn"][0]["fix"]


def test_a_machine_that_is_going_already_is_not_remediated_again() -> None:
    decision = decide(healthy(3).marked("m2").deleting("m2").build())
    assert says(decision) == ("remove", "MachineDeleting")


def test_every_gate_is_shown_with_its_result() -> None:
    decision = decide(healthy(1).marked("m1").build())
    assert check(decision, "MoreThanOneMachine") == "fail"
    decision = decide(healthy(3).marked("m1").build())
    names = ("MoreThanOneMachine", "NoMachineProvisioning", "EtcdKnown", "AnotherMachineHealthy", "EtcdQuorum")
    assert {check(decision, name) for name in (*names, "ViewsAgree", "LeadershipCandidate")} == {"pass"}


class TestARefusalEndsNothing:
    """A refused or deferred remediation leaves rollout and scaling to be decided.

    Source: docs/reference/cluster_api.md, "Remediation".
    """

    def test_the_only_machine_gets_company_first(self) -> None:
        assert walk(healthy(1, replicas=3).marked("m1")) == ["+", "-m1", "+", "+", "none"]

    def test_the_only_machine_can_be_rolled_out(self) -> None:
        assert walk(upgrade(healthy(1).marked("m1"))) == ["+", "-m1", "none"]

    def test_what_else_blocks_is_said_too(self) -> None:
        builder = lasting(healthy(3).marked("m2").sick_member("m3")).stored("EtcdMemberHealthy", "False", 900, "m3")
        found = reasons(decide(witness(builder, "m3").build()))
        assert "CannotBeRemediated" in found
        assert "EtcdMemberUnhealthy" in found


class TestScenarios:
    """The proposal for KubeadmControlPlane, "Remediation", scenarios 1 to 4."""

    def test_1_one_of_three_with_all_members_well(self) -> None:
        assert walk(healthy(3).marked("m2")) == ["-m2", "+", "none"]

    def test_1_one_of_three_whose_member_is_the_one_that_fails(self) -> None:
        assert walk(witness(dead(healthy(3), "m2").marked("m2"), "m3")) == ["-m2", "+", "none"]

    def test_1_the_leader(self) -> None:
        decision = decide(healthy(3).marked("m1").build())
        assert decision["leadership"] == {"from": "m1", "to": ["m3", "m2"]}

    def test_2_two_of_three_with_all_members_well(self) -> None:
        assert walk(healthy(3).marked("m2", "m3")) == ["-m2", "+", "-m3", "+", "none"]

    def test_2_two_of_three_and_the_failing_member_goes_first(self) -> None:
        assert walk(witness(dead(healthy(3), "m3").marked("m2", "m3"), "m2")) == ["-m3", "+", "-m2", "+", "none"]

    def test_2_two_members_fail(self) -> None:
        builder = witness(dead(dead(healthy(3), "m2"), "m3").marked("m2", "m3"), "m3")
        assert says(decide(builder.build()))[0] == "blocked"
        assert "CannotBeRemediated" in reasons(decide(builder.build()))

    def test_3_the_failing_member_is_another_ones(self) -> None:
        builder = witness(dead(healthy(3), "m3").marked("m2"), "m2")
        assert decide(builder.build())["action"] == "blocked"
        assert "CannotBeRemediated" in reasons(decide(builder.build()))

    def test_4_beside_a_rollout_the_unhealthy_ones_go_first(self) -> None:
        assert walk(upgrade(healthy(3).marked("m2"))) == ["-m2", "+", "+", "-m1", "+", "-m3", "none"]

    def test_4_in_the_middle_of_a_rollout(self) -> None:
        builder = walked(upgrade(healthy(3)), 2).marked("m3")
        assert walk(builder) == ["-m3", "+", "+", "-m2", "none"]

    def test_4_with_surge_0(self) -> None:
        assert walk(upgrade(surge(healthy(3), 0)).marked("m3")) == ["-m3", "+", "-m1", "+", "-m2", "+", "none"]

    def test_4_only_some_are_outdated(self) -> None:
        assert walk(outdate(healthy(3), "m1").marked("m3")) == ["-m3", "+", "+", "-m1", "none"]


class TestExternalEtcd:
    """Upstream never remediates with external etcd (docs/reference/cluster_api.md, "Remediation"); this does."""

    @pytest.mark.parametrize("etcd", [None, {"reachable": True, "message": ""}])
    def test_it_is_remediated(self, etcd: Any) -> None:
        builder = external(healthy(3), etcd).marked("m2")
        decision = decide(builder.build())
        assert (says(decision), decision["quorum"]) == (("remove", "MachineUnhealthy"), None)
        assert (decision["target"]["memberID"], decision["leadership"]) == (None, None)
        assert walk(builder) == ["-m2", "+", "none"]

    def test_not_while_etcd_does_not_answer(self) -> None:
        decision = decide(external(healthy(3), {"reachable": False, "message": "timeout"}).marked("m2").build())
        assert decision["action"] == "wait"
        assert "RemediationDeferred" in reasons(decision)

    def test_not_the_only_one(self) -> None:
        assert says(decide(external(healthy(1)).marked("m1").build())) == ("blocked", "CannotBeRemediated")

    def test_not_where_no_other_works(self) -> None:
        builder = external(healthy(2)).marked("m2").pod("m1", "kube-scheduler")
        assert victim(lasting(builder)) is None


def test_a_machine_that_is_healthy_again_loses_its_mark() -> None:
    builder = healthy(3).stored("HealthCheckSucceeded", "True", 5, "m2").stored("OwnerRemediated", "False", 900, "m2")
    decision = decide(builder.build())
    assert decision["removedConditions"]["machines"] == {"m2": ["OwnerRemediated"]}
    assert condition(decision, "OwnerRemediated", "m2") == {}
    assert condition(decision, "Remediating")["status"] == "False"


def test_a_mark_that_was_a_persons_goes_with_the_annotation() -> None:
    builder = healthy(3).stored("OwnerRemediated", "False", 900, "m2", "CannotBeRemediated")
    assert decide(builder.build())["removedConditions"]["machines"] == {"m2": ["OwnerRemediated"]}
    builder.annotate(REMEDIATE_MACHINE, "", "m2")
    assert decide(builder.build())["removedConditions"].get("machines", {}) == {}


@pytest.mark.parametrize("health", ["False", "Unknown"])
def test_but_not_before(health: str) -> None:
    builder = healthy(3).stored("HealthCheckSucceeded", health, 5, "m2").stored("OwnerRemediated", "False", 900, "m2")
    assert decide(builder.build())["removedConditions"].get("machines", {}) == {}


def test_nor_while_it_is_deleted() -> None:
    builder = healthy(3).stored("HealthCheckSucceeded", "True", 5, "m2").stored("OwnerRemediated", "False", 900, "m2")
    assert decide(builder.deleting("m2").build())["removedConditions"].get("machines", {}) == {}


class TestRecord:
    """The annotation remediation-in-progress: one remediation at a time, also over a crash."""

    def test_its_machine_is_still_there_and_goes(self) -> None:
        decision = decide(in_progress(healthy(3).marked("m2", "m3"), "m3").build())
        assert (decision["action"], decision["target"]["machine"]) == ("remove", "m3")

    def test_its_machine_is_gone_and_its_replacement_comes_before_another_goes(self) -> None:
        builder = in_progress(healthy(2, replicas=3).marked("m2"), "gone")
        assert walk(builder) == ["+", "-m2", "+", "none"]

    def test_it_stays_until_then(self) -> None:
        decision = decide(in_progress(healthy(2, replicas=3), "gone").build())
        assert decision["action"] == "join"
        assert IN_PROGRESS not in decision["annotations"].get("controlPlane", {})

    def test_one_that_is_older_than_a_machine_is_dropped(self) -> None:
        builder = in_progress(healthy(2).machine("m3", age=100), "gone", seconds=200)
        builder.wants(replicas=3)
        decision = decide(builder.build())
        assert decision["action"] == "none"
        assert decision["annotations"]["controlPlane"] == {IN_PROGRESS: None}

    def test_one_whose_machine_is_well_again_is_dropped(self) -> None:
        """The run ended between the record and the deletion, and then the health check was content again."""
        decision = decide(in_progress(healthy(3), "m2").build())
        assert decision["action"] == "none"
        assert decision["annotations"]["controlPlane"] == {IN_PROGRESS: None}

    def test_a_dropped_one_holds_nothing_up(self) -> None:
        builder = in_progress(healthy(2, replicas=3).machine("m3", age=100), "gone", seconds=200).marked("m2")
        assert victim(builder) == "m2"

    @pytest.mark.parametrize("text", ["", "x", "[]", "null", '{"machine": 5}', '{"machine": "gone"}', "{{ x }}"])
    def test_what_is_no_record_does_no_harm(self, text: str) -> None:
        decision = decide(healthy(3).annotate(IN_PROGRESS, text).build())
        assert decision["action"] in ("none", "blocked", "wait")


class TestASecondOneWhileTheFirstIsOwed:
    """An etcd that adds nobody beside a silent voter would wait for ever: the silent one goes first."""

    def builder(self, version: Any) -> Builder:
        builder = etcd_version(dead(healthy(4, replicas=5), "m2"), version).marked("m2")
        return witness(in_progress(builder, "gone"), "m4")

    @pytest.mark.parametrize("version", ["3.5.9", "3.6.10", None])
    def test_an_older_etcd(self, version: Any) -> None:
        assert walk(self.builder(version)) == ["-m2", "+", "+", "none"]

    @pytest.mark.parametrize("version", ["3.5.30", "3.6.11"])
    def test_a_newer_one(self, version: str) -> None:
        assert walk(self.builder(version)) == ["+", "-m2", "+", "none"]

    def test_a_second_one_that_answers_waits_its_turn(self) -> None:
        builder = in_progress(etcd_version(healthy(4, replicas=5), "3.5.9").marked("m2"), "gone")
        assert walk(builder) == ["+", "-m2", "+", "none"]
