# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Systemd unit of the restore, and the fence of this machine's etcd.

The restore of from_snapshot.py is started once, as a transient unit. The fence stops etcd of a machine so that it can't
come back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ...common import guard, systemd_units
from ...common.guard import NodeError
from ...common.quorum import Figures
from ...common.values import now_rfc3339
from ..data_dir import etcd_data
from ..local import Membership, flagged, membership, stored_membership
from ..snapshot.revision import verified, verified_data
from ..types import to_hex
from .from_snapshot import STATIC_PODS, Restore, aside, member_identity, take_manifests_away
from .recorded_unit import ABSENT, CONTINUES, INTERRUPTED, RUNNING, RecordedUnit, Report, files_in_words
from .single_voter import FAILED, STARTED, SUCCEEDED, stamp
from .task_files import RESTORE_FOLDER

FENCED = "fenced"
# The restored database, and a log whose file is allocated whole (64 MB); what is there already stays.
_RESERVE_BYTES = 256 * 1024 * 1024


class RestoreError(NodeError):
    """Refused restore or fence.

    ``reason`` is a stable name: QuorumWorks, OthersAlive, NoEtcd, NoSpace, UnderWay, OtherMember.
    """

    def __init__(self, reason: str, what: str, fix: str = "") -> None:
        super().__init__(what, fix)
        self.reason = reason
        self.fields = {"reason": reason}


@dataclass(frozen=True)
class Wanted:
    """Desired restore: a snapshot file and its revision.

    A file on this machine ("": this machine's own data) of exactly that revision.
    ``replace_working``: also where etcd has its quorum and nothing had to be restored.
    """

    snapshot: str
    revision: int
    replace_working: bool = False


@dataclass
class Unit(RecordedUnit):
    """Systemd unit of this machine's restore."""

    PROGRAM = "etcd.restore.from_snapshot"
    DESCRIPTION = "restore etcd from a snapshot"
    restore: Restore = field(default_factory=Restore)

    @property
    def work(self) -> Restore:
        """The restore."""
        return self.restore

    def unit_name(self, record: t.Mapping[str, t.Any]) -> str:
        """Return the unit's name, the same for every restore.

        A machine has one restore at a time.
        """
        return systemd_units.RESTORE

    def document(self, report: Report) -> dict[str, t.Any]:
        """Return a report with JSON names."""
        texts = report.texts("stage", "message", "snapshot", "startedAt", "finishedAt", "dataBefore", "restoredBy")
        return {**texts, "revision": int(report.record.get("revision") or 0)}

    def start(self, wanted: Wanted, *, check: bool = False) -> tuple[Report, bool]:
        """Start or resume the restore.

        Returns its report, and whether this call started anything.

        Raises:
            RestoreError, ContentsError, NodeError: refused; nothing was changed.
        """
        with contextlib.nullcontext() if check else guard.exclusive(self.restore.places.state):
            report = self.look()
            same = (report.record.get("snapshot"), report.record.get("revision")) == (wanted.snapshot, wanted.revision)
            if report.state == INTERRUPTED or (same and report.state == SUCCEEDED):
                self._require_own(report.record)
            if report.state in (RUNNING, INTERRUPTED) and not same:
                raise RestoreError(
                    "UnderWay",
                    f"A restore of {report.record['snapshot'] or 'the data of this machine'} (revision {report.record['revision']})"
                    f" is under way on this machine ({report.state}).",
                    "Let it end first.",
                )
            if same and report.state in (RUNNING, SUCCEEDED):
                return report, False
            if report.state == INTERRUPTED:
                return self.run(dict(report.record), check), True
            # Fitness first: a caller that can stop the others learns in check mode that it would stop them in vain.
            with files_in_words():
                self._refuse_unfit(wanted)
            self.refuse_alive(wanted.replace_working)
            return self._begin(wanted, check), True

    def _require_own(self, record: t.Mapping[str, t.Any]) -> None:
        """Refuse to resume or report a restore of another member.

        It is from an earlier use of this machine.
        """
        texts = [
            guard.read_text(path)
            for path in (os.path.join(str(record["folder"]), "manifests", "etcd.yaml"), _manifest(self.restore))
        ]
        if not all(texts):
            return
        recorded, own = map(member_identity, texts)
        if recorded != own:
            raise RestoreError(
                "OtherMember",
                f"{self.restore.places.record} is of a restore of the etcd member {' at '.join(recorded)}, and this machine's is {' at '.join(own)}.",
                f"Nothing was changed. It is of an earlier use of this machine: delete that file and {record['folder']}, and run again.",
            )

    def refuse_alive(self, replace_working: bool) -> None:
        """Refuse if etcd has its quorum, or another member is alive.

        Another member could be one of a quorum that this machine can't see.
        ``replace_working`` allows a working quorum.

        Raises:
            RestoreError: QuorumWorks, OthersAlive.
        """
        seen = self.seen()
        if seen is None:
            return
        if seen.answered and seen.leader and not replace_working:
            raise RestoreError(
                "QuorumWorks",
                f"etcd has its quorum: member {to_hex(seen.own)} knows the leader {to_hex(seen.leader)} ({_figures(seen, 0)}).",
                "Nothing was changed. What etcd holds would be lost for what the snapshot holds; if that is meant, set replace_working.",
            )
        listening = self.listening(seen)
        for member in seen.members:
            where = listening.get(member.id, "")
            if where:
                raise RestoreError(
                    "OthersAlive",
                    f"The etcd member {member.name or member.hex_id} listens at {where}: it is not lost, and beside what is restored"
                    f" here it could continue as a second cluster ({_figures(seen, 1)}).",
                    "Nothing was changed. Stop it first (state=stopped on its machine), or cut its machine's power.",
                )

    def listening(self, seen: Membership) -> dict[int, str]:
        """Return each other member's listening address, "" for none.

        By the member's ID. All are asked at once, for a dead one takes its time.
        """
        others = [member.id for member in seen.members if member.id != seen.own]
        with ThreadPoolExecutor(max_workers=max(1, len(others))) as pool:
            return dict(zip(others, pool.map(lambda each: self.restore.listens(seen.addresses(each)), others)))

    def seen(self) -> t.Optional[Membership]:
        """Return this machine's etcd membership, None if it can't be read."""
        try:
            return self.membership()
        except NodeError:
            return None

    def membership(self) -> Membership:
        """Return this machine's etcd membership.

        Of a machine that was fenced, the membership that its data holds.

        Raises:
            NodeError: it can't be read.
        """
        try:
            return membership(self.restore.places)
        except NodeError:
            if os.path.exists(self.restore.places.manifest):
                raise
            return stored_membership(*own_data(self.restore))

    def _refuse_unfit(self, wanted: Wanted) -> None:
        places = self.restore.places
        manifest = guard.read_text(_manifest(self.restore))
        if not manifest or flagged(manifest):
            raise RestoreError(
                "NoEtcd",
                f"{places.manifest} is missing or starts etcd with --force-new-cluster: no etcd of kubeadm's runs on this machine.",
                "Nothing was changed. Choose a machine with an etcd of kubeadm's, or put its manifest back.",
            )
        data = etcd_data(manifest)
        path = wanted.snapshot or os.path.join(own_data(self.restore)[1], "snap", "db")
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        disk = os.statvfs(data)
        free, needed = disk.f_bavail * disk.f_frsize, 2 * size + _RESERVE_BYTES
        if free < needed:
            raise RestoreError(
                "NoSpace",
                f"Restoring {size >> 20} MiB needs {needed >> 20} MiB in {data}, and {free >> 20} MiB are free.",
                "Nothing was changed. Make room first.",
            )
        # The data is verified again as the snapshot that is made of it when etcd has stopped.
        fit = verified if wanted.snapshot else verified_data
        with open(places.cluster_ca, "rb") as file:
            fit(path, file.read(), wanted.revision)

    def _begin(self, wanted: Wanted, check: bool) -> Report:
        begun = now_rfc3339()
        token = f"restored-{stamp(begun)}"
        folder = os.path.join(self.restore.places.state, RESTORE_FOLDER, token)
        record = {
            "state": STARTED,
            "snapshot": wanted.snapshot,
            "revision": wanted.revision,
            "token": token,
            "folder": folder,
            "done": [],
            "stage": "start",
            "message": "",
            "startedAt": begun,
        }
        if not check:
            with files_in_words(CONTINUES):
                os.makedirs(folder, mode=0o700, exist_ok=True)
                unfence(self.restore)
                self.restore.write(record)
        return self.run(record, check)


def fence_folder(restore: Restore) -> str:
    """Return the folder that keeps a fenced machine's manifests."""
    return os.path.join(restore.places.state, RESTORE_FOLDER, FENCED)


def _manifest(restore: Restore) -> str:
    """Return the path of etcd's manifest, which the fence may keep."""
    if os.path.exists(restore.places.manifest):
        return restore.places.manifest
    return os.path.join(fence_folder(restore), "manifests", "etcd.yaml")


def own_data(restore: Restore) -> tuple[str, str]:
    """Return etcd's manifest and its data's folder ``member``.

    Both are this machine's, also where the fence keeps them.

    Raises:
        NodeError: there is no manifest, or it names no data.
    """
    manifest = guard.read_text(_manifest(restore))
    data = etcd_data(manifest)
    member = os.path.join(data, "member")
    fenced = not os.path.exists(restore.places.manifest) and not os.path.isdir(member)
    return manifest, (_fenced_data(data) or member) if fenced else member


def _fenced_data(data: str) -> str:
    """Return the folder with the data of the last fence.

    "" where there is none.
    """
    first = aside(data, FENCED)
    names = os.listdir(data) if os.path.isdir(data) else []
    # Those of later fences have a time behind the name.
    found = [os.path.join(data, name) for name in names if name.startswith(os.path.basename(first))]
    return max(found, default="")


def fence(
    restore: Restore,
    *,
    replace_working: bool = False,
    check: bool = False,
    end_bootstrap: t.Callable[[bool], bool] = lambda _check: False,
) -> tuple[bool, str]:
    """Stop this machine's control plane so etcd can't come back.

    Returns whether anything changed, and the folder that keeps its data, "" where there is none.
    ``end_bootstrap`` ends kubeadm where it is at work here, and returns whether it is. It would start etcd later.

    Raises:
        RestoreError: etcd has its quorum, which stopping this member may cost, and ``replace_working`` is not set.
    """
    folder = fence_folder(restore)
    kept = os.path.join(folder, "manifests")
    with contextlib.nullcontext() if check else guard.exclusive(restore.places.state):
        seen = Unit(restore).seen()
        if seen is not None and seen.answered and seen.leader and not replace_working:
            raise RestoreError(
                "QuorumWorks",
                f"etcd has its quorum, and this machine's member {to_hex(seen.own)} is one of it ({_figures(seen, 1)}).",
                "Nothing was changed. If it is to be stopped all the same, set replace_working.",
            )
        # Before the manifest is looked for: kubeadm may be about to write it.
        ended = end_bootstrap(check)
        text = guard.read_text(_manifest(restore))
        if not text:
            return ended, ""
        data = etcd_data(text)
        member = os.path.join(data, "member")
        before = aside(data, FENCED)
        if not os.path.exists(restore.places.manifest) and not os.path.isdir(member):
            return ended, _fenced_data(data) or before
        if os.path.isdir(before):
            # Of an earlier time; nothing that was moved aside is ever deleted.
            before = aside(data, f"{FENCED}-{stamp(now_rfc3339())}")
        if check:
            return True, before
        take_manifests_away(restore.places, kept)
        restore.wait_until_stopped(kept, data)
        if os.path.isdir(member):
            os.rename(member, before)
            guard.sync_directory(data)
        return True, before


def unfence(restore: Restore) -> None:
    """Undo a fence of this machine, for a restore on it.

    Its manifests and its data are put back. No error where there is no fence.
    """
    kept = os.path.join(fence_folder(restore), "manifests")
    manifest = os.path.join(kept, "etcd.yaml")
    if os.path.exists(manifest) and not os.path.exists(restore.places.manifest):
        data = etcd_data(guard.read_text(manifest))
        fenced = _fenced_data(data)
        if fenced and not os.path.isdir(os.path.join(data, "member")):
            os.rename(fenced, os.path.join(data, "member"))
            guard.sync_directory(data)
        # The restore takes them away again as its first step, and keeps them as its own.
        # etcd's last: while it is missing, a call that was killed here is done again.
        restore.put_manifests(kept, reversed(STATIC_PODS))
    shutil.rmtree(fence_folder(restore), ignore_errors=True)


def _figures(seen: Membership, lost: int) -> str:
    voters = len(seen.voters)
    figures = Figures(voters, max(0, voters - lost))
    text = f"{voters} voter{'' if voters == 1 else 's'}, quorum {figures.quorum}"
    return f"{text}; without this one {figures.healthy} at most" if lost else text


__all__ = ["ABSENT", "FAILED", "INTERRUPTED", "RUNNING", "SUCCEEDED", "Report", "Unit", "Wanted", "fence"]
