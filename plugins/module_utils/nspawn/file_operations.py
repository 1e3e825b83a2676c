# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files: atomic records, locks that a crash releases, cheap copies, thorough removal."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import time
import typing as t

from ..common.guard import write_atomically
from .errors import NspawnError

LOCK_POLL_SECONDS = 0.1


def write_json(path: str, record: t.Mapping[str, t.Any]) -> None:
    """Write a JSON record atomically, readable by its owner alone."""
    write_atomically(path, (json.dumps(record, indent=2, sort_keys=True) + "\n").encode())


def read_json(path: str) -> t.Optional[dict[str, t.Any]]:
    """Return a JSON record, or None where there is none.

    Raises:
        NspawnError: the file is there and isn't a JSON object.
    """
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise NspawnError(
            f"{path} is damaged ({error}). It is written atomically, so something else changed it; remove its folder."
        ) from error
    if not isinstance(record, dict):
        raise NspawnError(f"{path} is damaged: it holds no JSON object. Remove its folder.")
    return record


def put(root: str, path: str, text: str, mode: int = 0o644) -> None:
    """Write a file of an unused root file system.

    ``path`` is absolute inside it.
    """
    target = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode)


def link(root: str, path: str, target: str) -> None:
    """Make a symbolic link in a root file system, replacing another.

    The root file system is not used yet.
    """
    where = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(where), mode=0o755, exist_ok=True)
    if os.path.lexists(where):
        os.unlink(where)
    os.symlink(target, where)


@contextlib.contextmanager
def locked(path: str, timeout: float, waiting: t.Optional[t.Callable[[str], None]] = None) -> t.Iterator[None]:
    """Hold an exclusive lock on a file.

    The kernel releases it when the process ends, however it ends.

    Args:
        path: the lock file; made when missing. Its holder may remove it.
        timeout: seconds to wait for another holder.
        waiting: called once, with a text, when another process holds it.

    Raises:
        NspawnError: the holder didn't let go in time; names its process.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    deadline = time.monotonic() + timeout
    handle = -1
    told = False
    try:
        while True:
            if handle < 0:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if _try_lock(handle):
                if _is_same_file(handle, path):
                    break
                # The holder before us removed the file with what it stood for: whoever comes now locks a new one.
                os.close(handle)
                handle = -1
                continue
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            if waiting and not told:
                waiting(f"waiting for process {holder}, which holds {path}")
                told = True
            if time.monotonic() > deadline:
                raise NspawnError(
                    f"process {holder} still holds {path} after {timeout:.0f} s. Nothing was done. Wait for it, or end it if it hangs; then run again."
                )
            time.sleep(LOCK_POLL_SECONDS)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _is_same_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def link_tree(source: str, target: str, is_mutable: t.Callable[[str], bool]) -> None:
    """Copy a folder; files that never change in place become hard links.

    Args:
        source: an existing folder.
        target: the copy; must not exist.
        is_mutable: told a path relative to ``source``; True asks for a real copy of that file.

    Across file systems and mounts every file is copied.
    """
    for path, folders, names in os.walk(source):
        relative = os.path.relpath(path, source)
        here = os.path.normpath(os.path.join(target, relative))
        _make_like(path, here)
        for name in names + [each for each in folders if os.path.islink(os.path.join(path, each))]:
            origin, copy = os.path.join(path, name), os.path.join(here, name)
            if is_mutable(os.path.normpath(os.path.join(relative, name))) or not _linked(origin, copy):
                shutil.copy2(origin, copy, follow_symlinks=False)


def _linked(origin: str, copy: str) -> bool:
    try:
        os.link(origin, copy, follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def _make_like(origin: str, copy: str) -> None:
    status = os.stat(origin)
    os.mkdir(copy)
    os.chown(copy, status.st_uid, status.st_gid)
    os.chmod(copy, status.st_mode & 0o7777)


def remove_tree(path: str) -> None:
    """Remove a folder and everything below it, if it exists.

    Raises:
        NspawnError: something is still mounted or in use below.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        if os.path.lexists(path):
            shutil.rmtree(path, ignore_errors=True)
    except OSError as error:
        raise NspawnError(
            f"can't remove {path}: {error}. Something still uses it (see `fuser -vm {path}`); end it and run again."
        ) from error


def mounts_below(path: str) -> list[str]:
    """Return the mount points at or below a folder, the deepest first.

    They are those of this mount namespace.
    """
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4].replace("\\040", " ") for line in file]
    return sorted((each for each in points if each == path or each.startswith(f"{path}/")), key=len, reverse=True)


def tail(path: str, lines: int = 20) -> str:
    """Return the last lines of a text file, "" without one."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
