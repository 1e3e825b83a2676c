# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What outlasts the job that writes it: everywhere, but for a job's own container and folder."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lasting import (
    journal_note,
    lost,
    mounts,
    require,
)

RUNNER = {"AWX_ISOLATED_DATA_DIR": "/runner/artifacts/17"}
AWX = {**RUNNER, "AWX_PRIVATE_DATA_DIR": "/tmp/awx_17_x", "JOB_ID": "17"}
TOWER = {"AWX_PRIVATE_DATA_DIR": "/tmp/awx_2_y", "AWX_ISOLATED_DATA_DIR": "/tmp/awx_2_y/artifacts/2", "JOB_ID": "2"}
BY_HAND = {"AWX_ISOLATED_DATA_DIR": "/srv/user/private/artifacts/1"}
HOST = "26 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
IMAGE = "600 500 0:50 / / rw - overlay overlay rw,lowerdir=/x\n"
JOB = "601 600 8:1 /tmp/awx_17_x /runner rw - ext4 /dev/sda1 rw\n"
OWN = "601 600 8:1 /srv/user/private /runner rw - ext4 /dev/sda1 rw\n"
STORE = "602 600 8:1 /srv/kcp-store /srv/kcp-store rw shared:1 - xfs /dev/sdb1 rw\n"
NFS = "603 600 0:60 / /runner/project/store rw - nfs4 nas:/kcp rw\n"
MEMORY = "604 600 0:61 / /tmp rw - tmpfs tmpfs rw\n"
EMPTY = "605 600 8:1 /var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/d /srv/kcp-store rw - ext4 /dev/sda1 rw\n"
CLAIM = "606 600 8:9 /volumes/pvc-1 /srv/kcp-store rw - ext4 /dev/sdc rw\n"
SPACES = "607 600 8:1 /srv/a\\040b /srv/a\\040b rw - ext4 /dev/sda1 rw\n"


@pytest.mark.parametrize(
    ("environment", "container", "text", "path", "why"),
    [
        # A workstation, a Job of Kubernetes, a CI image, a toolbox: nobody says that it is a job's container.
        ({}, False, HOST, "/srv/user/store", ""),
        ({}, True, IMAGE, "/srv/user/store", ""),
        # ansible-runner without isolation, on a host and in a container that lasts.
        (BY_HAND, False, HOST, "/srv/user/private/project/store", ""),
        (BY_HAND, True, IMAGE, "/srv/user/private/project/store", ""),
        # A private folder that happens to be /runner, on a host.
        (RUNNER, False, HOST, "/runner/project/store", ""),
        # ansible-runner that isolates, and ansible-navigator: the user's own folders are mounted.
        (RUNNER, True, IMAGE + OWN, "/runner/project/store", ""),
        (RUNNER, True, IMAGE + OWN + STORE, "/srv/kcp-store", ""),
        (RUNNER, True, IMAGE + OWN, "/srv/kcp-store", "in the job's container"),
        (RUNNER, True, IMAGE + OWN + MEMORY, "/tmp/store", "/tmp is a file system of the job's container"),
        # AWX: an execution node's podman.
        (AWX, True, IMAGE + JOB, "/runner/project/store", "/runner is the job's own folder"),
        (AWX, True, IMAGE + JOB, "/runner", "/runner is the job's own folder"),
        (AWX, True, IMAGE + JOB, "/srv/kcp-store", "in the job's container"),
        (AWX, True, IMAGE + JOB + STORE, "/srv/kcp-store", ""),
        (AWX, True, IMAGE + JOB + STORE, "/srv/kcp-store/deep/er", ""),
        (AWX, True, IMAGE + JOB + STORE, "/srv/kcp-store-2", "in the job's container"),
        (AWX, True, IMAGE + JOB + NFS, "/runner/project/store", ""),
        (AWX, True, IMAGE + JOB + MEMORY, "/tmp/store", "/tmp is a file system of the job's container"),
        (AWX, True, IMAGE + JOB + SPACES, "/srv/a b/store", ""),
        # AWX: a pod of a container group, in which /runner is a folder of the image or a volume.
        (AWX, True, IMAGE, "/runner/project/store", "in the job's container"),
        (AWX, True, IMAGE + EMPTY, "/srv/kcp-store", "/srv/kcp-store is a file system of the job's container"),
        (AWX, True, IMAGE + CLAIM, "/srv/kcp-store", ""),
        # Tower without containers: jobs run on the node itself.
        (TOWER, False, HOST, "/tmp/awx_2_y/project/store", "/tmp/awx_2_y is the job's own folder"),
        (TOWER, False, HOST, "/srv/kcp-store", ""),
        # Its variables alone say nothing on a host, nor does a table of mounts that can't be read.
        (AWX, False, HOST, "/srv/kcp-store", ""),
        (AWX, True, "", "/srv/kcp-store", ""),
        (AWX, True, "neither\n- nor -\n", "/srv/kcp-store", ""),
    ],
)
def test_what_is_lost(environment: dict[str, str], container: bool, text: str, path: str, why: str) -> None:
    found = lost(path, environment, mounts(text), container)
    assert why in found and bool(found) == bool(why)


def test_a_later_mount_hides_an_earlier_one() -> None:
    hidden = STORE.replace("- xfs /dev/sdb1", "- tmpfs tmpfs")
    assert lost("/srv/kcp-store", AWX, mounts(IMAGE + STORE + hidden), True)
    assert not lost("/srv/kcp-store", AWX, mounts(IMAGE + hidden + STORE), True)


def test_a_store_that_is_lost_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a Kubernetes store only its copy is judged: its folder has journals alone."""
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", "/tmp/awx_2_y")
    inside, kept = "/tmp/awx_2_y/project/store", "/srv/kcp-store"
    for options in (
        {"path": kept},
        {"type": "kubernetes", "path": inside},
        {"type": "kubernetes", "path": inside, "export": kept},
    ):
        require(options)
    for options in ({"path": inside}, {"type": "kubernetes", "path": inside, "export": inside}):
        with pytest.raises(StoreError, match=r"would be lost.*Kubernetes API.*Paths to expose") as refused:
            require(options)
        assert len(str(refused.value).splitlines()) == 1


def test_of_journals_that_are_lost_is_said_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are for people: no run is refused for them."""
    options = {"type": "kubernetes", "path": "/tmp/awx_2_y/project/journal"}
    assert journal_note(options) == ""
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", "/tmp/awx_2_y")
    assert "this run is in /tmp/awx_2_y/project/journal and is lost with the job: " in journal_note(options)
    assert journal_note({**options, "path": "/srv/journal"}) == journal_note({"type": "kubernetes"}) == ""
