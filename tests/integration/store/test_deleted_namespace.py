# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubectl delete namespace: what goes at once, what stays, and the way back. With the real controllers of namespaces and of garbage."""

from __future__ import annotations

import typing as t
from pathlib import Path

import moves
import pytest
import yaml
from actions import run_action
from api_server import ApiServer
from etcd_cluster import until
from lab_workers import deployment_name, worker_documents
from management import Kubectl, controller_manager
from management_workspace import KINDS
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
NAMESPACE, NAME, PASSWORD = "deleted-once", "prod", "of the copies"
NAMESPACES = "/api/v1/namespaces"
KEYS = [f"Secret/{NAME}-{purpose}" for purpose in ("ca", "etcd", "kubeconfig", "proxy", "sa")]


def run(module: str, store: Object, **arguments: t.Any) -> Object:
    """What a task does in that namespace."""
    given = {"cluster": NAME, "namespace": NAMESPACE, "vault_password": PASSWORD, **arguments}
    return run_action(module, store=dict(store), **given)


def kept(store: Store) -> list[str]:
    """Each object of the cluster."""
    store.look_again()
    groups = [*((definitions.group_of(kind.name), kind.name) for kind in KINDS), ("", "Secret")]
    found = [each for group in groups for each in store.list(group, NAMESPACE)]
    named = [f"{each['kind']}/{each['metadata']['name']}" for each in found]
    return sorted(each for each in named if not each.startswith("Secret/default-token"))


@pytest.fixture
def api(empty_server: ApiServer, tmp_path: Path) -> Object:
    """A cluster with its first machine in a namespace of its own, and the copy that a pass leaves of it."""
    options = {"type": "kubernetes", "kubeconfig": empty_server.kubeconfig, "path": str(tmp_path / "journal")}
    options["export"] = str(tmp_path / "export")
    empty_server.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    documents = [*cluster_documents(NAME), *worker_documents(NAME, 1)]
    for each in documents:
        each["metadata"]["namespace"] = NAMESPACE
    manifest = tmp_path / "prod.yaml"
    manifest.write_text(yaml.safe_dump_all(documents))
    endpoint = {"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}}
    ready = {"initialization": {"provisioned": True}}
    for module, arguments in (
        ("cluster", {"manifests": [str(manifest)]}),
        ("infrastructure_status", {"kind": "NspawnCluster", "name": NAME, "spec": endpoint, "status": ready}),
        ("cluster_certificates", {}),
        ("machine", {"kind": "init"}),
        ("run", {}),
        ("cluster_export", {"fencing": 1}),
    ):
        done = run(module, options, **arguments)
        assert not done.get("failed"), (module, done)
    opening.open_locks(options).release_own(NAMESPACE, NAME)
    return options


def test_what_goes_what_stays_and_the_way_back(api: Object, empty_server: ApiServer, tmp_path: Path) -> None:
    """As docs/store.md tells it. Nothing that is left in the API can do harm to the copy, which becomes the store, and then goes back."""
    kubectl, store = Kubectl(empty_server), KubernetesStore(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))
    before = kept(store)
    [own] = [each.partition("/")[2] for each in before if each.startswith("Machine/")]
    assert {*KEYS, f"NspawnMachine/{own}", f"NspawnCluster/{NAME}"} <= {*before}
    with controller_manager(empty_server, tmp_path, "garbagecollector", "namespace"):
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")
        stays = [f"Cluster/{NAME}", f"KubeadmControlPlane/{NAME}-control-plane", f"Machine/{own}"]
        stays += [f"MachineDeployment/{deployment_name(NAME)}"]
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
        until(
            "all goes that has no finalizer, the lock's Lease too",
            lambda: kept(store) == stays and store.api.send("list", leases).document["items"] == [],
        )

        refused = run("run", api)
        assert refused["failed"] and "because it is being terminated" in refused["msg"], refused
        assert "docs/store.md" in refused["msg"]

        copy = {"type": "file", "path": api["export"]}
        assert not run("run", copy, use_export=True).get("failed")
        opening.open_locks(copy).release_own(NAMESPACE, NAME)
        assert kept(moves.opened(copy, PASSWORD)) == before

        workers = f"machinedeployment/{deployment_name(NAME)}"
        for each in (f"machine/{own}", workers, f"kcp/{NAME}-control-plane", f"cluster/{NAME}"):
            kubectl("-n", NAMESPACE, "patch", each, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        until(
            "the namespace is gone",
            lambda: store.api.send("get", f"{NAMESPACES}/{NAMESPACE}", accepted=(404,)).status == 404,
        )
        kubectl("create", "namespace", NAMESPACE)
        moved = run("cluster_move", copy, to=dict(api))
        assert not moved.get("failed"), moved
        assert kept(store) == before
        assert not run("run", api).get("failed")
        opening.open_locks(api).release_own(NAMESPACE, NAME)
