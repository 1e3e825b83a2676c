# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""File on a machine: its content, mode and owner, or its absence."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import stat
import typing as t
from dataclasses import dataclass

from ...common.guard import NodeError, remedy, sync_directory, write_atomically


@dataclass(frozen=True)
class Wanted:
    """Desired state of a file; ``content`` None is its absence."""

    path: str
    content: t.Optional[bytes]
    mode: int = 0o600
    owner: str = "root"
    group: str = "root"


def bring(wanted: Wanted, *, check: bool = False) -> tuple[bool, str]:
    """Write or delete a file; return whether it changed, and its SHA-256.

    It is written atomically. The SHA-256 is that of its content.

    Raises:
        NodeError: there is no such owner, no such folder, or something else than a file stands there.
    """
    path = wanted.path
    try:
        found: t.Optional[os.stat_result] = os.lstat(path)
    except FileNotFoundError:
        found = None
    except OSError as error:
        raise NodeError(f"{path} can't be examined: {error.strerror}.", remedy(path, error)) from error
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise NodeError(f"{path} is there, and is no file.", "Nothing was written. Look what it is.")
    if wanted.content is None:
        if found is not None and not check:
            try:
                os.unlink(path)
                sync_directory(os.path.dirname(path))
            except OSError as error:
                raise NodeError(
                    f"{path} can't be deleted: {error.strerror}.", remedy(os.path.dirname(path), error)
                ) from error
        return found is not None, ""
    uid, gid = _ids(wanted)
    digest = hashlib.sha256(wanted.content).hexdigest()
    if found is not None and (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (wanted.mode, uid, gid):
        with open(path, "rb") as stream:
            if stream.read() == wanted.content:
                return False, digest
    if not os.path.isdir(os.path.dirname(path)):
        raise NodeError(f"{path}: there is no folder {os.path.dirname(path)}.", "Nothing was written. Make it first.")
    if not check:
        try:
            write_atomically(path, wanted.content, wanted.mode, uid, gid)
        except OSError as error:
            raise NodeError(
                f"{path} can't be written: {error.strerror}.", remedy(os.path.dirname(path), error)
            ) from error
    return True, digest


def _ids(wanted: Wanted) -> tuple[int, int]:
    try:
        return pwd.getpwnam(wanted.owner).pw_uid, grp.getgrnam(wanted.group).gr_gid
    except KeyError as error:
        who = f"{wanted.owner}:{wanted.group}"
        raise NodeError(
            f"{wanted.path}: there is no {who} on this machine ({error}).",
            "Nothing was written. Name others, or add them.",
        ) from error
