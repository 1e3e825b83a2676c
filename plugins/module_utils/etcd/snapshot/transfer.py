# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfer of snapshots between node and controller, in sealed pieces.

The pieces are compressed too; sealed, so that no output of Ansible's shows a Secret.
"""

from __future__ import annotations

import os
import re
import time
import typing as t
import zlib

from ...common.guard import NodeError, exclusive, remedy, sha256_of, sync_directory
from ...common.sealed import SealError, seal, unseal
from .take import DIRECTORY, matches_its_hash, remove_leftovers

PIECE_BYTES = 8 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,250}\.db")


def path_of(name: str, directory: str = DIRECTORY) -> str:
    """Return a snapshot's path from its file name.

    Raises NodeError for what can't be the name of one: nothing else is ever read or written.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise NodeError(
            f"{name!r} is no name of a snapshot's file.",
            "Give one of letters, digits, '.', '_' and '-' that ends with .db.",
        )
    return os.path.join(directory, name)


def read_piece(name: str, offset: int, key: str, directory: str = DIRECTORY) -> dict[str, t.Any]:
    """Return one piece of a snapshot, sealed.

    ``content`` (sealed), ``bytes`` of the whole file and the ``next`` offset.

    Raises:
        NodeError: there is no such snapshot, or the key is none.
    """
    path = path_of(name, directory)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            piece = file.read(PIECE_BYTES)
        return {"content": pack(piece, key), "bytes": size, "next": offset + len(piece)}
    except OSError as error:
        raise NodeError(f"{path} can't be read: {error.strerror or error}.", remedy(path, error)) from error
    except SealError as error:
        raise NodeError(f"{error}.", "Send it again.") from error


def write_piece(name: str, offset: int, content: str, key: str, sha256: str, directory: str = DIRECTORY) -> bool:
    """Write one piece of a snapshot; return whether it was the last.

    With ``sha256``, the hash of the whole, it is the last and the file gets its name.

    Raises:
        NodeError: the piece is not the next one, was changed on its way, or the whole is not what it should be; nothing
            of it is kept.
    """
    path = path_of(name, directory)
    partial = f"{path}.partial"
    try:
        piece = unpack(content, key)
    except (SealError, zlib.error) as error:
        raise NodeError(f"{error}.", "Nothing was written. Send it again.") from error
    with exclusive(directory):
        if offset == 0:
            remove_leftovers(directory, time.time())
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if offset == 0 else 0)
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != offset:
                raise NodeError(f"{partial} has {size} bytes, and the piece begins at {offset}.", "Begin again.")
            file.seek(offset)
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if not sha256:
            return False
        if sha256_of(partial) != sha256 or not matches_its_hash(partial):
            os.unlink(partial)
            raise NodeError(f"{path} did not come whole: its hash is not the one of what was sent.", "Send it again.")
        os.rename(partial, path)
        sync_directory(directory)
        return True


def pack(piece: bytes, key: str) -> str:
    """Return a piece compressed and sealed. Raises SealError."""
    return seal(key, zlib.compress(piece, 1))


def unpack(content: str, key: str) -> bytes:
    """Return an unpacked piece, at most PIECE_BYTES.

    Raises SealError, also for more than that, and zlib.error.
    """
    # What doesn't compress grows a little; base64 makes four characters of three bytes.
    if len(content) > PIECE_BYTES * 3 // 2 + 4096:
        raise SealError(f"a piece is larger than {PIECE_BYTES} bytes")
    inflater = zlib.decompressobj()
    piece = inflater.decompress(unseal(key, content), PIECE_BYTES + 1)
    if len(piece) > PIECE_BYTES:
        raise SealError(f"a piece is larger than {PIECE_BYTES} bytes")
    if not inflater.eof or inflater.unused_data:
        raise SealError("a piece did not come whole")
    return piece
