# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TaskGroups and Tasks without an Action, names that are somebody else's, and finding the Action that is meant."""

from __future__ import annotations

import typing as t

import pytest
from operator_cases import Make, action, document, group, hub

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import action_text, flow
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import Secrets, TaskRecord

Object = dict[str, t.Any]


def test_a_detached_group_and_a_detached_task_run_by_themselves(walk: Make) -> None:
    spec = {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/master": ""}}, "commands": ["preflight", "pass"]}
    one = walk(document("TaskGroup", "alone", spec), fails={"cp-b": 1})
    assert one.until_it_ends().kind == flow.FAILED
    assert (one.status["phase"], one.status["errorReason"]) == ("Failed", "FailedNodes")
    one.fails.clear()
    one.say("alone-cp-b", recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 7
    assert one.status["phase"] == "Succeeded" and one.status["succeededNodes"] == 3


def test_a_detached_task_fails_is_retried_and_ends(walk: Make) -> None:
    one = walk(document("Task", "single", {"nodeName": "w-1", "commands": ["preflight", "pass"]}), fails={"w-1": 1})
    step = one.until_it_ends()
    assert step.kind == flow.FAILED and step.tasks == ("single",)
    execution, step = one.look()
    assert "Task single on Node w-1, command 2 of 2" in action_text.ending(execution, step, "prod")
    one.fails.clear()
    one.say("single", recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.COMPLETED
    assert one.status["phase"] == "Succeeded" and [each[2] for each in one.ran] == [0, 1, 1]


@pytest.mark.parametrize("when", ["before", "amid", "failed", "controlled"])
def test_a_detached_task_goes_on_once_another_action_is_gone(walk: Make, when: str) -> None:
    """That it was held is no failure of its command, and doesn't hide one."""
    mode = {"executionMode": "Controlled"} if when == "controlled" else {}
    fails = {"w-1": 1} if when == "failed" else {}
    one = walk(document("Task", "single", {"nodeName": "w-1", "commands": ["preflight", "pass"], **mode}), fails=fails)
    if when == "amid":
        record = TaskRecord(one.where.store, "default", "single", Secrets())
        record.begin()
        record.begin_command(0, "preflight")
    elif when != "before":
        one.until_it_ends()
    one.where.put(hub(action(group("a"), name="other")))
    kind = actions.kind_ref("Action")
    one.where.store.modify(
        kind, "default", "other", lambda each: each.update(status={"plan": {"frozenAt": "2999-01-01T00:00:00Z"}})
    )
    for _look in range(2):
        assert one.until_it_ends().kind == flow.INCONSISTENT
    reason = "ExecutionError" if when == "failed" else "InvalidState"
    assert one.status["errorReason"] == reason and one.status["phase"] == "Failed"
    one.where.store.modify(kind, "default", "other", lambda each: each["status"].update(abortTime="x"))
    step = one.until_it_ends()
    if when == "controlled":
        assert step.kind == flow.APPROVAL and one.status["phase"] == "Paused"
        one.say("single", approved=True)
    elif when == "failed":
        assert step.kind == flow.FAILED
        one.fails.clear()
        one.say("single", recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.COMPLETED and "errorReason" not in one.status


def test_a_detached_task_is_controlled_paused_and_aborted(walk: Make) -> None:
    spec = {"nodeName": "w-1", "commands": ["pass"], "executionMode": "Controlled"}
    one = walk(document("Task", "single", spec))
    assert one.until_it_ends().kind == flow.APPROVAL
    one.say("single", paused=True)
    assert one.until_it_ends().kind == flow.PAUSED and one.status["phase"] == "Paused"
    one.say("single", paused=False, approved=True)
    assert one.until_it_ends().kind == flow.COMPLETED
    two = walk(document("Task", "other", {**spec, "executionMode": "Auto"}))
    two.say("other", abort=True)
    assert two.until_it_ends().kind == flow.ABORTED and two.ran == []


def test_a_foreign_object_of_a_needed_name_is_left_alone(walk: Make) -> None:
    one = walk(action(group("a")))
    metadata = {"name": "first-01-a-cp-a", "namespace": "default"}
    foreign = {"apiVersion": actions.API_VERSION, "kind": "Task", "metadata": metadata, "spec": {"nodeName": "x"}}
    one.where.store.create(foreign)
    with pytest.raises(ControlPlaneFailure, match="needs the name first-01-a-cp-a for a Task of its own"):
        one.until_it_ends()


def test_finding_what_is_meant(walk: Make) -> None:
    one = walk(action(group("a")))
    assert one.where.needed("")["metadata"]["name"] == "first"
    with pytest.raises(
        ControlPlaneFailure, match=r"has no Action other; nothing was done\. Name one that it has: first"
    ):
        one.where.needed("other")
    one.until_it_ends()
    with pytest.raises(ControlPlaneFailure, match="under way is: none"):
        one.where.needed("")
    assert one.where.new_name("renewCertificates") == "prod-renew-certificates-1"
    one.where.store.modify(
        actions.kind_ref("Action"),
        "default",
        "first",
        lambda each: each["metadata"]["labels"].update({"cluster.x-k8s.io/cluster-name": "dev"}),
    )
    with pytest.raises(ControlPlaneFailure, match="is of the cluster dev, not of prod"):
        one.where.needed("first")
