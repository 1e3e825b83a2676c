# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP and HTTPS client with a deadline, for code on a node.

It needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import functools
import http.client
import io
import ipaddress
import os
import re
import socket
import ssl
import tempfile
import time
import typing as t
from dataclasses import dataclass

MAX_BODY_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_PORTS = {"http": 80, "https": 443}
# No user, no query; a path is not the server's. What else a URL may hold, no server of a cluster needs.
_URL = re.compile(r"(https?)://(?:\[([0-9A-Za-z:.%_-]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{0,5}))?(?:/[!-~]*)?", re.ASCII)
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)", re.ASCII)
_LONGEST_NAME = 253


@contextlib.contextmanager
def memory_file(text: str) -> t.Iterator[str]:
    """Yield a path under which this process reads a text.

    Where the system has no files in memory (macOS), it is a file in a folder that only its owner enters.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory(prefix="kubeadm-") as folder:
            path = os.path.join(folder, "secret")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            yield path
        return
    descriptor = os.memfd_create("kubeadm-control-plane")
    try:
        with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


class Unreachable(Exception):
    """Failure of a request that got no complete HTTP answer.

    The connection was refused, timed out or broke, the name was not found, or the TLS handshake failed. ``url`` is what
    was asked, and ``reason`` is why in words. It never means that the server is dead: only that it did not answer here
    and now.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} does not answer: {reason}")
        self.url = url
        self.reason = reason


class NotAsked(Unreachable):
    """Refusal to send a request.

    The URL is malformed, or is plain HTTP although there are credentials, which need an encrypted connection.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.args = (f"{url} is not asked: {reason}",)


@dataclass(frozen=True)
class Answer:
    """HTTP answer: status code, headers with lower-case names, whole body."""

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

    From Python 3.13 on the default refuses certificates that lack fields which RFC 5280 wants in all, such as an authority key identifier.
    Older Pythons and Go, so every client of Kubernetes, take them, and so does this.

    Args:
        ca_file, ca_pem: the CA certificates, as a file or as PEM text; one of them is needed.
        certificate_file, key_file: the client's certificate and key.
        certificate_and_key_pem: the same as PEM text; it reaches OpenSSL through memory, never through a disk.

    Raises:
        OSError, ssl.SSLError: a file is missing or isn't what it should be.
    """
    context = ssl.create_default_context(cafile=ca_file, cadata=ca_pem)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if certificate_file:
        context.load_cert_chain(certificate_file, key_file)
    elif certificate_and_key_pem:
        with memory_file(certificate_and_key_pem) as path:
            context.load_cert_chain(path)
    return context


def split_url(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a server's URL, ``https://host:port``.

    An IPv6 address is returned without brackets.

    Raises:
        ValueError: it is not http or https, or its host is neither an IP address nor a DNS name.
    """
    found = _URL.fullmatch(url)
    if found is not None:
        scheme, address, name, digits = found.groups()
        port = int(digits or _PORTS[scheme])
        if 0 < port < 65536 and (_is_ipv6(address) if address else _is_name(name)):
            return scheme, address or name, port
    raise ValueError("it is not a URL of the form https://host:port")


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_name(text: str) -> bool:
    labels = (text[:-1] if text.endswith(".") else text).split(".")
    return len(text) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)


class _Bounded(io.RawIOBase):
    """Reader of a socket with time limits per read and in total.

    The limit in total ends a response that comes byte by byte.
    """

    def __init__(self, received: t.Any, sock: socket.socket, each: float, deadline: float) -> None:
        super().__init__()
        self._received, self._sock, self._each = received, sock, each
        self.deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: t.Any) -> t.Optional[int]:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout
        self._sock.settimeout(min(self._each, left))
        count: t.Optional[int] = self._received.readinto(buffer)
        return count

    def close(self) -> None:
        self._received.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """HTTP response whose status line and headers have a time limit, too."""

    def __init__(self, sock: socket.socket, *arguments: t.Any, each: float, deadline: float, **named: t.Any) -> None:
        super().__init__(sock, *arguments, **named)
        # The connection may close its socket before the body is read: an open file keeps it.
        self.bounded = _Bounded(sock.makefile("rb", buffering=0), sock, each, deadline)
        self.fp.close()
        self.fp = io.BufferedReader(self.bounded)


def bound(connection: http.client.HTTPConnection, each: float, total: float) -> None:
    """Set the time limits of a connection's next answer.

    Args:
        connection: the connection.
        each: seconds for each read.
        total: seconds for all reads until the body begins.
    """
    made = functools.partial(_Response, each=each, deadline=time.monotonic() + total)
    connection.response_class = t.cast(t.Any, made)


class HttpClient:
    """HTTP connection that stays open between requests.

    It is not for use by several threads at once.

    Args:
        url: ``https://host:port`` or ``http://host:port``.
        context: from :func:`client_context`; None for plain HTTP.
        timeout: seconds for the whole of one request, connecting included.

    Raises:
        NotAsked: the URL is malformed.
    """

    def __init__(self, url: str, context: t.Optional[ssl.SSLContext], timeout: float) -> None:
        try:
            scheme, host, port = split_url(url)
        except ValueError as error:
            raise NotAsked(url, str(error)) from None
        if scheme == "https" and context is None:
            raise ValueError(f"{url} needs a TLS context")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._connection: http.client.HTTPConnection
        if scheme == "https":
            self._connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=timeout)

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
        with self.stream(method, path, body, headers, self.timeout) as response:
            chunks: list[bytes] = []
            size = 0
            try:
                while True:
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
        self,
        method: str,
        path: str,
        body: t.Optional[bytes] = None,
        headers: t.Optional[t.Mapping[str, str]] = None,
        total: float = float("inf"),
    ) -> http.client.HTTPResponse:
        """Send one request and return the response with its body unread.

        The timeout holds for the status and the headers, and then for each read; ``total`` is the seconds for all of it.

        Raises:
            Unreachable: no answer began within the timeout.
        """
        begun = time.monotonic()
        if self._connection.sock is not None:
            # What was left of the request before is no bound of this one.
            self._connection.sock.settimeout(self.timeout)
        bound(self._connection, self.timeout, min(self.timeout, total))
        try:
            self._connection.request(method, path, body, dict(headers or {}))
            response = t.cast(_Response, self._connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(self.url + path, self._reason(error)) from error
        response.bounded.deadline = begun + total
        return response

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


def read_date(text: str) -> t.Optional[datetime.datetime]:
    """Return the time of an HTTP Date header in UTC, or None.

    Source: RFC 9110 §5.6.7. One without a zone is none: it could be of any.
    """
    try:
        moment = email.utils.parsedate_to_datetime(text)
        return moment.astimezone(datetime.timezone.utc) if moment.tzinfo is not None else None
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
