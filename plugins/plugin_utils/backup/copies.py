# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backups on the controller: snapshots fetched from machines, and sent back.

They arrive whole or not at all, and are for their owner alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
import time
import typing as t
import zlib

from ...module_utils.common import sealed
from ...module_utils.common.guard import NodeError, sha256_of, sync_directory, write_atomically
from ...module_utils.common.redact import redact
from ...module_utils.common.sealed import SealError
from ...module_utils.common.values import format_time
from ...module_utils.etcd.snapshot import revision
from ...module_utils.etcd.snapshot.transfer import PIECE_BYTES, pack, unpack
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Machine
from ..objects.etcd_member import recorded_cluster
from ..objects.validate.control_plane import managed_etcd
from ..observe.observation import Caller
from ..records.cluster_objects import ClusterObjects
from ..store.file import disk

MODULE = "etcd_snapshot_file"
# Twice what etcd's own documentation calls the largest database.
LARGEST_BYTES = 16 * 1024**3
# What is left free on the controller's disk.
RESERVE_BYTES = 256 * 1024**2
_STAMP = "%Y%m%dT%H%M%SZ"
_STAMPED = r"-(\d{8}T\d{6}Z)(?:-(\d+))?\.(db|json)"
# What the machine says of its snapshot is kept for people, cut to this length.
_TOLD = ("verified_by", "verify_note", "cluster_id", "member_id", "etcd_version")
_TOLD_CHARACTERS = 300


def folder_of(directory: str, namespace: str, cluster: str) -> str:
    """Return the folder of a cluster's backups.

    Names of two clusters never meet.
    """
    return os.path.join(directory, namespace, cluster)


def require_folder(folder: str) -> None:
    """Make a folder for backups, and see that it can be written.

    One that exists stays as it is. It is called before a snapshot is taken for it.

    Raises:
        StoreError: it can't be made or written.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise disk.storage_error(error, folder, "can't keep backups in the folder", "No snapshot was taken.") from error


def fetch(
    caller: Caller,
    machine: Machine,
    snapshot: t.Mapping[str, t.Any],
    folder: str,
    prefix: str,
    authority: bytes = b"",
    now: t.Callable[[], float] = time.time,
) -> str:
    """Fetch a snapshot from a machine and return its path.

    The machine's answers decide neither the copy's name nor its time, and no file that is there is touched: a machine may be an attacker's.

    Args:
        caller: reaches machines.
        machine: the one that keeps it.
        snapshot: the result of etcd_snapshot.
        folder: see :func:`require_folder`.
        prefix: what the copy's name begins with.
        authority: the cluster's CA certificates, PEM; b"" where they aren't known.
        now: the controller's clock.

    Raises:
        ControlPlaneFailure: it did not come whole, or is another cluster's; nothing of it is kept.
    """
    source = os.path.basename(str(snapshot.get("path")))
    moment = now()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _remove_leftovers(folder, prefix)
        path, partial, file = _reserved(folder, f"{prefix}-{time.strftime(_STAMP, time.gmtime(moment))}")
        # Open, and so locked, until it has its name or is removed.
        with file:
            try:
                _receive(caller, machine, snapshot, source, file)
                whole = sha256_of(partial)
                if whole != snapshot.get("sha256"):
                    raise _Wrong("its hash is not the one of what was taken")
                facts = {
                    **{key: str(snapshot[key])[:_TOLD_CHARACTERS] for key in _TOLD if snapshot.get(key) is not None},
                    **_verified(partial, authority),
                    "machine": machine.name,
                    "path": path,
                    "bytes": os.path.getsize(partial),
                    "sha256": whole,
                    "taken_at": format_time(moment),
                }
                write_atomically(_facts_of(path), (json.dumps(facts, indent=2, sort_keys=True) + "\n").encode())
                os.rename(partial, path)
            except BaseException:
                _unlink(partial)
                raise
        sync_directory(folder)
    except (_Wrong, OSError, SealError, zlib.error, ValueError, NodeError) as error:
        raise ControlPlaneFailure(_not_fetched(machine, source, str(error))) from error
    return path


class _Wrong(Exception):
    """Failure: what came is not the snapshot that was taken."""


def _reserved(folder: str, base: str) -> tuple[str, str, t.BinaryIO]:
    """Reserve a free path; return it, with the file for the copy.

    The file, new and empty, reserves the path, and is locked as long as it is open.
    """
    number = 0
    while True:
        name = f"{base}-{number}.db" if number else f"{base}.db"
        path = os.path.join(folder, name)
        partial = _partial_of(path)
        number += 1
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not os.fstat(descriptor).st_nlink:
            # Another run took it for a leftover before it was locked.
            os.close(descriptor)
            continue
        # Looked for while it is reserved: whoever had reserved it before may have just finished.
        if not os.path.lexists(path) and not os.path.lexists(_facts_of(path)):
            return path, partial, os.fdopen(descriptor, "wb")
        os.unlink(partial)
        os.close(descriptor)


def _remove_leftovers(folder: str, prefix: str) -> None:
    """Remove what killed runs received in part.

    No process has it open, so that it isn't locked.
    """
    pattern = re.compile(rf"\.{re.escape(prefix)}{_STAMPED}\.partial")
    for name in filter(pattern.fullmatch, os.listdir(folder)):
        with contextlib.suppress(OSError):
            descriptor = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Between opening and locking it, its run may have given it its name, and another one reserved this one.
                if os.path.samestat(os.fstat(descriptor), os.lstat(os.path.join(folder, name))):
                    os.unlink(os.path.join(folder, name))
            finally:
                os.close(descriptor)


def _receive(caller: Caller, machine: Machine, snapshot: t.Mapping[str, t.Any], source: str, file: t.BinaryIO) -> None:
    size, offset, key = snapshot.get("bytes"), 0, sealed.new_key()
    if not isinstance(size, int):
        raise _Wrong("it is not said how many bytes it has")
    found = os.fstatvfs(file.fileno())
    free = found.f_bavail * found.f_frsize - RESERVE_BYTES
    if not 0 < size <= min(LARGEST_BYTES, free):
        room = (
            f"at most {LARGEST_BYTES} are taken"
            if size > LARGEST_BYTES
            else f"the controller's disk has room for {max(0, free)}"
        )
        raise _Wrong(f"it is said to have {size} bytes, and {room}")
    while offset < size:
        answer = caller.call(machine, MODULE, {"name": source, "offset": offset, "transport_key": key})
        if answer.failed:
            raise _Wrong(redact(answer.message))
        piece = unpack(str(answer.result.get("content")), key)
        # Whole pieces only: a machine could go on with single bytes for years.
        if len(piece) != min(PIECE_BYTES, size - offset):
            raise _Wrong(f"a piece of it has {len(piece)} bytes: the file changed meanwhile")
        file.write(piece)
        offset += len(piece)
    file.flush()
    os.fsync(file.fileno())


def _verified(path: str, authority: bytes) -> dict[str, int]:
    """Return the revision of a verified snapshot. Raises NodeError.

    It is whole, a database of etcd's, and not another cluster's.
    """
    revision.require_whole(path)
    number = revision.revision(path)
    # Where ConfigMaps are encrypted it does not tell.
    if authority and revision.of_cluster(path, authority) is False:
        raise _Wrong("it carries another certificate authority than this cluster's")
    return {"revision": number}


def _partial_of(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.partial")


def _facts_of(path: str) -> str:
    return f"{path[: -len('.db')]}.json"


def _not_fetched(machine: Machine, name: str, why: str) -> str:
    return (
        f"the snapshot {name!r} on machine {machine.name} was not brought home: {why.rstrip('.')}."
        " Nothing of it was kept here, and no older one was removed."
    )


def prune(path: str, prefix: str, keep: int) -> list[str]:
    """Remove the oldest copies beyond ``keep``; return those removed.

    It is called after a new copy.

    Copies that came from the new one's machine and copies that came from others are counted apart: whatever a machine sends, the last
    ones of the others stay.

    Args:
        path: the new one, which stays.
        prefix: what the names of those that count begin with.
        keep: how many.

    Raises:
        ControlPlaneFailure: the folder can't be read, or a copy not be removed.
    """
    try:
        return _prune(path, prefix, keep)
    except OSError as error:
        raise ControlPlaneFailure(
            f"older backups beside {path} could not be removed: {error}. The new one was taken and is there, whole. Free the way to that folder, "
            "then run again: the next backup removes what is too much."
        ) from error


def _prune(path: str, prefix: str, keep: int) -> list[str]:
    folder = os.path.dirname(path)
    pattern = re.compile(re.escape(prefix) + _STAMPED)
    found = [
        (match.group(1), int(match.group(2) or 0), match.string)
        for match in map(pattern.fullmatch, os.listdir(folder))
        if match
    ]
    copies = [os.path.join(folder, name) for _stamp, _number, name in sorted(found) if name.endswith(".db")]
    machine = _machine_of(path)
    same = [each for each in copies if each != path and _machine_of(each) == machine]
    others = [each for each in copies if each != path and each not in same]
    removed = [*same[: max(0, len(same) - max(1, keep) + 1)], *others[: max(0, len(others) - max(1, keep))]]
    for each in removed:
        _unlink(each)
    for _stamp, _number, name in found:
        copy = os.path.join(folder, f"{name[: -len('.json')]}.db")
        # The copy second: another run writes the facts, then gives the copy its name.
        if name.endswith(".json") and not os.path.exists(_partial_of(copy)) and not os.path.exists(copy):
            _unlink(os.path.join(folder, name))
    return sorted(removed)


def _unlink(path: str) -> None:
    # Another run may have removed it: two backups at once count the same copies.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def taken(folder: str) -> list[str]:
    """Return the times of the backups in a folder, oldest first.

    RFC 3339, by their names. [] where there is no such folder.

    Raises:
        OSError: the folder can't be read.
    """
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = [match for match in map(re.compile(".+" + _STAMPED).fullmatch, names) if match and match.group(3) == "db"]
    return sorted(re.sub(r"(....)(..)(..T..)(..)(..Z)", r"\1-\2-\3:\4:\5", match.group(1)) for match in found)


def _machine_of(path: str) -> str:
    """Return the machine that a copy came from, or "".

    "" where the copy has no facts of it.
    """
    try:
        with open(_facts_of(path), encoding="utf-8") as file:
            return str(json.load(file)["machine"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def send(caller: Caller, machine: Machine, path: str) -> str:
    """Send a backup to a machine's snapshot folder; return its name there.

    Sending it again replaces it.

    Raises:
        ControlPlaneFailure: it did not arrive whole; nothing of it is kept there.
    """
    name, key, offset = os.path.basename(path), sealed.new_key(), 0
    whole, size = sha256_of(path), os.path.getsize(path)
    with open(path, "rb") as file:
        while offset < size:
            piece = file.read(PIECE_BYTES)
            call = {"state": "written", "name": name, "offset": offset, "content": pack(piece, key)}
            call["sha256"] = whole if offset + len(piece) >= size else ""
            answer = caller.call(machine, MODULE, {**call, "transport_key": key})
            if answer.failed:
                raise ControlPlaneFailure(
                    f"the backup {path} did not reach machine {machine.name}: {redact(answer.message)}. Nothing was stopped. "
                    "Mend what is named, then run restore again."
                )
            offset += len(piece)
    return str(answer.result["path"])


def said_of_external(objects: ClusterObjects, what: str) -> str:
    """Return the refusal of a cluster with external etcd, "" without.

    A spec can't make an etcd external that is on the machines: that one's data are there.
    """
    if managed_etcd(objects.control_plane or {}) or recorded_cluster(objects.control_plane):
        return ""
    return f"etcd of {objects.title} is external and can't be {what} from here. Nothing was done. Use the tools of the place where it runs."
