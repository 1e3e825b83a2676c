# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's own Action on a real machine: programs, files, a module, a role; killed while a program runs, retried, and shown."""

from __future__ import annotations

import os
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from actions_on_nodes import NodeActions
from killed_runs import locks_held
from machines import Machines
from workspace import Workspace, kill_run

from .conftest import NAME

MARKS = "/root/marks"
LOGS = "/var/lib/kubeadm-control-plane/commands"


class Lab(t.NamedTuple):
    """A cluster of one machine."""

    workspace: Workspace
    machines: Machines
    actions: NodeActions

    @property
    def node(self) -> str:
        """The one machine."""
        return self.machines.names()[0]

    def ssh(self, command: str) -> str:
        """Run something there, beside the collection."""
        return self.machines.ssh(self.node, command)


@pytest.fixture(name="lab", scope="module")
def _lab(workspace: Workspace, machines: Machines) -> Lab:
    return Lab(workspace, machines, NodeActions(workspace, NAME))


def own(*commands: t.Any) -> dict[str, t.Any]:
    """An Action on every control plane node."""
    selector = {"matchLabels": {"node-role.kubernetes.io/control-plane": ""}}
    return {"custom": {"workflow": [{"name": "own", "nodeSelector": selector, "commands": list(commands)}]}}


def shell(text: str, **more: t.Any) -> dict[str, t.Any]:
    """A script, which a person has to say is meant."""
    return {"command": {"argv": ["sh", "-c", text], "literal": True, **more}}


def test_programs_files_modules_and_roles(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each does what it says on the node, and the record has no secret."""
    collections = lab.workspace.folder / "collections"
    role = collections / "ansible_collections" / "acme" / "own" / "roles" / "mark" / "tasks"
    role.mkdir(parents=True)
    monkeypatch.setenv(
        "ANSIBLE_COLLECTIONS_PATH", os.pathsep.join((os.environ["ANSIBLE_COLLECTIONS_PATH"], str(collections)))
    )
    tasks = [
        {
            "name": "Mark",
            "ansible.builtin.copy": {
                "content": "{{ mark }} {{ ansible_facts.hostname }}\n",
                "dest": "/root/role",
                "mode": "0600",
            },
        },
    ]
    (role / "main.yml").write_text(yaml.safe_dump(tasks))
    commands = [
        "preflight",
        {"command": {"argv": ["hostname"]}},
        {"file": {"path": "/root/key", "secret": {"name": f"{NAME}-ca", "key": "tls.key"}}},
        {"file": {"path": "/root/plain", "content": "one\n", "mode": "0644"}},
        {"command": {"argv": ["cat", "/root/key", "/root/plain"]}},
        {"module": {"name": "ansible.builtin.lineinfile", "args": {"path": "/root/plain", "line": "two"}}},
        {"role": {"name": "acme.own.mark", "vars": {"mark": "by"}}},
        {"waitHealthy": {}},
    ]
    lab.actions.run("first", own(*commands)).succeeded()
    assert lab.ssh("cat /root/plain; stat -c %a /root/plain /root/key") == "one\ntwo\n644\n600\n"
    assert lab.ssh("cat /root/role") == f"by {lab.node}\n"
    assert "PRIVATE KEY" in lab.ssh("head -n 1 /root/key")
    assert lab.actions.phases("first") == ["Succeeded"]
    texts = [str(each["head"]) for each in lab.actions.outputs("first")]
    assert f"{lab.node}\n" in texts and any(each.startswith("[redacted: private key]") for each in texts)
    stored = "".join(path.read_text() for path in lab.workspace.store.rglob("task.*/*.yaml"))
    assert "PRIVATE KEY-----" not in stored
    for output in lab.actions.outputs("first"):
        if output["logPath"]:
            assert lab.ssh(f"sha256sum {output['logPath']}; stat -c %a {output['logPath']}").split()[::2] == [
                output["sha256"],
                "600",
            ]


def test_a_run_that_is_killed_finds_its_program_again(lab: Lab, tmp_path: Path) -> None:
    """It goes on without the run, is awaited by the next one, and is started once; so is one that lasts longer than a call waits at first."""
    lab.ssh(f"rm -f {MARKS}; mkfifo /root/gate")
    spec = own(
        shell(f"echo begun >> {MARKS}; cat /root/gate; echo ended >> {MARKS}"), {"command": {"argv": ["sleep", "3"]}}
    )
    process = lab.actions.start("second", spec, tmp_path / "log")
    lab.actions.until("the program runs", lambda: "begun" in lab.ssh(f"cat {MARKS} 2>/dev/null || true"), process)
    kill_run(process)
    lab.ssh("echo go > /root/gate")
    lab.actions.run("second", spec).succeeded()
    assert lab.ssh(f"cat {MARKS}") == "begun\nended\n"
    first, second = lab.actions.commands(lab.actions.tasks("second")[0])
    assert first["outputs"][0]["head"] == "go\n" and first["attempt"] == 1 and len(first["outputs"]) == 1
    assert second["outputs"][0]["argv"] == ["sleep", "3"] and locks_held(lab.workspace.store) == []


@pytest.mark.full
def test_a_failed_program_is_told_retried_and_left_out(lab: Lab) -> None:
    spec = own(shell("echo it is full >&2; test -e /root/room", exitCodes=[0]), {"command": {"argv": ["true"]}})
    run = lab.actions.run("third", spec).failed()
    for said in (
        "it is full",
        "ended with exit status 1",
        f"on Node {lab.node}, command 1 of 2",
        "kubeadm.control_plane.retry",
        LOGS,
    ):
        assert said in run.text, said
    blocked = lab.workspace.playbook("status", "--limit", NAME).succeeded()
    assert "Action third has not ended (Failed)" in blocked.text
    lab.ssh("touch /root/room")
    lab.actions.run(playbook="retry").succeeded()
    assert lab.actions.phases("third") == ["Succeeded"]
    record = lab.actions.commands(lab.actions.tasks("third")[0])[0]
    assert record["attempt"] == 2 and [each["exitCode"] for each in record["outputs"]] == [1, 0]
    shown = lab.actions.run("third", playbook="actions", logs="true").succeeded()
    assert re.search(r"\| it is full", shown.text)


@pytest.mark.full
def test_a_single_node_restarts_its_components_one_at_a_time(lab: Lab) -> None:
    """Nothing of it needs another node."""
    components = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    commands = [
        each for name in components for each in ({"restartComponent": {"component": name}}, {"waitHealthy": {}})
    ]
    lab.actions.run("fourth", own(*commands)).succeeded()
    assert lab.actions.phases("fourth") == ["Succeeded"]
