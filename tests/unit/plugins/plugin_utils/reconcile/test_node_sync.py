# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of Machines' taints their Nodes lack, as observed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.nodes import node_sync
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects

Object = dict[str, t.Any]
RECORD, LABELS = "cluster.x-k8s.io/taints-from-machine", "cluster.x-k8s.io/labels-from-machine"


def taint(key: str, effect: str) -> Object:
    return {"key": key, "value": "", "effect": effect, "propagation": "Always"}


def seen(
    folder: Path, taints: list[Object], on_node: list[Object], annotations: Object
) -> tuple[ClusterObjects, Object]:
    world = World(folder)
    world.change("m2", lambda stored: stored["spec"].update(taints=taints))
    objects = ClusterObjects.read(world.store, "default", "prod")
    assert objects is not None
    node = {"metadata": {"name": "node-m2", "annotations": annotations}, "spec": {"taints": on_node}}
    answer = {"api": {"answers": True}, "objects": {"nodes": [node]}}
    snapshot = {"workload": parse(answer, "m2")}
    assert [each["name"] for each in snapshot["workload"]["nodes"]] == ["node-m2"]
    return objects, snapshot


@pytest.mark.parametrize(
    ("role", "version", "left"),
    [
        ("node-role.kubernetes.io/control-plane", "v1.30.2", {}),
        ("node-role.kubernetes.io/master", "v1.23.4", {}),
        ("node-role.kubernetes.io/master", "v1.30.2", {"node-role.kubernetes.io/master": None}),
        ("node-role.kubernetes.io/control-plane", "odd", {}),
    ],
)
def test_kubeadms_role_outlives_the_machines(tmp_path: Path, role: str, version: str, left: Object) -> None:
    """Where kubeadm of that version sets it; the record of it goes."""
    objects, _snapshot = seen(tmp_path, [], [], {})
    next(each for each in objects.machines if each["metadata"]["name"] == "m2")["spec"]["version"] = version
    node = {"name": "node-m2", "labels": {role: ""}, "annotations": {LABELS: role, RECORD: ""}}
    (machine,) = node_sync.differing(objects, {"workload": {"nodes": [node]}}).values()
    patch, _said = machine.patch(node, ())
    assert patch == {"metadata": {"labels": left, "annotations": {LABELS: None}}}


def test_a_record_of_any_length_is_compared_whole(tmp_path: Path) -> None:
    """As many taints as a template may have, with keys as long as they may be."""
    taints = [taint(f"{'a' * 250}.b/{'k' * 60}{index:03}", "NoSchedule") for index in range(64)]
    record = ",".join(sorted(f"{each['key']}:NoSchedule" for each in taints))
    assert len(record) > 4096
    assert node_sync.differing(*seen(tmp_path, taints, taints, {RECORD: record})) == {}


@pytest.mark.parametrize(
    ("effect", "there", "told"),
    [("NoExecute", False, True), ("NoSchedule", False, False), ("NoExecute", True, False)],
)
def test_a_taint_that_would_evict_is_told(tmp_path: Path, effect: str, there: bool, told: bool) -> None:
    wanted = taint("example.com/burn-in", effect)
    found = node_sync.evictions(*seen(tmp_path, [wanted], [wanted] if there else [], {}))
    assert bool(found) is told
    assert not told or ("example.com/burn-in:NoExecute on Node node-m2 (risk: every pod" in found[0])


def test_a_workers_node_follows_its_machine(tmp_path: Path) -> None:
    """Its own registration's taints are kubeadm's, and not the control plane's; nor is a label of the Machine that would say so."""
    objects, snapshot = seen(tmp_path, [], [], {})
    labels = {"node.cluster.x-k8s.io/pool": "general"}
    wanted = taint("example.com/gpu", "NoSchedule")
    objects.machines = []
    objects.workers = [
        {
            "metadata": {"name": "w1", "labels": {**labels, "node-role.kubernetes.io/control-plane": ""}},
            "spec": {"taints": [wanted]},
            "status": {"nodeRef": {"name": "w1"}},
        }
    ]
    node: Object = {"name": "w1", "labels": {}, "taints": [], "annotations": {}}
    snapshot["workload"]["workers"] = [node]
    assert list(node_sync.differing(objects, snapshot)) == ["/api/v1/nodes/w1"]
    record = {RECORD: "example.com/gpu:NoSchedule", "cluster.x-k8s.io/labels-from-machine": next(iter(labels))}
    node.update(labels=labels, taints=[wanted], annotations=record)
    assert node_sync.differing(objects, snapshot) == {}
