# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters, folders and machines of which no snapshot is taken."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import (
    ControlPlaneAction,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

RESTORED, BEFORE = "00000000000000dd", "00000000000000bb"


class Machines:
    """Machines that answer as etcd_snapshot does: each with its etcd cluster's ID, and whether that has a leader."""

    def __init__(self, etcds: dict[str, tuple[str, bool]]) -> None:
        self._etcds = etcds

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Answer a call."""
        assert module == "etcd_snapshot"
        cluster, leader = self._etcds[machine.name]
        if arguments.get("cluster_id") not in (None, cluster):
            return Answer(True, {"failed": True, "msg": f"this is the etcd cluster {cluster}"})
        if arguments.get("require_leader") and not leader:
            return Answer(True, {"failed": True, "msg": "it knows of no leader"})
        warnings = [] if leader else ["This etcd member knows of no leader"]
        return Answer(True, {"path": f"/kept/{machine.name}.db", "changed": True, "warnings": warnings})


def given_up(folder: Path, monkeypatch: pytest.MonkeyPatch, etcds: dict[str, tuple[str, bool]]) -> None:
    """Store a cluster of these machines whose etcd was restored."""
    stored_cluster(folder, "v1.20.2", {}, {}, dict.fromkeys(etcds, "localhost"))
    objects = FileStore(str(folder))
    [plane] = objects.list(("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"), "default")
    objects.update({**plane, "status": {"etcdClusterID": RESTORED}})
    monkeypatch.setattr(ControlPlaneAction, "machine_caller", lambda *_unused: Machines(etcds))


@pytest.mark.parametrize("check", [True, False])
def test_a_folder_that_is_lost_with_the_job_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: bool
) -> None:
    """Before a snapshot is taken."""
    job, store = tmp_path / "awx_2_y", tmp_path / "store"
    stored_cluster(store, "v1.20.2", {}, {}, {"m1": "localhost"})
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", str(job))
    directory = job / "project" / "backups"
    result = run_action("cluster_backup", check, cluster="prod", store={"path": str(store)}, directory=str(directory))
    assert result["failed"] and "No backup was taken" in result["msg"] and "Paths to expose" in result["msg"]
    assert not directory.exists()


@pytest.mark.parametrize("check", [True, False])
def test_an_external_etcd_fails_no_schedule(tmp_path: Path, check: bool) -> None:
    """It is backed up where it runs, which is said."""
    stored_cluster(tmp_path, "v1.20.2", {"etcd": {"external": {"endpoints": []}}}, {}, {"m1": "localhost"})
    result = run_action("cluster_backup", check, cluster="prod", store={"path": str(tmp_path)})
    assert not result.get("failed") and result["changed"] is False, result
    assert "is external and can't be backed up from here. Nothing was done." in result["msg"]


@pytest.mark.parametrize("configuration", [{}, {"etcd": {"external": {"endpoints": []}}}])
def test_a_folder_that_can_not_be_made_is_named_before_a_snapshot_is_taken(
    tmp_path: Path, configuration: dict[str, t.Any]
) -> None:
    """Also of a cluster whose spec alone says that its etcd is external: its data are on its machines."""
    store = tmp_path / "store"
    stored_cluster(store, "v1.20.2", configuration, {}, {"m1": "localhost"})
    objects = FileStore(str(store))
    [plane] = objects.list(("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"), "default")
    objects.update({**plane, "status": {"etcdClusterID": "00000000000000dd"}})
    (tmp_path / "file").touch()
    result = run_action("cluster_backup", cluster="prod", store={"path": str(store)}, directory=str(tmp_path / "file"))
    assert result["failed"] and "can't keep backups in the folder" in result["msg"], result
    assert "Not a directory" in result["msg"] and "No snapshot was taken." in result["msg"]


@pytest.mark.parametrize("action", ["cluster_backup", "cluster_snapshot"])
@pytest.mark.parametrize(
    "others",
    [{"b": (BEFORE, True), "c": (BEFORE, True)}, {"c": (BEFORE, False)}, {"c": (RESTORED, False)}],
    ids=["a quorum of the etcd of before", "one member of it", "a member that was taken out"],
)
def test_no_machine_that_was_given_up_gives_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, others: dict[str, tuple[str, bool]]
) -> None:
    """Its power came back, and it is newer than the one with the etcd of now."""
    given_up(tmp_path, monkeypatch, {"a": (RESTORED, True), **others})
    result = run_action(action, cluster="prod", store={"path": str(tmp_path)}, name="some")
    assert (result.get("machine"), result.get("path")) == ("a", "/kept/a.db"), result


@pytest.mark.parametrize(("action", "taken"), [("cluster_backup", True), ("cluster_snapshot", False)])
def test_without_any_leader_there_is_a_backup_and_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, taken: bool
) -> None:
    """A change needs a quorum, so that a member with a leader is there; data that nobody else has are better than none."""
    given_up(tmp_path, monkeypatch, {"a": (BEFORE, True), "c": (RESTORED, False)})
    result = run_action(action, cluster="prod", store={"path": str(tmp_path)}, name="some")
    assert (result.get("machine") == "c") is taken and bool(result.get("failed")) is not taken, result
    assert taken or f"a: this is the etcd cluster {BEFORE}" in result["msg"]
    assert taken or "c: it knows of no leader" in result["msg"]
