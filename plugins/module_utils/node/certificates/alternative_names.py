# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alternative names of a certificate, read with the standard library alone (RFC 5280 §4.2.1.6)."""

from __future__ import annotations

import ipaddress
import re
import ssl

from .der import element

_NAMES_OID = bytes.fromhex("0603551d11")
_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_DNS, _ADDRESS = 0x82, 0x87
_OCTETS, _SEQUENCE, _BOOLEAN = 0x04, 0x30, 0x01


def alternative_names(pem: str) -> frozenset[str]:
    """Return the DNS names and IP addresses of a certificate.

    It is the first certificate in the PEM text.

    Raises:
        ValueError: there is no certificate, or its names can't be read.
    """
    der = certificate_bytes(pem)
    at = der.find(_NAMES_OID)
    if at < 0:
        return frozenset()
    try:
        rest = der[at + len(_NAMES_OID) :]
        tag, content, rest = element(rest)
        if tag == _BOOLEAN:
            tag, content, rest = element(rest)
        if tag != _OCTETS:
            raise ValueError("no alternative names where they should be")
        tag, names, _after = element(content)
        if tag != _SEQUENCE:
            raise ValueError("no list of alternative names")
        found = set()
        while names:
            tag, value, names = element(names)
            if tag == _DNS:
                found.add(value.decode("ascii").lower())
            elif tag == _ADDRESS:
                found.add(str(ipaddress.ip_address(value)))
        return frozenset(found)
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"a certificate whose names can't be read: {error}") from error


def certificate_bytes(pem: str) -> bytes:
    """Return the first certificate in PEM text, as DER. Raises ValueError."""
    block = _BLOCK.search(pem)
    if block is None:
        raise ValueError("no PEM certificate")
    return ssl.PEM_cert_to_DER_cert(block.group(0))
