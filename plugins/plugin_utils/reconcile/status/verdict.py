# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdict on a cluster: what is wrong, and what next. Pure."""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import clip, shortened
from ...decision import decision_text, terms
from ...documents.names import typed_name
from ...objects.conditions import READY, UP_TO_DATE
from .folded import by_cause

Object = dict[str, t.Any]

UNHEALTHY, BLOCKED, OUTDATED = "unhealthy", "blocked", "outdated"
# Worst first: what control_plane_fail_when takes, and by what a fleet is sorted.
TROUBLES = (UNHEALTHY, BLOCKED, OUTDATED)
HEALTHY = "healthy"
SHOWN_NAMES = 5
_LONGEST = 400
_DELETIONS = (terms.DELETE_MACHINES, terms.DELETE_INFRASTRUCTURE)


def trouble(data: Object, decision: Object, unfinished: t.Optional[Object]) -> dict[str, list[str]]:
    """Return what is wrong with a cluster, in words, by TROUBLES.

    - unhealthy: an API server, the endpoint, etcd, or a machine that had joined does not work, or nothing is known of them.
    - blocked: nothing more is done until a person acts.
    - outdated: the cluster is not as the stored manifest says, a run would wait for something, or an Action or a rotation of
      certificate authorities has not ended.

    Args:
        data: the status data, without its verdict.
        decision: the decision about the same snapshot.
        unfinished: as in_place.unfinished returns it.
    """
    action = decision["action"]
    found = {
        UNHEALTHY: _unhealthy(data),
        BLOCKED: [clip(each["message"], _LONGEST) for each in decision["blockedOn"]] if action == terms.BLOCKED else [],
        OUTDATED: _outdated(data),
    }
    if action not in terms.ENDINGS and not found[OUTDATED]:
        found[OUTDATED] = [f"still to do: {clip(decision_text.verb(decision), _LONGEST)}"]
    # A run that waits has not found the cluster settled, whatever for.
    if (action == terms.POSTPONED or (action == terms.WAIT and not found[UNHEALTHY])) and not found[OUTDATED]:
        found[OUTDATED] = [clip(each["message"], _LONGEST) for each in decision["blockedOn"]]
    if action == terms.NONE and unfinished and not found[OUTDATED]:
        found[OUTDATED] = [clip(unfinished["message"], _LONGEST)]
    return found


def _unhealthy(data: Object) -> list[str]:
    if not data["machines"]:
        return ["no machine exists yet"]
    if not data["reachable"]:
        why = clip(data["message"], _LONGEST)
        return [f"no machine's API server answers{f': {why}' if why else ''}"]
    found = []
    endpoint = data["endpoint"]
    if endpoint["answers"] is False:
        found.append(f"the endpoint {endpoint['address']} does not answer")
    elif endpoint["answers"] is None and endpoint["address"]:
        found.append(f"whether the endpoint {endpoint['address']} answers is not known")
    found += _etcd(data["etcd"])
    joined = [
        each
        for each in data["machines"]
        if not each["deleting"] and (each["node"] or each["bootstrap"] == terms.FAILED)
    ]
    not_ready = [each["name"] for each in joined if _status_of(each, READY) != terms.TRUE]
    if not_ready:
        found.append(f"not ready: {shortened(not_ready, SHOWN_NAMES)}")
    elif not joined:
        found.append("no machine has joined yet")
    return found + _workers_not_ready(data)


def _workers_not_ready(data: Object) -> list[str]:
    listed = [each for deployment in data["machineDeployments"] for each in deployment["machines"]]
    joined = [each for each in listed if not each["deleting"] and (each["node"] or each["bootstrap"] == terms.FAILED)]
    names = [each["name"] for each in joined if _status_of(each, "Ready") != terms.TRUE]
    return [f"workers not ready: {shortened(names, SHOWN_NAMES)}"] if names else []


def _etcd(etcd: Object) -> list[str]:
    if etcd.get("external"):
        return [] if etcd["answers"] else [f"the external etcd: {clip(etcd['message'], _LONGEST)}"]
    if not etcd["known"]:
        return [f"etcd is not known: {clip(etcd['message'], _LONGEST)}"]
    found = [f"etcd alarm {each['alarm']} on {each['member']}" for each in etcd["alarms"]]
    sick = [each["name"] for each in etcd["members"] if each["healthy"] is not True]
    if sick:
        found.append(f"etcd members that are not healthy: {shortened(sick, SHOWN_NAMES)}")
    elif not etcd["leader"]:
        found.append("etcd's members agree on no leader")
    if etcd.get("agrees") is False:
        found.append("etcd's members disagree about the member list")
    return found


def _outdated(data: Object) -> list[str]:
    replicas, found = data["replicas"], []
    if replicas["existing"] != replicas["desired"]:
        found.append(f"{replicas['existing']} of {replicas['desired']} machines exist")
    old = [each["name"] for each in data["machines"] if _status_of(each, UP_TO_DATE) == terms.FALSE]
    if old:
        found.append(f"not up to date: {shortened(old, SHOWN_NAMES)}")
    for each in data["machineDeployments"]:
        counted = each["replicas"]
        if counted["existing"] != counted["desired"]:
            found.append(f"{each['name']}: {counted['existing']} of {counted['desired']} workers exist")
        old = [worker["name"] for worker in each["machines"] if _status_of(worker, "UpToDate") == terms.FALSE]
        if old:
            found.append(f"workers not up to date: {shortened(old, SHOWN_NAMES)}")
    return found


def _status_of(machine: Object, kind: str) -> str:
    return next((str(each["status"]) for each in machine["conditions"] if each["type"] == kind), terms.UNKNOWN)


def what_next(decision: Object, paused: bool, host: str, unfinished: t.Optional[Object]) -> Object:
    """Return what comes next, and what to type for it.

    Args:
        decision: the decision.
        paused: whether the cluster is paused.
        host: the cluster's host in the inventory.
        unfinished: as in_place.unfinished returns it.

    Returns:
        ``message``: what reconcile would do, or what is waited for; ``todo``: what a person does, a line each, [] where nothing;
        ``command``: what to type, "" where it is not one command.
    """
    action = decision["action"]
    if action in (terms.WAIT, terms.POSTPONED, terms.BLOCKED):
        held = decision["blockedOn"]
        todo = dict.fromkeys(str(each["fix"]) for each in held if each.get("fix"))
        return {
            "message": "; ".join(by_cause(str(each["message"]) for each in held)),
            "todo": list(todo),
            "command": "",
        }
    message = decision_text.describe(decision)
    if action == terms.NONE or paused:
        return {"message": message, "todo": [str(unfinished["fix"])] if unfinished else [], "command": ""}
    name = typed_name(host, "CLUSTER")
    playbook = f"delete -e control_plane_delete={name}" if action in _DELETIONS else "reconcile"
    return {
        "message": message,
        "todo": [],
        "command": f"ansible-playbook -i INVENTORY kubeadm.control_plane.{playbook} --limit {name}",
    }


def words(found: t.Mapping[str, t.Sequence[str]]) -> str:
    """Return the verdict in capitals, as "UNHEALTHY, BLOCKED"."""
    return ", ".join(each.upper() for each in TROUBLES if found[each]) or HEALTHY.upper()


def worst(found: t.Mapping[str, t.Sequence[str]]) -> str:
    """Return the worst kind of trouble, "healthy" where there is none."""
    return next((each for each in TROUBLES if found[each]), HEALTHY)


def rank(found: t.Mapping[str, t.Sequence[str]]) -> tuple[bool, ...]:
    """Return by what clusters are sorted, the worst first."""
    return tuple(not found[each] for each in TROUBLES)
