# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to a store's Kubernetes API, with errors that name a remedy.

The connection is ``connection.py``'s.
"""

from __future__ import annotations

import json
import time
import typing as t
import urllib.parse

from ....module_utils.common import settings
from ....module_utils.common.redact import redact
from .. import base
from .connection import Connection
from .options import short

try:
    from urllib3 import Timeout
    from urllib3._collections import HTTPHeaderDict
    from urllib3.exceptions import HTTPError, NewConnectionError
except ImportError:
    # Who makes a connection is told.
    HTTPHeaderDict = Timeout = None  # type: ignore[assignment, misc]
    HTTPError = NewConnectionError = OSError  # type: ignore[assignment, misc]

FIELD_MANAGER = "kubeadm-control-plane"
# JSON is YAML.
APPLY_PATCH = "application/apply-patch+yaml"
ATTEMPTS = 4
PAUSE_SECONDS = 0.5
# etcd takes no object of more than 1.5 MiB; JSON may take more than what is stored.
LONGEST_LINE = 8 * 1024 * 1024
_LONGEST_REFUSAL, _PIECE = 64 * 1024, 64 * 1024
LONGEST_PAUSE_SECONDS = 3.0
# The server was too busy, or is about to stop: it did nothing of what was asked.
_AGAIN = (429, 503)
# How an API server refuses what is to be made in a namespace that somebody deleted.
_IN_DELETION = "because it is being terminated"
_NOBODY = '"system:anonymous"'
# How Python's ssl (urllib3 1, of a name) says that a certificate was not accepted, and that what answered was no TLS.
_NOT_VERIFIED = ("CERTIFICATE_VERIFY_FAILED", "doesn't match")
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
# It may have done it: its etcd elects a leader, or a balancer lost it.
_UNSURE = (500, 502, 504)


class ApiUnavailable(base.StoreError):
    """Failure of an API that doesn't answer or is overloaded.

    ``may_be_done``: the request may have been carried out all the same.
    """

    may_be_done = False


class Refused(base.StoreError):
    """Refusal by the API of a request; ``status`` is its HTTP status.

    The API does not allow the request, or does not understand it.
    """

    def __init__(self, status: int, what: str, where: str, why: str, fix: str) -> None:
        super().__init__(what, where, why, fix)
        self.status = status


class Answer(t.NamedTuple):
    """Answer of the API: HTTP status and document.

    For a refusal it also has Kubernetes' own reason.
    """

    status: int
    document: dict[str, t.Any]

    @property
    def reason(self) -> str:
        """Kubernetes' reason for a refusal: AlreadyExists, Conflict, …"""
        return str(self.document.get("reason", ""))

    @property
    def message(self) -> str:
        """Message of the API server, without what looks like a secret."""
        return redact(" ".join(str(self.document.get("message", "")).split()))[:1000]


class KubernetesApi:
    """Client of one API server, or of a load balancer of several.

    Args:
        options: kubernetes.core's connection options; what is missing is taken from the environment. ``in_cluster: true`` takes
            the credentials of the pod that this runs in.
        patience_seconds: for how long at least an API that doesn't answer is asked again; a few seconds where it is less.
    """

    def __init__(self, options: t.Mapping[str, t.Any], patience_seconds: float = 0.0) -> None:
        self._connection = Connection(options)
        self.host = self._connection.host
        self._patience_seconds = patience_seconds
        self.requests = 0

    def send(
        self,
        verb: str,
        path: str,
        body: t.Optional[t.Mapping[str, t.Any]] = None,
        query: t.Optional[t.Mapping[str, t.Any]] = None,
        accepted: t.Sequence[int] = (),
        before: t.Optional[t.Callable[[], t.Any]] = None,
    ) -> Answer:
        """Send one request and return the answer.

        Args:
            verb: as RBAC names it: get, list, create, update, delete; patch is a server-side apply.
            path: from ``/api`` or ``/apis`` on.
            body: the document that is sent.
            query: the query's parameters.
            accepted: HTTP statuses that are answers to the caller and no errors, such as 404 and 409.
            before: called right before each time that it is sent; what it raises ends the request.

        Raises:
            ApiUnavailable: no attempt got an answer, or only that the server is unavailable.
            Refused: any other status than 2xx and ``accepted``; it names verb, resource and remedy.
        """
        method = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}.get(verb, "GET")
        url = self.host + path + ("?" + urllib.parse.urlencode(query) if query else "")
        began, attempt, renewed = time.monotonic(), 0, False
        while True:
            attempt += 1
            cause: t.Optional[Exception] = None
            if before is not None:
                before()
            try:
                answer = self._once(method, url, body)
            except HTTPError as error:
                # What may have arrived is not sent twice, but for reads and for what names the version that it changes.
                again = method != "POST" or isinstance(error, NewConnectionError)
                cause, why = error, short(error)
            else:
                if answer.status // 100 == 2 and path.startswith("/api") and "kind" not in answer.document:
                    raise self._no_api(verb, path)
                if answer.status // 100 == 2 or answer.status in accepted:
                    return answer
                if answer.status == 401 and not renewed:
                    renewed = True
                    if self._connection.renew():
                        continue
                again = answer.status in _AGAIN or (answer.status in _UNSURE and method != "POST")
                why = f"HTTP {answer.status}: {answer.message}"
                if not again and answer.status // 100 != 5:
                    raise refusal(self.host, verb, path, answer, self._connection.where)
            if not again or (attempt >= ATTEMPTS and time.monotonic() - began >= self._patience_seconds):
                unavailable = self._unavailable(verb, path, why)
                unavailable.may_be_done = not again
                raise unavailable from cause
            time.sleep(min(PAUSE_SECONDS * attempt, LONGEST_PAUSE_SECONDS))

    def _once(self, method: str, url: str, body: t.Optional[t.Mapping[str, t.Any]]) -> Answer:
        pool, headers = self._prepared()
        if body is not None or method == "DELETE":
            headers["Content-Type"] = APPLY_PATCH if method == "PATCH" else "application/json"
        self.requests += 1
        data = json.dumps(body).encode() if body is not None else None
        timeout = Timeout(connect=settings.CONNECT_SECONDS, read=settings.STORE_ANSWER_SECONDS)
        reply = pool.request(method, url, body=data, headers=headers, timeout=timeout, retries=False, redirect=False)
        return Answer(reply.status, _document(reply.data))

    def _prepared(self) -> tuple[t.Any, t.Any]:
        pool, whose = self._connection.ready()
        headers = HTTPHeaderDict({"Accept": "application/json", "User-Agent": FIELD_MANAGER})
        for name, value in whose:
            headers.add(name, value)
        return pool, headers

    def stream(self, path: str, query: t.Mapping[str, t.Any], silence_seconds: float) -> t.Iterator[dict[str, t.Any]]:
        """Send one request and yield the lines of its answer.

        They are yielded as they come.

        Args:
            path: as of :meth:`send`.
            query: the query's parameters.
            silence_seconds: how long nothing may come.

        Raises:
            ApiUnavailable: no answer, or one that broke off.
            Refused: any other status than 200, or a line that is no JSON or longer than any object.
        """
        renewed = False
        while True:
            pool, headers = self._prepared()
            timeout = Timeout(connect=settings.CONNECT_SECONDS, read=silence_seconds)
            url = f"{self.host}{path}?{urllib.parse.urlencode(query)}"
            self.requests += 1
            try:
                reply = pool.request(
                    "GET", url, headers=headers, timeout=timeout, retries=False, redirect=False, preload_content=False
                )
                try:
                    if reply.status == 401 and not renewed:
                        renewed = True
                        if self._connection.renew():
                            continue
                    if reply.status != 200:
                        answer = Answer(reply.status, _document(reply.read(_LONGEST_REFUSAL)))
                        if answer.status in _AGAIN or answer.status // 100 == 5:
                            raise self._unavailable("watch", path, f"HTTP {answer.status}: {answer.message}")
                        raise refusal(self.host, "watch", path, answer, self._connection.where)
                    for line in _lines(reply.stream(_PIECE)):
                        yield self._line(path, line)
                    return
                finally:
                    # What is left of it is not read, so that no other request may have this connection.
                    reply.close()
            except HTTPError as error:
                raise self._unavailable("watch", path, short(error)) from error

    def _line(self, path: str, line: bytes) -> dict[str, t.Any]:
        found = _document(line) if len(line) <= LONGEST_LINE else {}
        if "object" not in found:
            raise self._no_api("watch", path)
        return found

    def _unavailable(self, verb: str, path: str, why: str) -> ApiUnavailable:
        what, fix = "did not answer", "Run again when the API answers: a run reads everything again."
        if any(each in why for each in _NOT_VERIFIED):
            what, fix = (
                "has a certificate that is not accepted",
                "Give the authority that issued it (certificate-authority-data of the kubeconfig, or store.ca_cert), or ask under a name that "
                "it is for (tls-server-name of the kubeconfig). Then run again: a run reads everything again.",
            )
        elif any(each in why for each in _NO_TLS):
            what, fix = (
                "does not speak TLS",
                "Correct its URL: the port, or http:// where it is meant to be unprotected.",
            )
        proxy = self._connection.proxy
        return ApiUnavailable(
            f"the store's Kubernetes API {what} ({verb} {path})",
            self.host + (f" by the proxy {proxy}" if proxy else ""),
            why,
            f"Nothing more is changed by this run; what was under way is in the journal on this controller. {fix}",
        )

    def _no_api(self, verb: str, path: str) -> base.StoreError:
        return base.StoreError(
            f"what answers is no Kubernetes API ({verb} {path})",
            self.host,
            "the answer is no object of Kubernetes: another server, or a page of a proxy or a login",
            "Nothing more is changed by this run. Correct the URL (store.host, or server of the kubeconfig) or the proxy.",
        )


def _document(text: bytes) -> dict[str, t.Any]:
    try:
        document = json.loads(text.decode("utf-8")) if text else {}
    except ValueError:
        document = {"message": text.decode("utf-8", "replace")[:300]}
    return document if isinstance(document, dict) else {}


def _lines(pieces: t.Iterable[bytes]) -> t.Iterator[bytes]:
    """Cut a stream into lines.

    A line that is too long is yielded as far as it came.
    """
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > LONGEST_LINE:
            yield rest
    # A line that broke off says nothing.


def _role_rule(verb: str, path: str) -> str:
    """Return the rule of a Role that allows a request, if any."""
    parts = path.strip("/").split("/")
    group, rest = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
    if len(rest) < 3 or rest[0] != "namespaces":
        return ""
    resource = "/".join([rest[2], *rest[4:]])
    return f', by the rule {{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]}}'


def refusal(host: str, verb: str, path: str, answer: Answer, credentials: str = "") -> Refused:
    """Return the error for an API's refusal.

    ``credentials`` names where the credentials were read from.
    """
    words = answer.message or f"HTTP {answer.status}"
    if answer.status == 401:
        why, fix = (
            f"the credentials{f' of {credentials}' if credentials not in ('', host) else ''} are not accepted: a token or certificate that has ended, "
            "or another cluster's",
            ("Renew them (log in again, or issue a new token) and run again."),
        )
    elif answer.status == 403:
        why, fix = (
            f"these credentials may not {verb} there. {words}",
            (
                "Bind the Role that the playbook kubeadm.control_plane.install makes to whoever runs this, or grant that verb on that resource"
                f"{_role_rule(verb, path)}. Kinds of a provider that is registered later are in that Role when install was run again."
            ),
        )
        if _NOBODY in words:
            why = f"the request had no credentials that the API server knows, and no user without them may {verb} there. {words}"
            fix = "Give credentials: the user of the kubeconfig's context has none, or its client certificate is another authority's."
        elif _IN_DELETION in words:
            why, fix = (
                words,
                (
                    "Nothing can be created there any more, nor kept: the Secrets with the cluster's keys and what is known of its machines go with the "
                    "namespace. The machines run on. Bring the objects back from a backup into another namespace or API, or delete the machines yourself and "
                    "take the finalizers off the objects that are left (docs/store.md)."
                ),
            )
        elif verb == "list" and "/namespaces/" not in path and "/apiextensions.k8s.io/" not in path:
            fix = (
                "Name the namespaces that they are good for (option namespaces of the inventory): the Role that the playbook "
                "kubeadm.control_plane.install makes is for one namespace each."
            )
    elif answer.status == 404:
        why, fix = (
            words,
            (
                "Run the playbook kubeadm.control_plane.install, which makes the CustomResourceDefinitions, and check the namespace."
            ),
        )
    else:
        why, fix = words, "Correct what the API server names; nothing of this request was stored."
    return Refused(answer.status, f"the store's Kubernetes API refused: {verb} {path}", host, why, fix)
