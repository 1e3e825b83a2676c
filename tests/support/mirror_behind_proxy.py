# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mirror of images that wants a password (Debian's docker-registry), and a proxy which alone knows where that mirror's name leads."""

from __future__ import annotations

import http.client
import json
import subprocess
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from etcd_cluster import free_port, until

USER, PASSWORD = "puller", "s3cret-of-the-mirror"
# bcrypt is all that the registry reads.
_PASSWORDS = f"{USER}:$2y$05$abcdefghijklmnopqrstuuv0YIwkTYsgdLVfbLVzn6lIgCMHIr4V2\n"


class MirrorBehindProxy:
    """``registry`` is where images are pushed to, ``url`` the mirror for whoever asks the proxy; ``asked`` are the proxy's URLs and answers."""

    url = "http://mirror.lab.example"

    def __init__(self, program: Path, folder: Path, address: str) -> None:
        self.asked: list[tuple[str, int]] = []
        self.registry = f"{address}:{free_port(address)}"
        folder.mkdir()
        (folder / "passwords").write_text(_PASSWORDS)
        settings = {
            "version": 0.1,
            "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
            "http": {"addr": self.registry},
            "auth": {"htpasswd": {"realm": "tests", "path": str(folder / "passwords")}},
        }
        (folder / "config.yml").write_text(json.dumps(settings))
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen([program, "serve", folder / "config.yml"], stdout=log, stderr=log)
        until("the registry answers", lambda: self._ask("GET", "/v2/", {})[0] == 401)
        self._http = ThreadingHTTPServer((address, 0), self._handler())
        self._http.daemon_threads = True
        self.proxy = f"http://{address}:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Serve no longer."""
        self._http.shutdown()
        self._http.server_close()
        self._process.kill()
        self._process.wait()

    def _ask(self, method: str, path: str, headers: t.Mapping[str, str]) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.registry, timeout=60)
        try:
            connection.request(method, path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        except ConnectionError:
            return 0, [], b""
        finally:
            connection.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = 502, [], b""
                if self.path.startswith(f"{mirror.url}/"):
                    status, headers, body = mirror._ask(self.command, self.path[len(mirror.url) :], self.headers)
                mirror.asked.append((self.path, status))
                self.send_response_only(status)
                for name, value in headers:
                    # What was read of it is whole, and goes in one piece.
                    if name.lower() not in ("transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_words: t.Any) -> None:
                """Say nothing."""

        return Handler
