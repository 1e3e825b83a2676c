# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletion hooks, with which somebody else holds a Machine's deletion.

Source: docs/reference/cluster_api.md, "Removing a machine".
"""

from __future__ import annotations

import pytest
from builders import Builder, healthy
from rules import says

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan

DRAIN = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
TERMINATE = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"


def going(stage: str = "") -> Builder:
    """Four machines, one of which is being deleted and has come to that stage of its deletion."""
    builder = healthy(4, replicas=3).deleting("m1")
    return builder.stored("Deleting", "True", 30, "m1", stage) if stage else builder


@pytest.mark.parametrize("key", [f"{DRAIN}/backup", DRAIN])
def test_nothing_begins_before_a_pre_drain_hook_is_gone(key: str) -> None:
    decision = decide(going().annotate(key, "backup-tool", "m1").build())
    assert says(decision) == ("wait", "WaitingForPreDrainHook")
    assert key in decision["reasons"][0]["message"] and "m1" in decision["blockedOn"][0]["fix"]
    assert says(decide(going().build())) == ("remove", "MachineDeleting")


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("", ("remove", "MachineDeleting")),
        ("DrainingNode", ("remove", "MachineDeleting")),
        ("WaitingForVolumeDetach", ("remove", "MachineDeleting")),
        ("WaitingForPreTerminateHook", ("wait", "WaitingForPreTerminateHook")),
        ("WaitingForInfrastructureDeletion", ("remove", "MachineDeleting")),
    ],
)
def test_a_pre_terminate_hook_holds_it_after_the_drain_alone(stage: str, expected: tuple[str, str]) -> None:
    assert says(decide(going(stage).annotate(f"{TERMINATE}/other", "", "m1").build())) == expected


@pytest.mark.parametrize("stage", ["WaitingForPreTerminateHook", "WaitingForInfrastructureDeletion"])
def test_a_pre_drain_hook_means_nothing_after_the_drain(stage: str) -> None:
    assert says(decide(going(stage).annotate(f"{DRAIN}/late", "", "m1").build())) == ("remove", "MachineDeleting")


@pytest.mark.parametrize("key", [f"{TERMINATE}/kcp-cleanup", f"{DRAIN}x/a", "delete.hook.machine.cluster.x-k8s.io/a"])
def test_what_is_no_foreign_hook_holds_nothing(key: str) -> None:
    builder = going("WaitingForPreTerminateHook").annotate(key, "", "m1")
    assert says(decide(builder.build())) == ("remove", "MachineDeleting")


def test_a_machine_that_stays_is_not_asked() -> None:
    assert says(decide(going().annotate(f"{DRAIN}/a", "", "m2").build())) == ("remove", "MachineDeleting")


@pytest.mark.parametrize("prefix", [DRAIN, TERMINATE])
def test_the_deletion_of_everything_waits_for_every_machines_hooks(prefix: str) -> None:
    builder = healthy(3).deleting().annotate(f"{prefix}/a", "", "m3")
    decision = decide(builder.build())
    assert decision["action"] == "wait" and "m3" in decision["reasons"][0]["message"]
    assert decide(healthy(3).deleting().build())["action"] == "deleteMachines"


@pytest.mark.parametrize(
    ("prefix", "reason"), [(DRAIN, "WaitingForPreDrainHook"), (TERMINATE, "WaitingForPreTerminateHook")]
)
def test_a_plan_ends_where_a_hook_will_hold_it(prefix: str, reason: str) -> None:
    builder = healthy(5, replicas=3).annotate(f"{prefix}/a", "", "m1")
    builder.annotate("cluster.x-k8s.io/delete-machine", "", "m1")
    steps = plan(builder.build())
    assert [step["action"] for step in steps] == ["remove", "wait"]
    assert steps[0]["target"]["machine"] == "m1" and says(steps[1])[1] == reason
