# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""View of an etcd cluster, made of every member's own answers.

The members are asked all at once.
"""

from __future__ import annotations

import re
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from ..common import settings
from ..common.https import Unreachable
from .gateway import Credentials, Gateway, refusal
from .types import Alarm, EtcdError, Member, MemberList, Status, to_hex

MAX_MEMBERS = 50
# Without an ID where the alarm names no member: etcd 3.5 raises CORRUPT so.
_ALARM_ERROR = re.compile(r"(?:memberID:\d+ +)?alarm:")


@dataclass(frozen=True)
class Witness:
    """Answers of one member about itself and its cluster.

    ``members`` is its own member list (None: it didn't answer, or it is a learner, which refuses), ``status`` its own
    status, ``alarms`` what it lists, ``reads`` whether it served a linearizable read, ``message`` why something is missing.
    """

    url: str
    members: t.Optional[MemberList] = None
    status: t.Optional[Status] = None
    alarms: tuple[Alarm, ...] = ()
    reads: bool = False
    message: str = ""


@dataclass(frozen=True)
class View:
    """Answers of all members, put together.

    ``members`` is the list that most witnesses gave; ``agrees`` is None where fewer than two members gave a list,
    unless the cluster has only one voter. ``witnesses`` is by the ID of the member that answered; a member that did not
    answer has a witness with its ``message`` alone, or none where it never published a client URL.
    ``counts`` is, by the member's ID, the counts of its observations and of those that found it dead (see
    :func:`look_again`; one observation by default).
    """

    members: tuple[Member, ...] = ()
    cluster_id: int = 0
    agrees: t.Optional[bool] = None
    disagreement: str = ""
    alarms: tuple[Alarm, ...] = ()
    witnesses: t.Mapping[int, Witness] = field(default_factory=dict)
    message: str = ""
    counts: t.Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def reachable(self) -> bool:
        """True where at least one member gave its list."""
        return bool(self.members)

    @property
    def leader(self) -> int:
        """The leader's ID, 0 for none.

        The one that the witnesses with the highest term agree on.
        """
        statuses = [witness.status for witness in self.witnesses.values() if witness.status is not None]
        if not statuses:
            return 0
        term = max(status.raft_term for status in statuses)
        leaders = {status.leader for status in statuses if status.raft_term == term}
        return leaders.pop() if len(leaders) == 1 else 0

    @property
    def lists(self) -> list[MemberList]:
        """The member lists that were given."""
        return [witness.members for witness in self.witnesses.values() if witness.members is not None]

    def get(self, member_id: int) -> t.Optional[Member]:
        """Return the member with an ID, or None."""
        return next((member for member in self.members if member.id == member_id), None)

    def unhealthy(self, member: Member) -> str:
        """Return why a member doesn't count as healthy, "" where it does.

        Unknown counts as unhealthy.
        """
        if not member.started:
            return "it was added but never started"
        witness = self.witnesses.get(member.id)
        if witness is None:
            return "it has published no client URL"
        if witness.status is None:
            return witness.message or "it gave no status"
        raised = [alarm.alarm for alarm in self.alarms if alarm.member_id == member.id]
        if raised:
            return f"alarm {', '.join(sorted(raised))}"
        if witness.status.leader == 0:
            return "it knows of no leader"
        if not member.is_learner and not witness.reads:
            return witness.message or "it served no linearizable read"
        return ""

    def document(self) -> dict[str, t.Any]:
        """Return the view in the snapshot's form (``workload.etcd``)."""
        statuses: dict[str, t.Any] = {}
        for member in self.members:
            problem = self.unhealthy(member)
            witness = self.witnesses.get(member.id)
            looks, failed = self.counts.get(member.id, (1, 1 if problem else 0))
            entry: dict[str, t.Any] = {"healthy": not problem, "message": problem}
            entry.update(looks=looks, failedLooks=failed)
            if witness is not None and witness.status is not None:
                status = witness.status
                entry.update(
                    version=status.version,
                    dbSize=status.db_size,
                    dbSizeInUse=status.db_size_in_use,
                    raftTerm=status.raft_term,
                    raftIndex=status.raft_index,
                    leader=to_hex(status.leader) if status.leader else None,
                    isLearner=status.is_learner,
                    # Every member repeats every alarm here, also those of others; ``alarms`` tells whose they are.
                    errors=[error for error in status.errors if not _ALARM_ERROR.match(error)],
                )
            statuses[member.hex_id] = entry
        return {
            "reachable": self.reachable,
            "message": self.message or self.disagreement,
            "members": [member.document() for member in self.members],
            "memberListAgrees": self.agrees,
            "leader": to_hex(self.leader) if self.leader else None,
            "clusterID": to_hex(self.cluster_id) if self.cluster_id else None,
            "alarms": [alarm.document() for alarm in self.alarms],
            "statuses": statuses,
        }


def members_view(
    endpoints: t.Sequence[str], credentials: t.Optional[Credentials], timeout: float = settings.ANSWER_SECONDS
) -> View:
    """Return the view of the given members and those they list.

    Each is asked for itself.

    Args:
        endpoints: client URLs to begin with; one that answers is enough.
        credentials: the client's certificate, None without TLS.
        timeout: seconds for each call; members are asked at the same time.

    Returns:
        What they said. A cluster that doesn't answer is a View with ``reachable`` False and a message, not an error.
    """
    asked = {url: _ask(url, credentials, timeout) for url in dict.fromkeys(endpoints[:1])}
    if not any(witness.members for witness in asked.values()):
        asked.update(_ask_all([url for url in endpoints if url not in asked], credentials, timeout))
    first = next((witness for witness in asked.values() if witness.members is not None), None)
    if first is None:
        reasons = "; ".join(witness.message for witness in asked.values()) or "no member to ask is known"
        return View(message=f"etcd does not answer: {reasons}")
    witnesses = {_identity(witness): witness for witness in asked.values() if _identity(witness)}
    for _unused in range(2):
        # A member that only another one lists is asked too.
        named = {m.id: m for w in witnesses.values() if w.members for m in w.members.members[:MAX_MEMBERS]}
        wanted = {m.id: client_url(m, credentials) for m in named.values() if m.client_urls and m.id not in witnesses}
        if not wanted:
            break
        answers = _ask_all(list(dict.fromkeys(wanted.values())), credentials, timeout)
        # Two members may have published one URL: the answer is evidence about the one that gave it.
        witnesses.update({identity: _checked(answers[url], identity) for identity, url in wanted.items()})
    return put_together(witnesses)


def client_url(member: Member, credentials: t.Optional[Credentials]) -> str:
    """Return a member's first client URL that may be asked.

    Else its first: asking it says why not.
    """
    return next((url for url in member.client_urls if not refusal(url, credentials)), member.client_urls[0])


def look_again(look: t.Callable[[], View], looks: int, interval: float) -> View:
    """Observe up to ``looks`` times until no member seems dead.

    One sample proves nothing. ``interval`` is the seconds from the start of one observation to that of the next.
    Returns the last view, with the counts of each member's observations and of those that found it dead; an observation
    that found no member at all counts for none.
    """
    counts: dict[int, tuple[int, int]] = {}
    for left in reversed(range(looks)):
        begun = time.monotonic()
        view = look()
        for member in view.members:
            seen, failed = counts.get(member.id, (0, 0))
            counts[member.id] = (seen + 1, failed + bool(view.unhealthy(member)))
        if view.reachable and view.agrees is not False and not any(view.unhealthy(m) for m in view.members):
            break
        if left:
            time.sleep(max(0.0, begun + interval - time.monotonic()))
    return replace(view, counts=counts)


def _ask_all(urls: t.Sequence[str], credentials: t.Optional[Credentials], timeout: float) -> dict[str, Witness]:
    if not urls:
        return {}
    with ThreadPoolExecutor(max_workers=min(8, len(urls))) as pool:
        return dict(zip(urls, pool.map(lambda url: _ask(url, credentials, timeout), urls)))


def _ask(url: str, credentials: t.Optional[Credentials], timeout: float) -> Witness:
    members: t.Optional[MemberList] = None
    alarms: tuple[Alarm, ...] = ()
    reads = False
    message = ""
    try:
        with Gateway(url, credentials, timeout) as gateway:
            status = gateway.status()
            try:
                if not status.is_learner:
                    members = gateway.member_list()
                    alarms = gateway.alarms()
                    gateway.linearizable_read()
                    reads = True
            except (EtcdError, Unreachable) as error:
                message = str(error)
    except (EtcdError, Unreachable) as error:
        return Witness(url, message=str(error))
    return Witness(url, members, status, alarms, reads, message)


def _identity(witness: Witness) -> int:
    return witness.status.member_id if witness.status is not None else 0


def _checked(witness: Witness, expected: int) -> Witness:
    answered = _identity(witness)
    if answered and answered != expected:
        # Two addresses changed places, or the list is stale: this answer is no evidence about the expected member.
        text = f"{witness.url} answers as member {to_hex(answered)}, the list says {to_hex(expected)}"
        return Witness(witness.url, message=text)
    return witness


def put_together(witnesses: t.Mapping[int, Witness]) -> View:
    """Return the view that the witnesses' answers make.

    ``witnesses`` is by the ID of the member that each speaks for; at least one of them gave a list.
    """
    lists = {identity: w.members for identity, w in witnesses.items() if w.members is not None}
    counts: dict[tuple[int, tuple[Member, ...]], list[int]] = {}
    for identity, listed in lists.items():
        counts.setdefault((listed.cluster_id, listed.members), []).append(identity)
    # Most witnesses first; among equals the one that holds the lowest ID, so that the same answers give the same view.
    (cluster_id, members), _supporters = sorted(counts.items(), key=lambda item: (-len(item[1]), min(item[1])))[0]
    voters = [member for member in members if not member.is_learner]
    agrees: t.Optional[bool] = None
    disagreement = ""
    if len(counts) > 1:
        agrees = False
        parts = []
        for (other_cluster, other_members), supporters in sorted(counts.items(), key=lambda item: min(item[1])):
            who = ", ".join(to_hex(identity) for identity in sorted(supporters))
            what = ", ".join(member.hex_id for member in other_members)
            parts.append(f"{who} list {what} (cluster {to_hex(other_cluster)})")
        disagreement = "members disagree about the membership: " + "; ".join(parts)
    elif len(lists) > 1 or len(voters) == 1:
        agrees = True
    alarms = {alarm for witness in witnesses.values() for alarm in witness.alarms}
    return View(
        members=members,
        cluster_id=cluster_id,
        agrees=agrees,
        disagreement=disagreement,
        alarms=tuple(sorted(alarms, key=lambda alarm: (alarm.member_id, alarm.alarm))),
        witnesses=dict(witnesses),
    )
