# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody between a module and a real API server, who does real things at the worst moment."""

from __future__ import annotations

import http.client
import http.server
import ssl
import threading
import typing as t
from pathlib import Path

from api_server import ApiServer
from cryptography.x509.oid import ExtendedKeyUsageOID

_CLIENT, _SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
FORWARD, CUT, CUT_AFTERWARDS, REFUSE = "forward", "cut", "cut afterwards", "403"

# Is told the number (from 1) of a request that writes, and its path, before it is passed on; says what becomes of it.
Meddle = t.Callable[[int, str], str]


class Interloper:
    """An HTTPS server that passes requests on to an API server.

    ``meddle`` is called before every request that writes and may change objects itself. It returns FORWARD; CUT, to close the
    connection instead; CUT_AFTERWARDS, to pass the request on and withhold the answer; an HTTP status (REFUSE: 403), to answer that.
    """

    def __init__(self, server: ApiServer, directory: Path, meddle: Meddle) -> None:
        self._server = server
        self._meddle = meddle
        self.writes = 0
        admin = server.authority.issue("interloper", (_CLIENT,), "system:masters")
        self._context = ssl.create_default_context(cafile=server.authority.ca_file)
        self._context.load_cert_chain(*admin)
        interloper = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *unused: t.Any) -> None:
                """Keep quiet."""

            def do_GET(self) -> None:
                interloper.serve(self)

            do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*server.authority.issue("interloper-server", (_SERVER,)))
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        stranger = ApiServer.__new__(ApiServer)
        stranger.kubeconfig = str(directory / "interloper.conf")
        stranger.write_kubeconfig(f"https://127.0.0.1:{self._http.server_port}", server.authority.ca_file, admin)
        self.kubeconfig = stranger.kubeconfig

    def __enter__(self) -> Interloper:
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        """Pass one request on, or not."""
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        verdict = FORWARD
        if handler.command != "GET":
            self.writes += 1
            verdict = self._meddle(self.writes, handler.path)
        if verdict == CUT:
            handler.close_connection = True
            return
        if verdict.isdecimal():
            self._answer(handler, int(verdict), b'{"kind":"Status","message":"you shall not"}')
            return
        connection = http.client.HTTPSConnection("127.0.0.1", self._server.port, context=self._context, timeout=10)
        try:
            headers = {name: handler.headers[name] for name in ("Accept", "Content-Type") if handler.headers[name]}
            connection.request(handler.command, handler.path, body, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if verdict == CUT_AFTERWARDS:
            handler.close_connection = True
            return
        self._answer(handler, response.status, content)

    @staticmethod
    def _answer(handler: http.server.BaseHTTPRequestHandler, status: int, content: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
