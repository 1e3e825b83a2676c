# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs in podman's containers are cancelled wherever a run leaves something behind; each next one, in another container, goes on.

Several clusters have their jobs at once, each at a share of the points: most of the time a job waits for the lock of the one before it.
"""

from __future__ import annotations

import re
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_server import ApiServer
from killed_runs import orphans
from management_workspace import ManagementWorkspace
from runner_jobs import Job, RunnerJobs, missing, mounts, variables_of
from secrets_search import Secrets

# A machine was asked for something, an entry written, an object changed, the lock taken or released. Before each one all is as after the one before.
LEFT_BEHIND = r"(: |> |^)after (journal|lock|node|store|task machine)|before lock take"
LIVES = 6


class Life:
    """A cluster of one machine, and the jobs that it is made by.

    Args:
        server: the store.
        folder: for all lives.
        number: this one's.
    """

    def __init__(self, server: ApiServer, folder: Path, number: int) -> None:
        self.name = f"life-{number}"
        self.workspace = ManagementWorkspace(folder / self.name, server.kubeconfig)
        self.workspace.manifest(self.name, replicas=1)
        environment = {"K8S_AUTH_KUBECONFIG": server.kubeconfig, **self.workspace.machines_answer()}
        # Every machine answers, as slow as it may be beside the others.
        variables = {**variables_of(self.workspace.folder), "control_plane_bootstrap_timeout": 60}
        self._jobs = RunnerJobs(
            folder / f"awx-{number}",
            self.workspace.folder / "clusters",
            variables,
            environment,
            mounts(folder, server.kubeconfig),
            # The store has the others, too.
            limit=self.name,
        )
        self._hosts = self._jobs.inventory()
        self.done: list[Job] = []

    def planned(self) -> dict[str, t.Any]:
        """Plan it; return the variables of the job that carries out that plan."""
        self.done.append(planned := self._jobs.run("plan", self._hosts).succeeded())
        return planned.handed_on

    def cancelled(self, only: str) -> list[str]:
        """Reconcile again and again, cancelled at each such point that a job comes to; return these. The last one ends well."""
        given, met = self.planned(), list[str]()
        while True:
            self.done.append(job := self._jobs.start("reconcile", self._hosts, given, only, met))
            point = job.cancel()
            if not point:
                job.succeeded()
                return met
            assert job.status == "canceled"
            met.append(point)

    def ended(self) -> None:
        """It is as it was planned, with nothing held, doubled or forgotten."""
        world = self.workspace.world()
        assert world["violations"] == [] and not self.workspace.locked(self.name)
        named = set(re.findall(rf"new machine ({self.name}-\w[\w-]*)", self.done[0].output))
        machines = set(self.workspace.cloud()["machines"])
        assert {each["name"] for each in world["members"]} == named == machines and len(named) == 1


@pytest.mark.full
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_job_is_cancelled_wherever_it_leaves_something_behind(empty_server: ApiServer, tmp_path: Path) -> None:
    """Every such point of a job that nobody disturbs is met by one that is cancelled there, and no job has left a secret."""
    first = Life(empty_server, tmp_path, 0)
    assert first.cancelled("never") == []
    left = list(dict.fromkeys(each for each in first.done[-1].points if re.search(LEFT_BEHIND, each)))
    assert len(left) >= 45
    lives = [first]
    while left:
        count = min(LIVES, len(left))
        begun = [Life(empty_server, tmp_path, len(lives) + each) for each in range(count)]
        only = ["|".join(rf"\A{re.escape(each)}\Z" for each in left[at::count]) for at in range(count)]
        with ThreadPoolExecutor(count) as pool:
            met = {each for found in pool.map(Life.cancelled, begun, only) for each in found}
        lives += begun
        # A job that resumes a step passes fewer points than one that begins it: what is not met so has a life of its own.
        assert met, "no job came to any of them"
        left = [each for each in left if each not in met]
    for life in lives:
        life.ended()
    assert orphans(first.workspace, "AcmeMachine") == []
    secrets = Secrets()
    secrets.add("kubeconfig", Path(empty_server.kubeconfig).read_text())
    secrets.add_store(first.workspace)
    assert len(secrets.names) > 8
    files = [path for life in lives for job in life.done for path in job.files]
    assert {"stdout", "command", "envvars", "extravars", "hosts"} <= {path.name for path in files}
    assert secrets.found_in(*files) == []
