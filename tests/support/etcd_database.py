# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Database files of an etcd that isn't there, in bbolt's format (page.go, bucket.go, db.go), small and as wrong as a test wants them."""

from __future__ import annotations

import hashlib
import struct

PAGE = 4096
_LEAF, _BRANCH, _META = 0x02, 0x01, 0x04


def snapshot(revision: int, *values: bytes) -> bytes:
    """A snapshot whose last change has that revision: the database and its hash. Each value is kept under a revision of its own."""
    return hashed(database(revision, *values))


def hashed(data: bytes) -> bytes:
    """What etcd makes of a database when it sends it: its hash behind it."""
    return data + hashlib.sha256(data).digest()


def database(revision: int, *values: bytes) -> bytes:
    """A database."""
    stored = values or (b"value",)
    keys = [struct.pack(">Q", revision - len(stored) + number + 1) + b"_" + bytes(8) for number in range(len(stored))]
    root = _leaf(2, [(b"key", struct.pack("<QQ", 3, 0), 1)])
    return _meta(0) + _meta(1) + root + _leaf(3, [(key, value, 0) for key, value in zip(keys, stored)])


def circle() -> bytes:
    """A database whose keys are in a branch that leads to itself; it is large enough to be read for a while."""
    branch = struct.pack("<QHHI", 3, _BRANCH, 1, 0) + struct.pack("<IIQ", 16, 0, 3)
    return _meta(0) + _meta(1) + _leaf(2, [(b"key", struct.pack("<QQ", 3, 0), 1)]) + branch.ljust(100 * PAGE, b"\0")


def overlapping() -> bytes:
    """A database whose keys are on a page that shows almost all of itself as the value of each."""
    count, size = 1000, 100 * PAGE
    begin = 16 + count * 16
    elements = b"".join(struct.pack("<IIII", 0, begin - 16 - i * 16, 17, size - begin - 17) for i in range(count))
    branch = struct.pack("<QHHI", 3, _LEAF, count, 99) + elements
    return _meta(0) + _meta(1) + _leaf(2, [(b"key", struct.pack("<QQ", 3, 0), 1)]) + branch.ljust(size, b"\0")


def _leaf(number: int, items: list[tuple[bytes, bytes, int]]) -> bytes:
    elements, content = b"", b""
    for index, (key, value, flags) in enumerate(items):
        position = (len(items) - index) * 16 + len(content)
        elements += struct.pack("<IIII", flags, position, len(key), len(value))
        content += key + value
    whole = elements + content
    pages = -(-(16 + len(whole)) // PAGE)
    return (struct.pack("<QHHI", number, _LEAF, len(items), pages - 1) + whole).ljust(pages * PAGE, b"\0")


def _meta(number: int) -> bytes:
    body = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, PAGE, 0, 2, 0, 0, 4, number)
    checksum = 0xCBF29CE484222325
    for byte in body:
        checksum = ((checksum ^ byte) * 0x100000001B3) & (2**64 - 1)
    page = struct.pack("<QHHI", number, _META, 0, 0) + body + struct.pack("<Q", checksum)
    return page.ljust(PAGE, b"\0")
