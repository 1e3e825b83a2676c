# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Task's programs on its node: real processes, found again, taken over, and told."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from operator_cases import action, facts, group, hub, node
from operator_workspace import NAME, OperatorWorkspace
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.task_unit import TaskUnit
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import Waiting
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import (
    CommandFailure,
    TaskContext,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import Secrets, TaskRecord
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
NODE = "prod-z"


class Node:
    """The one node that answers: its programs are real processes. ``silent`` has the calls, from 1, that are not answered."""

    def __init__(self, folder: Path, systemd: StandInSystemd) -> None:
        self._folder = str(folder)
        self._systemd = systemd
        self.silent: set[int] = set()
        # What happens while it is silent.
        self.meanwhile: t.Callable[[], object] = lambda: None
        self.calls: list[Object] = []

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """As node_command does it."""
        assert module == "node_command" and machine.name == NODE
        self.calls.append(dict(arguments))
        if len(self.calls) in self.silent:
            self.meanwhile()
            return Answer(False, {"msg": "machine prod-z was not reached: no route"})
        unit = TaskUnit(arguments["name"], self._folder, self._systemd)
        report = unit.look()
        if arguments.get("argv"):
            bounds = {"timeout": arguments["timeout"], "wait": min(arguments["wait"], 1)}
            try:
                report = unit.run(arguments["argv"], **bounds, alone=arguments["alone"])
            except NodeError as error:
                return Answer(True, {"failed": True, "msg": str(error)})
        return Answer(True, {**report.__dict__, "actual_machine_id": ""})


class Plugin:
    """What a command needs of Ansible."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.said: list[str] = []

    def machine_caller(self, _arguments: Object, _objects: ClusterObjects) -> Node:
        return self._node

    def progress(self, _cluster: str, text: str) -> None:
        self.said.append(text)

    def waiting(self, _cluster: str, bound: float) -> Waiting:
        return Waiting(self, _cluster, bound)

    def check_lock(self, _arguments: Object) -> None:
        """It holds the lock."""


class Bench:
    """One Task on one node."""

    def __init__(self, folder: Path, systemd: StandInSystemd) -> None:
        workspace = OperatorWorkspace(folder / "workspace")
        workspace.create(replicas=1)
        self.store = FileStore(str(workspace.store))
        self.where = Executions(self.store, "default", NAME)
        root = hub(action(group("a")))
        plan = freeze.freeze(root, facts(node(NODE)), "x")
        self.root = self.where.begin(self.where.put(root), plan)
        self.name = self.where.advance(self.root)[1].tasks[0]
        self.node = Node(folder / "commands", systemd)
        self.plugin = Plugin(self.node)
        self.begin()

    def begin(self) -> None:
        record = TaskRecord(self.store, "default", self.name, Secrets())
        record.begin()
        record.begin_command(0, "pass")

    def attempt(self, number: int) -> None:
        def change(task: Object) -> None:
            task["status"]["commands"][0]["attempt"] = number

        self.store.modify(actions.kind_ref("Task"), "default", self.name, change)

    @property
    def task(self) -> Object:
        found = self.store.get(actions.kind_ref("Task"), "default", self.name)
        assert found is not None
        return found

    @property
    def outputs(self) -> list[Object]:
        found: list[Object] = self.task["status"]["commands"][0].get("outputs") or []
        return found

    def named(self, argv: list[str]) -> str:
        """What a program is named on the node, of which that hears nothing."""
        self.node.silent.add(len(self.node.calls) + 1)
        with pytest.raises(CommandFailure):
            self.context().run(argv)
        return str(self.node.calls[-1]["name"])

    def context(self) -> TaskContext:
        """As every run makes it anew."""
        cluster = ClusterObjects.read(self.store, "default", NAME)
        assert cluster is not None
        return TaskContext(t.cast(t.Any, self.plugin), {}, cluster, self.root, self.task, 0)


@pytest.fixture
def systemd() -> t.Iterator[StandInSystemd]:
    made = StandInSystemd()
    yield made
    made.end()


@pytest.fixture
def bench(tmp_path: Path, systemd: StandInSystemd) -> Bench:
    return Bench(tmp_path, systemd)


def test_a_program_is_run_and_kept(bench: Bench) -> None:
    output = bench.context().run(["sh", "-c", "echo out; echo err >&2"])
    assert (output.rc, output.text, output.argv[0]) == (0, "out\nerr\n", "sh")
    [kept] = bench.outputs
    assert kept["exitCode"] == 0 and kept["head"] == "out\nerr\n" and kept["node"] == NODE
    assert kept["sha256"] == output.sha256 and kept["logPath"] == output.log_path
    assert Path(output.log_path).read_text() == "out\nerr\n"


def test_the_next_run_takes_its_result_and_starts_nothing(
    bench: Bench, tmp_path: Path, systemd: StandInSystemd
) -> None:
    argv = ["sh", "-c", f"echo x >> {tmp_path / 'marks'}"]
    first, again = bench.context().run(argv), bench.context().run(argv)
    assert first == again and (tmp_path / "marks").read_text() == "x\n" and len(bench.outputs) == 1
    bench.context().run(argv, step="another")
    bench.context().run([*argv, "more"])
    assert (tmp_path / "marks").read_text() == "x\n" * 3 and len(systemd.started) == 3


def test_an_exit_status_that_is_not_wanted_fails_with_the_last_lines(bench: Bench) -> None:
    with pytest.raises(
        CommandFailure, match=r"Node prod-z: sh -c .* ended with exit status 3: .*\[redacted: bootstrap token\]"
    ):
        bench.context().run(["sh", "-c", "echo abcdef.0123456789abcdef; exit 3"])
    assert bench.outputs[0]["exitCode"] == 3
    assert bench.context().run(["sh", "-c", "exit 3"], ok=(0, 3)).rc == 3


def test_retry_runs_it_again(bench: Bench, tmp_path: Path) -> None:
    argv = ["test", "-e", str(tmp_path / "room")]
    with pytest.raises(CommandFailure):
        bench.context().run(argv)
    (tmp_path / "room").touch()
    with pytest.raises(CommandFailure):
        bench.context().run(argv)
    bench.attempt(2)
    assert bench.context().run(argv).rc == 0
    assert [each["exitCode"] for each in bench.outputs] == [1, 0]


def test_retry_takes_over_what_still_runs(bench: Bench, tmp_path: Path, systemd: StandInSystemd) -> None:
    """A run that couldn't wait any longer must not have the same thing done twice at once."""
    os.mkfifo(tmp_path / "gate")
    argv = ["cat", str(tmp_path / "gate")]
    TaskUnit(bench.named(argv), str(tmp_path / "commands"), systemd).run(argv, timeout=60, wait=0)
    bench.attempt(2)
    writer = subprocess.Popen(["sh", "-c", f"printf 'at last' > {tmp_path / 'gate'}"])
    output = bench.context().run(argv)
    assert writer.wait() == 0
    assert output.text == "at last" and len(systemd.started) == 1


def test_retry_takes_the_result_of_what_ended_unseen(bench: Bench, tmp_path: Path, systemd: StandInSystemd) -> None:
    """The node was silent for so long that its Task failed; what had been begun there came to its end, and is not done twice."""
    argv = ["sh", "-c", f"echo x >> {tmp_path / 'marks'}"]
    TaskUnit(bench.named(argv), str(tmp_path / "commands"), systemd).run(argv, timeout=60, wait=60)
    bench.attempt(2)
    assert bench.context().run(argv).rc == 0
    assert (tmp_path / "marks").read_text() == "x\n"


def test_nothing_is_begun_beside_what_an_earlier_action_left_running(
    bench: Bench, tmp_path: Path, systemd: StandInSystemd
) -> None:
    """That was aborted, and its node was not asked."""
    TaskUnit("earlier", str(tmp_path / "commands"), systemd).run(["sleep", "60"], timeout=60, wait=0)
    with pytest.raises(CommandFailure, match=r"task-earlier\.service still runs"):
        bench.context().run(["true"])
    assert len(systemd.started) == 1
    systemd.end()
    assert bench.context().run(["true"]).rc == 0


def test_a_node_that_is_silent_for_a_moment_is_waited_for(bench: Bench, tmp_path: Path) -> None:
    bench.node.silent = {2}
    os.mkfifo(tmp_path / "gate")
    bench.node.meanwhile = lambda: (tmp_path / "gate").write_text("done")
    assert bench.context().run(["cat", str(tmp_path / "gate")]).text == "done"
    assert len(bench.node.calls) == 3


def test_a_node_that_does_not_answer_at_all_is_told_at_once(bench: Bench) -> None:
    bench.node.silent = {1}
    with pytest.raises(CommandFailure, match=r"no route.*if this was begun there"):
        bench.context().run(["true"])
    assert len(bench.node.calls) == 1
    assert bench.task["status"]["commands"][0]["unobserved"] == bench.node.calls[0]["name"]
    bench.begin()
    assert bench.context().run(["true"]).rc == 0 and "unobserved" not in bench.task["status"]["commands"][0]


def test_an_interrupted_program_is_a_persons_to_judge(bench: Bench, tmp_path: Path, systemd: StandInSystemd) -> None:
    argv = ["sleep", "60"]
    unit = TaskUnit(bench.named(argv), str(tmp_path / "commands"), systemd)
    unit.run(argv, timeout=90, wait=0)
    while not unit.look().started_at:
        continue
    systemd.end()
    systemd.processes.clear()
    with pytest.raises(CommandFailure, match="was interrupted: its unit is gone"):
        bench.context().run(argv)
    bench.attempt(2)
    assert bench.context().run(["true"]).rc == 0


def test_what_a_secret_holds_is_in_no_output(bench: Bench) -> None:
    context = bench.context()
    assert context.secret("none") is None
    context.put_secret("prod-x", {"password": b"correct horse battery"})
    output = context.run(["echo", "-n", "it is: correct horse battery"])
    assert "horse" not in output.text + str(bench.task)
    assert context.secret("prod-x") == {"password": b"correct horse battery"}
    context.put_secret("prod-x", {"password": b"another one"})
    context.forget_secret("prod-x")
    context.forget_secret("prod-x")
    assert context.secret("prod-x") is None
