# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Following a plan: the right step in every state, also where a run was killed in one; and what differs where the cluster has left it."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from builders import NOW, Builder, cluster, healthy, member_id
from reality import carry_out
from rules import in_progress, runs, seen, upgrade, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.follow import (
    Position,
    departure,
    fixed_name,
    names_ahead,
    position,
)

Object = dict[str, Any]


def names() -> Callable[[str], str]:
    left = [f"prod-{each}" for each in "zyxwvutsr"]
    return lambda domain: left.pop(0)


def made(builder: Builder) -> Object:
    return make_plan(builder.build(), NOW, names())


def where(plan: Object, builder: Builder) -> Position:
    snapshot = builder.build()
    decision = decide(snapshot)
    found = position(plan, snapshot, decision)
    # Wherever a run begins, what it would do is what is left of the plan.
    assert found.step is None or departure(plan, found.step, snapshot, decision) is None
    return found


def number(found: Position) -> Any:
    return "end" if found.ended else found.step["step"] if found.step is not None else None


def stepped(builder: Builder, plan: Object, count: int) -> Builder:
    """The builder after so many steps of the plan were really carried out."""
    for _step in range(count):
        snapshot = builder.build()
        decision = decide(snapshot)
        step = position(plan, snapshot, decision).step
        assert step is not None
        name = fixed_name(step)
        target = {**decision["target"], "name": name} if decision["target"] else None
        carry_out(builder, {**decision, "target": target})
    return builder


@pytest.mark.parametrize("builder", [cluster(3).bare(), upgrade(healthy(3)), healthy(5, replicas=3)])
def test_a_plan_is_followed_from_its_first_step_to_its_end(builder: Builder) -> None:
    plan = made(builder)
    for step in plan["steps"]:
        assert number(where(plan, builder)) == step["step"]
        stepped(builder, plan, 1)
    assert number(where(plan, builder)) == "end"


def test_the_names_are_fixed() -> None:
    builder = cluster(3).bare()
    builder.snapshot["infrastructureCluster"]["spec"]["failureDomains"] = [
        {"name": each, "controlPlane": True} for each in "abc"
    ]
    plan = made(builder)
    stepped(builder, plan, 2)
    step = where(plan, builder).step
    assert step is not None and fixed_name(step) == "prod-z"
    assert names_ahead(plan, step) == [("prod-y", "b"), ("prod-x", "c")]


def killed_in_a_join(builder: Builder) -> None:
    builder.machine("prod-x", "Running", age=20, init=False)


def killed_before_kubeadm(builder: Builder) -> None:
    builder.machine("prod-x", "", age=20, init=False)


def killed_with_a_silent_member(builder: Builder) -> None:
    builder.machine("prod-x", "Running", age=20, init=False).member("prod-x", unnamed=True, address="10.0.0.3")


def killed_before_its_node_was_labelled(builder: Builder) -> None:
    builder.machine("prod-x", "Running", age=20, init=False)
    builder.workload.update(workerNodes=["prod-x"], workerVersions={"v1.20.2": 1})


@pytest.mark.parametrize(
    "killed",
    [killed_in_a_join, killed_before_kubeadm, killed_with_a_silent_member, killed_before_its_node_was_labelled],
)
def test_a_run_that_was_killed_in_a_join_goes_on_with_that_step(killed: Callable[[Builder], None]) -> None:
    builder = cluster(3).bare()
    plan = made(builder)
    stepped(builder, plan, 4)
    killed(builder)
    assert number(where(plan, builder)) == 5


def test_a_run_that_was_killed_in_the_first_machine_goes_on_with_it() -> None:
    builder = cluster(3).bare()
    plan = made(builder)
    stepped(builder, plan, 2)
    builder.machine("prod-z", "Running", age=20)
    assert number(where(plan, builder)) == 3


def test_certificates_that_are_half_made_are_gone_on_with() -> None:
    builder = cluster(3).bare()
    plan = made(builder)
    stepped(builder, plan, 1)
    builder.snapshot["certificates"]["ca"].update(present=True, hasKey=True)
    assert number(where(plan, builder)) == 2


OLD_PROXY, PROXY = "k8s.gcr.io/kube-proxy:v1.19.9", "k8s.gcr.io/kube-proxy:v1.20.2"
OLD_DNS, DNS = "k8s.gcr.io/coredns:1.7.0", "k8s.gcr.io/coredns:1.7.1"


@pytest.mark.parametrize(
    ("planned", "now", "step"),
    [
        ((OLD_PROXY, OLD_DNS), (PROXY, OLD_DNS), 1),
        ((OLD_PROXY, OLD_DNS), (OLD_PROXY, DNS), 1),
        ((OLD_PROXY, DNS), (OLD_PROXY, OLD_DNS), None),
        ((OLD_PROXY, DNS), (PROXY, OLD_DNS), None),
    ],
)
def test_an_add_on_that_nobody_approved_is_not_updated(planned: Any, now: Any, step: Any) -> None:
    """Of several that a killed run has begun with only those are left that were approved."""
    builder = runs(healthy(3), *planned)
    for spec in (
        builder.spec["kubeadmConfigSpec"],
        *(each["kubeadmConfig"]["spec"] for each in builder.snapshot["machines"]),
    ):
        spec["clusterConfiguration"]["dns"] = {"imageTag": "1.7.1"}
    plan = made(builder)
    assert plan["steps"][0]["action"] == "updateAddons"
    found = where(plan, runs(builder, *now))
    assert number(found) == step
    assert step or any(each["path"].startswith("addons") for each in found.differences)


def resources(**hashes: str) -> Object:
    listed = [
        {"kind": "ConfigMap", "name": name, "state": "present", "hash": value, "applied": False, "appliedHash": ""}
        for name, value in hashes.items()
    ]
    return {"name": "cni", "strategy": "Reconcile", "paused": False, "message": "", "resources": listed}


@pytest.mark.parametrize(
    ("now", "step"), [({"y": "2"}, 1), ({"x": "1", "y": "3"}, None), ({"x": "1", "y": "2", "z": "4"}, None)]
)
def test_contents_that_nobody_approved_are_not_applied(now: Any, step: Any) -> None:
    """A set was edited after the plan was made; a killed run has applied the first resource."""
    builder = healthy(3)
    builder.snapshot["resourceSets"] = [resources(x="1", y="2")]
    plan = made(builder)
    assert plan["steps"][0]["action"] == "applyResourceSets"
    builder.snapshot["resourceSets"] = [resources(**now)]
    assert number(where(plan, builder)) == step


def test_an_authority_that_was_there_is_not_made_with_those_that_were_not() -> None:
    builder = cluster(3).bare()
    stepped(builder, made(builder), 1)
    builder.snapshot["certificates"]["ca"].update(present=True, hasKey=True)
    plan = made(builder)
    builder.snapshot["certificates"]["ca"].update(present=False, hasKey=False)
    assert plan["steps"][0]["action"] == "createCertificates" and number(where(plan, builder)) is None


def marked_only(builder: Builder) -> None:
    builder.deleting("m3")


def member_gone(builder: Builder) -> None:
    builder.deleting("m3").without_member("m3")


def node_gone(builder: Builder) -> None:
    builder.deleting("m3").without_member("m3")
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m3"]
    builder.workload["pods"].pop("m3")


@pytest.mark.parametrize("killed", [marked_only, member_gone, node_gone])
def test_a_run_that_was_killed_in_a_removal_goes_on_with_it(killed: Callable[[Builder], Any]) -> None:
    builder = witness(healthy(3).sick_member("m3").marked("m3"), "m2")
    plan = made(builder)
    assert [step["action"] for step in plan["steps"]] == ["remove", "join"]
    in_progress(builder, "m3", seconds=1)
    builder.snapshot["workload"].pop("witnesses")
    killed(builder)
    assert number(where(plan, builder)) == 1


def test_a_killed_step_is_gone_on_with_only_if_nothing_else_has_changed() -> None:
    builder = cluster(3).bare()
    plan = made(builder)
    stepped(builder, plan, 4)
    killed_in_a_join(builder)
    builder.annotate("cluster.x-k8s.io/delete-machine", "", "prod-y")
    found = where(plan, builder)
    assert number(found) is None
    assert "machines.prod-y.marks" in [each["path"] for each in found.differences]


def test_another_name_than_the_planned_one_is_not_gone_on_with() -> None:
    builder = cluster(3).bare()
    plan = made(builder)
    stepped(builder, plan, 4).machine("prod-other", "Running", age=20, init=False)
    found = where(plan, builder)
    assert number(found) is None
    assert {"path": "machines.prod-other", "expected": "not there", "observed": "there"} in found.differences


def test_a_join_that_failed_leaves_the_plan() -> None:
    builder = cluster(3).bare()
    plan = made(builder)
    stepped(builder, plan, 4).machine("prod-x", "Failed", age=20, init=False)
    found = where(plan, builder)
    assert number(found) is None
    assert {
        "path": "machines.prod-x.bootstrap",
        "expected": "Succeeded",
        "observed": "Failed",
    } in found.differences


def test_a_difference_names_paths_with_what_is_expected_and_observed() -> None:
    builder = healthy(3, replicas=5)
    plan = made(builder)
    builder.deleting("m2")
    found = where(plan, builder)
    assert number(found) is None and not found.next_differs
    assert found.nearest is not None and found.nearest["step"] == 1
    assert {"path": "machines.m2.deleting", "expected": "false", "observed": "true"} in found.differences


def test_a_leader_that_changed_is_no_difference() -> None:
    builder = upgrade(healthy(3))
    plan = made(builder)
    assert number(where(plan, builder.leads("m2"))) == 1


def test_a_finished_plan_stays_finished() -> None:
    builder = cluster(1).bare()
    plan = made(builder)
    stepped(builder, plan, 3).node("prod-z")
    decision = decide(builder.build())
    assert decision["action"] == "none"
    builder.snapshot["controlPlane"]["status"].update(decision["status"]["controlPlane"])
    assert number(where(plan, builder)) == "end"


def test_the_same_state_with_another_next_step_is_told() -> None:
    """As where a plan is another release's: the state is as expected, what follows from it isn't."""
    builder = healthy(5, replicas=3)
    plan = made(builder)
    plan["steps"][0]["target"]["machine"] = "m4"
    found = where(plan, builder)
    assert number(found) is None and found.next_differs
    assert found.nearest is not None and found.nearest["step"] == 1


def test_a_stray_members_id_counts() -> None:
    builder = seen(healthy(3).member("gone", healthy=False), 900, "gone")
    plan = made(builder)
    assert plan["steps"][0]["target"]["memberID"] == member_id("gone")
    assert number(where(plan, builder)) == 1
    plan["steps"][0]["target"]["memberID"] = "00000000deadbeef"
    assert where(plan, builder).next_differs


def other_machine(plan: Object) -> None:
    plan["steps"][3]["target"]["machine"] = "m3"


def other_domain(plan: Object) -> None:
    plan["steps"][2]["target"]["failureDomain"] = "z"


def fewer_steps(plan: Object) -> None:
    del plan["steps"][4:]


def more_steps(plan: Object) -> None:
    plan["steps"].append({**plan["steps"][4], "step": 7})


@pytest.mark.parametrize(
    ("edit", "number", "approved", "now"),
    [
        (other_domain, 3, "join", "join"),
        (other_machine, 4, "remove", "remove"),
        (fewer_steps, 5, None, "join"),
        (more_steps, 7, "join", None),
    ],
)
def test_where_a_plan_made_now_differs_the_step_is_told(edit: Any, number: int, approved: Any, now: Any) -> None:
    """The state is the one that was planned on: what else decisions read has changed since."""
    builder = upgrade(healthy(3))
    plan, snapshot = made(builder), builder.build()
    assert [step["action"] for step in plan["steps"]] == ["join", "remove"] * 3
    edit(plan)
    leaves = departure(plan, plan["steps"][0], snapshot, decide(snapshot))
    assert leaves is not None and leaves.number == number
    assert [each and each["action"] for each in (leaves.approved, leaves.now)] == [approved, now]


def test_what_stops_early_does_nothing_that_was_not_approved() -> None:
    """And an approved plan that ended with something to wait for may have more to come: its run ends with its last step."""
    builder = upgrade(healthy(3))
    plan = made(builder)
    snapshot = {**builder.build(), "policy": {"replace": "never"}}
    assert departure(plan, plan["steps"][0], snapshot, decide(snapshot)) is None
    fewer_steps(plan)
    plan["end"]["action"] = "postponed"
    assert departure(plan, plan["steps"][0], builder.build(), decide(builder.build())) is None
