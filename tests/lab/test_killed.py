# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real control planes whose runs are killed, each rerun at its next point, while a watcher asks etcd and the API all along."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import recovery
from aftermath import problems
from availability import faults
from etcd_cluster import until
from killed_runs import OUTWARD, KilledRuns, Record
from lab_kubernetes import NEXT, upgrades
from machines import Machines
from stopped_runs import LOST, StoppedRuns, take_over_files
from watcher import Watch
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.failpoints import SITES, site_of

NAME = "lab-killed"
DOMAINS = ("a", "b", "c")
# Growing with every run killed is in test_scale.py.
pytestmark = [pytest.mark.full, upgrades]
# Calls of machines that every rollout to another version needs.
CALLS = {
    "bootstrap_token",
    "etcd_member",
    "etcd_snapshot",
    "node_bootstrap",
    "node_drain",
    "node_observe",
    "workload_node",
    "workload_objects",
}
# What a run meets where something took longer than it was waited for before: no two runs need to meet the same.
BY_CHANCE = r"journal note|node bootstrap_token absent"
CHANGING = r"before node (bootstrap_token|node_bootstrap|etcd_member|node_drain|workload_node)\b"
ACTIONS = ("machine", "machine_bootstrap", "machine_removal", "api_endpoints", "infrastructure_status", "kube_proxy")


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The machines of a control plane of three, made by a run that nobody stops."""
    wants(workspace)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    return Machines(workspace, NAME)


@pytest.fixture(scope="module")
def watch(workspace: Workspace, machines: Machines) -> t.Iterator[Watch]:
    """Asks etcd and the endpoint from then on."""
    del machines
    with Watch(workspace.store, NAME, workspace.folder) as started:
        yield started


def wants(workspace: Workspace, **options: t.Any) -> None:
    """Write the manifest."""
    workspace.manifest(NAME, failure_domains=DOMAINS, **{"replicas": 3, **options})


def killed(workspace: Workspace, what: str, how: str = "kill", only: str = "") -> Record:
    """Reconcile until a run comes through, every one before it stopped at its next point."""
    command = workspace.command("reconcile", "--limit", NAME)
    return KilledRuns(workspace, command, workspace.folder / "runs" / what, how, only).until_converged()


def nothing_lost(workspace: Workspace, machines: Machines, count: int) -> None:
    """As many machines as wanted, all whole, and nothing else; a second run changes nothing."""
    assert problems(workspace, machines, NAME, count) == []
    assert workspace.playbook("reconcile", "--limit", NAME).succeeded().recap(NAME)["changed"] == 0


@pytest.mark.usefixtures("watch")
def test_a_rollout_with_every_run_killed_at_its_next_point(
    workspace: Workspace, machines: Machines, record_property: t.Callable[[str, object], None]
) -> None:
    """Three machines are replaced undisturbed, then by others of another version with a kill at each point: each is met, each costs seconds."""
    before = machines.names()
    wants(workspace, kubeadm={"preKubeadmCommands": ["true"]})
    command = workspace.command("reconcile", "--limit", NAME)
    points, seconds, run = KilledRuns(workspace, command, workspace.folder / "undisturbed").undisturbed()
    run.succeeded()
    nothing_lost(workspace, machines, 3)

    wants(workspace, version=NEXT)
    record = killed(workspace, "rollout")
    assert record.missed("") == []
    met_every_kind(record.met)
    assert record.failures == [], "a rerun failed instead of going on"
    nothing_lost(workspace, machines, 3)
    assert not set(machines.names()) & set(before)

    # A rerun skips what was done already, and with it the points that only a step without a kill passes: they have their turn in
    # another rollout, in which runs are killed at nothing else.
    skipped = sorted({base(point) for point in points} - {base(point) for point in record.points})
    if skipped:
        only = f"^({'|'.join(map(re.escape, skipped))})$"
        wants(workspace, version=NEXT, kubeadm={"preKubeadmCommands": ["true", "true"]})
        rest = killed(workspace, "skipped", only=only)
        assert {each for each in skipped if not re.search(BY_CHANCE, each)} <= {*rest.points} <= {*skipped}
        assert rest.missed(only) == [] and rest.failures == []
        nothing_lost(workspace, machines, 3)
    usual = recovery.offsets(recovery.parse((workspace.folder / "undisturbed" / "trace-1").read_text()))
    costs = record.costs(usual)
    mean = sum(each for each, _where in costs) / len(costs)
    record_property("kills", len(record.points))
    record_property("seconds_undisturbed", round(seconds, 1))
    record_property("seconds_killed", round(record.seconds, 1))
    record_property("seconds_a_kill", round(mean, 2))
    record_property("dearest_kill", f"{costs[0][0]} s at {costs[0][1]}")


def base(point: str) -> str:
    """Its name without the how-manieth time of it this is: the main process of a rerun counts anew, the tasks of later steps too."""
    return re.sub(r" \(\d\+?\)$", "", point)


def met_every_kind(points: t.Sequence[str]) -> None:
    """Each site, before and after, and in the steps of a rollout each action that its task files name."""
    # A task's point is the callback's, which is called in the main process: before it is after the one before. Moves alone mark a lock.
    others = {("before", "task"), ("before", "lock mark"), ("after", "lock mark")}
    expected = {(when, site) for when in ("before", "after") for site in SITES} - others
    assert {site_of(each) for each in points} == expected
    calls = {found.group(1) for each in points if (found := re.search(r"after node (\w+)", each))}
    assert calls >= CALLS, CALLS - calls
    for step in ("join", "remove", "updateAddons"):
        assert f"decide: before journal intent {step}" in points, step
    for action in ACTIONS:
        assert any(f" > {action}: before action" in each for each in points), action


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("how", ["kill-main", "terminate"])
def test_a_rollout_whose_runs_are_not_killed_whole(workspace: Workspace, machines: Machines, how: str) -> None:
    """The main process alone dies, and its worker goes on beside the next run; or the run is asked to end."""
    before = machines.names()
    wants(workspace, version=NEXT, kubeadm={"preKubeadmCommands": ["true", f"echo {how}"]})
    record = killed(workspace, how, how, OUTWARD)
    assert record.missed(OUTWARD) == []
    nothing_lost(workspace, machines, 3)
    assert not set(machines.names()) & set(before)


@pytest.mark.usefixtures("watch")
def test_a_rollout_whose_runs_are_suspended_taken_over_and_wake(workspace: Workspace, machines: Machines) -> None:
    """Before each call that changes a machine or the cluster: the next run has the lock, and whoever wakes changes nothing any more."""
    before = machines.names()
    wants(workspace, version=NEXT, kubeadm={"preKubeadmCommands": ["true", "echo woken"]})
    folder = workspace.folder / "runs" / "suspended"
    runs = StoppedRuns(workspace, workspace.command("reconcile", "--limit", NAME), folder, CHANGING)

    def look() -> object:
        for each in workspace.objects("Machine"):
            if each["metadata"].get("deletionTimestamp"):
                machines.lose(each["metadata"]["name"])
        # A join goes on by itself, whoever began it.
        until("no join is under way", lambda: not any(machines.kubeadm_runs(each, "join") for each in machines.names()))
        members = machines.etcd_members()
        nodes = json.loads(machines.kubectl("get", "nodes", "-o", "json"))["items"]
        seen = [(each["metadata"]["name"], each["spec"].get("unschedulable")) for each in nodes]
        kept = {each.get("name") for each in members} & {each["metadata"]["name"] for each in nodes}
        started = {name: machines.kubeadm_started(name) for name in kept & set(machines.names()) - machines.lost}
        return {path: path.read_bytes() for path in workspace.store.rglob("*.yaml")}, members, seen, started

    *woken, (_nowhere, last) = runs.until_taken_over(
        lambda: take_over_files(workspace.store, NAME), look, asleep_at_once=3
    )
    last.succeeded()
    met = {found.group(1) for point, _run in woken if (found := re.search(r"before node (\w+)", point))}
    assert met == {"bootstrap_token", "node_bootstrap", "etcd_member", "node_drain", "workload_node"}
    for point, run in woken:
        assert run.returncode != 0 and LOST.format(cluster=NAME) in run.text, f"{point}:\n{run.output[-3000:]}"
    nothing_lost(workspace, machines, 3)
    assert not set(machines.names()) & set(before)


def test_nothing_confirmed_was_lost(
    watch: Watch, artefacts: Path, record_property: t.Callable[[str, object], None]
) -> None:
    """By the watcher's log, through every kill; how long anything didn't answer is a figure."""
    seen = watch.stop()
    (artefacts / "killed.json").write_text(json.dumps(seen, indent=2))
    for what in ("quorum", "endpoint"):
        record_property(what, json.dumps({key: seen[what][key] for key in ("longest_gap_seconds", "asked", "failed")}))
    assert faults(seen) == []
