# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deleting a cluster (docs/reference/cluster_api.md, "Deletion")."""

from __future__ import annotations

from typing import Callable

import pytest
from builders import Builder, cluster, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

IGNORE = "kubeadm.control-plane/ignore-worker-nodes"


def step(builder: Builder) -> tuple[str, str]:
    decision = decide(builder.build())
    return decision["action"], (decision["blockedOn"] or decision["reasons"])[0]["reason"]


def test_all_machines_go_at_once_whatever_their_health() -> None:
    builder = (
        healthy(3)
        .sick_member("m1")
        .sick_member("m2")
        .machine("m4", "Running", age=5)
        .machine("m5", "Failed")
        .deleting()
    )
    assert step(builder) == ("deleteMachines", "WaitingForMachineDeletion")


@pytest.mark.parametrize("owner", ["cluster", "controlPlane"])
def test_either_mark_is_enough(owner: str) -> None:
    builder = healthy(3)
    builder.snapshot[owner]["metadata"]["deletionTimestamp"] = "2026-01-31T11:59:00Z"
    assert step(builder)[0] == "deleteMachines"


def test_workers_block_it_with_their_names() -> None:
    builder = healthy(3).deleting()
    builder.workload["workerNodes"] = [f"w{number}" for number in range(1, 13)]
    decision = decide(builder.build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", "WaitingForWorkersDeletion")
    assert "w1, w2" in decision["blockedOn"][0]["message"]
    assert "and 2 more" in decision["blockedOn"][0]["message"]
    assert "control_plane_ignore_worker_nodes=true" in decision["blockedOn"][0]["fix"]


def test_the_node_of_a_machine_whose_join_has_failed_is_no_worker() -> None:
    """It was registered by its kubelet, and has not got the label of a control plane, which kubeadm writes last."""
    builder = healthy(3).machine("x", "Failed").deleting()
    builder.workload["workerNodes"] = ["x"]
    assert step(builder) == ("deleteMachines", "WaitingForMachineDeletion")
    template = "{{ ds.meta_data.local_hostname }}.example.com"
    builder.entry("x")["kubeadmConfig"]["spec"]["joinConfiguration"]["nodeRegistration"]["name"] = template
    builder.workload["workerNodes"] = ["x.example.com"]
    assert step(builder) == ("deleteMachines", "WaitingForMachineDeletion")
    builder.workload["workerNodes"] = ["w1", "x.example.com"]
    decision = decide(builder.build())
    assert decision["action"] == "blocked" and "w1." in decision["blockedOn"][0]["message"]


@pytest.mark.parametrize("owner", ["cluster", "controlPlane"])
def test_unless_told_otherwise(owner: str) -> None:
    builder = healthy(3).deleting()
    builder.workload["workerNodes"] = ["w1"]
    for value in ("false", "no", ""):
        builder.snapshot[owner]["metadata"]["annotations"][IGNORE] = value
        assert step(builder)[0] == "blocked"
    builder.snapshot[owner]["metadata"]["annotations"][IGNORE] = "true"
    assert step(builder)[0] == "deleteMachines"


def test_workers_that_cannot_be_asked_for_block_it() -> None:
    builder = healthy(3).unreachable().deleting()
    assert step(builder) == ("wait", "WorkersUnknown")
    assert step(builder.stored("RemoteConnectionProbe", "False", 61, "cluster")) == ("blocked", "WorkersUnknown")


@pytest.mark.parametrize("state", ["Running", "Succeeded"])
def test_a_machine_on_which_kubeadm_was_at_work_may_have_had_workers(state: str) -> None:
    builder = cluster(3).machine("x", state).unreachable().deleting()
    for owner in ("cluster", "controlPlane"):
        builder.snapshot[owner]["status"].pop("initialization", None)
    assert step(builder) == ("wait", "WorkersUnknown")


def test_a_deletion_that_was_begun_goes_on_without_the_api() -> None:
    builder = healthy(3).unreachable().deleting().stored("Deleting", "True", 61, reason="WaitingForMachineDeletion")
    assert step(builder)[0] == "deleteMachines"


def test_a_cluster_that_never_was_has_no_workers() -> None:
    assert step(cluster(3).machine("x", "Failed").endpoint(None).deleting())[0] == "deleteMachines"


def test_prepared_machines_go_too() -> None:
    builder = cluster(3).deleting()
    builder.snapshot["preparedMachines"] = [{"metadata": {"name": "ahead"}}]
    assert step(builder)[0] == "deleteMachines"
    assert "ahead" in decide(builder.build())["reasons"][0]["message"]


def test_then_the_infrastructure_and_then_nothing() -> None:
    builder = cluster(3).deleting()
    assert step(builder) == ("deleteInfrastructure", "DeletionCompleted")
    builder.snapshot["infrastructureCluster"] = None
    assert step(builder) == ("none", "DeletionCompleted")


def test_the_infrastructure_stays_with_a_cluster_that_stays() -> None:
    builder = cluster(3)
    builder.snapshot["controlPlane"]["metadata"]["deletionTimestamp"] = "2026-01-31T11:59:00Z"
    assert step(builder) == ("none", "DeletionCompleted")
    assert "What isn't its own" not in decide(builder.build())["reasons"][0]["message"]


def test_it_works_when_the_control_planes_object_is_gone_already() -> None:
    builder = cluster(3).deleting()
    builder.snapshot["controlPlane"] = None
    assert step(builder)[0] == "deleteInfrastructure"


@pytest.mark.parametrize("owner", ["cluster", "controlPlane"])
@pytest.mark.parametrize("reachable", [True, False])
def test_a_cluster_that_keeps_its_own_objects_is_not_deleted(owner: str, reachable: bool) -> None:
    """Whoever marked it, and however far it came: what says what is left to do would go with the last machine."""
    builder = healthy(3)
    builder.snapshot["keepsItself"] = True
    assert step(builder)[0] == "none"
    builder.snapshot[owner]["metadata"]["deletionTimestamp"] = "2026-01-31T11:59:00Z"
    builder.stored("Deleting", "True", 61, reason="WaitingForMachineDeletion")
    builder.snapshot[owner]["metadata"]["annotations"][IGNORE] = "true"
    decision = decide((builder if reachable else builder.unreachable()).build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", "ObjectsInItself")
    said = decision["blockedOn"][0]["message"]
    assert "in its own API" in said and "marked there for deletion" in said
    assert "kubeadm.control_plane.move" in decision["blockedOn"][0]["fix"]
    told = {each["type"]: each for each in decision["conditions"]["controlPlane"]}["Deleting"]
    assert (told["status"], told["reason"]) == ("True", "ObjectsInItself") and "in its own API" in told["message"]
    assert decision["status"]["controlPlane"]["failureReason"] == "DeleteError"


@pytest.mark.parametrize("started", [healthy, lambda count: with_workers(healthy(count)), cluster])
def test_a_cluster_whose_objects_another_one_names_too_is_not_deleted(started: Callable[[int], Builder]) -> None:
    """Neither its machines, nor its workers, nor its infrastructure."""
    builder = started(3)
    builder.snapshot["sharedWith"] = "copy"
    assert step(builder)[0] != "blocked"
    assert step(builder.deleting()) == ("blocked", "ObjectsShared")
    decision = decide(builder.build())
    [found] = decision["blockedOn"]
    told = {each["type"]: each["reason"] for each in decision["conditions"]["controlPlane"]}
    assert told["Deleting"] == "ObjectsShared", "it would say that workers were checked"
    assert found["fix"].startswith("The KubeadmControlPlane is marked for deletion")
    assert f"kubectl edit cluster {'copy' if builder.snapshot['machines'] else 'prod'}" in found["fix"]


def test_nor_is_its_infrastructure() -> None:
    """Machines that the store lost may still run there."""
    builder = cluster(3).deleting()
    builder.snapshot["keepsItself"] = True
    assert step(builder) == ("blocked", "ObjectsInItself")


DELETION: list[tuple[str, str, Callable[[], Builder]]] = [
    ("workers", "WaitingForWorkersDeletion", lambda: with_workers(healthy(3).deleting())),
    ("machines", "WaitingForMachineDeletion", lambda: healthy(3).deleting()),
    ("nothing", "DeletionCompleted", lambda: cluster(3).deleting()),
]


def with_workers(builder: Builder) -> Builder:
    builder.workload["workerNodes"] = ["w1"]
    return builder


@pytest.mark.parametrize(("what", "reason", "make"), DELETION, ids=[case[0] for case in DELETION])
def test_deleting_says_what_it_waits_for(what: str, reason: str, make: Callable[[], Builder]) -> None:
    conditions = {each["type"]: each for each in decide(make().build())["conditions"]["controlPlane"]}
    assert (conditions["Deleting"]["status"], conditions["Deleting"]["reason"]) == ("True", reason)
