# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three machines are made from a plan although the run is killed in a join; what stands then is what was planned."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import until
from machines import Machines
from workspace import Workspace, kill_run

from .conftest import NAME, wants

PLAN = "lab-life.plan.json"
# The ansible-core versions that `make` installed, each in a venv of its own.
CACHE = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or Path.home() / ".cache" / "kubeadm-control-plane")
ANSIBLES = sorted(CACHE.glob("venv-[2l]*/bin/ansible-playbook")) or [Path(shutil.which("ansible-playbook") or "")]


def plan_of(workspace: Workspace) -> dict[str, t.Any]:
    """The plan that was kept."""
    return dict(json.loads((workspace.folder / PLAN).read_text()))


def test_create_survives_a_kill_in_the_middle_of_a_join(workspace: Workspace, machines: Machines) -> None:
    """A plan is carried out; kill -9 of ansible-playbook while kubeadm joins the second machine; a rerun finds that join and converges."""
    wants(workspace)
    workspace.playbook("plan", "-e", f"control_plane_plan_file={PLAN}").succeeded()
    assert not workspace.store.exists()
    run = workspace.start("reconcile", "-e", f"control_plane_plan_file={PLAN}")

    def joining() -> bool:
        assert run.poll() is None, (workspace.folder / "reconcile.log").read_text()[-6000:]
        return any(machines.kubeadm_runs(name, "join") for name in machines.names())

    until("a join has begun", joining, 300)
    joiner = next(name for name in machines.names() if machines.kubeadm_runs(name, "join"))
    before = machines.kubeadm_started(joiner)
    kill_run(run)
    assert machines.kubeadm_runs(joiner, "join"), "the join did not outlive the controller"

    # The store says what was under way, and the killed run's lock does not stand in the way.
    rerun = workspace.playbook("reconcile", "-e", f"control_plane_plan_file={PLAN}").succeeded()
    assert "held by" not in rerun.output
    assert machines.kubeadm_started(joiner) == before, (
        "the rerun started a second kubeadm join instead of waiting for the first"
    )

    members = machines.etcd_members()
    assert sorted(member["name"] for member in members) == machines.names()
    assert len(members) == 3 and not any(member.get("isLearner") for member in members)
    assert machines.ready_nodes() == machines.names()


def test_the_plan_was_carried_out_with_its_names(workspace: Workspace, machines: Machines) -> None:
    """The machines are those that the plan named, where it placed them; carried out once more it finds nothing to do."""
    targets = [step["target"] for step in plan_of(workspace)["steps"] if step["target"]]
    assert sorted(target["name"] for target in targets) == machines.names()
    placed = {each["metadata"]["name"]: each["spec"]["failureDomain"] for each in workspace.objects("Machine")}
    assert placed == {target["name"]: target["failureDomain"] for target in targets}
    again = workspace.playbook("reconcile", "-e", f"control_plane_plan_file={PLAN}").succeeded()
    assert again.recap(NAME)["changed"] == 0


def test_no_two_node_acts_overlap(machines: Machines) -> None:
    """One node at a time: every bootstrap began after the one before it had ended."""
    times = machines.bootstrap_times()
    assert len(times) == 3
    for (_start, end, name), (start, _end, following) in zip(times, times[1:]):
        assert end <= start, f"{following} began at {start}, before {name} ended at {end}"


def test_the_bridges_link_address_is_its_own() -> None:
    """It stays the same whichever machines come and go; neighbours that learnt it need not learn it anew."""
    made = subprocess.run(["ip", "-o", "link", "show", "kcp0"], capture_output=True, text=True, check=True).stdout
    ports = subprocess.run(
        ["ip", "-o", "link", "show", "master", "kcp0"], capture_output=True, text=True, check=True
    ).stdout
    own = made.split("link/ether ")[1].split()[0]
    assert own.startswith("02:") and own not in ports


def test_failure_domains_are_spread(workspace: Workspace) -> None:
    """Three machines in three failure domains."""
    assert sorted(each["spec"]["failureDomain"] for each in workspace.objects("Machine")) == ["a", "b", "c"]


def test_the_journal_tells_the_kill(workspace: Workspace) -> None:
    """The step that the kill cut off is recorded as interrupted, every other as a success, one after the other."""
    text = next(workspace.store.glob(f"default/journal/{NAME}.jsonl")).read_text()
    # Between them it notes what was changed.
    entries = [entry for entry in map(json.loads, text.splitlines()) if entry["event"] != "note"]
    results = [entry["result"] for entry in entries if entry["event"] == "outcome"]
    assert results.count("interrupted") == 1 and set(results) == {"interrupted", "succeeded"}
    assert [entry["event"] for entry in entries] == ["intent", "outcome"] * len(results), "two steps were open at once"


def test_cluster_status_follows(workspace: Workspace) -> None:
    """The Cluster object says that its control plane is initialized and ready (contract, both forms)."""
    cluster = workspace.objects("Cluster")[0]
    assert cluster["status"]["initialization"]["controlPlaneInitialized"] is True
    assert cluster["status"]["controlPlaneReady"] is True
    assert cluster["spec"]["controlPlaneEndpoint"]["port"] == 6443


@pytest.mark.parametrize("program", ANSIBLES, ids=lambda path: path.parts[-3])
def test_a_second_run_changes_nothing(workspace: Workspace, machines: Machines, program: Path) -> None:
    """The oldest and the newest supported ansible-core both find nothing to do: the same machines, the same members."""
    before = machines.etcd_members(), machines.boot_ids()
    workspace.program = str(program)
    try:
        assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
        assert "nothing to do" in workspace.playbook("status").succeeded().output
    finally:
        workspace.program = "ansible-playbook"
    assert (machines.etcd_members(), machines.boot_ids()) == before
