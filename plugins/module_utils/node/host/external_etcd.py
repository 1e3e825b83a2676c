# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health of an external etcd, asked from a control plane machine.

Every endpoint is asked as kube-apiserver would, and the certificates are checked.

Its own HTTP handlers (/health, /version) are asked; kubeadm itself asks for /version before it runs
(docs/reference/kubeadm.md, "External etcd").

They work whatever the server's certificate is good for, which the JSON gateway does not
(docs/reference/etcd.md, "gateway's client certificate").
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ...common import settings
from ...common.bounded_yaml import read_json
from ...common.guard import read_text
from ...common.https import HttpClient, NotAsked, Unreachable, client_context
from ...common.values import now_rfc3339
from ..certificates.end_dates import not_after

# kube-apiserver's own default of --etcd-prefix.
DEFAULT_PREFIX = "/registry"
MOST_ENDPOINTS = 50
_LOCAL = re.compile(r"127\.0\.0\.1|\[::1\]|localhost")
_REJECTED = re.compile(r"ALERT|CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA", re.IGNORECASE)


@dataclass(frozen=True)
class Pem:
    """Certificate or key with its text and its name in messages.

    The name is a file's path or a Secret's name.
    """

    text: str
    name: str

    def __repr__(self) -> str:
        """Return the name without the key: a repr ends up in tracebacks."""
        return f"Pem({self.name!r})"


@dataclass(frozen=True)
class ExternalEtcd:
    """External etcd: endpoints, CA, and client certificate with key.

    The certificates are None where it needs no TLS.
    """

    endpoints: tuple[str, ...]
    ca: t.Optional[Pem] = None
    certificate: t.Optional[Pem] = None
    key: t.Optional[Pem] = None


def of_api_server(manifest: str) -> t.Optional[ExternalEtcd]:
    """Return the external etcd in an API server's manifest.

    None where its etcd is on this machine.
    """
    servers = _flag(manifest, "etcd-servers")
    if not servers or _LOCAL.search(servers):
        return None
    return ExternalEtcd(
        tuple(each for each in servers.split(",") if each)[:MOST_ENDPOINTS],
        *(_file(_flag(manifest, name)) for name in ("etcd-cafile", "etcd-certfile", "etcd-keyfile")),
    )


def look(external: ExternalEtcd, timeout: float = settings.ANSWER_SECONDS) -> dict[str, t.Any]:
    """Ask every endpoint once, all at the same time.

    Returns:
        ``reachable`` (every endpoint serves; kubeadm refuses to work while one does not), ``message`` (what is wrong, "" for
        nothing), ``endpoints`` ([{url, healthy, version, message}]) and ``certificateNotAfter`` (RFC 3339, None without one).
    """
    ends = _end_of(external.certificate)
    try:
        context = _context(external)
    except (OSError, ValueError) as error:
        said = _unusable(external, error)
        return {"reachable": False, "message": said, "endpoints": [], "certificateNotAfter": ends}
    with ThreadPoolExecutor(max_workers=min(8, len(external.endpoints) or 1)) as pool:
        found = list(pool.map(lambda url: _ask(url, external, context, timeout), external.endpoints))
    wrong = [str(each["message"]) for each in found if not each["healthy"]]
    if ends is not None and ends <= now_rfc3339():
        name = external.certificate.name if external.certificate is not None else ""
        wrong = [f"the client certificate {name} expired at {ends}", *wrong[:1]]
    message = "; ".join(wrong)
    if wrong and len(found) > len(wrong) and any(each["healthy"] for each in found):
        message = f"{len(wrong)} of {len(found)} endpoints: {message}"
    return {
        "reachable": not wrong and bool(found),
        "message": message if found else "no endpoint is known",
        "endpoints": found,
        "certificateNotAfter": ends,
    }


def look_again(
    external: ExternalEtcd, looks: int, interval: float, timeout: float = settings.ANSWER_SECONDS
) -> dict[str, t.Any]:
    """Observe up to ``looks`` times until every endpoint serves.

    ``interval`` is in seconds, from the start of one observation to that of the next.
    """
    for left in reversed(range(looks)):
        begun = time.monotonic()
        found = look(external, timeout)
        if found["reachable"]:
            break
        if left:
            time.sleep(max(0.0, begun + interval - time.monotonic()))
    return found


def count_keys(
    external: ExternalEtcd, prefix: str = DEFAULT_PREFIX, timeout: float = settings.ANSWER_SECONDS
) -> t.Optional[int]:
    """Return the number of keys below a prefix, None if unknown (the JSON gateway does not answer)."""
    start = f"{prefix.rstrip('/')}/"
    # The first key that no longer begins with the prefix: "/" is followed by "0".
    body = {"key": _encoded(start), "range_end": _encoded(start[:-1] + "0"), "count_only": True}
    try:
        context = _context(external)
    except (OSError, ValueError):
        return None
    for url in external.endpoints:
        try:
            with _client(url, external, context, timeout) as client:
                answer = client.request("POST", "/v3/kv/range", json.dumps(body).encode())
            found = read_json(answer.body)
            if answer.status == 200 and isinstance(found, dict) and "header" in found:
                return int(found.get("count") or 0)
        except (Unreachable, ValueError, TypeError, OverflowError, RecursionError):
            continue
    return None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _flag(manifest: str, name: str) -> str:
    found = re.search(rf"--{name}=([^\s\"']+)", manifest)
    return found.group(1) if found else ""


def _file(path: str) -> t.Optional[Pem]:
    return Pem(read_text(path), path) if path else None


def _context(external: ExternalEtcd) -> t.Optional[ssl.SSLContext]:
    if not any(url.startswith("https://") for url in external.endpoints):
        return None
    if external.ca is None or not external.ca.text:
        raise ValueError("there is no CA certificate to check the servers with")
    pair = None
    if external.certificate is not None and external.key is not None:
        if not external.certificate.text or not external.key.text:
            raise ValueError("the client's certificate or key is missing")
        pair = f"{external.certificate.text}\n{external.key.text}\n"
    return client_context(ca_pem=external.ca.text, certificate_and_key_pem=pair)


def _unusable(external: ExternalEtcd, error: Exception) -> str:
    names = [each.name for each in (external.ca, external.certificate, external.key) if each is not None]
    reason = getattr(error, "reason", None) or error
    return f"the certificates for etcd ({', '.join(names) or 'none given'}) can't be used: {reason}"


def _end_of(certificate: t.Optional[Pem]) -> t.Optional[str]:
    if certificate is None:
        return None
    try:
        return not_after(certificate.text)
    except ValueError:
        return None


def _ask(url: str, external: ExternalEtcd, context: t.Optional[ssl.SSLContext], timeout: float) -> dict[str, t.Any]:
    version, problem = "", ""
    try:
        with _client(url, external, context, timeout) as client:
            version = str(_json(client.request("GET", "/version").body).get("etcdserver") or "")
            answer = client.request("GET", "/health")
        health = _json(answer.body)
        if str(health.get("health")).lower() != "true":
            reason = str(health.get("reason") or "")[:200]
            problem = f"{url} says that it is not healthy{f' ({reason})' if reason else f' (HTTP {answer.status})'}"
    except NotAsked as error:
        problem = str(error)
    except Unreachable as error:
        problem = _explained(url, error.reason, external)
    return {"url": url, "healthy": not problem, "version": version, "message": problem}


def _client(url: str, external: ExternalEtcd, context: t.Optional[ssl.SSLContext], timeout: float) -> HttpClient:
    """Return a client of one endpoint.

    Raises NotAsked: no URL, or plain HTTP beside certificates, which kubeadm refuses, too.
    """
    certificates = (external.ca, external.certificate, external.key)
    if not url.startswith("https://") and any(each is not None for each in certificates):
        raise NotAsked(url, "it is no https:// URL, and there are certificates for this etcd")
    return HttpClient(url, context if url.startswith("https://") else None, timeout)


def _json(body: bytes) -> dict[str, t.Any]:
    try:
        found = read_json(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _explained(url: str, reason: str, external: ExternalEtcd) -> str:
    ca = external.ca.name if external.ca is not None else "none"
    if "is not trusted here" in reason:
        return f"{url}: {reason}: the CA {ca} did not sign it, or it is not valid for this address"
    if _REJECTED.search(reason):
        name = external.certificate.name if external.certificate is not None else "none was given"
        return f"{url} does not accept the client certificate ({name}): {reason}. It must be signed by the CA that etcd trusts, and be valid"
    return f"{url} does not answer: {reason}"
