# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles and modules of a custom Action: what an Action or a node says is data to the controller, and no password is in a file."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
import yaml
from operator_workspace import WORKERS, OperatorWorkspace
from workspace import Run

WORKER = WORKERS[0]
ROLE = "acme.own.mark"
PASSWORD = "correct horse battery"
Object = dict[str, t.Any]


class RoleWorkspace(OperatorWorkspace):
    """A cluster with a role of the user's own that writes what it was given to a file of the controller."""

    @property
    def ran_on_the_controller(self) -> list[str]:
        """What an exploit left there."""
        path = self.folder / "ran"
        return path.read_text().split() if path.exists() else []

    def exploit(self, where: str) -> str:
        """Text that is harmless unless somebody takes it for a template."""
        return "{{ lookup('ansible.builtin.pipe', 'echo " + f"{where} >> {self.folder}/ran" + "') }}"

    @property
    def given(self) -> Object:
        """What the role was given."""
        return dict(json.loads((self.folder / "given.json").read_text()))

    def put_role(self) -> None:
        """Install the role's collection."""
        content = {"mark": "{{ mark }}", "facts": "{{ ansible_facts }}", "vars": "{{ hostvars[inventory_hostname] }}"}
        seek = f"grep -rlF '{PASSWORD}' {self.folder}/temporary"
        delegated = {"delegate_to": "localhost", "vars": {"ansible_connection": "local"}}
        tasks = [
            {
                "name": "Keep what was given",
                "ansible.builtin.copy": {
                    "content": "{{ given | to_json }}",
                    "dest": str(self.folder / "given.json"),
                    "mode": "0600",
                },
                **delegated,
            },
            {"name": "Look for a file with the password", "ansible.builtin.command": seek, "register": "sought"},
            {
                "name": "Keep what was found",
                "ansible.builtin.copy": {
                    "content": "{{ sought.stdout }}",
                    "dest": str(self.folder / "found"),
                    "mode": "0600",
                },
            },
        ]
        tasks[0]["vars"] = {**delegated["vars"], "given": content}  # type: ignore[dict-item]
        tasks[1] = {**tasks[1], **delegated, "failed_when": False, "changed_when": False}
        tasks[2] = {**tasks[2], **delegated}
        path = self.folder / "collections/ansible_collections/acme/own/roles/mark/tasks"
        path.mkdir(parents=True)
        (path / "main.yml").write_text(yaml.safe_dump(tasks))

    def run_commands(self, *commands: Object) -> Run:
        """Run an Action with these commands on a worker, after a play that has asked it for its facts."""
        group = {"name": "own", "nodeNames": [WORKER], "commands": list(commands)}
        self.action({"custom": {"workflow": [group]}}, name="first")
        reached = {"ansible_pipelining": True, "ansible_python_interpreter": "/usr/bin/python3"}
        asks = {"name": "Ask", "hosts": WORKER, "gather_facts": True, "vars": reached}
        plays = [asks, {"name": "Act", "ansible.builtin.import_playbook": "kubeadm.control_plane.action"}]
        (self.folder / "own.yml").write_text(yaml.safe_dump(plays, sort_keys=False))
        return self.playbook("own.yml", "-e", "operator_manifest=first.yml")

    def put_facts(self, *facts: Object) -> None:
        """Have the worker say these facts, one mapping each time that it is asked."""
        self.put_world({**self.world(), "facts": {WORKER: list(facts)}})

    def put_machine_id(self, text: str) -> None:
        """Have the worker say that this is its machine-id."""
        cloud = self.cloud()
        cloud["machines"][WORKER]["machineID"] = text
        self.put_cloud(cloud)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> RoleWorkspace:
    """A cluster of one control plane node and two workers; made once, copied for each test."""
    workspace = RoleWorkspace(tmp_path_factory.mktemp("roles") / "workspace")
    workspace.create(1)
    return workspace


@pytest.fixture
def workspace(made: RoleWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RoleWorkspace:
    """A copy of that cluster, whose machines answer."""
    copied = made.copied(tmp_path / "workspace").answering(monkeypatch)
    collections = os.pathsep.join((os.environ["ANSIBLE_COLLECTIONS_PATH"], str(copied.folder / "collections")))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", collections)
    monkeypatch.setenv("ANSIBLE_LOCAL_TEMP", str(copied.folder / "temporary"))
    copied.put_role()
    return copied


def test_nothing_that_an_action_or_a_node_says_is_a_template(workspace: RoleWorkspace) -> None:
    """A role's variables, a module's arguments, a machine-id, and what a node said of itself earlier and says now."""
    workspace.put_machine_id(workspace.exploit("machine-id"))
    now = {"ansible_now": workspace.exploit("fact"), "ansible_local": {"own": workspace.exploit("local")}}
    workspace.put_facts({"ansible_motd": workspace.exploit("earlier")}, now)
    text, nested = workspace.exploit("text"), {workspace.exploit("key"): [workspace.exploit("nested"), 1, True, None]}
    workspace.run_commands(
        {"module": {"name": "ansible.builtin.lineinfile", "args": {"path": "/etc/own", "line": text}}},
        {"role": {"name": ROLE, "vars": {"mark": {"text": text, "nested": nested}}}},
    ).succeeded()
    assert workspace.ran_on_the_controller == []
    assert workspace.given["mark"] == {"text": text, "nested": nested}
    assert workspace.given["facts"]["now"] == now["ansible_now"]
    assert workspace.given["facts"]["ansible_local"] == now["ansible_local"]
    assert "ansible_motd" not in workspace.given["vars"] and "ansible_host" in workspace.given["vars"]
    assert workspace.world()["files"][WORKER]["/etc/own"] == text


def test_a_node_of_a_name_that_kubernetes_does_not_take(workspace: RoleWorkspace) -> None:
    """Only an API server that is somebody else's says so."""
    world = workspace.world()
    world["nodes"][workspace.exploit("node")] = {**world["nodes"][WORKER]}
    workspace.put_world(world)
    run = workspace.run_commands({"role": {"name": ROLE, "vars": {"mark": "by"}}}).failed()
    assert "which no Kubernetes allows. Nothing was started." in run.text
    assert workspace.ran_on_the_controller == [] and workspace.objects("Action") == []


def test_a_fact_that_would_change_how_its_host_is_reached_stops_the_action(workspace: RoleWorkspace) -> None:
    """Ansible runs that program on the controller."""
    workspace.put_facts({"ansible_sftp_executable": "/tmp/own"})
    run = workspace.run_commands({"role": {"name": ROLE, "vars": {"mark": "by"}}}).failed()
    assert f"the facts of the inventory host {WORKER} have ansible_sftp_executable" in run.text
    assert workspace.objects("Action") == []


def test_a_fact_that_would_change_how_the_role_reaches_its_node_stops_it(workspace: RoleWorkspace) -> None:
    """The role's playbook asks for facts of its own."""
    workspace.put_facts({}, {"ansible_sftp_executable": "/tmp/own", "ansible_motd": "hi"})
    run = workspace.run_commands({"role": {"name": ROLE, "vars": {"mark": "by"}}}).failed()
    assert "The facts of the node have sftp_executable, by which it would change how it is reached" in run.text
    assert not (workspace.folder / "given.json").exists()


@pytest.mark.parametrize("depth", [300, 100_000])
def test_an_answer_that_nobody_can_read(workspace: RoleWorkspace, depth: int) -> None:
    """It is that machine's failure, said as such; it ends no run in which others are asked."""
    workspace.put_world({**workspace.world(), "answers": {"lineinfile": '{"a": ' + "[" * depth + "]" * depth + "}"}})
    run = workspace.run_commands(
        {"module": {"name": "ansible.builtin.lineinfile", "args": {"path": "/etc/own", "line": "a"}}}
    ).failed()
    assert f"machine {WORKER}: its answer can't be read: it is nested deeper than 200 levels" in run.text
    assert "Traceback" not in run.output and "RecursionError" not in run.output


def test_a_role_becomes_root_with_a_password_that_is_in_no_file(workspace: RoleWorkspace) -> None:
    hosts = {
        WORKER: {
            "ansible_host": "198.51.100.200",
            "ansible_user": "ops",
            "ansible_become": True,
            "ansible_become_password": PASSWORD,
        }
    }
    workspace.put_workers(hosts)
    workspace.run_commands({"role": {"name": ROLE, "vars": {"mark": "by"}}}).succeeded()
    assert workspace.given["mark"] == "by"
    assert set(workspace.world()["passwords"]) == {PASSWORD}
    assert (workspace.folder / "found").read_text() == ""
