# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that keeps its own objects and is marked for deletion with kubectl: nothing of it goes, and a move is the remedy."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from management import Kubectl, Runs

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]


@pytest.fixture
def runs(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> Runs:
    """The cluster prod, whose endpoint is the API that its objects are in, with its first machine's objects."""
    runs = Runs(server, tmp_path)
    assert not runs("cluster", manifests=[str(runs.manifest)]).get("failed")
    runs.infrastructure_is_there("127.0.0.1", server.port)
    assert not runs("machine", kind="init").get("failed")
    return runs


def contents(store: KubernetesStore) -> Object:
    """Specs of what a deletion would take away."""
    kinds = (CLUSTER, CONTROL_PLANE, MACHINE)
    return {(kind, each["metadata"]["name"]): each["spec"] for kind in kinds for each in store.list(kind, "default")}


@pytest.mark.parametrize("marked", ["cluster/prod", "kcp/prod-control-plane"])
def test_marked_with_kubectl(marked: str, server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore) -> None:
    before, kubectl = contents(kubernetes_store), Kubectl(server)
    kubectl("delete", marked, "--wait=false")
    for check in (True, False):
        assert not runs("cluster", check=check, manifests=[str(runs.manifest)]).get("failed")
        decided = runs("decide", check=check, run="r1")
        assert decided["failed"] and decided["decision"]["action"] == "blocked", decided
        assert "in its own API" in decided["msg"] and "kubeadm.control_plane.move" in decided["msg"]
        refused = runs("cluster", check=check, state="absent")
        assert refused["failed"] and "Nothing was done" in refused["msg"] and "can't be taken back" in refused["msg"]
    kubernetes_store.look_again()
    assert contents(kubernetes_store) == before
    condition = kubectl(
        "get", "kcp", "prod-control-plane", "-o", "jsonpath={.status.conditions[?(@.type=='Deleting')]}"
    )
    assert "ObjectsInItself" in condition


@pytest.mark.parametrize("marked", ["cluster/prod", "kcp/prod-control-plane"])
def test_moved_out_it_lives_on(
    marked: str, server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """Everything goes along but the mark, which no other store can be given; and back, where it isn't any more."""
    before = contents(kubernetes_store)
    Kubectl(server)("delete", marked, "--wait=false")
    files, itself = {"path": str(tmp_path / "files")}, runs.store
    moved = runs("cluster_move", to=files)
    assert not moved.get("failed"), moved
    assert [each for each in moved["changes"] if "mark of deletion behind, so that the cluster lives on" in each]
    assert contents(kubernetes_store) == {}
    runs.store = {"type": "file", **files}
    there = FileStore(files["path"])
    kept = [*there.list(CLUSTER, "default"), *there.list(CONTROL_PLANE, "default")]
    assert len(kept) == 2 and not [each for each in kept if "deletionTimestamp" in each["metadata"]]
    assert not runs("cluster_move", to=itself).get("failed")
    now = contents(kubernetes_store)
    assert {key: value["clusterName"] for key, value in now.items() if "clusterName" in value}
    assert now.keys() == before.keys()
    for kind in (CLUSTER, CONTROL_PLANE):
        [found] = kubernetes_store.list(kind, "default")
        assert "deletionTimestamp" not in found["metadata"]


def test_a_cluster_elsewhere_is_deleted(server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """Whose endpoint is another one's: its deletion goes on, and is not taken for a mistake by a move."""
    other = {"host": "192.0.2.1", "port": 6443}
    kubernetes_store.modify(CLUSTER, "default", "prod", lambda found: found["spec"].update(controlPlaneEndpoint=other))
    Kubectl(server)("delete", "cluster/prod", "--wait=false")
    decided = runs("decide", run="r1")
    assert decided["decision"]["action"] == "deleteMachines", decided


def test_an_api_by_another_name(
    server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """What a run found out from a machine is noted, so that a move, which asks none, knows it too."""
    other = {"host": "192.0.2.1", "port": 6443}
    kubernetes_store.modify(CLUSTER, "default", "prod", lambda found: found["spec"].update(controlPlaneEndpoint=other))
    Kubectl(server)("delete", "cluster/prod", "--wait=false")
    refused = runs("cluster_move", to={"path": str(tmp_path / "files")})
    assert refused["failed"] and "is being deleted as a whole: Cluster prod" in refused["msg"]
    noted = {"type": "Deleting", "status": "True", "reason": "ObjectsInItself", "message": ""}
    noted["lastTransitionTime"] = "2026-01-31T12:00:00Z"
    where = (CONTROL_PLANE, "default", "prod-control-plane")
    kubernetes_store.modify(*where, lambda found: found.setdefault("status", {}).update(conditions=[noted]))
    moved = runs("cluster_move", to={"path": str(tmp_path / "files")})
    assert not moved.get("failed") and contents(kubernetes_store) == {}, moved
