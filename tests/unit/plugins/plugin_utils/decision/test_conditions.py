# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of the control plane and the Cluster (docs/reference/cluster_api.md, "Conditions", "Creating a machine")."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from builders import Builder, at, cluster, healthy, member_id
from rules import external

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

Change = Callable[[Builder], Any]


def of(builder: Builder, part: str = "controlPlane") -> dict[str, Any]:
    return {each["type"]: each for each in decide(builder.build())["conditions"][part]}


def states(builder: Builder, part: str = "controlPlane") -> dict[str, tuple[str, str]]:
    return {kind: (each["status"], each["reason"]) for kind, each in of(builder, part).items()}


def test_a_healthy_control_plane() -> None:
    assert states(healthy(3)) == {
        "Available": ("True", "Available"),
        "Initialized": ("True", "Initialized"),
        "CertificatesAvailable": ("True", "Available"),
        "EtcdClusterHealthy": ("True", "Healthy"),
        "EtcdClusterAvailable": ("True", "Available"),
        "ControlPlaneComponentsHealthy": ("True", "Healthy"),
        "MachinesReady": ("True", "Ready"),
        "MachinesUpToDate": ("True", "UpToDate"),
        "RollingOut": ("False", "NotRollingOut"),
        "ScalingUp": ("False", "NotScalingUp"),
        "ScalingDown": ("False", "NotScalingDown"),
        "Remediating": ("False", "NotRemediating"),
        "Deleting": ("False", "NotDeleting"),
        "Paused": ("False", "NotPaused"),
    }
    assert states(healthy(3), "cluster") == {
        "Available": ("True", "Available"),
        "ControlPlaneMachinesReady": ("True", "Ready"),
        "ControlPlaneMachinesUpToDate": ("True", "UpToDate"),
        "RollingOut": ("False", "NotRollingOut"),
        "ScalingUp": ("False", "NotScalingUp"),
        "ScalingDown": ("False", "NotScalingDown"),
        "Remediating": ("False", "NotRemediating"),
        "InfrastructureReady": ("True", "Ready"),
        "ControlPlaneInitialized": ("True", "Initialized"),
        "ControlPlaneAvailable": ("True", "Available"),
        "RemoteConnectionProbe": ("True", "ProbeSucceeded"),
        "ControlPlaneEndpointReachable": ("True", "Reachable"),
        "Deleting": ("False", "NotDeleting"),
        "Paused": ("False", "NotPaused"),
    }


def test_before_the_first_machine() -> None:
    found = states(cluster(3).bare())
    assert found["Available"] == ("False", "NotAvailable")
    assert found["Initialized"] == ("False", "NotInitialized")
    assert found["CertificatesAvailable"] == ("False", "NotAvailable")
    assert found["EtcdClusterHealthy"] == ("Unknown", "InspectionFailed")
    assert found["ControlPlaneComponentsHealthy"] == ("Unknown", "InspectionFailed")
    assert found["MachinesReady"] == ("True", "NoReplicas")
    assert found["ScalingUp"] == ("True", "ScalingUp")


CASES: list[tuple[str, str, tuple[str, str], Change]] = [
    ("one sick member", "EtcdClusterHealthy", ("False", "NotHealthy"), lambda b: b.sick_member("m2")),
    ("one sick member", "Available", ("True", "Available"), lambda b: b.sick_member("m2")),
    ("two sick members", "Available", ("False", "NotAvailable"), lambda b: b.sick_member("m2").sick_member("m3")),
    ("stranger", "EtcdClusterHealthy", ("False", "NotHealthy"), lambda b: b.member("stranger")),
    (
        "lists differ",
        "EtcdClusterHealthy",
        ("False", "NotHealthy"),
        lambda b: b.workload["etcd"].update(memberListAgrees=False),
    ),
    (
        "no list",
        "EtcdClusterHealthy",
        ("Unknown", "InspectionFailed"),
        lambda b: b.workload["etcd"].update(reachable=False),
    ),
    ("no list", "Available", ("False", "NotAvailable"), lambda b: b.workload["etcd"].update(reachable=False)),
    (
        "no list for long",
        "Available",
        ("Unknown", "InspectionFailed"),
        lambda b: (b.workload["etcd"].update(reachable=False), b.stored("Initialized", "True", 120)),
    ),
    (
        "one scheduler away",
        "ControlPlaneComponentsHealthy",
        ("False", "NotHealthy"),
        lambda b: b.pod("m2", "kube-scheduler"),
    ),
    ("one scheduler away", "Available", ("True", "Available"), lambda b: b.pod("m2", "kube-scheduler")),
    (
        "every scheduler away",
        "Available",
        ("False", "NotAvailable"),
        lambda b: [b.pod(name, "kube-scheduler") for name in ("m1", "m2", "m3")],
    ),
    (
        "node unknown",
        "ControlPlaneComponentsHealthy",
        ("Unknown", "HealthUnknown"),
        lambda b: b.node("m2", ready="Unknown"),
    ),
    ("node unknown", "MachinesReady", ("Unknown", "ReadyUnknown"), lambda b: b.node("m2", ready="Unknown")),
    (
        "False beats Unknown",
        "ControlPlaneComponentsHealthy",
        ("False", "NotHealthy"),
        lambda b: b.node("m2", ready="Unknown").pod("m1", "kube-scheduler"),
    ),
    ("not ready", "MachinesReady", ("False", "NotReady"), lambda b: b.node("m2", ready="False")),
    ("other version", "MachinesUpToDate", ("False", "NotUpToDate"), lambda b: b.spec.update(version="v1.21.0")),
    ("other version", "RollingOut", ("True", "RollingOut"), lambda b: b.spec.update(version="v1.21.0")),
    ("more wanted", "ScalingUp", ("True", "ScalingUp"), lambda b: b.spec.update(replicas=5)),
    ("fewer wanted", "ScalingDown", ("True", "ScalingDown"), lambda b: b.spec.update(replicas=1)),
    ("replicas not set", "ScalingUp", ("Unknown", "WaitingForReplicasSet"), lambda b: b.spec.pop("replicas")),
    (
        "certificate gone",
        "CertificatesAvailable",
        ("False", "NotAvailable"),
        lambda b: b.snapshot["certificates"]["proxy"].update(present=False),
    ),
    (
        "certificate gone",
        "Available",
        ("False", "NotAvailable"),
        lambda b: b.snapshot["certificates"]["proxy"].update(present=False),
    ),
    ("deleting", "Deleting", ("True", "WaitingForMachineDeletion"), lambda b: b.deleting()),
    ("deleting", "Available", ("False", "NotAvailable"), lambda b: b.deleting()),
    ("deleting", "ScalingDown", ("True", "ScalingDown"), lambda b: b.deleting()),
    ("paused", "Paused", ("True", "Paused"), lambda b: b.snapshot["cluster"]["spec"].update(paused=True)),
    (
        "remediated",
        "Remediating",
        ("True", "Remediating"),
        lambda b: b.marked("m2"),
    ),
]


@pytest.mark.parametrize(("what", "kind", "expected", "change"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_control_plane_conditions(what: str, kind: str, expected: tuple[str, str], change: Change) -> None:
    builder = healthy(3)
    change(builder)
    assert states(builder)[kind] == expected


def test_deletion_waits_for_workers_by_name() -> None:
    builder = healthy(3).deleting()
    builder.workload["workerNodes"] = ["w1"]
    found = of(builder)["Deleting"]
    assert (found["reason"], "w1" in found["message"]) == ("WaitingForWorkersDeletion", True)


def test_the_connection_that_is_down_says_so_after_the_grace_period() -> None:
    builder = healthy(3).unreachable().stored("RemoteConnectionProbe", "False", 400, "cluster")
    found = states(builder)
    assert found["EtcdClusterHealthy"] == ("Unknown", "ConnectionDown")
    assert found["ControlPlaneComponentsHealthy"] == ("Unknown", "ConnectionDown")
    assert states(builder, "cluster")["RemoteConnectionProbe"] == ("False", "ProbeFailed")


def test_messages_do_not_change_while_nothing_else_does() -> None:
    first = healthy(3).unreachable("m1: timed out after 3.01 s").build()
    second = healthy(3).unreachable("m1: timed out after 3.02 s").build()
    assert decide(first)["conditions"] == decide(second)["conditions"]
    assert decide(first)["status"] == decide(second)["status"]


def test_equal_messages_are_merged_over_machines() -> None:
    message = of(healthy(3).pod("m2", "kube-scheduler", phase="Pending").pod("m3", "kube-scheduler", phase="Pending"))
    text = message["ControlPlaneComponentsHealthy"]["message"]
    assert text == "* Machines m2, m3: SchedulerPodHealthy: Waiting to be scheduled or to start"


def test_young_machines_do_not_count_as_outdated_yet() -> None:
    builder = healthy(3)
    for number in (1, 2, 3):
        builder.entry(f"m{number}")["machine"]["metadata"]["creationTimestamp"] = at(5)
    builder.spec["version"] = "v1.21.0"
    assert states(builder)["MachinesUpToDate"] == ("True", "NoReplicas")


class TestInitializedLatches:
    def test_it_stays_true_while_nobody_answers(self) -> None:
        assert states(healthy(3).unreachable())["Initialized"] == ("True", "Initialized")

    def test_it_does_not_latch_while_the_only_machine_failed(self) -> None:
        builder = healthy(1, replicas=3)
        builder.entry("m1")["machine"]["status"]["bootstrap"]["state"] = "Failed"
        for owner in ("cluster", "controlPlane"):
            builder.snapshot[owner]["status"] = {}
        assert states(builder)["Initialized"] == ("False", "NotInitialized")
        builder.entry("m1")["machine"]["status"]["bootstrap"]["state"] = "Succeeded"
        assert states(builder)["Initialized"] == ("True", "Initialized")


def pause(builder: Builder) -> Builder:
    builder.snapshot["cluster"]["spec"]["paused"] = True
    return builder


# What is wrong; the condition that says so, its status and reason, and words that its message carries, in this order.
MORE: list[tuple[str, str, tuple[str, str], list[str], Change]] = [
    ("learners don't vote", "Available", ("True", "Available"), [], lambda b: b.member("m4", learner=True)),
    (
        "a voter that never started counts as failed",
        "Available",
        ("False", "NotAvailable"),
        ["1", "3", "2"],
        lambda b: b.sick_member("m2").without_member("m3").member("x", unnamed=True),
    ),
    ("no leader", "EtcdClusterHealthy", ("True", "Healthy"), [], lambda b: b.workload["etcd"].update(leader=None)),
    (
        "a learner",
        "EtcdClusterHealthy",
        ("False", "NotHealthy"),
        ["m2", "learner"],
        lambda b: b.member("m2", learner=True),
    ),
    (
        "an alarm",
        "EtcdClusterHealthy",
        ("False", "NotHealthy"),
        ["m2", "NOSPACE"],
        lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "NOSPACE"}),
    ),
    (
        "three equal messages are folded",
        "ControlPlaneComponentsHealthy",
        ("Unknown", "HealthUnknown"),
        ["Machine m2: Control plane components: "],
        lambda b: b.node("m2", ready="Unknown"),
    ),
    (
        "versions come first",
        "RollingOut",
        ("True", "RollingOut"),
        [
            "Rolling out 3 not up-to-date replicas",
            "Version v1.20.2, v1.21.0 required",
            "KubeadmConfig is not up-to-date",
        ],
        lambda b: (b.wants(version="v1.21.0"), b.spec["kubeadmConfigSpec"].update(preKubeadmCommands=["true"])),
    ),
    (
        "one machine that is going does not roll",
        "RollingOut",
        ("True", "RollingOut"),
        ["Rolling out 2 not up-to-date replicas"],
        lambda b: b.wants(version="v1.21.0").deleting("m2"),
    ),
    (
        "what holds scaling up",
        "ScalingUp",
        ("True", "ScalingUp"),
        ["Scaling up from 3 to 5 replicas is blocked because:", "kube-scheduler"],
        lambda b: b.wants(replicas=5).pod("m2", "kube-scheduler"),
    ),
    (
        "no template",
        "ScalingUp",
        ("True", "ScalingUp"),
        ["is blocked because:", "* NspawnMachineTemplate prod does not exist"],
        lambda b: (b.wants(replicas=5), b.snapshot.update(machineTemplate=None)),
    ),
    (
        "no template, and nothing to scale",
        "ScalingUp",
        ("False", "NotScalingUp"),
        ["Scaling up would be blocked because NspawnMachineTemplate prod does not exist"],
        lambda b: b.snapshot.update(machineTemplate=None),
    ),
    (
        "what holds scaling down",
        "ScalingDown",
        ("True", "ScalingDown"),
        ["Scaling down from 3 to 1 replicas is blocked because:", "* ", "kube-scheduler"],
        lambda b: b.wants(replicas=1).pod("m2", "kube-scheduler"),
    ),
    (
        "a control plane Node of no machine",
        "ControlPlaneComponentsHealthy",
        ("False", "NotHealthy"),
        ["* Control plane Node cp-9 has no corresponding Machine"],
        lambda b: b.node("cp-9"),
    ),
    (
        "a worker's Node",
        "ControlPlaneComponentsHealthy",
        ("True", "Healthy"),
        [],
        lambda b: b.unlabelled("worker-9"),
    ),
    (
        "one that a machine may claim yet",
        "ControlPlaneComponentsHealthy",
        ("Unknown", "HealthUnknown"),
        ["* Machine m4: Control plane components: Waiting for the machine's Node"],
        lambda b: b.wants(replicas=5).machine("m4", "", age=20).node("cp-9"),
    ),
    (
        "deletion scales nothing up",
        "ScalingUp",
        ("False", "NotScalingUp"),
        [],
        lambda b: b.wants(replicas=5).deleting(),
    ),
    (
        "a deletion that takes long",
        "ScalingDown",
        ("True", "ScalingDown"),
        ["Scaling down from 3 to 1 replicas", "m2", "15m"],
        lambda b: long_gone(b.wants(replicas=1), "m2"),
    ),
    (
        "deleting everything",
        "ScalingDown",
        ("True", "ScalingDown"),
        ["Scaling down from 3 to 0 replicas"],
        lambda b: b.deleting(),
    ),
    (
        "unhealthy, and not ours to remediate",
        "Remediating",
        ("False", "NotRemediating"),
        ["m2", "not to be remediated"],
        lambda b: b.stored("HealthCheckSucceeded", "False", 10, "m2"),
    ),
    ("to be remediated", "Remediating", ("True", "Remediating"), ["m2"], lambda b: b.marked("m2")),
    ("the user's switch", "Paused", ("True", "Paused"), ["spec.paused"], pause),
    (
        "the user's annotation",
        "Paused",
        ("True", "Paused"),
        ["KubeadmControlPlane", "cluster.x-k8s.io/paused"],
        lambda b: b.annotate("cluster.x-k8s.io/paused", ""),
    ),
    (
        "no authority",
        "CertificatesAvailable",
        ("False", "NotAvailable"),
        ["prod-ca"],
        lambda b: b.snapshot["certificates"]["ca"].update(present=False),
    ),
    (
        "a machine that is another version",
        "MachinesUpToDate",
        ("False", "NotUpToDate"),
        ["m1, m2, m3", "Version v1.20.2, v1.21.0 required"],
        lambda b: b.wants(version="v1.21.0"),
    ),
]


def long_gone(builder: Builder, name: str) -> Builder:
    builder.deleting(name)
    builder.entry(name)["machine"]["metadata"]["deletionTimestamp"] = at(901)
    return builder


@pytest.mark.parametrize(("what", "kind", "expected", "words", "change"), MORE, ids=[case[0] for case in MORE])
def test_conditions_and_their_texts(
    what: str, kind: str, expected: tuple[str, str], words: list[str], change: Change
) -> None:
    builder = healthy(3)
    change(builder)
    found = of(builder)[kind]
    assert (found["status"], found["reason"]) == expected
    places = [found["message"].find(word) for word in words]
    assert -1 not in places, found["message"]
    assert places == sorted(places)


def test_more_than_three_machines_are_counted() -> None:
    builder = healthy(5)
    for number in range(1, 6):
        builder.pod(f"m{number}", "kube-scheduler", phase="Pending")
    text = of(builder)["ControlPlaneComponentsHealthy"]["message"]
    assert text.startswith("* Machines m1, m2, m3, ... (2 more): ")


@pytest.mark.parametrize("kind", ["EtcdClusterHealthy"])
def test_external_etcd_has_no_condition_of_its_own(kind: str) -> None:
    builder = external(healthy(3))
    assert kind not in of(builder)
    assert of(builder)["Available"]["status"] == "True"
