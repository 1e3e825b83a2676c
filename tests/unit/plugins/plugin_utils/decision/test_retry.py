# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often and how soon a replacement that fails is replaced again (docs/reference/cluster_api.md, "Retry limits")."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest
from builders import NOW, Builder, at, cluster, healthy
from rules import (
    IN_PROGRESS,
    REMEDIATE_MACHINE,
    REMEDIATION_FOR,
    condition,
    dead,
    etcd_version,
    in_progress,
    outdate,
    reasons,
    replaces,
    says,
    surge,
    walk,
    walked,
    witness,
)

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

# spec.remediation; how long ago the machine's predecessor was remediated and its count; what follows: the new count, or why not.
LIMITS: list[tuple[dict[str, int], Optional[tuple[float, int]], Any]] = [
    ({}, None, 0),
    ({"maxRetry": 0}, None, 0),
    ({"maxRetry": 3, "retryPeriodSeconds": 600}, None, 0),
    ({}, (100, 0), 1),
    ({}, (3599, 4), 5),
    ({}, (3600, 4), 0),
    ({}, (100, 50), 51),
    ({"minHealthyPeriodSeconds": 60}, (59, 4), 5),
    ({"minHealthyPeriodSeconds": 60}, (60, 4), 0),
    ({"minHealthyPeriodSeconds": 60, "maxRetry": 0}, (61, 4), 0),
    ({"minHealthyPeriodSeconds": 7200}, (3700, 1), 2),
    ({"retryPeriodSeconds": 600}, (599, 0), "RemediationDeferred"),
    ({"retryPeriodSeconds": 600}, (600, 0), 1),
    ({"maxRetry": 3}, (100, 2), 3),
    ({"maxRetry": 3}, (100, 3), "CannotBeRemediated"),
    ({"maxRetry": 3}, (100, 4), "CannotBeRemediated"),
    ({"maxRetry": 0}, (100, 0), "CannotBeRemediated"),
    ({"maxRetry": 0, "retryPeriodSeconds": 600}, (100, 0), "RemediationDeferred"),
    ({"maxRetry": 0, "retryPeriodSeconds": 600}, (700, 0), "CannotBeRemediated"),
    ({"maxRetry": 1, "retryPeriodSeconds": 600}, (700, 0), 1),
    ({"retryPeriodSeconds": 5000}, (3700, 1), 0),
]
ACTIONS = {"RemediationDeferred": "postponed", "CannotBeRemediated": "blocked"}


@pytest.mark.parametrize(("limits", "last", "expected"), LIMITS)
def test_limits(limits: dict[str, int], last: Optional[tuple[float, int]], expected: Any) -> None:
    builder = healthy(3).marked("m2").wants(remediation=limits)
    if last is not None:
        replaces(builder, "m2", *last)
    decision = decide(builder.build())
    if isinstance(expected, int):
        assert says(decision) == ("remove", "MachineUnhealthy")
        assert decision["remediation"] == {"machine": "m2", "timestamp": NOW, "retryCount": expected}
    else:
        assert decision["action"] == ACTIONS[expected]
        assert expected in reasons(decision)
        assert decision["remediation"] is None


@pytest.mark.parametrize("text", ["", "x", "[]", '{"retryCount": 9}', '{"timestamp": "soon", "retryCount": 9}', "null"])
def test_a_record_without_a_time_counts_as_over(text: str) -> None:
    decision = decide(
        healthy(3).marked("m2").wants(remediation={"maxRetry": 1}).annotate(REMEDIATION_FOR, text, "m2").build()
    )
    assert decision["remediation"]["retryCount"] == 0


def test_another_machines_record_does_not_count() -> None:
    builder = replaces(healthy(3).marked("m2"), "m3", 100, 9).wants(remediation={"maxRetry": 1})
    assert decide(builder.build())["remediation"]["retryCount"] == 0


def test_a_topology_that_is_ahead_defers_it() -> None:
    builder = healthy(3).marked("m2")
    builder.snapshot["cluster"]["spec"]["topology"] = {"version": "v1.21.1"}
    decision = decide(builder.build())
    assert says(decision) == ("blocked", "RemediationDeferred")
    assert condition(decision, "OwnerRemediated", "m2")["reason"] == "RemediationDeferred"


def test_a_deferred_one_lets_scaling_go_on() -> None:
    builder = replaces(healthy(3, replicas=5).marked("m2"), "m2", 100).wants(remediation={"retryPeriodSeconds": 600})
    assert decide(builder.build())["action"] == "join"


class TestFailedBootstraps:
    """A bootstrap that failed is removed within the same limits, and its replacement remembers."""

    def failed(self, limits: dict[str, int], last: Optional[tuple[float, int]]) -> Builder:
        builder = healthy(2, replicas=3).machine("m3", "Failed", age=50).wants(remediation=limits)
        return builder if last is None else replaces(builder, "m3", *last)

    @pytest.mark.parametrize(("limits", "last", "expected"), LIMITS)
    def test_limits(self, limits: dict[str, int], last: Optional[tuple[float, int]], expected: Any) -> None:
        decision = decide(self.failed(limits, last).build())
        if isinstance(expected, int):
            assert says(decision) == ("remove", "BootstrapFailed")
            assert decision["remediation"] == {"machine": "m3", "timestamp": NOW, "retryCount": expected}
        else:
            assert decision["action"] == ACTIONS[expected]
            assert expected in reasons(decision)

    def test_the_plan(self) -> None:
        assert walk(self.failed({}, None)) == ["-m3", "+", "none"]

    def test_its_record_is_gone_on_with(self) -> None:
        assert walk(in_progress(self.failed({}, None), "m3")) == ["-m3", "+", "none"]

    def test_a_removal_that_was_begun_is_not_counted_again(self) -> None:
        """The run ended between the record and the deletion: the limits were asked then."""
        builder = in_progress(self.failed({"maxRetry": 3}, (100, 3)), "m3", seconds=20, count=3)
        decision = decide(builder.build())
        assert says(decision) == ("remove", "BootstrapFailed")
        assert decision["remediation"] == {"machine": "m3", "timestamp": at(20), "retryCount": 3}


class TestRollouts:
    """A rollout's new machine fails: there are enough machines without it, and the next one remembers all the same.

    The fault: docs/faults.md, "in a rollout the new machine fails too".
    """

    def failed(self, **limits: int) -> Builder:
        builder = outdate(healthy(3), "m1", "m2", "m3").wants(remediation=limits)
        builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
        return builder.machine("m4", "Failed", age=50)

    def test_it_is_tried_as_often_as_wanted(self) -> None:
        builder = walked(self.failed(maxRetry=0), 2)
        made = builder.snapshot["machines"][-1]["machine"]
        assert json.loads(made["metadata"]["annotations"][REMEDIATION_FOR])["machine"] == "m4"
        made["status"]["bootstrap"]["state"] = "Failed"
        assert says(decide(builder.build())) == ("blocked", "CannotBeRemediated")

    def test_the_record_ends_with_the_rollout(self) -> None:
        builder = walked(self.failed(), 1)
        assert decide(builder.build())["annotations"] == {}
        builder.snapshot["controlPlane"]["status"]["rollout"] = {}
        assert IN_PROGRESS in decide(builder.build())["annotations"]["controlPlane"]

    def test_it_ends_where_there_is_nothing_to_make(self) -> None:
        """With maxSurge 0 a machine goes first, so that none is owed."""
        builder = surge(walked(self.failed(), 1), 0)
        assert IN_PROGRESS in decide(builder.build())["annotations"]["controlPlane"]

    def test_nobody_else_waits_for_it(self) -> None:
        builder = walked(self.failed(), 1).marked("m2")
        assert says(decide(builder.build())) == ("remove", "MachineUnhealthy")


class TestASecondRemoval:
    """It replaces the record of the first one, whose replacement is not made yet: the attempts are not forgotten."""

    def test_a_silent_voter_that_must_go_first(self) -> None:
        builder = etcd_version(healthy(4, replicas=5), "3.4.23")
        builder = in_progress(dead(builder, "m4"), "gone", count=3).marked("m4")
        decision = decide(witness(builder, "m3").build())
        assert says(decision) == ("remove", "MachineUnhealthy")
        assert decision["remediation"] == {"machine": "m4", "timestamp": NOW, "retryCount": 3}

    @pytest.mark.parametrize(("own", "expected"), [(None, 2), ((100, 0), 2), ((100, 4), 5)])
    def test_a_bootstrap_that_failed(self, own: Optional[tuple[float, int]], expected: int) -> None:
        builder = in_progress(healthy(3, replicas=5).machine("m4", "Failed", age=100), "gone", count=2)
        if own is not None:
            replaces(builder, "m4", *own)
        assert decide(builder.build())["remediation"]["retryCount"] == expected

    def test_a_machine_that_never_started(self) -> None:
        builder = in_progress(healthy(3, replicas=5).machine("m4", "", age=100), "gone", count=2)
        assert decide(builder.annotate(REMEDIATE_MACHINE, "", "m4").build())["remediation"]["retryCount"] == 2

    def test_what_is_over_counts_no_more(self) -> None:
        builder = in_progress(healthy(3).marked("m2"), "gone", seconds=4000, count=9)
        assert decide(builder.build())["remediation"]["retryCount"] == 0


class TestUninitialized:
    """The first machine failed before there was a control plane: nothing to lose, but the limits hold."""

    @pytest.mark.parametrize(
        ("limits", "last", "expected"),
        [
            ({}, None, ("remove", "BootstrapFailed")),
            ({}, (100, 2), ("remove", "BootstrapFailed")),
            ({"maxRetry": 3}, (100, 2), ("remove", "BootstrapFailed")),
            ({"maxRetry": 3}, (100, 3), ("blocked", "CannotBeRemediated")),
            ({"retryPeriodSeconds": 600}, (100, 3), ("postponed", "RemediationDeferred")),
        ],
    )
    def test_limits(self, limits: dict[str, int], last: Any, expected: tuple[str, str]) -> None:
        builder = cluster(3).machine("x", "Failed", age=50).wants(remediation=limits)
        if last is not None:
            replaces(builder, "x", *last)
        assert says(decide(builder.build())) == expected

    def test_the_plan(self) -> None:
        assert walk(cluster(1).machine("x", "Failed")) == ["-x", "initialize", "none"]


class TestLastRemediation:
    """status.lastRemediation: what is in progress, else the newest record of a machine."""

    def test_none(self) -> None:
        assert not decide(healthy(3).build())["status"]["controlPlane"].get("lastRemediation")

    def test_in_progress(self) -> None:
        builder = in_progress(replaces(healthy(2, replicas=3), "m2", 9000, 4), "gone", 60, 2)
        found = decide(builder.build())["status"]["controlPlane"]["lastRemediation"]
        assert (found["machine"], found["time"], found["retryCount"]) == ("gone", at(60), 2)

    def test_the_newest_of_the_machines(self) -> None:
        builder = replaces(replaces(healthy(3), "m2", 9000, 4), "m3", 5000, 1)
        found = decide(builder.build())["status"]["controlPlane"]["lastRemediation"]
        assert (found["machine"], found["time"], found["retryCount"]) == ("earlier", at(5000), 1)
