# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd members that belong to no machine (docs/reference/cluster_api.md, "Unexpected members").

The faults: docs/faults.md, "Node deleted, member still there",
"killed after a learner was added, before its etcd starts", "a member was added and never started (no name)".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import NOW, Builder, at, healthy, member_id
from decisions import Change, changed
from rules import check, condition, dead, external, lasting, reasons, says, seen, short, without_node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan


def stray(count: int = 3, seconds: float = 60, **facts: Any) -> Builder:
    """A member named "stray", which was first seen so many seconds ago."""
    return seen(healthy(count).member("stray", **facts), seconds, "stray")


@pytest.mark.parametrize(
    "facts", [{}, {"healthy": False}, {"learner": True}, {"unnamed": True}, {"unnamed": True, "learner": True}]
)
def test_it_is_removed_by_its_id(facts: dict[str, bool]) -> None:
    decision = decide(stray(**facts).build())
    assert says(decision) == ("removeMember", "StrayMember")
    assert decision["target"]["memberID"] == member_id("stray")
    assert decision["target"]["machine"] is None
    # A member's name is its Node's, which kubeadm's records may name still; one that never started has none.
    assert decision["target"].get("node", "") == ("" if facts.get("unnamed") else "stray")
    assert decision["quorum"]["after"] == {"voters": 3, "healthy": 3, "quorum": 2, "tolerance": 1}
    assert decision["quorum"]["before"]["voters"] == (3 if facts.get("learner") else 4)


def test_then_nothing_is_left_to_do() -> None:
    assert [step["action"] for step in plan(stray().build())] == ["removeMember", "none"]


@pytest.mark.parametrize(("seconds", "action"), [(59, "wait"), (60, "removeMember")])
def test_not_on_the_first_sight(seconds: float, action: str) -> None:
    assert decide(stray(seconds=seconds).build())["action"] == action
    assert says(decide(healthy(3).member("stray").build())) == ("wait", "StrayMember")


class TestSince:
    """Since when a member is a stray is counted for each member itself."""

    def test_etcd_that_has_long_been_unhealthy_says_nothing_of_it(self) -> None:
        """A machine's own member was sick before; the stray has only just come."""
        builder = healthy(5).sick_member("m2").member("stray").stored("EtcdClusterHealthy", "False", 3000)
        assert decide(builder.build())["action"] == "wait"

    def test_nor_does_another_stray(self) -> None:
        decision = decide(seen(healthy(3).member("a").member("z"), 600, "z").build())
        assert (decision["action"], decision["target"]["memberID"]) == ("removeMember", member_id("z"))
        assert decide(seen(healthy(3).member("a"), 600, "z").build())["action"] == "wait"

    def test_what_holds_both_its_removal_and_the_next_step_is_told_once(self) -> None:
        decision = decide(healthy(3, replicas=5).member("a").build())
        for listed in ("reasons", "blockedOn"):
            assert [each["reason"] for each in decision[listed]].count("StrayMember") == 1

    @pytest.mark.parametrize("deleting", [(), ("m2",)])
    def test_so_is_why_its_own_removal_is_refused(self, deleting: tuple[str, ...]) -> None:
        """Also beside a machine's removal that is refused."""
        builder = lasting(stray(seconds=300))
        builder.workload["etcd"]["memberListAgrees"] = False
        decision = decide((builder.deleting(*deleting) if deleting else builder).build())
        for listed in ("reasons", "blockedOn"):
            [message] = [each["message"] for each in decision[listed] if "belongs to no machine" in each["message"]]
            assert "removing it is refused: the members do not all report the same list" in message

    @pytest.mark.parametrize("deleting", [(), ("m2",)])
    def test_its_node_is_told_once_and_how_both_go(self, deleting: tuple[str, ...]) -> None:
        builder = dead(stray(seconds=300, healthy=False).node("stray"), "m3")
        decision = decide((builder.deleting(*deleting) if deleting else builder).build())
        found = [each for each in decision["blockedOn"] if "no machine" in each["message"]]
        assert sorted(each["reason"] for each in found) == ["StrayMember", "UnmanagedNode"]
        assert any("delete the Node: then its etcd member stray" in each["fix"] for each in found)

    def test_a_remediations_arithmetic_is_shown_though_the_stray_is_told_first(self) -> None:
        builder = healthy(3).member("a").marked("m2")
        builder.workload["etcd"]["memberListAgrees"] = None
        decision = decide(builder.build())
        assert says(decision) == ("wait", "StrayMember") and check(decision, "EtcdQuorum") == "pass"
        assert (decision["quorum"]["before"]["voters"], decision["quorum"]["after"]["voters"]) == (4, 3)

    def test_the_first_time_is_kept_and_what_is_gone_is_forgotten(self) -> None:
        status = decide(seen(healthy(3).member("a").member("b"), 40, "b", "gone").build())["status"]["controlPlane"]
        assert status["strayMembers"] == [
            {"id": member_id("a"), "since": NOW},
            {"id": member_id("b"), "since": at(40)},
        ]
        assert decide(seen(healthy(3), 40, "gone").build())["status"]["controlPlane"]["strayMembers"] is None
        assert "strayMembers" not in decide(healthy(3).build())["status"]["controlPlane"]


class TestNodesOfAnotherName:
    """A machine has joined, its Node is not called as it is, and nothing is recorded yet that tells which Node is its own."""

    def builder(self, address: str = "") -> Builder:
        """m3's Node and member are called cp-3."""
        builder = without_node(healthy(3), "m3").without_member("m3").node("cp-3").member("cp-3", address=address)
        builder.workload["nodes"][-1]["machineID"] = ""
        del builder.entry("m3")["infrastructureMachine"]["status"]["machineID"]
        return seen(lasting(builder), 600, "cp-3")

    @pytest.mark.parametrize("address", ["", "10.0.0.3"])
    def test_its_healthy_voter_is_no_stray(self, address: str) -> None:
        decision = decide(self.builder(address).build())
        assert decision["action"] in ("wait", "blocked")
        assert not {"StrayMember", "UnmanagedNode"} & set(reasons(decision)), reasons(decision)
        assert "has no corresponding Machine" not in condition(decision, "EtcdClusterHealthy")["message"]

    def test_by_its_address_it_is_the_machines_own(self) -> None:
        decision = decide(self.builder("10.0.0.3").deleting("m3").build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", member_id("cp-3"))

    @pytest.mark.parametrize("change", [lambda b: b.deleting("m3"), lambda b: b.marked("m3")])
    def test_without_one_it_is_not_removed_as_a_machine_that_has_no_member(self, change: Change) -> None:
        """Its voter would die with it, and nobody would have asked what that does to the quorum."""
        decision = decide(changed(self.builder(), change).build())
        assert decision["action"] in ("wait", "blocked")
        assert "cp-3" in str(decision["blockedOn"])

    def test_the_way_out_is_said(self) -> None:
        builder = self.builder()
        builder.entry("m3")["machine"]["status"]["bootstrap"]["startedAt"] = at(3600)
        decision = decide(builder.build())
        [told] = [each for each in decision["blockedOn"] if each["reason"] == "NodeNotFound"]
        assert "status.machineID" in told["fix"]
        builder.entry("m3")["infrastructureMachine"]["status"]["machineID"] = "the-machine"
        builder.workload["nodes"][-1]["machineID"] = "the-machine"
        assert "NodeNotFound" not in reasons(decide(builder.build()))


class TestMembersOfAnotherName:
    """A host was renamed and its Node registered again, and etcd kept its name: its machine was adopted like this."""

    def builder(self, address: str, **facts: Any) -> Builder:
        """m3's Node is called like the machine; its member is called old-3."""
        builder = healthy(3).without_member("m3").member("old-3", address=address, **facts)
        return seen(lasting(builder), 600, "old-3")

    def test_by_its_address_it_is_the_machines_own(self) -> None:
        decision = decide(self.builder("10.0.0.3").build())
        assert decision["action"] == "none" and condition(decision, "EtcdClusterHealthy")["status"] == "True"
        decision = decide(self.builder("10.0.0.3").deleting("m3").build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", member_id("old-3"))

    @pytest.mark.parametrize("facts", [{}, {"healthy": False}])
    @pytest.mark.parametrize(
        "change", [lambda b: None, lambda b: b.deleting("m3"), lambda b: b.marked("m3"), lambda b: b.wants(replicas=1)]
    )
    def test_at_an_address_that_nobody_knows_neither_it_nor_the_machine_goes(
        self, change: Change, facts: dict[str, bool]
    ) -> None:
        builder = changed(self.builder("192.168.0.3", **facts).stored("EtcdMemberHealthy", "False", 600, "m3"), change)
        decision = decide(builder.build())
        assert decision["action"] == "blocked", says(decision)
        assert any("old-3" in each["message"] and "--initial-cluster" in each["fix"] for each in decision["blockedOn"])

    def test_of_two_neither_is_said_to_be_removed(self) -> None:
        builder = self.builder("192.168.0.3").without_member("m2").member("old-2", address="192.168.0.2")
        told = [each for each in decide(builder.build())["blockedOn"] if each["message"].startswith("etcd member old-")]
        assert len(told) == 2 and all("--initial-cluster" in each["fix"] for each in told)

    def test_a_node_without_a_machine_has_it(self) -> None:
        """It is no other machine's then: that one has lost its own, and goes."""
        builder = healthy(3).without_member("m3").member("cp-4").node("cp-4")
        builder = lasting(builder.stored("EtcdMemberHealthy", "False", 600, "m3").deleting("m3"))
        decision = decide(builder.build())
        assert not any("whose is the etcd" in each["message"] for each in decision["blockedOn"] + decision["reasons"])

    def test_it_takes_the_leadership_over_by_its_own_name(self) -> None:
        builder = self.builder("10.0.0.3").without_member("m2").deleting("m1")
        assert decide(builder.build())["leadership"] == {"from": "m1", "to": ["old-3"]}


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.machine("m4", "", age=20),
        lambda b: b.machine("m4", "Running", age=20),
        lambda b: b.machine("m4", "Failed", age=20),
    ],
)
def test_not_while_it_may_become_a_machines(change: Change) -> None:
    assert decide(changed(stray(3), change).build())["action"] != "removeMember"


def test_a_node_of_its_name_belongs_to_somebody() -> None:
    decision = decide(stray().node("stray").build())
    assert says(decision) == ("blocked", "UnmanagedNode")
    assert "stray" in decision["blockedOn"][0]["message"]
    assert not any("by hand" in each["fix"] for each in decision["blockedOn"]), "its host serves"


def test_a_workers_node_of_its_name_is_no_reason_to_keep_it() -> None:
    builder = stray().node("stray")
    builder.workload["nodes"][-1]["labels"] = {}
    assert decide(builder.build())["action"] == "removeMember"


REFUSED: list[tuple[str, Change]] = [
    ("no quorum to commit it", lambda b: b.sick_member("m2").sick_member("stray")),
    ("no quorum afterwards", lambda b: b.sick_member("m2").sick_member("m3")),
    ("lists differ", lambda b: b.workload["etcd"].update(memberListAgrees=False)),
    ("lists not confirmed", lambda b: b.workload["etcd"].update(memberListAgrees=None)),
    ("no leader", lambda b: b.workload["etcd"].update(leader=None)),
    ("a machine's member is a learner", lambda b: b.member("m2", learner=True)),
]


@pytest.mark.parametrize(("what", "change"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refused(what: str, change: Change) -> None:
    decision = decide(changed(stray(), change).build())
    assert decision["action"] == "blocked"
    assert "CannotBeRemediated" in reasons(decision)


def test_it_helps_where_a_machines_member_is_dead_too() -> None:
    assert decide(dead(stray(5), "m2").build())["action"] == "removeMember"


def test_the_only_voter_is_never_a_stray_to_be_removed() -> None:
    builder = seen(lasting(healthy(1).member("stray").without_member("m1").leads("stray")), 60, "stray")
    assert decide(builder.build())["action"] in ("blocked", "wait")


class TestOrder:
    def test_one_at_a_time_by_name(self) -> None:
        builder = seen(healthy(5).member("z").member("a"), 60, "a", "z")
        found = [step["target"]["memberID"] for step in plan(builder.build()) if step["action"] == "removeMember"]
        assert found == [member_id("a"), member_id("z")]

    def test_unnamed_ones_first(self) -> None:
        builder = seen(healthy(5).member("a").member("zz", unnamed=True), 60, "a", "zz")
        assert decide(builder.build())["target"]["memberID"] == member_id("zz")

    def test_two_learners_that_never_started(self) -> None:
        builder = healthy(3).member("x", unnamed=True, learner=True).member("y", unnamed=True, learner=True)
        found = [step["action"] for step in plan(seen(builder, 60, "x", "y").build())]
        assert found == ["removeMember", "removeMember", "none"]

    def test_before_deletions_remediation_rollout_and_scaling(self) -> None:
        for builder in (
            stray(5).deleting("m2"),
            stray(3).marked("m2"),
            stray(3).wants(version="v1.21.1"),
            stray(3).wants(replicas=5),
            stray(5).wants(replicas=3),
        ):
            assert decide(builder.build())["action"] == "removeMember"


def test_external_etcd_is_none_of_ours() -> None:
    etcd = {"reachable": True, "message": "", "members": [{"id": "aa", "name": "theirs", "isLearner": False}]}
    assert short(decide(external(healthy(3), etcd).build())) == "none"


def test_a_pause_or_a_deletion_comes_first() -> None:
    assert decide(stray().deleting().build())["action"] == "deleteMachines"
