# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan is frozen whole: numbers, names, Nodes, commands, hashes (docs/reference/kubeadm_operator.md, "Defects")."""

from __future__ import annotations

import dataclasses

import pytest
from operator_cases import action, document, facts, group, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import action_text, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.custom import plan as custom
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import RefusedAction


def test_order_numbers_are_unique_dense_and_in_the_order_of_the_list() -> None:
    """Defects 4 to 6: the list's order holds for any names and for more than 99 groups."""
    names = [f"{chr(ord('z') - number % 26)}-{number}" for number in range(120)]
    plan = freeze.freeze(hub(action(*(group(name) for name in names))), facts())
    groups = plan["groups"]
    assert [each["order"] for each in groups] == [f"{number:03d}" for number in range(1, 121)]
    assert [each["name"] for each in groups] == [f"first-{number:03d}-{name}" for number, name in enumerate(names, 1)]
    assert sorted(each["name"] for each in groups) == [each["name"] for each in groups]
    two = freeze.freeze(hub(action(group("b"), group("a"))), facts())["groups"]
    assert [each["name"] for each in two] == ["first-01-b", "first-02-a"]


def test_nodes_are_in_alphabetical_order() -> None:
    nodes = [node(f"node-{number}") for number in (10, 2, 1)]
    plan = freeze.freeze(hub(action(group("a"))), facts(*nodes))
    assert plan["groups"][0]["nodes"] == ["node-1", "node-10", "node-2"]


def test_head_is_the_first_node_and_tail_the_others() -> None:
    """Defect 7: of the Nodes at the start, for good."""
    groups = [group("head", nodeFilter="Head"), group("tail", nodeFilter="Tail"), group("all", selector={})]
    plan = freeze.freeze(hub(action(*groups)), facts())
    assert [each["nodes"] for each in plan["groups"]] == [
        ["cp-a"],
        ["cp-b", "cp-c"],
        ["cp-a", "cp-b", "cp-c", "w-1", "w-2"],
    ]


def test_a_tail_of_one_node_is_nothing_to_do_and_no_mistake() -> None:
    plan = freeze.freeze(
        hub(action(group("head", nodeFilter="Head"), group("tail", nodeFilter="Tail"))), facts(node("a"))
    )
    assert [each["name"] for each in plan["groups"]] == ["first-01-head"]


def test_a_selector_that_matches_nothing_is_refused() -> None:
    """Defect 9: never a success for nothing."""
    with pytest.raises(RefusedAction, match=r"spec.custom.workflow\[0\].nodeSelector: matches no Node.*cp-a, cp-b"):
        freeze.freeze(hub(action(group("a", selector={"matchLabels": {"zone": "x"}}))), facts())


def test_a_node_that_is_named_and_is_not_there_is_refused() -> None:
    named = {**group("a"), "nodeNames": ["cp-a", "cp-z"]}
    with pytest.raises(RefusedAction, match="'cp-z'"):
        freeze.freeze(hub(action(named)), facts())
    with pytest.raises(RefusedAction, match="'cp-z'"):
        freeze.freeze(hub(document("Task", "t", {"nodeName": "cp-z", "commands": ["pass"]})), facts())


def test_an_unreachable_node_stops_it_before_it_starts_where_it_is_needed() -> None:
    nodes = [node("cp-a"), dataclasses.replace(node("w-1", ""), reachable=False)]
    extra = {"unreachable": {"w-1": "no host of that name"}}
    assert freeze.freeze(hub(action(group("a"))), facts(*nodes, extra=extra))["groups"]
    with pytest.raises(
        RefusedAction,
        match=r"w-1 can't be reached \(no host of that name\).* of no MachineDeployment must .* group prod_workers ",
    ):
        freeze.freeze(hub(action(group("a", selector={}))), facts(*nodes, extra=extra))


def test_a_name_that_leads_to_one_that_is_too_long_is_refused() -> None:
    long = node("n" * 150)
    with pytest.raises(RefusedAction, match="too long"):
        freeze.freeze(hub(action(group("a" * 40), name="x" * 90)), facts(long))


def test_the_hashes_hold_what_was_asked_and_what_was_planned() -> None:
    one = hub(action(group("a")))
    plan = freeze.freeze(one, facts())
    assert freeze.plan_hash(plan) == plan["hash"] and plan["requestHash"] == freeze.request_hash(one)
    assert freeze.freeze(one, facts()) == plan
    for flow_field in ({"paused": True}, {"abort": True}, {"leftOut": ["a"]}):
        assert freeze.request_hash({**one, "spec": {**one["spec"], **flow_field}}) == plan["requestHash"]
    assert freeze.request_hash({**one, "spec": {**one["spec"], "executionMode": "Controlled"}}) != plan["requestHash"]
    assert freeze.request_hash(hub(action(group("a", "fail")))) != plan["requestHash"]
    plan["groups"][0]["nodes"].reverse()
    assert freeze.plan_hash(plan) != plan["hash"]


def test_the_nodes_of_a_plan_come_back_as_they_were() -> None:
    cluster = facts()
    assert freeze.nodes_of(freeze.freeze(hub(action(group("a"))), cluster)) == cluster.nodes


def test_the_parallel_policy_has_its_budget() -> None:
    wanted = {"policy": "Parallel", "maxUnavailable": 2, "selector": {}}
    [only] = custom.plan(hub(action(group("a", **wanted)))["spec"]["custom"], facts())
    assert (only.policy, only.max_unavailable) == ("Parallel", 2)


@pytest.mark.parametrize(
    "command",
    [
        {"restartComponent": {"component": "etcd"}},
        {"restartComponent": {"component": "kube-apiserver"}},
        {"kubeadmUpgradeNode": {"version": "v1.20.4"}},
        {"trustNewAuthorities": {"authorities": ["etcd"]}},
        {"changeControlPlaneConfiguration": {"patch": {}, "certificates": ["etcd-peer"]}},
    ],
)
def test_no_two_control_plane_nodes_are_without_etcd_or_api_server_at_once(command: dict[str, object]) -> None:
    """Each would hear from etcd that the others are a quorum. Workers go in parallel, and a single control plane Node beside them."""
    wanted = group("a", "pass", command, policy="Parallel", maxUnavailable=2)
    said = r"maxUnavailable: would have .* up to 2 control plane Nodes at once \(cp-a, cp-b, cp-c\): etcd could lose its quorum"
    detached = {key: value for key, value in wanted.items() if key != "name"}
    for root in (action(wanted), document("TaskGroup", "alone", detached)):
        with pytest.raises(RefusedAction, match=said):
            freeze.freeze(hub(root), facts())
    everywhere = {**wanted, "nodeSelector": {}}
    assert freeze.freeze(hub(action(everywhere)), facts(node("cp-a"), node("w-1", ""), node("w-2", "")))["groups"]
    for harmless in ({**wanted, "maxUnavailable": 1}, {**wanted, "commands": ["waitHealthy"]}):
        assert freeze.freeze(hub(action(harmless)), facts())["groups"]


def test_the_text_of_a_plan_has_every_task_in_order_with_what_it_would_run() -> None:
    command = {"command": {"argv": ["systemctl", "restart", "a b"]}}
    root = hub(action(group("b", command, "pass"), group("a", selector={}, policy="Parallel", maxUnavailable=2)))
    shown = action_text.plan_text(root, freeze.freeze(root, facts())).splitlines()
    assert shown[0] == "Action first of prod: custom, 8 Tasks in 2 TaskGroups, one TaskGroup at a time"
    assert shown[1:5] == [
        "  01 first-01-b (one Node at a time)",
        "      1. cp-a",
        "           systemctl restart 'a b'",
        "           true",
    ]
    assert "  02 first-02-a (at most 2 Nodes at a time)" in shown and shown[-2:] == ["      8. w-2", "           true"]


def test_secrets_are_in_no_plan_text() -> None:
    file = {"file": {"path": "/etc/x", "content": "geheim"}}
    module = {"module": {"name": "ansible.builtin.user", "args": {"password": "geheim"}}}
    root = hub(action(group("a", file, module)))
    shown = action_text.plan_text(root, freeze.freeze(root, facts()))
    assert "geheim" not in shown and "/etc/x" in shown and "password" in shown
