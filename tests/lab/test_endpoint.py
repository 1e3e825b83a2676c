# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The local provider's endpoint, a real haproxy, while servers come and go under load: no request fails."""

from __future__ import annotations

import http.client
import http.server
import socketserver
import ssl
import tempfile
import threading
import typing as t
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.addresses import network_of
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import haproxy, lifecycle
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint.haproxy import Server
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Layout

PORT = 16443
ENDED = threading.Event()


class Api(http.server.BaseHTTPRequestHandler):
    """Answers as far as the endpoint's clients and its health check look; a request takes a moment, a watch for ever."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        if self.path == "/watch":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while not ENDED.wait(0.05):
                self.wfile.write(b"1\r\nx\r\n")
            return
        ENDED.wait(0.02)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_arguments: t.Any) -> None:
        """Say nothing."""


class ApiServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """An API server on an address of loopback."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: str, certificate: tuple[str, str]) -> None:
        super().__init__((address, PORT), Api)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_arguments: t.Any) -> None:
        """A client or a health check that hangs up is nothing to tell."""


class Load:
    """Clients that ask over a new connection each time, and others that watch."""

    def __init__(self, host: str, port: int, ca_file: str) -> None:
        self._address = host, port
        self._context = ssl.create_default_context(cafile=ca_file)
        self._context.check_hostname = False
        self._stopped = threading.Event()
        self.answered, self.watching = 0, 0
        self.failures: list[str] = []
        work = [self._ask] * 3 + [self._watch] * 3
        self._threads = [threading.Thread(target=each) for each in work]

    def _connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(*self._address, timeout=10, context=self._context)

    def _ask(self) -> None:
        while not self._stopped.is_set():
            connection = self._connection()
            try:
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"ok"
                self.answered += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"after {self.answered} answers: {error!r}")
            finally:
                connection.close()

    def _watch(self) -> None:
        while not self._stopped.is_set():
            connection = self._connection()
            try:
                connection.request("GET", "/watch")
                answer = connection.getresponse()
                self.watching += 1
                while answer.read(1) and not self._stopped.is_set():
                    pass
            except (OSError, http.client.HTTPException):
                continue
            finally:
                connection.close()

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def until_answered(self, number: int = 50) -> None:
        """Wait for further answers."""
        wanted = self.answered + number
        until(f"{number} answers", lambda: self.answered >= wanted)


class Lab:
    """An endpoint of its own on a bridge of its own, and three servers."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(str(folder / "machines"))
        self.network = network_of("kcpendpoint", "10.232.0.0/24", "10.233.0.0/16")
        self.authority = Authority(folder / "pki")
        certificate = self.authority.issue("server", (ExtendedKeyUsageOID.SERVER_AUTH,))
        self.servers = {name: Server(name, f"127.0.9.{number}", PORT) for number, name in enumerate("abc", start=1)}
        self._running = [ApiServer(each.address, certificate) for each in self.servers.values()]

    def serve(self, names: str) -> dict[str, t.Any]:
        """Bring the endpoint to these servers, and wait until each of them serves."""
        wanted = lifecycle.Wanted("default", "lab", None, 6443, [self.servers[name] for name in names])
        found, _changed = lifecycle.ensure(self.layout, self.network, wanted)
        until(f"{names} serve", lambda: self.states() == dict.fromkeys(names, "up"))
        return found

    def states(self) -> dict[str, str]:
        """The state of each server as haproxy tells it."""
        found = lifecycle.look(self.layout, "default", "lab")
        assert found is not None
        return {each["name"]: each["state"] for each in found["servers"]}

    def tell(self, command: str) -> str:
        """Give haproxy an admin command."""
        answer = lifecycle.tell(self.layout.endpoint("default", "lab"), command)
        assert answer is not None
        return answer

    def end(self) -> None:
        """Remove everything."""
        ENDED.set()
        lifecycle.remove(self.layout, "default", "lab")
        for each in self._running:
            each.shutdown()
            each.server_close()


@pytest.fixture(name="lab")
def _lab() -> t.Iterator[Lab]:
    ENDED.clear()
    # A short path: haproxy's admin socket lies below it.
    with tempfile.TemporaryDirectory(prefix="endpoint-") as folder:
        lab = Lab(Path(folder))
        try:
            yield lab
        finally:
            lab.end()


def test_servers_come_and_go_and_no_request_fails(lab: Lab) -> None:
    """Each server leaves and comes back while clients ask all the time; haproxy is the same process all along."""
    before = lab.serve("abc")
    with Load(before["host"], before["port"], lab.authority.ca_file) as load:
        for names in ("bc", "abc", "ac", "abc", "ab", "abc", "c", "ab"):
            load.until_answered()
            found = lab.serve(names)
        load.until_answered()
    assert load.failures == []
    assert load.watching > 3, "no watch was ended: nobody left a server that has gone"
    assert found["pids"] == before["pids"]


def test_what_a_killed_run_left_half_done_is_completed(lab: Lab) -> None:
    """A server that was drained and is wanted after all serves again; one that was to go goes."""
    lab.serve("abc")
    lab.tell(haproxy.drain_command("a"))
    assert lab.states()["a"] == "maint"
    lab.serve("abc")
    lab.tell(f"set server {haproxy.BACKEND}/b state maint")
    found = lab.serve("ac")
    assert sorted(each["name"] for each in found["servers"]) == ["a", "c"]
    assert "b" not in haproxy.parse_servers(lab.tell(f"show servers state {haproxy.BACKEND}"))
