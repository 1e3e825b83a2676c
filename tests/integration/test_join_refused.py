# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that refuses to start kubeadm, on stand-ins for a cloud and its machines: the run ends with its reason, and doesn't try again."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace

NAME = "prod"
WHY = "kubeadm on this machine is v1.19.0, but v1.20.2 is wanted. Nothing was changed."


@pytest.fixture
def workspace(one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A cluster of one machine."""
    return one_machine.copied(tmp_path / "workspace").answering(monkeypatch)


@pytest.mark.parametrize("change", [{"replicas": 3}, {"replicas": 1, "kubeadm": {"preKubeadmCommands": ["true"]}}])
def test_a_join_that_a_machine_refuses_ends_the_run(workspace: AcmeWorkspace, change: dict[str, t.Any]) -> None:
    """Nobody waits for a start that was refused, whether or not a machine is made ahead meanwhile."""
    workspace.refuse_bootstraps(WHY)
    before = len(workspace.world()["calls"])
    workspace.manifest(NAME, **change)
    run = workspace.playbook("reconcile").failed()
    assert "kubeadm on this machine is v1.19.0" in run.text
    calls = [each.split()[2] for each in workspace.world()["calls"][before:]]
    assert calls.count("node_bootstrap") <= 3, "a join is looked for, tried once, and not begun anew"
    assert len(workspace.world()["members"]) == 1


def test_a_machine_that_carries_something_else_is_not_removed(workspace: AcmeWorkspace) -> None:
    """It may be an adopted machine that works: each run says why it can't go on, and the machine's own bootstrap follows when that is mended."""
    workspace.refuse_bootstraps("This machine already carries a cluster. Nothing was changed.", "CarriesAnother")
    workspace.manifest(NAME, replicas=3)
    for _run in range(2):
        run = workspace.playbook("reconcile").failed()
        assert "already carries a cluster" in run.text and "No run removes it for this alone" in run.text
        names = {each["metadata"]["name"] for each in workspace.objects("Machine")}
        assert len(names) == 2 and names == set(workspace.cloud()["machines"])
    workspace.refuse_bootstraps("")
    workspace.playbook("reconcile").succeeded()
    assert names < {each["metadata"]["name"] for each in workspace.objects("Machine")}


def test_a_call_that_was_killed_says_nothing_of_kubeadm(workspace: AcmeWorkspace) -> None:
    """On a loaded machine, or one whose disk is full: kubeadm may be at work there. The machine is asked again, and stays."""
    first = set(workspace.cloud()["machines"])
    workspace.manifest(NAME, replicas=3)
    workspace.kill_bootstraps(every=1)
    run = workspace.playbook("reconcile").failed()
    assert "was reached and did not say whether kubeadm runs there: MODULE FAILURE. It was tried" in run.text
    assert "at the latest kubeadm has ended there" in run.text
    [name] = set(workspace.cloud()["machines"]) - first
    states = {each["metadata"]["name"]: each["status"]["bootstrap"]["state"] for each in workspace.objects("Machine")}
    assert states[name] == "Running"
    # Each second one, whichever that is.
    workspace.kill_bootstraps(every=2)
    workspace.playbook("reconcile").succeeded()
    machines, world = set(workspace.cloud()["machines"]), workspace.world()
    assert name in machines and len(machines) == 3 and world["kills"] > 6
    assert machines == {each["name"] for each in world["members"]} == set(world["bootstraps"])
    assert world["violations"] == []


def test_the_token_of_a_join_is_deleted_when_the_machine_has_joined(workspace: AcmeWorkspace) -> None:
    before = len(workspace.world()["calls"])
    workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile").succeeded()
    calls = [each.split()[2] for each in workspace.world()["calls"][before:]]
    assert calls.count("bootstrap_token") == 4, "made and deleted for each of two joins"
    kept = [each["metadata"].get("annotations") or {} for each in workspace.objects("KubeadmConfig")]
    assert len(kept) == 3 and not any("bootstrap-token-id" in key for each in kept for key in each)
