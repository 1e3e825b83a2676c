# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that die: two of three at once; one after another, marked by a health check, which a run removes and replaces, or says why not."""

from __future__ import annotations

import time
import typing as t

import pytest
from inflicted import Cluster, grow_old
from machines import Machines
from traces import left_of
from workspace import Workspace

from .conftest import NAME, wants


@pytest.fixture(scope="module")
def cluster(workspace: Workspace, three: Machines) -> Cluster:
    """The three, of which the store says that they are an hour old."""
    grow_old(workspace)
    return Cluster(workspace, three, NAME)


def marks(workspace: Workspace) -> dict[str, dict[str, tuple[str, str]]]:
    """The marks of every machine: status and reason by condition."""
    wanted = ("HealthCheckSucceeded", "OwnerRemediated")
    return {
        each["metadata"]["name"]: {
            found["type"]: (found["status"], found["reason"])
            for found in each["status"].get("conditions", [])
            if found["type"] in wanted
        }
        for each in workspace.objects("Machine")
    }


def check_until_marked(workspace: Workspace, name: str, bound_seconds: float = 240) -> None:
    """Run health_check as a schedule does, until it marks the machine; nothing else happens to any machine meanwhile."""
    before = sorted(marks(workspace))
    end = time.monotonic() + bound_seconds
    while True:
        run = workspace.playbook("health_check").succeeded()
        assert sorted(marks(workspace)) == before
        if "OwnerRemediated" in marks(workspace)[name]:
            break
        assert time.monotonic() < end, run.output
    assert f"machine {name} is unhealthy: Health check failed" in run.text
    assert marks(workspace)[name]["HealthCheckSucceeded"][0] == "False"
    others = {other: found for other, found in marks(workspace).items() if other != name}
    assert all("OwnerRemediated" not in found for found in others.values()), others


def replaced(workspace: Workspace, machines: Machines, name: str, before: t.Sequence[str]) -> None:
    """The machine is gone without a trace, another one is there, all work, and a second run changes nothing."""
    now = machines.names()
    assert len(now) == len(before) and set(before) - set(now) == {name}
    assert [each["name"] for each in machines.etcd_members()] == now
    assert machines.ready_nodes() == now and left_of(name) == []
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    run = workspace.playbook("health_check").succeeded()
    assert "3 of 3 checked machines are healthy" in run.text
    [new] = set(now) - set(before)
    [machine] = [each for each in workspace.objects("Machine") if each["metadata"]["name"] == new]
    assert "controlplane.cluster.x-k8s.io/remediation-for" in machine["metadata"]["annotations"]


@pytest.mark.full
def test_two_of_three_are_down(cluster: Cluster) -> None:
    """No membership can change, and none is tried; the arithmetic, who is left, and what to do are said.

    The fault: docs/faults.md, "two of three are down".
    """
    members = cluster.members()
    [survivor, *lost] = cluster.machines.names()
    with cluster.without_power(*lost):
        for text in (cluster.planned(), cluster.refused(quorum=False).text):
            assert f"etcd has lost its quorum: 3 voters, 1 answers ({survivor}), quorum 2; silent:" in text, text
            assert all(name in text for name in lost) and "Bring 1 of them back" in text, text
            assert "kubeadm.control_plane.restore" in text
    cluster.healthy()
    assert cluster.members() == members


def test_a_machine_whose_power_is_cut_is_marked_and_replaced(workspace: Workspace, cluster: Cluster) -> None:
    """Etcd's leader dies: its Node falls silent, health_check marks it, reconcile removes it safely and makes another one."""
    machines = cluster.machines
    before, victim = machines.names(), machines.etcd_leader()
    machines.cut_power(victim)
    check_until_marked(workspace, victim)
    plan = workspace.playbook("plan").succeeded()
    assert f"remove machine {victim}" in plan.text and "found unhealthy" in plan.text
    workspace.playbook("reconcile").succeeded()
    replaced(workspace, machines, victim, before)


@pytest.mark.full
def test_a_machine_that_a_person_names_is_replaced(workspace: Workspace, cluster: Cluster) -> None:
    """It works, and goes all the same; a name that nobody has is refused, and check mode only tells."""
    machines = cluster.machines
    before = machines.names()
    victim = before[0]
    run = workspace.playbook("remediate", "-e", "control_plane_machines=no-such-machine").failed()
    assert "there is no machine no-such-machine" in run.text and victim in run.text
    run = workspace.playbook("remediate", "--check", "-e", f"control_plane_machines={victim}").succeeded()
    assert f"remove machine {victim}" in run.text
    assert machines.names() == before and not any("OwnerRemediated" in each for each in marks(workspace).values())
    workspace.playbook("remediate", "-e", f"control_plane_machines={victim}").succeeded()
    replaced(workspace, machines, victim, before)


@pytest.mark.full
def test_a_machine_that_nobody_reaches_is_replaced_once_its_health_check_allows_it(
    workspace: Workspace, cluster: Cluster
) -> None:
    """Its link is down: it can be neither drained nor asked, though it runs. maxUnhealthy 0 holds it back, with 1 it goes."""
    machines = cluster.machines
    before = machines.names()
    victim = before[-1]
    wants(workspace, {"maxUnhealthy": 0})
    assert "change MachineHealthCheck" in workspace.playbook("reconcile", "-v").succeeded().text
    machines.cut_network(victim)
    end = time.monotonic() + 240
    while marks(workspace)[victim].get("HealthCheckSucceeded", ("",))[0] != "False":
        assert time.monotonic() < end
        run = workspace.playbook("health_check").succeeded()
    assert "unhealthyLessThanOrEqualTo: 0" in run.text and "OwnerRemediated" not in marks(workspace)[victim]
    wants(workspace, {"maxUnhealthy": 1})
    # Bringing the manifest in does not wait for the silent machine: nothing else is to be done.
    workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=5")
    check_until_marked(workspace, victim)
    workspace.playbook("remediate").succeeded()
    replaced(workspace, machines, victim, before)
