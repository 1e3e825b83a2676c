# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Address of a static pod's TLS listener, and the certificate presented there."""

from __future__ import annotations

import os
import socket
import ssl
import typing as t

from ...common.guard import NodeError
from ...common.https import split_url
from ...etcd.types import LOCAL_MEMBER


def listener(name: str, words: t.Sequence[str]) -> tuple[str, int]:
    """Return host and port that present a certificate, by kubeadm's name.

    ``words`` is the component's command line.

    Raises:
        NodeError: its flags name no address.
    """
    flags = dict(word[2:].split("=", 1) for word in words if word.startswith("--") and "=" in word)
    if name == "apiserver":
        host = flags.get("advertise-address", "127.0.0.1")
        url = f"https://{f'[{host}]' if ':' in host else host}:{flags.get('secure-port', '6443')}"
    else:
        urls = flags.get("listen-client-urls" if name == "etcd-server" else "listen-peer-urls", "").split(",")
        url = next((each for each in urls if each.startswith("https")), LOCAL_MEMBER)
    try:
        return split_url(url)[1:]
    except ValueError as error:
        raise NodeError(
            f"{words[0]} is started to serve at {url!r}: {error}.", "Correct its static pod manifest."
        ) from None


def presented(host: str, port: int, certificates: str) -> t.Optional[bytes]:
    """Return the certificate presented at an address, None if nothing answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    client = os.path.join(certificates, "etcd", "healthcheck-client")
    if certificates and os.path.exists(f"{client}.crt"):
        # etcd ends a handshake without a client's certificate.
        context.load_cert_chain(f"{client}.crt", f"{client}.key")
    try:
        with socket.create_connection((host, port), 2.0) as plain, context.wrap_socket(plain) as secured:
            return secured.getpeercert(binary_form=True)
    except OSError:
        return None
