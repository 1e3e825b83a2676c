# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Definitions and rights as an earlier release's `install` made them; a real kube-apiserver answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from etcd_cluster import until
from management import kubeconfig_of
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    KubernetesApi,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.overlay import OverlayStore

LATER = sorted(definitions.LATER)
EARLIER = [kind for kind in definitions.KINDS if (definitions.group_of(kind.name), kind.name) not in definitions.LATER]
RUNNERS = [{"kind": "User", "name": "earlier-runner"}]
CLUSTER = ("cluster.x-k8s.io", "Cluster")
RESOURCE_SET = Path(__file__).parents[3] / "examples" / "manifests" / "resource-set.yaml"


def install(server: ApiServer, kinds: t.Sequence[definitions.Kind]) -> None:
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    installation.carry_out(api, installation.plan(api, installation.Wish(kinds, ["default"], RUNNERS)), lambda _: None)
    for kind in kinds:
        group = definitions.group_of(kind.name)
        server.until_allowed(RUNNERS[0]["name"], "create", group, crd_names.plural(kind.name))


@pytest.fixture
def earlier(empty_server: ApiServer) -> t.Iterator[ApiServer]:
    """An API server without the later kinds, and a runner without rights to them."""
    api = KubernetesApi({"kubeconfig": empty_server.kubeconfig})
    paths = [f"{installation.DEFINITIONS}/{crd_names.crd_name(*kind_ref)}" for kind_ref in LATER]
    for path in paths:
        api.send("delete", path, {})
    for path in paths:
        until("a definition is gone", lambda path=path: api.send("get", path, accepted=(404,)).status == 404)
    install(empty_server, EARLIER)
    yield empty_server
    install(empty_server, definitions.KINDS)


def store_of(kubeconfig: str) -> KubernetesStore:
    return KubernetesStore(KubernetesApi({"kubeconfig": kubeconfig}))


def would_be_stored(store: KubernetesStore, *paths: Path) -> list[str]:
    over = OverlayStore(store, "2026-01-01T00:00:00Z")
    return stored_cluster.apply_manifest(over, read_cluster([str(each) for each in paths], "default", "prod"))


def test_a_cluster_without_resource_sets_is_served(earlier: ApiServer, tmp_path: Path) -> None:
    """Of the kinds that came later there is none; a manifest that has one is refused before anything is stored, until `install` is run."""
    manifest = tmp_path / "prod.yaml"
    documents = cluster_documents("prod")
    documents[0]["metadata"]["labels"] = {"quota": "small"}
    manifest.write_text(yaml.safe_dump_all(documents))
    runner = kubeconfig_of(earlier, RUNNERS[0]["name"])
    for kubeconfig in (earlier.kubeconfig, runner):
        store = store_of(kubeconfig)
        for kind_ref in LATER:
            assert store.list(kind_ref, "default") == [] and store.get(kind_ref, "default", "prod") is None
        both = read_cluster([str(manifest), str(RESOURCE_SET)], "default", "prod")
        with pytest.raises(StoreError, match=r"no definition of the kind ClusterResourceSet.*playbook kubeadm\.contr"):
            stored_cluster.apply_manifest(store, both)
        assert store.list(CLUSTER, "default") == []
        assert "create Cluster default/prod" in would_be_stored(store, manifest)
    install(earlier, definitions.KINDS)
    assert "create ClusterResourceSet default/quota" in would_be_stored(store_of(runner), manifest, RESOURCE_SET)


def test_a_right_that_is_missing_is_no_missing_definition(empty_server: ApiServer) -> None:
    store = store_of(kubeconfig_of(empty_server, "without-rights"))
    for kind_ref in LATER:
        with pytest.raises(Refused, match="may not list"):
            store.list(kind_ref, "default")
        with pytest.raises(Refused, match="may not get"):
            store.get(kind_ref, "default", "prod")
