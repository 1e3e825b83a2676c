# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP and HTTPS with a deadline, for what runs on a node: the standard library alone."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import time
import typing as t
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_BODY_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024


class Unreachable(Exception):
    """No HTTP answer came: refused, timed out, name not found, or the TLS handshake failed.

    ``url`` is what was asked and ``reason`` says why in words. It never means that the server is dead: only that it
    did not answer here and now.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} does not answer: {reason}")
        self.url = url
        self.reason = reason


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: status code, headers with lower-case names, the whole body."""

    status: int
    headers: dict[str, str]
    body: bytes


def client_context(
    *,
    ca_file: t.Optional[str] = None,
    ca_pem: t.Optional[str] = None,
    certificate_file: t.Optional[str] = None,
    key_file: t.Optional[str] = None,
    certificate_and_key_pem: t.Optional[str] = None,
) -> ssl.SSLContext:
    """Return a TLS context that trusts the given CA and nothing else.

    Args:
        ca_file, ca_pem: the CA certificates, as a file or as PEM text; one of them is needed.
        certificate_file, key_file: the client's certificate and key.
        certificate_and_key_pem: the same as PEM text; it reaches OpenSSL through memory, never through a disk.

    Raises:
        OSError, ssl.SSLError: a file is missing or isn't what it should be.
    """
    context = ssl.create_default_context(cafile=ca_file, cadata=ca_pem)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate_file:
        context.load_cert_chain(certificate_file, key_file)
    elif certificate_and_key_pem:
        # OpenSSL takes a client's key by path only.
        descriptor = os.memfd_create("client-certificate")
        try:
            os.write(descriptor, certificate_and_key_pem.encode())
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    return context


class HttpClient:
    """One connection, kept open between requests; not for use by several threads at once.

    Args:
        url: ``https://host:port`` or ``http://host:port``.
        context: from :func:`client_context`; None for plain HTTP.
        timeout: seconds for the whole of one request, connecting included.
    """

    def __init__(self, url: str, context: t.Optional[ssl.SSLContext], timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not a URL of the form https://host:port")
        if parts.scheme == "https" and context is None:
            raise ValueError(f"{url} needs a TLS context")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            self._connection = http.client.HTTPSConnection(
                parts.hostname, parts.port or 443, timeout=timeout, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=timeout)

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def request(
        self, method: str, path: str, body: t.Optional[bytes] = None, headers: t.Optional[t.Mapping[str, str]] = None
    ) -> Answer:
        """Send one request and return the whole answer.

        Raises:
            Unreachable: no complete answer within the timeout. What the request would have changed may have happened.
        """
        deadline = time.monotonic() + self.timeout
        with self.stream(method, path, body, headers) as response:
            chunks: list[bytes] = []
            size = 0
            try:
                while True:
                    if time.monotonic() > deadline:
                        raise socket.timeout()
                    chunk = response.read1(_CHUNK)
                    if not chunk:
                        break
                    size += len(chunk)
                    if size > MAX_BODY_BYTES:
                        raise Unreachable(self.url + path, f"the answer is larger than {MAX_BODY_BYTES} bytes")
                    chunks.append(chunk)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                raise Unreachable(self.url + path, self._reason(error)) from error
            except Unreachable:
                self.close()
                raise
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, b"".join(chunks))

    def stream(
        self, method: str, path: str, body: t.Optional[bytes] = None, headers: t.Optional[t.Mapping[str, str]] = None
    ) -> http.client.HTTPResponse:
        """Send one request and return the response with its body unread; the timeout then holds for each read.

        Raises:
            Unreachable: no answer began within the timeout.
        """
        try:
            self._connection.request(method, path, body, dict(headers or {}))
            return self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(self.url + path, self._reason(error)) from error

    def _reason(self, error: Exception) -> str:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted here ({error.verify_message})"
        if isinstance(error, ssl.SSLError):
            return f"TLS failed ({error.reason or error})"
        if isinstance(error, socket.timeout):
            return f"no answer within {self.timeout:g} s"
        if isinstance(error, socket.gaierror):
            return f"its name does not resolve ({error.strerror})"
        if isinstance(error, OSError) and error.strerror:
            return error.strerror
        return str(error) or type(error).__name__
