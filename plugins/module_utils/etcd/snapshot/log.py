# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IDs of member and cluster in an etcd data folder's log.

Read without etcd, from its write-ahead log: the database does not have them. Each of the log's files begins with a checksum and the metadata, in
which they are (3.4 to 3.6, github.com/etcd-io/etcd: server/storage/wal/encoder.go, walpb/record.proto, etcdserverpb/etcdserver.proto, message
Metadata).
"""

from __future__ import annotations

import os
import struct

from ..types import to_hex

_LENGTH = struct.Struct("<Q")
# A frame's length is in the lower 56 bits; above it is how it was padded, to a multiple of eight bytes.
_LENGTH_BITS = (1 << 56) - 1
_HEAD_BYTES = 4096
_METADATA_TYPE = 1


def stored_cluster_id(member: str) -> str:
    """Return the cluster ID in a data folder's ``member``.

    As 16 hexadecimal digits; "" where it can't be read.
    """
    return stored_identity(member)[1]


def stored_identity(member: str) -> tuple[str, str]:
    """Return the IDs of member and cluster in a data folder's ``member``.

    Each as 16 hexadecimal digits; "" where they can't be read.
    """
    folder = os.path.join(member, "wal")
    try:
        last = max(name for name in os.listdir(folder) if name.endswith(".wal"))
        with open(os.path.join(folder, last), "rb") as file:
            head = file.read(_HEAD_BYTES)
        at = 0
        while True:
            length = _LENGTH.unpack_from(head, at)[0] & _LENGTH_BITS
            record = _fields(head[at + _LENGTH.size : at + _LENGTH.size + length])
            if record.get(1) == _METADATA_TYPE:
                metadata = _fields(bytes(record[3]))
                return _hex(metadata.get(1)), _hex(metadata.get(2))
            at += _LENGTH.size + (length + 7) // 8 * 8
    except (OSError, struct.error, ValueError, IndexError, KeyError, TypeError):
        return "", ""


def _hex(found: int | bytes | None) -> str:
    return to_hex(found) if isinstance(found, int) and found < 1 << 64 else ""


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Return a protobuf message's fields by number.

    Those that are varints or byte strings.

    Raises ValueError for any other, and IndexError where the message ends too early.
    """
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value, at = _varint(message, at)
        if tag & 7 == 0:
            found[tag >> 3] = value
        elif tag & 7 == 2 and value <= len(message) - at:
            found[tag >> 3] = message[at : at + value]
            at += value
        else:
            raise ValueError("neither a number nor a string that fits")
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
