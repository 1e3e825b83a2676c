# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Aggregated API servers (APIServices), asked with a front proxy certificate.

They are asked as an API server asks them.

They learn whom to trust from the ConfigMap extension-apiserver-authentication; some read it when they start, and never again. So it is
asked of themselves. A front proxy may act as any user: its certificate is shown to no server that is not verified first, as an API server itself
does where an APIService says insecureSkipTLSVerify.
"""

from __future__ import annotations

import http.client
import socket
import typing as t
from dataclasses import dataclass

from ...common import settings
from ...common.https import bound, client_context
from ...workload_api import untrusted
from ...workload_api.api import ApiClient

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
# With these an API server asks whether another one is there (kube-aggregator: available_controller.go).
HEADERS = {"X-Remote-User": "system:kube-aggregator", "X-Remote-Group": "system:masters"}


@dataclass(frozen=True)
class AggregatedServer:
    """Aggregated API server: an APIService with its path and address.

    ``name`` is the APIService's, ``path`` that of its API, ``host`` the name that its certificate has.

    ``authorities`` are its caBundle in PEM; "" where it has none, and the system's authorities verify it, as an API server's do.
    ``verified`` is False where its APIService wants it not to be verified.
    """

    name: str
    path: str
    address: str
    port: int
    host: str
    authorities: str
    verified: bool = True

    def status(self, certificate: str, key: str) -> int:
        """Return the server's HTTP status for a client certificate.

        Certificate and key are in PEM. 0 if nothing comes, or if the server isn't asked.
        """
        if not self.verified:
            return 0
        try:
            context = client_context(ca_pem=self.authorities or None, certificate_and_key_pem=f"{certificate}\n{key}")
            with (
                socket.create_connection((self.address, self.port), settings.PROOF_ANSWER_SECONDS) as plain,
                context.wrap_socket(plain, server_hostname=self.host) as secure,
            ):
                connection = http.client.HTTPConnection(self.host, timeout=settings.PROOF_ANSWER_SECONDS)
                connection.sock = secure
                bound(connection, settings.PROOF_ANSWER_SECONDS, settings.PROOF_ANSWER_SECONDS)
                connection.request("GET", self.path, headers=HEADERS)
                return connection.getresponse().status
        except (OSError, ValueError, http.client.HTTPException):
            return 0


def find(client: ApiClient) -> list[AggregatedServer]:
    """Return the aggregated API servers that are reached by a cluster IP.

    Raises ApiError, Unreachable.
    """
    found = []
    for item in client.list(API_SERVICES):
        spec = untrusted.mapping(item.get("spec"))
        service = untrusted.mapping(spec.get("service"))
        namespace, name = untrusted.text(service.get("namespace")), untrusted.text(service.get("name"))
        if not (namespace and name):
            continue
        known = (client.get(f"/api/v1/namespaces/{namespace}/services/{name}") or {}).get("spec") or {}
        address = str(known.get("clusterIP") or "None")
        if address == "None":
            continue
        server = AggregatedServer(
            untrusted.text(untrusted.mapping(item.get("metadata")).get("name")),
            f"/apis/{untrusted.text(spec.get('group'))}/{untrusted.text(spec.get('version'))}",
            address,
            untrusted.integer(service.get("port")) or 443,
            f"{name}.{namespace}.svc",
            untrusted.base64_text(spec.get("caBundle")),
            not spec.get("insecureSkipTLSVerify"),
        )
        found.append(server)
    return found


def answers(client: ApiClient, current: tuple[str, str], other: tuple[str, str]) -> list[dict[str, t.Any]]:
    """Return each aggregated server's HTTP status for two client certificates.

    Each entry is ``{name, verified, current, other}``; a status is 0 where nothing came.
    The certificates come with their keys.
    """
    return [
        {
            "name": each.name,
            "verified": each.verified,
            "current": each.status(*current),
            "other": each.status(*other),
        }
        for each in find(client)
    ]
