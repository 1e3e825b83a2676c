# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that writes and reads through a cluster's endpoint all the while, verifies whom it speaks with, and counts what fails.

It is as good a client as a person writes: it keeps a connection, reads its kubeconfig anew when it connects, and tries a failed request
again at once on a new connection. A request whose tries have not succeeded a second after the first failure has failed.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
import tempfile
import threading
import time
import typing as t
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import yaml

INTERVAL_SECONDS = 0.1
RETRY_SECONDS = 1.0
# Between two tries of one request: a person's client waits a moment, too.
PAUSE_SECONDS = 0.05
TRY_SECONDS = 3.0
PATH = "/api/v1/namespaces/default/configmaps"


@dataclass(frozen=True)
class Credentials:
    """What a kubeconfig holds for its current context."""

    server: str
    authorities: str
    certificate: str
    key: str

    @classmethod
    def of(cls, text: str) -> Credentials:
        """Read a kubeconfig with one cluster and one user."""
        document = yaml.safe_load(text)
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        decoded = [
            base64.b64decode(each).decode()
            for each in (
                cluster["certificate-authority-data"],
                user["client-certificate-data"],
                user["client-key-data"],
            )
        ]
        return cls(str(cluster["server"]), *decoded)

    def context(self) -> ssl.SSLContext:
        """A TLS context that trusts these authorities alone, and shows the certificate."""
        context = ssl.create_default_context(cadata=self.authorities)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(self.certificate + self.key)
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def connect(self, server: str = "", timeout: float = TRY_SECONDS) -> http.client.HTTPSConnection:
        """A connection to the kubeconfig's server, or to another one of the same cluster ("https://host:port")."""
        parts = urlsplit(server or self.server)
        return http.client.HTTPSConnection(
            str(parts.hostname), parts.port or 443, timeout=timeout, context=self.context()
        )


@dataclass
class Count:
    """What was asked, and what of it failed: the longest time from a first failure to success, and what had to be tried again."""

    asked: int = 0
    tried_again: int = 0
    longest_outage: float = 0.0
    slowest: float = 0.0
    failed: list[str] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)


class SteadyClient:
    """Writes to a ConfigMap and reads it back, ten times a second, until it is ended.

    Args:
        credentials: called before each connection.
        name: the ConfigMap's.
    """

    def __init__(self, credentials: t.Callable[[], Credentials], name: str = "steady") -> None:
        self._credentials = credentials
        self._name = name
        self._connection: t.Optional[http.client.HTTPSConnection] = None
        self._end = threading.Event()
        self.count = Count()
        self._thread = threading.Thread(target=self._run, name=f"client {name}")

    def __enter__(self) -> SteadyClient:
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._name}, "data": {"n": "0"}}
        status, answer = self._request("POST", PATH, document)
        assert status in (201, 409), answer
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._end.set()
        self._thread.join()
        self._close()

    def _run(self) -> None:
        number = 0
        while not self._end.is_set():
            begun = time.monotonic()
            number += 1
            self._insist("PATCH", {"data": {"n": str(number)}}, number)
            self._insist("GET", None, number)
            self._end.wait(max(0.0, begun + INTERVAL_SECONDS - time.monotonic()))

    def _insist(self, method: str, document: t.Optional[t.Mapping[str, t.Any]], number: int) -> None:
        """Send one request until it succeeds, and count what failed. A read has to give what was written."""
        begun = time.monotonic()
        first: t.Optional[float] = None
        self.count.asked += 1
        while True:
            error = self._try(method, document, number)
            now = time.monotonic()
            if not error:
                break
            first = now if first is None else first
            self.count.errors[error] = self.count.errors.get(error, 0) + 1
            self._close()
            if self._end.wait(PAUSE_SECONDS) and now - begun > 60:
                return
        self.count.slowest = max(self.count.slowest, now - begun)
        if first is None:
            return
        self.count.tried_again += 1
        self.count.longest_outage = max(self.count.longest_outage, now - first)
        if now - first > RETRY_SECONDS:
            self.count.failed.append(f"{time.strftime('%H:%M:%S')} {method} {number}: {now - first:.1f} s")

    def _try(self, method: str, document: t.Optional[t.Mapping[str, t.Any]], number: int) -> str:
        try:
            status, answer = self._request(method, f"{PATH}/{self._name}", document)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return f"{type(error).__name__}: {error}"[:160]
        if status != 200:
            return f"HTTP {status} {answer.get('message', '')}"[:160]
        if answer["data"]["n"] != str(number):
            return f"read {answer['data']['n']} where {number} was written"
        return ""

    def _request(
        self, method: str, path: str, document: t.Optional[t.Mapping[str, t.Any]]
    ) -> tuple[int, dict[str, t.Any]]:
        if self._connection is None:
            self._connection = self._credentials().connect()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        body = None if document is None else json.dumps(document)
        self._connection.request(method, path, body, {"Content-Type": kind} if body else {})
        answer = self._connection.getresponse()
        data = answer.read()
        return answer.status, dict(json.loads(data))

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
        self._connection = None
