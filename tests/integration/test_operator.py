# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions through the real playbooks, on stand-ins for a cloud and its machines: order, modes, flow, refusals, killed runs."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from operator_workspace import OperatorWorkspace


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> OperatorWorkspace:
    """A cluster of three control plane nodes and two workers; made once, copied for each test."""
    workspace = OperatorWorkspace(tmp_path_factory.mktemp("operator") / "workspace")
    workspace.create()
    return workspace


@pytest.fixture
def workspace(made: OperatorWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OperatorWorkspace:
    """A copy of that cluster, whose machines answer."""
    copied = made.copied(tmp_path / "workspace")
    for name, value in copied.machines_answer().items():
        monkeypatch.setenv(name, value)
    return copied


def workflow(*groups: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"custom": {"workflow": list(groups)}}


def group(name: str, *words: str, selector: t.Any = None, **more: t.Any) -> dict[str, t.Any]:
    commands = [{"command": {"argv": [word, name]}} for word in words]
    chosen = {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/control-plane": ""}}}
    return {"name": name, **(chosen if selector is None else {"nodeSelector": selector}), "commands": commands, **more}


def test_an_action_runs_node_by_node_in_the_order_of_the_list(workspace: OperatorWorkspace) -> None:
    workspace.action(workflow(group("zeta", "one", "two"), group("alpha", "three")), name="first")
    run = workspace.playbook("action", "-e", "operator_manifest=first.yml").succeeded()
    nodes = workspace.control_planes
    assert workspace.ran() == [
        *([node, word, "zeta"] for node in nodes for word in ("one", "two")),
        *([node, "three", "alpha"] for node in nodes),
    ]
    assert "Action first is complete: 6 of 6 Tasks are done." in run.text
    action = workspace.stored("Action", "first")
    assert action["status"]["phase"] == "Succeeded" and action["status"]["succeededGroups"] == 2
    tasks = workspace.objects("Task")
    assert len(tasks) == 6
    record = workspace.stored("Task", f"first-01-zeta-{nodes[0]}")["status"]["commands"][1]
    assert record["outputs"][0]["exitCode"] == 0 and record["outputs"][0]["head"] == "this is two zeta\n"
    assert record["startTime"] and record["completionTime"] and record["outputs"][0]["logPath"]
    again = workspace.playbook("action", "-e", "operator_manifest=first.yml").succeeded()
    assert "never runs again" in again.text and len(workspace.ran()) == 9
