# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Staged packages that are damaged, incomplete or in the way: real apt and dpkg in folders of the test's own, a signed repository over HTTP."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from node_with_packages import COMPANIONS, HAS_APT, NAMES, NEW, Node

PACKAGES = "/var/cache/kubeadm-control-plane/packages"
pytestmark = HAS_APT


@pytest.fixture(name="node")
def _node(tmp_path: Path) -> t.Iterator[Node]:
    with Node(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("damage", "how"),
    [
        ("truncate --size=-1 $it", "it was changed"),
        # Of the same size: apt itself takes it.
        ("printf x | dd of=$it bs=1 seek=$(($(stat -c %s $it) - 1)) conv=notrunc", "it was changed"),
        ("cp $it $(dirname $it)/more.deb", "it was added"),
    ],
)
def test_an_upgrade_refuses_what_was_damaged_since(node: Node, damage: str, how: str) -> None:
    """Nothing is installed, of the others neither. It names the archive and what to do, and that helps."""
    node.changed(node.stage())
    before = node.state()
    node.run("sh", "-c", f"it=$(find /var/cache/kubeadm-control-plane -name 'kubectl*.deb'); {damage}")
    said = node.upgrade("kubeadm")
    name = f"kubectl_{NEW}_all" if how == "it was changed" else "more"
    assert said["failed"] and f"/{name}.deb ({how}). Nothing was installed. What they have in them" in said["msg"], said
    assert "They were staged in /var/cache/kubeadm-control-plane/packages. Stage them again" in said["msg"], said
    assert node.state() == before
    node.run("rm", "-r", "/var/cache/kubeadm-control-plane/packages")
    assert node.changed(node.upgrade("kubeadm")) and node.versions()["kubeadm"] == NEW


@pytest.mark.parametrize(
    ("damage", "how"),
    [
        ("rm $(find . -name 'kubectl*.deb')", f"/kubectl_{NEW}_all.deb is missing"),
        ("rm -r staged-*", f"/kubectl_{NEW}_all.deb is missing"),
        # As an earlier version of the collection wrote it.
        (r"""sed -i 's/"archives": {[^}]*}/"sha256": "0"/' staged.json""", "(staged.json has no digests)"),
    ],
)
def test_an_upgrade_asks_a_repository_where_what_is_staged_is_incomplete(node: Node, damage: str, how: str) -> None:
    """It goes on, and removes the rest in the end. Where the repository can't be reached either, both are said."""
    node.changed(node.stage())
    node.run("sh", "-ec", f"cd {PACKAGES}; {damage}")
    before = node.state()
    gone = node.repository.folder.with_name("gone")
    node.repository.folder.rename(gone)
    said = node.upgrade("kubeadm")
    assert said["failed"] and how in said["msg"] and "is incomplete (" in said["msg"], said
    assert (
        "no longer has a Release file" in said["msg"]
        and "Or run prepare again, to stage the packages." in said["msg"]
        and "no signature" not in said["msg"]
    ), said
    assert node.state() == before
    gone.rename(node.repository.folder)
    # Another build, as of which nothing that was staged is of use.
    node.publish("1.21.0-1.2")
    for names in (["kubeadm"], ["kubelet", "kubectl"]):
        assert node.changed(node.upgrade(*names))
    assert node.versions() == dict.fromkeys((*NAMES, *COMPANIONS), "1.21.0-1.2")
    assert PACKAGES not in node.listed()


def test_a_staging_that_cannot_remove_the_one_before_says_so(node: Node) -> None:
    """What is new is staged by then."""
    node.changed(node.stage())
    node.publish("1.22.5-1.1")
    arguments = {"kubernetes_version": "v1.22.5", "stage": True, "repositories": [node.source]}
    stuck = f"it=$(echo {PACKAGES}/staged-*)/stuck; mkdir $it && mount -t tmpfs tmpfs $it && $module"
    said = json.loads(node.module_within(stuck, "host_packages", **arguments).splitlines()[-1])
    assert said["failed"] and f"The packages are staged in {PACKAGES}/staged-" in said["msg"], said
    assert "what was staged before can't be removed" in said["msg"] and "is as it was" not in said["msg"], said
    assert not node.changed(node.stage("v1.22.5"))


def test_a_staged_kubeadm_that_may_not_be_run_is_no_package_without_it(node: Node) -> None:
    """Where it lies on a file system that is mounted so, which is named."""
    node.changed(node.stage())
    arguments = {"kubernetes_version": "v1.21.0", "images": {"criSocket": "/run/containerd/containerd.sock"}}
    noexec = f"mount --bind {PACKAGES} {PACKAGES} && mount -o remount,bind,noexec {PACKAGES} && $module"
    said = json.loads(node.module_within(noexec, "host_images", **arguments).splitlines()[-1])
    assert said["failed"] and "can't be run there: its file system is mounted noexec" in said["msg"], said
    assert f"findmnt -T {PACKAGES} names the mount" in said["msg"] and "no program" not in said["msg"], said


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
