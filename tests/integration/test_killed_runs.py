# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are killed, over and over, with a stand-in for a cloud: each reaches its end, with nothing lost and nothing left."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import ROLE, ROOT, AcmeWorkspace
from killed_runs import KilledRuns, Record, locks_held, orphans, trace, under_way
from workspace import Run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.failpoints import SITES, site_of

NAME = "prod"
CONSENT = ("-e", f"control_plane_delete={NAME}")
# What an entry of the journal, a provider's call, a call of a node and the lock leave behind them.
OUTWARD = r"after (journal|lock|node|task)"
# Of each kind of them one in the life of a cluster: `make test` has to end within the hour.
EACH_KIND = "|".join(
    [
        "after lock take",
        "after journal intent initialize",
        "after task machine_acme: (Make|Remove) the machine",
        "machine_bootstrap: after node node_bootstrap",
        "createCertificates > decide: after journal outcome",
        "cluster: after journal outcome",
    ]
)
# Of the steps that make the first machine: its object's writes, and what the cloud was asked for.
WHILE_IT_IS_MADE = r"(createCertificates|initialize) > (.*: )?(before store write Machine|after task)"
TASKS = ROOT / "roles" / "control_plane" / "tasks"


@pytest.fixture
def workspace(tmp_path: Path) -> AcmeWorkspace:
    """One cluster of one machine, in its manifest alone."""
    made = AcmeWorkspace(tmp_path / "workspace")
    made.manifest(NAME, replicas=1)
    return made


def nobody_answers(run: Run) -> bool:
    """As far as a run can come here: the machine was made, and kubeadm can't be started on it."""
    return run.returncode == 2 and "was not reached" in run.text and "Under way: initialize" in run.text


def made_once(workspace: AcmeWorkspace) -> None:
    """One machine, whole, behind one endpoint; nothing held, nothing under way."""
    [name] = [each["metadata"]["name"] for each in workspace.objects("Machine")]
    assert orphans(workspace, "AcmeMachine") == []
    cloud = workspace.cloud()
    assert list(cloud["machines"]) == [name] and list(cloud["balancers"]) == [f"default/{NAME}"]
    assert [each["name"] for each in cloud["balancers"][f"default/{NAME}"]["servers"]] == [name]
    secrets = sorted(each["metadata"]["name"] for each in workspace.objects("Secret"))
    assert secrets == [f"{NAME}-{each}" for each in ("ca", "etcd", "kubeconfig", "proxy", "sa", "ssh")]
    assert locks_held(workspace.store) == [] and under_way(workspace.store, NAME) == []


def nothing_left(workspace: AcmeWorkspace) -> None:
    """No object, no machine, no balancer, no lock, and no step left open."""
    left = [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"]
    assert left == [] and locks_held(workspace.store) == [] and under_way(workspace.store, NAME) == []
    assert workspace.cloud()["machines"] == {} and workspace.cloud()["balancers"] == {}


def no_temporary_files(workspace: AcmeWorkspace) -> None:
    """What a killed write left is gone with the next write beside it."""
    leftovers = [path for path in workspace.store.rglob(".tmp-*") if path.parent.name != "secret"]
    assert leftovers == []


def create_and_delete(workspace: AcmeWorkspace, folder: Path, how: str, only: str) -> tuple[Record, Record]:
    """Both playbooks, each run stopped at its next point."""
    runs = KilledRuns(workspace, workspace.command("reconcile"), folder / "create", how, only)
    created = runs.until_converged(nobody_answers)
    made_once(workspace)
    no_temporary_files(workspace)
    runs = KilledRuns(workspace, workspace.command("delete", *CONSENT), folder / "delete", how, only)
    deleted = runs.until_converged()
    assert deleted.failures == [], "a rerun failed instead of going on"
    nothing_left(workspace)
    return created, deleted


@pytest.mark.parametrize(
    ("only", "least"),
    [pytest.param(EACH_KIND, 3, id="each kind"), pytest.param(OUTWARD, 8, marks=pytest.mark.full, id="every one")],
)
def test_runs_that_are_killed_at_outward_points_converge(
    workspace: AcmeWorkspace, tmp_path: Path, only: str, least: int
) -> None:
    """Each rerun is killed at its next point; in the end there is exactly what an undisturbed run leaves."""
    records = create_and_delete(workspace, tmp_path, "kill", only)
    for record in records:
        assert len(record.points) >= least and len(set(record.points)) == len(record.points)
        assert record.missed(only) == []
        assert all(each.returncode == -9 for each in record.stops[:-1])
    sites = {site_of(point)[1] for record in records for point in record.points}
    assert sites >= {"journal intent", "journal outcome", "lock take", "node", "task"}


@pytest.mark.full
@pytest.mark.parametrize("how", ["kill", "kill-main", "terminate"])
def test_runs_that_are_stopped_at_every_point_converge(workspace: AcmeWorkspace, tmp_path: Path, how: str) -> None:
    """Every point of every action; with the whole run killed, its main process alone, or asked to end."""
    for record in create_and_delete(workspace, tmp_path, how, ""):
        assert len(record.points) >= 30 and record.missed("") == []


@pytest.mark.parametrize(
    ("how", "only", "least"),
    [
        pytest.param("kill-main", r"initialize > (machine: before store|.*Make the machine)", 2, id="kill-main"),
        pytest.param("kill-main", WHILE_IT_IS_MADE, 3, marks=pytest.mark.full, id="kill-main, every one"),
        pytest.param("terminate", WHILE_IT_IS_MADE, 3, marks=pytest.mark.full, id="terminate, every one"),
    ],
)
def test_what_is_left_of_a_run_does_no_harm(
    workspace: AcmeWorkspace, tmp_path: Path, how: str, only: str, least: int
) -> None:
    """Workers that outlive their main process for a while, and a run that is asked to end: the next run converges all the same."""
    runs = KilledRuns(workspace, workspace.command("reconcile"), tmp_path / "runs", how, only)
    record = runs.until_converged(nobody_answers)
    assert len(record.points) >= least
    made_once(workspace)


def test_an_undisturbed_run_meets_every_point(workspace: AcmeWorkspace, tmp_path: Path) -> None:
    """Each site before and after, and each action of the steps that are carried out; the same points every time."""
    create = KilledRuns(workspace, workspace.command("reconcile"), tmp_path / "create")
    points, _seconds, run = create.undisturbed()
    assert nobody_answers(run)
    delete = KilledRuns(workspace, workspace.command("delete", *CONSENT), tmp_path / "delete")
    more, _seconds, run = delete.undisturbed()
    run.succeeded()
    met = {site_of(each) for each in [*points, *more]}
    # A task's point is the callback's, which is called in the main process: before it is after the one before. Locks are marked by
    # moves alone, which are killed there by tests of their own (store/test_move.py).
    others = {("before", "task"), ("before", "lock mark"), ("after", "lock mark")}
    assert met == {(when, site) for when in ("before", "after") for site in SITES} - others
    steps = ("createInfrastructure", "createCertificates", "initialize", "deleteMachines", "deleteInfrastructure")
    for step in steps:
        assert f"decide: before journal intent {step}" in [*points, *more]
    passed = {each.partition(" > ")[2] or each for each in [*points, *more]}
    acts = [f"act/{each}.yml" for each in ("createInfrastructure", "createCertificates", "deleteMachines")]
    for action in actions_of(*acts, "parts/machine_creation.yml", "parts/machine_deletion.yml"):
        # Snapshots are for the second voter.
        if action != "cluster_snapshot":
            assert {f"{action}: before action", f"{action}: after action"} <= passed, action
    for task in provider_tasks():
        assert any(each.startswith(f"after task machine_acme: {task}") for each in passed), task


def actions_of(*names: str) -> set[str]:
    """The collection's actions in task files of the role, also inside blocks."""
    found: set[str] = set()
    todo = [task for name in names for task in yaml.safe_load((TASKS / name).read_text())]
    while todo:
        task = todo.pop()
        todo += task.get("block", [])
        found.update(key.rpartition(".")[2] for key in task if key.startswith("kubeadm.control_plane."))
    return found


def provider_tasks() -> list[str]:
    """The provider's tasks that call something of its own."""
    tasks = [task for path in sorted(ROLE.glob("tasks/*.yml")) for task in yaml.safe_load(path.read_text())]
    return [str(task["name"]) for task in tasks if "ansible.builtin.command" in task]


def test_off_nothing_is_traced(workspace: AcmeWorkspace, tmp_path: Path) -> None:
    """Without the setting a playbook passes no point, with the callback's folder or without."""
    workspace.playbook("plan").succeeded()
    assert trace(tmp_path / "trace") == []
    assert not [path for path in tmp_path.rglob("*") if "trace" in path.name]


@pytest.mark.full
def test_the_record_can_be_read(workspace: AcmeWorkspace, tmp_path: Path) -> None:
    """One run at a point of its own: what it says is what happened."""
    runs = KilledRuns(workspace, workspace.command("reconcile"), tmp_path / "runs")
    try:
        stop, _run = runs.stopped_at("decide: after journal intent createInfrastructure")
    finally:
        runs.end()
    assert stop.returncode == -9 and locks_held(workspace.store) == [f"default/{NAME}"]
    assert under_way(workspace.store, NAME) == ["createInfrastructure"]
    entries: list[dict[str, t.Any]] = [json.loads(line) for line in (tmp_path / "runs" / "record.jsonl").open()]
    assert [(each["point"], each["how"], each["passed"] > 10) for each in entries] == [(stop.point, "kill", True)]
    run = workspace.playbook("reconcile")
    assert nobody_answers(run), run.output[-3000:]
    made_once(workspace)
