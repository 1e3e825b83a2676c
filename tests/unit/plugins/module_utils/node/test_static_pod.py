# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A static pod whose kubelet waits before it starts it again, or does not end it at all."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.static_pod import Places, StaticPod

COMPONENT = "kube-scheduler"
# Field 22 of proc(5) is a process's start.
STAT = f"7 ({COMPONENT}) S " + " ".join(["0"] * 18) + " 4711 0"


class Host:
    """A machine with the pod's manifest, whose kubelet starts the pod once it is restarted."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(
            kubernetes=str(folder),
            state=str(folder / "state"),
            proc=str(folder / "proc"),
            pod_logs=str(folder / "logs"),
        )
        self.process = folder / "proc" / "7"
        (folder / "proc").mkdir()
        (folder / "manifests").mkdir()
        (folder / "manifests" / f"{COMPONENT}.yaml").write_text("kind: Pod\n")
        self.commands: list[list[str]] = []

    def systemctl(self, command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Restart the kubelet."""
        self.commands.append(list(command))
        self.process.mkdir()
        (self.process / "comm").write_text(COMPONENT)
        (self.process / "stat").write_text(STAT)
        (self.process / "cgroup").write_text("")
        return subprocess.CompletedProcess(command, 0, "", "")


def test_a_pod_that_the_kubelet_waits_with_is_started_by_its_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it ran from the beginning, so the kubelet is not given the time that the end of a process takes."""
    host = Host(tmp_path)
    monkeypatch.setattr(settings, "BACK_OFF_AGAIN_SECONDS", 0.0)
    done = StaticPod(COMPONENT, host.places, host.systemctl).restart(seconds=5, healthy=False)
    assert done.changed and host.commands == [["systemctl", "restart", "kubelet.service"]]


def test_it_is_restarted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that does not come for all that is an error."""
    host = Host(tmp_path)
    monkeypatch.setattr(settings, "BACK_OFF_AGAIN_SECONDS", 0.0)

    def in_vain(command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        host.commands.append(list(command))
        return subprocess.CompletedProcess(command, 0, "", "")

    with pytest.raises(NodeError, match="no process of it is there"):
        StaticPod(COMPONENT, host.places, in_vain).restart(seconds=0.3, healthy=False)
    assert len(host.commands) == 1


@pytest.fixture(name="forgetful")
def _forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[tuple[Host, subprocess.Popen[bytes]]]:
    """A machine whose kubelet does not end the pod, and the pod's process, which is a real one."""
    host = Host(tmp_path)
    program = shutil.which("sleep")
    assert program
    shutil.copy(program, tmp_path / COMPONENT)
    for name in ("BACK_OFF_SECONDS", "POD_END_SECONDS"):
        monkeypatch.setattr(settings, name, 0.0)
    with subprocess.Popen([str(tmp_path / COMPONENT), "600"]) as process:
        # Popen may come back before the kernel has given the process its new name.
        while Path(f"/proc/{process.pid}/comm").read_text() != f"{COMPONENT}\n":
            os.sched_yield()
        os.symlink(f"/proc/{process.pid}", host.process.parent / str(process.pid))
        yield host, process
        process.kill()


def test_a_process_that_no_kubelet_ends_is_ended(forgetful: tuple[Host, subprocess.Popen[bytes]]) -> None:
    host, process = forgetful
    pod = StaticPod(COMPONENT, host.places, host.systemctl)
    Path(pod.manifest).write_text("spec:\n  terminationGracePeriodSeconds: 0\n")
    assert pod.restart(seconds=30, healthy=False).changed
    assert process.wait() == -signal.SIGTERM
    assert Path(pod.manifest).exists()


def test_no_process_is_ended_in_the_time_that_its_pod_has(forgetful: tuple[Host, subprocess.Popen[bytes]]) -> None:
    host, process = forgetful
    pod = StaticPod(COMPONENT, host.places, host.systemctl)
    with pytest.raises(NodeError, match="did not end in time"):
        pod.restart(seconds=0.3, healthy=False)
    assert process.poll() is None and Path(pod.manifest).exists()


def test_a_request_without_a_name_restarts_also_after_one_that_failed(
    forgetful: tuple[Host, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod that did not come has come by itself since: that process is ended, not taken for the one that was asked for."""
    host, process = forgetful
    pod = StaticPod(COMPONENT, host.places, host.systemctl)
    Path(pod.manifest).write_text("spec:\n  terminationGracePeriodSeconds: 0\n")
    own = host.process.parent / str(process.pid)
    own.unlink()
    monkeypatch.setattr(settings, "BACK_OFF_AGAIN_SECONDS", 60.0)
    with pytest.raises(NodeError, match="no process of it is there"):
        pod.restart(seconds=0.2, healthy=False)
    own.symlink_to(f"/proc/{process.pid}")
    assert pod.restart(seconds=30, healthy=False).changed
    assert process.poll() == -signal.SIGTERM


def test_etcd_with_a_manifest_that_was_left_parked_is_not_stopped_without_its_quorum(tmp_path: Path) -> None:
    """A restart that was killed long ago left it, and a newer one is in its place: etcd may run."""
    places = Host(tmp_path).places
    (tmp_path / "kubeadm-control-plane").mkdir()
    for folder in (places.manifests, places.parked):
        (Path(folder) / "etcd.yaml").write_text("kind: Pod\n")
    silent = replace(places, etcd_url="https://127.0.0.1:1", credentials=None)
    with pytest.raises(NodeError, match="unknown whether etcd has a quorum"):
        StaticPod("etcd", silent).restart(seconds=0.1, healthy=False)
    assert Path(places.parked, "etcd.yaml").exists() and Path(places.manifests, "etcd.yaml").exists()
