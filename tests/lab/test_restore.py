# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two of three machines lose their power: etcd is restored with consent, and there are three healthy machines again."""

from __future__ import annotations

import shutil
import time
import typing as t
from pathlib import Path

import pytest
from machines import Machines
from workspace import Workspace, consent_of, kill_run

NAME = "lab-restore"
BOUND_SECONDS = 240
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """Three machines that work, with something in the cluster."""
    workspace.manifest(NAME, replicas=3)
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


def test_after_the_loss_of_two_machines_nothing_is_done_without_consent(
    workspace: Workspace, machines: Machines
) -> None:
    """The run says what is lost and what to type; an old backup, a foreign one and a broken one are told apart."""
    kept = workspace.backup(NAME)
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
    done = run_restore(workspace, kept, *consent).succeeded()
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
