# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server behind another one, as a program: python aggregated_server.py ADDRESS PORT CERTIFICATE KEY TRUSTED.

It answers those who show the front proxy's certificate, verified by the file TRUSTED as it was when the program started: as API servers
did that were built on Kubernetes libraries before 1.17.
"""

from __future__ import annotations

import datetime
import http.server
import json
import ssl
import sys
import typing as t

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

FRONT_PROXY = "front-proxy-client"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the list of an API's resources, which is empty."""

    def do_GET(self) -> None:
        """Let the front proxy in, and nobody else."""
        shown: t.Any = self.connection.getpeercert() or {}  # type: ignore[attr-defined]
        names = [value for part in shown.get("subject", ()) for name, value in part if name == "commonName"]
        allowed = names == [FRONT_PROXY] and bool(self.headers.get("X-Remote-User"))
        version = self.path.removeprefix("/apis/").partition("?")[0]
        document = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []}
        body = json.dumps(document if allowed else {"kind": "Status", "code": 401}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: t.Any) -> None:
        """Nobody reads it."""


def serving_pair(host: str) -> tuple[str, str]:
    """A certificate for a name, which is its own authority, and its key; both in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.timezone.utc)
    begin, end = now - datetime.timedelta(hours=1), now + datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), begin, end)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return pem.decode(), key.private_bytes(*form).decode()


def serve(address: str, port: int, certificate: str, key: str, trusted: str) -> http.server.ThreadingHTTPServer:
    """A server that is ready; the handshakes are made where its requests are served."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(trusted)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = http.server.ThreadingHTTPServer((address, port), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]).serve_forever()
