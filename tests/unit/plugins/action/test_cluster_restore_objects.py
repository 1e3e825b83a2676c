# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A restore and the store's objects: an etcd that only the spec calls external, and what was applied to the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from restore_world import World

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.resource_sets.stored_resource_sets import (
    BINDING,
)

CONSENT = "prod:everythingAfterRevision:90:etcdOf:b,c"
TAKEN = "2999-01-01T00:00:00Z"
KEPT = {"path": "/kept/95.db", "revision": 95, "taken_at": TAKEN, "cluster_id": "00000000000000ff"}


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_etcd_on_the_machines_is_restored_whatever_the_spec_calls_it(world: World) -> None:
    """Reconcile is blocked by such a spec (EtcdLeftBehind); the quorum may be lost before it is corrected."""
    external = {"clusterConfiguration": {"etcd": {"external": {"endpoints": []}}}}
    world.change(CONTROL_PLANE, "prod", lambda each: each["spec"].update(kubeadmConfigSpec=external))
    assert "is external and can't be restored from here" in world.run(consent=CONSENT)["msg"] and world.calls == []
    world.change(CONTROL_PLANE, "prod", lambda each: each.update(status={"etcdClusterID": "00000000000000ff"}))
    assert not world.run(consent=CONSENT).get("failed") and ("a", "restored 90 wait=0") in world.calls


def applied(name: str, time: str) -> dict[str, object]:
    """What a binding has of a ConfigMap that was applied then."""
    return {"kind": "ConfigMap", "name": name, "hash": "sha256:x", "applied": True, "lastAppliedTime": time}


@pytest.mark.parametrize("from_snapshot", [True, False])
def test_what_was_applied_after_the_snapshot_is_applied_again(world: World, from_snapshot: bool) -> None:
    """The restored etcd lacks it. A machine's own data has it; what was applied before may have been deleted by hand since."""
    before, later = applied("a", "2998-12-31T23:00:00Z"), applied("b", "2999-01-01T00:10:00Z")
    metadata = {"name": "prod", "namespace": "default"}
    sets = [{"clusterResourceSetName": "one", "resources": [before, later]}]
    sets.append({"clusterResourceSetName": "two", "resources": [later]})
    kind = {"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSetBinding"}
    world.store.create({**kind, "metadata": metadata, "spec": {"clusterName": "prod", "bindings": sets}})
    world.snapshots = [KEPT] if from_snapshot else []
    consent = world.run(check=True)["consent"]
    world.fails = "b"
    assert world.run(consent=consent)["failed"]
    assert (world.store.get(BINDING, "default", "prod") or {})["spec"]["bindings"] == sets
    world.fails = ""
    assert not world.run(consent=consent).get("failed")
    left = [{"clusterResourceSetName": "one", "resources": [before]}]
    found = world.store.get(BINDING, "default", "prod") or {}
    assert found["spec"]["bindings"] == (left if from_snapshot else sets)


def test_a_binding_that_cannot_be_read_keeps_no_restore_from_its_end(world: World, tmp_path: Path) -> None:
    """etcd works by then: that it was restored is noted, and what is to be done is told."""
    kind = {"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSetBinding"}
    metadata = {"name": "prod", "namespace": "default"}
    world.store.create({**kind, "metadata": metadata, "spec": {"clusterName": "prod", "bindings": []}})
    world.snapshots = [KEPT]
    consent = world.run(check=True)["consent"]
    [path] = tmp_path.rglob("clusterresourcesetbinding*/prod.yaml")
    path.write_text("{")
    done = world.run(consent=consent)
    assert not done.get("failed") and "delete the ClusterResourceSetBinding default/prod" in done["msg"]
    assert world.note()["state"] == "Done"
