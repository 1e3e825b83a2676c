# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of a bare host of Red Hat's family: the module, with real dnf and rpm, in folders of the test's own; a signed repository over HTTP."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

import pytest
from private_host import PrivateHost
from rpm_repository import RpmRepository

OLD, NEW = "1.20.2-150500.1.1", "1.21.0-150500.1.1"
NAMES = ("kubeadm", "kubelet", "kubectl")
TOOLS = ("dnf", "rpmbuild", "rpmsign", "createrepo_c")
Object = dict[str, t.Any]
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root"),
    pytest.mark.skipif(
        any(shutil.which(each) is None for each in TOOLS),
        reason="no dnf: tests/tools/optional_packages.sh gets it where there is apt-get",
    ),
]
RELEASE = 'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n'


@pytest.fixture(name="repository", scope="module")
def _repository(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[RpmRepository]:
    made = RpmRepository(tmp_path_factory.mktemp("repository"))
    for version in (OLD, NEW):
        for name in NAMES:
            needed = {"kubeadm": "cri-tools", "kubelet": "kubernetes-cni"}.get(name, "")
            made.pack(name, version, {f"/opt/kubernetes/{name}": f"#!/bin/sh\n# {version}\n"}, needed)
    for name in ("cri-tools", "kubernetes-cni"):
        made.pack(name, "1.20.0-150500.1.1", {f"/opt/kubernetes/{name}": "#!/bin/sh\n"})
    made.pack("containerd.io", "1.6.20-3.1.el9", {"/opt/kubernetes/containerd": "#!/bin/sh\n"})
    # As from RHEL 9 on.
    made.pack("iptables-nft", "1.8.10-2.el9", {"/opt/kubernetes/iptables": "#!/bin/sh\n"}, more="Provides: iptables\n")
    made.pack("podman", "4-1", {"/opt/kubernetes/podman": "#!/bin/sh\n"}, more="Conflicts: containerd.io\n")
    made.publish()
    yield made
    made.stop()


@pytest.fixture(name="url", scope="module")
def _url(repository: RpmRepository) -> str:
    return repository.serve()


class Host(PrivateHost):
    """A host that says it is of Red Hat's family; nothing is installed on it by rpm."""

    def ensure(self, key: Path, url: str, version: str = "v1.20.2", **more: t.Any) -> Object:
        """Run the module as the role does."""
        repository = {"name": "kubernetes", "url": url, "key": key.read_text() if key.is_file() else ""}
        own = {"repositories": [repository], "packages": ["containerd.io", "iptables"], **more}
        return self.module("host_packages", kubernetes_version=version, **own)

    def state(self) -> str:
        """What is installed, and every repository."""
        return self.run(
            "sh",
            "-c",
            "rpm --query --all | sort; cat /etc/yum.repos.d/* 2>&1; ls /etc/pki/rpm-gpg 2>&1; ls /opt/kubernetes 2>&1 || true",
        )


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    (tmp_path / "os-release").write_text(RELEASE)
    made.run(
        "sh",
        "-c",
        f"rm -rf /etc/yum.repos.d/* /etc/os-release && cp {tmp_path}/os-release /etc/os-release && mkdir -p /etc/yum.repos.d",
    )
    return made


def test_installed_held_and_left_alone(host: Host, repository: RpmRepository, url: str) -> None:
    """Check mode tells what comes and changes nothing; so does the second run; a held package of another version needs a word."""
    before = host.state()
    foreseen = host.ensure(repository.key, url, _ansible_check_mode=True)
    assert foreseen["changed"] and foreseen["packages"]["kubelet"] == OLD, foreseen
    assert host.state() == before
    done = host.ensure(repository.key, url)
    assert done["packages"] == {
        **dict.fromkeys(NAMES, OLD),
        "cri-tools": "1.20.0-150500.1.1",
        "containerd.io": "1.6.20-3.1.el9",
        "iptables": "1.8.10-2.el9",
    }, done
    assert OLD in host.run("cat", "/opt/kubernetes/kubelet")
    again = host.ensure(repository.key, url)
    assert not again["changed"], again
    # Nothing else upgrades what is held.
    host.run("dnf", "--assumeyes", "upgrade")
    assert OLD in host.run("cat", "/opt/kubernetes/kubelet")
    refused = host.ensure(repository.key, url, "v1.21.0")
    assert (
        len(refused["problems"]) == 3
        and f"kubelet {OLD} is held on this host, and 1.21.0-* is wanted" in refused["msg"]
    )
    newer = host.ensure(repository.key, url, "v1.21.0", change_held=True)
    assert newer["packages"]["kubelet"] == NEW and NEW in host.run("cat", "/opt/kubernetes/kubelet"), newer


def test_everything_wrong_is_said_at_once_and_nothing_changed(host: Host, repository: RpmRepository, url: str) -> None:
    """A version, or a package, that no repository has; and one that can't be beside what is there."""
    before = host.state()
    refused = host.ensure(repository.key, url, "v1.22.5")
    assert len(refused["problems"]) == 3
    assert f"No repository of this host has kubeadm 1.22.5-*; they have {NEW}, {OLD}." in refused["msg"]
    missing = host.ensure(repository.key, url, packages=["no-such-runtime"])
    assert "no-such-runtime" in missing["msg"] and len(missing["problems"]) == 1, missing
    assert host.state() == before
    host.run("rpm", "--install", "--nosignature", str(next(repository.folder.rglob("podman-*.rpm"))))
    before = host.state()
    assert "conflicts with" in host.ensure(repository.key, url)["msg"]
    assert host.state() == before


def test_unsigned_repositories_are_not_used(host: Host, tmp_path: Path, repository: RpmRepository, url: str) -> None:
    """One without a key, one that isn't signed, one with somebody else's signature."""
    before = host.state()
    assert "an unsigned repository is not used" in host.ensure(tmp_path / "none", url)["msg"]
    other = RpmRepository(tmp_path / "other")
    try:
        for package in repository.folder.rglob("*.rpm"):
            shutil.copy(package, other.folder)
        other.publish(signed=False)
        assert "signature" in host.ensure(other.key, other.serve())["msg"].lower()
        assert "signature" in host.ensure(other.key, url)["msg"].lower()
    finally:
        other.stop()
    assert host.state() == before


def test_archives_are_apts_alone(host: Host) -> None:
    """Check mode says so, too; and what would be ignored beside `save` is refused."""
    said = host.module("host_packages", kubernetes_version="v1.20.2", save="/var/tmp", _ansible_check_mode=True)
    assert "Archives of packages are apt's alone, and this host has dnf" in said["msg"], said
    for name, value in (("archives", "/var/tmp"), ("repositories", []), ("change_held", True)):
        said = host.module("host_packages", kubernetes_version="v1.20.2", save="/var/tmp", **{name: value})
        assert f"mutually exclusive: save|{name}" in said["msg"], said


def test_what_nothing_would_hold_is_refused(host: Host, repository: RpmRepository, url: str) -> None:
    """A host's own repository whose file excludes nothing."""
    text = f"[own]\nname=own\nbaseurl={url}\ngpgcheck=1\ngpgkey=file://{repository.key}\n"
    (host.folder / "own.repo").write_text(text)
    host.run("cp", str(host.folder / "own.repo"), "/etc/yum.repos.d/own.repo")
    refused = host.ensure(repository.key, url, repositories=[])
    assert "Nothing would keep cri-tools, kubeadm, kubectl, kubelet from being upgraded" in refused["msg"], refused
    host.run("sh", "-c", "echo 'exclude=kube* cri-tools' >> /etc/yum.repos.d/own.repo")
    assert host.ensure(repository.key, url, repositories=[])["packages"]["kubeadm"] == OLD


def test_what_is_staged_is_installed_when_the_repository_is_gone(host: Host, tmp_path: Path) -> None:
    """Nothing is installed before, no repository's file is changed, and nothing is left afterwards."""
    mirror = RpmRepository(tmp_path / "mirror")
    try:
        for version in (OLD, NEW):
            number = version.partition("-")[0]
            for name in NAMES:
                program = f"#!/bin/sh\n[ $1 = config ] && echo r.example.com/etcd:{number} || echo v{number}\n"
                mirror.pack(
                    name,
                    version,
                    {f"/usr/local/bin/{name}": program},
                    f"cri-tools >= {number}" if name == "kubeadm" else "",
                )
            mirror.pack("cri-tools", version, {"/opt/kubernetes/crictl": "#!/bin/sh\n"})
        mirror.publish()
        repository = {"name": "kubernetes", "url": mirror.serve(), "key": mirror.key.read_text()}
        done = host.module("host_packages", kubernetes_version="v1.20.2", repositories=[repository])
        assert done["packages"]["kubeadm"] == OLD, done
        # Those of this machine, which are there by dpkg.
        host.run("sh", "-c", "dpkg --purge --force-all kubeadm kubelet kubectl")
        before = host.state()
        staged = {"kubernetes_version": "v1.21.0", "repositories": [repository], "stage": True}
        assert host.module("host_packages", **staged, _ansible_check_mode=True)["changed"]
        assert host.module("host_packages", **staged)["packages"] == dict.fromkeys(NAMES, NEW)
        assert host.state() == before
        assert not host.module("host_packages", **staged)["changed"]
        # The images are those that the staged kubeadm takes.
        host.run("sh", "-c", "printf '#!/bin/sh\n' > /usr/local/bin/ctr && chmod 755 /usr/local/bin/ctr")
        own = {"criSocket": "/run/containerd/containerd.sock"}
        asked = host.module("host_images", kubernetes_version="v1.21.0", images=own)
        assert asked["needed"] == ["r.example.com/etcd:1.21.0"] == asked["missing"], asked
        # An archive of the same size.
        changed = "it=$(find /var/cache/kubeadm-control-plane -name 'kubectl*.rpm'); printf x | dd of=$it bs=1 seek=$(($(stat -c %s $it) - 1)) conv=notrunc"
        host.run("sh", "-c", changed)
        said = host.module("kubernetes_binaries", version="v1.21.0", names=["kubeadm"], restart_kubelet=False)
        assert said["failed"] and "(it was changed). Nothing was installed." in said["msg"], said
        assert host.state() == before
        assert host.module("host_packages", **staged)["changed"]
    finally:
        mirror.stop()
    for names in (["kubeadm"], ["kubelet", "kubectl"]):
        done = host.module("kubernetes_binaries", version="v1.21.0", names=names, restart_kubelet=False)
        assert done.get("changed"), done
    assert NEW in host.run("rpm", "--query", "kubectl")
    assert f"Upgrade  kubelet-{NEW}" in host.run("dnf", "history", "info", "last")
    assert "packages" not in host.run("ls", "/var/cache/kubeadm-control-plane")
