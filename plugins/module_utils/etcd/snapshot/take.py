# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots of etcd on a node: taken, verified, then named.

They are taken from the local member. A ``.db`` in the folder is whole and was verified, whatever was killed when; its
facts are in the ``.json`` beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import typing as t
from dataclasses import dataclass, field, replace

from ...common import guard, settings
from ...common.guard import STATE_DIRECTORY, NodeError, exclusive, write_atomically
from ...common.https import Unreachable
from ...common.values import format_time, read_moment
from ..gateway import Gateway
from ..types import EtcdError, Snapshot, Status, to_hex
from .tool import NoTool, Tool, ToolSource, release

DIRECTORY = f"{STATE_DIRECTORY}/etcd-snapshots"
RESTORE, HASH = "restore", "hash"
# A restore writes the database once more, and a log whose file is allocated whole (64 MB); etcd itself must not run full.
_RESERVE_BYTES = 256 * 1024 * 1024
_SHA256_BYTES = 32
_CHUNK = 1024 * 1024
_WORK = ".work"
_PARTIAL = ".db.partial"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")
_STAMP = r"-(\d{8}T\d{6}Z)(?:-(\d+))?\.(db|json)"
_FILE_TIME = "%Y%m%dT%H%M%SZ"


class SnapshotError(Exception):
    """Snapshot that was not kept.

    ``reason`` is a stable name: NotReachable, WrongCluster, NoLeader, MemberCorrupt, NoSpace, NotWhole, NotRestorable.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.fields: dict[str, t.Any] = {"reason": reason}


@dataclass(frozen=True)
class Wanted:
    """Desired snapshot.

    Args:
        name: what its file's name begins with; ``keep`` counts those of the same name.
        directory: where it is kept.
        keep: how many, this one included.
        verify: RESTORE (by etcd's own tool, where there is one) or HASH.
        max_age: seconds; one that is not older is taken instead. 0: always a new one.
        cluster_id: the etcd cluster that is meant; another is refused.
        purpose: what it is taken for, kept with its facts; one that was taken for something else is not taken instead.
        require_leader: a member that knows of no leader is refused.
    """

    name: str
    directory: str = DIRECTORY
    keep: int = 5
    verify: str = RESTORE
    max_age: int = 0
    cluster_id: t.Optional[int] = None
    purpose: str = ""
    require_leader: bool = False


@dataclass(frozen=True)
class Kept:
    """Snapshot that is kept on the node.

    ``sha256`` is of the whole file. ``verified_by`` is etcdutl, etcdctl or hash; with the latter ``note`` says why no
    tool checked it, and ``revision`` is not known. ``taken_at`` is RFC 3339.
    """

    path: str
    taken_at: str
    size: int
    sha256: str
    verified_by: str
    note: str
    revision: t.Optional[int]
    cluster_id: str
    member_id: str
    etcd_version: str
    verify: str
    purpose: str = ""

    def document(self) -> dict[str, t.Any]:
        """Return it with the names of its JSON file and module result."""
        return {
            "path": self.path,
            "taken_at": self.taken_at,
            "bytes": self.size,
            "sha256": self.sha256,
            "verified_by": self.verified_by,
            "verify_note": self.note,
            "revision": self.revision,
            "cluster_id": self.cluster_id,
            "member_id": self.member_id,
            "etcd_version": self.etcd_version,
            "purpose": self.purpose,
        }


@dataclass(frozen=True)
class Taken:
    """Result of taking a snapshot.

    ``kept`` is None in check mode, where ``path`` is the file that would be; ``removed`` are old files.
    """

    changed: bool
    path: str
    kept: t.Optional[Kept]
    removed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def take(
    gateway: Gateway,
    wanted: Wanted,
    tool: ToolSource,
    *,
    now: t.Callable[[], float] = time.time,
    check: bool = False,
    before_change: t.Callable[[], None] = lambda: None,
) -> Taken:
    """Take a member's snapshot, verify and keep it, and remove old ones.

    The member is the one that ``gateway`` asks; the oldest beyond ``keep`` are removed.
    It needs no quorum: it is what this member has applied. Nothing old is removed before the new one is verified, and
    nothing is left of one that is not.

    Raises:
        SnapshotError: refused, or not whole. NodeError: a name that can't be, or what ``before_change`` raises.
    """
    if not _NAME.fullmatch(wanted.name):
        raise NodeError(
            f"name {wanted.name!r} can't begin a file's name: letters, digits, '.', '_' and '-', at most 200."
        )
    status = _status(gateway, wanted)
    stamp = now()
    path = _new_path(wanted, stamp)
    if check:
        _require_space(status, wanted.directory)
        return Taken(True, path, None, warnings=_warnings(status))
    before_change()
    with exclusive(wanted.directory):
        work = os.path.join(wanted.directory, _WORK)
        remove_leftovers(wanted.directory, stamp)
        found = _recent(wanted, status, stamp)
        if found is not None:
            return Taken(False, found.path, found)
        _require_space(status, wanted.directory)
        os.mkdir(work, 0o700)
        try:
            path = _new_path(wanted, stamp)
            saved = _save(gateway, os.path.join(work, "snapshot.db"))
            kept = _verified(saved, wanted, tool, work)
            kept = replace(kept, path=path, taken_at=format_time(stamp))
            kept = replace(
                kept, cluster_id=to_hex(status.cluster_id), etcd_version=status.version, purpose=wanted.purpose
            )
            document = {**kept.document(), "verify": kept.verify}
            write_atomically(_facts(path), (json.dumps(document, indent=2, sort_keys=True) + "\n").encode())
            os.rename(saved.path, path)
            guard.sync_directory(wanted.directory)
        finally:
            _clean(work)
        return Taken(True, path, kept, _prune(wanted, path), _warnings(status))


def remove_leftovers(directory: str, now: float) -> None:
    """Remove what killed calls left in a folder of snapshots.

    The caller holds the folder's lock, so that nothing is taken meanwhile. A transfer holds it for each piece alone, and is left where it added one
    lately.
    """
    _clean(os.path.join(directory, _WORK))
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if name.endswith(_PARTIAL) and now - os.lstat(path).st_mtime > settings.TRANSFER_SILENCE_SECONDS:
            os.unlink(path)


def matches_its_hash(path: str) -> bool:
    """Return whether a snapshot file ends with its own SHA-256.

    That is the hash of what is before it, as etcd wrote it.
    """
    size = os.path.getsize(path) - _SHA256_BYTES
    if size < 0:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        left = size
        while left > 0:
            chunk = file.read(min(_CHUNK, left))
            if not chunk:
                return False
            digest.update(chunk)
            left -= len(chunk)
        return file.read() == digest.digest()


def _status(gateway: Gateway, wanted: Wanted) -> Status:
    try:
        status = gateway.status()
    except (EtcdError, Unreachable) as error:
        raise SnapshotError(
            "NotReachable",
            f"this node's etcd member gave no status: {error}. No snapshot was taken; take it on another node.",
        ) from error
    if wanted.cluster_id is not None and status.cluster_id != wanted.cluster_id:
        raise SnapshotError(
            "WrongCluster",
            f"this is the etcd cluster {to_hex(status.cluster_id)}, but {to_hex(wanted.cluster_id)} is meant."
            " No snapshot was taken.",
        )
    if wanted.require_leader and not status.leader:
        raise SnapshotError(
            "NoLeader",
            "this node's etcd member knows of no leader: its snapshot may lack what the others have written since it lost them."
            " No snapshot was taken; take it on another node.",
        )
    # Every member repeats every alarm, also those of others; one that names no member may mean this one. The list of
    # alarms would need a quorum.
    own = [re.match(rf"(memberID:{status.member_id} +)?alarm:CORRUPT", text) for text in status.errors]
    if any(own):
        named = any(each and each[1] for each in own)
        raise SnapshotError(
            "MemberCorrupt",
            f"etcd member {to_hex(status.member_id)} has the alarm CORRUPT: what it holds is not to be relied on."
            " No snapshot was taken; take it on another node."
            if named
            else "etcd has the alarm CORRUPT, which names no member: what this one holds is not to be relied on."
            " No snapshot was taken; remove the member that differs, if it is still there, and disarm the alarm first (docs/standalone_modules.md).",
        )
    return status


def _warnings(status: Status) -> list[str]:
    if status.leader:
        return []
    return [
        "This etcd member knows of no leader: the snapshot may lack what the others have written since it lost them."
    ]


def _require_space(status: Status, directory: str) -> None:
    there = directory
    while not os.path.isdir(there):
        there = os.path.dirname(there) or "/"
    found = os.statvfs(there)
    free = found.f_bavail * found.f_frsize
    needed = 2 * status.db_size + _RESERVE_BYTES
    if free < needed:
        mega = 1024 * 1024
        raise SnapshotError(
            "NoSpace",
            f"{directory} has {free // mega} MiB free, but a snapshot of {status.db_size // mega} MiB, and its restore to"
            f" verify it, need {needed // mega} MiB: etcd itself must not run out of space. No snapshot was taken."
            " Free some space, or give another directory.",
        )


def _save(gateway: Gateway, path: str) -> Snapshot:
    try:
        return gateway.snapshot_save(path)
    except (EtcdError, Unreachable) as error:
        raise SnapshotError("NotWhole", f"the snapshot did not come whole: {error}. Nothing of it was kept.") from error
    except OSError as error:
        raise SnapshotError("NoSpace", f"the snapshot can't be written: {error}. Nothing of it was kept.") from error


def _verified(saved: Snapshot, wanted: Wanted, tool: ToolSource, work: str) -> Kept:
    kept = Kept(
        saved.path, "", saved.size, saved.sha256, HASH, "", None, "", to_hex(saved.member_id), "", wanted.verify
    )
    if not matches_its_hash(saved.path):
        raise SnapshotError(
            "NotWhole", "what was written to the disk is not what came: look at the disk. Nothing was kept."
        )
    if wanted.verify == HASH:
        return replace(kept, note="only the hash was asked for")
    try:
        with tool(work) as found:
            return _restored(kept, found, work)
    except NoTool as error:
        return replace(kept, note=f"only its hash was verified: {error}")


def _restored(kept: Kept, tool: Tool, work: str) -> Kept:
    inside = f"{tool.inside}/{os.path.basename(kept.path)}"
    restore = tool.run("snapshot", "restore", inside, "--data-dir", f"{tool.inside}/restored")
    status = tool.run("snapshot", "status", inside, "--write-out", "json")
    try:
        facts = json.loads(status.stdout) if status.returncode == 0 else {}
        revision = int(facts["revision"])
    except (ValueError, KeyError, TypeError):
        revision = -1
    there = os.path.isfile(os.path.join(work, "restored", "member", "snap", "db"))
    if restore.returncode != 0 or not there or revision < 0:
        said = (restore.stderr if restore.returncode != 0 else status.stderr or status.stdout).strip()[-600:]
        raise SnapshotError(
            "NotRestorable",
            f"{tool.name} could not restore the snapshot ({said or 'it left no data'}). Nothing of it was kept. If it is"
            " so again, this member's database is damaged: take the snapshot on another node.",
        )
    return replace(kept, verified_by=tool.name, revision=revision)


def _new_path(wanted: Wanted, stamp: float) -> str:
    base = os.path.join(wanted.directory, f"{wanted.name}-{time.strftime(_FILE_TIME, time.gmtime(stamp))}")
    path, number = f"{base}.db", 1
    while os.path.exists(path):
        path, number = f"{base}-{number}.db", number + 1
    return path


def _facts(path: str) -> str:
    return f"{path[: -len('.db')]}.json"


def _all(wanted: Wanted, suffix: str = "db") -> list[str]:
    """Return the files of the name, oldest first."""
    pattern = re.compile(re.escape(wanted.name) + _STAMP)
    found = []
    for name in os.listdir(wanted.directory):
        match = pattern.fullmatch(name)
        if match and match.group(3) == suffix:
            found.append((match.group(1), int(match.group(2) or 0), os.path.join(wanted.directory, name)))
    return [path for _stamp, _number, path in sorted(found)]


def _recent(wanted: Wanted, status: Status, now: float) -> t.Optional[Kept]:
    """Return the newest snapshot of the name and purpose if it fits.

    Else None. Its age is by the node's clock.
    """
    for path in reversed(_all(wanted) if wanted.max_age > 0 else []):
        try:
            with open(_facts(path), encoding="utf-8") as file:
                facts = json.load(file)
            # Whoever names no purpose is served by any.
            if wanted.purpose not in ("", facts.get("purpose", "")):
                continue
            age = now - read_moment(facts["taken_at"]).timestamp()
            strong = facts["verify"] == wanted.verify or facts["verified_by"] != HASH
            fits = facts["cluster_id"] == to_hex(status.cluster_id) and facts["bytes"] == os.path.getsize(path)
            if 0 <= age <= wanted.max_age and strong and fits and matches_its_hash(path):
                given = {name: facts[name] for name in ("taken_at", "sha256", "verified_by", "revision", "verify")}
                more = {name: facts[name] for name in ("cluster_id", "member_id", "etcd_version")}
                more["purpose"] = facts.get("purpose", "")
                return Kept(path=path, size=facts["bytes"], note=facts["verify_note"], **given, **more)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return None
    return None


def _prune(wanted: Wanted, new: str) -> list[str]:
    # By name, the new one is not the newest where the node's clock was once ahead.
    others = [path for path in _all(wanted) if path != new]
    old = others[: max(0, len(others) + 1 - max(1, wanted.keep))]
    for path in old:
        os.unlink(path)
    # A call that was killed between the two leaves facts without a snapshot.
    for facts in _all(wanted, "json"):
        if not os.path.exists(f"{facts[: -len('.json')]}.db"):
            os.unlink(facts)
    return old


def _clean(work: str) -> None:
    release(work)
    if os.path.isdir(work):
        shutil.rmtree(work)
