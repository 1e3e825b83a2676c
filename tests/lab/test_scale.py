# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane of stacked etcd on real machines: 1→3 with every run killed, 5, 3 again.

An independent watcher reads etcd and the API all along. The core of it, beside a rollout, is in three_machines.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from aftermath import overlaps, problems
from agreement import Agreement
from availability import faults
from etcd_cluster import until
from killed_runs import OUTWARD, KilledRuns
from machines import Machines
from watcher import Watch
from workspace import Workspace

pytestmark = pytest.mark.full
NAME = "lab-scale"
DOMAINS = ("a", "b", "c")
DELETE = "cluster.x-k8s.io/delete-machine"


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines; one to begin with, in one of three failure domains."""
    workspace.manifest(NAME, replicas=1, failure_domains=DOMAINS)
    workspace.playbook("reconcile").succeeded()
    return Machines(workspace, NAME)


@pytest.fixture(scope="module")
def cluster(workspace: Workspace, machines: Machines) -> Agreement:
    """What is asked of it."""
    return Agreement(workspace, machines, NAME)


@pytest.fixture(scope="module")
def watch(workspace: Workspace, machines: Machines) -> t.Iterator[Watch]:
    """The watcher, from the first machine on."""
    assert len(machines.names()) == 1
    with Watch(workspace.store, NAME, workspace.folder) as running:
        # It has counted the voters before there is a second one.
        until("the watcher sees etcd", lambda: running.log.exists() and '"voters": 1' in running.log.read_text())
        yield running


@pytest.mark.usefixtures("watch")
def test_one_to_three_with_every_run_killed(workspace: Workspace, machines: Machines, cluster: Agreement) -> None:
    """Each run is killed after the next entry, call or task after which none was killed before; before the second voter joined, a snapshot was taken."""
    [first] = machines.names()
    cluster.wants_replicas(3)
    command = workspace.command("reconcile")
    record = KilledRuns(workspace, command, workspace.folder / "runs", only=OUTWARD).until_converged()
    assert record.missed(OUTWARD) == [] and record.failures == [], "a rerun failed instead of going on"
    assert {"join > machine_bootstrap: after node node_bootstrap", "decide: after journal intent join"} <= {*record.met}
    assert first in machines.names() and problems(workspace, machines, NAME, 3) == []
    cluster.all_agree(3, DOMAINS)
    assert any(path.startswith(f"{first}:") for path in cluster.snapshots())


@pytest.mark.usefixtures("watch")
def test_three_to_five(workspace: Workspace, machines: Machines, cluster: Agreement) -> None:
    """The machines there are stay, and no failure domain gets a third one."""
    before = machines.names()
    cluster.wants_replicas(5)
    workspace.playbook("reconcile").succeeded()
    assert set(before) < set(machines.names())
    cluster.all_agree(5, DOMAINS)


@pytest.mark.usefixtures("watch")
def test_five_to_three(workspace: Workspace, machines: Machines, cluster: Agreement) -> None:
    """The machine that a person marked goes first although it leads; another one leads before it goes."""
    placed = cluster.domains()
    # Neither the oldest, which would go anyway, nor out of the failure domain that has only one.
    victim = [name for name in cluster.by_age() if list(placed.values()).count(placed[name]) == 2][-1]
    [identity] = [f"{int(each['ID']):x}" for each in machines.etcd_members() if each["name"] == victim]
    machines.let_lead(victim)
    machines.annotate(victim, DELETE)
    cluster.wants_replicas(3)
    workspace.playbook("reconcile").succeeded()
    assert cluster.removed()[-2] == victim
    assert victim not in machines.names() and cluster.handed_over(identity)
    cluster.all_agree(3, DOMAINS)
    cluster.a_snapshot_survived()


def test_no_two_node_acts_overlap(workspace: Workspace, machines: Machines, cluster: Agreement) -> None:
    """By the journal: every step was over before the next one began, by its own run's word or as interrupted."""
    assert len(machines.names()) == 3
    assert overlaps(workspace, NAME) == []
    assert {each.result for each in cluster.steps()} == {"succeeded", "interrupted"}
    done = [each.action for each in cluster.steps() if each.result == "succeeded"]
    assert done == [*["join"] * 4, *["remove"] * 2]


def test_nothing_confirmed_was_lost(watch: Watch, artefacts: Path) -> None:
    """What was written through the endpoint meanwhile is there, and at each look a majority ran that nobody worked on."""
    seen = watch.stop()
    (artefacts / "scale.json").write_text(json.dumps(seen, indent=2))
    assert faults(seen) == []
