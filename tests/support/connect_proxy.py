# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP proxy that asks for a name and a password and hands connections on (CONNECT)."""

from __future__ import annotations

import base64
import contextlib
import select
import socket
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ConnectProxy:
    """One proxy; ``asked`` are the places that it was asked for, allowed or not."""

    def __init__(self, user: str) -> None:
        self.asked: list[str] = []
        wanted = "Basic " + base64.b64encode(user.encode()).decode()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                proxy.asked.append(self.path)
                if self.headers.get("Proxy-Authorization") != wanted:
                    self.send_error(407)
                    return
                host, _colon, port = self.path.rpartition(":")
                with socket.create_connection((host, int(port)), 60) as upstream:
                    self.send_response_only(200)
                    self.end_headers()
                    self._pass_on(upstream)

            def _pass_on(self, upstream: socket.socket) -> None:
                ends = {self.connection: upstream, upstream: self.connection}
                with contextlib.suppress(OSError):
                    while True:
                        for each in select.select(list(ends), [], [])[0]:
                            data = each.recv(65536)
                            if not data:
                                return
                            ends[each].sendall(data)

            def log_message(self, *_arguments: t.Any) -> None:
                """Nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def end(self) -> None:
        """Serve no longer."""
        self._http.shutdown()
        self._http.server_close()
