# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transient systemd unit of the recovery in single_voter.py.

Started once, found again by every later call.
"""

from __future__ import annotations

import contextlib
import os
import time
import typing as t
from dataclasses import dataclass, field

from ...common import guard, systemd_units
from ...common.guard import NodeError
from ...common.values import now_rfc3339
from ..data_dir import etcd_data
from ..local import Membership, Places, flagged, listens, membership
from ..snapshot.log import stored_identity
from ..types import from_hex, to_hex
from .recorded_unit import ABSENT, INTERRUPTED, RUNNING, RecordedUnit, Report, files_in_words
from .single_voter import FAILED, STARTED, SUCCEEDED, Recovery, space_needed, stamp
from .task_files import RECOVERY_FOLDER


@dataclass(frozen=True)
class Looks:
    """Count of observations of the other member, and seconds between two.

    Each checks that the other member is dead.
    """

    count: int = 3
    interval: float = 2.5


def read_state(
    places: t.Optional[Places] = None, runner: systemd_units.Runner = systemd_units.run
) -> t.Optional[dict[str, t.Any]]:
    """Return this machine's recovery for an observation, None without one.

    None also where its success was noted.
    """
    unit = Unit(Recovery(places or Places(), runner=runner))
    try:
        report = unit.look()
    except NodeError as error:
        return {"state": INTERRUPTED, "memberID": "", "lost": "", "stage": "", "message": str(error)}
    if report.state == ABSENT:
        return None
    return dict(report.texts("memberID", "lost", "stage", "message"))


@dataclass
class Unit(RecordedUnit):
    """Systemd unit of this machine's recovery."""

    PROGRAM = "etcd.restore.single_voter"
    DESCRIPTION = "recover etcd as the only voter"
    recovery: Recovery = field(default_factory=Recovery)
    looks: Looks = field(default_factory=Looks)

    @property
    def work(self) -> Recovery:
        """The recovery."""
        return self.recovery

    def unit_name(self, record: t.Mapping[str, t.Any]) -> str:
        """Return the unit's name, one for each lost member."""
        return systemd_units.RECOVERY + str(record["memberID"])

    def document(self, report: Report) -> dict[str, t.Any]:
        """Return a report with JSON names."""
        texts = report.texts("memberID", "lost", "stage", "message", "startedAt", "finishedAt", "dataCopy")
        return {**texts, "snapshot": report.record.get("snapshot")}

    def start(self, member_id: str, lost: str, *, check: bool = False) -> tuple[Report, bool]:
        """Start or resume the recovery.

        Returns its report, and whether this call started anything.

        Raises:
            NodeError: the evidence is not there, or another recovery is under way.
        """
        with contextlib.nullcontext() if check else guard.exclusive(self.recovery.places.state):
            report = self.look()
            # At its first stage nothing was changed yet: it may be wanted no more, or for another member.
            unchanged = report.state == INTERRUPTED and report.record.get("stage") == "start"
            if report.state in (RUNNING, INTERRUPTED, SUCCEEDED) and not unchanged:
                if report.state != RUNNING:
                    self._require_own(report.record)
                begun = str(report.record.get("memberID") or "")
                if begun != member_id:
                    raise NodeError(
                        f"A recovery without member {begun} is under way on this machine ({report.state}).",
                        f"Nothing was begun for member {member_id}. Run again with the member that was named first.",
                    )
                if report.state != INTERRUPTED:
                    return report, False
                return self.run(dict(report.record), check), True
            seen = membership(self.recovery.places)
            if self._done_already(seen):
                text = "etcd is its only member already"
                return Report(SUCCEEDED, {"memberID": member_id, "lost": lost, "message": text}), False
            self._require_loss(seen, from_hex(member_id))
            return self._begin(seen, member_id, lost, check), True

    def _require_own(self, record: t.Mapping[str, t.Any]) -> None:
        """Refuse to resume or report a recovery of another member or cluster.

        It is from an earlier use of this machine. Resumed, it would put that one's manifest over this one's, with the flag; reported as a
        success, it would have a machine of this cluster replaced.
        """
        places = self.recovery.places
        kept = guard.read_text(os.path.join(str(record["folder"]), "etcd.yaml"))
        data = etcd_data(kept or guard.read_text(places.manifest))
        member, cluster = stored_identity(os.path.join(data, "member"))
        if member != record["ownID"] or record["clusterID"] not in ("", cluster):
            raise NodeError(
                f"{places.record} is of a recovery of etcd member {record['ownID']} (cluster {record['clusterID'] or 'unknown'}), and the data in {data}"
                f" is of member {member or 'unknown'} (cluster {cluster or 'unknown'}).",
                f"Nothing was changed. Where that folder's disk isn't mounted, mount it. Else it is of an earlier use of this machine: delete that file"
                f" and {record['folder']}.",
            )

    def _done_already(self, seen: Membership) -> bool:
        alone = [member.id for member in seen.members] == [seen.own]
        manifest = guard.read_text(self.recovery.places.manifest)
        return seen.answered and alone and seen.leader == seen.own and bool(manifest) and not flagged(manifest)

    def _require_loss(self, seen: Membership, member_id: int) -> None:
        """Refuse unless the other of two voters is dead in every observation.

        The invariant: docs/reference/invariants.md, "Quorum stays".
        """
        for left in reversed(range(max(1, self.looks.count))):
            begun = time.monotonic()
            _require_two(seen, member_id)
            where = listens(seen.addresses(member_id))
            if where:
                raise NodeError(
                    f"The other member ({to_hex(member_id)}) listens at {where}: it is not lost, and nothing was changed.",
                    "Look at etcd on both machines; when both answer, etcd has its quorum again.",
                )
            if left:
                time.sleep(max(0.0, begun + self.looks.interval - time.monotonic()))
                seen = membership(self.recovery.places)

    def _begin(self, seen: Membership, member_id: str, lost: str, check: bool) -> Report:
        places = self.recovery.places
        manifest = guard.read_text(places.manifest)
        if not manifest or flagged(manifest):
            raise NodeError(
                f"{places.manifest} is missing or starts etcd with --force-new-cluster, and no recovery of this collection did that.",
                "Nothing was changed. Put the manifest back as kubeadm wrote it, then try again.",
            )
        data = etcd_data(manifest)
        with files_in_words():
            needed = space_needed(data)
            disk = os.statvfs(os.path.dirname(places.state) or "/")
        free = disk.f_bavail * disk.f_frsize
        if free < needed:
            raise NodeError(
                f"A snapshot and a copy of etcd's data need {needed >> 20} MiB in {places.state}, and {free >> 20} MiB are free.",
                "Nothing was changed. Make room first.",
            )
        begun = now_rfc3339()
        folder = os.path.join(places.state, RECOVERY_FOLDER, f"{member_id}-{stamp(begun)}")
        record = {
            "state": STARTED,
            "memberID": member_id,
            "lost": lost,
            "ownID": to_hex(seen.own),
            "clusterID": to_hex(seen.cluster_id) if seen.cluster_id else "",
            "folder": folder,
            "done": [],
            "stage": "start",
            "message": "",
            "startedAt": begun,
        }
        if not check:
            with files_in_words():
                os.makedirs(folder, mode=0o700, exist_ok=True)
                self.recovery.write(record)
        return self.run(record, check)


def _require_two(seen: Membership, member_id: int) -> None:
    voters = {member.id for member in seen.voters}
    if len(seen.members) != 2 or not seen.own or voters != {seen.own, member_id}:
        what = ", ".join(f"{member.hex_id} {member.name}".strip() for member in seen.members)
        own = to_hex(seen.own) if seen.own else "none of them"
        raise NodeError(
            f"etcd here is member {own} and lists {what or 'no member'}: not itself and the voter {to_hex(member_id)} alone.",
            "Nothing was changed: only the loss of the second of two voters is recovered from in this way. Use the playbook restore for others.",
        )
    if seen.leader:
        raise NodeError(
            f"etcd has a leader ({to_hex(seen.leader)}): it has its quorum, and nothing has to be recovered.",
            "Nothing was changed. Remove a member with the module etcd_member.",
        )


__all__ = ["ABSENT", "FAILED", "INTERRUPTED", "RUNNING", "SUCCEEDED", "Looks", "Report", "Unit", "read_state"]
