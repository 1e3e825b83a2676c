# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status table: what a person reads at a glance is what the snapshot says."""

from __future__ import annotations

import typing as t

from builders import Builder, cluster, healthy, member_id
from rules import external

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status_table import (
    status_data,
    status_table,
)


def shown(builder: Builder) -> tuple[dict[str, t.Any], str]:
    """The data and the table of a snapshot."""
    snapshot = builder.build()
    data = status_data(snapshot, decide(snapshot))
    return data, status_table(data)


def test_a_healthy_control_plane() -> None:
    """Counts, version, leader and every component's state."""
    data, table = shown(healthy(3))
    assert data["replicas"] == {"desired": 3, "existing": 3, "ready": 3, "upToDate": 3}
    assert data["etcd"]["leader"] in table and "ok, leader" in table
    assert "3 voters" in table and "no alarms" in table
    assert "nothing to do" in table
    assert "BLOCKED" not in table and "NO" not in table.replace("NODE", "").replace("NOT WORKING", "")


def test_an_alarm_is_shouted() -> None:
    """An etcd alarm is in etcd's line and in what blocks, with what to do."""
    builder = healthy(3)
    name = builder.snapshot["machines"][0]["machine"]["metadata"]["name"]
    builder.workload["etcd"]["alarms"] = [{"memberID": member_id(name), "alarm": "NOSPACE"}]
    _data, table = shown(builder)
    assert f"ALARMS: NOSPACE on {name}" in table
    assert "BLOCKED" in table and "to do:" in table


def test_a_sick_member_is_named() -> None:
    """A member that does not answer is marked in etcd's line."""
    builder = healthy(3)
    name = builder.snapshot["machines"][1]["machine"]["metadata"]["name"]
    builder.sick_member(name)
    _data, table = shown(builder)
    assert "NOT HEALTHY" in table


def test_nothing_is_claimed_of_what_was_not_seen() -> None:
    """Where no machine answers, nothing is said to work or not to work."""
    data, table = shown(healthy(3).unreachable("connection refused"))
    assert data["addons"]["kubeProxy"]["works"] is None
    assert data["etcd"]["known"] is False
    assert "seen from  no machine" in table and "connection refused" in table
    assert "NOT WORKING" not in table


def test_an_add_on_that_is_being_updated_says_how_far_it_is() -> None:
    """Reconcile does not wait for kube-proxy's pods: the status tells which image they are brought to."""
    builder = healthy(3)
    proxy = {"present": True, "desired": 3, "ready": 3, "updated": 1, "image": "k8s.gcr.io/kube-proxy:v1.20.2"}
    builder.workload["addons"] = {"kubeProxy": proxy, "dns": {"present": False}}
    assert "kube-proxy: 3 of 3 ready, 1 updated to kube-proxy:v1.20.2;" in shown(builder)[1]
    proxy["updated"] = 3
    assert "kube-proxy: 3 of 3 ready;" in shown(builder)[1]


def test_before_anything_exists() -> None:
    """A cluster that is only a manifest."""
    data, table = shown(cluster(3).bare())
    assert data["replicas"]["existing"] == 0
    assert "nothing yet running" in table and "none yet" in table
    assert "run the playbook reconcile" in table


def test_gates_and_window_are_shown_where_they_are_set() -> None:
    """One line each, and one for each gate that is not met; nothing where there are none."""
    _data, table = shown(healthy(3))
    assert "gates" not in table and "window" not in table
    builder = healthy(3)
    builder.snapshot["readinessGates"] = [
        {"name": "web", "status": "True", "message": ""},
        {"name": "shop", "status": "False", "message": "Deployment shop/web does not exist"},
        {"name": "freeze", "status": "Unknown", "message": "x\n" * 1000},
    ]
    builder.snapshot["maintenance"] = {
        "open": False,
        "message": "0 2 * * 6 Europe/Berlin for 4 h",
        "opensAt": "2026-02-07T01:00:00Z",
        "closesAt": "2026-02-07T05:00:00Z",
    }
    data, table = shown(builder)
    assert "gates      1 of 3 met" in table and "shop: NOT MET: Deployment shop/web does not exist" in table
    assert "freeze: unknown" in table and max(map(len, table.splitlines())) < 500
    assert "window     closed, opens 2026-02-07T01:00:00Z" in table
    assert data["maintenance"]["open"] is False and len(data["readinessGates"]) == 3


def test_an_open_and_an_unreadable_window() -> None:
    """Open until when; or why that can't be told."""
    builder = healthy(3)
    window = {"open": True, "message": "m", "opensAt": "2026-01-31T11:00:00Z", "closesAt": "2026-01-31T13:00:00Z"}
    builder.snapshot["maintenance"] = window
    assert "window     open until 2026-01-31T13:00:00Z (m)" in shown(builder)[1]
    builder.snapshot["maintenance"] = {"open": None, "message": "no time zone", "opensAt": None, "closesAt": None}
    assert "window     unknown: no time zone" in shown(builder)[1]


def test_an_external_etcd() -> None:
    """Whether it answers, and if not why; it has no members of ours."""
    _data, table = shown(external(healthy(3), {"reachable": True, "message": ""}))
    assert "etcd       external: it answers" in table
    _data, table = shown(external(healthy(3), {"reachable": False, "message": "https://etcd:2379 does not answer"}))
    assert "etcd       external: NOT WORKING: https://etcd:2379 does not answer" in table
    _data, table = shown(external(healthy(3)))
    assert "etcd       not known: not asked" in table


def test_nodes_without_a_network_plugin_are_named_with_the_way_out() -> None:
    """For as long as their kubelets say so, whatever is next."""
    builder = healthy(3, replicas=5).node("m2", ready="False")
    assert "NO NETWORK PLUGIN" not in shown(builder)[1]
    builder.workload["nodes"][-1]["networkReady"] = False
    data, table = shown(builder)
    assert data["withoutNetworkPlugin"] == ["m2"]
    assert "network    NO NETWORK PLUGIN on m2: no pod can run there" in table and "ClusterResourceSet" in table


def test_drift_is_shown_whatever_is_next() -> None:
    """Also while something else is to be done."""
    builder = healthy(3, replicas=5)
    found = {"node": "m1", "component": "kube-scheduler", "flag": "v", "kind": "changed"}
    builder.workload["staticPodDrift"] = [found]
    _data, table = shown(builder)
    assert "drift      kube-scheduler of m1: --v has another value" in table
