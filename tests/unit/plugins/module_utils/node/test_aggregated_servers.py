# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an API server behind another one answers to a front proxy's certificate, asked of one that listens here."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import tempfile
import threading
import typing as t
from pathlib import Path

import pytest
from aggregated_server import FRONT_PROXY, serve, serving_pair

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import aggregated_servers
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates

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


SERVING = serving_pair("web.shop.svc")
BUNDLE = base64.b64encode(SERVING[0].encode()).decode()
LETS_IN_OLD = {"name": "v1.web.example", "verified": True, "current": 200, "other": 0}


@pytest.fixture
def port(tmp_path: Path) -> t.Iterator[int]:
    """One that trusts the old authority alone."""
    files = {"crt": SERVING[0], "key": SERVING[1], "ca": OLD.crt}
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
    api: t.Any = Api(local, item("web", port, caBundle=BUNDLE), item("headless", port), item("gone", port))
    assert aggregated_servers.answers(api, proxy(OLD), proxy(NEW)) == [LETS_IN_OLD]
    assert aggregated_servers.answers(api, proxy(OLD, "somebody"), proxy(OLD)) == [
        {**LETS_IN_OLD, "current": 401, "other": 200}
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"caBundle": base64.b64encode(NEW.crt.encode()).decode()},
        {"caBundle": "not base64"},
        {},
        {"insecureSkipTLSVerify": True},
    ],
    ids=["of another authority", "no authority", "none, and the system knows none", "not to be verified"],
)
def test_a_server_that_is_not_verified_is_shown_nothing(spec: dict[str, t.Any]) -> None:
    """Not even a handshake with a certificate: who may act as anybody proves himself to nobody unknown."""
    shown: list[t.Any] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
        pair.write("".join(SERVING))
        pair.flush()
        context.load_cert_chain(pair.name)
    context.load_verify_locations(cadata=OLD.crt)
    context.verify_mode = ssl.CERT_OPTIONAL

    def answer(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                plain, _address = listening.accept()
                with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as secure:
                    shown.append(secure.getpeercert())
                    shown.append(secure.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        api: t.Any = Api(item("web", listening.getsockname()[1], **spec))
        found = aggregated_servers.answers(api, proxy(OLD), proxy(OLD))
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    verified = "insecureSkipTLSVerify" not in spec
    assert found == [{"name": "v1.web.example", "verified": verified, "current": 0, "other": 0}]
    assert [each for each in shown if each] == []


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        {"service": "x"},
        {"service": {"name": 7}},
        {"service": {"name": "web", "namespace": "shop", "port": "x"}},
    ],
)
def test_an_api_service_of_another_shape_ends_nothing(spec: t.Any) -> None:
    api: t.Any = Api({"metadata": None, "spec": spec})
    assert [each["current"] for each in aggregated_servers.answers(api, proxy(OLD), proxy(OLD))] in ([], [0])


def test_where_nobody_listens(port: int) -> None:
    api: t.Any = Api(item("web", 1, caBundle=BUNDLE))
    assert aggregated_servers.answers(api, proxy(OLD), proxy(OLD))[0]["current"] == 0
