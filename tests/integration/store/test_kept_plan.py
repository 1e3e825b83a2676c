# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan that one job makes and others carry out: the store is a real API server, the statistics are handed on as AWX does, machines are stand-ins."""

from __future__ import annotations

import functools
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from killed_runs import KilledRuns, orphans, under_way
from management_workspace import ManagementWorkspace
from workspace import Run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.resource_sets.stored_resource_sets import (
    CONFIG_MAP,
)

NAME = "prod"


def mark(machine: dict[str, t.Any], value: t.Optional[str]) -> None:
    """Say whether this machine is to be the first that goes."""
    annotations = machine["metadata"].setdefault("annotations", {})
    annotations.pop("cluster.x-k8s.io/delete-machine", None)
    if value is not None:
        annotations["cluster.x-k8s.io/delete-machine"] = value


def names_in(planned: Run) -> list[str]:
    """The names of new machines that a plan has fixed."""
    return sorted(set(re.findall(rf"new machine ({NAME}-\S+)", planned.text)))


@pytest.fixture
def workspace(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagementWorkspace:
    """A user's folder, in which statistics are printed; its store is empty."""
    monkeypatch.setenv("ANSIBLE_SHOW_CUSTOM_STATS", "true")
    return ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)


def statistics(run: Run) -> dict[str, t.Any]:
    """What a run hands on to the next job."""
    return dict(json.loads(re.findall(r"RUN: (\{.*\})", run.output)[-1]))


def handed_on(workspace: ManagementWorkspace, run: Run) -> tuple[str, str]:
    """The next job's extra variables: all statistics, as AWX gives them."""
    (workspace.folder / "artifacts.yml").write_text(yaml.safe_dump(statistics(run)))
    return "-e", "@artifacts.yml"


def well(workspace: ManagementWorkspace, names: t.Sequence[str]) -> None:
    """The cluster has these machines, whole; nothing is held, nothing has happened that must not."""
    world, cloud = workspace.world(), workspace.cloud()
    assert world["violations"] == [] and orphans(workspace, "AcmeMachine") == []
    assert sorted(cloud["machines"]) == sorted(each["name"] for each in world["members"]) == sorted(names)
    assert not workspace.locked(NAME) and under_way(workspace.store, NAME) == []


def stopped(workspace: ManagementWorkspace, arguments: t.Sequence[str], folder: Path, only: str) -> None:
    """A job that is cancelled at the first such point."""
    runs = KilledRuns(workspace, workspace.command("reconcile", *arguments), folder, only=only)
    stop, _run = runs.stopped_at_first()
    assert stop.point


def test_what_was_approved_is_done_by_other_jobs(workspace: ManagementWorkspace, tmp_path: Path) -> None:
    """Of two clusters; killed while the first machine is made, and begun again."""
    workspace.manifest(NAME, replicas=1)
    workspace.manifest("stage", replicas=1)
    planned = workspace.playbook("plan", "-e", "control_plane_keep_plan=true").succeeded()
    told = statistics(planned)
    assert (told["control_plane_plan_steps"], told["control_plane_plan_risks"]) == (3 + 3, 0)
    assert told["control_plane_plan"] == {
        name: each["digest"] for name, each in told["control_plane_plan_clusters"].items()
    }
    assert sorted(told["control_plane_plan"]) == [NAME, "stage"] and not workspace.objects("Cluster")
    given = [*handed_on(workspace, planned), "--limit", NAME]
    stopped(workspace, given, tmp_path / "killed", r"initialize > .*after node node_bootstrap")
    check = workspace.playbook("reconcile", *given, "--check").succeeded()
    assert "would be accepted, and carried out from step 3 of 3 on" in check.text
    workspace.playbook("reconcile", *given).succeeded()
    well(workspace, names_in(planned))


@pytest.mark.full
def test_a_step_that_nobody_approved_is_not_taken(workspace: ManagementWorkspace, tmp_path: Path) -> None:
    """In the middle of a rollout somebody wants another machine to go first; without that the run comes to the plan's end."""
    workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile").succeeded()
    workspace.manifest(NAME, replicas=3, kubeadm={"preKubeadmCommands": ["true"]})
    planned = workspace.playbook("plan", "-e", "control_plane_keep_plan=true").succeeded()
    given = handed_on(workspace, planned)
    stopped(workspace, given, tmp_path / "killed", "after journal intent remove")
    before = workspace.cloud()["machines"]
    later = re.findall(r"remove machine (\S+)", planned.text)[-1]
    assert len(before) == 4 and later in before
    workspace.objects_store.modify(MACHINE, "default", later, functools.partial(mark, value=""))
    left = workspace.playbook("reconcile", *given).failed()
    assert "expects, so nothing more was done" in left.text and f"machines.{later}.marks" in left.text
    assert workspace.cloud()["machines"] == before and not workspace.locked(NAME)
    workspace.objects_store.modify(MACHINE, "default", later, functools.partial(mark, value=None))
    workspace.playbook("reconcile", *given).succeeded()
    well(workspace, names_in(planned))
    done = workspace.playbook("reconcile", *given).succeeded()
    assert done.recap(NAME)["changed"] == 0
    workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert workspace.objects_store.list(CONFIG_MAP, "default", {"cluster.x-k8s.io/cluster-name": NAME}) == []
