# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins of which the etcd member is added as a learner, by kubeadm or before it, and what is done about one that was left."""

from __future__ import annotations

import pytest
from builders import Builder, cluster, healthy, member_id
from rules import REMEDIATE_MACHINE, dead, short, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan


def etcd_version(builder: Builder, version: str) -> Builder:
    """Every member says that it runs this etcd; "" says nothing."""
    for status in builder.workload["etcd"]["statuses"].values():
        status.update({"version": version} if version else {})
    return builder


@pytest.mark.parametrize(
    ("version", "gates", "etcd", "learner", "before"),
    [
        ("v1.29.0", {}, "3.5.10", True, False),
        ("v1.29.0", {}, "", True, False),
        ("v1.29.0", {"EtcdLearnerMode": False}, "3.5.10", False, False),
        ("v1.28.0", {"EtcdLearnerMode": True}, "3.5.9", True, False),
        ("v1.28.0", {}, "3.5.9", True, True),
        ("v1.20.2", {}, "3.4.13", True, True),
        ("v1.19.0", {}, "3.4.9", True, True),
        ("v1.20.2", {}, "3.3.17", False, False),
        ("v1.20.2", {}, "", False, False),
        ("v1.18.0", {}, "3.4.3", False, False),
        ("v1.26.0", {"EtcdLearnerMode": True}, "", False, False),
    ],
)
def test_the_risk_of_the_second_voter_is_smaller_with_a_learner(
    version: str, gates: dict[str, bool], etcd: str, learner: bool, before: bool
) -> None:
    """Added by kubeadm where it does that, else before it where both kubeadm and etcd are new enough."""
    builder = cluster(3, version)
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["featureGates"] = gates
    builder.machine("m1")
    decision = decide(etcd_version(builder, etcd).build())
    why = decision["quorum"]["whyThisOrder"]
    assert decision["action"] == "join" and "RISK" in why
    assert ("joins as a learner" in why) is learner
    assert ("etcd does not serve" in why) is not learner
    assert decision["target"].get("learner", False) is before


def test_from_two_voters_on_there_is_no_risk_and_a_learner_all_the_same() -> None:
    decision = decide(etcd_version(healthy(2, replicas=3), "3.4.13").build())
    assert decision["target"]["learner"] is True
    assert "RISK" not in decision["quorum"]["whyThisOrder"]
    assert "has no vote before it has caught up" in decision["quorum"]["whyThisOrder"]


def test_an_external_etcd_has_no_member_to_add() -> None:
    builder = etcd_version(healthy(1, replicas=3), "3.4.13")
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {}}
    decision = decide(builder.build())
    assert decision["action"] == "join" and "learner" not in decision["target"]


@pytest.mark.parametrize(("version", "learner"), [("v1.20.2", True), ("v1.16.4", False)])
def test_the_plan_of_a_new_cluster_knows_which_etcd_it_will_have(version: str, learner: bool) -> None:
    """No member has told its version yet: the first machine brings that of its kubeadm."""
    joins = [step for step in plan(cluster(3, version).build()) if step["action"] == "join"]
    assert [step["target"].get("learner", False) for step in joins] == [learner, learner]
    assert ("joins as a learner" in joins[0]["quorum"]["whyThisOrder"]) is learner


@pytest.mark.parametrize("started", [False, True])
def test_a_machine_that_died_as_a_learner_is_replaced_without_any_consent(started: bool) -> None:
    """Its learner goes with it, by its ID; the only voter has its quorum all along."""
    builder = etcd_version(healthy(1, replicas=3), "3.4.13").machine("m2", "Running", age=30)
    builder.entry("m2")["infrastructureMachine"]["status"]["state"] = "dead"
    etcd = builder.workload["etcd"]
    name = "m2" if started else ""
    etcd["members"].append({"id": member_id("m2"), "name": name, "peerURLs": [], "clientURLs": [], "isLearner": True})
    etcd["statuses"][member_id("m2")] = {"healthy": False, "message": "no answer"}
    decision = decide(builder.build())
    assert (decision["action"], decision["target"]["machine"]) == ("remove", "m2")
    assert decision["target"]["memberID"] == member_id("m2")
    assert decision["quorum"]["before"] == decision["quorum"]["after"]


def test_a_join_under_way_is_gone_on_with_beside_its_learner() -> None:
    builder = etcd_version(healthy(1, replicas=3), "3.4.13").machine("m2", "Running", age=30)
    etcd = builder.workload["etcd"]
    etcd["members"].append({"id": member_id("m2"), "name": "m2", "peerURLs": [], "clientURLs": [], "isLearner": True})
    etcd["statuses"][member_id("m2")] = {"healthy": True, "message": ""}
    decision = decide(builder.build())
    assert (decision["action"], decision["target"]["machine"], decision["target"]["resume"]) == ("join", "m2", True)


def unpromoted(host: str = "Succeeded", **member: bool) -> Builder:
    """m4 joined while m2, a voter, was lost for good: with four voters and two healthy ones etcd would have no quorum if m4 failed."""
    builder = healthy(3, replicas=5).machine("m4", "Running", age=60).says("m4", host)
    builder.member("m4", **{"learner": True, "healthy": False, **member})
    return witness(dead(builder, "m2").annotate(REMEDIATE_MACHINE, "", "m2"), "m3")


@pytest.mark.parametrize("healthy_learner", [False, True])
@pytest.mark.parametrize("wanted", ["user", "health check", "deletion"])
def test_a_learner_without_a_vote_goes_when_it_is_wanted_gone_and_a_voter_that_died_after_it(
    wanted: str, healthy_learner: bool
) -> None:
    """It holds up every repair, and nothing is lost with it; else nothing but giving up its bootstrap would end that."""
    builder = unpromoted(healthy=healthy_learner)
    assert short(decide(builder.build())) == "~m4"
    if wanted == "user":
        builder.annotate(REMEDIATE_MACHINE, "", "m4")
    elif wanted == "health check":
        builder.marked("m4")
    else:
        builder.deleting("m4")
    decision = decide(builder.build())
    assert short(decision) == "-m4" and decision["target"]["memberID"] == member_id("m4")
    assert decision["quorum"]["before"] == decision["quorum"]["after"]
    if wanted != "deletion":
        assert "its etcd member got no vote" in decision["reasons"][0]["message"]
    assert [short(each) for each in plan(builder.build())][:2] == ["-m4", "-m2"]


@pytest.mark.parametrize(
    "builder",
    [unpromoted("Running"), unpromoted(learner=False, healthy=True)],
    ids=["kubeadm is at work", "it votes, and that is recorded first"],
)
def test_only_a_learner_whose_kubeadm_has_ended_goes_for_a_mark(builder: Builder) -> None:
    assert short(decide(builder.annotate(REMEDIATE_MACHINE, "", "m4").build())) == "~m4"


@pytest.mark.parametrize(
    ("stage", "host", "known", "first"),
    [
        ("WaitingForPreTerminateHook", "Succeeded", True, "-m4"),
        ("WaitingForInfrastructureDeletion", "Succeeded", True, "-m4"),
        # Its removal has not come that far, kubeadm is at work, or nobody knows the members: it may have one, or get one.
        ("DrainingNode", "Succeeded", True, "~m4"),
        ("WaitingForInfrastructureDeletion", "Running", True, "~m4"),
        ("WaitingForInfrastructureDeletion", "Succeeded", False, "~m4"),
    ],
)
def test_a_removal_that_was_cut_off_after_the_learner_is_gone_on_with(
    stage: str, host: str, known: bool, first: str
) -> None:
    """To join it again would put a machine without etcd behind the endpoint, and record that it has joined."""
    builder = healthy(3).machine("m4", "Running", age=60).says("m4", host).deleting("m4")
    builder.stored("Deleting", "True", 30, "m4", stage)
    if not known:
        builder.etcd()
    assert short(decide(builder.build())) == first
