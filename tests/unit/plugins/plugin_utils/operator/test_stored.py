# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Action from its beginning to its end in a real store: order, modes, flow, recovery, inconsistencies.

Source: docs/reference/kubeadm_operator.md, "Flow", "Defects".
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from operator_cases import Make, action, executions, facts, group, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import action_text, flow, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.matching import NodeNow
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import Secrets, TaskRecord

Object = dict[str, t.Any]
NOW = (*(NodeNow(each, True) for each in ("cp-a", "cp-b", "cp-c")), NodeNow("w-1", False), NodeNow("w-2", False))


def test_one_group_after_another_and_node_by_node(walk: Make) -> None:
    one = walk(action(group("z", "pass", "pass"), group("a")))
    assert one.until_it_ends().kind == flow.COMPLETED
    assert one.ran == [
        *(("first-01-z", name, index) for name in ("cp-a", "cp-b", "cp-c") for index in (0, 1)),
        *(("first-02-a", name, 0) for name in ("cp-a", "cp-b", "cp-c")),
    ]
    assert one.status["phase"] == "Succeeded" and one.status["succeededGroups"] == one.status["groups"] == 2
    status = one.stored("TaskGroup", "first-01-z")["status"]
    assert (status["phase"], status["nodes"], status["succeededNodes"], status["failedNodes"]) == ("Succeeded", 3, 3, 0)
    task = one.stored("Task", "first-01-z-cp-b")["status"]
    assert (task["phase"], task["commandProgress"], task["currentCommand"]) == ("Succeeded", "2/2", 2)
    assert task["startTime"] and task["completionTime"] and not task["paused"]


def test_the_next_group_is_made_only_after_the_one_before(walk: Make) -> None:
    one = walk(action(group("a"), group("b")), fails={"cp-b": 0})
    one.until_it_ends()
    groups = one.where.store.list(actions.kind_ref("TaskGroup"), "default")
    tasks = one.where.store.list(actions.kind_ref("Task"), "default")
    assert [each["metadata"]["name"] for each in groups] == ["first-01-a"]
    assert [each["metadata"]["name"] for each in tasks] == ["first-01-a-cp-a", "first-01-a-cp-b"]


def test_objects_carry_the_proposals_labels_and_owners(walk: Make) -> None:
    one = walk(action(group("a")))
    one.until_it_ends()
    made, task = one.stored("TaskGroup", "first-01-a"), one.stored("Task", "first-01-a-cp-a")
    uid = one.root["metadata"]["uid"]
    expected = {
        "cluster.x-k8s.io/cluster-name": "prod",
        "operator.kubeadm.x-k8s.io/action": "first",
        "operator.kubeadm.x-k8s.io/uid": uid,
        "operator.kubeadm.x-k8s.io/taskgroup": "first-01-a",
        "operator.kubeadm.x-k8s.io/order": "01",
    }
    assert made["metadata"]["labels"] == task["metadata"]["labels"] == expected
    [owner] = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Action", "first", uid)
    assert task["metadata"]["ownerReferences"][0]["name"] == "first-01-a"


def test_a_completed_action_never_runs_again(walk: Make) -> None:
    one = walk(action(group("a")))
    one.until_it_ends()
    one.nodes = (*NOW, NodeNow("cp-new", True))
    for spec in ({"paused": True}, {"abort": True}):
        one.say("first", **spec)
        assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 3
    assert one.status["phase"] == "Succeeded"


def test_a_failure_pauses_at_once_and_is_told_upwards(walk: Make) -> None:
    """Defect 14: node, command and message reach the Action."""
    one = walk(action(group("a", "preflight", "pass")), fails={"cp-b": 1})
    execution, _step = one.look()
    step = one.until_it_ends()
    assert step.kind == flow.FAILED and step.tasks == ("first-01-a-cp-b",)
    execution, step = one.look()
    message = "TaskGroup first-01-a: Node cp-b: pass: it was told to fail"
    assert (one.status["phase"], one.status["errorReason"], one.status["errorMessage"]) == (
        "Failed",
        "FailedTaskGroups",
        message,
    )
    assert (
        one.status["paused"] is True and one.stored("TaskGroup", "first-01-a")["status"]["errorReason"] == "FailedNodes"
    )
    assert one.stored("Task", "first-01-a-cp-b")["status"]["errorReason"] == "ExecutionError"
    said = action_text.ending(execution, step, "prod")
    assert "Task first-01-a-cp-b on Node cp-b, command 2 of 2: pass: it was told to fail" in said
    for verb in ("retry", "skip", "abort"):
        assert f"kubeadm.control_plane.{verb} --limit prod -e operator_action=first" in said
    assert one.until_it_ends().kind == flow.FAILED and len(one.ran) == 4


def test_retry_runs_the_failed_command_once_more(walk: Make) -> None:
    one = walk(action(group("a", "preflight", "pass")), fails={"cp-b": 1})
    one.until_it_ends()
    one.say("first-01-a-cp-b", recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.FAILED
    task = one.stored("Task", "first-01-a-cp-b")
    assert "recoveryMode" not in task["spec"] and task["status"]["commands"][1]["attempt"] == 2
    assert one.ran[-2:] == [("first-01-a", "cp-b", 1)] * 2
    one.fails.clear()
    one.say("first-01-a-cp-b", recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.COMPLETED
    assert one.ran[-3:] == [("first-01-a", "cp-b", 1), ("first-01-a", "cp-c", 0), ("first-01-a", "cp-c", 1)]
    assert "errorReason" not in one.status and "error" not in task["status"]["commands"][0]


def test_skip_goes_on_with_the_next_command_and_the_last_one_ends_the_task(walk: Make) -> None:
    one = walk(action(group("a", "preflight", "pass", "pass")), fails={"cp-a": 0, "cp-b": 2})
    one.until_it_ends()
    one.say("first-01-a-cp-a", recoveryMode=actions.SKIP)
    assert one.until_it_ends().tasks == ("first-01-a-cp-b",)
    assert [each for each in one.ran if each[1] == "cp-a"] == [("first-01-a", "cp-a", index) for index in (0, 1, 2)]
    one.say("first-01-a-cp-b", recoveryMode=actions.SKIP)
    assert one.until_it_ends().kind == flow.COMPLETED
    task = one.stored("Task", "first-01-a-cp-b")["status"]
    assert task["phase"] == "Succeeded" and task["commands"][2]["skipped"] and task["commandProgress"] == "3/3"
    assert task["currentCommand"] == 3, "there is no fourth one"


def test_pause_holds_before_the_next_task_and_resume_goes_on(walk: Make) -> None:
    one = walk(action(group("a")))
    execution, step = one.look()
    one.say("first", paused=True)
    one.task(execution, step.tasks[0])
    assert one.until_it_ends().kind == flow.PAUSED
    assert (one.status["phase"], one.status["paused"], len(one.ran)) == ("Paused", True, 1)
    one.say("first", paused=False)
    assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 3


def test_a_pause_of_the_cluster_holds_before_the_next_task(walk: Make) -> None:
    """Also in a group whose Tasks run beside each other."""
    one = walk(action(group("a", maxUnavailable=2)))
    execution, step = one.look()
    metadata = {"name": "kubeadm-control-plane-pause", "namespace": "default"}
    one.where.store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    one.task(execution, step.tasks[0])
    execution, step = one.look()
    assert step.kind == flow.PAUSED and len(one.ran) == 1
    assert flow.startable(execution, execution.plan["groups"][0], []) is None
    one.where.store.delete(("", "ConfigMap"), "default", metadata["name"])
    assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 3


def test_an_action_whose_last_task_has_ended_is_complete_although_it_is_paused(walk: Make) -> None:
    one = walk(action(group("a", nodeFilter="Head")))
    execution, step = one.look()
    one.task(execution, step.tasks[0])
    one.say("first", paused=True)
    assert one.until_it_ends().kind == flow.COMPLETED and one.status["paused"] is False


def test_a_task_that_a_killed_run_left_is_gone_on_with_first(walk: Make) -> None:
    one = walk(action(group("a", "preflight", "pass")))
    execution, step = one.look()
    record = TaskRecord(one.where.store, "default", step.tasks[0], Secrets())
    record.begin()
    record.begin_command(0, "preflight")
    record.end_command(0)
    record.begin_command(1, "pass")
    del execution
    assert one.until_it_ends().kind == flow.COMPLETED
    assert one.ran[0] == ("first-01-a", "cp-a", 1), "the command before it had ended"


def test_a_pause_also_holds_a_half_run_task_and_says_so(walk: Make) -> None:
    one = walk(action(group("a")))
    execution, step = one.look()
    TaskRecord(one.where.store, "default", step.tasks[0], Secrets()).begin()
    one.say("first", paused=True)
    execution, step = one.look()
    assert step.kind == flow.PAUSED and step.tasks == ("first-01-a-cp-a",)
    assert "first-01-a-cp-a was started and will be resumed" in action_text.ending(execution, step, "prod")


def test_controlled_stops_before_each_task_and_keeps_its_stop_from_the_users_pause(walk: Make) -> None:
    """Defects 1 and 2 (docs/reference/kubeadm_operator.md, "Defects")."""
    one = walk(action(group("a"), executionMode="Controlled"))
    for number, name in enumerate(("cp-a", "cp-b", "cp-c")):
        execution, step = one.look()
        assert step.kind == flow.APPROVAL and step.tasks == (f"first-01-a-{name}",) and len(one.ran) == number
        assert one.status["phase"] == "Paused" and not one.stored("Action", "first")["spec"].get("paused")
        said = action_text.ending(execution, step, "prod")
        assert f"Task first-01-a-{name} on Node {name}:" in said and "kubeadm.control_plane.approve" in said
        if number == 1:
            one.say("first", paused=True)
            assert one.look()[1].kind == flow.PAUSED
            one.say("first", paused=False)
            assert one.look()[1].kind == flow.APPROVAL, "resuming approves nothing"
        one.say(step.tasks[0], approved=True)
        one.until_it_ends()
    assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 3


def test_abort_ends_it_before_the_next_task(walk: Make) -> None:
    one = walk(action(group("a")), fails={"cp-b": 0})
    one.until_it_ends()
    one.say("first", abort=True)
    execution, step = one.look()
    assert step.kind == flow.ABORTED and one.status["phase"] == "Aborted" and len(one.ran) == 2
    assert "1 of 3 Tasks is done" in action_text.ending(execution, step, "prod")
    one.say("first-01-a-cp-b", recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.ABORTED and len(one.ran) == 2


def test_a_parallel_group_keeps_its_budget(walk: Make) -> None:
    nodes = [node("cp-a"), *(node(f"w-{number}", "") for number in range(1, 6))]
    selector = {"matchExpressions": [{"key": "node-role.kubernetes.io/master", "operator": "DoesNotExist"}]}
    wanted = group("w", selector=selector, policy="Parallel", maxUnavailable=2)
    one = walk(action(wanted), cluster=facts(*nodes))
    execution, step = one.look()
    assert step.kind == flow.RUN and step.tasks == ("first-01-w-w-1", "first-01-w-w-2")
    planned = t.cast(Object, step.group)
    assert flow.startable(execution, planned, list(step.tasks)) is None
    one.task(execution, step.tasks[1])
    more = flow.startable(one.where.load(one.root), planned, [step.tasks[0]])
    assert more is not None and more.kind == flow.CREATE_TASKS and more.nodes == ("w-3",)
    one.say("first", paused=True)
    assert flow.startable(one.where.load(one.root), planned, [step.tasks[0]]) is None
    one.say("first", paused=False)
    assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 5


def test_in_a_parallel_group_a_failure_begins_nothing_new(walk: Make) -> None:
    nodes = [node("cp-a"), *(node(f"w-{number}", "") for number in range(1, 6))]
    one = walk(action(group("w", selector={}, policy="Parallel", maxUnavailable=2)), {"cp-a": 0}, facts(*nodes))
    step = one.until_it_ends()
    assert step.kind == flow.FAILED and len(one.ran) == 2
    assert flow.startable(one.where.load(one.root), t.cast(Object, step.group), []) is None


@pytest.mark.parametrize(
    ("kind", "name", "change", "said"),
    [
        ("Task", "first-01-a-cp-a", {"commands": [{"fail": {}}]}, "Task first-01-a-cp-a was edited"),
        ("Task", "first-01-a-cp-a", {"nodeName": "cp-c"}, "Task first-01-a-cp-a was edited"),
        ("TaskGroup", "first-01-a", {"nodeNames": ["cp-a"]}, "TaskGroup first-01-a was edited"),
        ("Action", "first", {"executionMode": "Controlled"}, "Action first was edited after it had started"),
        ("Action", "first", {"custom": {"workflow": []}}, "Action first was edited after it had started"),
    ],
)
def test_what_is_edited_behind_its_back_pauses_it(walk: Make, kind: str, name: str, change: Object, said: str) -> None:
    """Defect 11 (docs/reference/kubeadm_operator.md, "Defects")."""
    one = walk(action(group("a")))
    execution, step = one.look()
    one.task(execution, step.tasks[0])
    before = one.stored(kind, name)["spec"]
    one.say(name, **change)
    step = one.until_it_ends()
    assert step.kind == flow.INCONSISTENT and any(said in each for each in step.problems), step.problems
    assert one.status["errorReason"] == "InvalidState" and said in one.status["errorMessage"] and len(one.ran) == 1
    one.where.store.modify(actions.kind_ref(kind), "default", name, lambda each: each.update(spec=before))
    assert one.until_it_ends().kind == flow.COMPLETED and len(one.ran) == 3
    assert "errorReason" not in one.status


def test_what_is_deleted_or_added_behind_its_back_pauses_it(walk: Make) -> None:
    one = walk(action(group("a")))
    execution, step = one.look()
    one.task(execution, step.tasks[0])
    one.look()
    one.where.store.delete(actions.kind_ref("Task"), "default", "first-01-a-cp-a")
    assert one.until_it_ends().problems == ("Task first-01-a-cp-a was deleted",)
    extra = freeze.build_task(one.root, execution.plan["groups"][0], execution.root, "w-1")
    one.where.store.create(extra)
    assert "Task first-01-a-w-1 is not part of the plan" in one.until_it_ends().problems


def test_an_edited_plan_is_told(walk: Make) -> None:
    one = walk(action(group("a")))
    one.where.store.modify(
        actions.kind_ref("Action"), "default", "first", lambda each: each["status"]["plan"]["groups"][0]["nodes"].pop()
    )
    assert one.until_it_ends().problems == ("the plan in the status of Action first was edited",)


def test_nodes_that_come_or_go_pause_it_and_can_be_left_out(walk: Make) -> None:
    """Defects 7 and 8 (docs/reference/kubeadm_operator.md, "Defects")."""
    one = walk(action(group("a")))
    one.nodes = (*NOW, NodeNow("cp-d", True), NodeNow("w-9", False))
    step = one.until_it_ends()
    assert step.problems == ("Node cp-d has come since the plan was made, which does not cover it",)
    one.say("first", leftOut=["cp-d"])
    one.nodes = (*NOW[1:], NodeNow("cp-d", True))
    assert one.until_it_ends().problems == ("Node cp-a, which the plan covers, is gone",)
    one.say("first", leftOut=["cp-a", "cp-d"])
    assert one.until_it_ends().kind == flow.COMPLETED
    assert [each[1] for each in one.ran] == ["cp-b", "cp-c"]


def test_a_new_worker_matters_only_where_workers_do(walk: Make) -> None:
    one = walk(action(group("a", selector={})))
    one.nodes = (*NOW, NodeNow("w-9", False))
    assert one.until_it_ends().problems == ("Node w-9 has come since the plan was made, which does not cover it",)


def test_a_task_that_was_made_for_a_node_that_is_left_out_ends(walk: Make) -> None:
    one = walk(action(group("a")), fails={"cp-b": 0})
    one.until_it_ends()
    one.say("first", leftOut=["cp-b"])
    assert one.until_it_ends().kind == flow.COMPLETED
    assert one.stored("Task", "first-01-a-cp-b")["status"]["leftOut"] is True
    assert one.stored("TaskGroup", "first-01-a")["status"]["leftOutNodes"] == 1


def test_a_second_action_pauses_the_first(walk: Make) -> None:
    """Defect 10 (docs/reference/kubeadm_operator.md, "Defects")."""
    one = walk(action(group("a")))
    one.where.put(hub(action(group("b"), name="second")))
    assert one.until_it_ends().problems == (
        "Action second has not ended either, and one cluster has one Action at a time",
    )
    one.where.store.modify(
        actions.kind_ref("Action"), "default", "second", lambda each: each["spec"].update(abort=True)
    )
    second = one.stored("Action", "second")
    one.where.begin(second, freeze.freeze(second, facts(), "2026-01-01T00:00:00Z"))
    one.where.advance(second)
    assert one.until_it_ends().kind == flow.COMPLETED


def test_an_action_of_an_earlier_cluster_of_that_name_is_history(walk: Make) -> None:
    one = walk(action(group("a"), name="old"))
    one.where.store.modify(
        actions.kind_ref("Action"), "default", "old", lambda each: each["status"].update(clusterUID="another")
    )
    assert one.where.unfinished() == []
    other = walk(action(group("a"), name="new"))
    assert other.until_it_ends().kind == flow.COMPLETED


def test_a_plan_with_nothing_to_do_ends_with_that_reason(tmp_path: Path) -> None:
    where = executions(tmp_path)
    root = hub(action(group("tail", nodeFilter="Tail")))
    stored = where.begin(where.put(root), freeze.freeze(root, facts(node("a")), "x"))
    assert stored["status"]["message"] == "there was nothing to do" and stored["status"]["phase"] == "Succeeded"


def test_a_dry_run_ends_without_any_group_or_task(walk: Make) -> None:
    one = walk(action(group("a"), executionMode="DryRun"))
    assert one.until_it_ends().kind == flow.COMPLETED and one.ran == []
    assert one.status["message"] == "DryRun: nothing was run"
    assert one.where.store.list(actions.kind_ref("TaskGroup"), "default") == []
