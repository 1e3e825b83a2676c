# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bootstrap does of a static pod that the kubelet has not taken: a real shell, and a systemctl that writes what it was asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.script import Disks, render

BOTH = ["etcd-m1_uid", "kube-apiserver-m1_uid"]


@pytest.mark.parametrize(
    ("taken", "folder_of_configuration", "asked"),
    [
        (BOTH, False, ""),
        (BOTH, True, ""),
        (BOTH[1:], False, "restart kubelet\n"),
        (BOTH[:1], True, "restart kubelet\n"),
    ],
)
def test_the_kubelet_is_started_again(
    tmp_path: Path, taken: list[str], folder_of_configuration: bool, asked: str
) -> None:
    """Once; a pod without a manifest is none. The kubelet's configuration may name another folder of logs."""
    logs, kubelet, manifests, work, tools = (
        tmp_path / name for name in ("logs", "kubelet", "manifests", "work", "bin")
    )
    for folder in (logs, kubelet, manifests, work, tools):
        folder.mkdir()
    for name in taken:
        (logs / f"kube-system_{name}").mkdir()
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
