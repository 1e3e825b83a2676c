# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands between a run and a real API server: counts requests, loses the connection, or has somebody else be faster.

Requests with a token of their own are handed on with it, all others with the admin's certificate.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import ssl
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from api_server import ApiServer
from cryptography.x509.oid import ExtendedKeyUsageOID

_HANDED_ON = ("authorization", "content-type", "accept", "impersonate-user", "impersonate-group", "user-agent")


def requests_of_a_pass() -> int:
    """The requests of a pass in which nothing is to be done, as docs/store.md states them."""
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text()
    [stated] = re.findall(r"asks the API \*\*(\d+) times\*\*", page)
    return int(stated)


class Request(t.NamedTuple):
    """One request."""

    method: str
    path: str

    @property
    def renews(self) -> bool:
        """Whether it is about a lock, which a helper process renews every two seconds."""
        return "/leases/" in self.path


class ApiProxy:
    """One proxy; ``kubeconfig`` leads through it."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server = server
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._hooks: list[tuple[re.Pattern[str], t.Callable[[], None]]] = []
        self._down: t.Optional[re.Pattern[str]] = None
        self.down = False
        self._tokens_end = False
        self._failures: list[int] = []
        self._refused: t.Optional[tuple[re.Pattern[str], int]] = None
        self._lost: list[tuple[re.Pattern[str], int]] = []
        self._watches: dict[socket.socket, socket.socket] = {}
        pair = server.authority.issue("proxy", (ExtendedKeyUsageOID.SERVER_AUTH,))
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                proxy.serve(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_arguments: t.Any) -> None:
                """Nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self._upstream = ssl.create_default_context(cafile=server.authority.ca_file)
        self._upstream_admin = ssl.create_default_context(cafile=server.authority.ca_file)
        admin = server.authority.issue("kubernetes-admin", (ExtendedKeyUsageOID.CLIENT_AUTH,), "system:masters")
        self._upstream_admin.load_cert_chain(*admin)
        self.url = f"https://127.0.0.1:{self._http.server_port}"
        self.kubeconfig = str(folder / "proxy.conf")
        authority = base64.b64encode(Path(server.authority.ca_file).read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "u@c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "u@c",
        }
        Path(self.kubeconfig).write_text(json.dumps(document))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    def before(self, request: str, hook: t.Callable[[], None]) -> None:
        """Call a function once, before the first request (``PUT /apis/…``) that a regular expression matches is handed on."""
        self._hooks.append((re.compile(request), hook))

    def goes_down_at(self, request: str) -> None:
        """Nobody answers any more from the first request on that a regular expression matches, until :meth:`comes_back`."""
        self._down = re.compile(request)

    def goes_down(self) -> None:
        """Nobody answers any more, and open watches break off, until :meth:`comes_back`."""
        self.down = True
        self.break_watches()

    def break_watches(self) -> None:
        """Break the connections of open watches."""
        with self._lock:
            for ends in self._watches.items():
                for each in ends:
                    each.shutdown(socket.SHUT_RDWR)
            self._watches.clear()

    @property
    def watches(self) -> int:
        """How many watches are open."""
        with self._lock:
            return len(self._watches)

    def comes_back(self) -> None:
        """Answer again."""
        self._down, self.down = None, False

    def fails(self, *statuses: int) -> None:
        """The next requests get these answers, 0 is none, and are not handed on."""
        self._failures = list(statuses)

    def refuses(self, request: str, status: int) -> None:
        """Every request that a regular expression matches gets this answer from now on, and is not handed on; "" ends that."""
        self._refused = (re.compile(request), status) if request else None

    def loses(self, request: str, status: int = 0) -> None:
        """The answer to the first request that a regular expression matches is lost: it is carried out, and this answer given, 0 is none."""
        self._lost.append((re.compile(request), status))

    def refuse_tokens(self) -> None:
        """Every token has ended from now on."""
        self._tokens_end = True

    def accept_tokens(self) -> None:
        """Tokens are good again."""
        self._tokens_end = False

    def counted(self) -> list[Request]:
        """The requests since the last time this was asked, those that only renew a lock left out."""
        with self._lock:
            found, self.requests = self.requests, []
        return found

    def end(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Hand one request on and its answer back."""
        line = f"{handler.command} {handler.path}"
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        with self._lock:
            if self._down is not None and self._down.search(line):
                self.down = True
            down = self.down
            if not down:
                self.requests.append(Request(handler.command, handler.path))
            failure = self._failures.pop(0) if self._failures else None
            if failure is None and self._refused is not None and self._refused[0].search(line):
                failure = self._refused[1]
            lost = next((each for each in self._lost if each[0].search(line)), None)
            if lost is not None and failure is None:
                self._lost.remove(lost)
            due = [each for each in self._hooks if each[0].search(line)] if not down else []
            self._hooks = [each for each in self._hooks if each not in due]
        if down or failure == 0:
            handler.close_connection = True
            return
        if failure is not None:
            self._fail(handler, failure)
            return
        for _pattern, hook in due:
            hook()
        headers = {name: value for name, value in handler.headers.items() if name.lower() in _HANDED_ON}
        if self._tokens_end and handler.headers.get("Authorization"):
            headers["Authorization"] = "Bearer ended"
        context = self._upstream if handler.headers.get("Authorization") else self._upstream_admin
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=context, timeout=60)
        try:
            connection.request(handler.command, handler.path, body=body or None, headers=headers)
            answer = connection.getresponse()
            if lost is None and "watch=true" in handler.path and answer.status == 200:
                self._relay(handler, answer, connection.sock)
                return
            # A watch's answer has no end.
            content = answer.read() if lost is None else b""
        finally:
            connection.close()
        if lost is None:
            self._reply(handler, answer.status, content)
        elif lost[1]:
            self._fail(handler, lost[1])
        else:
            handler.close_connection = True

    def _relay(
        self, handler: BaseHTTPRequestHandler, answer: http.client.HTTPResponse, upstream: socket.socket
    ) -> None:
        """Hand a watch's answer on as it comes."""
        own, handler.close_connection = handler.connection, True
        with self._lock:
            self._watches[own] = upstream
        try:
            handler.send_response_only(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            while piece := answer.read1(65536):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            handler.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            """Who watched is gone, or the test broke the connection."""
        finally:
            with self._lock:
                self._watches.pop(own, None)

    def _fail(self, handler: BaseHTTPRequestHandler, status: int) -> None:
        self._reply(handler, status, json.dumps({"kind": "Status", "message": "etcdserver: leader changed"}).encode())

    @staticmethod
    def _reply(handler: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
        handler.send_response_only(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
