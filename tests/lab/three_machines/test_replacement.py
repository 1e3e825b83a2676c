# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three machines replaced by three of another version with runs killed in joins and removals; then all but one go.

An independent watcher reads etcd and the API all along.
"""

from __future__ import annotations

import itertools
import json
import typing as t
from pathlib import Path

import pytest
from aftermath import overlaps, problems
from agreement import Agreement
from availability import faults, steps_of
from etcd_cluster import until
from killed_runs import KilledRuns, Stop
from lab_kubernetes import NEXT, VERSION, upgrades
from machines import Machines
from watcher import Watch
from workspace import Workspace

from .conftest import DOMAINS, NAME, wants

DELETE = "cluster.x-k8s.io/delete-machine"
HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"
# The first time that each has changed a machine or the cluster. Every point there is: test_killed.py and test_scale.py.
CHANGED = r"after node (bootstrap_token|node_bootstrap|etcd_member absent|node_drain|workload_node absent)$"
POINTS = rf"after journal intent (join|remove)$|{CHANGED}"


@pytest.fixture(scope="module")
def cluster(workspace: Workspace, three: Machines) -> Agreement:
    """What is asked of the three."""
    return Agreement(workspace, three, NAME)


@pytest.fixture(scope="module")
def watch(workspace: Workspace, three: Machines) -> t.Iterator[Watch]:
    """The watcher, from the three machines on."""
    assert len(three.names()) == 3
    with Watch(workspace.store, NAME, workspace.folder) as running:
        until("the watcher sees etcd", lambda: running.log.exists() and '"voters": 3' in running.log.read_text())
        yield running


@upgrades
@pytest.mark.usefixtures("watch")
def test_another_version_with_runs_killed(workspace: Workspace, three: Machines, cluster: Agreement) -> None:
    """One at a time, each run killed after its next change, until one comes through; meanwhile the status says which are outdated and why."""
    before = three.names()
    wants(workspace, version=NEXT)
    seen: list[tuple[list[str], str]] = []

    def ask(stop: Stop) -> None:
        if stop.point.endswith("after journal intent remove"):
            seen.append((three.names(), workspace.playbook("status").succeeded().output))

    folder = workspace.folder / "runs"
    record = KilledRuns(workspace, workspace.command("reconcile"), folder, only=POINTS, on_stop=ask).until_converged()
    assert record.missed(POINTS) == [] and record.failures == [], "a rerun failed instead of going on"
    points = " ".join(record.points)
    for change in (
        "decide: after journal intent join",
        "join > machine_bootstrap: after node node_bootstrap",
        "decide: after journal intent remove",
        "remove > machine_removal: after node etcd_member absent",
        "remove > machine_removal: after node workload_node absent",
    ):
        assert change in points, record.points
    [(names, said)] = seen
    words = f": UpToDate False: * Version {VERSION}, {NEXT} required"
    told = " ".join(line for line in said.splitlines() if words in line)
    assert len(names) == 4 and [name for name in names if name in told] == before, said
    assert problems(workspace, three, NAME, 3) == [] and not set(three.names()) & set(before)
    cluster.all_agree(3, DOMAINS)
    assert sorted(cluster.domains().values()) == sorted(DOMAINS)
    cluster.runs_version(NEXT)


@upgrades
def test_one_step_after_another(workspace: Workspace, cluster: Agreement) -> None:
    """By the journal every step was over before the next one began, by its own run's word or as interrupted; kube-proxy followed last."""
    assert overlaps(workspace, NAME) == []
    steps = [each for each in steps_of(cluster.journal(), 0.0) if each.result == "succeeded"]
    # A removal has a second step where its drain took long.
    done = [action for (action, _target), _ in itertools.groupby(steps, lambda each: (each.action, each.target))]
    assert done[-7:] == [*["join", "remove"] * 3, "updateAddons"]
    assert {each.result for each in cluster.steps()} >= {"succeeded", "interrupted"}


def test_nothing_secret_is_left_by_killed_runs(workspace: Workspace, three: Machines) -> None:
    """Not in what they printed, not as files of modules on the machines."""
    secrets = three.secret_values()
    for output in sorted((workspace.folder / "runs").rglob("output-*")):
        text = output.read_text()
        assert not [key for key, value in secrets.items() if value in text], output
    for name in three.names():
        command = "find /run/kubeadm /run/kubeadm-control-plane/tmp /root/.ansible -type f 2>/dev/null || true"
        assert three.ssh(name, command).strip() == ""


@pytest.mark.usefixtures("watch")
def test_three_to_one(workspace: Workspace, three: Machines, cluster: Agreement) -> None:
    """Down to a single member, which needs nobody else any more; the machine that a person marked goes first although it leads.

    Somebody's hook holds that before anything is drained; without it the next run goes on.
    """
    before = three.names()
    # Not the oldest, which would go anyway.
    marked = cluster.by_age()[-1]
    three.let_lead(marked)
    three.annotate(marked, DELETE)
    cluster.wants_replicas(1)
    with three.annotated(marked, HOOK):
        held = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=2").failed()
        assert HOOK in held.text and marked in held.text
        assert len(three.etcd_members()) == 3 and three.ready_nodes() == before
    workspace.playbook("reconcile").succeeded()
    assert cluster.removed()[-2] == marked
    assert set(three.names()) < set(before)
    cluster.all_agree(1, DOMAINS)
    cluster.a_snapshot_survived()


def test_nothing_confirmed_was_lost(watch: Watch, artefacts: Path) -> None:
    """What was written through the endpoint meanwhile is there, and at each look a majority ran that nobody worked on."""
    seen = watch.stop()
    (artefacts / "replacement.json").write_text(json.dumps(seen, indent=2))
    assert faults(seen) == []
