# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions and status of the control plane and the Cluster (kcp-behaviour.md §1.14, §1.2 Initialized)."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from builders import Builder, at, cluster, healthy, member_id

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide

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
        lambda b: b.stored("OwnerRemediated", "False", 10, "m2"),
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


class TestStatus:
    def test_a_healthy_control_plane(self) -> None:
        status = decide(healthy(3).build())["status"]
        assert status["controlPlane"] == {
            "selector": "cluster.x-k8s.io/cluster-name=prod,cluster.x-k8s.io/control-plane=",
            "replicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "upToDateReplicas": 3,
            "version": "v1.20.2",
            "versions": [{"version": "v1.20.2", "replicas": 3}],
            "initialization": {"controlPlaneInitialized": True},
            "observedGeneration": 1,
            "etcdClusterID": "00000000000000cc",
            "etcdLeader": "m1",
            "initialized": True,
            "ready": True,
            "updatedReplicas": 3,
            "unavailableReplicas": 0,
            "deprecated": {"v1beta1": {"readyReplicas": 3, "updatedReplicas": 3, "unavailableReplicas": 0}},
        }
        assert status["cluster"] == {
            "phase": "Provisioned",
            "initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True},
            "controlPlaneReady": True,
            "controlPlane": {
                "desiredReplicas": 3,
                "replicas": 3,
                "readyReplicas": 3,
                "availableReplicas": 3,
                "upToDateReplicas": 3,
            },
        }
        assert status["machines"]["m1"] == {"phase": "Running", "nodeRef": {"name": "m1"}}

    def test_before_anything_is_there(self) -> None:
        status = decide(cluster(3).bare().build())["status"]
        assert status["cluster"]["phase"] == "Provisioning"
        assert status["cluster"]["initialization"] == {
            "infrastructureProvisioned": False,
            "controlPlaneInitialized": False,
        }
        assert status["controlPlane"]["ready"] is False
        assert "version" not in status["controlPlane"]

    def test_the_lowest_version_comes_first_and_pre_releases_are_lower(self) -> None:
        builder = healthy(5)
        for name, version in (
            ("m1", "v1.20.10"),
            ("m2", "v1.20.9"),
            ("m3", "v1.20.9"),
            ("m4", "v1.21.0"),
            ("m5", "v1.20.9-rc.1"),
        ):
            builder.entry(name)["machine"]["spec"]["version"] = version
        status = decide(builder.build())["status"]["controlPlane"]
        assert status["version"] == "v1.20.9-rc.1"
        assert status["versions"] == [
            {"version": "v1.20.9-rc.1", "replicas": 1},
            {"version": "v1.20.9", "replicas": 2},
            {"version": "v1.20.10", "replicas": 1},
            {"version": "v1.21.0", "replicas": 1},
        ]

    @pytest.mark.parametrize(
        ("state", "phase"),
        [("", "Provisioned"), ("Running", "Provisioned"), ("Failed", "Failed"), ("Succeeded", "Running")],
    )
    def test_machine_phases(self, state: str, phase: str) -> None:
        status = decide(healthy(2, replicas=3).machine("m3", state, age=60).build())["status"]
        assert status["machines"]["m3"]["phase"] == phase

    def test_the_etcd_cluster_id_is_recorded_once(self) -> None:
        builder = healthy(3)
        builder.snapshot["controlPlane"]["status"]["etcdClusterID"] = "00000000000000aa"
        assert decide(builder.build())["status"]["controlPlane"]["etcdClusterID"] == "00000000000000aa"

    def test_a_member_alarm_leaves_the_counters_alone(self) -> None:
        builder = healthy(3)
        builder.workload["etcd"]["alarms"] = [{"memberID": member_id("m1"), "alarm": "NOSPACE"}]
        status = decide(builder.build())["status"]["controlPlane"]
        assert (status["replicas"], status["readyReplicas"], status["deprecated"]["v1beta1"]["readyReplicas"]) == (
            3,
            2,
            3,
        )
