# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who leads etcd after the leader's machine went (docs/reference/cluster_api.md, "Leadership forward")."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy, member_id
from rules import external, outdate, seen, short, upgrade, walked, without_node, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan


def moved(builder: Builder) -> Any:
    return decide(builder.build())["leadership"]


def test_the_newest_of_equals_comes_first() -> None:
    assert moved(healthy(5, replicas=3)) == {"from": "m1", "to": ["m5", "m4", "m3", "m2"]}


def test_it_stays_where_another_one_leads() -> None:
    assert moved(healthy(5, replicas=3).leads("m2")) is None


@pytest.mark.parametrize(
    "builder",
    [healthy(3), healthy(3, replicas=5), upgrade(healthy(3)), healthy(3).deleting(), healthy(3).member("stray")],
)
def test_nothing_is_moved_where_no_leader_goes(builder: Builder) -> None:
    assert moved(builder) is None


def test_better_candidates_come_first() -> None:
    builder = outdate(healthy(5), "m1", "m4").marked("m1", "m5")
    for name in ("m2", "m3", "m4"):
        builder.stored("HealthCheckSucceeded", "True", 900, name)
    assert moved(builder) == {"from": "m1", "to": ["m3", "m2", "m4", "m5"]}


def test_a_member_that_is_not_well_is_no_candidate() -> None:
    assert moved(witness(healthy(5).marked("m1").sick_member("m5"), "m2")) == {"from": "m1", "to": ["m4", "m3", "m2"]}


def test_machines_that_go_or_have_no_node_are_no_candidates() -> None:
    builder = healthy(5).deleting("m1")
    without_node(builder, "m5")
    assert moved(builder)["to"] == ["m4", "m3", "m2"]


def test_of_two_that_go_neither_leads_afterwards() -> None:
    assert moved(healthy(3).deleting("m1", "m2")) == {"from": "m1", "to": ["m3"]}


def test_whoever_goes() -> None:
    for builder in (
        healthy(3).deleting("m1"),
        healthy(3).marked("m1"),
        healthy(3, replicas=1),
        walked(upgrade(healthy(3)), 1),
        walked(upgrade(healthy(1)), 1),
    ):
        found = moved(builder)
        assert found["from"] == "m1"
        assert found["to"]


def test_a_stray_member_that_leads() -> None:
    builder = seen(healthy(3).member("stray").leads("stray"), 60, "stray")
    assert moved(builder) == {"from": "stray", "to": ["m3", "m2", "m1"]}


def test_without_a_known_leader_nobody_goes() -> None:
    for builder in (healthy(5, replicas=3), healthy(3).marked("m1"), healthy(3).deleting("m1")):
        builder.workload["etcd"]["leader"] = None
        assert decide(builder.build())["action"] in ("wait", "blocked")


def test_with_external_etcd_nothing_is_led() -> None:
    assert moved(external(healthy(3)).marked("m1")) is None
    assert moved(external(healthy(4, replicas=2))) is None


def test_a_plan_follows_it() -> None:
    steps = plan(healthy(5, replicas=1).build())
    assert (short(steps[0]), steps[0]["leadership"]["from"]) == ("-m1", "m1")
    for step in steps[:-1]:
        assert step["quorum"]["leader"]
        assert (step["leadership"] is not None) == (step["quorum"]["leader"] == step["target"]["machine"])


def test_the_leader_is_named_by_its_member() -> None:
    builder = healthy(3).marked("m2").leads("m2")
    decision = decide(builder.build())
    assert decision["target"]["memberID"] == member_id("m2")
    assert decision["leadership"]["from"] == "m2"
