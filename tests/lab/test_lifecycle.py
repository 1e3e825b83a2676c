# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster's life: created although the run is killed in a join, unchanged by a second run, deleted without a trace."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest
from machines import Machines
from traces import traces
from workspace import Workspace, kill_run

NAME = "lab-life"
DOMAINS = ("a", "b", "c")
PLAN = "lab-life.plan.json"
SNAPSHOT = "lab-life.snapshot.json"
# The ansible-core versions that `make` installed, each in a venv of its own.
CACHE = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or Path.home() / ".cache" / "kubeadm-control-plane")
ANSIBLES = sorted(CACHE.glob("venv-*/bin/ansible-playbook")) or [Path(shutil.which("ansible-playbook") or "")]


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines, reached beside the collection."""
    return Machines(workspace, NAME)


def wait_for(what: t.Callable[[], bool], message: str, bound_seconds: float = 300) -> None:
    """Poll until something real has happened."""
    end = time.monotonic() + bound_seconds
    while not what():
        assert time.monotonic() < end, message
        time.sleep(0.2)


def plan_of(workspace: Workspace) -> dict[str, t.Any]:
    """The plan that was kept."""
    return dict(json.loads((workspace.folder / PLAN).read_text()))


def shown(output: str) -> str:
    """The plan among a run's output."""
    return output[output.index("PLAN ") :].split("\nTASK", 1)[0].strip()


def everything(workspace: Workspace, machines: Machines) -> t.Any:
    """The store's files, etcd's members and the machines' configuration, byte for byte."""
    files = {path: path.read_bytes() for path in workspace.store.rglob("*") if path.is_file()}
    return files, machines.etcd_members(), machines.configuration(), machines.boot_ids()


def test_create_survives_a_kill_in_the_middle_of_a_join(workspace: Workspace, machines: Machines) -> None:
    """A plan is carried out; kill -9 of ansible-playbook while kubeadm joins the second machine; a rerun finds that join and converges."""
    workspace.manifest(NAME, replicas=3, failure_domains=DOMAINS)
    workspace.playbook("plan", "-e", f"control_plane_plan_file={PLAN}").succeeded()
    assert not workspace.store.exists()
    run = workspace.start("reconcile", "-e", f"control_plane_plan_file={PLAN}")

    def joining() -> bool:
        assert run.poll() is None, (workspace.folder / "reconcile.log").read_text()[-6000:]
        return any(machines.kubeadm_runs(name, "join") for name in machines.names())

    wait_for(joining, "no join began")
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


def test_second_run_changes_nothing(workspace: Workspace, machines: Machines) -> None:
    """A converged cluster: changed=0, the same machines, the same members."""
    before = machines.etcd_members(), machines.boot_ids()
    run = workspace.playbook("reconcile").succeeded()
    assert run.recap(NAME)["changed"] == 0
    assert (machines.etcd_members(), machines.boot_ids()) == before


@pytest.mark.parametrize("program", ANSIBLES, ids=lambda path: path.parts[-3])
def test_every_supported_ansible_core(workspace: Workspace, machines: Machines, program: Path) -> None:
    """The oldest and the newest supported ansible-core both observe, decide and find nothing to do."""
    before = machines.etcd_members()
    workspace.program = str(program)
    try:
        assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
        assert "nothing to do" in workspace.playbook("status").succeeded().output
    finally:
        workspace.program = "ansible-playbook"
    assert machines.etcd_members() == before


def test_plan_and_check_mode_say_the_same_and_write_nothing(workspace: Workspace, machines: Machines) -> None:
    """Both tell the steps of a changed manifest and leave store, etcd and machines byte for byte as they were."""
    before = everything(workspace, machines)
    assert workspace.playbook("reconcile", "--check").succeeded().recap(NAME)["changed"] == 0
    assert "Nothing to do" in workspace.playbook("plan").succeeded().output
    workspace.manifest(NAME, replicas=5, failure_domains=DOMAINS)
    plan = workspace.playbook("plan", "-e", f"control_plane_snapshot_file={SNAPSHOT}").succeeded()
    check = workspace.playbook("reconcile", "--check").succeeded()
    assert shown(plan.output) == shown(check.output)
    assert "   2  join a new machine" in plan.output and "leads and goes on leading" in plan.output
    assert check.recap(NAME)["changed"] > 0
    workspace.manifest(NAME, replicas=3, failure_domains=DOMAINS)
    assert everything(workspace, machines) == before


def test_what_if_the_version_were_another(workspace: Workspace, machines: Machines) -> None:
    """The saved snapshot with a changed manifest shows the rollout; without consent reconcile ends before it, and no machine is touched."""
    before = machines.etcd_members(), machines.configuration(), machines.boot_ids()
    workspace.manifest(NAME, replicas=3, failure_domains=DOMAINS, version="v1.21.0")
    run = workspace.playbook("plan", "-e", f"control_plane_snapshot={SNAPSHOT}").succeeded()
    steps = re.findall(r"^ +\d+  (join|remove)", run.output, re.MULTILINE)
    assert steps == ["join", "remove"] * 3 and "leadership moves to" in run.output
    asked = workspace.playbook("reconcile", "-e", "control_plane_replace=ask").succeeded()
    assert "postponed" in asked.text and asked.recap(NAME)["changed"] == 1, "the manifest alone"
    consent = ("-e", "control_plane_replace=ask", "-e", "control_plane_plan_file=rollout.json")
    assert "wants your consent" in workspace.playbook("plan", *consent).succeeded().text
    workspace.manifest(NAME, replicas=3, failure_domains=DOMAINS)
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 1, "the manifest alone"
    assert (machines.etcd_members(), machines.configuration(), machines.boot_ids()) == before


def test_a_plan_that_does_not_hold_any_more_is_refused_with_the_difference(
    workspace: Workspace, machines: Machines
) -> None:
    """The manifest is the planned one, but a machine was marked since: the path is named, and no machine is made."""
    before = machines.names(), machines.etcd_members(), machines.configuration()
    workspace.manifest(NAME, replicas=5, failure_domains=DOMAINS)
    workspace.playbook("plan", "-e", f"control_plane_plan_file={PLAN}").succeeded()
    marked = machines.names()[0]
    with machines.annotated(marked, "cluster.x-k8s.io/delete-machine"):
        run = workspace.playbook("reconcile", "-e", f"control_plane_plan_file={PLAN}").failed()
    assert f"machines.{marked}.marks: expected none, observed cluster.x-k8s.io/delete-machine" in run.text
    workspace.manifest(NAME, replicas=3, failure_domains=DOMAINS)
    other = workspace.playbook("reconcile", "-e", f"control_plane_plan_file={PLAN}").failed()
    assert "KubeadmControlPlane.spec.replicas" in other.text
    workspace.playbook("reconcile").succeeded()
    assert (machines.names(), machines.etcd_members(), machines.configuration()) == before


def test_status_is_true(workspace: Workspace, machines: Machines) -> None:
    """The table and the data say what etcd, nodes and endpoint really are."""
    run = workspace.playbook("status").succeeded()
    status = workspace.status(NAME)
    assert status["replicas"] == {"desired": 3, "existing": 3, "ready": 3, "upToDate": 3}
    assert status["endpoint"]["answers"] is True
    assert status["etcd"]["leader"] == machines.etcd_leader()
    assert status["etcd"]["alarms"] == [] and status["etcd"]["agrees"] is True
    assert status["addons"]["nodeRegistration"]["works"] is True
    assert status["addons"]["kubeProxy"]["works"] is True
    for name in machines.names():
        assert re.search(rf"{name}\s.*ok", run.output)
    assert "nothing to do" in run.output


def test_inventory_has_clusters_machines_and_groups(workspace: Workspace, machines: Machines) -> None:
    """The cluster and its machines are hosts, in groups that say what they are."""
    command = ["ansible-inventory", "-i", "inventory.clusters.yml", "--list"]
    groups = json.loads(Workspace.run(command, workspace.folder).succeeded().output)
    assert groups["control_planes"]["hosts"] == [NAME]
    assert (
        sorted(groups["lab_life_machines"]["hosts"])
        == sorted(groups["control_plane_machines"]["hosts"])
        == machines.names()
    )
    assert groups["etcd_leader"]["hosts"] == [machines.etcd_leader()]
    assert [len(groups[f"failure_domain_{each}"]["hosts"]) for each in "abc"] == [1, 1, 1]
    assert not {"unhealthy", "outdated", "provisioning"} & set(groups)


def test_the_journal_tells_the_kill(workspace: Workspace) -> None:
    """The step that the kill cut off is recorded as interrupted, every other as a success, one after the other."""
    text = next(workspace.store.glob(f"default/journal/{NAME}.jsonl")).read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    results = [entry["result"] for entry in entries if entry["event"] == "outcome"]
    assert results.count("interrupted") == 1 and set(results) == {"interrupted", "succeeded"}
    assert [entry["event"] for entry in entries] == ["intent", "outcome"] * len(results), "two steps were open at once"


def test_cluster_status_follows(workspace: Workspace) -> None:
    """The Cluster object says that its control plane is initialized and ready (contract, both forms)."""
    cluster = workspace.objects("Cluster")[0]
    assert cluster["status"]["initialization"]["controlPlaneInitialized"] is True
    assert cluster["status"]["controlPlaneReady"] is True
    assert cluster["spec"]["controlPlaneEndpoint"]["port"] == 6443


def test_second_reconcile_leaves_with_the_holders_name(workspace: Workspace) -> None:
    """Two runs at once: the second changes nothing and names the first."""
    log = workspace.folder / "first.log"
    first = workspace.start("reconcile", output=log)
    wait_for(lambda: "Bring the manifest" in log.read_text(), "the first run did not take the lock")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second = workspace.playbook("reconcile").failed()
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert "held by" in second.text and str(first.pid) in second.text
    assert first.wait(timeout=300) == 0, log.read_text()[-4000:]


def test_a_call_that_lands_on_the_wrong_machine_is_refused(workspace: Workspace, machines: Machines) -> None:
    """Two machines that answer at each other's address: nothing is done on either."""
    with machines.swapped_addresses(workspace):
        run = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=5").failed()
    assert "machine-id" in run.text
    assert len(machines.etcd_members()) == 3


def test_a_machines_name_is_no_cluster(workspace: Workspace, machines: Machines) -> None:
    """--limit to a machine selects no cluster: an error, not success."""
    run = workspace.playbook("reconcile", "--limit", machines.names()[0]).failed()
    assert "No cluster is selected" in run.text


def test_delete_needs_the_clusters_name(workspace: Workspace, machines: Machines) -> None:
    """Deleting without consent does nothing."""
    run = workspace.playbook("delete").failed()
    assert f"control_plane_delete={NAME}" in run.text
    assert len(machines.etcd_members()) == 3


def test_workers_block_a_delete(workspace: Workspace, machines: Machines) -> None:
    """A registered worker Node blocks the deletion and is named."""
    machines.register_worker("worker-1")
    run = workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").failed()
    assert "worker-1" in run.text
    assert len(machines.etcd_members()) == 3


def test_delete_leaves_nothing(workspace: Workspace, machines: Machines) -> None:
    """Told to ignore the worker, everything goes: processes, mounts, links, cgroups, folders, objects."""
    names = machines.names()
    workspace.playbook(
        "delete", "-e", f"control_plane_delete={NAME}", "-e", "control_plane_ignore_worker_nodes=true"
    ).succeeded()
    assert traces(NAME, *names) == []
    for kind in (
        "Cluster",
        "KubeadmControlPlane",
        "Machine",
        "KubeadmConfig",
        "Secret",
        "NspawnMachine",
        "NspawnCluster",
    ):
        assert workspace.objects(kind) == [], kind
    again = workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert again.recap(NAME)["changed"] == 0
