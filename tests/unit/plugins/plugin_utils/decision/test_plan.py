# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan is decide run forward; its steps in words."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, cluster, healthy, member_id

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan, predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.fingerprint import (
    fingerprint,
    state_of,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.text import describe


def actions(builder: Builder) -> list[str]:
    return [step["action"] for step in plan(builder.build())]


def test_creating_a_cluster() -> None:
    steps = plan(cluster(3).bare().domains("a", "b", "c").build())
    assert [(step["step"], step["action"], (step["target"] or {}).get("failureDomain")) for step in steps] == [
        (1, "createInfrastructure", None),
        (2, "createCertificates", None),
        (3, "initialize", "a"),
        (4, "join", "b"),
        (5, "join", "c"),
        (6, "none", None),
    ]
    assert [step["quorum"]["after"]["voters"] for step in steps if step["quorum"]] == [1, 2, 3]


def test_a_second_plan_of_what_was_reached_is_empty() -> None:
    snapshot = cluster(5).bare().build()
    for step in plan(snapshot):
        snapshot = predict(snapshot, step)
    assert [step["action"] for step in plan(snapshot)] == ["none"]


@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (healthy(3), ["none"]),
        (healthy(1, replicas=3), ["join", "join", "none"]),
        (healthy(1, replicas=3).machine("m2", "Running", age=5), ["join", "join", "none"]),
        (healthy(2, replicas=3).machine("m3", "Failed"), ["remove", "join", "none"]),
        (healthy(3).without_member("m3").deleting("m3"), ["remove", "join", "none"]),
        (cluster(1).machine("x", "Failed"), ["remove", "initialize", "none"]),
        (cluster(1).machine("x", ""), ["initialize", "none"]),
        (cluster(3).endpoint(True), ["blocked"]),
        (healthy(3).unreachable(), ["wait"]),
        (healthy(3).deleting(), ["deleteMachines", "deleteInfrastructure", "none"]),
    ],
)
def test_from_here_to_the_end(builder: Builder, expected: list[str]) -> None:
    assert actions(builder) == expected


def test_planning_changes_nothing_and_is_repeatable() -> None:
    snapshot = healthy(2, replicas=3).machine("m3", "Failed").build()
    first = plan(snapshot)
    assert snapshot == healthy(2, replicas=3).machine("m3", "Failed").build()
    assert plan(snapshot) == first


def test_a_removed_leader_is_followed_by_another() -> None:
    builder = healthy(3)
    builder.entry("m3")["machine"]["status"]["bootstrap"]["state"] = "Failed"
    builder.workload["etcd"]["leader"] = member_id("m3")
    steps = plan(builder.build())
    assert [step["action"] for step in steps] == ["remove", "join", "none"]
    assert steps[1]["quorum"]["leader"] == steps[0]["leadership"]["to"][0] == "m2"


def test_external_etcd() -> None:
    builder = cluster(2).bare()
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {"endpoints": ["https://e:2379"]}}
    for name in ("etcd",):
        builder.snapshot["certificates"][name].update(present=True)
    assert actions(builder) == ["createInfrastructure", "createCertificates", "initialize", "join", "none"]


def test_each_step_has_the_fingerprint_of_the_state_before_it() -> None:
    snapshot = healthy(1, replicas=3).build()
    steps = plan(snapshot)
    assert steps[0]["expects"] == fingerprint(state_of(snapshot))
    assert steps[1]["expects"] == fingerprint(state_of(predict(snapshot, steps[0])))
    assert len({step["expects"] for step in steps}) == len(steps)


def test_new_machines_get_their_names_in_order_and_their_domain_is_told() -> None:
    asked = []

    def name(domain: str) -> str:
        asked.append(domain)
        return f"fixed-{len(asked)}"

    steps = plan(cluster(3).bare().domains("a", "b", "c").build(), names=name)
    assert [step["target"]["name"] for step in steps if step["target"]] == ["fixed-1", "fixed-2", "fixed-3"]
    assert asked == ["a", "b", "c"]
    assert steps[3]["quorum"]["leader"] == "fixed-1"


def test_machines_that_exist_get_no_new_name() -> None:
    steps = plan(cluster(1).machine("x", "").build(), names=lambda domain: "other")
    assert (steps[0]["target"]["machine"], steps[0]["target"]["name"]) == ("x", None)


def test_a_plan_is_bounded() -> None:
    steps = plan(cluster(9).bare().build(), limit=5)
    assert len(steps) == 5
    assert (steps[-1]["action"], steps[-1]["blockedOn"][0]["reason"]) == ("blocked", "PlanTooLong")


@pytest.mark.parametrize(
    ("builder", "text"),
    [
        (
            cluster(3).domains("a", "b").machine("m1", domain="a").machine("m2", domain="a"),
            "join a new machine in failure domain b: 2 of 3 replicas; etcd 2 voters, quorum 2 → 3 voters, quorum 2",
        ),
        (
            healthy(1, replicas=3),
            "join a new machine: 1 of 3 replicas; etcd 1 voter, quorum 1 → 2 voters, quorum 2 (risk: both are needed from then on)",
        ),
        (cluster(3), "initialize the control plane on a new machine: 0 of 3 replicas; etcd 1 voter, quorum 1"),
        (
            healthy(1, replicas=3).machine("m2", "Running", age=5),
            "resume joining machine m2: 1 of 3 replicas: kubeadm join is under way",
        ),
        (
            healthy(2, replicas=3).machine("m3", "Failed"),
            "remove machine m3: its bootstrap failed (no reason recorded); etcd unchanged",
        ),
        (healthy(3), "nothing to do: 3 of 3 replicas, all up to date"),
        (healthy(3).deleting(), "delete the control plane: delete all machines, in parallel: m1, m2, m3"),
    ],
)
def test_in_words(builder: Builder, text: str) -> None:
    assert describe(decide(builder.build())) == text


def test_blocked_says_what_to_do_and_how_much_more_there_is() -> None:
    builder = healthy(1, replicas=3).endpoint(False).stored("ControlPlaneEndpointReachable", "False", 900, "cluster")
    builder.workload["clockSkewSeconds"] = 90
    text = describe(decide(builder.build()))
    assert "(and 1 more). To do: Look at the load balancer" in text


def test_what_hosts_say_cannot_break_the_line() -> None:
    builder: Any = healthy(2, replicas=3).machine("m3", "Failed")
    builder.entry("m3")["machine"]["status"]["bootstrap"]["message"] = "line\nnext\x1b[2J" + "y" * 5000
    text = describe(decide(builder.build()))
    assert text.isprintable()
    assert len(text) < 400
