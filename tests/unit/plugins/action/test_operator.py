# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions by the collection's own action plugins, with commands that need no node."""

from __future__ import annotations

import base64
import dataclasses
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from operator_cases import action, facts, group, hub, node
from operator_workspace import NAME, OperatorWorkspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions, origin
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.stored_deletion import delete_records
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


class Bench:
    """A cluster whose API nobody asks, and an Action on it."""

    def __init__(self, folder: Path) -> None:
        self.workspace = OperatorWorkspace(folder)
        self.workspace.create()
        self.where = Executions(FileStore(str(self.workspace.store)), "default", NAME)
        self.common: Object = {"cluster": NAME, "store": {"path": str(self.workspace.store)}}
        nodes = [node(each, machine=each) for each in self.workspace.control_planes]
        nodes += [node(f"w-{number}", "") for number in range(1, 7)]
        self.facts = dataclasses.replace(facts(*nodes), api_answers=False)

    def begin(self, *groups: Object, **spec: t.Any) -> Object:
        obj = hub(action(*groups, **spec))
        return self.where.begin(self.where.put(obj), freeze.freeze(obj, self.facts, "2026-01-01T00:00:00Z"))

    def run(self) -> Object:
        """As the role does it."""
        lease = run_action("run", **self.common)
        common = {**self.common, "name": "first", "fencing": lease["fencing"]}
        try:
            while True:
                step = run_action("operator_next", **common)
                if step.get("failed") or not step["act"]:
                    return step
                done = run_action("operator_task", tasks=step["tasks"], **common)
                assert not done.get("failed"), done
        finally:
            run_action("run", state="absent", **self.common)

    def say(self, verb: str, **more: t.Any) -> Object:
        return run_action("operator_flow", verb=verb, **self.common, **more)

    def task(self, name: str) -> Object:
        found = self.where.store.get(actions.kind_ref("Task"), "default", name)
        assert found is not None
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "workspace")


def test_a_fault_is_kept_and_told_and_the_ways_out_lead_out(bench: Bench) -> None:
    bench.begin(group("a", "pass", {"fail": {"message": "the disk is full"}}, "pass"))
    step = bench.run()
    assert step["fails"] and step["step"] == "failed" and step["phase"] == "Failed"
    assert "command 2 of 3: fail: the disk is full" in step["msg"]
    would = run_action("operator_action", check=True, name="first", **bench.common)
    assert (would["step"], would["changed"], would["msg"]) == ("failed", False, step["msg"])
    assert bench.say("approve")["failed"] and bench.say("retry", task="none")["failed"]
    assert bench.say("retry")["go_on"]
    assert bench.run()["step"] == "failed"
    for _each in range(3):
        assert not bench.say("skip").get("failed")
        step = bench.run()
    assert step["step"] == "completed" and "3 of 3 Tasks are done" in step["msg"]
    assert bench.say("pause")["failed"], "what has ended can't be paused"
    shown = run_action("operator_info", name="first", **bench.common)
    assert [each["phase"] for each in shown["tasks"]] == ["Succeeded"] * 3
    assert shown["msg"].count("left out by a person") == 3
    assert "first" in run_action("operator_info", **bench.common)["msg"]


def pausing(bench: Bench, how: str, paused: bool) -> None:
    """Pause the bench's cluster in one of three ways, or end that."""
    store = bench.where.store
    if how == "ConfigMap":
        metadata = {"name": "kubeadm-control-plane-pause", "namespace": "default"}
        pause = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"reason": "storage is moved"}}
        store.create(pause) if paused else store.delete(("", "ConfigMap"), "default", metadata["name"])
    elif how == "spec.paused":
        store.modify(CLUSTER, "default", NAME, lambda each: each["spec"].update(paused=paused))
    else:
        annotations = {"cluster.x-k8s.io/paused": ""} if paused else {}
        name = f"{NAME}-control-plane"
        store.modify(CONTROL_PLANE, "default", name, lambda each: each["metadata"].update(annotations=annotations))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("ConfigMap", "the ConfigMap kubeadm-control-plane-pause of the namespace default is there: storage is moved"),
        ("spec.paused", "Cluster spec.paused is true"),
        ("annotation", "KubeadmControlPlane has the annotation cluster.x-k8s.io/paused"),
    ],
)
def test_a_pause_of_the_cluster_holds_its_actions(bench: Bench, how: str, why: str) -> None:
    """One that has begun stops before its next Task, and none begins; both runs end well."""
    pausing(bench, how, True)
    spec = {"custom": {"workflow": [group("a")]}}
    begun = run_action("operator_action", spec=spec, **bench.common)
    assert not begun["act"] and not begun["changed"] and f"is paused: {why}. Nothing was done" in begun["msg"]
    assert begun["step"] == "paused" and bench.where.roots() == []

    bench.begin(group("a"))
    would = run_action("operator_action", check=True, name="first", **bench.common)
    assert (would["step"], would["changed"]) == ("paused", False) and f"is paused ({why})" in would["msg"]
    step = bench.run()
    assert (step["step"], step["fails"]) == ("paused", False)
    assert [each["status"]["phase"] for each in bench.where.roots()] == ["Paused"]
    assert f"is paused ({why}): 0 of 3 Tasks are done" in step["msg"]
    # The Action's own playbook doesn't overrule the cluster's pause.
    bench.say("resume")
    assert bench.run()["step"] == "paused"
    pausing(bench, how, False)
    assert bench.run()["step"] == "completed"


def test_an_index_out_of_range_is_told_and_runs_nothing(bench: Bench) -> None:
    """Defect 3 (docs/reference/kubeadm_operator.md, "Defects")."""
    bench.begin(group("a", {"fail": {}}))
    bench.run()
    name = f"first-01-a-{bench.workspace.control_planes[0]}"

    def edit(task: Object) -> None:
        for key in ("errorReason", "errorMessage"):
            task["status"].pop(key)
        task["status"]["currentCommand"] = 9

    bench.where.store.modify(actions.kind_ref("Task"), "default", name, edit)
    step = bench.run()
    assert step["step"] == "failed" and "currentCommand is 9, and the Task has 1 commands" in step["msg"]
    assert bench.task(name)["status"]["errorReason"] == "IndexOutOfRange"
    bench.say("retry")
    assert bench.task(name)["status"]["currentCommand"] == 9
    assert "command 1 of 1: fail" in bench.run()["msg"]


def test_a_command_of_another_release_is_no_success(bench: Bench) -> None:
    """Defect 13: what nobody wrote here fails, and what comes after it does not run."""
    bench.begin(group("a", {"ofAnotherRelease": {}}, "pass"))
    step = bench.run()
    assert step["step"] == "failed" and "ofAnotherRelease: this release does not know the command" in step["msg"]
    [first] = bench.task(f"first-01-a-{bench.workspace.control_planes[0]}")["status"]["commands"]
    assert first["error"] and "completionTime" not in first


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"role": {"name": "/srv/roles/own"}}, "role.name: must be a role's full name"),
        ({"role": {"name": "acme.own.mark", "vars": {"ansible_connection": "local"}}}, "role.vars.ansible_connection"),
        ({"command": {"argv": "id"}}, "command.argv: must be a list of texts"),
    ],
)
def test_a_command_that_was_written_into_the_store_is_checked_where_it_is_run(
    bench: Bench, command: Object, said: str
) -> None:
    """Whoever can write a plan can write its hash."""
    bench.begin(group("a", command))
    step = bench.run()
    assert step["step"] == "failed" and f"spec.commands[0].{said}" in step["msg"]


def test_tasks_beside_each_other(bench: Bench) -> None:
    """Each in a process of its own; never more than the budget, and all of them in the end."""
    workers = {"matchExpressions": [{"key": "node-role.kubernetes.io/master", "operator": "DoesNotExist"}]}
    bench.begin(group("w", {"wait": {"seconds": 1}}, "pass", selector=workers, policy="Parallel", maxUnavailable=3))
    assert bench.run()["step"] == "completed"
    times = []
    for number in range(1, 7):
        status = bench.task(f"first-01-w-w-{number}")["status"]
        assert status["phase"] == "Succeeded" and status["commandProgress"] == "2/2"
        times += [(status["commands"][0]["startTime"], 1), (status["commands"][1]["completionTime"], -1)]
    busy = most = 0
    for _time, change in sorted(times, key=lambda each: (each[0], each[1])):
        busy += change
        most = max(most, busy)
    assert 1 <= most <= 3


def test_a_failure_beside_others_is_told_with_all_of_them(bench: Bench) -> None:
    bench.begin(group("w", {"fail": {}}, selector={}, policy="Parallel", maxUnavailable=2))
    step = bench.run()
    assert step["step"] == "failed" and len(step["tasks"]) == 2
    assert "-e operator_task=" in step["msg"]
    assert "several Tasks have failed" in bench.say("skip")["msg"]
    assert not bench.say("skip", task=step["tasks"][0]).get("failed")


def test_words_of_people(bench: Bench) -> None:
    bench.begin(group("a"), executionMode="Controlled")
    assert bench.run()["step"] == "approval"
    assert bench.say("pause")["changed"]
    assert not bench.say("pause")["changed"] and not bench.say("pause")["go_on"]
    assert bench.run()["step"] == "paused"
    assert bench.say("resume")["changed"] and not bench.say("resume")["changed"]
    assert bench.say("approve")["changed"] and bench.run()["step"] == "approval"
    assert "nothing to retry" in bench.say("retry")["msg"]
    assert bench.say("abort")["changed"] and not bench.say("abort")["changed"]
    would = run_action("operator_action", check=True, name="first", **bench.common)
    assert would["step"] == "would" and "a run would give it up before its next Task" in would["msg"]
    step = bench.run()
    assert step["step"] == "aborted" and not step["fails"] and "1 of 3 Tasks is done" in step["msg"]


def test_a_node_that_has_what_concerns_the_cluster_or_that_is_none_is_not_left_out(bench: Bench) -> None:
    first, *_others = bench.workspace.control_planes
    bench.begin(group("a", {"recordControlPlane": {"version": "v1.20.2"}}, nodeFilter="Head"), group("b"))
    for name, said in (
        (first, "does there what concerns the whole cluster (recordControlPlane)"),
        ("w-11", "no Node w-11"),
    ):
        refused = bench.say("skip", node=name)
        assert refused["failed"] and said in refused["msg"] and "Nothing was done" in refused["msg"]
    stored = bench.where.find("first")
    assert stored is not None and "leftOut" not in stored["spec"]
    assert bench.say("skip", node="w-1")["changed"] and not bench.say("skip", node="w-1")["changed"]
    assert bench.run()["step"] == "completed"


def test_check_mode_says_nothing_to_an_action(bench: Bench) -> None:
    bench.begin(group("a"))
    said = run_action("operator_flow", check=True, verb="pause", **bench.common)
    assert said["changed"] and "nothing was written" in said["msg"]
    would = run_action("operator_action", check=True, name="first", **bench.common)
    assert (would["step"], would["changed"], would["act"]) == ("would", True, False)
    assert "a run would resume it: 0 of 3 Tasks are done" in would["msg"]
    stored = bench.where.find("first")
    assert stored is not None and "paused" not in stored["spec"]


def test_a_run_that_lost_its_lock_runs_nothing(bench: Bench) -> None:
    bench.begin(group("a"))
    lease = run_action("run", **bench.common)
    common = {**bench.common, "name": "first", "fencing": lease["fencing"]}
    step = run_action("operator_next", **common)
    run_action("run", state="absent", **bench.common)
    done = run_action("operator_task", tasks=step["tasks"], **common)
    assert done["failed"] and "does not hold the lock" in done["msg"]
    assert not bench.task(step["tasks"][0]).get("status")
    assert run_action("operator_next", **common)["failed"]


def test_one_that_has_not_begun_is_given_up_without_asking_anybody(bench: Bench) -> None:
    bench.where.put(hub(action(group("a"))))
    assert "has not begun" in bench.say("pause", name="first")["msg"]
    assert bench.say("abort", name="first")["go_on"]
    lease = run_action("run", **bench.common)
    ended = run_action("operator_action", name="first", fencing=lease["fencing"], **bench.common)
    assert not ended["act"] and ended["step"] == "aborted" and "was aborted" in ended["msg"]
    stored = bench.where.find("first")
    assert stored is not None and stored["status"]["phase"] == "Aborted"


def test_the_same_request_without_a_name_goes_on_with_the_one_under_way(bench: Bench) -> None:
    bench.begin(group("a"))
    spec = action(group("a"))["spec"]
    again = run_action("operator_action", spec=spec, **bench.common)
    assert again["act"] and again["action"] == "first" and "is resumed" in again["msg"]
    refused = run_action("operator_action", spec=spec, mode="Controlled", **bench.common)
    assert refused["failed"] and "Action first of this cluster has not ended" in refused["msg"]
    for more, said in (
        ({"spec": {**spec, "renewCertificates": {}}}, "asks for 2 actions at once"),
        ({"spec": {"reboot": {}}}, "asks for no action that is known"),
        ({"spec": action(group("b"))["spec"], "name": "first"}, "an Action can't be edited"),
        ({"manifest": "/nowhere/a.yml"}, "cannot be read"),
        ({"manifest": "/nowhere/a.yml", "spec": spec}, "Give one of them"),
        ({"name": "other"}, "has no Action other"),
    ):
        found = run_action("operator_action", **bench.common, **more)
        assert found["failed"] and said in found["msg"], found


def test_a_file_with_anything_else_in_it_is_refused(bench: Bench) -> None:
    path = bench.workspace.folder / "a.yml"
    job = "apiVersion: operator.kubeadm.x-k8s.io/v1alpha1\nkind: Job\nmetadata: {name: a}\n"
    for text, said in (
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "must hold exactly one Action, TaskGroup or Task"),
        ("{{ nothing }}", "a mapping's key is not text"),
        (job, "a.yml:2: Job default/a: kind"),
    ):
        path.write_text(text)
        found = run_action("operator_action", manifest=str(path), **bench.common)
        assert found["failed"] and said in found["msg"], found


def test_actions_outlive_their_cluster(bench: Bench) -> None:
    """Defect 18: they are never deleted."""
    bench.begin(group("a"))
    bench.run()
    found = ClusterObjects.read(bench.where.store, "default", NAME)
    assert found is not None
    delete_records(found)
    left = {kind: len(bench.where.store.list(actions.kind_ref(kind), "default")) for kind in actions.KINDS}
    assert left == {"Action": 1, "TaskGroup": 1, "Task": 3}


@pytest.mark.parametrize("later", ["command", "Task"])
def test_what_a_file_got_from_a_secret_is_told_nowhere_later(bench: Bench, later: str) -> None:
    """The run that wrote the file was killed after it, or it was another Task's; and the Secret can't be read for a while."""
    store = bench.where.store
    data = {"password": base64.b64encode(b"correct horse battery").decode()}
    metadata = {"name": "app", "namespace": "default"}
    store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    file = {"file": {"path": "/etc/app", "secret": {"name": "app", "key": "password"}}}
    prints = {"fail": {"message": "line 1: correct horse battery"}}
    groups = [group("a", file, prints)] if later == "command" else [group("a", file), group("b", prints)]
    # Of two at a time, each Task has a process of its own.
    more = {"nodeFilter": "Head", "maxUnavailable": len(groups)}
    root = bench.begin(*({**each, **more} for each in groups))
    [name] = bench.where.advance(root)[1].tasks
    written = {"name": "file", "startTime": "x", "completionTime": "x"}
    status = {"startTime": "x", "currentCommand": 1, "commands": [written]}
    status |= {"completionTime": "x"} if later == "Task" else {}
    store.modify(actions.kind_ref("Task"), "default", name, lambda each: each.update(status=status))
    [path] = bench.workspace.store.rglob("app.yaml")
    readable = (path.read_text(), "line 1: [redacted]")
    # While the Secret can't be read, it is not known what to take out.
    for content, said in (readable, ("{damaged", "Secret app of the store can't be read"), readable):
        path.write_text(content)
        step = bench.run()
        assert f"fail: {said}" in step["msg"] and "retry" in step["msg"] and "horse" not in step["msg"]
        assert "horse" not in str([each["status"] for each in store.list(actions.kind_ref("Task"), "default")])
        bench.say("retry")


def made_again(bench: Bench, **annotations: str) -> None:
    """The Cluster object gets another uid, as where its cluster was deleted and made again."""
    store = bench.where.store
    cluster = store.get(CLUSTER, "default", NAME)
    assert cluster is not None
    store.modify(CLUSTER, "default", NAME, lambda each: each["metadata"].pop("finalizers"))
    store.delete(CLUSTER, "default", NAME)
    metadata = {"name": NAME, "namespace": "default", "annotations": annotations}
    store.create({**cluster, "metadata": metadata})


@pytest.mark.parametrize("ended", [False, True])
def test_an_action_of_an_earlier_cluster_of_the_same_name_is_shown_and_nothing_else(bench: Bench, ended: bool) -> None:
    """Its plan has the nodes, versions and files of that one."""
    bench.begin(group("a"))
    if ended:
        assert bench.run()["step"] == "completed"
    made_again(bench)
    before = bench.where.find("first", earlier=True)
    path = bench.workspace.folder / "a.yml"
    path.write_text(yaml.safe_dump(action(group("a"))))
    for answer in (
        run_action("operator_action", name="first", **bench.common),
        run_action("operator_action", manifest=str(path), **bench.common),
        run_action("operator_next", name="first", **bench.common),
        *(bench.say(verb, name="first") for verb in ("resume", "abort")),
    ):
        assert answer["failed"] and f"is of an earlier cluster named {NAME}" in answer["msg"], answer
    assert bench.where.find("first", earlier=True) == before
    assert "first" in run_action("operator_info", name="first", **bench.common)["msg"]
    assert Executions(bench.where.store, "default", NAME).unfinished() == []


def test_an_action_goes_on_where_its_cluster_was_moved(bench: Bench) -> None:
    """Another store gives another uid, and keeps the first one."""
    bench.begin(group("a"))
    cluster = bench.where.store.get(CLUSTER, "default", NAME)
    assert cluster is not None
    made_again(bench, **origin.notes(cluster))
    assert "is resumed" in run_action("operator_action", name="first", **bench.common)["msg"]


@pytest.mark.parametrize("missing", ["name", "tasks", "fencing"])
def test_what_an_action_needs_must_be_given(bench: Bench, missing: str) -> None:
    """Defect 17 (docs/reference/kubeadm_operator.md, "Defects")."""
    given = {**bench.common, "name": "first", "tasks": ["a"], "fencing": 1}
    with pytest.raises(AnsibleActionFail, match=missing):
        run_action("operator_task", **{key: each for key, each in given.items() if key != missing})
