# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterResourceSets are applied as soon as the API answers, and hold nothing up that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders import Builder, at, cluster, healthy
from rules import replaces

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.state_fingerprint import state_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds

Object = dict[str, Any]
OLD, NEW = "sha256:old", "sha256:new"


def resource(state: str = "present", **changes: Any) -> Object:
    """A ConfigMap that was never tried."""
    found = {"kind": "ConfigMap", "name": "flannel", "state": state, "hash": NEW, "applied": False, "appliedHash": ""}
    return {**found, **changes}


def tried(seconds: int, applied: bool = False, content: str = NEW) -> Object:
    """A ConfigMap whose contents were tried so long ago."""
    return resource(applied=applied, appliedHash=content, lastAppliedTime=at(seconds))


def with_set(builder: Builder, *resources: Object, strategy: str = "ApplyOnce", **changes: Any) -> Builder:
    """One set that selects the Cluster."""
    found = {"name": "cni", "strategy": strategy, "paused": False, "message": "", "resources": list(resources)}
    builder.snapshot["resourceSets"] = [{**found, **changes}]
    assert check_snapshot(builder.build()) == []
    return builder


def paused(builder: Builder) -> Builder:
    """Its Cluster is paused."""
    builder.snapshot["cluster"]["spec"]["paused"] = True
    return builder


def of_another_etcd(builder: Builder) -> Builder:
    """The etcd that answers isn't the recorded one."""
    builder.snapshot["controlPlane"]["status"]["etcdClusterID"] = "00000000000000dd"
    return builder


@pytest.mark.parametrize(
    ("found", "strategy", "due"),
    [
        (resource(), "ApplyOnce", True),
        (tried(10, applied=True), "ApplyOnce", False),
        # The first content stays, whatever comes later.
        (tried(10, applied=True, content=OLD), "ApplyOnce", False),
        (tried(10, applied=True, content=OLD), "Reconcile", True),
        (tried(10, applied=True), "Reconcile", False),
        # What was refused is tried again when it was changed, or a minute later.
        (tried(59), "ApplyOnce", False),
        (tried(60), "ApplyOnce", True),
        (tried(59, content=OLD), "ApplyOnce", True),
        (tried(-5), "ApplyOnce", True),
        (resource("missing", hash=""), "ApplyOnce", False),
        (resource("wrongType", hash=""), "Reconcile", False),
    ],
)
def test_what_is_due(found: Object, strategy: str, due: bool) -> None:
    decision = decide(with_set(healthy(3), found, strategy=strategy).build())
    assert (decision["action"] == "applyResourceSets") is due
    if due:
        assert decision["target"]["resourceSets"] == ["cni"]
        assert (
            describe(decision)
            == "apply ClusterResourceSet cni to the cluster: ClusterResourceSet cni: ConfigMap flannel"
        )


def test_what_was_refused_is_tried_again_where_no_other_step_can_be_taken() -> None:
    """However long each attempt takes: what would repair the cluster is never behind it."""
    assert decide(with_set(healthy(1, replicas=3), tried(600)).build())["action"] == "join"
    assert decide(with_set(healthy(3).deleting("m3"), tried(600)).build())["action"] == "remove"
    assert decide(with_set(healthy(3), tried(600)).build())["action"] == "applyResourceSets"
    # The first attempt comes before everything, and is one.
    both = with_set(healthy(3).deleting("m3"), tried(600), resource(name="b"))
    assert decide(both.build())["action"] == "applyResourceSets"


def test_all_that_was_refused_rests_from_the_latest_attempt() -> None:
    """Where all attempts take longer than the rest, the first would else be due when the last has ended, for ever."""
    decision = decide(with_set(healthy(3), tried(300), tried(5) | {"name": "b"}).build())
    assert decision["action"] == "blocked"


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_the_rest_is_by_the_clock_that_recorded_the_attempt(skew: int) -> None:
    """The workload API's may be another time altogether."""
    builder = with_set(healthy(3), tried(5))
    builder.snapshot["observedAt"] = at(0)
    builder.snapshot["resourceSets"][0]["resources"][0]["lastAppliedTime"] = at(5)
    builder.snapshot["now"] = at(skew)
    assert decide(builder.build())["action"] != "applyResourceSets"


def test_it_comes_right_after_the_first_machine_and_before_the_wait_for_a_network() -> None:
    steps = plan(with_set(cluster(3), resource()).build())
    assert [each["action"] for each in steps] == ["initialize", "applyResourceSets", "join", "join", "none"]
    waiting = healthy(3).node("m2", ready="False", age=10)
    assert decide(waiting.build())["action"] == "wait"
    assert decide(with_set(waiting, resource()).build())["action"] == "applyResourceSets"


@pytest.mark.parametrize(
    "builder",
    [
        healthy(3).unreachable(),
        healthy(3).deleting(),
        paused(healthy(3)),
        of_another_etcd(healthy(3)),
        healthy(2, replicas=3).machine("m3", "Running"),
    ],
)
def test_nothing_is_applied_where_nothing_may_be_or_nobody_answers(builder: Builder) -> None:
    """Nor to another cluster: it would be recorded as applied to this one."""
    for found in (resource(), tried(600)):
        assert decide(with_set(builder, found).build())["action"] != "applyResourceSets"


def test_a_paused_set_is_left_alone() -> None:
    decision = decide(with_set(healthy(3), resource(), resource("missing", name="b"), paused=True).build())
    assert (decision["action"], [each["reason"] for each in decision["reasons"]]) == ("none", ["UpToDate"])
    assert "resourceSets" not in decision["conditions"]


@pytest.mark.parametrize(
    ("found", "reason", "condition"),
    [
        (resource("missing", hash=""), "ResourceUnusable", "InternalError"),
        (resource("unreadable", hash=""), "ResourceUnusable", "InternalError"),
        (resource("wrongType", hash="", kind="Secret"), "ResourceUnusable", "WrongSecretType"),
        (tried(10), "ResourceRefused", "NotApplied"),
    ],
)
def test_what_is_not_applied_is_said_at_the_end_and_holds_nothing_up(
    found: Object, reason: str, condition: str
) -> None:
    assert decide(with_set(healthy(1, replicas=3), found).build())["action"] == "join"
    assert decide(with_set(healthy(3).deleting("m3"), found).build())["action"] == "remove"
    decision = decide(with_set(healthy(3), found, message="Deployment a: no kind of this name").build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", reason)
    assert decision["blockedOn"][0]["fix"]
    if reason == "ResourceRefused":
        assert "Deployment a: no kind of this name" in describe(decision)
    assert decision["conditions"]["resourceSets"]["cni"]["reason"] == condition


def failed() -> Builder:
    """A machine's bootstrap failed, and is not tried again yet."""
    builder = healthy(4, replicas=5).machine("m5", "Failed", age=1000).wants(remediation={"retryPeriodSeconds": 600})
    return replaces(builder, "m5", 100)


def held_by_a_hook() -> Builder:
    """The deletion of a machine waits for its user."""
    return healthy(5).deleting("m2").annotate(f"{kinds.HOOK_PRE_DRAIN}/of-others", "", "m2")


@pytest.mark.parametrize(
    ("builder", "beside", "told", "later"),
    [(failed, "postponed", "blocked", "applyResourceSets"), (held_by_a_hook, "wait", "wait", "wait")],
)
def test_it_is_said_and_tried_again_beside_a_removal_that_is_held_up(
    builder: Callable[[], Builder], beside: str, told: str, later: str
) -> None:
    """Such a run would else end well; where the removal only waits, its end comes first: a step would restart the wait's bound, without end."""
    assert decide(builder().build())["action"] == beside
    decision = decide(with_set(builder(), tried(10)).build())
    assert decision["action"] == told
    assert ("ResourceRefused" in [each["reason"] for each in decision["blockedOn"]]) is (told == "blocked")
    # What is to be typed is to run this again in a minute.
    assert decide(with_set(builder(), tried(60)).build())["action"] == later


def test_all_applied_is_a_true_condition_and_nothing_to_do() -> None:
    decision = decide(with_set(healthy(3), tried(10, applied=True)).build())
    assert decision["action"] == "none"
    condition = decision["conditions"]["resourceSets"]["cni"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ResourcesApplied", "True", "Applied")


def test_while_a_rotation_is_not_over_it_does_not_hold_up_a_removal() -> None:
    builder = with_set(healthy(3).deleting("m3"), resource())
    builder.snapshot["unfinishedRotation"] = {"action": "r", "authorities": ["ca"]}
    assert [each["action"] for each in plan(builder.build())][:2] == ["applyResourceSets", "remove"]


def test_a_plans_state_tells_what_is_applied_only_where_there_are_sets() -> None:
    assert "resourceSets" not in state_of(healthy(3).build())
    assert state_of(with_set(healthy(3), resource()).build())["resourceSets"] == {
        "cni": ["ConfigMap flannel sha256:new"]
    }
    assert state_of(with_set(healthy(3), tried(1, applied=True)).build())["resourceSets"] == {"cni": []}
