# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet of 20 clusters in four slices, each a job of the project for AWX, where podman is in a container of its own.

The store is a real API server. Clusters are made with stand-ins for machines, or recorded with the answers of such.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import typing as t
from collections import Counter
from pathlib import Path

import pytest
import stand_in_machine
import yaml
from acme_workspace import CLOUD, MACHINE
from api_server import ApiServer
from management_workspace import LEASES, ManagementWorkspace
from recorded_fleet import FleetWorkspace, Recording, name_of
from runner_jobs import Job, RunnerJobs, missing, mounts, sliced, variables_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

pytestmark = pytest.mark.full
COUNT, SLICES = 20, 4
EACH = COUNT // SLICES
REFUSED = "kubeadm refuses {{ lookup('pipe', 'id') }}"
# The steps in which a cluster of one machine is made.
STEPS = 3
# Addresses that each cluster's cloud gives: a stand-in knows the machine by it.
ADDRESSES = 10
SSH = """#!/bin/sh
for word; do
  case $word in 198.51.100.*) number=$(((${{word##*.}} - 1) / {addresses})) ;; esac
done
exec {program} {machine} "$(printf {clouds} "$number")" "$@"
"""
Object = dict[str, t.Any]


def in_slices(jobs: RunnerJobs, verb: str, hosts: Object) -> list[Job]:
    """Jobs at once, each over a slice, at their end."""
    started = [jobs.start(verb, sliced(hosts, number, SLICES)) for number in range(SLICES)]
    for job in started:
        job.process.wait()
    return started


def summary_of(job: Job) -> str:
    """The first line of what a job says of its clusters."""
    return next(line for line in job.output.splitlines() if "SUMMARY of " in line).strip()


class Fleet:
    """Clusters of one machine, each in a small world of its own.

    Args:
        server: the store.
        folder: made here.
    """

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.workspace = ManagementWorkspace(folder / "workspace", server.kubeconfig)
        self._clouds = folder / "clouds"
        for number in range(COUNT):
            self.workspace.manifest(self.name(number), replicas=1)
            (cloud := self._clouds / self.name(number)).mkdir(parents=True)
            made: Object = {"machines": {}, "balancers": {}, "made": number * ADDRESSES}
            (cloud / "cloud.json").write_text(json.dumps(made))
        ssh = folder / "ssh"
        clouds = shlex.quote(f"{self._clouds}/fleet-%02d")
        ssh.write_text(SSH.format(addresses=ADDRESSES, program=sys.executable, machine=MACHINE, clouds=clouds))
        ssh.chmod(0o755)
        variables = {
            **variables_of(self.workspace.folder),
            "machine_acme_command": [sys.executable, str(CLOUD), f"{self._clouds}/{{{{ control_plane_cluster }}}}"],
            # Every machine answers, as slow as it may be beside the others.
            "control_plane_bootstrap_timeout": 60,
        }
        environment = {"K8S_AUTH_KUBECONFIG": server.kubeconfig, "ANSIBLE_SSH_EXECUTABLE": str(ssh)}
        mounted = [] if missing() else mounts(folder, server.kubeconfig)
        self._folder, self._jobs = folder, (variables, environment, mounted)

    @staticmethod
    def name(number: int) -> str:
        """A cluster's name."""
        return f"fleet-{number:02}"

    def pause(self, number: int) -> None:
        """Pause a cluster in its manifest."""
        path = self.workspace.folder / "clusters" / f"{self.name(number)}.yaml"
        documents = list(yaml.safe_load_all(path.read_text()))
        next(each for each in documents if each["kind"] == "Cluster")["spec"]["paused"] = True
        path.write_text(yaml.safe_dump_all(documents))

    def refuse(self, number: int, why: str) -> None:
        """Have no machine of a cluster start kubeadm; "" ends that."""
        world = self._clouds / self.name(number) / "world.json"
        state = json.loads(world.read_text()) if world.exists() else stand_in_machine.new_state()
        world.write_text(json.dumps({**state, "refuses": why}))

    def jobs(self) -> RunnerJobs:
        """The project's jobs, with the manifests of now."""
        return RunnerJobs(self._folder / "awx", self.workspace.folder / "clusters", *self._jobs)

    def is_made(self, number: int) -> bool:
        """Whether a cluster has its one machine, a member of its etcd; nothing must have happened that must not."""
        cloud = self._clouds / self.name(number)
        machines = sorted(json.loads((cloud / "cloud.json").read_text())["machines"])
        if not (cloud / "world.json").exists():
            assert machines == []
            return False
        world = json.loads((cloud / "world.json").read_text())
        members = [each["name"] for each in world["members"]]
        assert world["violations"] == [] and len(machines) <= 1 and members in ([], machines)
        return len(members) == 1 and members[0].startswith(f"{self.name(number)}-")

    def holdings(self) -> list[int]:
        """How many runs have held each cluster's lock, where one has."""
        leases = self.workspace.api.send("list", LEASES).document["items"]
        return [each["spec"]["leaseTransitions"] for each in leases]


def outcomes(started: t.Sequence[Job], hosts: Object) -> dict[str, Object]:
    """What the jobs hand on of each cluster: each one is in the job whose slice has it and in no other, and the sums are those of the clusters."""
    found: dict[str, Object] = {}
    for number, job in enumerate(started):
        told = job.handed_on
        clusters = told["control_plane_run_clusters"]
        assert sorted(clusters) == sorted(sliced(hosts, number, SLICES)["_meta"]["hostvars"])
        assert told["control_plane_run_steps"] == sum(each["steps"] for each in clusters.values())
        results = Counter(each["result"] for each in clusters.values())
        for result in ("changed", "would_change", "nothing", "waits", "held", "failed", "not_reached"):
            assert told[f"control_plane_run_{result}"] == results[result]
        found.update(clusters)
    return found


def test_slices_with_something_to_do(empty_server: ApiServer, tmp_path: Path) -> None:
    """All clusters are made, each by the one job that has it; one that fails and one that is paused are told apart, and done by the next jobs."""
    fleet = Fleet(empty_server, tmp_path)
    fails, paused = 1, 2
    fleet.refuse(fails, REFUSED)
    fleet.pause(paused)
    jobs = fleet.jobs()
    hosts = jobs.inventory()
    names = [fleet.name(number) for number in range(COUNT)]
    assert sorted(hosts["_meta"]["hostvars"]) == names

    started = in_slices(jobs, "reconcile", hosts)
    assert [job.status for job in started] == ["successful", "failed", "successful", "successful"], started[0].output
    told = outcomes(started, hosts)
    failed, waits = told.pop(names[fails]), told.pop(names[paused])
    assert {(each["result"], each["steps"]) for each in told.values()} == {("changed", STEPS)} and len(told) == 18
    assert (failed["result"], failed["steps"]) == ("failed", STEPS)
    assert "kubeadm refuses" in failed["message"] and "{{" not in failed["message"]
    assert (waits["result"], waits["steps"]) == ("waits", 0) and "paused" in waits["message"]
    assert [fleet.is_made(number) for number in range(COUNT)] == [
        number not in (fails, paused) for number in range(COUNT)
    ]
    assert fleet.holdings() == [1] * COUNT
    assert [summary_of(job) for job in started] == [
        f"SUMMARY of reconcile: {EACH} clusters: {said}"
        for said in ("5 changed", "1 failed, 4 changed", "1 waiting, 4 changed", "5 changed")
    ]

    fleet.refuse(fails, "")
    started = in_slices(jobs, "reconcile", hosts)
    assert {job.status for job in started} == {"successful"}, "\n".join(job.output[-2000:] for job in started)
    told = outcomes(started, hosts)
    assert (told.pop(names[fails])["result"], told.pop(names[paused])["result"]) == ("changed", "waits")
    assert {(each["result"], each["steps"]) for each in told.values()} == {("nothing", 0)} and len(told) == 18
    assert [number for number in range(COUNT) if not fleet.is_made(number)] == [paused]


def test_slices_of_a_fleet(empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cluster is observed and planned once; each job has the sums of its own."""
    recording = Recording.make(tmp_path / "recorded", os.environ, replicas=1)
    recording.fill_api(empty_server, COUNT)
    fleet = FleetWorkspace(tmp_path / "fleet", recording, empty_server.kubeconfig)
    for name, value in fleet.environment.items():
        monkeypatch.setenv(name, value)
    environment = {"K8S_AUTH_KUBECONFIG": empty_server.kubeconfig}
    mounted = [] if missing() else mounts(tmp_path, empty_server.kubeconfig)
    jobs = RunnerJobs(tmp_path / "awx", None, variables_of(fleet.folder), environment, mounted)
    hosts = jobs.inventory()
    started = [job.succeeded() for job in in_slices(jobs, "reconcile", hosts)]
    assert {summary_of(job) for job in started} == {f"SUMMARY of reconcile: {EACH} clusters: {EACH} with nothing to do"}
    assert {each["result"] for each in outcomes(started, hosts).values()} == {"nothing"}
    # Some are looked at twice, as in test_fleet.py.
    assert set(fleet.observed()) == {name_of(number) for number in range(COUNT)}
    store = KubernetesStore(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))
    for number in range(COUNT):
        where = (CONTROL_PLANE, "default", f"{name_of(number)}-control-plane")
        store.modify(*where, lambda found: found["spec"].update(replicas=3))
    started = [job.succeeded() for job in in_slices(jobs, "plan", hosts)]
    told = [job.handed_on for job in started]
    planned = Counter(name for each in told for name in each["control_plane_plan_clusters"])
    assert planned == Counter(name_of(number) for number in range(COUNT))
    assert all(set(each["control_plane_plan"]) == set(each["control_plane_plan_clusters"]) for each in told)
    assert {len(each["control_plane_plan"]) for each in told} == {EACH}
    for job, each in zip(started, told):
        assert each["control_plane_plan_steps"] == sum(
            one["steps"] for one in each["control_plane_plan_clusters"].values()
        )
        assert job.output.count("\nPLAN default/") == EACH
    assert sum(each["control_plane_plan_steps"] for each in told) == 2 * COUNT
