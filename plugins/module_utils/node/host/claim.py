# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ownership claim of a host, kept in a file on the host.

No two clusters, in whatever stores, ever take the same host.

The host itself decides. A claim is made under the host's own lock, only on a host that has everything and carries nothing,
and given up only together with everything that kubeadm made there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ...common import guard, settings
from ...common.guard import NodeError
from ...common.values import now_rfc3339
from ..bootstrap import leftovers
from . import fitness, host_facts
from .fitness import Missing, Wanted
from .host_facts import HostPlaces

# Of so many clusters that it served a host remembers the number of the newest run.
CLUSTERS_KEPT = 100
POLL_SECONDS = 0.25
FOREIGN = "ForeignCluster"
UNKNOWN_MEMBER = (
    ". Its etcd gave no list of its members: see on another host of that cluster, if one is left, that this host's member is removed"
    " (etcd_member_info); one that is left in the list counts against the quorum"
)


@dataclass(frozen=True)
class Claim:
    """Ownership claim of a host.

    ``id`` is the claim's own; ``machine_id`` the host's when it was claimed.
    """

    id: str
    cluster: str
    namespace: str
    machine: str
    machine_id: str = ""
    claimed_at: str = ""

    def document(self) -> dict[str, str]:
        """Return the claim with JSON names."""
        return {
            "id": self.id,
            "cluster": self.cluster,
            "namespace": self.namespace,
            "machine": self.machine,
            "machineID": self.machine_id,
            "claimedAt": self.claimed_at,
        }

    def owner(self) -> str:
        """Return the claim's cluster and machine as text for messages."""
        return f"cluster {self.namespace}/{self.cluster}, machine {self.machine}"


@dataclass(frozen=True)
class Run:
    """Run that asks: the number of its lock, and its cluster's identity.

    The cluster has its identity for life; "" and None where there is no run.
    """

    cluster_id: str = ""
    fencing: t.Optional[int] = None


NO_LOCK = Run()
_CLUSTER_ID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")


class Unfit(NodeError):
    """Refusal of a host that can't be claimed.

    ``missing`` lists all reasons to refuse it; ``fields`` is the part of a module's result, with the host's machine-id.
    """

    def __init__(self, missing: t.Sequence[Missing], machine_id: str) -> None:
        reasons = "; ".join(f"{each.message} ({each.check})" for each in missing)
        super().__init__(f"This host can't be claimed: {reasons}. Nothing was changed on it.")
        self.missing = missing
        self.fields = {"missing": [each.document() for each in missing], "machineID": machine_id}


def read_claim(places: HostPlaces) -> t.Optional[Claim]:
    """Return this host's claim, None if it is not claimed.

    Raises:
        NodeError: the file is there and can't be understood: the host must not count as a free one.
    """
    try:
        with open(places.claim, encoding="utf-8") as file:
            found = json.load(file)
        names = {"machine_id": "machineID", "claimed_at": "claimedAt"}
        values = {name: found[names.get(name, name)] for name in Claim.__dataclass_fields__}
        if not all(isinstance(value, str) for value in values.values()):
            raise ValueError("a field is no text")
        return Claim(**values)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NodeError(
            f"{places.claim}, which says whose this host is, can't be read: {error}.",
            "Find out whose it is; delete the file only where nothing on the host is needed.",
        ) from error


def claim(
    mine: Claim, wanted: Wanted, *, check: bool, places: t.Optional[HostPlaces] = None, run: Run = NO_LOCK
) -> tuple[Claim, bool]:
    """Claim this host; return the claim, and whether this call made it.

    A claim of the same id is left unchanged.

    Raises:
        Unfit: the host is another cluster's, or something is missing.
        Fenced: a later run of the same cluster has been here.
    """
    where = places or HostPlaces()
    if check:
        return _claim(mine, wanted, where, run, check=True)
    with guard.exclusive(where.node.state):
        return _claim(mine, wanted, where, run, check=False)


def _compare(run: Run, where: HostPlaces, *, keep: bool) -> None:
    """Refuse a run that lost its lock.

    Its cluster's number outlives the release: a claim of that run's may still be under way.
    """
    if run.fencing is None or not run.cluster_id:
        return
    if not _CLUSTER_ID.fullmatch(run.cluster_id):
        raise NodeError(f"{run.cluster_id[:80]!r} is no identity of a cluster.", "Give the uid of its Cluster object.")
    folder = os.path.join(where.node.state, "clusters")
    path, seen_by = os.path.join(folder, run.cluster_id), "of this cluster this host has seen"
    guard.compare_number(path, run.fencing, seen_by, keep=False)
    if keep:
        with guard.keeping(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            for old in sorted(Path(folder).iterdir(), key=os.path.getmtime, reverse=True)[CLUSTERS_KEPT:]:
                old.unlink()
        guard.compare_number(path, run.fencing, seen_by, keep=True)


def _claim(mine: Claim, wanted: Wanted, where: HostPlaces, run: Run, *, check: bool) -> tuple[Claim, bool]:
    _compare(run, where, keep=not check)
    present = _claim_if_readable(where)
    identity = guard.read_text(where.machine_id)
    if present is not None and present.id == mine.id:
        if present.machine_id != identity:
            raise Unfit([_other_machine(present, identity)], identity)
        return present, False
    missing = _whose(wanted, where) + fitness.lacks(wanted, where)
    if missing:
        raise Unfit(missing, identity)
    made = Claim(
        mine.id,
        mine.cluster,
        mine.namespace,
        mine.machine,
        identity,
        now_rfc3339(),
    )
    if not check:
        # The number of a cluster that this host served before means nothing to the next.
        _unlink(os.path.join(where.node.state, "fencing"))
        if run.fencing is not None:
            guard.compare_number(os.path.join(where.node.state, "fencing"), run.fencing, "", keep=True)
        text = json.dumps(made.document(), indent=2, sort_keys=True) + "\n"
        guard.write_atomically(where.claim, text.encode())
    return made, True


def _other_machine(present: Claim, identity: str) -> Missing:
    return Missing(
        "MachineID",
        f"the host carries a claim of {present.owner()} made for machine-id {present.machine_id}, but its machine-id is"
        f" {identity or 'missing'}: it is a copy of another host, or was installed again around the file",
        "Where it is the same host, write the claim's machine-id back to /etc/machine-id, and start it again. Else have the machine replaced.",
    )


def _whose(wanted: Wanted, places: HostPlaces) -> list[Missing]:
    try:
        found = carries(read_claim(places), places)
    except NodeError as error:
        return [Missing("Claim", error.what, error.fix)]
    ours = wanted.ca_cert_hash and host_facts.ca_cert_hash(places) == wanted.ca_cert_hash
    return [] if found is None or (found.check == FOREIGN and ours) else [found]


def carries(present: t.Optional[Claim], places: HostPlaces) -> t.Optional[Missing]:
    """Return why a host isn't free: its claim, or what it carries.

    None for a free host. Whether a cluster is alive can't be seen on one host: it may be stopped.
    """
    if present is not None:
        fix = (
            "Take another host, or delete that machine in its own store. Never wipe a host whose etcd is still a member. Where no store has "
            f"that machine on this host any more, wipe it: {leftovers.WIPE}."
        )
        return Missing("Claim", f"claimed by {present.owner()} since {present.claimed_at}", fix)
    evidence = host_facts.evidence(places)
    if not evidence:
        return None
    authority = host_facts.ca_cert_hash(places)
    whose = f" with the CA {authority}" if authority else ""
    return Missing(
        FOREIGN,
        f"the host carries a cluster{whose}, or what one left: {', '.join(evidence)}",
        "Take another host, or adopt that cluster. Never wipe a host whose etcd is still a member. Where none of it is needed any more, "
        f"wipe it: {leftovers.WIPE}.",
    )


@dataclass(frozen=True)
class Release:
    """Release of a host: the claim's id, its machine, and the consent.

    ``id`` is "" where none was ever recorded.

    ``released_before``: an earlier call began this release, so that a host that is another cluster's by now is no contradiction.
    ``whole_cluster``: every etcd member of the machine's cluster goes.
    ``consented``: the id of the claim that the consent is for, "" for none; None for a consent to whatever is there.
    """

    id: str
    machine: str
    ca_cert_hash: str = ""
    released_before: bool = False
    whole_cluster: bool = False
    consent: bool = False
    consented: t.Optional[str] = None


def release(
    wanted: Release,
    *,
    check: bool,
    places: t.Optional[HostPlaces] = None,
    undo: t.Optional[t.Callable[..., bool]] = None,
    leave: t.Optional[t.Callable[..., bool]] = None,
    run: Run = NO_LOCK,
) -> tuple[bool, str]:
    """Reset this host and release its claim; return whether changed, with message.

    What kubeadm made on the host is undone.

    On a full disk the run's number can't be kept before the reset has made room, and is only compared. That is safe: a machine that is to be
    deleted never becomes another one again, so that every later run does the same to this claim; the reset looks at etcd's members itself; and
    until the claim is given up, no other machine is here. It is given up after the number was kept, so that no older run claims the host again.

    Raises:
        NodeError: the host carries something else than what was claimed, or is still an etcd member beside others.
        Fenced: a later run of the same cluster has been here.
        Unwritable: also after the reset the number can't be kept, and the claim stays; or the file system is read-only.
    """
    # Imported here: they are half of all that a host would load to be checked or claimed.
    from ..bootstrap import reset
    from ..endpoint import departure

    where = places or HostPlaces()
    unkept: t.Optional[guard.Unwritable] = None
    with guard.exclusive(where.node.state) if not check else contextlib.nullcontext():
        try:
            _compare(run, where, keep=not check)
        except guard.Unwritable as error:
            unkept = error
    present = read_claim(where) if not wanted.consent else _claim_if_readable(where)
    found = host_facts.evidence(where)
    # Also with a consent: given for what was there before, it would wipe the next owner's.
    bound = wanted.released_before or wanted.consented is not None
    if present is not None and bound and present.id not in (wanted.id, wanted.consented):
        return False, f"the host is {present.owner()}'s since {present.claimed_at}, and was left as it is"
    other = _something_else(wanted, present, found, where)
    if other and not wanted.consent:
        raise NodeError(
            f"This host carries something else than what was claimed: {other}.",
            "Nothing on it was changed. Look at it: wiping it loses what it carries for ever, and needs your consent.",
        )
    if not found and present is None and not os.path.exists(where.claim):
        if unkept is not None:
            raise unkept
        return False, "nothing of the machine was left on the host"
    # By hand the cluster on this host is meant, whosever it is. A run means its own: another one's members stay. A CA alone proves nothing:
    # a user may have given several clusters the same.
    by_hand = not (wanted.id or wanted.ca_cert_hash or run.cluster_id)
    whole_cluster = wanted.whole_cluster and (by_hand or not other)
    # Before the host leaves its endpoint.
    reset.require_no_other_etcd(where, consent=wanted.consent)
    # A run without a consent has removed the member, whose etcd has ended since.
    known = whole_cluster or reset.require_no_membership(where.node) or not wanted.consent
    note = "" if known else UNKNOWN_MEMBER
    if check:
        return True, f"the host would be reset and released{note}"
    # The endpoint's address goes to another host while there is an API server here yet.
    (leave or departure.leave)(check=False)
    (undo or reset.reset)(
        discard_etcd_data=True, check=False, whole_cluster=whole_cluster, places=where.node, proc=where.proc
    )
    _wait_for_the_end(where)
    with guard.exclusive(where.node.state):
        left = host_facts.evidence(where)
        if left:
            raise NodeError(
                f"This is still on the host: {', '.join(left)}.",
                "No cluster takes the host until it is gone. Look what holds it, a mount or a program that runs on, and run again.",
            )
        if unkept is not None:
            _compare(run, where, keep=True)
        _unlink(os.path.join(where.node.state, "fencing"))
        _unlink(where.claim)
    return True, f"the host was reset and released{note}"


def _wait_for_the_end(where: HostPlaces) -> None:
    # Their containers were removed; a large etcd or API server still takes a moment to go.
    deadline = time.monotonic() + settings.END_SECONDS
    while host_facts.running(where) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def is_of_another(identity: str, places: t.Optional[HostPlaces] = None) -> bool:
    """Return whether this host has another, readable claim."""
    found = _claim_if_readable(places or HostPlaces())
    return found is not None and found.id != identity


def _claim_if_readable(where: HostPlaces) -> t.Optional[Claim]:
    try:
        return read_claim(where)
    except NodeError:
        return None


def _something_else(wanted: Release, present: t.Optional[Claim], found: t.Sequence[str], where: HostPlaces) -> str:
    """Return what the host carries that isn't the machine's.

    "" where nothing says so.
    """
    carried = host_facts.ca_cert_hashes(where)
    if present is not None and present.id != wanted.id:
        return f"it is claimed by {present.owner()} since {present.claimed_at}, not by machine {wanted.machine}"
    if carried and wanted.ca_cert_hash and wanted.ca_cert_hash not in carried:
        return f"it carries a cluster with the CA {carried[0]}, and this cluster's is {wanted.ca_cert_hash}"
    if present is None and found and wanted.ca_cert_hash not in carried and not _started(wanted, where):
        return f"it carries {', '.join(found)}, and nothing on it says that it is machine {wanted.machine}'s"
    return ""


def _started(wanted: Release, where: HostPlaces) -> bool:
    # The record of the bootstrap that this collection began there for this machine.
    try:
        with open(where.node.record, encoding="utf-8") as file:
            return bool(json.load(file).get("step") == f"bootstrap-{wanted.machine}")
    except (OSError, ValueError, AttributeError):
        return False


def _unlink(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
