# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second machine's view of a real etcd cluster, and how often its members were looked at."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from api_server import ApiServer
from builders import NOW, healthy
from etcd_cluster import EtcdCluster
from filled_api import places
from observed import Machines, Node, objects_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.collect import Looks, collect
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe


@pytest.fixture(name="etcd")
def _etcd(tmp_path: Path) -> t.Iterator[EtcdCluster]:
    """Three members of the test's own, named as the machines are."""
    cluster = EtcdCluster(tmp_path / "etcd")
    try:
        yield cluster.wait_ready()
    finally:
        cluster.end()


def nodes(server: ApiServer, etcd: EtcdCluster, tmp_path: Path) -> dict[str, Node]:
    """Machines that share an API server, each with its own member of etcd."""

    def node(url: str) -> Node:
        where = replace(places(server, tmp_path), etcd_url=url, etcd_credentials=etcd.credentials)
        return lambda given: collect(Looks(3 if given["look_again"] else 1, 0.05, 3.0), None, where)

    return {member.name: node(member.client_url) for member in etcd.members}


def observed(server: ApiServer, etcd: EtcdCluster, tmp_path: Path) -> tuple[dict[str, t.Any], Machines]:
    machines = Machines(nodes(server, etcd, tmp_path))
    workload = observe(objects_of(healthy(3), tmp_path / "store"), machines, NOW)["workload"]
    # The store's clock is the test's, the API's is real: only what was observed is checked here.
    snapshot = {**healthy(3).build(), "workload": {**workload, "nodes": []}}
    assert check_snapshot(snapshot) == []
    return workload, machines


def healthy_members(etcd: dict[str, t.Any]) -> dict[str, bool]:
    return {member["name"]: etcd["statuses"][member["id"]]["healthy"] for member in etcd["members"]}


def test_nobody_else_is_asked_about_a_healthy_etcd(server: ApiServer, etcd: EtcdCluster, tmp_path: Path) -> None:
    workload, machines = observed(server, etcd, tmp_path)
    assert machines.asked == ["m3"] and workload["witnesses"] == []
    assert [(each["looks"], each["failedLooks"]) for each in workload["etcd"]["statuses"].values()] == [(1, 0)] * 3


def test_two_machines_see_a_dead_member(server: ApiServer, etcd: EtcdCluster, tmp_path: Path) -> None:
    etcd.member("m2").kill()
    workload, machines = observed(server, etcd, tmp_path)
    assert machines.asked == ["m3", "m3", "m1"]
    [witness] = workload["witnesses"]
    assert (witness["machine"], witness["reachable"]) == ("m1", True)
    expected = {"m1": True, "m2": False, "m3": True}
    assert healthy_members(witness["etcd"]) == healthy_members(workload["etcd"]) == expected
    dead = workload["etcd"]["statuses"][f"{etcd.id_of('m2'):016x}"]
    assert (dead["looks"], dead["failedLooks"]) == (3, 3)


def test_a_machine_whose_member_is_dead_is_no_witness(server: ApiServer, etcd: EtcdCluster, tmp_path: Path) -> None:
    """Asked first because it is the newest, it has no view: the others are asked."""
    etcd.member("m3").kill()
    workload, _machines = observed(server, etcd, tmp_path)
    assert workload["via"] == "m3" and workload["etcd"]["reachable"] is False
    assert [(each["machine"], each["reachable"]) for each in workload["witnesses"]] == [("m2", True)]
    assert healthy_members(workload["witnesses"][0]["etcd"]) == {"m1": True, "m2": True, "m3": False}
