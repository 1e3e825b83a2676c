# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API servers behind this one (APIServices), asked with a front proxy's certificate as an API server asks them.

They learn whom to trust from the ConfigMap extension-apiserver-authentication; some read it when they start, and never again. So it is
asked of themselves.
"""

from __future__ import annotations

import base64
import binascii
import http.client
import socket
import ssl
import typing as t
from dataclasses import dataclass

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.https import client_context
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload.api import ApiClient

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
TIMEOUT_SECONDS = 5.0
# With these an API server asks whether another one is there (kube-aggregator: available_controller.go).
HEADERS = {"X-Remote-User": "system:kube-aggregator", "X-Remote-Group": "system:masters"}


@dataclass(frozen=True)
class AggregatedServer:
    """An API server behind this one: the APIService's ``name``, the path of its API, the address and the name that its certificate has.

    ``authorities`` are its caBundle in PEM; "" where it is not verified.
    """

    name: str
    path: str
    address: str
    port: int
    host: str
    authorities: str

    def status(self, certificate: str, key: str) -> int:
        """What it answers to somebody who shows a certificate, both in PEM; 0 where nothing comes."""
        try:
            context = self._context(f"{certificate}\n{key}")
            with (
                socket.create_connection((self.address, self.port), TIMEOUT_SECONDS) as plain,
                context.wrap_socket(plain, server_hostname=self.host) as secure,
            ):
                connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_SECONDS)
                connection.sock = secure
                connection.request("GET", self.path, headers=HEADERS)
                return connection.getresponse().status
        except (OSError, ssl.SSLError, http.client.HTTPException):
            return 0

    def _context(self, pair: str) -> ssl.SSLContext:
        if self.authorities:
            return client_context(ca_pem=self.authorities, certificate_and_key_pem=pair)
        context = client_context(certificate_and_key_pem=pair)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


def find(client: ApiClient) -> list[AggregatedServer]:
    """Those that the API knows and that are reached by a cluster IP. Raises ApiError, Unreachable."""
    found = []
    for item in client.list(API_SERVICES):
        spec = item.get("spec") or {}
        service = spec.get("service") or {}
        if not service:
            continue
        namespace, name = str(service["namespace"]), str(service["name"])
        known = (client.get(f"/api/v1/namespaces/{namespace}/services/{name}") or {}).get("spec") or {}
        address = str(known.get("clusterIP") or "None")
        if address == "None":
            continue
        bundle = "" if spec.get("insecureSkipTLSVerify") else _text(spec.get("caBundle"))
        path = f"/apis/{spec['group']}/{spec['version']}"
        server = AggregatedServer(
            str(item["metadata"]["name"]),
            path,
            address,
            int(service.get("port") or 443),
            f"{name}.{namespace}.svc",
            bundle,
        )
        found.append(server)
    return found


def answers(client: ApiClient, current: tuple[str, str], other: tuple[str, str]) -> list[dict[str, t.Any]]:
    """What each answers to two certificates with their keys: ``{name, current, other}``, HTTP statuses, 0 where nothing came."""
    return [
        {"name": each.name, "current": each.status(*current), "other": each.status(*other)} for each in find(client)
    ]


def _text(value: t.Any) -> str:
    try:
        return base64.b64decode(str(value or "")).decode()
    except (ValueError, binascii.Error):
        return ""
