# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The project for AWX, its jobs run by ansible-runner as AWX runs them: a workflow whose job is cancelled, and a fleet in slices.

The store is a real API server; machines are stand-ins, or recorded.
"""

from __future__ import annotations

import os
import re
import typing as t
from collections import Counter
from pathlib import Path

import pytest
from api_server import ApiServer
from killed_runs import orphans
from management_workspace import ManagementWorkspace
from recorded_fleet import FleetWorkspace, Recording, name_of
from runner_jobs import Job, RunnerJobs, missing, mounts, sliced, variables_of
from secrets_search import Secrets

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

NAME = "prod"
WATCHES = "whether that run still lives"


def ended_well(job: Job) -> Job:
    """Return a job that ended well, else fail showing its end."""
    assert job.status == "successful", job.output[-6000:]
    return job


def life(
    workspace: ManagementWorkspace, folder: Path, points: t.Sequence[str], mounts: t.Sequence[Path] = ()
) -> list[Job]:
    """A cluster is planned and made, by jobs of which one is cancelled at each of these points; return all jobs."""
    workspace.manifest(NAME, replicas=1)
    environment = {"K8S_AUTH_KUBECONFIG": str(workspace.connection["kubeconfig"])}
    jobs = RunnerJobs(
        folder / "awx", workspace.folder / "clusters", variables_of(workspace.folder), environment, mounts
    )
    hosts = jobs.inventory()
    planned = ended_well(jobs.run("plan", hosts))
    assert planned.handed_on["control_plane_plan_steps"] == 3
    met, done = [], [planned]
    for point in points:
        done.append(jobs.start("reconcile", hosts, planned.handed_on, point))
        met.append(done[-1].cancel())
        assert done[-1].status == "canceled" and done[-1].handed_on == {}
    assert len(set(met)) == len(points)
    done.append(ended_well(jobs.run("reconcile", hosts, planned.handed_on)))
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


@pytest.mark.full
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_jobs_in_containers_are_cancelled_again_and_again(workspace: ManagementWorkspace, tmp_path: Path) -> None:
    """As AWX has it: the job is gone with all that it started, and the next one is in another container."""
    jobs = life(workspace, tmp_path, POINTS, mounts(tmp_path, str(workspace.connection["kubeconfig"])))
    whole(workspace, jobs[0])
    assert secrets_in(workspace, jobs) == []


def in_slices(jobs: RunnerJobs, verb: str, hosts: dict[str, t.Any], slices: int) -> list[Job]:
    """So many jobs at once, each over a slice; they ended well."""
    started = [jobs.start(verb, sliced(hosts, number, slices)) for number in range(slices)]
    for job in started:
        job.process.wait()
    return [ended_well(job) for job in started]


@pytest.mark.full
def test_slices_of_a_fleet(empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 clusters in four jobs at once, where podman is in a container each, every one is reconciled and planned once; each job has the sums of its own."""
    count, slices = 20, 4
    recording = Recording.make(tmp_path / "recorded", os.environ, replicas=1)
    recording.fill_api(empty_server, count)
    fleet = FleetWorkspace(tmp_path / "fleet", recording, empty_server.kubeconfig)
    for name, value in fleet.environment.items():
        monkeypatch.setenv(name, value)
    environment = {"K8S_AUTH_KUBECONFIG": empty_server.kubeconfig}
    mounted = [] if missing() else mounts(tmp_path, empty_server.kubeconfig)
    jobs = RunnerJobs(tmp_path / "awx", None, variables_of(fleet.folder), environment, mounted)
    hosts = jobs.inventory()
    each_has = count // slices
    for job in in_slices(jobs, "reconcile", hosts, slices):
        assert f"SUMMARY of reconcile: {each_has} clusters: {each_has} with nothing to do" in " ".join(
            job.output.split()
        )
    # Some are looked at twice, as in test_fleet.py.
    assert set(fleet.observed()) == {name_of(number) for number in range(count)}
    store = KubernetesStore(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))
    for number in range(count):
        where = (CONTROL_PLANE, "default", f"{name_of(number)}-control-plane")
        store.modify(*where, lambda found: found["spec"].update(replicas=3))
    started = in_slices(jobs, "plan", hosts, slices)
    told = [job.handed_on for job in started]
    planned = Counter(name for each in told for name in each["control_plane_plan_clusters"])
    assert planned == Counter(name_of(number) for number in range(count))
    assert all(set(each["control_plane_plan"]) == set(each["control_plane_plan_clusters"]) for each in told)
    assert {len(each["control_plane_plan"]) for each in told} == {each_has}
    for job, each in zip(started, told):
        assert each["control_plane_plan_steps"] == sum(
            one["steps"] for one in each["control_plane_plan_clusters"].values()
        )
        assert job.output.count("\nPLAN default/") == each_has
    assert sum(each["control_plane_plan_steps"] for each in told) == 2 * count
