# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that can't come back are replaced without a mark; Nodes of machines that are gone are deleted.

Source: docs/removing_a_machine.md, "What repairs itself".
"""

from __future__ import annotations

import pytest
from builders import Builder, at, healthy, member_id
from decisions import Change, changed
from rules import external, says

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan


def lost(state: str = "missing", count: int = 3) -> Builder:
    """The provider says so of m2, whose member does not answer any more."""
    builder = healthy(count).sick_member("m2").node("m2", "Unknown")
    builder.entry("m2")["infrastructureMachine"]["status"]["state"] = state
    return builder.stored("EtcdClusterHealthy", "False", 90)


def witnessed(builder: Builder) -> Builder:
    """A second machine sees etcd in the same way."""
    workload = builder.workload
    workload["witnesses"] = [{"machine": "m3", "reachable": True, "message": "", "etcd": workload["etcd"]}]
    return builder


@pytest.mark.parametrize("state", ["missing", "terminated", "deleted"])
def test_infrastructure_that_does_not_exist_any_more(state: str) -> None:
    decision = decide(witnessed(lost(state)).build())
    assert says(decision) == ("remove", "MachineUnhealthy")
    assert decision["target"] == {**decision["target"], "machine": "m2", "memberID": member_id("m2")}
    assert "does not exist any more" in decision["reasons"][0]["message"]
    assert decision["remediation"]["machine"] == "m2"
    assert [step["action"] for step in plan(witnessed(lost(state)).build())] == ["remove", "join", "none"]


def test_a_machine_that_is_only_dead_may_be_started_again() -> None:
    assert says(decide(witnessed(lost("dead")).build())) == ("blocked", "InfrastructureGone")


@pytest.mark.parametrize("change", [lambda b: b.sick_member("m3")])
def test_not_where_the_quorum_would_go(change: Change) -> None:
    decision = decide(witnessed(changed(lost(), change)).build())
    assert decision["action"] in ("wait", "blocked")
    assert "CannotBeRemediated" in [each["reason"] for each in decision["reasons"]]


def memberless(seconds: float = 60) -> Builder:
    """Somebody took m2's member out; its machine and Node are there."""
    return healthy(3).without_member("m2").stored("EtcdMemberHealthy", "False", seconds, "m2")


def test_a_member_that_was_taken_out() -> None:
    decision = decide(memberless().build())
    assert says(decision) == ("remove", "MachineUnhealthy")
    assert decision["target"]["machine"] == "m2" and not decision["target"]["memberID"]
    assert decision["quorum"]["before"] == decision["quorum"]["after"]


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.workload["etcd"].update(memberListAgrees=False),
        lambda b: b.workload["etcd"].update(memberListAgrees=None),
        lambda b: b.member("m4", unnamed=True),
    ],
)
def test_not_where_the_list_is_in_doubt(change: Change) -> None:
    assert decide(changed(memberless(), change).build())["action"] != "remove"


def test_not_on_the_first_sight() -> None:
    assert decide(memberless(59).build())["action"] == "wait"


def began(name: str, seconds: float) -> Change:
    """The machine's bootstrap began so long ago."""
    return lambda b: b.entry(name)["machine"]["status"]["bootstrap"].update(startedAt=at(seconds))


def test_that_another_machine_joined_just_now_changes_nothing() -> None:
    assert says(decide(changed(memberless(), began("m3", 70)).build())) == ("remove", "MachineUnhealthy")


@pytest.mark.parametrize("change", [began("m2", 299), lambda b: b.machine("m4", "Running", age=20)])
def test_not_while_its_own_join_or_another_ones_may_still_settle(change: Change) -> None:
    assert decide(changed(memberless(), change).build())["action"] != "remove"


def test_external_etcd_has_no_members_of_its_own() -> None:
    assert decide(external(healthy(3)).build())["action"] == "none"


def stray_node(seconds: float = 300, status: str = "Unknown", name: str = "old") -> Builder:
    """A control plane Node of no machine whose Ready condition has been so for so many seconds."""
    builder = healthy(3).node(name, status)
    builder.workload["nodes"][-1]["conditions"] = [
        {"type": "Ready", "status": status, "reason": "X", "lastTransitionTime": at(seconds)}
    ]
    return builder


def test_a_silent_node_without_machine_and_member_is_deleted() -> None:
    decision = decide(stray_node().build())
    assert says(decision) == ("removeNode", "StrayNode")
    assert decision["target"]["node"] == "old" and decision["quorum"] is None
    assert [step["action"] for step in plan(stray_node().build())] == ["removeNode", "none"]
    assert says(decide(external(stray_node()).build())) == ("removeNode", "StrayNode")


def test_it_is_waited_for_before() -> None:
    assert says(decide(stray_node(299).build())) == ("wait", "UnmanagedNode")


@pytest.mark.parametrize("status", ["True", "False"])
def test_a_kubelet_that_reports_is_somebodys(status: str) -> None:
    assert says(decide(stray_node(9999, status).build())) == ("blocked", "UnmanagedNode")


CHANGES: list[Change] = [
    lambda b: b.member("old"),
    lambda b: b.workload["etcd"].update(memberListAgrees=None),
    lambda b: b.machine("m4", "", age=20),
    lambda b: b.workload["nodes"][-1].update(labels={}),
    lambda b: b.workload["nodes"][-1].pop("conditions"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_not_where_it_may_be_somebodys(change: Change) -> None:
    assert decide(changed(stray_node(), change).build())["action"] != "removeNode"


def test_the_node_of_a_machine_that_is_being_removed_is_its_own() -> None:
    builder = stray_node(name="m4")
    builder.machine("m4", "Succeeded").deleting("m4")
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m4"]
    assert decide(builder.build())["action"] == "remove"
