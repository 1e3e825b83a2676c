# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which component runs since before its files were written, by a view of /proc."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import guard
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.component_age import Components
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.static_pod import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A machine with an API server that was started ten seconds ago."""
    (tmp_path / "kubernetes" / "manifests").mkdir(parents=True)
    manifest = tmp_path / "kubernetes" / "manifests" / "kube-apiserver.yaml"
    manifest.write_text("x")
    os.utime(manifest, (0, 0))
    process(tmp_path, 7, "kube-apiserver", 10.0)
    return Places(
        kubernetes=str(tmp_path / "kubernetes"),
        proc=str(tmp_path / "proc"),
        pod_logs=str(tmp_path / "logs"),
        state=str(tmp_path / "state"),
        kubelet="",
    )


def process(root: Path, pid: int, name: str, seconds_ago: float) -> None:
    """A process that was started so many seconds ago."""
    ticks = int((time.clock_gettime(time.CLOCK_BOOTTIME) - seconds_ago) * os.sysconf("SC_CLK_TCK"))
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cgroup").write_text("0::/\n")
    (folder / "stat").write_text(f"{pid} ({name}) S {' '.join(['0'] * 18)} {ticks} 0\n")


def written(path: Path, seconds_ago: float) -> str:
    path.write_text("x")
    then = time.time() - seconds_ago
    os.utime(path, (then, then))
    return str(path)


def runner(pid: int) -> t.Callable[[t.Sequence[str]], subprocess.CompletedProcess[str]]:
    return lambda words: subprocess.CompletedProcess(list(words), 0, f"MainPID={pid}\n", "")


@pytest.mark.parametrize(("seconds_ago", "current"), [(20, True), (5, False)])
def test_what_was_started_after_its_files_has_read_them(
    tmp_path: Path, places: Places, seconds_ago: float, current: bool
) -> None:
    file = written(tmp_path / "ca.crt", seconds_ago)
    components = Components({"kube-apiserver": [file]}, places)
    assert components.age("kube-apiserver").current is current
    assert components.restart_old(1.0, check=True) == ([] if current else ["kube-apiserver"])


def test_a_manifest_is_one_of_its_files(tmp_path: Path, places: Places) -> None:
    written(tmp_path / "kubernetes" / "manifests" / "kube-apiserver.yaml", 5)
    assert not Components({"kube-apiserver": []}, places).age("kube-apiserver").current


def test_the_oldest_of_its_processes_counts(tmp_path: Path, places: Places) -> None:
    """While a pod is replaced, the one before it may still serve."""
    file = written(tmp_path / "ca.crt", 5)
    process(tmp_path, 8, "kube-apiserver", 1.0)
    assert not Components({"kube-apiserver": [file]}, places).age("kube-apiserver").current


def test_what_does_not_run_has_read_nothing(tmp_path: Path, places: Places) -> None:
    age = Components({"etcd": [written(tmp_path / "ca.crt", 5)]}, places).age("etcd")
    assert (age.current, age.document()["running"]) == (False, False)


@pytest.mark.parametrize(("pid", "running"), [(9, True), (0, False), (77, False)])
def test_the_kubelet_is_asked_of_systemd(tmp_path: Path, places: Places, pid: int, running: bool) -> None:
    process(tmp_path, 9, "kubelet", 3.0)
    components = Components({"kubelet": [written(tmp_path / "kubelet.conf", 5)]}, places, runner(pid))
    age = components.age("kubelet")
    assert (age.started is not None, age.current) == (running, running)


@pytest.mark.parametrize(("suffix", "current"), [("", True), ("-4711", False)])
def test_a_certificate_that_the_kubelet_got_by_itself_is_in_use(
    tmp_path: Path, places: Places, suffix: str, current: bool
) -> None:
    """One that was written for it is not, until it is restarted."""
    process(tmp_path, 9, "kubelet", 10.0)
    name = f"kubelet-client-2026-11-21-22-00-00{suffix}.pem"
    written(tmp_path / name, 5)
    link = tmp_path / "kubelet-client-current.pem"
    link.symlink_to(tmp_path / name)
    assert Components({"kubelet": [str(link)]}, places, runner(9)).age("kubelet").current is current


def test_what_a_killed_run_restarts_still_is_not_restarted_again(tmp_path: Path, places: Places) -> None:
    """Its module goes on for a while after its connection is gone."""
    process(tmp_path, 9, "kubelet", 10.0)
    path = tmp_path / "kubelet.conf"
    components = Components({"kubelet": [written(path, 5)]}, places, runner(9))
    assert not components.age("kubelet").current
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(components.restart_old(1.0)))
    with guard.exclusive(os.path.join(places.state, "restarts")):
        thread.start()
        process(tmp_path, 9, "kubelet", 1.0)
    thread.join()
    assert found == [[]]
