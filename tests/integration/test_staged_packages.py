# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of an upgrade, staged by one module and installed by another: real apt and dpkg in folders of the test's own, a signed repository over HTTP."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from node_with_packages import COMPANIONS, HAS_APT, IMAGES, NAMES, NEW, OLD, Node

# The last image is in no registry. What the stand-ins have is lines of a file, and so is an archive.
RUNTIME = {
    "ctr": "shift 3; touch /opt/images; case $1 in list) cat /opt/images ;; import) cat $2 >> /opt/images ;; esac",
    "crictl": "case $4 in *coredns*) exit 1 ;; *) echo $4 >> /opt/images ;; esac",
}
pytestmark = HAS_APT


@pytest.fixture(name="node")
def _node(tmp_path: Path) -> t.Iterator[Node]:
    with Node(tmp_path) as made:
        yield made


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
    node.run("sh", "-c", "mkdir -p /etc/kubernetes/manifests && touch /etc/kubernetes/manifests/kube-apiserver.yaml")
    # That the runtime may know a mirror.
    node.run("sh", "-c", "mkdir -p /etc/containerd/certs.d && touch /etc/containerd/certs.d/hosts.toml")
    for name, body in RUNTIME.items():
        (node.folder / name).write_text(f"#!/bin/sh\n{body}\n")
        node.run("install", str(node.folder / name), f"/usr/local/bin/{name}")
    (node.folder / "images").mkdir()
    (node.folder / "images/own.tar").write_text(f"{IMAGES[0]}:v1.21.0\n")
    before, more = node.state(), ("-e", "host_image_directory=images")
    # A run that was killed left them.
    node.run(
        "sh",
        "-c",
        "mkdir -p /var/lib/kubeadm-control-plane/images && touch /var/lib/kubeadm-control-plane/images/left.tar",
    )
    assert "changed=1 " in node.play({"fit": ""}) and "changed=0 " in node.play({"fit": ""})
    assert "images" not in node.run("sh", "-c", "ls /var/lib/kubeadm-control-plane || true")
    assert "packages and images of v1.21.0 are staged" in node.play({"fit": "v1.21.0"}, (), *more, "--check")
    said = node.play({"fit": "v1.21.0"}, (), *more)
    assert (
        f"fit still lacks {IMAGES[2]}:v1.21.0: no archive in images has it, and it could not be pulled (crictl pull). The upgrade tries again."
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
        assert (
            "other is left alone: the host carries a cluster, or what one left: /etc/kubernetes/kubelet.conf. " in said
            and "changed=0 " in said
        ), said
        assert node.listed() == before
    said = node.play({"own": "v1.22.5", "other": "v1.23.1"}, others=["other"])
    assert said.count("changed=1 ") == 1 and "failed=0" in said and "_1.22.5-1.1_" in node.staged(), said
