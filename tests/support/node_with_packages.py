# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with packages of Kubernetes, and a signed repository that has newer ones: real apt and dpkg in folders of its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from package_repository import PackageRepository
from private_host import MODULES, ROOT, PrivateHost

NAMES = ("kubeadm", "kubelet", "kubectl")
OLD, NEW = "1.20.2-1.1", "1.21.0-1.1"
# What comes with Kubernetes: the newer kubeadm and kubelet don't do with the older ones.
COMPANIONS = {"cri-tools": "kubeadm", "kubernetes-cni": "kubelet"}
IMAGES = ("r.example.com/kube-apiserver", "r.example.com/etcd", "r.example.com/coredns")
HAS_APT = [
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
        self.forget_packages(*NAMES, *COMPANIONS)
        self.changed(self.module("host_packages", kubernetes_version="v1.20.2", repositories=[self.source]))
        self.publish(NEW)

    def end(self) -> None:
        """See the base class."""
        self.repository.stop()

    def publish(self, version: str, least: str = "") -> None:
        """Have a version in the repository; it needs companions of a ``least`` version, by default of its own."""
        number = version.partition("-")[0]
        for name in NAMES:
            needed = ", ".join(f"{each} (>= {least or number})" for each, by in COMPANIONS.items() if by == name)
            images = "\n".join(f"{each}:v{number}" for each in IMAGES)
            program = f"#!/bin/sh\n[ $1 = config ] && echo '{images}' || echo v{number}\n"
            self.repository.pack(name, version, {f"/usr/local/bin/{name}": program}, needed)
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

    def module_within(self, shell: str, name: str, **arguments: t.Any) -> str:
        """Run a module as ``$module`` of a shell's words; return what it printed."""
        path = self.folder / "arguments.json"
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_remote_tmp": "/tmp"}}))
        return self.run("sh", "-c", f"module='{sys.executable} -m {MODULES}.{name} {path}'; {shell}", check=False)

    def upgrade(self, *names: str) -> dict[str, t.Any]:
        """Install programs as the Action does."""
        return self.module("kubernetes_binaries", version="v1.21.0", names=list(names), restart_kubelet=False)

    def play(self, hosts: dict[str, str], others: t.Sequence[str] = (), *more: str) -> str:
        """Run the play of the playbook prepare on this node under these names, with the version to stage for each; return what it printed.

        ``others`` are of a cluster that is not selected.
        """
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
        entries = {name: {**local, "host_stage_version": version} for name, version in hosts.items()}
        rows = [{"name": each, "machine": "" if each in others else f"m-{each}", "missing": []} for each in hosts]
        wanted = {
            "kubernetes_version": "v1.20.2",
            "images": {"criSocket": "/run/containerd/containerd.sock"},
            "cgroup_driver": "",
            "bind_port": 6443,
            "endpoint_port": 0,
        }
        found = {
            "host_names_to_prepare": list(hosts),
            "control_plane_hosts": {"hosts": rows, "wanted": wanted},
        }
        # As in the playbook, another play is before it: the first one of a run knows no host's variables.
        first = {"name": "Find the hosts", "hosts": "control_planes", "gather_facts": False}
        play = yaml.safe_load((ROOT / "playbooks/prepare.yml").read_text())[2]
        play["vars"] |= {
            "host_kubernetes_repository": self.source["url"],
            "host_kubernetes_repository_key": str(self.repository.key),
        }
        play["vars_files"] = [str(ROOT / "playbooks/vars" / each) for each in play["vars_files"]]
        (self.folder / "play.yml").write_text(json.dumps([first, play]))
        groups = {"control_planes": {"hosts": {"selected": found}}, "kubeadm_pool": {"hosts": entries}}
        (self.folder / "hosts.yml").write_text(json.dumps(groups))
        words = ["ansible-playbook", "-i", str(self.folder / "hosts.yml"), str(self.folder / "play.yml"), *more]
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

    def listed(self) -> str:
        """All that is staged, but for what apt writes when it only simulates."""
        return self.run("sh", "-c", "find /var/cache/kubeadm-control-plane ! -path '*.bin' ! -path '*/log/*' | sort")
