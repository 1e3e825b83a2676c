# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd was restored on one machine: the others, marked and without members, are replaced one after another."""

from __future__ import annotations

import json

import pytest
from builders import Builder, healthy
from worker_snapshots import deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds, restore_note


def restored(count: int, ready: str = "Unknown", pods: bool = True) -> Builder:
    """A control plane of so many machines, of which m1 alone has a member; the others are dead, their Nodes what the snapshot knew."""
    builder = healthy(count).leads("m1")
    for number in range(2, count + 1):
        name = f"m{number}"
        builder.without_member(name).annotate(kinds.ANNOTATION_REMEDIATE_MACHINE, "", name).node(name, ready=ready)
        builder.entry(name)["infrastructureMachine"]["status"]["state"] = "dead"
        if not pods:
            builder.workload["pods"].pop(name, None)
    return builder


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize(("ready", "pods"), [("Unknown", True), ("Unknown", False), ("True", True)])
def test_every_machine_that_was_given_up_is_replaced(count: int, ready: str, pods: bool) -> None:
    steps = [
        (each["action"], (each["target"] or {}).get("machine")) for each in plan(restored(count, ready, pods).build())
    ]
    removed = [machine for action, machine in steps if action == "remove"]
    assert sorted(map(str, removed)) == [f"m{number}" for number in range(2, count + 1)]
    assert [action for action, _machine in steps] == ["remove", "join"] * (count - 1) + ["none"]


@pytest.mark.parametrize("ready", ["Unknown", "True"])
def test_amid_a_rotation_all_go_before_one_is_replaced(ready: str) -> None:
    """It can be completed on the restored one alone."""
    builder = restored(3, ready)
    builder.snapshot["unfinishedRotation"] = {"action": "rotate-1", "authorities": ["ca"]}
    steps = plan(builder.build())
    assert [each["action"] for each in steps] == ["remove", "remove", "blocked"]
    [blocked] = steps[-1]["blockedOn"]
    assert blocked["reason"] == "RotationUnfinished" and '"acceptOutage": true' in blocked["fix"]


def noted(state: str) -> Builder:
    """A control plane of which a machine was given up, and the note of a restore."""
    choice = {"machine": "m1", "source": {"revision": 90}}
    note = json.dumps({"state": state, "choice": choice, "consent": "prod:everythingAfterRevision:90"})
    return restored(3).annotate(restore_note.ANNOTATION, note)


def test_while_a_restore_is_not_done_no_step_is_taken() -> None:
    decision = decide(noted("Begun").build())
    assert (decision["action"], decision["reasons"][0]["reason"]) == ("blocked", "RestoreUnfinished")
    [blocked] = decision["blockedOn"]
    assert "on machine m1 to revision 90 was started and is not done" in blocked["message"]
    assert "kubeadm.control_plane.restore" in blocked["fix"] and "prod:everythingAfterRevision:90" in blocked["fix"]
    assert decide(noted("Done").build())["action"] == "remove"


def test_workers_wait_for_a_restore_too() -> None:
    """It would take back what was done beside it."""
    builder = healthy(3)
    assert decide(deployment(builder, 3).build())["action"] == "joinWorkers"
    choice = {"machine": "m1", "source": {"revision": 90}}
    builder.annotate(restore_note.ANNOTATION, json.dumps({"state": "Begun", "choice": choice}))
    assert decide(deployment(builder, 3).build())["reasons"][0]["reason"] == "RestoreUnfinished"


def test_a_revision_that_is_no_number_is_shown() -> None:
    text = '{"state": "Begun", "choice": {"machine": "m1", "source": {"revision": 1e999}}}'
    assert (
        "to revision inf"
        in decide(restored(3).annotate(restore_note.ANNOTATION, text).build())["blockedOn"][0]["message"]
    )


@pytest.mark.parametrize("text", ["[", "7", '{"state": "Begun"}', '{"state": "Begun", "choice": {"machine": 7}}'])
def test_a_note_that_can_not_be_read_holds_nothing_back(text: str) -> None:
    assert decide(restored(3).annotate(restore_note.ANNOTATION, text).build())["action"] == "remove"
