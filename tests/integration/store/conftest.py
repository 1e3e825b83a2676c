# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both stores, and one real API server with the collection's CustomResourceDefinitions for all tests."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from management_workspace import DEFINITIONS, define, empty
from newer_api_server import start_api_server

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import (
    KubernetesStore,
    kind_path,
)

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    """An API server that has every kind, without the rules in CEL: what a run refuses itself is tried here (test_newer_api_server.py has them)."""
    server = start_api_server(tmp_path_factory.mktemp("management"))
    try:
        server.wait_ready()
        for kind in definitions.KINDS:
            server.create(DEFINITIONS, definitions.definition(kind))
        for kind in definitions.KINDS:
            server.until_served(kind_path((definitions.group_of(kind.name), kind.name), "default"))
        for namespace in ("a", "b"):
            server.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        yield server
    finally:
        server.end()


@pytest.fixture
def kubernetes_store(empty_server: ApiServer) -> KubernetesStore:
    """A store in the API server, with nothing in it."""
    return KubernetesStore(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))


@pytest.fixture
def empty_server(server: ApiServer) -> ApiServer:
    """An API server that has every kind, those of the providers in the tests too, and no object of them."""
    define(server)
    empty(KubernetesStore(KubernetesApi({"kubeconfig": server.kubeconfig})))
    return server


@pytest.fixture
def api(empty_server: ApiServer, tmp_path: Path) -> dict[str, t.Any]:
    """The options of a store in an API, with nothing in it."""
    return {"type": "kubernetes", "kubeconfig": empty_server.kubeconfig, "path": str(tmp_path / "journal")}


@pytest.fixture(params=["file", "kubernetes"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Each store, empty."""
    if request.param == "file":
        return FileStore(str(tmp_path / "store"))
    kubernetes: KubernetesStore = request.getfixturevalue("kubernetes_store")
    return kubernetes
