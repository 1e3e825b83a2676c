# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real API servers for all tests, as starting one takes ten seconds: one that is looked at, and one whose objects are edited."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer, find_binary
from drained_node import Lab
from filled_api import fill
from tasks import Playbook

SYSTEM = "/api/v1/namespaces/kube-system"
APPS = "/apis/apps/v1/namespaces/kube-system"


class Workload:
    """A workload cluster whose objects a test puts and looks at."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    def put(self, path: str, document: t.Mapping[str, t.Any]) -> None:
        """Make an object, in place of one of that name."""
        with self.server.client() as client:
            answer = client.send("DELETE", f"{path}/{document['metadata']['name']}")
            assert answer.status in (200, 202, 404), answer
            client.checked(client.send("POST", path, document), path)

    def get(self, path: str) -> t.Optional[dict[str, t.Any]]:
        """An object, None where there is none."""
        with self.server.client() as client:
            return client.get(path)

    def there(self, path: str) -> dict[str, t.Any]:
        """An object that must be there."""
        found = self.get(path)
        assert found is not None, path
        return found

    def patch(self, path: str, document: t.Mapping[str, t.Any]) -> None:
        """Change an object, as somebody else would."""
        with self.server.client() as client:
            client.checked(client.send("PATCH", path, document, "application/merge-patch+json"), path)

    def delete(self, path: str) -> None:
        """Delete an object, if it is there."""
        with self.server.client() as client:
            client.send("DELETE", path)

    def config_map(self, name: str, data: t.Mapping[str, str], **metadata: t.Any) -> None:
        """Make a ConfigMap."""
        self.put(f"{SYSTEM}/configmaps", {"metadata": {"name": name, **metadata}, "data": dict(data)})

    def data(self, name: str) -> dict[str, str]:
        """A ConfigMap's data."""
        return dict(self.there(f"{SYSTEM}/configmaps/{name}").get("data") or {})

    def version(self, path: str) -> str:
        """An object's resourceVersion."""
        return str(self.there(path)["metadata"]["resourceVersion"])


@pytest.fixture(name="server", scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    """An API server that every test finds with the same objects."""
    binaries = [find_binary(name) for name in ("kube-apiserver", "kubectl")]
    if not all(binaries):
        pytest.skip("no kube-apiserver and kubectl: set KUBERNETES_BINARIES, or build a machine image first")
    server = ApiServer(tmp_path_factory.mktemp("api"), *t.cast("list[str]", binaries))
    try:
        fill(server.wait_ready())
        yield server
    finally:
        server.end()


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Workload]:
    """A real API server, shared by the tests that edit objects; each puts its own."""
    binaries = [find_binary(name) for name in ("kube-apiserver", "kubectl")]
    if not all(binaries):
        pytest.skip("no kube-apiserver and kubectl: set KUBERNETES_BINARIES, or build a machine image first")
    server = ApiServer(tmp_path_factory.mktemp("edited"), *t.cast("list[str]", binaries))
    try:
        yield Workload(server.wait_ready())
    finally:
        server.end()


@pytest.fixture
def playbook(workload: Workload, tmp_path: Path) -> Playbook:
    """Runs tasks against the server."""
    return Playbook(tmp_path, workload.server.kubeconfig, workload.server.kubectl)


@pytest.fixture(name="lab")
def _lab(workload: Workload, tmp_path: Path) -> t.Iterator[Lab]:
    lab = Lab(workload, tmp_path / "drain")
    try:
        yield lab
    finally:
        lab.end()
