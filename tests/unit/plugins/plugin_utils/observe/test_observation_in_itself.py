# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observing whether a cluster that is to be deleted keeps its own objects, whatever the store calls the API that they are in, or shares them."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from builders import NOW, Builder, healthy
from observed import Machines, objects_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.overlay import OverlayStore

GATE = [{"name": "g", "apiVersion": "v1", "kind": "ConfigMap", "objectName": "c", "expression": "a"}]
ASKED = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "namespace": "default", "name": "prod"}


class InAnApi(OverlayStore):
    """The objects of another store, in an API that is called otherwise than the cluster's endpoint."""

    url = "https://management.example.org"

    def host(self) -> str:
        return self.url


def objects(builder: Builder, tmp_path: Path, url: str) -> ClusterObjects:
    """The cluster's objects, in an API where there is a URL."""
    found = objects_of(builder, tmp_path / "store")
    found.cluster["metadata"]["uid"] = "u-1"
    if url:
        found.store = InAnApi(found.store, NOW)
        found.store.url = url
    return found


def machine(builder: Builder, *wanted: dict[str, t.Any]) -> Machines:
    """One machine, whose API answers so to what it is asked for beside the rest."""
    observation = {
        "api": {"answers": True, "date": "Sat, 31 Jan 2026 12:00:00 GMT", "message": ""},
        "etcd": builder.workload["etcd"],
        "objects": {"nodes": [], "kubeadmConfig": {"data": {}}},
        "wanted": list(wanted),
    }
    return Machines({"m1": lambda _arguments: observation})


def answer(**metadata: str) -> dict[str, t.Any]:
    """What is read of a Cluster; without metadata there is none."""
    there = {"kind": "Cluster", "metadata": metadata} if metadata else None
    return {"found": there is not None, "object": there, "message": ""}


@pytest.mark.parametrize("gates", [0, 1])
@pytest.mark.parametrize(("there", "itself"), [({"uid": "u-1"}, True), ({"uid": "u-2"}, False), ({}, False)])
def test_its_own_api_has_the_very_same_cluster(tmp_path: Path, there: dict[str, str], itself: bool, gates: int) -> None:
    builder = healthy(1).deleting()
    if gates:
        builder.annotate("kubeadm.control-plane/readiness-gates", json.dumps(GATE))
    machines = machine(builder, *[{"found": False, "object": None, "message": ""}] * gates, answer(**there))
    snapshot = observe(objects(builder, tmp_path, InAnApi.url), machines, NOW)
    assert snapshot.get("keepsItself", False) is itself and check_snapshot(snapshot) == []
    asked = machines.calls[0][1]["objects"]
    assert (len(asked), asked[-1]) == (gates + 1, ASKED) and len(snapshot["readinessGates"]) == gates


def test_by_its_address_nobody_need_answer(tmp_path: Path) -> None:
    builder = healthy(1)
    snapshot = observe(
        objects(builder, tmp_path, "https://10.0.0.100:6443"), Machines({"m1": lambda _asked: None}), NOW
    )
    assert snapshot["keepsItself"] is True


@pytest.mark.parametrize(("deleting", "url"), [(False, InAnApi.url), (True, "")])
def test_it_is_not_asked_in_vain(tmp_path: Path, deleting: bool, url: str) -> None:
    """Where it stays, and where its objects are files; an answer that was not asked for says nothing."""
    builder = healthy(1).deleting() if deleting else healthy(1)
    machines = machine(builder, answer(uid="u-1"))
    assert "keepsItself" not in observe(objects(builder, tmp_path, url), machines, NOW)
    assert "objects" not in machines.calls[0][1]


@pytest.mark.parametrize("deleting", [False, True])
def test_of_a_deletion_it_is_told_who_else_names_the_objects(tmp_path: Path, deleting: bool) -> None:
    builder = healthy(1).deleting() if deleting else healthy(1)
    found = objects(builder, tmp_path, "")
    found.store.create({**found.cluster, "metadata": {"name": "copy", "namespace": "default"}})
    snapshot = observe(found, machine(builder), NOW)
    assert snapshot.get("sharedWith") == ("copy" if deleting else None) and check_snapshot(snapshot) == []
