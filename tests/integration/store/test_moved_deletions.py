# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is being deleted when a cluster is moved: a machine's removal goes on, a cascade out of the cluster's own API ends."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import moves
import pytest
from api_server import ApiServer
from etcd_cluster import until
from management import Kubectl, Runs, controller_manager
from moves import MACHINE, SECRET, everything, missing, move, opened

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import KindRef, Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
Options = dict[str, t.Any]
INFRASTRUCTURE: KindRef = ("infrastructure.cluster.x-k8s.io", "NspawnMachine")
PASSWORD = "of the copies"


@pytest.fixture
def runs(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> Runs:
    """The cluster prod, which keeps its own objects, with its keys and its first machine's objects."""
    runs = Runs(server, tmp_path)
    assert not runs("cluster", manifests=[str(runs.manifest)]).get("failed")
    runs.infrastructure_is_there("127.0.0.1", server.port)
    assert not runs("cluster_certificates").get("failed")
    assert not runs("machine", kind="init").get("failed")
    return runs


def test_a_removal_goes_on_in_the_other_store(api: Options, tmp_path: Path) -> None:
    """From files to an API and back, in the order in which they were marked; nothing else of the machines is lost."""
    files = moves.make(tmp_path / "workspace")
    here = opened(files)
    names = sorted(each["metadata"]["name"] for each in here.list(MACHINE, "default"))
    moves.mark(here, MACHINE, names[1])
    before = everything(here)
    said = move(files, api, check=True)
    assert f"continue there with the deletion of Machine {names[1]}" in said["changes"], said
    moved = move(files, api)
    assert not moved.get("failed"), moved
    assert f"mark Machine {names[1]} for deletion" in moved["changes"]
    there = opened(api)
    assert moves.marked(there) == [names[1]] and missing(there, before) == [] and everything(opened(files)) == {}
    assert not move(files, api)["changed"]
    back = {"type": "file", "path": str(tmp_path / "back")}
    assert not move(api, back).get("failed")
    assert moves.marked(opened(back)) == [names[1]] and missing(opened(back), before) == []


def of_the_machine(store: Store) -> list[str]:
    """What there is of prod's machines and keys."""
    kinds = (MACHINE, INFRASTRUCTURE, SECRET)
    label = {"cluster.x-k8s.io/cluster-name": "prod"}
    return [f"{kind[1]} {each['metadata']['name']}" for kind in kinds for each in store.list(kind, "default", label)]


def contents(store: Store) -> Object:
    """What every object says but how it is, which runs note on it."""
    return {key: (each.get("spec"), each.get("data")) for key, each in everything(store).items()}


def cascaded(server: ApiServer, runs: Runs, store: KubernetesStore, folder: Path) -> str:
    """Delete the control plane as ``--cascade=foreground`` does, until the collector is through; returns the machine."""
    [name] = [each["metadata"]["name"] for each in store.list(MACHINE, "default")]
    with controller_manager(server, folder, "garbagecollector"):
        Kubectl(server)("delete", "kcp/prod-control-plane", "--cascade=foreground", "--wait=false")
        until("the cascade is through", lambda: of_the_machine(store) == [f"Machine {name}"])
        until("the machine is marked", lambda: moves.marked(store) == [name])
    decided = runs("decide", run="r1", vault_password=PASSWORD)
    assert decided["failed"] and "in its own API" in decided["msg"], decided
    return name


def test_a_cascade_in_itself_ends_with_a_move(
    server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """All that the API still has lives on; an object that only the collector held up is no longer deleted."""
    name = cascaded(server, runs, kubernetes_store, tmp_path)
    files = {"path": str(tmp_path / "files")}
    moved = runs("cluster_move", to=files)
    assert not moved.get("failed"), moved
    assert [each for each in moved["changes"] if "mark of deletion behind" in each and f"Machine {name}" in each]
    there = FileStore(files["path"])
    for kind in (CLUSTER, CONTROL_PLANE, MACHINE):
        [found] = there.list(kind, "default")
        assert "deletionTimestamp" not in found["metadata"]
        assert "foregroundDeletion" not in found["metadata"]["finalizers"]
    assert kubernetes_store.list(CLUSTER, "default") == []


def test_the_copy_keeps_what_a_cascade_took(
    server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """Keys and InfraMachines are there still, after any number of runs; moved back, the API has all of it, and nothing is marked."""
    runs.store["export"] = str(tmp_path / "export")
    runs("cluster_export", vault_password=PASSWORD)
    before = contents(kubernetes_store)
    whole = of_the_machine(kubernetes_store)
    cascaded(server, runs, kubernetes_store, tmp_path)
    assert not runs("cluster_export", vault_password=PASSWORD).get("failed")
    itself, copy = runs.store, {"type": "file", "path": str(tmp_path / "export")}
    kept = moves.opened(copy, PASSWORD)
    assert contents(kept) == before and of_the_machine(kept) == whole and moves.marked(kept) == []
    runs.store = copy
    assert not runs("run", use_export=True, vault_password=PASSWORD).get("failed")
    runs("run", state="absent", vault_password=PASSWORD)
    with controller_manager(server, tmp_path, "garbagecollector"):
        moved = runs("cluster_move", to=itself, vault_password=PASSWORD)
        assert not moved.get("failed"), moved
        moves_on = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "nobody",
            "uid": "00000000-0000-0000-0000-000000000000",
        }
        labelled = {"name": "without-owner", "namespace": "default", "ownerReferences": [moves_on]}
        kubernetes_store.create({"apiVersion": "v1", "kind": "Secret", "metadata": labelled})
        until("garbage is collected", lambda: kubernetes_store.get(SECRET, "default", "without-owner") is None)
    assert contents(kubernetes_store) == before and of_the_machine(kubernetes_store) == whole
    for kind in (CLUSTER, CONTROL_PLANE, MACHINE):
        [found] = kubernetes_store.list(kind, "default")
        assert "deletionTimestamp" not in found["metadata"]


def test_a_removal_of_before_goes_on_beside_it(
    server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """A machine that was being removed when the cluster was marked is removed where the cluster lives on."""
    kubectl = Kubectl(server)
    [name] = [each["metadata"]["name"] for each in kubernetes_store.list(MACHINE, "default")]
    kubectl("delete", "machine", name, "--wait=false")
    marked = kubernetes_store.list(MACHINE, "default")[0]["metadata"]["deletionTimestamp"]
    # An API server's times are whole seconds.
    until("a second has passed", lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) > marked)
    kubectl("delete", "cluster/prod", "--wait=false")
    files = {"path": str(tmp_path / "files")}
    moved = runs("cluster_move", to=files)
    assert not moved.get("failed"), moved
    there = FileStore(files["path"])
    assert moves.marked(there) == [name]
    assert "deletionTimestamp" not in there.list(CLUSTER, "default")[0]["metadata"]
