# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters and folders for which no snapshot is taken; no machine is asked."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


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
