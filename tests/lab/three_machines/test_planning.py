# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What plan, check mode and what-if tell of three machines, and that nothing of it is done."""

from __future__ import annotations

import re
import typing as t

import pytest
from lab_kubernetes import NEXT, upgrades
from machines import Machines
from workspace import Workspace

from .conftest import NAME, wants

PLAN = "lab-life.plan.json"
SNAPSHOT = "lab-life.snapshot.json"


def shown(output: str) -> str:
    """The plan among a run's output."""
    return re.split(r"\n(?:TASK|ok:|changed:)", output[output.index("PLAN ") :], maxsplit=1)[0].strip()


def everything(workspace: Workspace, three: Machines) -> t.Any:
    """The store's files, etcd's members and the machines' configuration, byte for byte."""
    files = {path: path.read_bytes() for path in workspace.store.rglob("*") if path.is_file()}
    return files, three.etcd_members(), three.configuration(), three.boot_ids()


def test_plan_and_check_mode_say_the_same_and_write_nothing(workspace: Workspace, three: Machines) -> None:
    """Both tell the steps of a changed manifest and leave store, etcd and machines byte for byte as they were."""
    before = everything(workspace, three)
    assert workspace.playbook("reconcile", "--check").succeeded().recap(NAME)["changed"] == 0
    assert "Nothing to do" in workspace.playbook("plan").succeeded().output
    wants(workspace, replicas=5)
    plan = workspace.playbook("plan", "-e", f"control_plane_snapshot_file={SNAPSHOT}").succeeded()
    check = workspace.playbook("reconcile", "--check").succeeded()
    assert shown(plan.output) == shown(check.output)
    assert "   2  join a new machine" in plan.output and "leads and stays the leader" in plan.output
    assert check.recap(NAME)["changed"] > 0
    wants(workspace)
    assert everything(workspace, three) == before


@upgrades
@pytest.mark.full
def test_what_if_the_version_were_another(workspace: Workspace, three: Machines) -> None:
    """The saved snapshot with a changed manifest shows the rollout; without consent reconcile ends before it, and no machine is touched."""
    before = three.etcd_members(), three.configuration(), three.boot_ids()
    wants(workspace, version=NEXT)
    run = workspace.playbook("plan", "-e", f"control_plane_snapshot={SNAPSHOT}").succeeded()
    steps = re.findall(r"^ +\d+  (join|remove)", run.output, re.MULTILINE)
    assert steps == ["join", "remove"] * 3 and "leadership moves to" in run.output
    asked = workspace.playbook("reconcile", "-e", "control_plane_replace=ask").succeeded()
    assert "postponed" in asked.text and asked.recap(NAME)["changed"] == 1, "the manifest alone"
    consent = ("-e", "control_plane_replace=ask", "-e", "control_plane_plan_file=rollout.json")
    assert "needs your consent" in workspace.playbook("plan", *consent).succeeded().text
    wants(workspace)
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 1, "the manifest alone"
    assert (three.etcd_members(), three.configuration(), three.boot_ids()) == before


@pytest.mark.full
def test_a_plan_that_does_not_hold_any_more_is_refused_with_the_difference(
    workspace: Workspace, three: Machines
) -> None:
    """The manifest is the planned one, but a machine was marked since: the path is named, and no machine is made."""
    before = three.names(), three.etcd_members(), three.configuration()
    wants(workspace, replicas=5)
    workspace.playbook("plan", "-e", f"control_plane_plan_file={PLAN}").succeeded()
    marked = three.names()[0]
    with three.annotated(marked, "cluster.x-k8s.io/delete-machine"):
        run = workspace.playbook("reconcile", "-e", f"control_plane_plan_file={PLAN}").failed()
    assert f"machines.{marked}.marks: expected none, observed cluster.x-k8s.io/delete-machine" in run.text
    wants(workspace)
    other = workspace.playbook("reconcile", "-e", f"control_plane_plan_file={PLAN}").failed()
    assert "KubeadmControlPlane.spec.replicas" in other.text
    workspace.playbook("reconcile").succeeded()
    assert (three.names(), three.etcd_members(), three.configuration()) == before
