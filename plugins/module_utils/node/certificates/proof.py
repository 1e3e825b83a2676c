# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof of the certificates that a node's servers show and accept.

The servers of a control plane node are asked in a TLS handshake and a request, in addition to the files.
"""

from __future__ import annotations

import hashlib
import socket
import ssl
import typing as t
from dataclasses import dataclass, replace

from ...common import settings
from ...common.guard import NodeError
from ...common.https import HttpClient, Unreachable, client_context, split_url
from ...etcd.types import LOCAL_MEMBER
from ...workload_api.api import ADMIN_KUBECONFIG, ApiClient, ApiError, own_server, read_access

API_SERVER, ETCD = "kube-apiserver", "etcd"
_JWKS = "/openid/v1/jwks"


@dataclass(frozen=True)
class Servers:
    """Addresses and credentials of a machine's servers; tests use other ones."""

    pki: str = "/etc/kubernetes/pki"
    manifests: str = "/etc/kubernetes/manifests"
    kubeconfig: str = ADMIN_KUBECONFIG
    etcd_url: str = LOCAL_MEMBER
    kubectl: str = "kubectl"

    def url(self, server: str) -> t.Optional[str]:
        """Return the URL of a server of this machine, None without one."""
        return self.etcd_url if server == ETCD else own_server(self.manifests)

    def bundle(self, server: str) -> str:
        """Return the file of the CA certificates that verify a server."""
        return f"{self.pki}/etcd/ca.crt" if server == ETCD else f"{self.pki}/ca.crt"


def shown(server: str, servers: Servers) -> str:
    """Return the SHA-256 of a server's certificate in hexadecimal.

    "" where the server does not answer.
    """
    url = servers.url(server)
    if url is None:
        return ""
    # Which certificate it is, is the question: it is compared with what was written.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        if server == ETCD:
            stem = f"{servers.pki}/etcd/healthcheck-client"
            context.load_cert_chain(f"{stem}.crt", f"{stem}.key")
        with (
            socket.create_connection(split_url(url)[1:], settings.PROOF_ANSWER_SECONDS) as plain,
            context.wrap_socket(plain) as secure,
        ):
            found = secure.getpeercert(binary_form=True)
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(found).hexdigest() if found else ""


def accepts(server: str, certificate: str, key: str, servers: Servers) -> bool:
    """Return whether a server authenticates a client certificate.

    It does not tell what the client is authorized to do.

    Raises:
        NodeError: it does not answer any client, so that nothing is known.
    """
    url = servers.url(server)
    if url is None:
        raise NodeError(f"{server} has no static pod on this machine.", "Name a control plane node of kubeadm's.")
    if not shown(server, servers):
        raise NodeError(f"{server} does not answer at {url}.", "What it accepts is not known. Look at crictl ps -a.")
    context = client_context(ca_file=servers.bundle(server), certificate_and_key_pem=f"{certificate}\n{key}")
    path = "/version" if server == ETCD else "/api"
    try:
        with HttpClient(url, context, settings.PROOF_ANSWER_SECONDS) as client:
            answer = client.request("GET", path, None, {})
    except Unreachable as error:
        if isinstance(error.__cause__, ssl.SSLCertVerificationError):
            raise NodeError(
                f"{server} shows a certificate that {servers.bundle(server)} does not trust.",
                "Renew its certificate, or put the right CA there.",
            ) from error
        # etcd ends the connection of somebody whose certificate it does not trust.
        return False
    return answer.status != 401


def key_ids(servers: Servers) -> t.Optional[list[str]]:
    """Return the IDs of the service account keys an API server trusts.

    It is this machine's API server; None where it has no way to report them (before 1.20).

    One that does not answer just now trusts no authority: an empty list.

    Raises:
        NodeError: the admin's credentials can't be read.
    """
    url = own_server(servers.manifests)
    if url is None:
        return None
    access = read_access(servers.kubeconfig, servers.kubectl)
    # It has a type of its own, and is given to nobody who asks for another.
    access = replace(access, headers={**access.headers, "Accept": "application/jwk-set+json"})
    try:
        with ApiClient(access, url, settings.PROOF_ANSWER_SECONDS) as client:
            keys = (client.get(_JWKS) or {}).get("keys")
    except (ApiError, Unreachable):
        return []
    return sorted(str(each.get("kid")) for each in keys) if isinstance(keys, list) else None
