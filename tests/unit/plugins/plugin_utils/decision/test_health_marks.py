# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What health checks mark: within their limits, together with others, and what takes a mark back."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from builders import NOW, at, healthy
from health_checks import PAUSED, REMEDIATE, SKIP, checked, mhc, node_condition, set_on, states
from worker_snapshots import deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.remediation.health_marks import outlived

Object = dict[str, Any]


@pytest.mark.parametrize("annotation", [SKIP, PAUSED])
def test_machines_that_are_taken_out(annotation: str) -> None:
    """They are not counted, not judged, and an earlier mark no longer stands."""
    builder = node_condition(healthy(3).marked("m2"), "m2", "Ready", "Unknown", 9000).annotate(annotation, "", "m2")
    found = checked(builder)
    assert found.results[0].skipped == {"m2": annotation} and found.results[0].status["expectedMachines"] == 2
    assert found.marks["m2"].set == [] and found.marks["m2"].remove == ["HealthCheckSucceeded", "OwnerRemediated"]


def test_a_deleting_machine_counts_as_not_healthy_and_is_not_judged() -> None:
    """What goes already must not make room for the next."""
    builder = node_condition(healthy(3), "m2", "Ready", "Unknown", 9000).deleting("m1")
    found = checked(builder, mhc(limit=1))
    assert states(found)["m1"] == "deleting" and "m1" not in found.marks
    assert found.results[0].allowed is False


@pytest.mark.parametrize(
    ("document", "sick", "allowed", "remaining"),
    [
        (mhc(limit=1), 1, True, 0),
        (mhc(limit=1), 2, False, 0),
        (mhc(limit=0), 1, False, 0),
        (mhc(limit="40%"), 1, True, 0),
        (mhc(limit="40%"), 2, False, 0),
        (mhc(limit="100%"), 3, True, 0),
        (mhc(span="[1-2]"), 1, True, 1),
        (mhc(span="[2-3]"), 1, False, 0),
        (mhc(span="[1-1]", limit=3), 2, False, 0),
        (mhc(), 3, True, 0),
    ],
)
def test_limits(document: Object, sick: int, allowed: bool, remaining: int) -> None:
    """A number, a percentage that is rounded down, a range, which wins; and none."""
    builder = healthy(3)
    for number in range(1, sick + 1):
        node_condition(builder, f"m{number}", "Ready", "Unknown", 9000)
    found = checked(builder, document)
    result = found.results[0]
    assert (result.allowed, result.status["remediationsAllowed"]) == (allowed, remaining)
    condition = next(each for each in result.conditions if each["type"] == "RemediationAllowed")
    assert condition["reason"] == ("RemediationAllowed" if allowed else "TooManyUnhealthy")
    assert ("OwnerRemediated" in set_on(found, "m1")) is allowed
    assert set_on(found, "m1")["HealthCheckSucceeded"][0] == "False"
    if not allowed:
        assert f"total: 3, unhealthy: {sick}" in condition["message"]
        assert condition["message"] in found.verdicts["m1"].note


def test_pending_machines_count_as_not_healthy() -> None:
    """As in Cluster API: not started or unhealthy."""
    builder = node_condition(healthy(3), "m1", "Ready", "Unknown", 9000)
    node_condition(builder, "m2", "Ready", "Unknown", 10)
    assert checked(builder, mhc(limit=1)).results[0].allowed is False


def test_too_many_take_back_a_mark_that_waits() -> None:
    """The limit is the user's word about now."""
    builder = healthy(3).marked("m1")
    for name in ("m1", "m2"):
        node_condition(builder, name, "Ready", "Unknown", 9000)
    found = checked(builder, mhc(limit=1))
    assert found.marks["m1"].remove == ["OwnerRemediated"] and not found.verdicts["m1"].marked


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "not yet marked"])
@pytest.mark.parametrize(
    ("how", "why"), [("record", "its remediation has begun"), ("annotation", "it has the annotation")]
)
def test_what_has_begun_or_a_person_wants_is_not_taken_back(how: str, why: str, marked: bool) -> None:
    """Neither by limits nor because no health check covers it; nor does anything say that it would stay."""
    builder = healthy(3).marked("m1") if marked else healthy(3)
    if how == "record":
        record = f'{{"machine": "m1", "timestamp": "{NOW}", "retryCount": 0}}'
        builder.annotate("controlplane.cluster.x-k8s.io/remediation-in-progress", record)
    else:
        builder.annotate(REMEDIATE, "", "m1")
    for name in ("m1", "m2"):
        node_condition(builder, name, "Ready", "Unknown", 9000)
    found = checked(builder, mhc(limit=1))
    assert "OwnerRemediated" not in found.marks["m1"].remove
    assert found.verdicts["m1"].marked and found.verdicts["m1"].note.endswith(why)
    assert not found.verdicts["m2"].marked and found.verdicts["m2"].note.startswith("not marked: Remediation is not")
    nobody = mhc(selector={"matchLabels": {"no": "such"}})
    marks = checked(builder, nobody).marks.get("m1")
    assert marks is None or "OwnerRemediated" not in marks.remove


def test_a_mark_that_remediation_answered_is_not_overwritten() -> None:
    """Its reason is the KubeadmControlPlane's own."""
    builder = node_condition(healthy(3), "m2", "Ready", "Unknown", 9000)
    builder.stored("OwnerRemediated", "False", 60, "m2", "CannotBeRemediated")
    assert "OwnerRemediated" not in set_on(checked(builder), "m2")


def test_a_machine_that_recovers() -> None:
    """Its HealthCheckSucceeded becomes True; OwnerRemediated is left to the decision, which clears it."""
    found = checked(healthy(3).marked("m2"))
    assert set_on(found, "m2") == {"HealthCheckSucceeded": ("True", "HealthCheckSucceeded")}
    assert found.marks["m2"].remove == []


def test_a_machine_that_is_not_judged_keeps_what_was_found() -> None:
    """From one fault to the next, whose time is not over."""
    builder = node_condition(healthy(3).marked("m2"), "m2", "Ready", "False", 10)
    assert "m2" not in checked(builder).marks


def test_several_health_checks_unhealthy_wins() -> None:
    """One that allows remediation is enough."""
    builder = node_condition(healthy(3), "m2", "Ready", "Unknown", 100)
    strict = mhc("b-strict", nodes=[{"type": "Ready", "status": "Unknown", "timeoutSeconds": 60}])
    found = checked(builder, mhc("a-patient"), strict)
    assert states(found)["m2"] == "unhealthy" and found.verdicts["m2"].checks == ("b-strict",)
    held = mhc("b-strict", nodes=strict["spec"]["checks"]["unhealthyNodeConditions"], limit=0)
    found = checked(builder, mhc("a-patient"), held)
    assert "OwnerRemediated" not in set_on(found, "m2") and "unhealthyLessThanOrEqualTo" in found.verdicts["m2"].note


@pytest.mark.parametrize("why", ["paused", "deleting"])
def test_no_mark_is_taken_back_while_the_cluster_is_left_alone(why: str) -> None:
    """Also none of a machine that no health check covers."""
    builder = healthy(3).marked("m2").annotate(SKIP, "", "m2")
    if why == "paused":
        builder.snapshot["cluster"]["spec"]["paused"] = True
    else:
        builder.deleting()
    assert checked(builder).marks == {}


BAD = {"status": "False", "timeoutSeconds": 300}


@pytest.mark.parametrize("nodes", [None, [{"type": "Ready", **BAD}]], ids=["both", "False alone"])
@pytest.mark.parametrize(("status", "gone"), [("True", True), ("Unknown", False)])
def test_a_workers_mark_is_outlived_too(status: str, gone: bool, nodes: Optional[list[Any]]) -> None:
    """Unknown is not well, though it is not the status that is checked for."""
    builder = deployment(healthy(3), 2).worker("a", marked=True).worker("b")
    snapshot = builder.build()
    for node in snapshot["workload"]["workers"]:
        node["conditions"] = [{"type": "Ready", "status": status, "lastTransitionTime": at(60)}]
    everything = mhc(nodes=nodes, selector={"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]})
    found = outlived([everything], snapshot)
    assert list(found) == ["a"] * gone
    assert not gone or [each["status"] for each in found["a"][0].set] == ["True"]


@pytest.mark.parametrize(("status", "gone"), [("True", True), ("Unknown", False), ("", True)])
def test_a_mark_stays_where_what_is_checked_is_not_known(status: str, gone: bool) -> None:
    """etcd that gives no list for a moment says nothing of the member that was ill; a machine that has none, a worker, is judged by the rest."""
    builder = healthy(3).marked("m2")
    told = [{"type": "EtcdMemberHealthy", "status": status, "lastTransitionTime": at(60)}] if status else []
    builder.entry("m2")["machine"]["status"]["conditions"] += told
    checked(builder)
    found = outlived([mhc(nodes=[], machines=[{"type": "EtcdMemberHealthy", **BAD}])], builder.build())
    assert list(found) == ["m2"] * gone
