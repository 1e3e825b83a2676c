# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a restore, a recovery and a restart leave on a machine, whether they ended or not, and its reset; kubeadm is a script."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from bootstrap_places import KUBEADM, no_process, places_with_kubeadm, put
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import systemd_units
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.local import Places as EtcdPlaces
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.from_snapshot import (
    Restore,
    RestorePlaces,
    take_manifests_away,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.restore_unit import fence
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.single_voter import Bounds, Recovery
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import leftovers, reset
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import (
    Bootstrap,
    Places,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import host_facts

RECORD = "state/bootstrap.json"
DATA = {"kind": "join", "kubeadmVersion": "v1.20.2", "config": "kind: JoinConfiguration\n"}
LEFT = (
    "state/recover-single-voter.json",
    "state/recover-single-voter/aa-1/etcd-data/member/snap/db",
    "state/etcd-restore.json",
    "state/etcd-restore/fenced/manifests/etcd.yaml",
    "kubernetes/kubeadm-control-plane/etcd.yaml",
    "kubernetes/kubeadm-control-plane/kube-apiserver.yaml",
)


@pytest.fixture(name="places")
def _places(tmp_path: Path) -> Places:
    return places_with_kubeadm(tmp_path)


def undo(places: Places, systemd: StandInSystemd) -> bool:
    return reset.reset(discard_etcd_data=True, check=False, places=places, runner=systemd, proc=no_process(places))


def files(tmp_path: Path) -> list[str]:
    found = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    return sorted(set(found) - {"kubeadm", "state/lock"})


@pytest.mark.parametrize(
    ("kind", "left", "text"),
    [
        *(
            (kind, LEFT[0], "{")
            for kind in ("recover-aa", "etcd-restore", "configuration-change-1", "task-1", "drain-m2")
        ),
        *(("bootstrap-m2", RECORD, text) for text in ('{"step": "bootstrap-m2"}', "", "[]", "{}", "{")),
    ],
)
def test_what_runs_on_is_stopped_before_anything_is_deleted(
    places: Places, systemd: StandInSystemd, tmp_path: Path, kind: str, left: str, text: str
) -> None:
    """It would put this cluster's manifests on the host of the next one. A damaged record tells no bootstrap's name."""
    unit = f"kubeadm-control-plane-{kind}"
    put(tmp_path / left, text)
    systemd_units.start(unit, "", ["sleep", "600"], systemd)
    process = systemd.processes[f"{unit}.service"]
    put(Path(places.kubeadm), "#!/bin/sh\n[ $1 = version ] && exit\nexit 1\n")
    with pytest.raises(NodeError, match="kubeadm reset failed"):
        undo(places, systemd)
    assert process.poll() is not None and files(tmp_path) == [left]
    put(Path(places.kubeadm), KUBEADM)
    assert undo(places, systemd) and files(tmp_path) == []


@pytest.mark.parametrize("etcd", [False, True])
def test_a_fence_ends_kubeadm_that_is_at_work(
    places: Places, systemd: StandInSystemd, tmp_path: Path, etcd: bool
) -> None:
    """It would make its etcd, and a member of it, once an API answers again: that of the restored etcd."""
    put(Path(places.kubeadm), "#!/bin/sh\n[ $1 = version ] && echo v1.20.2 && exit\nexec sleep 600\n")
    manifest = tmp_path / "kubernetes" / "manifests" / "etcd.yaml"
    bootstrap = Bootstrap(places, systemd)
    restore = Restore(RestorePlaces(places.state, places.kubernetes, kubelet=""), runner=systemd)

    def stop(check: bool = False) -> tuple[bool, str]:
        return fence(restore, check=check, end_bootstrap=lambda check: reset.end_unit(bootstrap, check=check))

    assert stop() == (False, "")
    bootstrap.start("step-1", {**DATA, "kubeadmArgs": ["join", "--config", f"{places.kubeadm_run}/kubeadm.yaml"]})
    process = systemd.processes["kubeadm-control-plane-step-1.service"]
    if etcd:
        put(manifest, f"- --data-dir={tmp_path}/etcd\n")
    assert stop(check=True)[0] and process.poll() is None
    assert stop()[0] and process.poll() is not None and not manifest.exists()
    assert not stop()[0]


def test_nothing_of_a_restore_a_recovery_or_a_restart_outlives_a_reset(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    """An address that the host has to hand over is still known; snapshots are the user's."""
    kept = ["kubernetes/kubeadm-control-plane/kube-vip.yaml", "state/etcd-snapshots/prod.db"]
    for path in (*LEFT, *kept):
        put(tmp_path / path)
    assert undo(places, systemd)
    assert files(tmp_path) == kept
    assert not undo(places, systemd)


@pytest.mark.parametrize("left", LEFT)
def test_each_of_it_counts(places: Places, systemd: StandInSystemd, tmp_path: Path, left: str) -> None:
    """For a claim, for a bootstrap without one, and for a reset that was killed before it was done."""
    put(tmp_path / left)
    (tmp_path / "proc").mkdir()
    host = host_facts.HostPlaces(node=places, kubelet_state=str(tmp_path / "kubelet"), proc=str(tmp_path / "proc"))
    [found] = host_facts.traces(host)
    assert str(tmp_path / left).startswith(found)
    config = f"{places.kubeadm_run}/kubeadm.yaml"
    wanted: dict[str, t.Any] = {"kind": "init", "kubeadmVersion": "v1.20.2", "config": "kind: InitConfiguration\n"}
    wanted["kubeadmArgs"] = ["init", "--config", config]
    with pytest.raises(NodeError, match=f"already carries a cluster.*wipe the machine: {leftovers.WIPE}"):
        Bootstrap(places, systemd).start("step-1", wanted)
    assert undo(places, systemd)
    assert host_facts.traces(host) == []


@pytest.mark.parametrize(
    "left",
    [
        "kubernetes/manifests/kube-apiserver.yaml",
        *(f"kubernetes/{name}" for name in ("pki/ca.crt", "admin.conf", "kubelet.conf", "bootstrap-kubelet.conf")),
        "kubelet/config.yaml",
        "etcd/member/snap/db",
    ],
)
def test_whatever_keeps_a_host_from_being_claimed_is_reset(
    places: Places, systemd: StandInSystemd, tmp_path: Path, left: str
) -> None:
    """Alone too, as where somebody deleted the rest by hand, or kubeadm could not unmount the kubelet's folder."""
    put(Path(places.kubeadm), f'#!/bin/sh\n[ $1 != reset ] || rm "{tmp_path}/{left}"\n')
    put(tmp_path / left)
    (tmp_path / "proc").mkdir()
    host = host_facts.HostPlaces(node=places, kubelet_state=str(tmp_path / "kubelet"), proc=str(tmp_path / "proc"))
    assert len(host_facts.traces(host)) == 1
    assert undo(places, systemd)
    assert host_facts.traces(host) == []
    assert not undo(places, systemd)


def take_etcds_manifest_away(places: Places, how: str) -> None:
    """Have etcd's manifest out of its place, as a fence, a recovery or a restart has it at some time."""
    if how == "fence":
        os.makedirs(places.state)
        etcd = RestorePlaces(places.state, places.kubernetes, kubelet="")
        take_manifests_away(etcd, f"{places.state}/etcd-restore/fenced/manifests")
    elif how == "recovery":
        recovery = Recovery(EtcdPlaces(places.state, places.kubernetes, kubelet=""), Bounds(stop=0.0))
        folder = f"{places.state}/recover-single-voter/aa-1"
        os.makedirs(folder)
        recovery.write({"state": "Started", "folder": folder, "done": []})
        recovery._stop(recovery.read())
    else:
        parked = Path(places.kubernetes) / "kubeadm-control-plane"
        parked.mkdir()
        (Path(places.kubernetes) / "manifests" / "etcd.yaml").rename(parked / "etcd.yaml")


@pytest.mark.parametrize("how", ["fence", "recovery", "restart"])
def test_etcds_data_elsewhere_is_found_without_its_manifest(
    places: Places, systemd: StandInSystemd, tmp_path: Path, how: str
) -> None:
    folder = tmp_path / "data"
    put(tmp_path / "kubernetes/manifests/etcd.yaml", f"spec:\n  - command:\n    - etcd\n    - --data-dir={folder}\n")
    for name in ("member/wal/0.wal", "member-before-fenced/snap/db", "theirs"):
        put(folder / name)
    take_etcds_manifest_away(places, how)
    assert not (tmp_path / "kubernetes/manifests/etcd.yaml").exists()
    assert undo(places, systemd)
    assert files(tmp_path) == ["data/theirs"]
