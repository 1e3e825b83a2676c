# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that is moved in the middle of its life, by the playbooks: what follows goes on as if nothing had been."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from actions import run_action
from api_server import ApiServer
from killed_runs import KilledRuns, under_way
from moving_workspace import API, EXPORT, FILES, Moving
from operator_workspace import NAME, OperatorWorkspace

pytestmark = pytest.mark.full
USE_EXPORT = ("-e", "control_plane_use_export=true")


@pytest.fixture
def workspace(empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Moving:
    """A user's folder with machines that answer."""
    made = AcmeWorkspace.with_machines(tmp_path / "workspace", monkeypatch)
    return Moving(made, empty_server.kubeconfig)


@pytest.fixture
def operator(empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Moving:
    """A cluster of three nodes, for Actions."""
    made = OperatorWorkspace(tmp_path / "workspace")
    made.create()
    made.answering(monkeypatch)
    return Moving(made, empty_server.kubeconfig)


def whole(moving: Moving, count: int) -> list[str]:
    """As many machines as wanted, each a voter; nothing has happened that must not."""
    names = sorted(each["metadata"]["name"] for each in moving.objects("Machine"))
    world, cloud = moving.workspace.world(), moving.workspace.cloud()
    assert world["violations"] == [] and len(names) == count
    assert sorted(cloud["machines"]) == sorted(each["name"] for each in world["members"]) == names
    assert under_way(moving.journal, NAME) == []
    return names


def test_a_cluster_lives_on_wherever_it_is(workspace: Moving, tmp_path: Path) -> None:
    """Made with files; moved into an API with the run killed between its stages; grown there; lost, worked on by its copy, and moved back."""
    workspace.workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    [first] = whole(workspace, 1)
    command = workspace.command("move", *workspace.to(API))
    only = r"after (lock mark|store write Machine|store remove Cluster)"
    record = KilledRuns(workspace.workspace, command, tmp_path / "moves", "kill", only).until_converged()
    assert len(record.points) >= 4 and record.failures == []
    assert f"{NAME} is kept in the Kubernetes API" in record.last.text
    assert "it was moved to the Kubernetes API" in workspace.playbook("reconcile").failed().text
    workspace.place = API
    assert "Nothing to do" in workspace.playbook("plan").succeeded().text
    workspace.workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile").succeeded()
    names = whole(workspace, 3)
    assert first in names
    workspace.place = EXPORT
    assert sorted(each["metadata"]["name"] for each in workspace.objects("Machine")) == names
    assert "control_plane_use_export=true" in workspace.playbook("reconcile").failed().text
    workspace.workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile", *USE_EXPORT).succeeded()
    [left] = whole(workspace, 1)
    workspace.moved(API)
    assert whole(workspace, 1) == [left]
    assert "Nothing to do" in workspace.playbook("plan").succeeded().text
    workspace.moved(FILES)
    assert whole(workspace, 1) == [left] and "Nothing to do" in workspace.playbook("plan").succeeded().text


STEPS = [
    (3, r"join > machine_bootstrap: after node node_bootstrap \(2\)"),
    (1, r"remove > machine_removal: after node etcd_member absent"),
]


def test_a_copy_that_a_killed_run_has_left(workspace: Moving, tmp_path: Path) -> None:
    """The API is gone in the middle of a step: who works with the copy knows a machine that was joining, and one that was going."""
    workspace.workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    workspace.moved(API)
    for count, point in STEPS:
        workspace.workspace.manifest(NAME, replicas=count)
        runs = KilledRuns(workspace.workspace, workspace.command("reconcile"), tmp_path / str(count), "kill", point)
        stop, _run = runs.stopped_at_first()
        assert stop.point
        workspace.place = EXPORT
        workspace.playbook("reconcile", *USE_EXPORT).succeeded()
        names = whole(workspace, count)
        workspace.moved(API)
        # Also notes that the killed run's step was interrupted.
        workspace.playbook("reconcile").succeeded()
        assert whole(workspace, count) == names


RENEW = ("-e", json.dumps({"operator_spec": {"renewCertificates": {}}, "operator_action": "renew"}), *USE_EXPORT)
ENDED = "2026-01-01T00:00:00Z"


def certificates_end(workspace: AcmeWorkspace, names: t.Sequence[str]) -> None:
    """On these machines: no API server answers any more."""
    world = workspace.world()
    workspace.put_world({**world, "ends": dict.fromkeys(names, ENDED), "silent": list(names)})


def test_a_renewal_from_a_copy_that_does_not_know_how_a_join_ended(workspace: Moving, tmp_path: Path) -> None:
    """The certificates of the others end while a machine joins: they are renewed without an API, then the joining one is taken over."""
    workspace.workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    workspace.moved(API)
    [first] = whole(workspace, 1)
    workspace.workspace.manifest(NAME, replicas=3)
    point = STEPS[0][1]
    runs = KilledRuns(workspace.workspace, workspace.command("reconcile"), tmp_path / "joins", "kill", point)
    stop, _run = runs.stopped_at_first()
    assert stop.point
    certificates_end(workspace.workspace, [first])
    workspace.place = EXPORT
    assert len(workspace.objects("Machine")) == 2
    workspace.playbook("action", *RENEW).succeeded()
    world = workspace.workspace.world()
    assert world["silent"] == [] and [each[0] for each in world["started"]] == [first]
    workspace.playbook("reconcile").succeeded()
    names = whole(workspace, 3)
    workspace.moved(API)
    workspace.playbook("reconcile").succeeded()
    assert whole(workspace, 3) == names
    assert [each["status"]["phase"] for each in workspace.objects("Action")] == ["Succeeded"]


def test_a_renewal_from_a_copy_that_knows_a_machine_that_is_gone(workspace: Moving, tmp_path: Path) -> None:
    """A removal was at its end: nothing is renewed before a person has marked the machine in the copy, and nothing brings it back."""
    workspace.workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile").succeeded()
    workspace.moved(API)
    whole(workspace, 3)
    workspace.workspace.manifest(NAME, replicas=1)
    point = r"remove > .*after task .*Remove the machine"
    runs = KilledRuns(workspace.workspace, workspace.command("reconcile"), tmp_path / "goes", "kill", point)
    stop, _run = runs.stopped_at_first()
    assert stop.point
    left = sorted(workspace.workspace.cloud()["machines"])
    certificates_end(workspace.workspace, left)
    workspace.place = EXPORT
    [gone] = [name for name in (each["metadata"]["name"] for each in workspace.objects("Machine")) if name not in left]
    said = workspace.playbook("action", *RENEW).failed().text
    assert f"{gone} can't be reached" in said and "is gone for good" in said
    run_action("machine", cluster=NAME, store={"path": str(workspace.journal)}, name=gone, state="absent")
    workspace.playbook("action", *RENEW).succeeded()
    world = workspace.workspace.world()
    assert world["silent"] == [] and sorted({each[0] for each in world["started"]}) == left
    workspace.playbook("reconcile").succeeded()
    last = whole(workspace, 1)
    workspace.moved(API)
    # The removal that was killed in that store is closed by the next run there.
    workspace.playbook("reconcile").succeeded()
    assert whole(workspace, 1) == last


def test_an_action_is_moved_in_its_middle(operator: Moving, tmp_path: Path) -> None:
    """A run was killed when a program had begun on a node and the store didn't know it yet: it is found there, and not begun once more."""
    workspace = t.cast(OperatorWorkspace, operator.workspace)
    groups = [{"name": "a", "nodeSelector": CONTROL_PLANE, "nodeFilter": "Tail", "commands": commands("one", "two")}]
    workspace.action({"custom": {"workflow": groups}}, name="first")
    command = operator.command("action", "-e", "operator_manifest=first.yml")
    only = r"operator_task: after node node_command"
    runs = KilledRuns(workspace, command, tmp_path / "first", "kill", only)
    stop, _run = runs.stopped_at_first()
    assert "node_command" in stop.point
    begun = workspace.ran()
    assert len(begun) == 1
    operator.moved(API)
    only = r"operator_(action|next|task): after (node node_command|store write (Action|TaskGroup|Task))"
    command = operator.command("action", "-e", "operator_action=first")
    record = KilledRuns(workspace, command, tmp_path / "then", "kill", only).until_converged()
    assert record.failures == [] and len(record.points) >= 5
    nodes = sorted(each["metadata"]["name"] for each in operator.objects("Machine"))
    assert workspace.ran() == [[node, word, "a"] for node in nodes[1:] for word in ("one", "two")]
    [action] = operator.objects("Action")
    assert action["status"]["phase"] == "Succeeded" and len(operator.objects("Task")) == 2
    said = operator.playbook("action", "-e", "operator_action=first").succeeded().text
    assert "never runs again" in said


CONTROL_PLANE = {"matchLabels": {"node-role.kubernetes.io/control-plane": ""}}


def commands(*words: str) -> list[dict[str, t.Any]]:
    """Programs to run."""
    return [{"command": {"argv": [word, "a"]}} for word in words]
