# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A static pod restarted: a real etcd among three, its manifest read by a stand-in for the kubelet."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import typing as t
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from etcd_cluster import EtcdCluster, until
from static_pods import StandInKubelet, static_pod

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError, read_text
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.static_pod import Places, StaticPod

Make = t.Callable[..., EtcdCluster]
QUICK = ("--heartbeat-interval=25", "--election-timeout=250")


class OwnProcesses:
    """A view of /proc with one machine's etcd alone: on the host that runs the tests there are others."""

    def __init__(self, folder: Path, word: str) -> None:
        folder.mkdir()
        self.folder = folder
        self._word = word
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def pids(self) -> list[int]:
        """The processes in the view that are there."""
        return [int(each.name) for each in self.folder.iterdir() if each.exists()]

    def stop(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(0.01):
            for task in Path("/proc/self/task").iterdir():
                for pid in read_text(str(task / "children")).split():
                    link = self.folder / pid
                    if not link.is_symlink() and self._word in read_text(f"/proc/{pid}/cmdline").split("\0"):
                        with contextlib.suppress(FileExistsError):
                            link.symlink_to(f"/proc/{pid}")


@dataclass
class Node:
    """The machine of the cluster's first member."""

    cluster: EtcdCluster
    pod: StaticPod
    kubelet: StandInKubelet
    processes: OwnProcesses

    @property
    def manifest(self) -> Path:
        """etcd's manifest."""
        return Path(self.pod.manifest)

    def pid(self) -> int:
        """The process of its etcd."""
        [pid] = self.processes.pids()
        return pid


@pytest.fixture(name="node")
def _node(make_cluster: Make, tmp_path: Path) -> t.Iterator[Node]:
    """Three members; a stand-in kubelet runs the first one."""
    cluster = make_cluster(3, options=QUICK)
    member = cluster.members[0]
    assert member.process is not None
    words = t.cast("list[str]", member.process.args)
    member.kill()
    manifests = tmp_path / "kubernetes" / "manifests"
    manifests.mkdir(parents=True)
    (manifests / "etcd.yaml").write_text(static_pod(words), encoding="utf-8")
    processes = OwnProcesses(tmp_path / "proc", f"--data-dir={member.directory / 'data'}")
    places = Places(
        kubernetes=str(manifests.parent),
        state=str(tmp_path / "state"),
        proc=str(processes.folder),
        pod_logs=str(tmp_path / "pod-logs"),
        etcd_url=member.client_url,
        credentials=cluster.credentials,
        kubelet="",
    )
    made = Node(cluster, StaticPod("etcd", places), StandInKubelet(manifests), processes)
    try:
        until("etcd runs from its manifest", lambda: made.pod.unhealthy() == "" and made.processes.pids())
        yield made
    finally:
        for pid in made.processes.pids():
            os.kill(pid, signal.SIGCONT)
        made.kubelet.stop()
        made.processes.stop()


def test_a_new_process_with_the_same_manifest(node: Node) -> None:
    """The old process ends, a new one answers, nothing is left moved out; the same request is not carried out twice."""
    before, manifest = node.pid(), node.manifest.read_text()
    assert node.pod.restart(once="renewal").changed
    after = node.pid()
    assert after != before
    assert node.manifest.read_text() == manifest
    assert node.pod.unhealthy() == ""
    again = node.pod.restart(once="renewal")
    assert (again.changed, node.pid()) == (False, after)
    assert "already" in again.message
    assert node.pod.restart(once="another").changed
    assert node.pid() != after
    assert list(Path(node.pod.places.parked).iterdir()) == []


def test_check_mode(node: Node) -> None:
    """It tells what it would do, and does nothing."""
    before = node.pid()
    assert node.pod.restart(once="renewal", check=True).changed
    assert node.pid() == before
    assert node.pod.restart(once="renewal").changed


def test_refused_where_quorum_would_be_lost(node: Node) -> None:
    """With one of the other two down, this one is needed; with force it is restarted all the same."""
    node.cluster.members[1].kill()
    before = node.pid()
    with pytest.raises(NodeError, match="has 3 voters and needs 2; without this machine 1 healthy ones stay"):
        node.pod.restart(seconds=2)
    assert (node.pid(), node.manifest.exists()) == (before, True)
    assert node.pod.restart(force=True).changed
    assert node.pid() != before


def test_refused_where_nobody_can_tell(node: Node) -> None:
    """Without an answer of etcd nobody knows; with force a process is what is waited for, where health is not asked for."""
    for member in node.cluster.members[1:]:
        member.kill()
    lonely = replace(node.pod, places=replace(node.pod.places, etcd_url="https://127.0.0.1:1"))
    with pytest.raises(NodeError, match="It is unknown"):
        lonely.restart(seconds=1)
    before = node.pid()
    assert node.pod.restart(force=True, healthy=False).changed
    assert node.pid() != before
    assert node.pod.unhealthy() != ""


def test_etcd_that_is_silent_for_a_moment(node: Node) -> None:
    """A busy host's etcd is asked again; a rotation isn't stopped by one late answer."""
    before = node.pid()
    os.kill(before, signal.SIGSTOP)
    waking = threading.Timer(4.0, os.kill, (before, signal.SIGCONT))
    waking.start()
    try:
        assert node.pod.restart(seconds=60).changed
    finally:
        waking.join()
    assert node.pid() != before


def test_one_that_does_not_end(node: Node) -> None:
    """The manifest is put back when the time is over, and the next call restarts it."""
    manifest = node.manifest.read_text()
    os.kill(node.pid(), signal.SIGSTOP)
    with pytest.raises(NodeError, match="did not end in time"):
        node.pod.restart(seconds=0.5, force=True)
    assert node.manifest.read_text() == manifest
    os.kill(node.pid(), signal.SIGCONT)
    assert node.pod.restart(force=True).changed
    until("etcd is well again", lambda: node.pod.unhealthy() == "")


def test_killed_in_the_middle(node: Node) -> None:
    """A call that is killed while the manifest is moved out is completed by the next one."""
    before, manifest = node.pid(), node.manifest.read_text()
    os.kill(before, signal.SIGSTOP)
    call = multiprocessing.get_context("spawn").Process(target=node.pod.restart, kwargs={"once": "a", "force": True})
    call.start()
    until("the manifest is moved out", lambda: not node.manifest.exists())
    assert call.pid is not None
    os.kill(call.pid, signal.SIGKILL)
    call.join()
    os.kill(before, signal.SIGCONT)
    assert not node.manifest.exists()
    assert node.pod.restart(once="a").changed
    assert node.manifest.read_text() == manifest
    assert node.pid() != before
    assert not node.pod.restart(once="a").changed


def test_a_newer_manifest_is_kept(node: Node) -> None:
    """What somebody writes while the old manifest is moved out is what the kubelet reads afterwards."""
    newer = node.manifest.read_text() + "# newer\n"
    os.kill(node.pid(), signal.SIGSTOP)
    call = multiprocessing.get_context("spawn").Process(target=node.pod.restart, kwargs={"force": True})
    call.start()
    until("the manifest is moved out", lambda: not node.manifest.exists())
    assert call.pid is not None
    os.kill(call.pid, signal.SIGKILL)
    call.join()
    os.kill(node.pid(), signal.SIGCONT)
    node.manifest.write_text(newer)
    until("etcd is back", lambda: answers(node))
    assert node.pod.restart().changed
    assert node.manifest.read_text() == newer


def answers(node: Node) -> bool:
    """Whether its etcd answers."""
    with contextlib.suppress(EtcdError, Unreachable):
        return node.pod.unhealthy() == ""
    return False


def test_no_static_pod(node: Node) -> None:
    """A worker, or an external etcd, has none."""
    scheduler = replace(node.pod, component="kube-scheduler")
    with pytest.raises(NodeError, match="kube-scheduler is no static pod of this machine"):
        scheduler.restart()
