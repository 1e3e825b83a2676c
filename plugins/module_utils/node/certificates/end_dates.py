# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""End dates of a machine's certificates, also of those in kubeconfigs.

Only public certificates are read, with the standard library alone.
"""

from __future__ import annotations

import base64
import calendar
import os
import re
import time

from ...common.values import format_time
from .der import element, from_validity

# kubeadm's own names (docs/reference/kubeadm.md, "Certificates").
FILES = (
    "apiserver.crt",
    "apiserver-kubelet-client.crt",
    "apiserver-etcd-client.crt",
    "front-proxy-client.crt",
    "ca.crt",
    "front-proxy-ca.crt",
    "etcd/ca.crt",
    "etcd/server.crt",
    "etcd/peer.crt",
    "etcd/healthcheck-client.crt",
)
# Kubeconfigs with a client certificate inside; the kubelet's own is another one's, and renews itself.
KUBECONFIGS = ("admin.conf", "controller-manager.conf", "scheduler.conf")
_CLIENT = re.compile(r"^\s*client-certificate-data:\s*([A-Za-z0-9+/=]+)\s*$", re.MULTILINE)
_LONGEST = 1 << 20
_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x17, 0x18


def expiry(directory: str, kubernetes: str) -> dict[str, str]:
    """Return the end date of each of kubeadm's certificates, by file name.

    RFC 3339, UTC. A certificate that is missing or can't be read is left out.

    ``directory`` is kubeadm's certificatesDir; the kubeconfigs are in ``kubernetes``.
    """
    found = {}
    for name in FILES:
        try:
            with open(os.path.join(directory, name), encoding="ascii") as file:
                found[name] = not_after(file.read(_LONGEST))
        except (OSError, ValueError):
            continue
    for name in KUBECONFIGS:
        try:
            with open(os.path.join(kubernetes, name), encoding="utf-8") as file:
                inside = _CLIENT.search(file.read(_LONGEST))
            if inside is not None:
                found[name] = not_after(base64.b64decode(inside.group(1), validate=True).decode("ascii"))
        except (OSError, ValueError):
            continue
    return found


def not_after(pem: str) -> str:
    """Return the end date of a PEM certificate (RFC 3339, UTC).

    It is the first certificate in the text.

    Raises:
        ValueError: there is no certificate, or it isn't X.509 (RFC 5280 §4.1).
    """
    try:
        tag, validity, _rest = element(from_validity(pem))
        if tag != _SEQUENCE:
            raise ValueError("no validity where it should be")
        _tag, _begin, rest = element(validity)
        tag, end, _rest = element(rest)
        text = end.decode("ascii")
        if tag == _UTC_TIME:
            # RFC 5280 §4.1.2.5.1: years 50 to 99 are of the last century.
            text = ("19" if int(text[:2]) >= 50 else "20") + text
        elif tag != _GENERALIZED_TIME:
            raise ValueError("no time where it should be")
        return format_time(calendar.timegm(time.strptime(text, "%Y%m%d%H%M%SZ")))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not an X.509 certificate: {error}") from error
