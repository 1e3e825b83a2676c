# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking machines out: the quorum decides, by member ID, and what is not known blocks.

What always holds: docs/reference/invariants.md, "Quorum stays". The faults: docs/faults.md, "The run itself dies".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, cluster, healthy, member_id
from rules import REMEDIATE_MACHINE, dead

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.removal.one_machine import (
    proven_uninitialized,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    read_snapshot,
)


def failed(builder: Builder, name: str) -> Builder:
    builder.entry(name)["machine"]["status"]["bootstrap"].update(state="Failed", message="kubeadm join exited with 1")
    return builder


def named(builder: Builder, name: str, template: str) -> Builder:
    """The machine's manifest gives its Node another name than the machine's."""
    builder.entry(name)["kubeadmConfig"]["spec"]["joinConfiguration"]["nodeRegistration"]["name"] = template
    return builder


def act(builder: Builder) -> tuple[str, Any]:
    decision = decide(builder.build())
    return decision["action"], (decision["target"] or {}).get("machine")


class TestProvenUninitialized:
    """What counts as evidence that no control plane was ever there."""

    @pytest.mark.parametrize(
        ("answers", "initialized", "latched", "proven"),
        [
            (False, None, False, True),
            (None, None, False, False),
            (True, None, False, False),
            (True, False, False, True),
            (False, True, False, False),
            (False, None, True, False),
            (False, False, True, False),
        ],
    )
    def test_evidence(self, answers: Any, initialized: Any, latched: bool, proven: bool) -> None:
        builder = cluster(3).machine("x", "Failed").endpoint(answers)
        if initialized is not None:
            builder.workload.update(reachable=True, via="x", initialized=initialized)
        if latched:
            builder.snapshot["controlPlane"]["status"] = {"initialization": {"controlPlaneInitialized": True}}
        assert proven_uninitialized(read_snapshot(builder.build())) is proven

    def test_a_machine_that_joined_is_evidence_against_it(self) -> None:
        builder = healthy(1).unreachable().endpoint(False)
        for owner in ("cluster", "controlPlane"):
            builder.snapshot[owner]["status"] = {}
        assert not proven_uninitialized(read_snapshot(builder.build()))


class TestFailedJoiner:
    def test_without_node_and_member_it_goes(self) -> None:
        decision = decide(healthy(2, replicas=3).machine("m3", "Failed").build())
        assert (decision["action"], decision["target"]["machine"]) == ("remove", "m3")
        assert decision["target"]["memberID"] is None
        assert decision["quorum"]["before"] == decision["quorum"]["after"]

    def test_its_dead_voter_goes_with_it_where_the_others_are_a_majority(self) -> None:
        decision = decide(failed(healthy(3).sick_member("m3"), "m3").build())
        assert decision["action"] == "remove"
        assert decision["target"]["memberID"] == member_id("m3")
        assert decision["quorum"]["before"] == {"voters": 3, "healthy": 2, "quorum": 2, "tolerance": 0}
        assert decision["quorum"]["after"] == {"voters": 2, "healthy": 2, "quorum": 2, "tolerance": 0}

    def test_its_healthy_voter_too(self) -> None:
        assert act(failed(healthy(3), "m3")) == ("remove", "m3")

    def test_the_second_of_two_voters_that_died_is_blocked_with_the_arithmetic(self) -> None:
        builder = failed(healthy(2, replicas=3).sick_member("m2"), "m2")
        assert act(builder) == ("wait", None)
        decision = decide(builder.stored("EtcdClusterHealthy", "False", 61).build())
        assert decision["action"] == "blocked"
        assert decision["blockedOn"][0]["reason"] == "CannotBeRemediated"
        assert "2 voters, 1 healthy, quorum 2" in decision["blockedOn"][0]["message"]
        assert decision["quorum"]["after"]["voters"] == 1

    def test_the_only_voter_never_goes(self) -> None:
        builder = failed(healthy(1, replicas=3), "m1").stored("EtcdClusterHealthy", "False", 61)
        builder.stored("ControlPlaneComponentsHealthy", "False", 61)
        assert act(builder) == ("blocked", None)

    @pytest.mark.parametrize("learner", [True, False])
    def test_a_member_that_never_started_is_found_by_its_address(self, learner: bool) -> None:
        builder = (
            healthy(2, replicas=3)
            .machine("m3", "Failed")
            .member("x", unnamed=True, learner=learner, address="10.0.0.3")
        )
        decision = decide(builder.build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", member_id("x"))

    @pytest.mark.parametrize(
        ("template", "member", "address"),
        [
            ("{{ ds.meta_data.local_hostname }}.example.com", "m2.example.com", "10.9.9.9"),
            ("ip-{{ ds.meta_data.local_ipv4 }}", "ip-10.0.0.2", "10.9.9.9"),
            # What its provider had recorded is not there any more.
            ("{{ ds.meta_data.instance_id }}", "i-0a1", "10.0.0.2"),
        ],
    )
    @pytest.mark.parametrize("case", ["failed", "silent", "dead"])
    def test_a_voter_under_another_name_than_the_machines_goes_with_it(
        self, case: str, template: str, member: str, address: str
    ) -> None:
        """kubeadm labels the Node last of all: before that nothing but its name or its address says whose the voter is."""
        builder = healthy(1, replicas=3).machine("m2", "Failed" if case == "failed" else "Running", age=2000)
        if case == "silent":
            builder.says("m2").deleting("m2")
        elif case == "dead":
            builder.entry("m2")["infrastructureMachine"]["status"]["state"] = "dead"
        decision = decide(named(builder, "m2", template).member(member, address=address).build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", member_id(member))
        assert (decision["quorum"]["before"]["voters"], decision["quorum"]["after"]["voters"]) == (2, 1)

    def test_a_voter_that_may_be_its_own_keeps_it(self) -> None:
        builder = named(healthy(1, replicas=3).machine("m2", "Failed"), "m2", "{{ ds.meta_data.instance_id }}")
        decision = decide(builder.member("i-0a1", address="10.9.9.9").build())
        assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", "CannotBeRemediated")
        assert "whose is the etcd member i-0a1" in decision["blockedOn"][0]["message"]
        assert "module etcd_member" in decision["blockedOn"][0]["fix"]

    @pytest.mark.parametrize(
        "template", ["", "{{ ds.meta_data.local_hostname }}", "{{ v1.local_hostname }}.example.com"]
    )
    def test_a_stray_voter_does_not_keep_one_whose_name_is_certain(self, template: str) -> None:
        """Whose name the manifest makes of the machine's alone: the stray is not its own, and goes after it."""
        builder = named(healthy(3), "m3", template).without_member("m3").member("stray", healthy=False)
        builder.entry("m3")["machine"]["status"].pop("nodeRef", None)
        builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m3"]
        assert act(failed(builder, "m3")) == ("remove", "m3")

    def test_a_voter_with_another_name_is_not_one_that_has_its_machines(self) -> None:
        decision = decide(healthy(1, replicas=3).machine("m2", "Failed").member("x", address="10.9.9.9").build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", None)

    def test_one_that_never_started_and_one_unfinished_machine_belong_together(self) -> None:
        builder = healthy(2, replicas=3).machine("m3", "Failed").member("x", unnamed=True, learner=True)
        assert decide(builder.build())["target"]["memberID"] == member_id("x")

    def test_one_that_is_another_machines_by_its_address_does_not_belong_to_it(self) -> None:
        builder = healthy(2, replicas=3).machine("m3", "Failed").machine("m4", "Failed")
        decision = decide(builder.member("x", unnamed=True, learner=True, address="10.0.0.4").build())
        assert (decision["target"]["machine"], decision["target"]["memberID"]) == ("m4", member_id("x"))

    def test_two_that_never_started_are_a_riddle_for_a_person(self) -> None:
        builder = (
            healthy(2, replicas=3)
            .machine("m3", "Failed")
            .member("x", unnamed=True, learner=True)
            .member("y", unnamed=True, learner=True)
        )
        decision = decide(builder.build())
        assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", "CannotBeRemediated")

    def test_another_sick_member_blocks_it(self) -> None:
        builder = failed(healthy(3).sick_member("m3").sick_member("m2"), "m3").stored("EtcdClusterHealthy", "False", 61)
        assert act(builder) == ("blocked", None)

    def test_an_alarm_of_a_member_that_stays_counts(self) -> None:
        builder = failed(healthy(3).sick_member("m3"), "m3").stored("EtcdClusterHealthy", "False", 61)
        builder.workload["etcd"]["alarms"] = [{"memberID": member_id("m2"), "alarm": "NOSPACE"}]
        assert act(builder) == ("blocked", None)

    @pytest.mark.parametrize("agrees", [None, False])
    def test_views_that_differ_block_it(self, agrees: Any) -> None:
        builder = failed(healthy(3).sick_member("m3"), "m3").stored("EtcdClusterHealthy", "False", 61)
        builder.workload["etcd"]["memberListAgrees"] = agrees
        assert act(builder) == ("blocked", None)

    def test_no_leader_blocks_it(self) -> None:
        builder = failed(healthy(3).sick_member("m3"), "m3").stored("EtcdClusterHealthy", "False", 61)
        builder.workload["etcd"]["leader"] = None
        assert act(builder) == ("blocked", None)

    @pytest.mark.parametrize("reason", ["etcd", "api"])
    def test_what_cannot_be_asked_blocks_it(self, reason: str) -> None:
        builder = healthy(2, replicas=3).machine("m3", "Failed")
        if reason == "etcd":
            builder.workload["etcd"].update(reachable=False, members=[], leader=None, statuses={})
        else:
            builder.unreachable()
        assert act(builder) == ("wait", None)
        builder.stored("EtcdClusterHealthy", "Unknown", 61).stored("RemoteConnectionProbe", "False", 61, "cluster")
        assert act(builder) == ("blocked", None)

    def test_the_last_working_api_server_stays(self) -> None:
        builder = failed(healthy(3), "m3").pod("m1", "kube-scheduler").pod("m2", "kube-scheduler")
        assert act(builder) == ("wait", None)
        assert decide(builder.build())["remediation"] is None, "no try is counted that was not made"

    def test_what_may_be_its_member_stays_where_nothing_else_works(self) -> None:
        builder = healthy(1, replicas=3).machine("m2", "Failed").member("x", unnamed=True, learner=True)
        assert act(builder) == ("remove", "m2")
        assert act(builder.node("m1", ready="Unknown")) == ("wait", None)

    @pytest.mark.parametrize(("leader", "moves"), [("m3", True), ("m1", False)])
    def test_leadership_moves_first_where_it_leads(self, leader: str, moves: bool) -> None:
        builder = failed(healthy(3), "m3")
        builder.workload["etcd"]["leader"] = member_id(leader)
        assert ("leadership is moved" in decide(builder.build())["quorum"]["whyThisOrder"]) is moves

    def test_external_etcd_needs_no_arithmetic(self) -> None:
        builder = failed(healthy(3), "m3")
        builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {}}
        builder.workload["etcd"] = None
        decision = decide(builder.build())
        assert (decision["action"], decision["quorum"]) == ("remove", None)


class TestBegunRemoval:
    def test_it_is_gone_on_with(self) -> None:
        decision = decide(healthy(3).without_member("m3").deleting("m3").build())
        assert (decision["action"], decision["target"]) == (
            "remove",
            {"machine": "m3", "failureDomain": None, "resume": True, "memberID": None, "name": None},
        )

    def test_its_member_is_checked_again(self) -> None:
        assert act(healthy(3).deleting("m3")) == ("remove", "m3")
        builder = healthy(3).deleting("m3").sick_member("m2").stored("EtcdClusterHealthy", "False", 61)
        assert act(builder) == ("blocked", None)

    @pytest.mark.parametrize("agrees", [None, False])
    def test_views_that_differ_block_one_of_whose_bootstrap_nothing_is_recorded(self, agrees: Any) -> None:
        """It has a Node, so kubeadm ran there: without a member in one list it may still be a voter in another."""
        builder = healthy(3).without_member("m3").deleting("m3").stored("EtcdClusterHealthy", "False", 61)
        del builder.entry("m3")["machine"]["status"]["bootstrap"]
        assert act(builder) == ("remove", "m3")
        builder.workload["etcd"]["memberListAgrees"] = agrees
        assert act(builder) == ("blocked", None)

    def test_nothing_joins_meanwhile(self) -> None:
        assert act(healthy(3, replicas=5).deleting("m3")) == ("remove", "m3")

    def test_one_at_a_time_the_oldest_mark_first(self) -> None:
        builder = healthy(5).deleting("m2", "m4")
        builder.entry("m4")["machine"]["metadata"]["deletionTimestamp"] = "2026-01-31T11:00:00Z"
        assert act(builder) == ("remove", "m4")

    @pytest.mark.parametrize("answers", [False, None])
    @pytest.mark.parametrize("count", [1, 3])
    def test_one_with_a_recorded_node_is_not_taken_for_never_bootstrapped(self, count: int, answers: Any) -> None:
        """Another controller made it, records no bootstrap, and marked it before it could be adopted."""
        builder = healthy(count).unreachable().endpoint(answers).deleting("m1")
        for number in range(count):
            del builder.entry(f"m{number + 1}")["machine"]["status"]["bootstrap"]
        builder.snapshot["cluster"]["status"] = builder.snapshot["controlPlane"]["status"] = {}
        assert act(builder)[0] in ("blocked", "wait")

    def test_one_that_was_never_bootstrapped_needs_nobody_to_answer(self) -> None:
        assert act(healthy(2, replicas=3).machine("m3", "").unreachable().deleting("m3")) == ("remove", "m3")

    @pytest.mark.parametrize("members", [1, 3])
    def test_a_join_that_is_under_way_is_waited_for_and_then_removed_with_its_member(self, members: int) -> None:
        """kubeadm may add the member right after a look that found none: its machine would go and its vote would stay."""
        builder = healthy(members, replicas=members).machine("m9", "Running", age=899).deleting("m9")
        decision = decide(builder.build())
        assert decision["action"] == "join" and decision["target"]["machine"] == "m9" and decision["target"]["resume"]
        joined, removed, *_others = plan(builder.build())
        assert (joined["action"], joined["target"]["machine"]) == ("join", "m9")
        assert (removed["action"], removed["target"]["machine"]) == ("remove", "m9")
        assert removed["target"]["memberID"], "nobody removes a machine whose member nobody knows"

    def test_a_join_is_not_waited_for_for_ever(self) -> None:
        """Only where the machine does not answer: one that does has a bound of its own, and tells its result."""
        late = healthy(3).machine("m4", "Running", age=1800).deleting("m4")
        assert act(late) == ("join", "m4")
        assert act(late.says("m4")) == ("remove", "m4")

    def test_nor_on_a_machine_that_its_provider_calls_dead(self) -> None:
        builder = healthy(3).machine("m4", "Running", age=60).deleting("m4")
        builder.entry("m4")["infrastructureMachine"]["status"]["state"] = "dead"
        assert act(builder) == ("remove", "m4")

    def test_the_last_machine_is_kept(self) -> None:
        builder = healthy(1).deleting("m1").stored("ControlPlaneComponentsHealthy", "True", 999)
        assert act(builder) == ("blocked", None)

    @pytest.mark.parametrize(
        ("kept", "replaced", "told"),
        [
            ("m1", (), "Bring the other machines back"),
            ("m1", ("m2", "m3"), "take its deletion back by hand"),
            # Nobody marked it: it failed to join.
            ("m4", ("m1", "m2", "m3"), "Bring the other machines back"),
        ],
    )
    def test_the_only_one_that_works_is_kept_and_the_way_out_is_one(
        self, kept: str, replaced: tuple[str, ...], told: str
    ) -> None:
        """A restore was done on a machine that is marked: the others' data are moved aside, and they are never well again."""
        if kept == "m1":
            builder = healthy(3).deleting("m1")
        else:
            builder = failed(dead(healthy(3, replicas=5), "m1").machine("m4").member("m4"), "m4")
        dead(dead(builder, "m2"), "m3")
        for name in replaced:
            builder.annotate(REMEDIATE_MACHINE, "", name)
        entry = next(
            each for each in decide(builder.build())["blockedOn"] if f"removing machine {kept}" in each["message"]
        )
        assert told in entry["fix"]
