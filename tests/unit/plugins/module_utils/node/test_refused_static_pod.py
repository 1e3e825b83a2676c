# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bootstrap does of a static pod that the kubelet has not taken: a real shell, and a systemctl that writes what it was asked."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from bootstrap_places import bootstrap_places
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import (
    Bootstrap,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.script import Disks, render

HOUR = 3600
BOTH = ["etcd-m1_uid", "kube-apiserver-m1_uid"]


@pytest.mark.parametrize(
    ("taken", "left", "folder_of_configuration", "asked"),
    [
        (BOTH, [], False, ""),
        (BOTH, [], True, ""),
        (BOTH, ["etcd-m0_old"], False, ""),
        (BOTH[1:], [], False, "restart kubelet\n"),
        (BOTH[:1], [], True, "restart kubelet\n"),
        (BOTH[1:], ["etcd-m0_old"], False, "restart kubelet\n"),
        ([], BOTH, False, "restart kubelet\n"),
    ],
)
def test_the_kubelet_is_started_again(
    tmp_path: Path, taken: list[str], left: list[str], folder_of_configuration: bool, asked: str
) -> None:
    """Once; a pod without a manifest is none. The kubelet's configuration may name another folder of logs.

    What a cluster before this one has left there counts for nothing.
    """
    logs, kubelet, manifests, work, tools = (
        tmp_path / name for name in ("logs", "kubelet", "manifests", "work", "bin")
    )
    for folder in (logs, kubelet, manifests, work, tools):
        folder.mkdir()
    for name, when in [*((name, HOUR) for name in taken), *((name, -HOUR) for name in left)]:
        path = logs / f"kube-system_{name}"
        path.mkdir()
        os.utime(path, (time.time() + when,) * 2)
    own = f'podLogsDir: "{logs}"\n' if folder_of_configuration else ""
    (kubelet / "config.yaml").write_text(f"kind: KubeletConfiguration\n{own}")
    for name in ("etcd", "kube-apiserver"):
        (manifests / f"{name}.yaml").write_text("")
    (tools / "systemctl").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n')
    (tools / "systemctl").chmod(0o755)
    known = str(tmp_path / "none" if folder_of_configuration else logs)
    disks = Disks(kubelet=str(kubelet), manifests=str(manifests), pod_logs=known, seconds=0)
    files = render(str(work), ["true"], [f"PATH={tools}:$PATH"], [], str(tmp_path / "sentinel" / "done"), disks)
    for name, text in files.items():
        (work / name).write_text(text)
    subprocess.run(["/bin/sh", str(work / "run.sh")], check=True, timeout=60)
    assert (work / "result").read_text() == "0 done\n"
    found = tmp_path / "asked"
    assert (found.read_text() if found.exists() else "") == asked


@pytest.mark.parametrize("booted", [True, False])
@pytest.mark.parametrize(("after", "state"), [([], "Succeeded"), (["true"], "Failed")])
def test_a_machine_whose_kubeadm_has_succeeded_is_not_lost_by_the_look_at_its_pods(
    tmp_path: Path, systemd: StandInSystemd, booted: bool, after: list[str], state: str
) -> None:
    """Booted, or ended from outside, in the middle of it. The user's commands that were to come are missing, though."""
    (tmp_path / "boot_id").write_text("boot-1\n")
    (tmp_path / "kubeadm").write_text("#!/bin/sh\necho v1.20.2\n")
    (tmp_path / "kubeadm").chmod(0o755)
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "etcd.yaml").write_text("")
    places = bootstrap_places(
        tmp_path,
        boot_id=str(tmp_path / "boot_id"),
        disks=Disks(manifests=str(tmp_path / "pods"), pod_logs=str(tmp_path / "logs"), seconds=600),
    )
    arguments = ["join", "--config", f"{places.kubeadm_run}/kubeadm.yaml"]
    data = {"kind": "join", "kubeadmVersion": "v1.20.2", "config": "kind: JoinConfiguration\n"}
    Bootstrap(places, systemd).start("step-1", {**data, "kubeadmArgs": arguments, "postKubeadmCommands": after})
    while not Path(places.work, "stage").exists() or Path(places.work, "stage").read_text() != "pods\n":
        os.sched_yield()
    if booted:
        systemd.end()
        Path(places.boot_id).write_text("boot-2\n")
        systemd = StandInSystemd()
    else:
        systemd.processes["kubeadm-control-plane-step-1.service"].terminate()
    report = Bootstrap(places, systemd).wait(20)
    assert report.state == state
    assert Bootstrap(places, systemd).look().state == state
