# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Member list in etcd's database file, read without etcd.

An etcd that lost its quorum and was started again answers nothing.
etcd keeps its members in the bucket ``members`` of its bbolt file (3.4 to 3.6: the ID in hexadecimal digits, the member as JSON). The format
of the file is bbolt's version 2 (go.etcd.io/bbolt: page.go, bucket.go, db.go).
"""

from __future__ import annotations

import os
import struct
import typing as t

from ...common.bounded_yaml import read_json
from ...common.guard import NodeError
from ..types import Member, from_hex

_PAGE = struct.Struct("<QHHI")
_META = struct.Struct("<IIIIQQQQQ")
_LEAF = struct.Struct("<IIII")
_BRANCH = struct.Struct("<IIQ")
_BUCKET = struct.Struct("<QQ")
_MAGIC, _VERSION = 0xED0CDAED, 2
_BRANCH_FLAG, _LEAF_FLAG, _META_FLAG = 0x01, 0x02, 0x04
_PAGE_SIZES = (4096, 8192, 16384, 65536, 1024, 2048, 32768)
_MAX_OVERFLOW = 4096
# A tree of a page's smallest fan-out is no higher for any size of a file.
_MAX_HEIGHT = 64
_MAX_PAGE_NUMBER = 1 << 40


def stored_members(path: str) -> tuple[Member, ...]:
    """Return the members that a database file lists, in ID order.

    Nothing must be writing to it.

    Raises:
        NodeError: it can't be read, or is no database of etcd's.
    """
    try:
        with open(path, "rb") as file:
            entries = list(Database(file.fileno()).bucket(b"members"))
        members = [_member(key, value) for key, value in entries]
    except (OSError, struct.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise NodeError(f"etcd's database {path} can't be read: {error}.", "Look at this machine's disk.") from error
    return tuple(sorted(members, key=lambda member: member.id))


def _member(key: bytes, value: bytes) -> Member:
    fields = read_json(value)
    if not isinstance(fields, dict):
        raise ValueError("a member in it is no object")
    identity = from_hex(key.decode("ascii"))
    urls = [tuple(str(url) for url in fields.get(name) or ()) for name in ("peerURLs", "clientURLs")]
    return Member(identity, str(fields.get("name") or ""), urls[0], urls[1], fields.get("isLearner") is True)


class Database:
    """Open bbolt file: its pages, and the buckets at its root.

    Every method raises OSError, struct.error or ValueError where the file is damaged, whatever is in it.
    A file that was made on purpose may lead in circles: no more is read, and no more is
    taken from what was read, than what a file of its size can hold.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Each page once, the root's twice; each key and value once, those of a bucket that is within its parent's page twice.
        self._left = 4 * os.fstat(descriptor).st_size
        metas = [meta for size in _PAGE_SIZES for number in (0, 1) for meta in self._meta(size, number)]
        if not metas:
            raise ValueError("it has no page that states where its data begins")
        _transaction, self._size, self._root = max(metas)

    def bucket(self, name: bytes) -> t.Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values of a bucket at the root.

        None where there is no such bucket.
        """
        for key, value, is_bucket in self._items(self._page(self._root)):
            if is_bucket and key == name:
                root, _sequence = _BUCKET.unpack_from(value)
                page = self._page(root) if root else value[_BUCKET.size :]
                for inner, content, nested in self._items(page):
                    if not nested:
                        yield inner, content

    def last_key(self, name: bytes) -> bytes:
        """Return the last key of a bucket at the root.

        b"" where it is empty or there is none.
        """
        for key, value, is_bucket in self._items(self._page(self._root)):
            if is_bucket and key == name:
                root, _sequence = _BUCKET.unpack_from(value)
                return self._last(self._page(root) if root else value[_BUCKET.size :])
        return b""

    def _last(self, page: bytes, height: int = 0) -> bytes:
        _require_height(height)
        _identity, flags, count, _overflow = _PAGE.unpack_from(page)
        if count == 0:
            return b""
        at = _PAGE.size + (count - 1) * _LEAF.size
        if flags & _BRANCH_FLAG:
            return self._last(self._page(_BRANCH.unpack_from(page, at)[2]), height + 1)
        if not flags & _LEAF_FLAG:
            raise ValueError("a page is neither a branch nor a leaf")
        _kind, position, key_size, _value_size = _LEAF.unpack_from(page, at)
        key = page[at + position : at + position + key_size]
        if len(key) != key_size:
            raise ValueError("a page ends before what it holds")
        return key

    def _meta(self, size: int, number: int) -> t.Iterator[tuple[int, int, int]]:
        page = os.pread(self._descriptor, _PAGE.size + _META.size + 8, size * number)
        if len(page) < _PAGE.size + _META.size + 8:
            return
        _identity, flags, _count, _overflow = _PAGE.unpack_from(page)
        body = page[_PAGE.size : _PAGE.size + _META.size]
        magic, version, page_size, _flags, root, _sequence, _free, _high, transaction = _META.unpack(body)
        (checksum,) = struct.unpack_from("<Q", page, _PAGE.size + _META.size)
        if flags & _META_FLAG and (magic, version, page_size) == (_MAGIC, _VERSION, size) and checksum == _fnv(body):
            yield transaction, size, root

    def _page(self, number: int) -> bytes:
        if number > _MAX_PAGE_NUMBER:
            raise ValueError(f"there is no page {number}")
        head = os.pread(self._descriptor, _PAGE.size, number * self._size)
        identity, _flags, _count, overflow = _PAGE.unpack(head)
        if identity != number or overflow > _MAX_OVERFLOW:
            raise ValueError(f"page {number} is damaged")
        self._count(self._size * (overflow + 1))
        return os.pread(self._descriptor, self._size * (overflow + 1), number * self._size)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("it holds more than a file of its size can")

    def _items(self, page: bytes, height: int = 0) -> t.Iterator[tuple[bytes, bytes, bool]]:
        """Yield the items of a page and those below it.

        Of each the key, the value, and whether that is a bucket.
        """
        _require_height(height)
        _identity, flags, count, _overflow = _PAGE.unpack_from(page)
        for index in range(count):
            at = _PAGE.size + index * _LEAF.size
            if flags & _LEAF_FLAG:
                kind, position, key_size, value_size = _LEAF.unpack_from(page, at)
                begin = at + position
                end = begin + key_size + value_size
                self._count(key_size + value_size)
                if end > len(page):
                    raise ValueError("a page ends before what it holds")
                yield page[begin : begin + key_size], page[begin + key_size : end], bool(kind & 1)
            elif flags & _BRANCH_FLAG:
                _position, _key_size, child = _BRANCH.unpack_from(page, at)
                yield from self._items(self._page(child), height + 1)
            else:
                raise ValueError("a page is neither a branch nor a leaf")


def _require_height(height: int) -> None:
    if height > _MAX_HEIGHT:
        raise ValueError("its pages lead in circles")


def _fnv(data: bytes) -> int:
    """Return the FNV-1a hash, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value
