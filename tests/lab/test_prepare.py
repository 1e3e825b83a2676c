# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bare hosts become members of a pool, and a control plane: real Debian, real apt with a signed repository, Debian's containerd."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from bare_hosts import CRI, BareHosts, address_of_controller, repository_of
from host_pool import GROUP, pool_documents
from package_repository import PackageRepository
from workspace import Run, Workspace, cluster_documents

pytestmark = pytest.mark.full

NAME = "lab-prepare"
STATE = "dpkg-query --show | sha256sum; find /etc /usr/bin -newer /root/.ssh/authorized_keys -type f -exec sha256sum {} + | sort | sha256sum; cat /proc/swaps"


class Lab:
    """Two bare hosts, their repository, and a cluster that is to be made of them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.hosts = BareHosts(workspace.folder, "bare")
        self.repository: t.Optional[PackageRepository] = None

    def make(self) -> None:
        """Make hosts and repository, and write what a user writes."""
        [self.first, self.second] = self.hosts.make(2)
        self.repository = repository_of(self.hosts)
        variables = {
            "host_kubernetes_repository": self.repository.serve(address_of_controller()),
            "host_kubernetes_repository_key": str(self.repository.key),
            "host_containerd_cri": CRI,
        }
        self.inventory = self.hosts.inventory(variables=variables)
        documents = cluster_documents(NAME, replicas=1)
        needs = {**self.hosts.needs, "skipPhases": ["addon/coredns", "addon/kube-proxy"]}
        pool_documents(documents, {"group": GROUP, "kubeadm": needs}, self.hosts.addresses[self.first])
        self.workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))

    def play(self, playbook: str, *more: str) -> Run:
        """Run a playbook with both inventories."""
        return self.workspace.playbook(playbook, "-i", str(self.inventory), *more)


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> t.Iterator[Lab]:
    """Bare hosts."""
    made = Lab(workspace)
    try:
        made.make()
        yield made
        if workspace.store.is_dir():
            made.play("delete", "-e", f"control_plane_delete={NAME}")
    finally:
        if made.repository:
            made.repository.stop()
        made.hosts.remove()


def test_what_is_wrong_on_one_host_leaves_all_as_they_are(lab: Lab) -> None:
    """Swap that comes back, cgroup drivers that differ: said of every host at once. Check mode changes nothing either."""
    lab.hosts.ssh(
        lab.second,
        "printf '[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/zramswap.service",
    )
    lab.hosts.ssh(lab.second, "systemctl enable zramswap.service")
    before = [lab.hosts.ssh(name, STATE) for name in (lab.first, lab.second)]
    said = lab.play("prepare", "-e", "host_cgroup_driver=systemd").failed().text
    assert f"{lab.first}: The cgroup drivers differ" in said
    assert f"{lab.second}: The cgroup drivers differ" in said
    assert "Swap comes back at boot by a service" in said
    lab.hosts.ssh(lab.second, "systemctl disable zramswap.service")
    foreseen = lab.play("prepare", "--check", "--diff")
    assert "kubeadm is not there" in foreseen.failed().text
    assert foreseen.recap(lab.first)["failed"] == 0
    assert [lab.hosts.ssh(name, STATE) for name in (lab.first, lab.second)] == before


def test_bare_hosts_lack_nothing_afterwards(lab: Lab) -> None:
    """The packages at exactly that version, held; what comes back at boot does not; a second run changes nothing."""
    lab.hosts.ssh(lab.first, "echo '/dev/sdz9 none swap sw 0 0' > /etc/fstab")
    done = lab.play("prepare").succeeded()
    assert done.text.count("is free and lacks nothing") == 2
    assert lab.hosts.ssh(lab.first, "cat /etc/fstab") == "# /dev/sdz9 none swap sw 0 0\n"
    assert lab.hosts.ssh(lab.first, "apt-mark showhold").split() == ["cri-tools", "kubeadm", "kubectl", "kubelet"]
    again = lab.play("prepare").succeeded()
    assert [again.recap(name)["changed"] for name in (lab.first, lab.second)] == [0, 0]


def test_one_command_makes_a_control_plane_of_them(lab: Lab) -> None:
    """Its endpoint is the host's own address. Again it changes nothing: neither the host that carries it, nor the free one, nor the cluster."""
    lab.play("site").succeeded()
    assert "HEALTHY" in lab.play("status").succeeded().text
    again = lab.play("site").succeeded()
    assert [again.recap(name)["changed"] for name in (lab.first, lab.second, NAME)] == [0, 0, 0]
