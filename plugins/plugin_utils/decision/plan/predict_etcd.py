# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prediction of etcd after a member was added or removed. Pure.

Without any failure: the part of predict.py about the membership.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from ...kubeadm.etcd_releases import release_of

Object = dict[str, Any]


def with_member(etcd: Object, name: str, begun: str, release: str = "") -> Object:
    """Return etcd once the member `name` votes.

    `begun`: the ID of the member that it has already. `release`: the etcd that the first machine of all brings, "" where that
    is not known; who joins others is taken to have the oldest of theirs.
    """
    identity = begun or hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    listed = (etcd.get("members") or []) if etcd.get("reachable") else []
    known = [member for member in listed if member.get("name") != name and member["id"] != begun]
    member = {"id": identity, "name": name, "peerURLs": [], "clientURLs": [], "isLearner": False}
    members = [*known, member]
    statuses = {each["id"]: (etcd.get("statuses") or {}).get(each["id"]) or {"healthy": False} for each in known}
    leader = etcd.get("leader") if any(each["id"] == etcd.get("leader") for each in members) else members[0]["id"]
    status: Object = {"healthy": True, "message": "", "leader": leader}
    versions = [str(each["version"]) for each in statuses.values() if each.get("version")]
    if versions:
        status["version"] = min(versions, key=lambda text: (release_of(text) or (0, 0, 0), text))
    elif release and not known:
        status["version"] = release
    return {
        "reachable": True,
        "message": "",
        "members": members,
        "memberListAgrees": True,
        "leader": leader,
        "clusterID": etcd.get("clusterID"),
        "alarms": etcd.get("alarms") or [],
        "statuses": {**statuses, identity: status},
    }


def without_member(etcd: Object, identity: str, leaders: Sequence[str] = ()) -> Object:
    """Return etcd without a member.

    Where it led, the first member of `leaders` (names, the best first) leads, else any voter.
    """
    etcd = dict(etcd)
    etcd["members"] = [member for member in etcd["members"] if member["id"] != identity]
    etcd["statuses"] = {key: value for key, value in (etcd.get("statuses") or {}).items() if key != identity}
    etcd["alarms"] = [alarm for alarm in etcd.get("alarms") or [] if alarm.get("memberID") != identity]
    if etcd.get("leader") == identity:
        voters = [member for member in etcd["members"] if not member.get("isLearner")]
        order = {name: place for place, name in enumerate(leaders)}
        voters.sort(key=lambda member: order.get(member["name"], len(order)))
        etcd["leader"] = voters[0]["id"] if voters else None
    return etcd


def seen_by_witnesses(workload: Object, change: Callable[[Object], Object]) -> None:
    """Apply the same change to what each second machine observed."""
    seen = [
        dict(each, etcd=change(each["etcd"])) if each.get("etcd") else each for each in workload.get("witnesses") or []
    ]
    if seen:
        workload["witnesses"] = seen
