# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observations that lack something or contradict themselves, each with the worst world that it may be taken of."""

from __future__ import annotations

from typing import Any, Optional

from model.configuration import Configuration
from model.render import id_of, leaders
from model.world import DOWN, World

Object = dict[str, Any]


def partial(configuration: Configuration, world: World, kind: str, snapshot: Object) -> Optional[tuple[Object, World]]:
    """An observation that lacks something, and the worst world that it may be taken of; None where it makes no sense here."""
    workload = snapshot.get("workload") or {}
    etcd = workload.get("etcd")
    ups = leaders(world)
    if kind == "nobody answers" and workload.get("reachable"):
        nothing = {
            "reachable": False,
            "via": None,
            "message": "connection refused",
            "initialized": None,
            "nodes": [],
            "pods": {},
            "etcd": None,
        }
        return {
            **snapshot,
            "workload": {**workload, **nothing, "endpoint": {"answers": None, "message": ""}, "witnesses": []},
        }, world
    if kind == "endpoint unknown" and world.infrastructure:
        return {**snapshot, "workload": {**workload, "endpoint": {"answers": None, "message": "no route"}}}, world
    if not etcd:
        return None

    def with_etcd(**fields: Any) -> Object:
        return {**snapshot, "workload": {**workload, "etcd": {**etcd, **fields}}}

    if kind == "etcd unreachable":
        nothing = {
            "reachable": False,
            "members": [],
            "statuses": {},
            "leader": None,
            "memberListAgrees": None,
            "clusterID": None,
        }
        return with_etcd(**nothing, message="context deadline exceeded"), world
    if kind == "lists differ" and len(etcd["members"]) > 1:
        return with_etcd(memberListAgrees=False), world
    if kind == "lists unknown" and len(etcd["members"]) > 1:
        return with_etcd(memberListAgrees=None), world
    if kind == "no leader":
        return with_etcd(leader=None), world
    if kind == "a member silent" and ups:
        # Nobody knows whether it lives: what is done must be right where it does not.
        index = ups[0]
        statuses = {key: value for key, value in etcd["statuses"].items() if key != id_of(index)}
        worst = list(world.hosts)
        worst[index] = worst[index]._replace(member=DOWN)
        found = with_etcd(statuses=statuses, leader=id_of(ups[-1]) if len(ups) > 1 else None)
        return found, world._replace(hosts=tuple(worst))
    if kind == "an alarm" and ups:
        index = ups[0]
        worst = list(world.hosts)
        worst[index] = worst[index]._replace(member=DOWN)
        found = with_etcd(alarms=[{"memberID": id_of(index), "alarm": "CORRUPT"}])
        return found, world._replace(hosts=tuple(worst))
    if kind == "one-sided view" and ups and workload["witnesses"]:
        index = ups[0]
        sick = {"healthy": False, "message": "context deadline exceeded", "looks": 3, "failedLooks": 3}
        worst = list(world.hosts)
        worst[index] = worst[index]._replace(member=DOWN)
        found = with_etcd(
            statuses={**etcd["statuses"], id_of(index): sick}, leader=id_of(ups[-1]) if len(ups) > 1 else None
        )
        return found, world._replace(hosts=tuple(worst))
    if kind == "no witness" and workload["witnesses"]:
        silent = [{**each, "reachable": False, "message": "timed out", "etcd": None} for each in workload["witnesses"]]
        return {**snapshot, "workload": {**workload, "witnesses": silent}}, world
    return None
