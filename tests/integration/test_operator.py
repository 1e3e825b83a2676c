# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions through the real playbooks, on stand-ins for a cloud and its machines: order, modes, flow, refusals, killed runs."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
from killed_runs import KilledRuns, locks_held, under_way
from operator_workspace import NAME, OperatorWorkspace
from workspace import kill_run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

SAID_BY = "kubeadm.control-plane/said-by"
METRICS = ("-e", "control_plane_metrics_directory=.")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> OperatorWorkspace:
    """A cluster of three control plane nodes and two workers; made once, copied for each test."""
    workspace = OperatorWorkspace(tmp_path_factory.mktemp("operator") / "workspace")
    workspace.create()
    return workspace


@pytest.fixture
def workspace(made: OperatorWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OperatorWorkspace:
    """A copy of that cluster, whose machines answer."""
    return made.copied(tmp_path / "workspace").answering(monkeypatch)


def workflow(*groups: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"custom": {"workflow": list(groups)}}


def group(name: str, *words: str, selector: t.Any = None, **more: t.Any) -> dict[str, t.Any]:
    commands = [{"command": {"argv": [word, name]}} for word in words]
    chosen = {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/control-plane": ""}}}
    return {"name": name, **(chosen if selector is None else {"nodeSelector": selector}), "commands": commands, **more}


def result_in_metrics(workspace: OperatorWorkspace, playbook: str) -> str:
    """How the last run ended, as its metrics tell."""
    (written,) = workspace.folder.glob("*.run.prom")
    found = re.search(rf'last_run_info{{.*playbook="{playbook}",result="(\w+)"}} 1', written.read_text())
    assert found, written.read_text()
    return found[1]


def test_an_action_runs_node_by_node_in_the_order_of_the_list(workspace: OperatorWorkspace) -> None:
    workspace.action(workflow(group("zeta", "one", "two"), group("alpha", "three")), name="first")
    run = workspace.playbook("action", "-e", "operator_manifest=first.yml", *METRICS).succeeded()
    assert result_in_metrics(workspace, "action") == "changed"
    nodes = workspace.control_planes
    assert workspace.ran() == [
        *([node, word, "zeta"] for node in nodes for word in ("one", "two")),
        *([node, "three", "alpha"] for node in nodes),
    ]
    assert "6 of 6 Tasks are done." in run.text
    action = workspace.stored("Action", "first")
    assert action["status"]["phase"] == "Succeeded" and action["status"]["succeededGroups"] == 2
    tasks = workspace.objects("Task")
    assert len(tasks) == 6
    record = workspace.stored("Task", f"first-01-zeta-{nodes[0]}")["status"]["commands"][1]
    assert record["outputs"][0]["exitCode"] == 0 and record["outputs"][0]["head"] == "this is two zeta\n"
    assert record["startTime"] and record["completionTime"] and record["outputs"][0]["logPath"]
    again = workspace.playbook("action", "-e", "operator_manifest=first.yml").succeeded()
    assert "never runs again" in again.text and len(workspace.ran()) == 9


def test_check_mode_and_dry_run_tell_every_task_and_run_none(
    workspace: OperatorWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_SHOW_CUSTOM_STATS", "true")
    workspace.action(workflow(group("a", "one"), group("b", "two", selector={})), name="first")
    run = workspace.playbook("action", "--check", "-e", "operator_manifest=first.yml").succeeded()
    nodes = workspace.control_planes
    for shown in ("8 Tasks in 2 TaskGroups", "01 first-01-a (one Node at a time)", f"1. {nodes[0]} one a", "two b"):
        assert shown in run.text, shown
    assert '"control_plane_run_would_change": 1' in run.text
    store, pause = FileStore(str(workspace.store)), {"name": "kubeadm-control-plane-pause", "namespace": "default"}
    store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": pause, "data": {}})
    run = workspace.playbook("action", "--check", "-e", "operator_manifest=first.yml").succeeded()
    assert "8 Tasks in 2 TaskGroups" in run.text and "has not begun, since its cluster is paused" in run.text
    assert '"control_plane_run_waits": 1' in run.text
    store.delete(("", "ConfigMap"), "default", pause["name"])
    assert workspace.objects("Action") == [] and workspace.ran() == []
    dry = ("-e", "operator_mode=DryRun", "-e", "operator_manifest=first.yml")
    run = workspace.playbook("action", *dry).succeeded()
    assert "8. worker-2 two b" in run.text and workspace.ran() == []
    assert workspace.stored("Action", "first")["status"]["message"] == "DryRun: nothing was run"
    assert workspace.objects("TaskGroup") == [] and workspace.objects("Task") == []


def test_controlled_stops_before_each_task_until_it_is_approved_or_rejected(workspace: OperatorWorkspace) -> None:
    workspace.action(workflow(group("a", "one")), name="first", executionMode="Controlled")
    run = workspace.playbook("action", "-e", "operator_manifest=first.yml", *METRICS).succeeded()
    assert result_in_metrics(workspace, "action") == "waits"
    nodes = workspace.control_planes
    assert f"Task first-01-a-{nodes[0]} on Node {nodes[0]}: one a" in run.text and workspace.ran() == []
    run = workspace.playbook("approve").succeeded()
    assert f"Task first-01-a-{nodes[1]} on Node {nodes[1]}: one a" in run.text and len(workspace.ran()) == 1
    assert "approve by" in workspace.stored("Task", f"first-01-a-{nodes[0]}")["metadata"]["annotations"][SAID_BY]
    run = workspace.playbook("abort", "-e", "operator_action=first").succeeded()
    assert "first was aborted" in run.text and len(workspace.ran()) == 1
    assert "there is nothing to approve" in workspace.playbook("approve", "-e", "operator_action=first").failed().text
    run = workspace.playbook("actions").succeeded()
    assert "first custom Controlled Aborted 1/3" in run.text


def test_a_failure_pauses_and_is_retried_and_skipped(
    workspace: OperatorWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names node, command and output, and what to type."""
    monkeypatch.setenv("ANSIBLE_SHOW_CUSTOM_STATS", "true")
    workspace.action(workflow(group("a", "one", "false", "two")), name="first")
    run = workspace.playbook("action", "-e", "operator_manifest=first.yml").failed()
    node = workspace.control_planes[0]
    assert (
        f"Task first-01-a-{node} on Node {node}, command 2 of 3: command: Node {node}: false a ended with" in run.text
    )
    assert "Last output: this is false a" in run.text and "kubeadm.control_plane.skip --limit prod" in run.text
    assert "Report what was under way" not in run.text and workspace.ran() == [[node, "one", "a"], [node, "false", "a"]]
    assert "Task first-01-a" in workspace.playbook("action", "-e", "operator_manifest=first.yml").failed().text
    assert len(workspace.ran()) == 2, "running it again is no retry"
    workspace.playbook("retry", *METRICS).failed()
    assert result_in_metrics(workspace, "retry") == "failed"
    assert workspace.ran()[2:] == [[node, "false", "a"]]
    blocked = workspace.playbook("plan", "-e", "control_plane_replace=allow").failed()
    assert "Action first has not ended (Failed)" in blocked.text
    assert '"control_plane_plan_blocked": 1' in blocked.text, "a workflow's statistics have it, too"
    workspace.playbook("skip").failed()
    assert workspace.ran()[3:] == [
        [node, "two", "a"],
        [workspace.control_planes[1], "one", "a"],
        [workspace.control_planes[1], "false", "a"],
    ]
    run = workspace.playbook("actions", "-e", "operator_action=first", "-e", "operator_logs=true").succeeded()
    assert "2. command: left out by a person" in run.text and "| this is two a" in run.text


def test_what_is_refused_starts_nothing(workspace: OperatorWorkspace) -> None:
    def refused(name: str, spec: dict[str, t.Any], said: str) -> None:
        workspace.action(spec, name=name)
        run = workspace.playbook("action", "-e", f"operator_manifest={name}.yml").failed()
        assert said in run.text, run.output[-3000:]
        assert workspace.ran() == [] and [each["metadata"]["name"] for each in workspace.objects("Action")] == ["held"]

    workspace.action(workflow(group("a", "one")), name="held", executionMode="Controlled")
    workspace.playbook("action", "-e", "operator_manifest=held.yml").succeeded()
    refused("other", workflow(group("a", "one")), "Action held of this cluster has not ended (Paused)")
    refused("held", workflow(group("a", "two")), "an Action can't be edited")
    workspace.playbook("abort").succeeded()
    refused("shell", workflow(group("a", "one|two")), "holds '|', which only a shell understands")
    refused("none", workflow(group("a", "one", selector={"matchLabels": {"zone": "nowhere"}})), "matches no Node")
    hosts = {"worker-1": {"ansible_host": "198.51.100.200", "ansible_user": "root"}}
    workspace.put_workers(hosts)
    said = "worker-2 can't be reached (the store has no Machine of it, and the inventory group prod_workers no host"
    refused("all", workflow(group("a", "one", selector={})), said)


def test_an_earlier_run_that_was_rescued_is_no_failure_of_an_action(workspace: OperatorWorkspace) -> None:
    """In one play: a reconcile fails, the play goes on, and the Action comes to its end."""
    role = {"name": "kubeadm.control_plane.control_plane"}
    refused = {"ansible.builtin.include_role": role, "vars": {"control_plane_manifests": ["/nowhere.yml"]}}
    workspace.action(workflow(group("a", "one", nodeFilter="Head")), name="first")
    then = {
        "ansible.builtin.include_role": {"name": "kubeadm.control_plane.operator"},
        "vars": {"operator_manifest": "first.yml"},
    }
    workspace.write_playbook("own.yml", {"block": [refused], "rescue": [then]})
    run = workspace.playbook("own.yml").succeeded()
    assert "/nowhere.yml: the file cannot be read" in run.text and len(workspace.ran()) == 1


def test_in_the_middle_of_a_rotation_no_machine_is_made(workspace: OperatorWorkspace) -> None:
    """What an aborted rotation left in the store holds it back, and Actions that would undo it; the way out is said."""
    workspace.keep_secret("authority-rotation", {"rotation": '{"action": "rotate-1"}', "ca.new.crt": "new"})
    workspace.manifest(NAME, replicas=5)
    calls = len(workspace.world()["calls"])
    run = workspace.playbook("reconcile").failed()
    completes = """kubeadm.control_plane.action --limit prod -e '{"operator_spec": {"rotateCertificateAuthorities": {"authorities": ["ca"]}}}'"""
    assert "a rotation of ca, started by the Action rotate-1, is not over" in run.text and completes in run.text
    assert len(workspace.objects("Machine")) == 3 and "node_bootstrap" not in str(workspace.world()["calls"][calls:])
    workspace.action({"renewCertificates": {}}, name="first")
    run = workspace.playbook("action", "-e", "operator_manifest=first.yml").failed()
    assert "renewCertificates would take away from the nodes what it needs there" in run.text and completes in run.text
    assert workspace.objects("Action") == []


def test_a_pause_from_another_terminal_holds_before_the_next_task(workspace: OperatorWorkspace) -> None:
    nodes = workspace.control_planes
    waits = {**group("a"), "commands": [{"command": {"argv": ["one"]}}, {"wait": {"seconds": 600}}, "pass"]}
    workspace.action(workflow(waits), name="first")
    process = workspace.start("action", "-e", "operator_manifest=first.yml")
    workspace.until(lambda: any(each["status"].get("currentCommand") == 2 for each in workspace.tasks()))
    run = workspace.playbook("pause", "-e", "operator_action=first").succeeded()
    assert "pauses before its next Task" in run.text
    kill_run(process)
    run = workspace.playbook("action", "-e", "operator_manifest=first.yml").succeeded()
    assert "Action first is paused: 0 of 3 Tasks are done." in run.text
    assert f"first-01-a-{nodes[0]} was started" in run.text
    assert workspace.ran() == [[nodes[0], "one"]] and workspace.stored("Action", "first")["status"]["phase"] == "Paused"


def test_workers_run_beside_each_other_within_their_budget(workspace: OperatorWorkspace) -> None:
    """Files too, whose secret stays out of every record."""
    workers = {"matchExpressions": [{"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}]}
    wanted = group("w", "one", selector=workers, policy="Parallel", maxUnavailable=2)
    wanted["commands"].append({"file": {"path": "/etc/key", "secret": {"name": "prod-ca", "key": "tls.key"}}})
    workspace.action(workflow(wanted), name="first")
    workspace.playbook("action", "-e", "operator_manifest=first.yml").succeeded()
    assert sorted(workspace.ran()) == [["worker-1", "one", "w"], ["worker-2", "one", "w"]]
    assert {each["status"]["phase"] for each in workspace.tasks()} == {"Succeeded"}
    files = workspace.world()["files"]
    assert set(files) == {"worker-1", "worker-2"} and files["worker-1"] == files["worker-2"] != {"/etc/key": None}
    records = "".join(path.read_text() for path in workspace.store.rglob("task.*/*.yaml"))
    assert "PRIVATE" not in records and files["worker-1"]["/etc/key"][:40] not in records


def test_a_group_and_a_task_without_an_action(workspace: OperatorWorkspace) -> None:
    spec = {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/master": ""}}, "nodeFilter": "Tail"}
    workspace.action({**spec, "template": {"command": {"argv": ["one"]}}}, name="alone", kind="RuntimeTaskGroup")
    run = workspace.playbook("action", "-e", "operator_manifest=alone.yml").succeeded()
    assert "TaskGroup alone is complete since" in run.text
    assert workspace.ran() == [[each, "one"] for each in workspace.control_planes[1:]]
    workspace.action({"nodeName": "worker-2", "command": {"argv": ["two"]}}, name="single", kind="Task")
    workspace.playbook("action", "-e", "operator_manifest=single.yml").succeeded()
    assert workspace.ran()[2:] == [["worker-2", "two"]]
    assert workspace.stored("Task", "single")["status"]["phase"] == "Succeeded"


# After what an Action leaves on a node and in the store; and of each of these that can be lost one: `make test` has to end within the hour.
LEFT = r"operator_(action|next|task): after (node node_command|store write (Action|TaskGroup|Task))"
EACH_KIND = "|".join(
    [
        "^operator_action: after store write Action$",
        "^operator_next: after store write Task$",
        r"^task > operator_task: after node node_command( \(2\))?$",
        r"^task > operator_task: after store write Task \(2\)$",
        "^operator_task: after store write TaskGroup$",
    ]
)


@pytest.mark.parametrize(
    ("only", "least"),
    [pytest.param(EACH_KIND, 6, id="each kind"), pytest.param(LEFT, 8, marks=pytest.mark.full, id="every one")],
)
def test_runs_that_are_killed_go_on_where_they_were(
    workspace: OperatorWorkspace, tmp_path: Path, only: str, least: int
) -> None:
    """Between Tasks and between commands: every program is started exactly once, in the order of the plan."""
    workspace.action(workflow(group("a", "one", "two", nodeFilter="Tail")), name="first")
    runs = KilledRuns(
        workspace, workspace.command("action", "-e", "operator_manifest=first.yml"), tmp_path / "runs", "kill", only
    )
    record = runs.until_converged()
    assert len(record.points) >= least and record.failures == []
    assert workspace.ran() == [[node, word, "a"] for node in workspace.control_planes[1:] for word in ("one", "two")]
    assert workspace.stored("Action", "first")["status"]["phase"] == "Succeeded"
    assert len(workspace.tasks()) == 2 and locks_held(workspace.store) == []
    assert under_way(workspace.store, NAME) == []


@pytest.mark.full
@pytest.mark.parametrize(("how", "points"), [("kill", 30), ("kill-main", 10), ("terminate", 30)])
def test_runs_that_are_stopped_at_every_point_go_on(
    workspace: OperatorWorkspace, tmp_path: Path, how: str, points: int
) -> None:
    """Where only the main process is killed, the one that runs Tasks goes on for as long as nobody has taken its lock: fewer points."""
    workspace.action(
        workflow(group("a", "one", "two", nodeFilter="Tail"), group("b", "three", nodeFilter="Head")), name="first"
    )
    command = workspace.command("action", "-e", "operator_manifest=first.yml")
    record = KilledRuns(workspace, command, tmp_path / "runs", how).until_converged()
    assert len(record.points) >= points and record.failures == []
    nodes = workspace.control_planes
    assert workspace.ran() == [
        *([node, word, "a"] for node in nodes[1:] for word in ("one", "two")),
        [nodes[0], "three", "b"],
    ]
    assert workspace.stored("Action", "first")["status"]["phase"] == "Succeeded"
    assert locks_held(workspace.store) == [] and under_way(workspace.store, NAME) == []
