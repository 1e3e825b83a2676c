# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Encryption of secrets that a node returns to the controller.

Ansible shows a module's output at -vvv: a secret must be unreadable in it. A node has Python's standard library
alone, which has no cipher. HMAC-SHA256 is a pseudo-random function: run in counter mode it gives a key stream, and over
nonce and ciphertext an authentication tag (encrypt-then-MAC, NIST SP 800-108 and RFC 7366). The controller makes a new
key for each call; it is one of the module's arguments, marked no_log.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os

KEY_BYTES = 32
_NONCE_BYTES = 16
_BLOCK_BYTES = 32


class SealError(ValueError):
    """Refusal of a malformed key or of data not sealed with it."""


def new_key() -> str:
    """Return a new random key, as hexadecimal text."""
    return os.urandom(KEY_BYTES).hex()


def seal(key: str, data: bytes) -> str:
    """Return data sealed with a key from :func:`new_key`, as base64."""
    encryption, authentication = _keys(key)
    nonce = os.urandom(_NONCE_BYTES)
    body = nonce + _xor(data, _stream(encryption, nonce, len(data)))
    return base64.b64encode(body + hmac.new(authentication, body, hashlib.sha256).digest()).decode()


def unseal(key: str, sealed: str) -> bytes:
    """Return the data of a sealed text.

    Raises:
        SealError: the text was changed, or sealed with another key, or the key is malformed.
    """
    encryption, authentication = _keys(key)
    try:
        raw = base64.b64decode(sealed, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SealError("the sealed data is not base64") from error
    body, tag = raw[:-_BLOCK_BYTES], raw[-_BLOCK_BYTES:]
    if len(body) < _NONCE_BYTES or not hmac.compare_digest(
        hmac.new(authentication, body, hashlib.sha256).digest(), tag
    ):
        raise SealError("the sealed data was changed on its way, or was sealed with another key")
    nonce, data = body[:_NONCE_BYTES], body[_NONCE_BYTES:]
    return _xor(data, _stream(encryption, nonce, len(data)))


def _keys(key: str) -> tuple[bytes, bytes]:
    try:
        raw = bytes.fromhex(key)
    except ValueError as error:
        raise SealError("the key is not hexadecimal") from error
    if len(raw) != KEY_BYTES:
        raise SealError(f"the key has {len(raw)} bytes, not {KEY_BYTES}")
    encryption, authentication = (
        hmac.new(raw, label, hashlib.sha256).digest() for label in (b"encrypt", b"authenticate")
    )
    return encryption, authentication


def _stream(key: bytes, nonce: bytes, length: int) -> bytes:
    blocks = -(-length // _BLOCK_BYTES)
    return b"".join(
        hmac.new(key, nonce + number.to_bytes(8, "big"), hashlib.sha256).digest() for number in range(blocks)
    )


def _xor(data: bytes, stream: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(data, stream))
