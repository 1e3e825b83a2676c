# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines leave the control plane's endpoint while a Task stops their API server."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from operator_cases import action, facts, group, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import (
    catalogue,
    freeze,
    stopped_api_servers,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import ClusterFacts

Object = dict[str, t.Any]
RESTART: Object = {"restartComponent": {"component": "etcd"}}


def frozen(known: ClusterFacts) -> Object:
    """A plan over these Nodes."""
    return freeze.freeze(hub(action(group("a"))), known)


def task(name: str, *commands: t.Any) -> Object:
    """A Task of a Node."""
    return {"spec": {"nodeName": name, "commands": list(commands)}}


@pytest.mark.parametrize(
    ("command", "stops"),
    [
        ({"kubeadmUpgradeApply": {"version": "v1.21.0"}}, True),
        ({"kubeadmUpgradeNode": {"version": "v1.21.0"}}, True),
        ({"restartComponent": {"component": "etcd"}}, True),
        ({"restartComponent": {"component": "kube-apiserver"}}, True),
        ({"restartComponent": {"component": "kube-scheduler"}}, False),
        ({"trustNewAuthorities": {"authorities": ["ca"]}}, True),
        ({"issueFromNewAuthorities": {"authorities": ["ca"]}}, True),
        ({"dropOldAuthorities": {"authorities": ["ca"]}}, True),
        ({"kubectlDrain": {}}, False),
        ({"renewKubeletClientCertificate": {}}, False),
        ({"pass": {}}, False),
        ({"of another release": {}}, False),
        ({"restartComponent": {"component": "nonsense"}}, False),
        ("restartComponent", False),
    ],
)
def test_what_stops_an_api_server(command: t.Any, stops: bool) -> None:
    assert bool(catalogue.stops_api_server([{"pass": {}}, command])) is stops


@pytest.mark.parametrize(
    ("components", "stops"),
    [(["kube-scheduler"], False), ([], False), (["kube-apiserver"], True), (["kube-scheduler", "etcd"], True)],
)
def test_a_change_stops_it_by_the_components_that_it_changes(components: list[str], stops: bool) -> None:
    change = {"patch": {}, "changes": ["a change"], "components": components}
    assert bool(catalogue.stops_api_server([{"changeControlPlaneConfiguration": change}])) is stops


def test_the_machine_of_the_node_that_it_is_done_on_leaves() -> None:
    plan = frozen(facts(node("cp-a", machine="machine-a"), node("cp-b", machine="machine-b"), node("w-1", "")))
    assert stopped_api_servers.leaving(plan, [task("cp-a", RESTART)]) == ("machine-a",)
    assert stopped_api_servers.leaving(plan, [task("cp-b", {"pass": {}}, RESTART)]) == ("machine-b",)
    assert stopped_api_servers.leaving(plan, [task("cp-a", {"pass": {}})]) == ()
    assert stopped_api_servers.leaving(plan, []) == ()


def test_a_worker_is_behind_no_endpoint() -> None:
    assert (
        stopped_api_servers.leaving(frozen(facts()), [task("w-1", {"kubeadmUpgradeNode": {"version": "v1.21.0"}})])
        == ()
    )


def test_one_always_stays() -> None:
    """A single Node, or all at once, would leave nobody to answer."""
    single = frozen(facts(node("cp-a"), node("w-1", "")))
    assert stopped_api_servers.leaving(single, [task("cp-a", RESTART)]) == ()
    every = [task(name, RESTART) for name in ("cp-a", "cp-b", "cp-c")]
    assert stopped_api_servers.leaving(frozen(facts()), every) == ()
    assert stopped_api_servers.leaving(frozen(facts()), every[:2]) == ("cp-a", "cp-b")


def test_where_no_api_server_answers_nobody_is_spared() -> None:
    assert (
        stopped_api_servers.leaving(frozen(dataclasses.replace(facts(), api_answers=False)), [task("cp-a", RESTART)])
        == ()
    )


def test_a_node_without_a_machine_is_behind_no_endpoint_of_ours() -> None:
    plan = frozen(facts(node("cp-a", machine=""), node("cp-b")))
    assert stopped_api_servers.leaving(plan, [task("cp-a", RESTART)]) == ()


def test_a_task_that_somebody_edited_away_is_none() -> None:
    assert stopped_api_servers.leaving(frozen(facts()), [{"spec": {}}, task("cp-a")]) == ()
