# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of an observation's etcd part into the snapshot's form.

Pure, on the controller (see parse.py).
"""

from __future__ import annotations

import typing as t

from ...module_utils.workload_api.untrusted import Object, identifier, integer, mapping, mappings, text, text_list


def _members(raw: t.Any) -> list[Object]:
    return [
        {
            "id": identity,
            "name": text(item.get("name")),
            "peerURLs": text_list(item.get("peerURLs")),
            "clientURLs": text_list(item.get("clientURLs")),
            "isLearner": item.get("isLearner") is True,
        }
        for item in mappings(raw)
        for identity in [identifier(item.get("id"))]
        if identity
    ]


def etcd(raw: t.Any) -> t.Optional[Object]:
    """Return ``workload.etcd``, None where it is external."""
    if not isinstance(raw, dict):
        return None
    members = _members(raw.get("members"))
    statuses: Object = {}
    for member in members:
        identity = str(member["id"])
        status = mapping(mapping(raw.get("statuses")).get(identity))
        statuses[identity] = {
            "healthy": status.get("healthy") is True,
            **{name: integer(status.get(name)) for name in ("looks", "failedLooks")},
            "message": text(status.get("message")),
            "version": text(status.get("version")),
            **{name: integer(status.get(name)) for name in ("dbSize", "dbSizeInUse", "raftTerm", "raftIndex")},
            "leader": identifier(status.get("leader")),
            "isLearner": status.get("isLearner") is True,
            "errors": text_list(status.get("errors")),
        }
    agrees = raw.get("memberListAgrees")
    alarms = [
        # An alarm of a kind that a newer etcd has is an alarm.
        {"memberID": identifier(item.get("memberID")), "alarm": text(item.get("alarm"))}
        for item in mappings(raw.get("alarms"))
        if text(item.get("alarm")) not in ("", "NONE")
    ]
    return {
        "reachable": raw.get("reachable") is True and bool(members),
        "message": text(raw.get("message")),
        "members": members,
        "memberListAgrees": agrees if isinstance(agrees, bool) else None,
        "leader": identifier(raw.get("leader")),
        "clusterID": identifier(raw.get("clusterID")),
        "alarms": alarms,
        "statuses": statuses,
    }


def stored_members(observation: t.Any) -> t.Optional[list[Object]]:
    """Return ``workload.storedMembers``, None without any."""
    listed = mapping(mapping(observation).get("machine")).get("storedMembers")
    if not isinstance(listed, list):
        return None
    listening = {identifier(each.get("id")) for each in mappings(listed) if each.get("listens") is not False}
    return [{**member, "listens": member["id"] in listening} for member in _members(listed)]


def recovery(observation: t.Any) -> t.Optional[Object]:
    """Return ``workload.recovery`` of a single-voter recovery, None without one."""
    record = mapping(mapping(mapping(observation).get("machine")).get("recovery"))
    if record.get("state") not in ("Running", "Interrupted", "Succeeded", "Failed"):
        return None
    return {
        "memberID": identifier(record.get("memberID")),
        **{name: text(record.get(name)) for name in ("state", "lost", "stage", "message")},
    }
