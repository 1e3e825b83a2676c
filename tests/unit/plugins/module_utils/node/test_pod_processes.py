# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes are a static pod's: by name, by the UID in the control group, and only those that run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.pod_processes import (
    alive,
    instances,
    last_words,
)

UID, OTHER = "0123456789abcdef0123456789abcdef", "11111111-2222-3333-4444-555555555555"


class Machine:
    """A folder of processes and one of pods' logs."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.logs = folder / "proc", folder / "logs"
        self.proc.mkdir()
        (self.proc / "self").mkdir()
        self.logs.mkdir()

    def process(self, pid: int, comm: str, cgroup: str = "/", started: int = 7, state: str = "S") -> None:
        """A process."""
        folder = self.proc / str(pid)
        folder.mkdir()
        (folder / "comm").write_text(f"{comm}\n")
        (folder / "cgroup").write_text(f"1:name=systemd:{cgroup}\n")
        numbers = " ".join(["1"] * 18)
        (folder / "stat").write_text(f"{pid} ({comm} (x)) {state} {numbers} {started} 0\n")

    def pod(self, name: str, uid: str, text: str = "", namespace: str = "kube-system") -> None:
        """A pod's logs."""
        folder = self.logs / f"{namespace}_{name}_{uid}" / name.rsplit("-", 1)[0]
        folder.mkdir(parents=True)
        (folder / "0.log").write_text(text)

    def found(self, component: str) -> set[tuple[int, int]]:
        """The component's processes."""
        return instances(component, str(self.proc), str(self.logs))


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_pods_own_process(machine: Machine) -> None:
    """Another cluster's API server that runs in a pod of this machine is none of the static pod's."""
    machine.pod("kube-apiserver-node1", UID)
    machine.process(10, "kube-apiserver", f"/kubepods/burstable/pod{UID}/c0ffee", started=70)
    machine.process(11, "kube-apiserver", f"/kubepods/burstable/pod{OTHER}/c0ffee")
    machine.process(12, "pause", f"/kubepods/burstable/pod{UID}/beef")
    assert machine.found("kube-apiserver") == {(10, 70)}


def test_the_forms_of_a_control_groups_name(machine: Machine) -> None:
    """systemd's driver writes underscores for a UID's dashes; the kernel cuts a long name."""
    machine.pod("kube-controller-manager-node1", OTHER)
    group = f"/kubepods.slice/kubepods-pod{OTHER.replace('-', '_')}.slice/cri-containerd-1.scope"
    machine.process(10, "kube-controller", group)
    assert machine.found("kube-controller-manager") == {(10, 7)}


def test_without_control_groups_of_pods(machine: Machine) -> None:
    """Where the kubelet makes none the name decides."""
    machine.pod("etcd-node1", UID)
    machine.process(10, "etcd")
    assert machine.found("etcd") == {(10, 7)}


def test_what_has_ended(machine: Machine) -> None:
    """A process that nobody has reaped yet, and one that went while it was looked at."""
    machine.process(10, "etcd", state="Z")
    (machine.proc / "11").mkdir()
    assert machine.found("etcd") == set()


def test_the_old_pod_is_gone_while_another_clusters_runs(machine: Machine) -> None:
    """Nothing of the static pod's own runs: the foreign one is not taken for it."""
    machine.pod("etcd-node1", UID)
    machine.process(11, "etcd", f"/kubepods/pod{OTHER}/c0ffee")
    assert machine.found("etcd") == set()


def test_last_words(machine: Machine) -> None:
    """The end of the newest log, without the container runtime's own fields."""
    lines = [f"2026-11-21T19:00:0{number}.0Z stderr F line {number}" for number in range(5)]
    machine.pod("etcd-node1", UID, "\n".join(lines))
    assert last_words("etcd", str(machine.logs)) == "line 2 | line 3 | line 4"
    assert last_words("kube-scheduler", str(machine.logs)) == ""


def test_a_process_that_is_still_ending_is_one_though_its_pods_logs_are_gone(machine: Machine) -> None:
    """A kubelet removes the logs of a pod that is no more; the process may answer its last requests for a while."""
    machine.pod("kube-apiserver-node1", OTHER)
    machine.process(10, "kube-apiserver", f"/kubepods/burstable/pod{UID}/c0ffee", started=70)
    machine.process(11, "kube-apiserver", f"/kubepods/burstable/pod{OTHER}/c0ffee", started=80)
    machine.process(12, "kube-apiserver", f"/kubepods/burstable/pod{UID}/c0ffee", started=60, state="Z")
    assert machine.found("kube-apiserver") == {(11, 80)}
    before = {(10, 70), (12, 60), (13, 50), (11, 79)}
    assert alive(before, str(machine.proc)) == {(10, 70)}
