# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quorum arithmetic of etcd.

Standard library alone: it also runs on nodes.

Source: docs/reference/cluster_api.md, "Quorum arithmetic".

The invariants: docs/reference/invariants.md, "Quorum stays", "One change at a time", "The last voter stays".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .values import clip


@dataclass(frozen=True)
class MemberState:
    """State of an etcd member for the quorum arithmetic.

    `id` is etcd's hex ID, `name` is "" for a member that was added and never started, `healthy` is True only where health
    was proven: unknown is False here (docs/reference/invariants.md, "Unknown is unhealthy").
    """

    id: str
    name: str
    learner: bool
    healthy: bool

    @property
    def settled(self) -> bool:
        """Completion of a member's addition: True where it started and votes.

        No membership change around it is unfinished.
        """
        return bool(self.name) and not self.learner

    @property
    def counts(self) -> bool:
        """Health of a voter: True only where it is proven."""
        return self.settled and self.healthy

    @property
    def title(self) -> str:
        """Name for messages and status, the ID where it has none.

        The name is cut to size: a host supplied it.
        """
        return clip(self.name, 80) or self.id

    def describe(self) -> str:
        """Return the member's description for messages."""
        kind = "learner " if self.learner else "member "
        return f"{kind}{self.title} ({self.id})" if self.name else f"{kind}{self.id} that never started"


@dataclass(frozen=True)
class Figures:
    """Quorum figures of a member list.

    They are the voters, the proven healthy ones, the majority that is needed, and how many more may fail.
    """

    voters: int
    healthy: int

    @property
    def quorum(self) -> int:
        """The majority: floor(voters / 2) + 1."""
        return self.voters // 2 + 1

    @property
    def tolerance(self) -> int:
        """Number of further voters that may fail before the majority is lost.

        It is 0 where the majority is lost already.
        """
        return max(0, self.healthy - self.quorum)

    @property
    def has_quorum(self) -> bool:
        """Quorum of the proven healthy voters: True where they are a majority."""
        return self.healthy >= self.quorum

    def document(self) -> dict[str, int]:
        """Return the figures as JSON types, for a decision."""
        return {"voters": self.voters, "healthy": self.healthy, "quorum": self.quorum, "tolerance": self.tolerance}

    def __str__(self) -> str:
        return f"{self.voters} voter{'' if self.voters == 1 else 's'}, {self.healthy} healthy, quorum {self.quorum}"


@dataclass(frozen=True)
class Verdict:
    """Verdict on a membership change, with its reason in words.

    `before` and `after` are the figures without and with the change.
    """

    allowed: bool
    before: Figures
    after: Figures
    why: str

    def document(self, leader: Optional[str], why_this_order: str = "") -> dict[str, Any]:
        """Return the decision's `quorum` block.

        `leader` is the leader's name (its ID where it has none), None where unknown.
        """
        return {
            "before": self.before.document(),
            "after": self.after.document(),
            "leader": leader,
            "whyThisOrder": why_this_order or self.why,
        }


def figures(members: Iterable[MemberState]) -> Figures:
    """Return the figures of a member list.

    A learner does not vote. A member without a name that is no learner does vote, as etcd counts it, and is not healthy.
    """
    voters = [member for member in members if not member.learner]
    return Figures(len(voters), sum(1 for member in voters if member.counts))


def after_add(members: Sequence[MemberState]) -> Figures:
    """Return the figures with one more voter.

    It counts as failed, but as healthy with 0 or 1 voters, where nothing else is possible.
    """
    now = figures(members)
    return Figures(now.voters + 1, now.healthy + (1 if now.voters <= 1 else 0))


def after_remove(members: Sequence[MemberState], member_id: str) -> Figures:
    """Return the figures without the member of an ID."""
    return figures([member for member in members if member.id != member_id])


def check_add(members: Sequence[MemberState]) -> Verdict:
    """Evaluate the addition of a voter (docs/reference/invariants.md, "Quorum stays", "One change at a time").

    Refused while a learner or a member that never started exists, without quorum before, and where the target would have no
    quorum if the new voter failed (1 to 2 voters excepted).
    """
    before, after = figures(members), after_add(members)
    unsettled = _unsettled(members)
    if unsettled:
        return Verdict(False, before, after, f"an earlier change is unfinished: {unsettled}")
    if before.voters and not before.has_quorum:
        return Verdict(False, before, after, f"etcd has no quorum to commit the change: {before}")
    if not after.has_quorum:
        return Verdict(False, before, after, f"{after} if the new voter fails: fewer healthy than the quorum")
    return Verdict(True, before, after, f"{before}; with the new voter {after}")


def check_remove(members: Sequence[MemberState], member_id: str, leader: Optional[str]) -> Verdict:
    """Evaluate the removal of a member (docs/reference/invariants.md, "Quorum stays", "The last voter stays").

    `leader` is the leader's ID, None where it is unknown. Refused: the last voter, another change unfinished, no known leader,
    no quorum before (etcd could not commit the change) and no quorum after.
    """
    before, after = figures(members), after_remove(members, member_id)
    victim = next((member for member in members if member.id == member_id), None)
    if victim is None:
        return Verdict(True, before, before, f"{member_id} is not a member: nothing to remove")
    unsettled = _unsettled(members)
    if after.voters < 1:
        return Verdict(
            False, before, after, f"{victim.describe()} is the last voter: removing it would end the etcd cluster"
        )
    if unsettled and victim.settled:
        # One that is unfinished itself may go beside another: that ends a change instead of starting one
        # (docs/reference/invariants.md, "One change at a time").
        return Verdict(False, before, after, f"another change is unfinished: {unsettled}")
    if leader is None:
        return Verdict(False, before, after, "no leader is known, so nothing can be committed safely")
    if not before.has_quorum:
        return Verdict(False, before, after, f"etcd has no quorum to commit the change: {before}")
    if not after.has_quorum:
        return Verdict(False, before, after, f"without {victim.describe()}: {after}: fewer healthy than the quorum")
    return Verdict(True, before, after, f"{before}; without {victim.describe()}: {after}")


def adds_beside_silent_voter(etcd: Optional[dict[str, Any]]) -> bool:
    """Return whether this etcd adds a member beside a disconnected voter.

    It does where the rest has the target's quorum, since 3.5.30 and 3.6.11; before, any silent voter made etcd refuse
    every addition
    (docs/reference/invariants.md, "A silent voter blocks an addition"). Every member must be known to be new enough:
    whichever leads decides. Unknown counts as old.
    """
    statuses = ((etcd or {}).get("statuses") or {}).values()
    versions = [_version(each.get("version")) for each in statuses if each.get("healthy") is True]
    return bool(versions) and all(
        version >= (3, 6, 11) or (version[:2] == (3, 5) and version >= (3, 5, 30)) for version in versions
    )


def has_learners(etcd: Optional[dict[str, Any]]) -> bool:
    """Return whether this etcd can have learners.

    It can where every voter is known to be 3.4 or newer. An older one takes no notice of what it does not know, and adds a voter.
    """
    statuses = (etcd or {}).get("statuses") or {}
    voters = [member["id"] for member in (etcd or {}).get("members") or () if not member.get("isLearner")]
    return bool(voters) and all(_version((statuses.get(each) or {}).get("version")) >= (3, 4) for each in voters)


def minor_versions(etcd: Optional[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the voters' IDs by etcd's major and minor version ("3.5").

    The oldest version is first. Voters that did not report their version are left out.
    """
    statuses = (etcd or {}).get("statuses") or {}
    found: dict[tuple[int, ...], list[str]] = {}
    for member in (etcd or {}).get("members") or ():
        version = _version((statuses.get(member["id"]) or {}).get("version"))
        if version and not member.get("isLearner"):
            found.setdefault(version[:2], []).append(member["id"])
    return {".".join(map(str, version)): found[version] for version in sorted(found)}


def _version(text: Any) -> tuple[int, ...]:
    """Return the three numbers of a version, () where it is none.

    () counts as older than any version.
    """
    parts = text.split("-")[0].split(".") if isinstance(text, str) else []
    return tuple(int(part) for part in parts) if len(parts) == 3 and all(part.isdecimal() for part in parts) else ()


def member_states(etcd: Optional[dict[str, Any]]) -> list[MemberState]:
    """Return a snapshot's etcd members, [] where etcd could not be asked.

    `etcd` is `workload.etcd`. Healthy means: its own status says so, no alarm names it, it knows a leader. Missing
    evidence is not health.
    """
    if not etcd or not etcd.get("reachable"):
        return []
    alarmed = {alarm.get("memberID") for alarm in etcd.get("alarms") or ()}
    statuses = etcd.get("statuses") or {}
    states = []
    for member in etcd.get("members") or ():
        identity = member["id"]
        status = statuses.get(identity) or {}
        healthy = status.get("healthy") is True and identity not in alarmed and not status.get("errors")
        states.append(MemberState(identity, member.get("name") or "", bool(member.get("isLearner")), healthy))
    return states


def _unsettled(members: Iterable[MemberState]) -> str:
    found: tuple[str, ...] = tuple(member.describe() for member in members if not member.settled)
    return ", ".join(found)
