# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second machine loses its power at each stage of its join: before it votes nothing is lost, afterwards a user decides."""

from __future__ import annotations

import time
import typing as t

import pytest
from etcd_cluster import until
from killed_runs import KilledRuns
from machines import Machines
from workspace import Workspace, kill_run

pytestmark = pytest.mark.full
NAME = "lab-second"
BOUND_SECONDS = 240
ADDED = "join > machine_bootstrap: after node etcd_member learner"
STARTED = "join > machine_bootstrap: after node node_bootstrap (2)"


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines: one carries the control plane, three are wanted."""
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    workspace.manifest(NAME, replicas=3)
    return Machines(workspace, NAME)


def killed_at(workspace: Workspace, folder: str, point: str) -> None:
    """Run reconcile, and kill it there."""
    runs = KilledRuns(workspace, workspace.command("reconcile", "--limit", NAME), workspace.folder / folder)
    stop, run = runs.stopped_at(point)
    runs.end()
    assert stop.point, run.output[-6000:]


def joining(workspace: Workspace) -> str:
    """The machine whose bootstrap was started and has not ended."""
    [name] = [
        each["metadata"]["name"]
        for each in workspace.objects("Machine")
        if each.get("status", {}).get("bootstrap", {}).get("state") == "Running"
    ]
    return str(name)


def voters(machines: Machines) -> list[str]:
    """The voters' names."""
    return [str(each.get("name") or "") for each in machines.etcd_members() if not each.get("isLearner")]


def learners(machines: Machines) -> list[str]:
    """The learners' names, "" for one that never started."""
    return [str(each.get("name") or "") for each in machines.etcd_members() if each.get("isLearner")]


def writes(machines: Machines, name: str) -> None:
    """Something is written through the API, and is there."""
    machines.kubectl("create", "configmap", name, "-n", "default", "--from-literal=text=safe")
    assert written(machines, name)


def written(machines: Machines, name: str) -> bool:
    """Whether what was written is there."""
    return machines.kubectl("get", "configmap", name, "-n", "default", "-o", "jsonpath={.data.text}") == "safe"


def test_the_joiner_loses_its_power_when_its_member_was_just_added(workspace: Workspace, machines: Machines) -> None:
    """Its member has no vote and never started: everything is written on as before, with the joiner off."""
    [first] = machines.names()
    killed_at(workspace, "added", ADDED)
    lost = joining(workspace)
    assert (voters(machines), learners(machines)) == ([first], [""])
    # A snapshot from before the join is on the machine that was there.
    assert machines.ssh(first, "ls /var/lib/kubeadm-control-plane/etcd-snapshots").strip()
    machines.cut_power(lost)
    writes(machines, "after-the-first-loss")


def test_the_next_run_replaces_it_without_any_consent_and_the_next_joiner_is_lost_as_a_learner(
    workspace: Workspace, machines: Machines
) -> None:
    """kubeadm joins it while no run is there to promote it; its power goes when its etcd has started. Nothing is lost again."""
    before = joining(workspace)
    killed_at(workspace, "started", STARTED)
    assert before not in machines.names()
    lost = joining(workspace)
    until("the learner has started", lambda: learners(machines) == [lost], BOUND_SECONDS)
    machines.cut_power(lost)
    assert len(voters(machines)) == 1
    writes(machines, "after-the-second-loss")


def test_one_that_is_lost_when_it_votes_takes_the_quorum_with_it(workspace: Workspace, machines: Machines) -> None:
    """Its predecessor is replaced without consent; etcd has 1 of 2 votes then. Nothing is touched without consent."""
    before = joining(workspace)
    run = workspace.start("reconcile", "--limit", NAME)
    deadline = time.monotonic() + BOUND_SECONDS
    while len(voters(machines)) < 2:
        assert run.poll() is None and time.monotonic() < deadline, (workspace.folder / "reconcile.log").read_text()
    [first] = [each["metadata"]["name"] for each in succeeded(workspace)][:1]
    [lost] = set(voters(machines)) - {first}
    assert before not in machines.names()
    machines.cut_power(lost)
    kill_run(run)
    again = workspace.playbook("reconcile", "--limit", NAME).failed()
    assert f"-e control_plane_consent=recoverSingleVoter:{lost}" in again.text
    assert "it has 2 voters and needs both" in again.text
    assert "its provider says: dead" in again.text


def succeeded(workspace: Workspace) -> list[dict[str, t.Any]]:
    """The Machines whose bootstrap succeeded, oldest first."""
    found = workspace.objects("Machine")
    done = [each for each in found if each.get("status", {}).get("bootstrap", {}).get("state") == "Succeeded"]
    return sorted(done, key=lambda each: str(each["metadata"]["creationTimestamp"]))


def test_with_consent_etcd_goes_on_alone_and_the_machine_is_replaced(workspace: Workspace, machines: Machines) -> None:
    """What was written before is there, and there are three members in the end; the flag is nowhere."""
    first = str(succeeded(workspace)[0]["metadata"]["name"])
    [lost] = [name for name in machines.names() if name in machines.lost]
    wrong = workspace.playbook("reconcile", "--limit", NAME, "-e", "control_plane_consent=loseEverything").failed()
    assert "is nothing that can be consented to" in wrong.text
    consent = ("-e", f"control_plane_consent=recoverSingleVoter:{lost}")
    workspace.playbook("reconcile", "--limit", NAME, *consent).succeeded()
    assert lost not in machines.names() and first in machines.names()
    assert sorted(member["name"] for member in machines.etcd_members()) == machines.names()
    assert learners(machines) == [] and machines.ready_nodes() == machines.names()
    assert written(machines, "after-the-first-loss") and written(machines, "after-the-second-loss")
    assert machines.ssh(first, "grep -rl force-new-cluster /etc/kubernetes || true") == ""
    kept = machines.ssh(first, "stat -c %a /var/lib/kubeadm-control-plane/recover-single-voter/*/snapshot.db")
    assert kept.strip() == "600"
