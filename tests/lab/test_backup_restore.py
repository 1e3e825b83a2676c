# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backups; and two of three machines that lose their power: etcd is restored with consent, and there are three healthy machines again."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import sys
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from machines import Machines
from workspace import Workspace, consent_of, kill_run

NAME = "lab-restore"
SNAPSHOTS = "/var/lib/kubeadm-control-plane/etcd-snapshots"
BOUND_SECONDS = 240


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """One machine that works, with something in the cluster."""
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    found = Machines(workspace, NAME)
    write(found, "written-before")
    return found


def write(machines: Machines, name: str) -> None:
    """Write a ConfigMap into the cluster."""
    machines.kubectl("create", "configmap", name, "-n", "default", "--from-literal=text=safe")


def config_maps(machines: Machines) -> list[str]:
    """The names of the ConfigMaps that tests wrote."""
    return [
        name
        for name in machines.kubectl("get", "configmaps", "-n", "default", "-o", "name").split()
        if "written" in name
    ]


def backup(workspace: Workspace, *arguments: str) -> Path:
    """Take a backup as a timer does, and return the newest copy."""
    folder = ("-e", f"control_plane_backup_directory={workspace.folder}/backups")
    workspace.playbook("backup", "--limit", NAME, *folder, *arguments).succeeded()
    return sorted((workspace.folder / "backups" / "default" / NAME).glob("*.db"))[-1]


def figure(text: str, seconds: float) -> None:
    """Show a figure where the output is shown."""
    sys.stdout.write(f"\nfigure: {text}: {seconds:.1f} s\n")


def test_a_backup_is_verified_brought_home_and_for_its_owner_alone(workspace: Workspace, machines: Machines) -> None:
    """Of three, the newest two are kept; every one has its facts beside it."""
    begun = time.monotonic()
    path = backup(workspace, "-e", "control_plane_backup_keep=2")
    figure("the playbook backup, snapshot verified and brought home", time.monotonic() - begun)
    facts = json.loads(path.with_suffix(".json").read_text())
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts["verified_by"] in ("etcdctl", "etcdutl") and facts["revision"] > 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for _number in range(2):
        backup(workspace, "-e", "control_plane_backup_keep=2")
    kept = sorted(each.name for each in path.parent.iterdir())
    assert len([name for name in kept if name.endswith(".db")]) == 2 and len(kept) == 4 and path.name not in kept


def test_the_standalone_modules_run_on_a_node_as_their_page_shows_them(
    workspace: Workspace, machines: Machines
) -> None:
    """Every task of docs/standalone_modules.md that needs nothing but a node, in check mode; what only reads and the snapshot for real."""
    [name] = machines.names()
    page = (Path(__file__).parents[2] / "docs" / "standalone_modules.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    tasks = [task for block in blocks for task in yaml.safe_load(block)]
    tasks = [{**task, "check_mode": True, "diff": True} for task in tasks if "debug" not in str(list(task))]
    for task in tasks:
        for module in ("preflight", "node_drain"):
            options = task.get(f"kubeadm.control_plane.{module}")
            if options and "version" in options:
                # The node carries a cluster already, and no such endpoint exists: a report.
                options.update(control_plane_endpoint="", report_only=True)
            elif options and module == "node_drain":
                options["name"] = name
    results = machines.play(tasks)
    assert len(results) == len(tasks)
    failed = [each.get("msg") for each in results if each.get("failed")]
    # It has one voter: no other can lead, and nobody can be promoted. All else is accepted.
    expected = ("etcd has no member named cp-3", "no healthy voter to move to")
    assert len(failed) <= 2 and all(any(words in str(text) for words in expected) for text in failed), failed
    report, snapshot = machines.play(
        [
            {"kubeadm.control_plane.preflight": {"existing": True, "ignore": ["Mem", "NumCPU"]}},
            {"kubeadm.control_plane.etcd_snapshot": {"name": "figure", "keep": 1}},
        ],
    )
    assert report["fit"] and {each["name"] for each in report["checks"]} >= {
        "ControlPlane",
        "Port-2379",
        "CgroupVersion",
    }
    assert snapshot["verified_by"] in ("etcdctl", "etcdutl")
    figure("preflight, one call over SSH", report["took"])
    figure(f"etcd_snapshot with its verification, {snapshot['bytes'] >> 20} MiB", snapshot["took"])


@pytest.mark.full
def test_after_the_loss_of_two_machines_nothing_is_done_without_consent(
    workspace: Workspace, machines: Machines
) -> None:
    """The run says what is lost and what to type; an old backup, a foreign one and a broken one are told apart."""
    workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    kept = backup(workspace)
    write(machines, "written-later")
    names = machines.names()
    working = workspace.playbook("restore", "--limit", NAME).succeeded()
    assert "has its quorum: nothing has to be restored" in working.text
    for lost in names[1:]:
        machines.cut_power(lost)
    # What survived goes further than the backup: without a choice, nothing but what nobody saw is lost.
    own = run_restore(workspace).failed()
    assert f"the data of machine {names[0]}'s own etcd" in own.text
    assert f"etcdOf:{','.join(names[1:])}" in own.text and "Nothing was done" in own.text
    chosen = run_restore(workspace, kept).failed()
    assert "there is something newer" in chosen.text and ":insteadOf:" in consent_of(chosen.text)
    told = run_restore(workspace, kept, "--check").succeeded()
    assert consent_of(told.text) == consent_of(chosen.text)
    broken = workspace.folder / "broken.db"
    broken.write_bytes(kept.read_bytes()[:-4096])
    assert "truncated or damaged" in run_restore(workspace, broken).failed().text
    wrong = ("-e", "control_plane_restore_consent=yes")
    assert "The consent that was given, yes, is another one" in run_restore(workspace, kept, *wrong).failed().text


@pytest.mark.full
def test_restored_from_the_backup_and_three_again(workspace: Workspace, machines: Machines) -> None:
    """The run is killed in the middle of the restore; the same command completes it. What came later is gone, as was said."""
    [survivor, *lost] = machines.names()
    kept = sorted((workspace.folder / "backups" / "default" / NAME).glob("*.db"))[-1]
    consent = ("-e", f"control_plane_restore_consent={consent_of(run_restore(workspace, kept).failed().text)}")
    run = workspace.start(*restore_command(workspace, kept, *consent))
    end = time.monotonic() + BOUND_SECONDS
    while "etcd-restore.json" not in machines.ssh(survivor, "ls /var/lib/kubeadm-control-plane"):
        assert run.poll() is None and time.monotonic() < end, (workspace.folder / "restore.log").read_text()
    kill_run(run)
    begun = time.monotonic()
    done = run_restore(workspace, kept, *consent).succeeded()
    figure("etcd restored and two machines replaced", time.monotonic() - begun)
    assert f"was restored on machine {survivor} to revision" in done.text
    assert config_maps(machines) == ["configmap/written-before"]
    names = machines.names()
    assert survivor in names and len(names) == 3 and not set(lost) & set(names)
    assert sorted(member["name"] for member in machines.etcd_members()) == names
    assert machines.ready_nodes() == names
    # The data of before is kept, and nothing else of the restore is left beside it.
    left = machines.ssh(survivor, "ls -A /var/lib/etcd").split()
    assert len(left) == 2 and "member" in left and any(each.startswith("member-before-") for each in left)
    assert "Nothing to do" in workspace.playbook("plan", "--limit", NAME).succeeded().output
    again = run_restore(workspace, kept, *consent).succeeded()
    assert "nothing is restored again" in again.text and again.recap(NAME)["changed"] == 0
    shutil.rmtree(workspace.folder / "backups")


def restore_command(workspace: Workspace, path: t.Optional[Path], *arguments: str) -> list[str]:
    """The playbook and its arguments."""
    chosen = ["-e", f"control_plane_restore_snapshot={path}"] if path else []
    folder = ["-e", f"control_plane_backup_directory={workspace.folder}/backups"]
    return ["restore", "--limit", NAME, *folder, *chosen, *arguments]


def run_restore(workspace: Workspace, path: t.Optional[Path] = None, *arguments: str) -> t.Any:
    """Run the playbook to its end."""
    return workspace.playbook(*restore_command(workspace, path, *arguments))
