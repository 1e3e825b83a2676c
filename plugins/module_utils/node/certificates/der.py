# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DER, the encoding of certificates, parsed with the standard library alone (ITU-T X.690 §8.1 and §10.1)."""

from __future__ import annotations

import base64
import binascii
import re

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----\n?", re.DOTALL)
_EXPLICIT_VERSION = 0xA0


def pem_certificates(text: str) -> list[str]:
    """Return each PEM certificate of a text, as it is written."""
    return [found.group() for found in _BLOCK.finditer(text)]


def from_validity(pem: str) -> bytes:
    """Return a PEM certificate's fields from its validity on (RFC 5280 §4.1).

    It is the first certificate in the text.

    Raises:
        ValueError: there is no certificate, or it isn't X.509.
    """
    block = _BLOCK.search(pem)
    if block is None:
        raise ValueError("no PEM certificate")
    try:
        der = base64.b64decode(re.sub(r"\s", "", block.group(1)), validate=True)
        _tag, certificate, _rest = element(der)
        _tag, fields, _rest = element(certificate)
        tag, _value, rest = element(fields)
        if tag == _EXPLICIT_VERSION:
            _tag, _serial, rest = element(rest)
        _tag, _algorithm, rest = element(rest)
        _tag, _issuer, rest = element(rest)
        return rest
    except (IndexError, binascii.Error) as error:
        raise ValueError(f"not an X.509 certificate: {error}") from error


def public_key(pem: str) -> bytes:
    """Return a PEM certificate's public key, with its algorithm.

    It is the first certificate in the text.

    Raises:
        ValueError: there is no certificate, or it isn't X.509.
    """
    try:
        _tag, _validity, rest = element(from_validity(pem))
        _tag, _subject, rest = element(rest)
        return element(rest)[1]
    except IndexError as error:
        raise ValueError(f"not an X.509 certificate: {error}") from error


def element(data: bytes) -> tuple[int, bytes, bytes]:
    """Split DER into its first element's tag, its content and the rest.

    Raises:
        ValueError: the length is impossible, or longer than the data. IndexError: there is no whole element.
    """
    tag, length, at = data[0], data[1], 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4:
            raise ValueError("a DER length of an impossible size")
        length = int.from_bytes(data[2 : 2 + count], "big")
        at += count
    if at + length > len(data):
        raise ValueError("DER that breaks off")
    return tag, data[at : at + length], data[at + length :]
