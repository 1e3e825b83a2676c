# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Etcd alarms, disarmed only once their cause is gone.

With a compaction, and with a defragmentation that can't cost the quorum.
"""

from __future__ import annotations

import re
import time
import typing as t
from dataclasses import dataclass

from ..common import settings
from ..common.https import Unreachable
from ..common.quorum import Figures, MemberState, Verdict, figures
from .gateway import Gateway
from .membership import Cluster, MembershipError, move_leader, require_cluster
from .types import Alarm, EtcdError, Member, Status, to_hex
from .view import View

NOSPACE, CORRUPT = "NOSPACE", "CORRUPT"
# etcd's own default of --quota-backend-bytes.
DEFAULT_QUOTA = 2 * 1024 * 1024 * 1024
# A database so near its quota raises the alarm again at once.
SHARE = 0.95
_QUOTA = re.compile(r"--quota-backend-bytes=(\d+)")
_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Disarmed:
    """Result of disarming an alarm, of check mode too.

    ``before`` are the alarms before, ``alarms`` those that are left, ``view`` the cluster afterwards.
    ``defragmented`` is the member, "" for none; ``verdict`` says why its pause was allowed.
    """

    changed: bool
    message: str
    before: tuple[Alarm, ...]
    alarms: tuple[Alarm, ...]
    view: View
    defragmented: str = ""
    verdict: t.Optional[Verdict] = None


def quota_of(manifest: str) -> int:
    """Return etcd's database quota in bytes, from its static pod manifest.

    It is etcd's default where the manifest gives none; 0 means the default too.
    """
    found = _QUOTA.search(manifest)
    return int(found.group(1)) or DEFAULT_QUOTA if found else DEFAULT_QUOTA


def listed(cluster: Cluster, cluster_id: t.Optional[int] = None) -> View:
    """Return the cluster's present view, with its alarms.

    Raises:
        MembershipError: NotReachable, WrongCluster.
    """
    view = cluster.view()
    require_cluster(view, cluster_id)
    return view


def disarm(
    cluster: Cluster,
    alarm: str,
    *,
    quota: int = DEFAULT_QUOTA,
    compact: bool = False,
    defragment: bool = False,
    corrupt_member: t.Optional[int] = None,
    allow_interruption: bool = False,
    cluster_id: t.Optional[int] = None,
    check: bool = False,
    before_change: t.Callable[[], None] = lambda: None,
) -> Disarmed:
    """Disarm an alarm on every member that raised it.

    Args:
        cluster: access to the cluster; its first endpoint is this machine's member.
        alarm: NOSPACE or CORRUPT.
        quota: of the members' databases, in bytes.
        compact: where NOSPACE is raised, have etcd forget what was overwritten first: kube-apiserver's own compaction
            writes a key, which etcd refuses while the alarm is raised.
        defragment: for NOSPACE, defragment this machine's member first, where the alarm is raised or less than half of
            its database is in use.
        corrupt_member: the consent that CORRUPT needs: the one member whose alarm is disarmed.
        allow_interruption: defragment also one of one or two voters that all serve: etcd serves nothing meanwhile.
        cluster_id: the cluster that is meant.
        check: change nothing.
        before_change: called before the first change; an error it raises ends this.

    Raises:
        MembershipError: NotReachable, WrongCluster, QuorumAtRisk, NoSpaceLeft, ConsentMissing, LeadershipNotMoved,
            NotProven.
    """
    view = listed(cluster, cluster_id)
    before = view.alarms
    raised = [each for each in before if each.alarm == alarm]
    if alarm == CORRUPT and raised:
        raised = [_with_consent(view, raised, corrupt_member)]
    done, verdict = "", None
    if defragment and alarm == NOSPACE and (raised or _worth(view, cluster)):
        own = _own(view, cluster)
        verdict = may_pause(view, own, allow_interruption)
        if not verdict.allowed:
            raise MembershipError("QuorumAtRisk", f"{verdict.why}. Nothing was changed.", verdict)
        done = own.name or own.hex_id
    compact = compact and alarm == NOSPACE and bool(raised)
    if (done or compact) and not check:
        before_change()
        if compact:
            _compact(cluster)
        if done:
            _defragment(cluster, view, own)
        view = listed(cluster, cluster_id)
    if not raised:
        said = f"no alarm {alarm} is raised"
        said += f"; etcd member {done} {'would be' if check else 'was'} defragmented" if done else ""
        return Disarmed(bool(done), said, before, view.alarms, view, done, verdict)
    if alarm == NOSPACE:
        # In check mode a defragmentation is taken for what it gives at best.
        _require_room(view, raised, quota, done if check else "", compact)
    names = ", ".join(_title(view, each.member_id) for each in raised)
    if check:
        left = tuple(each for each in before if each not in raised)
        return Disarmed(True, f"the alarm {alarm} of {names} would be disarmed", before, left, view, done, verdict)
    if not (done or compact):
        before_change()
    _disarm(cluster, raised)
    after = listed(cluster, cluster_id)
    left_over = [each for each in after.alarms if each in raised]
    if left_over:
        raise MembershipError(
            "NotProven",
            f"the alarm {alarm} was disarmed, and etcd raised it again: {', '.join(_title(after, each.member_id) for each in left_over)}.",
        )
    return Disarmed(True, f"the alarm {alarm} of {names} was disarmed", before, after.alarms, after, done, verdict)


def may_pause(view: View, member: Member, allow_interruption: bool = False) -> Verdict:
    """Return the quorum's verdict on a pause of one member.

    Allowed where etcd keeps its quorum while the member serves nothing, and for one of one or two voters, which all
    serve, with ``allow_interruption``. A defragmentation is such a pause: it holds the member's whole database.
    """
    states = [MemberState(each.hex_id, each.name, each.is_learner, not _silent(view, each)) for each in view.members]
    before = figures(states)
    paused = [
        each if each.id != member.hex_id else MemberState(each.id, each.name, each.learner, False) for each in states
    ]
    after = figures(paused)
    title = f"{member.name or 'the member'} ({member.hex_id})"
    if before.voters <= 2 and not member.is_learner and (before.voters == 1 or before.healthy == before.voters):
        count = "the only voter" if before.voters == 1 else "one of two voters"
        why = f"{title} is {count}: etcd serves nothing while it is defragmented"
        return Verdict(
            allow_interruption,
            before,
            after,
            why if allow_interruption else f"{why}; allow_interruption says that this is meant",
        )
    text = f"{before}; while {title} is defragmented: {_paused(after)}"
    return Verdict(
        after.has_quorum, before, after, text if after.has_quorum else f"defragmenting would cost the quorum: {text}"
    )


def _paused(after: Figures) -> str:
    return f"{after.healthy} of {after.voters} voters serve, quorum {after.quorum}"


def _silent(view: View, member: Member) -> str:
    """Return why a member doesn't count as serving, "" if it does.

    An alarm NOSPACE keeps no member from voting.
    """
    if any(each.member_id == member.id and each.alarm != NOSPACE for each in view.alarms):
        return "alarm"
    witness = view.witnesses.get(member.id)
    if not member.started or witness is None or witness.status is None or witness.status.leader == 0:
        return "it gives no status, or knows no leader"
    return "" if member.is_learner or witness.reads else "it served no linearizable read"


def _own(view: View, cluster: Cluster) -> Member:
    """Return the member at the first endpoint. Raises MembershipError: NotReachable."""
    for identity, witness in view.witnesses.items():
        member = view.get(identity)
        if witness.url == cluster.endpoints[0] and member is not None:
            return member
    raise MembershipError(
        "NotReachable",
        f"the member at {cluster.endpoints[0]} does not answer, so it can't be defragmented. Nothing was changed.",
    )


def _worth(view: View, cluster: Cluster) -> bool:
    """Return whether less than half of this machine's database is used."""
    status = view.witnesses[_own(view, cluster).id].status
    return status is not None and status.db_size_in_use * 2 < status.db_size


def _defragment(cluster: Cluster, view: View, own: Member) -> None:
    if view.leader == own.id and len([each for each in view.members if not each.is_learner]) > 1:
        # A leader that stands still costs an election.
        others = [
            each.name for each in view.members if each.id != own.id and not each.is_learner and not _silent(view, each)
        ]
        move_leader(cluster, _without_nospace(view), own, others)
    try:
        with Gateway(view.witnesses[own.id].url, cluster.credentials, settings.DEFRAGMENT_SECONDS) as gateway:
            gateway.defragment()
    except (EtcdError, Unreachable) as error:
        raise MembershipError("NotProven", f"the defragmentation of {own.name} did not end well: {error}.") from error
    deadline = time.monotonic() + cluster.settle
    while _silent(cluster.view(), own):
        if time.monotonic() >= deadline:
            raise MembershipError(
                "NotProven",
                f"{own.name} was defragmented and does not serve {cluster.settle:g} s later. Look at it first.",
            )
        time.sleep(_POLL_SECONDS)


def _compact(cluster: Cluster) -> None:
    """Compact etcd to its present revision.

    Every older revision is forgotten; where that was done already, this is no error.
    """
    try:
        with Gateway(cluster.endpoints[0], cluster.credentials, settings.COMPACT_SECONDS) as gateway:
            gateway.compact(gateway.linearizable_read())
    except EtcdError as error:
        if error.meaning != "OUT_OF_RANGE":
            raise MembershipError("NotReachable", f"etcd was not compacted: {error}. Nothing was disarmed.") from error
    except Unreachable as error:
        raise MembershipError("NotReachable", f"etcd was not compacted: {error}. Nothing was disarmed.") from error


def _without_nospace(view: View) -> View:
    kept = tuple(each for each in view.alarms if each.alarm != NOSPACE)
    return View(
        view.members, view.cluster_id, view.agrees, view.disagreement, kept, view.witnesses, view.message, view.counts
    )


def _require_room(view: View, raised: t.Sequence[Alarm], quota: int, at_best: str, compacted: bool) -> None:
    full = []
    for alarm in raised:
        member, witness = view.get(alarm.member_id), view.witnesses.get(alarm.member_id)
        status = witness.status if witness is not None else None
        if member is None:
            continue
        if status is None:
            full.append(f"{_title(view, alarm.member_id)} gives no status")
            continue
        size = status.db_size
        if at_best in (member.name, member.hex_id):
            # What a compaction leaves is known only afterwards.
            size = 0 if compacted else status.db_size_in_use
        if size >= SHARE * quota:
            full.append(f"{_title(view, alarm.member_id)}: {_size(status, quota)}")
    if full:
        raise MembershipError(
            "NoSpaceLeft",
            f"the alarm {NOSPACE} is not disarmed, as it would be raised again at once: {'; '.join(full)}. Where little of the database is"
            " in use, defragment that member (on its own machine, one after another); where most is, compact first; where most still is, have less"
            " written or a larger --quota-backend-bytes. Nothing was disarmed.",
        )


def _size(status: Status, quota: int) -> str:
    return f"{status.db_size >> 20} MiB of {quota >> 20} MiB, {status.db_size_in_use >> 20} MiB in use"


def _with_consent(view: View, raised: t.Sequence[Alarm], member: t.Optional[int]) -> Alarm:
    found = [each for each in raised if each.member_id == member]
    if found:
        return found[0]
    names = ", ".join(_title(view, each.member_id) for each in raised)
    raise MembershipError(
        "ConsentMissing",
        f"the alarm {CORRUPT} is raised for {names}: a member's data differs from the others', and is not to be relied on. Nothing was disarmed. Remove"
        " the member that differs first: the alarm may name another one, or none (docs/standalone_modules.md). Where it is gone, or what the named one"
        f" holds is right, give corrupt_member={' or '.join(to_hex(each.member_id) for each in raised)}.",
    )


def _disarm(cluster: Cluster, raised: t.Sequence[Alarm]) -> None:
    try:
        with Gateway(cluster.endpoints[0], cluster.credentials, cluster.timeout) as gateway:
            for each in raised:
                gateway.disarm(each)
    except (EtcdError, Unreachable) as error:
        raise MembershipError(
            "NotReachable", f"the alarm was not disarmed, or not everywhere: {error}. Look again."
        ) from error


def _title(view: View, member_id: int) -> str:
    member = view.get(member_id)
    return (
        f"{member.name} ({to_hex(member_id)})"
        if member is not None
        else f"member {to_hex(member_id)}, which is not listed"
    )
