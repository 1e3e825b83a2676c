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
import yaml
from package_repository import PackageRepository
from private_host import MODULES, ROOT, PrivateHost

NAMES = ("kubeadm", "kubelet", "kubectl")
OLD, NEW = "1.20.2-1.1", "1.21.0-1.1"
# What comes with Kubernetes: the newer kubeadm and kubelet don't do with the older ones.
COMPANIONS = {"cri-tools": "kubeadm", "kubernetes-cni": "kubelet"}
# The last one is in no registry. What the stand-ins have is lines of a file, and so is an archive.
IMAGES = ("r.example.com/kube-apiserver", "r.example.com/etcd", "r.example.com/coredns")
RUNTIME = {
    "ctr": "shift 3; touch /opt/images; case $1 in list) cat /opt/images ;; import) cat $2 >> /opt/images ;; esac",
    "crictl": "case $2 in *coredns*) exit 1 ;; *) echo $2 >> /opt/images ;; esac",
}
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


def test_archives_are_staged_where_no_repository_can_be_reached(node: Node) -> None:
    """They are still there when the folder that they came in is gone."""
    archives = "/var/tmp/archives"
    node.run("cp", "-r", str(node.repository.folder), archives)
    node.repository.stop()
    before = node.state()
    node.changed(node.stage(repositories=[], archives=archives))
    assert node.state() == before
    # Who owns them can't change what is staged.
    node.run("sh", "-c", f"truncate --size=0 {archives}/* && rm -r {archives}")
    node.changed(node.upgrade(*NAMES))
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), NEW)
    assert not node.staged()


def test_what_cannot_be_had_is_refused_and_leaves_what_is_staged(node: Node) -> None:
    """A version that no repository has, in check mode as well."""
    node.changed(node.stage())
    there = node.staged()
    for check in (True, False):
        refused = node.stage("v1.22.5", _ansible_check_mode=check)
        assert len(refused["problems"]) == 3, refused
        assert f"No repository of this host has kubeadm 1.22.5-*; they have {NEW}, {OLD}." in refused["msg"]
    assert node.staged() == there


@pytest.mark.parametrize(
    ("damage", "how"),
    [
        ("truncate --size=-1 $it", "it was changed"),
        # Of the same size: apt itself takes it.
        ("printf x | dd of=$it bs=1 seek=$(($(stat -c %s $it) - 1)) conv=notrunc", "it was changed"),
        ("rm $it", "it is missing"),
    ],
)
def test_an_upgrade_refuses_what_was_damaged_since(node: Node, damage: str, how: str) -> None:
    """Nothing is installed, of the others neither. It names the archive and what to do, and that helps."""
    node.changed(node.stage())
    before = node.state()
    node.run("sh", "-c", f"it=$(find /var/cache/kubeadm-control-plane -name 'kubectl*.deb'); {damage}")
    said = node.upgrade("kubeadm")
    assert said["failed"] and f"/kubectl_{NEW}_all.deb ({how}). Nothing was installed." in said["msg"], said
    assert "They were staged in /var/cache/kubeadm-control-plane/packages. Stage them again" in said["msg"], said
    assert node.state() == before
    node.run("rm", "-r", "/var/cache/kubeadm-control-plane/packages")
    assert node.changed(node.upgrade("kubeadm")) and node.versions()["kubeadm"] == NEW


@pytest.mark.parametrize(
    ("what", "damage"), [("kubectl*.deb", "rm"), ("kubectl*.deb", "truncate --size=-1"), ("*_Packages*", "rm")]
)
def test_what_is_damaged_is_staged_again(node: Node, what: str, damage: str) -> None:
    """An archive or a list that is gone, or an archive that is another one than was downloaded. Check mode says it, too."""
    node.changed(node.stage())
    node.run("sh", "-c", f"find /var/cache/kubeadm-control-plane -name '{what}' -exec {damage} {{}} +")
    assert node.changed(node.stage(_ansible_check_mode=True))
    assert node.changed(node.stage())
    assert node.staged().count(".deb") == 5 and not node.changed(node.stage())
    node.repository.stop()
    node.changed(node.upgrade(*NAMES))
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), NEW)


def test_a_removal_that_is_killed_leaves_no_record(node: Node) -> None:
    """Something in the folder that can't be removed ends it in the midst. What is installed and what is left is said."""
    node.changed(node.stage())
    # Folders that something is mounted on: most likely one of them comes before the record in the folder's own order.
    packages = "/var/cache/kubeadm-control-plane/packages"
    stuck = f"for each in $(seq 30); do mkdir {packages}/$each && mount -t tmpfs tmpfs {packages}/$each; done"
    arguments = {"version": "v1.21.0", "names": list(NAMES), "restart_kubelet": False}
    said = json.loads(node.module_within(f"{stuck}; $module", "kubernetes_binaries", **arguments).splitlines()[-1])
    assert (
        said["failed"]
        and f"The packages are installed, and what was staged of them in {packages} can't be removed" in said["msg"]
    ), said
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), NEW)
    assert "/packages/30" in node.listed() and "staged.json" not in node.listed()


def test_a_download_that_fails_leaves_what_was_staged(node: Node) -> None:
    """And nothing of its own: an archive that is gone from the repository, and a disk that is full."""
    node.changed(node.stage())
    before = node.listed()
    node.publish("1.22.5-1.1")
    gone = node.repository.folder / "kubectl_1.22.5-1.1_all.deb"
    gone.rename(gone.with_suffix(".gone"))
    said = node.stage("v1.22.5")
    assert said["failed"] and "404" in said["msg"] and "What was staged before is as it was." in said["msg"], said
    assert node.listed() == before and not node.changed(node.stage())
    gone.with_suffix(".gone").rename(gone)
    arguments = {"kubernetes_version": "v1.22.5", "stage": True, "repositories": [node.source]}
    for folder, inodes in (("/var/cache/kubeadm-control-plane", 3), ("/var/tmp", 2)):
        full = f"mount -t tmpfs -o nr_inodes={inodes} tmpfs {folder} && $module"
        said = json.loads(node.module_within(full, "host_packages", **arguments).splitlines()[-1])
        assert said["failed"] and "No space left on device." in said["msg"], said
        assert f"Free space or inodes on its file system (df -h {folder}" in said["msg"], said
    assert node.changed(node.stage("v1.22.5")) and node.staged().count(NEW) == 0


def test_nothing_is_staged_where_a_newer_version_runs(node: Node) -> None:
    """As with a version that stayed in the inventory after the upgrade."""
    node.changed(node.upgrade(*NAMES))
    node.publish("1.20.9-1.1")
    assert not node.changed(node.stage("v1.20.9")) and not node.staged()


def test_companions_become_no_newer_than_they_need_to(node: Node) -> None:
    """The repository has newer ones than are needed."""
    node.publish("1.20.3-1.1", least="1.20.0")
    node.changed(node.stage("v1.20.3"))
    assert "cri-tools" not in node.staged()
    node.changed(node.module("kubernetes_binaries", version="v1.20.3", names=list(NAMES), restart_kubelet=False))
    assert node.versions() == {**dict.fromkeys(NAMES, "1.20.3-1.1"), **dict.fromkeys(COMPANIONS, OLD)}
    assert node.run("apt-mark", "showhold").split() == ["cri-tools", *sorted(NAMES)]


def test_companions_are_held_after_a_run_that_was_killed(node: Node) -> None:
    """While dpkg is at a newer one. The next run continues, and holds it again."""
    fatal = "#!/bin/sh\n[ -e /var/tmp/killed ] || { touch /var/tmp/killed; kill -9 -1; }\n"
    node.repository.pack("cri-tools", "1.21.1-1.1", {"/opt/tests/cri-tools": "1.21.1", "/DEBIAN/postinst": fatal})
    node.repository.publish()
    node.changed(node.stage())
    arguments = {"version": "v1.21.0", "names": ["kubeadm"], "restart_kubelet": False}
    # The shell is the first process, which alone is left.
    node.module_within("$module; true", "kubernetes_binaries", **arguments)
    assert "cri-tools" not in node.run("apt-mark", "showhold")
    node.run("dpkg", "--configure", "--pending")
    node.changed(node.upgrade(*NAMES))
    assert node.versions()["cri-tools"] == "1.21.1-1.1"
    assert node.run("apt-mark", "showhold").split() == ["cri-tools", *sorted(NAMES)]


def test_the_package_managers_history_has_the_upgrade(node: Node) -> None:
    """Not the download, which changes nothing."""
    history = ("sh", "-c", "cat /var/log/apt/history.log")
    before = node.run(*history)
    node.changed(node.stage())
    assert node.run(*history) == before
    node.changed(node.upgrade(*NAMES))
    assert f"({OLD}, {NEW})" in node.run(*history).removeprefix(before)


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
    assert "that packages and images of v1.21.0 are staged" in said and "changed=1 " in said, said
    assert node.state() == before and node.staged().count("_1.21.0-1.1_") == 5
    assert "changed=0 " in node.play({"fit": "v1.21.0"})
    assert "changed=0 " in node.play({"fit": ""})


@pytest.mark.full
def test_images_of_what_is_staged_come_from_a_folder_and_a_registry(node: Node) -> None:
    """By the staged kubeadm's own list. What can't be had is said, and no failure; a second run, and check mode, change nothing; nothing is installed."""
    node.run("sh", "-c", "mkdir -p /etc/kubernetes && touch /etc/kubernetes/kubelet.conf")
    # That the runtime may know a mirror.
    node.run("sh", "-c", "mkdir -p /etc/containerd/certs.d && touch /etc/containerd/certs.d/hosts.toml")
    for name, body in RUNTIME.items():
        (node.folder / name).write_text(f"#!/bin/sh\n{body}\n")
        node.run("install", str(node.folder / name), f"/usr/local/bin/{name}")
    (node.folder / "images").mkdir()
    (node.folder / "images/own.tar").write_text(f"{IMAGES[0]}:v1.21.0\n")
    before, more = node.state(), ("-e", "host_image_directory=images")
    assert "packages and images of v1.21.0 are staged" in node.play({"fit": "v1.21.0"}, (), *more, "--check")
    said = node.play({"fit": "v1.21.0"}, (), *more)
    assert (
        f"fit still lacks {IMAGES[2]}:v1.21.0: no archive in images has it, and it could not be pulled (crictl pull)."
        in said
    ), said
    assert node.run("cat", "/opt/images").split() == [f"{each}:v1.21.0" for each in IMAGES[:2]]
    assert node.state() == before and "unpacked-" not in node.listed()
    assert "images" not in node.run("sh", "-c", "ls /var/lib/kubeadm-control-plane || true")
    assert f"fit pulls what no archive has of {IMAGES[2]}:v1.21.0." in node.play(
        {"fit": "v1.21.0"}, (), *more, "--check"
    )
    node.run("sh", "-c", f"echo {IMAGES[2]}:v1.21.0 >> /opt/images")
    for each in ((), ("--check",)):
        said = node.play({"fit": "v1.21.0"}, (), *more, *each)
        assert "changed=0 " in said and "still lacks" not in said and "failed=0" in said, said
    said = node.play({"fit": "v1.21.0"}, (), "-e", "host_image_directory=none")
    assert "host_image_directory none has no archive of images (*.tar)." in said and "failed=1" in said, said


@pytest.mark.full
def test_another_clusters_host_of_the_pool_is_left_alone(node: Node) -> None:
    """What its operator staged stays, and whether it can have the version is not asked."""
    node.run("sh", "-c", "mkdir -p /etc/kubernetes && touch /etc/kubernetes/kubelet.conf")
    node.publish("1.22.5-1.1")
    node.changed(node.stage())
    before = node.listed()
    for version in ("v1.22.5", "v1.23.1"):
        said = node.play({"other": version}, others=["other"])
        assert "other carries a cluster and is left alone (" in said and "changed=0 " in said, said
        assert node.listed() == before
    said = node.play({"own": "v1.22.5", "other": "v1.23.1"}, others=["other"])
    assert said.count("changed=1 ") == 1 and "failed=0" in said and "_1.22.5-1.1_" in node.staged(), said
