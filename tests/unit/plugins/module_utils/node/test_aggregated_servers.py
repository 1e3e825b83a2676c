# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an API server behind another one answers to a front proxy's certificate, asked of one that listens here."""

from __future__ import annotations

import base64
import contextlib
import threading
import typing as t
from pathlib import Path

import pytest
from aggregated_server import FRONT_PROXY, serve

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node import aggregated_servers
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki import certificates
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observation import now_rfc3339

NOW = now_rfc3339()
OLD, NEW = (certificates.new_ca("front-proxy-ca", NOW, "ECDSA-P256") for _each in range(2))


def proxy(authority: certificates.KeyPair, name: str = FRONT_PROXY) -> tuple[str, str]:
    made = certificates.new_client_certificate(authority, name, [], NOW, "ECDSA-P256")
    return made.crt, str(made.key)


class Api:
    """An API with these APIServices, whose Services have the address of this machine."""

    def __init__(self, *items: dict[str, t.Any]) -> None:
        self.items = items
        self.services: dict[str, t.Any] = {"web": {"spec": {"clusterIP": "127.0.0.1"}}, "headless": {"spec": {}}}

    def list(self, path: str) -> list[dict[str, t.Any]]:
        assert path == aggregated_servers.API_SERVICES
        return list(self.items)

    def get(self, path: str) -> t.Optional[dict[str, t.Any]]:
        assert path.startswith("/api/v1/namespaces/shop/services/")
        found: t.Optional[dict[str, t.Any]] = self.services.get(path.rpartition("/")[2])
        return found


def item(service: str, port: int, **spec: t.Any) -> dict[str, t.Any]:
    return {
        "metadata": {"name": f"v1.{service}.example"},
        "spec": {
            "group": f"{service}.example",
            "version": "v1",
            "service": {"namespace": "shop", "name": service, "port": port},
            **spec,
        },
    }


@pytest.fixture
def port(tmp_path: Path) -> t.Iterator[int]:
    """One that trusts the old authority alone, and shows a certificate that nobody verifies."""
    files = {"crt": proxy(OLD, "web")[0], "ca": OLD.crt}
    pair = certificates.new_client_certificate(OLD, "web", [], NOW, "ECDSA-P256")
    files.update(crt=pair.crt, key=str(pair.key))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    server = serve("127.0.0.1", 0, *(str(tmp_path / name) for name in ("crt", "key", "ca")))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with contextlib.closing(server.socket):
        yield int(server.server_address[1])
        server.shutdown()
    thread.join()


def test_whom_it_lets_in(port: int) -> None:
    local = {"metadata": {"name": "v1.apps"}, "spec": {"group": "apps", "version": "v1"}}
    api: t.Any = Api(local, item("web", port, insecureSkipTLSVerify=True), item("headless", port), item("gone", port))
    assert aggregated_servers.answers(api, proxy(OLD), proxy(NEW)) == [
        {"name": "v1.web.example", "current": 200, "other": 0}
    ]
    assert aggregated_servers.answers(api, proxy(OLD, "somebody"), proxy(OLD)) == [
        {"name": "v1.web.example", "current": 401, "other": 200}
    ]


def test_a_server_that_is_not_the_right_one_is_told_nothing(port: int) -> None:
    bundle = base64.b64encode(NEW.crt.encode()).decode()
    api: t.Any = Api(item("web", port, caBundle=bundle))
    assert aggregated_servers.answers(api, proxy(OLD), proxy(OLD))[0]["current"] == 0


def test_where_nobody_listens(port: int) -> None:
    api: t.Any = Api(item("web", 1, insecureSkipTLSVerify=True))
    assert aggregated_servers.answers(api, proxy(OLD), proxy(OLD))[0]["current"] == 0
