# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store of check mode."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import AlreadyExists, NotFound
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.overlay import OverlayStore

KIND = ("cluster.x-k8s.io", "Cluster")
NOW = "2026-11-21T05:00:00Z"


def cluster(name: str, **metadata: t.Any) -> dict[str, t.Any]:
    """A Cluster."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"paused": False},
    }


def files(folder: Path) -> dict[Path, bytes]:
    """Every file and its content."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def base(tmp_path: Path) -> FileStore:
    """A file store that holds one cluster."""
    store = FileStore(str(tmp_path / "store"))
    store.create(cluster("old", labels={"a": "b"}))
    return store


def test_writes_are_seen_and_reach_no_file(base: FileStore, tmp_path: Path) -> None:
    """Create, change and delete, all in memory."""
    before = files(tmp_path)
    overlay = OverlayStore(base, NOW)
    overlay.create(cluster("new"))
    overlay.modify(KIND, "default", "old", lambda stored: stored["spec"].update(paused=True))
    assert [each["metadata"]["name"] for each in overlay.list(KIND)] == ["new", "old"]
    assert (overlay.get(KIND, "default", "old") or {})["spec"] == {"paused": True}
    overlay.delete(KIND, "default", "old")
    assert overlay.get(KIND, "default", "old") is None
    assert [each["metadata"]["name"] for each in overlay.list(KIND, "default")] == ["new"]
    assert files(tmp_path) == before


def test_what_writes_change(base: FileStore) -> None:
    """Before and after; a write of what is there changes nothing."""
    overlay = OverlayStore(base, NOW)
    overlay.modify(KIND, "default", "old", lambda stored: stored["spec"].update(paused=False))
    assert overlay.changes() == []
    overlay.modify(KIND, "default", "old", lambda stored: stored["spec"].update(paused=True))
    new = overlay.create(cluster("new"))
    (before, after), (nothing, created) = overlay.changes()
    assert before == base.get(KIND, "default", "old") and after == {**(before or {}), "spec": {"paused": True}}
    assert nothing is None and created == new
    overlay.delete(KIND, "default", "old")
    overlay.delete(KIND, "default", "new")
    assert overlay.changes() == [(before, None)]
    assert OverlayStore(None, NOW).changes() == []


def test_labels_select(base: FileStore) -> None:
    """Labels select among both stores' objects."""
    overlay = OverlayStore(base, NOW)
    overlay.create(cluster("new", labels={"a": "c"}))
    assert [each["metadata"]["name"] for each in overlay.list(KIND, None, {"a": "b"})] == ["old"]


def test_without_a_store_yet() -> None:
    """The first run's check mode, before there is any store."""
    overlay = OverlayStore(None, NOW)
    assert overlay.list(KIND) == []
    created = overlay.create(cluster("new"))
    assert created["metadata"]["creationTimestamp"] == NOW
    with pytest.raises(AlreadyExists):
        overlay.create(cluster("new"))
    with pytest.raises(NotFound):
        overlay.delete(KIND, "default", "none")


def test_finalizers_keep_an_object(base: FileStore) -> None:
    """Deleting an object with a finalizer marks it; it goes with its last finalizer."""
    overlay = OverlayStore(base, NOW)
    overlay.create(cluster("new", finalizers=["f"]))
    assert (overlay.delete(KIND, "default", "new") or {})["metadata"]["deletionTimestamp"] == NOW
    overlay.modify(KIND, "default", "new", lambda stored: stored["metadata"].update(finalizers=[]))
    assert overlay.get(KIND, "default", "new") is None
