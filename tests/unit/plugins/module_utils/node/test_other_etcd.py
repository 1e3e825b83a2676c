# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release of a host with an etcd that kubeadm did not make: real files; the processes are a folder, kubeadm is a script."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from bootstrap_places import places_with_kubeadm, put
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import leftovers, reset
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import claim, host_facts

IN_POD = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-1.scope\n"
IN_UNIT = "0::/system.slice/etcd.service\n"
API_SERVER, MANIFEST, NOTE = (
    "kubernetes/manifests/kube-apiserver.yaml",
    "kubernetes/manifests/etcd.yaml",
    "state/etcd-data",
)
WORKER, MEMBER, DEBIAN = "kubelet/config.yaml", "etcd/member/snap/db", "etcd/default/member/snap/db"
EXTERNAL = (API_SERVER, "kubernetes/pki/etcd/healthcheck-client.crt")


class Host:
    """A claimed host with such files, whose etcd is in that cgroup; without one it is stopped."""

    def __init__(self, folder: Path, systemd: StandInSystemd, files: t.Sequence[str], cgroup: str) -> None:
        self.folder, self.left = folder, False
        node = places_with_kubeadm(folder)
        self.places = host_facts.HostPlaces(
            node=node, kubelet_state=str(folder / "kubelet"), proc=str(folder / "proc"), machine_id=str(folder / "id")
        )
        (folder / "proc").mkdir()
        if cgroup:
            put(folder / "proc/4711/comm", "etcd\n")
            put(folder / "proc/4711/cgroup", cgroup)
        # kubeadm reset ends the pods, and deletes manifests and certificates; what is left is this collection's to delete.
        gone = f"{node.kubernetes}/manifests/* {node.kubernetes}/pki {folder}/kubelet {folder}/proc/4711"
        put(Path(node.kubeadm), f"#!/bin/sh\n[ $1 = version ] && exit\nrm -rf {gone}\n[ ! -e {folder}/fails ]\n")
        document = claim.Claim("id-1", "prod", "default", "prod-1").document()
        put(folder / "state/claim.json", json.dumps(document))
        for name in files:
            put(folder / name, f"{folder}/etcd" if name == NOTE else "x")
        self.undo = functools.partial(reset.reset, runner=systemd)

    def files(self) -> list[str]:
        """What is below the folders of Kubernetes, the kubelet and etcd, and the claim."""
        parts = ("kubernetes", "kubelet", "etcd", "state")
        found = [path for part in parts for path in (self.folder / part).rglob("*") if path.is_file()]
        return sorted(str(path.relative_to(self.folder)) for path in found if path.name != "lock")

    def release(self, *, check: bool = False, **wanted: t.Any) -> str:
        """Release it from its machine; return the message."""
        release = claim.Release("id-1", "prod-1", **wanted)
        return claim.release(release, check=check, places=self.places, undo=self.undo, leave=self._leave)[1]

    def _leave(self, check: bool) -> bool:
        self.left = True
        return not check


@pytest.mark.parametrize(
    ("files", "cgroup", "said", "consented"),
    [
        pytest.param((*EXTERNAL, MEMBER), IN_UNIT, "process 4711", False, id="external, on the control plane's hosts"),
        pytest.param((*EXTERNAL, MEMBER), "", "/etcd/member", False, id="external, stopped at the moment"),
        pytest.param((API_SERVER,), IN_UNIT, "process 4711", False, id="external, with its data elsewhere"),
        pytest.param((WORKER, DEBIAN), IN_UNIT, "process 4711", False, id="of Debian's package, on a worker"),
        pytest.param((WORKER, MEMBER), "", "/etcd/member", True, id="of nobody knows whom"),
        pytest.param(
            (MEMBER,), "1:name=systemd:/docker/1\n", "process 4711", False, id="in a container of another runtime"
        ),
    ],
)
@pytest.mark.parametrize("wanted", [{}, {"whole_cluster": True}, {"consent": True}], ids=["", "all go", "consent"])
def test_no_host_with_an_etcd_of_others_is_reset(
    tmp_path: Path,
    systemd: StandInSystemd,
    files: t.Sequence[str],
    cgroup: str,
    said: str,
    consented: bool,
    wanted: dict[str, bool],
) -> None:
    """Nothing is touched, and where no consent helps none is asked for."""
    host = Host(tmp_path, systemd, files, cgroup)
    before = host.files()
    if consented and "consent" in wanted:
        assert host.release(**wanted).startswith("the host was reset and released")
        assert host.files() == []
        return
    for check in (True, False):
        with pytest.raises(NodeError, match=f"{said}.*nothing here says that kubeadm made it") as error:
            host.release(check=check, **wanted)
        assert error.value.fields == ({} if consented else {"reason": leftovers.OTHER_ETCD})
    assert host.files() == before and not host.left


@pytest.mark.parametrize(
    ("files", "cgroup", "stays"),
    [
        pytest.param((API_SERVER, MANIFEST, MEMBER, "etcd/own", "etcd/lost+found/1"), IN_POD, [], id="stacked"),
        pytest.param((API_SERVER, MANIFEST, MEMBER, "etcd/.restored-1/member/snap/db"), "", [], id="after a restore"),
        pytest.param((API_SERVER, MANIFEST, MEMBER), "0::/1\n", [], id="stacked, without cgroups of pods"),
        pytest.param((MANIFEST, MEMBER, DEBIAN), IN_POD, [DEBIAN], id="beside the data of Debian's package"),
        pytest.param((NOTE, MEMBER, "etcd/own"), IN_POD, [], id="whose reset was killed"),
        pytest.param(("kubernetes/kubeadm-control-plane/etcd.yaml", MEMBER), "", [], id="amid a restart"),
        pytest.param(("state/etcd-restore/fenced/manifests/etcd.yaml", MEMBER), "", [], id="amid a restore"),
        pytest.param((WORKER, DEBIAN), IN_POD, [DEBIAN], id="worker with an etcd in a pod"),
        pytest.param((API_SERVER, "etcd/own"), "", ["etcd/own"], id="external, on other hosts"),
    ],
)
def test_what_kubeadm_made_goes_wholly(
    tmp_path: Path, systemd: StandInSystemd, files: t.Sequence[str], cgroup: str, stays: list[str]
) -> None:
    host = Host(tmp_path, systemd, files, cgroup)
    assert host.release() == "the host was reset and released"
    assert host.files() == stays


def test_a_reset_that_failed_halfway_still_knows_its_etcd(tmp_path: Path, systemd: StandInSystemd) -> None:
    """kubeadm has deleted the manifest, which was all that said so of a machine that was adopted."""
    host = Host(tmp_path, systemd, (API_SERVER, MANIFEST, MEMBER, "etcd/own"), IN_POD)
    put(tmp_path / "fails")
    with pytest.raises(NodeError, match="kubeadm reset failed"):
        host.release()
    assert {MEMBER, NOTE} <= set(host.files()) and MANIFEST not in host.files()
    (tmp_path / "fails").unlink()
    assert host.release() == "the host was reset and released"
    assert host.files() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system is mounted by root")
def test_a_reset_that_failed_on_a_full_disk_still_knows_its_etcd(tmp_path: Path, systemd: StandInSystemd) -> None:
    """The note is an empty file then: for one with a text there is no room, nor for a folder."""
    state = tmp_path / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(state)], check=True)
    try:
        host = Host(tmp_path, systemd, (API_SERVER, MANIFEST, MEMBER, "etcd/own"), IN_POD)
        with contextlib.suppress(OSError), (state / "fill").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        put(tmp_path / "fails")
        with pytest.raises(NodeError, match="kubeadm reset failed"):
            host.release()
        assert not (tmp_path / NOTE).read_text() and MANIFEST not in host.files()
        (tmp_path / "fails").unlink()
        assert host.release() == "the host was reset and released"
        assert host.files() == ["state/fill"]
    finally:
        subprocess.run(["umount", str(state)], check=True)


def test_the_default_folder_by_another_name_is_no_other_etcds(tmp_path: Path, systemd: StandInSystemd) -> None:
    host = Host(tmp_path, systemd, (API_SERVER, MANIFEST, "data/member/snap/db"), IN_POD)
    put(tmp_path / MANIFEST, f"    - --data-dir={tmp_path}/data\n")
    (tmp_path / "etcd").symlink_to(tmp_path / "data")
    assert host.release() == "the host was reset and released"


def test_the_default_folder_is_not_that_of_an_etcd_whose_data_are_elsewhere(
    tmp_path: Path, systemd: StandInSystemd
) -> None:
    host = Host(tmp_path, systemd, (API_SERVER, MANIFEST, MEMBER, "data/member/snap/db"), IN_POD)
    put(tmp_path / MANIFEST, f"    - --data-dir={tmp_path}/data\n")
    with pytest.raises(NodeError, match=f"An etcd's data are on this host .{tmp_path}/etcd/member.") as error:
        host.release()
    assert f"and those of kubeadm's etcd are in {tmp_path}/data" in str(error.value)
    assert "no manifest" not in str(error.value) and "put its manifest" not in str(error.value)
    assert (tmp_path / MEMBER).exists() and (tmp_path / "data/member").exists() and not host.left
    assert host.release(consent=True).startswith("the host was reset")
    assert not (tmp_path / "data/member").exists()
