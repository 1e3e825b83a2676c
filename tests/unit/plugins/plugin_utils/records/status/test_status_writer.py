# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a decision's status becomes in the store."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.status.status_writer import write_status
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
NOW = "2026-01-31T12:00:00Z"
EARLIER = "2026-01-31T11:00:00Z"


def obj(api_version: str, kind: str, name: str, **content: t.Any) -> Object:
    """An object of the namespace default."""
    labels = {"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""}
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": {"a": "1", "b": "2"}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A cluster with a control plane and a machine that was found unhealthy."""
    made = FileStore(str(tmp_path / "store"))
    group, kind = CONTROL_PLANE
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachineTemplate", "name": "t"}
    made.create(
        obj(
            "cluster.x-k8s.io/v1beta2",
            "Cluster",
            "c",
            spec={"controlPlaneRef": {"apiGroup": group, "kind": kind, "name": "cp"}},
        )
    )
    made.create(
        obj(f"{group}/v1beta2", kind, "cp", spec={"machineTemplate": {"spec": {"infrastructureRef": reference}}})
    )
    conditions = [
        {"type": each, "status": "False", "reason": "X", "message": "", "lastTransitionTime": EARLIER}
        for each in ("HealthCheckSucceeded", "OwnerRemediated")
    ]
    infrastructure = {"apiGroup": reference["apiGroup"], "kind": "NspawnMachine", "name": "m1"}
    made.create(
        obj(
            "cluster.x-k8s.io/v1beta2",
            "Machine",
            "m1",
            spec={"infrastructureRef": infrastructure},
            status={"conditions": conditions},
        )
    )
    return made


def write(store: FileStore, decision: Object, **options: t.Any) -> None:
    """Write a decision's status, and see that the second time nothing is written."""
    objects = ClusterObjects.read(store, "default", "c")
    assert objects is not None
    write_status(objects, decision, NOW, **options)
    before = {path: path.stat().st_mtime_ns for path in Path(store.directory).rglob("*.yaml")}
    write_status(objects, decision, "2026-01-31T13:00:00Z", **options)
    assert {path: path.stat().st_mtime_ns for path in Path(store.directory).rglob("*.yaml")} == before


def control_plane(store: FileStore) -> Object:
    """The stored KubeadmControlPlane."""
    return store.get(CONTROL_PLANE, "default", "cp") or {}


def test_annotations_are_set_and_taken_away(store: FileStore) -> None:
    write(store, {"annotations": {"controlPlane": {"a": None, "b": "3", "c": "4", "never": None}}})
    assert control_plane(store)["metadata"]["annotations"] == {"b": "3", "c": "4"}


def test_conditions_of_machines_that_are_healthy_again_are_removed(store: FileStore) -> None:
    healthy = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    write(
        store,
        {"conditions": {"machines": {"m1": [healthy]}}, "removedConditions": {"machines": {"m1": ["OwnerRemediated"]}}},
    )
    stored = (store.get(MACHINE, "default", "m1") or {})["status"]["conditions"]
    assert {each["type"]: each["lastTransitionTime"] for each in stored} == {
        "HealthCheckSucceeded": EARLIER,
        "Ready": NOW,
    }


def rollout(replicas: t.Optional[int]) -> Object:
    """A decision in whose status a rollout is under way, or none."""
    return {"status": {"controlPlane": {"rollout": {} if replicas is None else {"replicas": replicas}, "replicas": 3}}}


def test_a_rollout_is_recorded_with_the_step_that_is_taken(store: FileStore) -> None:
    write(store, rollout(3))
    assert control_plane(store)["status"]["rollout"] == {"replicas": 3}


def test_a_rollout_that_is_only_wished_for_is_not_recorded(store: FileStore) -> None:
    write(store, rollout(3), begins=False)
    assert control_plane(store)["status"] == {"replicas": 3}


def test_a_rollout_under_way_stays_recorded_and_ends(store: FileStore) -> None:
    write(store, rollout(3))
    write(store, rollout(3), begins=False)
    assert control_plane(store)["status"]["rollout"] == {"replicas": 3}
    write(store, rollout(None), begins=False)
    assert control_plane(store)["status"]["rollout"] == {}


@pytest.mark.parametrize("begins", [False, True])
def test_a_new_control_plane_begins_with_a_step_that_is_taken(store: FileStore, begins: bool) -> None:
    """What the Cluster says of the one that was deleted is taken back then and not before: the consent was this run's alone."""
    where = (CLUSTER, "default", "c")
    latch = {"initialization": {"controlPlaneInitialized": True}}
    store.modify(*where, lambda found: found.update(status=latch))
    given = {"initialization": {"controlPlaneInitialized": False, "infrastructureProvisioned": True}}
    write(store, {"status": {"cluster": given}, "annotations": {"cluster": {"a": None}}}, begins=begins)
    stored = store.get(*where)
    assert stored is not None
    assert stored["status"]["initialization"] == {**given["initialization"], "controlPlaneInitialized": not begins}
    assert ("a" in stored["metadata"]["annotations"]) is not begins
