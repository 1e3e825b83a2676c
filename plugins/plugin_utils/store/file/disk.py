# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Disk access of the store: durable, atomic changes of all its files.

Every change of the store's files, journal and locks on disk passes through this module.

A file is complete or not there at all, whenever the process or the machine stops: temporary file in the same folder,
fsync, rename (or link, where it must be exclusive), fsync of the folder. Every failure of the disk becomes a
:class:`StoreError` that names the path, the reason, its consequence and the remedy.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
import typing as t
import uuid

from ....module_utils.common import settings
from ..base import StoreError

TEMPORARY_PREFIX = ".tmp-"
LOCK_POLL_SECONDS = 0.02
SECRET_FILE_MODE = 0o600
SECRET_FOLDER_MODE = 0o700
# Nearly every object's file is smaller.
_GLANCE_BYTES = 64 * 1024

_FIXES = {
    errno.EROFS: "Mount that file system read-write, or give the store another directory; then run again.",
    errno.EACCES: "Run as the user who owns the store, or give this user the right to write there; then run again.",
    errno.EPERM: "Run as the user who owns the store, or give this user the right to write there; then run again.",
    errno.ENOSPC: "Free space or inodes on that file system (df -h and df -i show both); then run again.",
    errno.EDQUOT: "Raise the disk quota or free space in it; then run again.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.ENOENT: "Check that the directory is still there (mounted, not removed meanwhile); then run again.",
}


def storage_error(error: OSError, path: str, doing: str, consequence: str) -> StoreError:
    """Return the error for a failed system call on ``path``.

    It states the path, the system's message, the consequence and the remedy.
    """
    code = errno.errorcode.get(error.errno or 0, "unknown error")
    why = f"{os.strerror(error.errno) if error.errno else error} ({code})"
    fix = _FIXES.get(error.errno or 0, "Check that file system's health; then run again.")
    return StoreError(doing, path, why, f"{consequence} {fix}")


def write_file(path: str, data: bytes, mode: int) -> None:
    """Write a whole file atomically and durably.

    ``mode`` is exact, whatever the umask.
    """
    folder = os.path.dirname(path)
    with _reporting(path, "can't write the file", "Nothing is half-written: the file is as it was before."):
        temporary = _write_temporary(folder, data, mode)
        try:
            os.replace(temporary, path)
        except OSError:
            _forget(temporary)
            raise
    _sync_folder(folder, path)


def write_file_exclusively(path: str, data: bytes, mode: int) -> bool:
    """Write a file atomically unless it exists; return whether it was written.

    Only one caller ever gets True.
    """
    folder = os.path.dirname(path)
    with _reporting(path, "can't write the file", "Nothing is half-written: the file does not exist."):
        temporary = _write_temporary(folder, data, mode)
        try:
            os.link(temporary, path)
        except (FileExistsError, FileNotFoundError):
            # Not found: where the file system has no working locks, a faster one took this for a leftover.
            return False
        finally:
            _forget(temporary)
    _sync_folder(folder, path)
    return True


def append_line(path: str, line: bytes, mode: int) -> None:
    """Append one line durably.

    A torn last line, whose write was never confirmed, is cut off first.

    The caller holds the lock that keeps other writers away.
    """
    with _reporting(path, "can't append to the file", "The file holds its earlier lines, whole, and not this one."):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        try:
            size = _whole_lines_size(descriptor)
            os.ftruncate(descriptor, size)
            try:
                _write_all(descriptor, line, size)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)
    if size == 0:
        _sync_folder(os.path.dirname(path), path)


def rename_file(source: str, target: str) -> bool:
    """Rename a file durably and return whether it existed."""
    with _reporting(source, "can't rename the file", "It has its old name."):
        try:
            os.rename(source, target)
        except FileNotFoundError:
            return False
    _sync_folder(os.path.dirname(target), target)
    return True


def remove_file(path: str) -> bool:
    """Remove a file durably and return whether it existed."""
    with _reporting(path, "can't remove the file", "It is still there, whole."):
        try:
            os.remove(path)
        except FileNotFoundError:
            return False
    _sync_folder(os.path.dirname(path), path)
    return True


def make_folder(path: str, mode: int) -> None:
    """Make one folder with exactly ``mode`` unless it exists.

    Its parent must exist.
    """
    if os.path.isdir(path):
        return
    with _reporting(path, "can't make the folder", "Nothing was written."):
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
            return
        os.chmod(path, mode)
    _sync_folder(os.path.dirname(path), path)


def is_anothers(path: str, labels: t.Mapping[str, str]) -> bool:
    """Return whether an object's file has other values of these labels.

    The file is not parsed as YAML: a fleet has thousands of them, and one may be damaged. A file in which such a label
    doesn't occur at all may be damaged, too; for it the result is False.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False  # whoever reads it says why
    try:
        raw = os.read(descriptor, _GLANCE_BYTES)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return len(raw) < _GLANCE_BYTES and any(
        key.encode() in raw and value.encode() not in raw for key, value in labels.items()
    )


def read_file(path: str) -> bytes | None:
    """Return a file's content, or None where there is none."""
    with _reporting(path, "can't read the file", "Nothing was changed."):
        try:
            with open(path, "rb") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None


def names_in(folder: str) -> list[str]:
    """Return the sorted names in a folder, without temporary files.

    There are none where there is no folder.
    """
    with _reporting(folder, "can't read the folder", "Nothing was changed."):
        try:
            return sorted(name for name in os.listdir(folder) if not name.startswith(TEMPORARY_PREFIX))
        except (FileNotFoundError, NotADirectoryError):
            return []


def remove_leftovers(folder: str) -> None:
    """Remove temporary files that killed processes left.

    The caller's lock keeps other writers away.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(TEMPORARY_PREFIX):
                _forget(os.path.join(folder, name))


@contextlib.contextmanager
def locked(path: str, wait_seconds: float = settings.STORE_WRITE_SECONDS) -> t.Iterator[None]:
    """Hold an advisory lock on a file of its own.

    The system releases it when the process ends, however it ends.

    Not re-entrant. Raises :class:`StoreError` after ``wait_seconds``.
    """
    with _reporting(path, "can't open the lock file", "Nothing was written."):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, SECRET_FILE_MODE)
    try:
        _lock(descriptor, path, wait_seconds)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: str, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise StoreError(
                    "the store is busy",
                    path,
                    f"another process has been writing for more than {wait_seconds:.0f} s",
                    f"Nothing was written. See who it is with: fuser -v {path}; then run again.",
                ) from error
        except OSError as error:
            raise storage_error(error, path, "can't lock the file", "Nothing was written.") from error
        time.sleep(LOCK_POLL_SECONDS)


@contextlib.contextmanager
def _reporting(path: str, doing: str, consequence: str) -> t.Iterator[None]:
    try:
        yield
    except OSError as error:
        raise storage_error(error, path, doing, consequence) from error


def _write_temporary(folder: str, data: bytes, mode: int) -> str:
    path = os.path.join(folder, f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_FILE_MODE)
        try:
            os.fchmod(descriptor, mode)
            _write_all(descriptor, data, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        _forget(path)
        raise
    return path


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(descriptor, data[written:], offset + written)


def _whole_lines_size(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    while size > 0:
        start = max(0, size - 65536)
        end = os.pread(descriptor, size - start, start).rfind(b"\n")
        if end >= 0:
            return start + end + 1
        size = start
    return 0


def _sync_folder(folder: str, path: str) -> None:
    doing = "can't make the change of the file durable"
    with _reporting(path, doing, "The change is in place but may not survive a power cut."):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _forget(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)
