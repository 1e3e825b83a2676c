# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that is etcd's second voter loses its power in the middle of its join: said, recovered with consent, replaced."""

from __future__ import annotations

import time

import pytest
from machines import Machines
from workspace import Workspace

pytestmark = pytest.mark.full
NAME = "lab-second"
BOUND_SECONDS = 240


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines."""
    return Machines(workspace, NAME)


def test_the_joiner_loses_its_power_when_its_member_was_just_added(workspace: Workspace, machines: Machines) -> None:
    """etcd has 1 of 2 votes then. The run ends with the words, nothing is touched without consent."""
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    [first] = machines.names()
    machines.kubectl("create", "configmap", "written-before", "-n", "default", "--from-literal=text=safe")
    workspace.manifest(NAME, replicas=3)
    run = workspace.start("reconcile", "--limit", NAME)
    deadline = time.monotonic() + BOUND_SECONDS
    while len(machines.etcd_members()) < 2:
        assert run.poll() is None and time.monotonic() < deadline, (workspace.folder / "reconcile.log").read_text()
    lost = next(
        each["metadata"]["name"]
        for each in workspace.objects("Machine")
        if each.get("status", {}).get("bootstrap", {}).get("state") == "Running"
    )
    machines.cut_power(lost)
    assert run.wait(BOUND_SECONDS) != 0
    # A snapshot from before the join is on the machine that is left.
    assert machines.ssh(first, "ls /var/lib/kubeadm-control-plane/etcd-snapshots").strip()
    again = workspace.playbook("reconcile", "--limit", NAME).failed()
    assert f"-e control_plane_consent=recoverSingleVoter:{lost}" in again.text
    assert "it has 2 voters and needs both" in again.text
    assert "its provider says: dead" in again.text


def test_with_consent_etcd_goes_on_alone_and_the_machine_is_replaced(workspace: Workspace, machines: Machines) -> None:
    """What was written before is there, and there are three members in the end; the flag is nowhere."""
    names = {each["metadata"]["name"]: each for each in workspace.objects("Machine")}
    [first] = [name for name, each in names.items() if each["status"]["bootstrap"]["state"] == "Succeeded"]
    [lost] = [name for name in names if name != first]
    wrong = workspace.playbook("reconcile", "--limit", NAME, "-e", "control_plane_consent=loseEverything").failed()
    assert "is nothing that can be consented to" in wrong.text
    consent = ("-e", f"control_plane_consent=recoverSingleVoter:{lost}")
    workspace.playbook("reconcile", "--limit", NAME, *consent).succeeded()
    assert lost not in machines.names() and first in machines.names()
    assert sorted(member["name"] for member in machines.etcd_members()) == machines.names()
    assert machines.ready_nodes() == machines.names()
    said = machines.kubectl("get", "configmap", "written-before", "-n", "default", "-o", "jsonpath={.data.text}")
    assert said == "safe"
    assert machines.ssh(first, "grep -rl force-new-cluster /etc/kubernetes || true") == ""
    kept = machines.ssh(first, "stat -c %a /var/lib/kubeadm-control-plane/recover-single-voter/*/snapshot.db")
    assert kept.strip() == "600"
