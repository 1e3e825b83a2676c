# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The project for AWX, its jobs run by ansible-runner as AWX runs them: a workflow whose job is cancelled.

The store is a real API server; machines are stand-ins. test_cancelled_jobs.py has jobs in containers, test_sliced_jobs.py a fleet in slices.
"""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from killed_runs import orphans
from management_workspace import ManagementWorkspace
from runner_jobs import Job, RunnerJobs, variables_of
from secrets_search import Secrets

NAME = "prod"
WATCHES = "whether that run still lives"


def life(workspace: ManagementWorkspace, folder: Path, points: t.Sequence[str]) -> list[Job]:
    """A cluster is planned and made, by jobs of which one is cancelled at each of these points; return all jobs."""
    workspace.manifest(NAME, replicas=1)
    environment = {"K8S_AUTH_KUBECONFIG": str(workspace.connection["kubeconfig"])}
    jobs = RunnerJobs(folder / "awx", workspace.folder / "clusters", variables_of(workspace.folder), environment)
    hosts = jobs.inventory()
    planned = jobs.run("plan", hosts).succeeded()
    assert planned.handed_on["control_plane_plan_steps"] == 3
    met, done = [], [planned]
    for point in points:
        done.append(jobs.start("reconcile", hosts, planned.handed_on, point))
        met.append(done[-1].cancel())
        assert done[-1].status == "canceled" and done[-1].handed_on == {}
    assert len(set(met)) == len(points)
    done.append(jobs.run("reconcile", hosts, planned.handed_on).succeeded())
    return done


def whole(workspace: ManagementWorkspace, planned: Job) -> None:
    """The cluster is as it was planned, and nothing is held or left over."""
    world = workspace.world()
    named = set(re.findall(rf"new machine ({NAME}-\w[\w-]*)", planned.output))
    assert {each["name"] for each in world["members"]} == named and len(named) == 1
    assert world["violations"] == [] and orphans(workspace, "AcmeMachine") == [] and not workspace.locked(NAME)


def secrets_in(workspace: ManagementWorkspace, jobs: t.Sequence[Job]) -> list[str]:
    """The names of the store's secrets, and of its credential's, that jobs left anywhere."""
    secrets = Secrets()
    secrets.add_store(workspace)
    secrets.add("kubeconfig", Path(workspace.connection["kubeconfig"]).read_text())
    assert len(secrets.names) > 8
    files = [path for job in jobs for path in job.files]
    assert {"stdout", "command", "envvars", "extravars", "hosts"} <= {path.name for path in files}
    return secrets.found_in(*files)


@pytest.fixture
def workspace(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagementWorkspace:
    """A user's folder with machines that answer; its store is empty."""
    return ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)


def test_a_cancelled_job_is_launched_again(workspace: ManagementWorkspace, tmp_path: Path) -> None:
    """While the first machine is made; then the approved plan is finished, and no job has left a secret."""
    jobs = life(workspace, tmp_path, ["initialize > .*after node node_bootstrap"])
    whole(workspace, jobs[0])
    # The lock of a job that was cancelled is free at once where its process can be seen to be gone.
    assert not any(WATCHES in each.output for each in jobs)
    assert secrets_in(workspace, jobs) == []
    # It resumed the last one of three steps.
    told = jobs[-1].handed_on
    assert told["control_plane_run_clusters"][NAME]["result"] == "changed"
    assert (told["control_plane_run_steps"], told["control_plane_run_changed"]) == (1, 1)


# Of each site that a run without a removal passes (processes/failpoints.py).
POINTS = (
    "before lock take",
    "after lock take",
    "after journal intent createInfrastructure",
    "createCertificates > .*after store write Secret",
    "after journal intent initialize",
    "initialize > .*before node node_bootstrap",
    "initialize > .*after node node_bootstrap",
    "initialize > .*after journal outcome",
    "before lock release",
)


@pytest.mark.full
def test_a_job_is_cancelled_again_and_again(workspace: ManagementWorkspace, tmp_path: Path) -> None:
    """Before and after the lock, an entry of the journal, an object, a call of a machine, and at the end."""
    jobs = life(workspace, tmp_path, POINTS)
    whole(workspace, jobs[0])
    # The lock of a job that was cancelled is free at once where its process can be seen to be gone.
    assert not any(WATCHES in each.output for each in jobs)
    assert secrets_in(workspace, jobs) == []
