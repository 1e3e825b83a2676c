# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of a Kubernetes API server on a control plane node.

It uses the node's own admin credentials.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import ssl
import typing as t
from dataclasses import dataclass
from urllib.parse import urlencode

from ..common import settings, timed_command
from ..common.guard import NodeError, read_text
from ..common.https import Answer, HttpClient, client_context

ADMIN_KUBECONFIG = "/etc/kubernetes/admin.conf"
MANIFESTS_DIRECTORY = "/etc/kubernetes/manifests"
MERGE_PATCH = "application/merge-patch+json"
_PAGE = 500


@dataclass(frozen=True)
class ApiAccess:
    """Access to an API server, from a kubeconfig.

    It is the server's URL, the TLS context, and the headers that carry a token if there is one.
    """

    server: str
    context: ssl.SSLContext
    headers: t.Mapping[str, str]


class ApiError(Exception):
    """Error that the API returned, with HTTP ``status`` and message."""

    def __init__(self, status: int, path: str, detail: str) -> None:
        super().__init__(f"the API refused {path}: {detail} (HTTP {status})")
        self.status = status


def read_access(kubeconfig: str = ADMIN_KUBECONFIG, kubectl: str = "kubectl") -> ApiAccess:
    """Return the API access of a kubeconfig file's current context.

    ``kubectl`` reads the file, for its format is YAML.

    Raises:
        NodeError: the file or kubectl is missing, or the credentials are of a kind that needs a plugin.
    """
    words = [kubectl, "--kubeconfig", kubeconfig, "config", "view", "--raw", "--flatten", "--minify", "-o", "json"]
    # Its output holds the admin's key: it stays in this process.
    done = timed_command.run(words, why="Every kubeadm node needs it: install it.")
    if done.returncode != 0:
        reason = done.stderr.strip()[:400]
        raise NodeError(f"{kubeconfig} can't be used: {reason}", "Name a control plane node of kubeadm's.")
    try:
        document = json.loads(done.stdout)
        cluster = document["clusters"][0]["cluster"]
        user = document["users"][0]["user"]
        headers = {}
        pair = None
        if user.get("client-certificate-data"):
            pair = "\n".join(
                base64.b64decode(user[key]).decode() for key in ("client-certificate-data", "client-key-data")
            )
        elif user.get("token"):
            headers["Authorization"] = "Bearer " + user["token"]
        else:
            raise NodeError(
                f"{kubeconfig}: the user has neither a client certificate nor a token.",
                "Use kubeadm's own admin.conf, which holds a client certificate: credential plugins are not supported.",
            )
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return ApiAccess(cluster["server"], client_context(ca_pem=authority, certificate_and_key_pem=pair), headers)
    except (KeyError, IndexError, TypeError, ValueError, binascii.Error, ssl.SSLError, OSError) as error:
        raise NodeError(f"{kubeconfig} can't be used: {type(error).__name__} ({error}).", "Correct it.") from error


def own_server(manifests: str = MANIFESTS_DIRECTORY) -> t.Optional[str]:
    """Return ``https://address:port`` of this machine's own API server.

    It is read from the static pod manifest; None where there is no such manifest. kubeadm writes the pair as an
    annotation since 1.18; before, and for manifests of others, it is read from the flags
    (docs/reference/kubeadm.md, "Files and ports").
    """
    text = read_text(f"{manifests}/kube-apiserver.yaml")
    if not text:
        return None
    found = re.search(r"kube-apiserver\.advertise-address\.endpoint:\s*[\"']?([^\s\"']+)", text)
    if found:
        return f"https://{found.group(1)}"
    address = re.search(r"--advertise-address=([^\s\"']+)", text)
    port = re.search(r"--secure-port=(\d+)", text)
    if not address:
        return None
    host = f"[{address.group(1)}]" if ":" in address.group(1) else address.group(1)
    return f"https://{host}:{port.group(1) if port else 6443}"


class ApiClient:
    """Connection to an API server, not for several threads at once.

    ``date`` is the server's Date header of the latest answer (RFC 7231 text), "" before the first.
    """

    def __init__(self, access: ApiAccess, server: str, timeout: float = settings.ANSWER_SECONDS) -> None:
        self._http = HttpClient(server, access.context, timeout)
        self._headers = {"Accept": "application/json", **access.headers}
        self.date = ""

    def __enter__(self) -> ApiClient:
        return self

    def __exit__(self, *unused: object) -> None:
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        document: t.Optional[t.Mapping[str, t.Any]] = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send a request and return its answer, of any HTTP status.

        Raises:
            Unreachable: no answer.
        """
        headers = dict(self._headers)
        body = None
        if document is not None:
            headers["Content-Type"] = content_type
            body = json.dumps(document).encode()
        answer = self._http.request(method, path, body, headers)
        self.date = answer.headers.get("date", self.date)
        return answer

    def get(self, path: str) -> t.Optional[dict[str, t.Any]]:
        """Return an object, None where the API has none (404).

        Raises:
            ApiError: any other refusal. Unreachable: no answer.
        """
        answer = self.send("GET", path)
        if answer.status == 404:
            return None
        return self.checked(answer, path)

    def list(self, path: str, selector: str = "", fields: str = "") -> list[dict[str, t.Any]]:
        """Return all objects of a list that match both selectors.

        Args:
            path: the list's path; it is read page by page.
            selector: a label selector.
            fields: a field selector.
        """
        items: list[dict[str, t.Any]] = []
        more = ""
        while True:
            query = {"limit": str(_PAGE), "labelSelector": selector, "fieldSelector": fields, "continue": more}
            text = urlencode({name: value for name, value in query.items() if value})
            page = self.checked(self.send("GET", f"{path}?{text}"), path)
            items.extend(item for item in page.get("items") or [] if isinstance(item, dict))
            more = str((page.get("metadata") or {}).get("continue") or "")
            if not more:
                return items

    @staticmethod
    def checked(answer: Answer, path: str) -> dict[str, t.Any]:
        """Return the answer's JSON object, or raise :class:`ApiError`."""
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            document = None
        if answer.status >= 400 or not isinstance(document, dict):
            text = answer.body[:200].decode(errors="replace")
            detail = document.get("message") if isinstance(document, dict) else text
            raise ApiError(answer.status, path, str(detail or "no reason given"))
        return document


def own_client(kubeconfig: str = ADMIN_KUBECONFIG, timeout: float = settings.ANSWER_SECONDS) -> ApiClient:
    """Return a client of this machine's own API server.

    Of another kubeconfig than kubeadm's, which may be for another cluster than the one this machine carries, and where there is no such
    server: of the kubeconfig's.

    Args:
        kubeconfig: the file with the credentials.
        timeout: seconds for each request.
    """
    access = read_access(kubeconfig)
    own = own_server() if kubeconfig == ADMIN_KUBECONFIG else None
    return ApiClient(access, own or access.server, timeout)
