# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of an upgrade, staged by one module and installed by another: real apt and dpkg in folders of the test's own, a signed repository over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import sys
import typing as t
from pathlib import Path

import pytest
from package_repository import PackageRepository
from private_host import PrivateHost

NAMES = ("kubeadm", "kubelet", "kubectl")
OLD, NEW = "1.20.2-1.1", "1.21.0-1.1"
# What comes with Kubernetes: the newer kubeadm and kubelet don't do with the older ones.
COMPANIONS = {"cri-tools": "kubeadm", "kubernetes-cni": "kubelet"}
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="dpkg and mounts need root"),
    pytest.mark.skipif(shutil.which("apt-get") is None, reason="this host has no apt"),
]


class Node(PrivateHost):
    """A host with 1.20.2 from a repository that has 1.21.0 as well."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.repository = PackageRepository(folder / "packages")
        self.publish(OLD)
        self.source = {
            "name": "kubernetes",
            "url": self.repository.serve(),
            "key": self.repository.key.read_text(),
        }
        # What this machine has of these names is gone there alone. Nobody but root may look into the tests' folder.
        self.run(
            "sh",
            "-c",
            f"dpkg --purge --force-all {' '.join((*NAMES, *COMPANIONS))}; rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*;"
            "echo 'APT::Sandbox::User \"root\";' > /etc/apt/apt.conf.d/99-sandbox",
        )
        self.changed(self.module("host_packages", kubernetes_version="v1.20.2", repositories=[self.source]))
        self.publish(NEW)

    def publish(self, version: str) -> None:
        """Have a version in the repository."""
        number = version.partition("-")[0]
        for name in NAMES:
            needed = ", ".join(f"{each} (>= {number})" for each, by in COMPANIONS.items() if by == name)
            self.repository.pack(name, version, {f"/usr/local/bin/{name}": f"#!/bin/sh\necho v{number}\n"}, needed)
        for name in COMPANIONS:
            self.repository.pack(name, version, {f"/opt/tests/{name}": version})
        self.repository.publish()

    @staticmethod
    def changed(done: dict[str, t.Any]) -> bool:
        """Return whether a module changed something; it did not fail."""
        assert "failed" not in done, done
        return bool(done["changed"])

    def stage(self, version: str = "v1.21.0", **more: t.Any) -> dict[str, t.Any]:
        """Stage a version as the role does."""
        arguments = {"repositories": [self.source], **more}
        return self.module("host_packages", kubernetes_version=version, stage=True, **arguments)

    def upgrade(self, *names: str) -> dict[str, t.Any]:
        """Install programs as the Action does."""
        return self.module("kubernetes_binaries", version="v1.21.0", names=list(names), restart_kubelet=False)

    def play(self, hosts: dict[str, str]) -> str:
        """Run the role on this node under these names, with the version to stage for each; return what it printed."""
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
        entries = {name: {**local, "host_stage_version": version} for name, version in hosts.items()}
        variables = {
            "host_kubernetes_version": "v1.20.2",
            "host_kubernetes_repository": self.source["url"],
            "host_kubernetes_repository_key": str(self.repository.key),
        }
        role = {"import_role": {"name": "kubeadm.control_plane.host"}}
        play = {"name": "Prepare", "hosts": "all", "gather_facts": False, "vars": variables, "tasks": [role]}
        (self.folder / "play.yml").write_text(json.dumps([play]))
        (self.folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": entries}}))
        words = ["ansible-playbook", "-i", str(self.folder / "hosts.yml"), str(self.folder / "play.yml")]
        return self.run(*words, check=False)

    def state(self) -> str:
        """What is installed and held, and which repositories there are."""
        listed = "cat /etc/apt/sources.list.d/* /etc/apt/keyrings/*; ls /var/lib/apt/lists /var/cache/apt/archives"
        return self.run("sh", "-c", f"dpkg-query --show; apt-mark showhold; {listed}")

    def versions(self) -> dict[str, str]:
        """The installed versions."""
        lines = self.run("dpkg-query", "--show", *NAMES, *COMPANIONS).splitlines()
        return dict(line.split("\t") for line in lines)

    def staged(self) -> str:
        """The files that lie there for an upgrade."""
        return self.run("sh", "-c", "find /var/cache/kubeadm-control-plane -name '*.deb' || true")


@pytest.fixture(name="node")
def _node(tmp_path: Path) -> t.Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.repository.stop()


def test_what_is_staged_is_installed_when_the_repository_is_gone(node: Node) -> None:
    """Nothing but a folder is changed until then; a second call changes nothing. What is held stays so, and nothing is left."""
    before = node.state()
    assert node.changed(node.stage(_ansible_check_mode=True)) and not node.staged()
    done = node.stage()
    assert node.changed(done) and done["packages"] == dict.fromkeys(NAMES, NEW)
    assert node.state() == before
    assert not node.changed(node.stage())
    # The package manager's own cleaning leaves them.
    node.run("apt-get", "clean")
    node.repository.stop()

    assert node.changed(node.upgrade("kubeadm"))
    assert node.versions() == {
        **dict.fromkeys(NAMES, OLD),
        "kubeadm": NEW,
        "cri-tools": NEW,
        "kubernetes-cni": OLD,
    }
    assert node.changed(node.upgrade("kubelet", "kubectl"))
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), NEW)
    assert node.run("apt-mark", "showhold").split() == ["cri-tools", *sorted(NAMES)]
    assert not node.staged()
    assert not node.changed(node.stage())


def test_archives_are_staged_where_no_repository_can_be_reached(node: Node, tmp_path: Path) -> None:
    """They are still there when the folder that they came in is gone."""
    archives = tmp_path / "archives"
    shutil.copytree(node.repository.folder, archives)
    node.repository.stop()
    before = node.state()
    node.changed(node.stage(repositories=[], archives=str(archives)))
    assert node.state() == before
    shutil.rmtree(archives)
    node.changed(node.upgrade(*NAMES))
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), NEW)
    assert not node.staged()


def test_what_cannot_be_had_is_refused_and_leaves_what_is_staged(node: Node) -> None:
    """A version that no repository has, in check mode as well. An upgrade for which something is gone since says where it was."""
    node.changed(node.stage())
    there = node.staged()
    for check in (True, False):
        refused = node.stage("v1.22.5", _ansible_check_mode=check)
        assert len(refused["problems"]) == 3, refused
        assert f"No repository of this host has kubeadm 1.22.5-*; they have {NEW}, {OLD}." in refused["msg"]
    assert node.staged() == there
    node.run("sh", "-c", "rm $(find /var/cache/kubeadm-control-plane -name 'kubectl*.deb')")
    node.repository.stop()
    said = node.upgrade("kubectl")
    assert said["failed"] and "They were staged in /var/cache/kubeadm-control-plane/packages." in said["msg"], said
    assert node.versions()["kubectl"] == OLD and "kubectl" in node.run("apt-mark", "showhold")


def test_a_spare_host_gets_newer_companions_with_a_newer_version(node: Node) -> None:
    """They are held, and the newer kubeadm needs them."""
    newer = {"kubernetes_version": "v1.21.0", "repositories": [node.source], "change_held": True}
    assert node.changed(node.module("host_packages", **newer, _ansible_check_mode=True))
    assert node.changed(node.module("host_packages", **newer))
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), NEW)
    assert node.run("apt-mark", "showhold").split() == ["cri-tools", *sorted(NAMES)]


@pytest.mark.full
def test_the_role_stages_on_nodes_and_touches_nothing_else_there(node: Node) -> None:
    """All reasons of all nodes first, and then nothing on any; a second run changes nothing."""
    node.run("sh", "-c", "mkdir -p /etc/kubernetes && touch /etc/kubernetes/kubelet.conf")
    before = node.state()
    said = node.play({"fit": "v1.21.0", "unfit": "v1.22.5"})
    assert "  unfit: No repository of this host has kubeadm 1.22.5-*" in said and "  fit: " not in said, said
    assert not node.staged()
    said = node.play({"fit": "v1.21.0"})
    assert "that packages of v1.21.0 are staged" in said and "changed=1 " in said, said
    assert node.state() == before and node.staged().count("_1.21.0-1.1_") == 5
    assert "changed=0 " in node.play({"fit": "v1.21.0"})
    assert "changed=0 " in node.play({"fit": ""})
