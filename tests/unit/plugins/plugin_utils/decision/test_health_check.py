# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of MachineHealthChecks: which machine is unhealthy, and since when it must have been so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import Builder, at, cluster, healthy
from health_checks import CONTROL_PLANE, PAUSED, REMEDIATE, checked, mhc, node_condition, set_on, states

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.remediation.health_marks import (
    evaluate,
    outlived,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import restore_note

Object = dict[str, Any]
REMEDIATED = "HasRemediateAnnotation"
MARKED = {"HealthCheckSucceeded": ("False", "UnhealthyNode"), "OwnerRemediated": ("False", "WaitingForRemediation")}


def test_healthy_machines_are_said_to_be() -> None:
    """All three are healthy; each gets HealthCheckSucceeded and nothing else."""
    found = checked(healthy(3))
    assert set(states(found).values()) == {"healthy"}
    assert set_on(found, "m1") == {"HealthCheckSucceeded": ("True", "HealthCheckSucceeded")}
    status = found.results[0].status
    assert (status["expectedMachines"], status["currentHealthy"], status["remediationsAllowed"]) == (3, 3, 3)
    assert status["targets"] == ["m1", "m2", "m3"]


def test_nothing_is_set_twice() -> None:
    """A machine whose condition says so already is not written."""
    builder = healthy(1).stored("HealthCheckSucceeded", "True", 100, "m1", "HealthCheckSucceeded")
    assert checked(builder).marks == {}


@pytest.mark.parametrize(("seconds", "state"), [(299, "pending"), (300, "unhealthy"), (3000, "unhealthy")])
def test_a_node_condition_counts_after_its_timeout(seconds: int, state: str) -> None:
    """On the API's own clock, and not a second earlier."""
    found = checked(node_condition(healthy(3), "m2", "Ready", "Unknown", seconds))
    assert states(found) == {"m1": "healthy", "m2": state, "m3": "healthy"}
    assert set_on(found, "m2") == (MARKED if state == "unhealthy" else {})
    message = found.verdicts["m2"].finding.message
    assert "Condition Ready on Node is reporting status Unknown" in message and "5m0s" in message


def test_the_message_names_when_it_will_be_unhealthy() -> None:
    """A person sees how long is left."""
    found = checked(node_condition(healthy(3), "m2", "Ready", "False", 60))
    assert "until 2026-01-31T12:04:00Z" in found.verdicts["m2"].finding.message


def test_another_status_or_type_is_no_fault() -> None:
    """Only what is asked for counts."""
    builder = node_condition(healthy(1), "m1", "Ready", "True", 9000)
    assert states(checked(node_condition(builder, "m1", "DiskPressure", "True", 9000))) == {"m1": "healthy"}
    asked = mhc(nodes=[{"type": "DiskPressure", "status": "True", "timeoutSeconds": 60}])
    assert states(checked(builder, asked)) == {"m1": "unhealthy"}


def test_a_condition_without_a_time_is_not_judged() -> None:
    """Since when it is so can't be told."""
    assert states(checked(node_condition(healthy(3), "m2", "Ready", "Unknown", None)))["m2"] == "unknown"


def test_a_time_in_the_future_is_not_long_ago() -> None:
    """A node's clock that runs ahead makes nobody unhealthy."""
    assert states(checked(node_condition(healthy(3), "m2", "Ready", "False", -500)))["m2"] == "pending"


def test_a_snapshot_without_node_conditions_is_not_judged() -> None:
    """One that an older release saved."""
    builder = healthy(1)
    builder.workload["nodes"][0]["conditions"] = None
    builder.snapshot["machines"][0]["machine"]["metadata"]["labels"] = {CONTROL_PLANE: ""}
    assert states(evaluate([mhc()], builder.build())) == {"m1": "unknown"}


def without_node(recorded: bool = True) -> Builder:
    """Three machines, of which m2 has joined an hour ago and has no Node any more."""
    builder = healthy(3)
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m2"]
    machine = builder.entry("m2")["machine"]
    machine["metadata"]["creationTimestamp"] = at(3600)
    machine["status"]["nodeRef"] = {"name": "m2"}
    if not recorded:
        del machine["status"]["nodeRef"]
    return builder


def restored(builder: Builder, newest: float) -> Builder:
    """etcd was restored when the newest Machine was so old."""
    return builder.annotate(restore_note.ANNOTATION, json.dumps({"state": "Done", "newestMachine": at(newest)}))


@pytest.mark.parametrize("builder", [without_node(), restored(without_node(), 3601)], ids=["", "made after a restore"])
def test_a_deleted_node_is_unhealthy_at_once(builder: Builder) -> None:
    """It was recorded, and the API that answers doesn't have it."""
    found = checked(builder)
    assert set_on(found, "m2")["HealthCheckSucceeded"] == ("False", "NodeDeleted")
    assert "Node m2 has been deleted" in found.verdicts["m2"].finding.message


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("note", ["", "[", '{"state": "Begun"}', '{"state": "Done", "newestMachine": ""}'])
def test_a_node_that_a_restore_of_etcd_may_have_taken_away(note: str, recorded: bool) -> None:
    """Nor does any condition count that follows from it; its mark is of the etcd of before. The user's word counts."""
    builder = restored(without_node(recorded), 3600).marked("m2").stored("NodeHealthy", "False", 9000, "m2")
    if note:
        builder.annotate(restore_note.ANNOTATION, note)
    observed = {"at": at(0), "since": {"60": at(9000)}}
    sick = mhc(machines=[{"type": "NodeHealthy", "status": "False", "timeoutSeconds": 60}])
    found = checked(builder, {**sick, "status": {"observations": observed}})
    verdict = found.verdicts["m2"]
    assert (states(found)["m2"], verdict.finding.reason, verdict.marked) == ("unknown", "NodeNotRestored", False)
    assert "Restart kubelet on the machine" in verdict.finding.message
    assert (found.marks["m2"].set, found.marks["m2"].remove) == ([], ["HealthCheckSucceeded", "OwnerRemediated"])
    assert list(outlived([sick], builder.build())) == ["m2"]
    assert set_on(checked(builder.annotate(REMEDIATE, "", "m2")), "m2")["HealthCheckSucceeded"][1] == REMEDIATED
    assert outlived([sick], builder.build()) == {}


def test_a_node_that_lost_its_label_is_not_deleted() -> None:
    """It is among the Nodes without the control plane's label."""
    builder = healthy(3)
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m2"]
    builder.workload["workerNodes"] = ["m2"]
    builder.entry("m2")["machine"]["status"]["nodeRef"] = {"name": "m2"}
    assert states(checked(builder))["m2"] == "unknown"


def test_another_host_under_the_name_is_not_judged() -> None:
    """Its Node is no evidence about the machine."""
    builder = healthy(3)
    node = next(each for each in builder.workload["nodes"] if each["name"] == "m2")
    node.update(machineID="somebody-else", ready="Unknown")
    node_condition(builder, "m2", "Ready", "Unknown", 9000)
    assert states(checked(builder))["m2"] == "unknown"


def startup(age: int, **since: int) -> Builder:
    """Two machines that work and one without a Node, made so many seconds ago."""
    builder = healthy(2, 3).machine("new", age=age)
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "new"]
    builder.entry("new")["machine"]["status"].pop("nodeRef", None)
    builder.entry("new")["machine"]["status"]["bootstrap"] = {"state": "Running", "startedAt": at(age)}
    if "machine" in since:
        builder.stored("InfrastructureReady", "True", since["machine"], "new")
    if "infrastructure" in since:
        builder.stored("InfrastructureReady", "True", since["infrastructure"], "cluster")
    if "initialized" in since:
        builder.stored("ControlPlaneInitialized", "True", since["initialized"], "cluster")
    return builder


@pytest.mark.parametrize(
    ("builder", "state"),
    [
        (startup(599), "pending"),
        (startup(600), "unhealthy"),
        (startup(9000, machine=599), "pending"),
        (startup(9000, infrastructure=599), "pending"),
        (startup(9000, initialized=599), "pending"),
        (startup(9000, machine=700, infrastructure=800, initialized=900), "unhealthy"),
    ],
)
def test_a_machine_has_so_long_to_get_its_node(builder: Builder, state: str) -> None:
    """From the latest of creation, infrastructure and initialization."""
    assert states(checked(builder))["new"] == state


def test_no_limit_to_the_start() -> None:
    """nodeStartupTimeoutSeconds 0."""
    assert states(checked(startup(90000), mhc(startup=0)))["new"] == "unknown"


def test_the_first_machine_is_judged_by_its_start_without_an_api() -> None:
    """Nothing can answer before there is a control plane."""
    builder = cluster(1).machine("first", age=700)
    builder.unreachable()
    builder.entry("first")["machine"]["status"] = {"bootstrap": {"state": "Running", "startedAt": at(690)}}
    for kind in ("cluster", "controlPlane"):
        builder.snapshot[kind]["status"].pop("initialization", None)
    builder.snapshot["cluster"]["status"]["initialization"] = {"infrastructureProvisioned": True}
    found = checked(builder)
    assert set_on(found, "first")["HealthCheckSucceeded"] == ("False", "NodeStartupTimeout")


def test_nobody_is_judged_while_no_api_answers() -> None:
    """Unknown is not unhealthy; marks stay as they are."""
    builder = node_condition(healthy(3).marked("m2"), "m3", "Ready", "Unknown", 9000).unreachable("all dead")
    found = checked(builder)
    assert set(states(found).values()) == {"unknown"} and found.marks == {}
    assert found.results[0].allowed is None and found.results[0].status == {}
    assert "all dead" in found.results[0].message and found.verdicts["m2"].marked


@pytest.mark.parametrize("skew", [31.0, -45.0])
def test_nobody_is_judged_by_clocks_that_differ(skew: float) -> None:
    """No duration can be trusted then."""
    builder = node_condition(healthy(3), "m2", "Ready", "Unknown", 9000)
    builder.workload["clockSkewSeconds"] = skew
    assert set(states(checked(builder)).values()) == {"unknown"}


def test_nobody_is_judged_by_another_cluster() -> None:
    """It has other Nodes: a machine without one there would count as lost."""
    builder = node_condition(healthy(3).marked("m3"), "m2", "Ready", "Unknown", 9000)
    builder.snapshot["controlPlane"]["status"]["etcdClusterID"] = "00000000000000dd"
    found = checked(builder)
    assert set(states(found).values()) == {"unknown"} and found.marks == {}


def test_a_paused_cluster_is_left_alone() -> None:
    """Also its marks."""
    builder = node_condition(healthy(3).marked("m1"), "m2", "Ready", "Unknown", 9000)
    builder.snapshot["cluster"]["spec"]["paused"] = True
    found = checked(builder)
    assert found.marks == {} and found.results[0].conditions[0]["status"] == "True"


def test_a_paused_health_check_judges_nobody() -> None:
    """And takes no mark back."""
    builder = node_condition(healthy(3).marked("m2"), "m2", "Ready", "Unknown", 9000)
    document = mhc()
    document["metadata"]["annotations"][PAUSED] = ""
    assert checked(builder, document).marks == {}


def test_the_annotation_is_enough_at_once() -> None:
    """A person's word."""
    found = checked(healthy(3).annotate(REMEDIATE, "", "m2"))
    assert set_on(found, "m2") == {
        "HealthCheckSucceeded": ("False", "HasRemediateAnnotation"),
        "OwnerRemediated": ("False", "WaitingForRemediation"),
    }


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchLabels": {"zone": "a"}}, {"m1"}),
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}, {"m1", "m2"}),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, {"m2", "m3"}),
        ({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, {"m1", "m2"}),
        ({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, {"m3"}),
        ({"matchLabels": {CONTROL_PLANE: "", "zone": "b"}}, {"m2"}),
        ({}, set()),
    ],
)
def test_selectors(selector: Object, expected: set[str]) -> None:
    """Labels, expressions, both, and none."""
    builder = healthy(3)
    builder.entry("m1")["machine"]["metadata"]["labels"] = {"zone": "a"}
    builder.entry("m2")["machine"]["metadata"]["labels"] = {"zone": "b"}
    document = mhc()
    document["spec"]["selector"] = selector
    assert set(checked(builder, document).verdicts) == expected


ETCD = [{"type": "EtcdMemberHealthy", "status": "False", "timeoutSeconds": 300}]


def observed(last: float, since: float) -> Object:
    """The status of a MachineHealthCheck that was evaluated last and, without gaps, since so many seconds ago."""
    return {"observations": {"at": at(last), "since": {"300": at(since)}}}


@pytest.mark.parametrize(
    ("held", "status", "state"),
    [
        (400, observed(60, 400), "unhealthy"),
        (400, observed(300, 400), "unhealthy"),
        (400, observed(301, 400), "pending"),
        (400, {}, "pending"),
        (400, observed(60, 200), "pending"),
        (200, observed(60, 4000), "pending"),
        (400, {"observations": {"at": at(10), "since": {}}}, "pending"),
        (400, {"observations": {"at": at(-50), "since": {"300": at(400)}}}, "pending"),
        (400, {"observations": "nonsense"}, "pending"),
    ],
)
def test_a_machine_condition_counts_only_while_it_was_looked_at(held: float, status: Object, state: str) -> None:
    """A gap longer than the timeout begins counting anew."""
    builder = healthy(3).stored("EtcdMemberHealthy", "False", held, "m2")
    found = checked(builder, mhc(machines=ETCD, status=status))
    assert states(found)["m2"] == state
    if state == "unhealthy":
        assert set_on(found, "m2")["HealthCheckSucceeded"] == ("False", "UnhealthyMachine")


def test_the_series_goes_on_until_it_counts() -> None:
    """Evaluated each 200 seconds; what is kept leads from one to the next."""
    document = mhc(machines=ETCD)
    for passed, state in ((0, "pending"), (200, "pending"), (400, "unhealthy")):
        builder = healthy(3).stored("EtcdMemberHealthy", "False", 0, "m2")
        builder.snapshot["now"] = at(-passed)
        found = checked(builder, document)
        assert states(found)["m2"] == state, passed
        document["status"] = found.results[0].status


def test_a_schedule_that_is_too_slow_is_said() -> None:
    """Otherwise nobody would know why it never counts."""
    builder = healthy(3).stored("EtcdMemberHealthy", "False", 4000, "m2")
    found = checked(builder, mhc(machines=ETCD, status=observed(600, 4000)))
    assert "check more often" in found.verdicts["m2"].finding.message


def test_a_machine_condition_with_no_timeout_counts_at_once() -> None:
    """Without any series."""
    builder = healthy(3).stored("EtcdMemberHealthy", "False", 1, "m2")
    asked = [{"type": "EtcdMemberHealthy", "status": "False", "timeoutSeconds": 0}]
    assert states(checked(builder, mhc(machines=asked)))["m2"] == "unhealthy"
