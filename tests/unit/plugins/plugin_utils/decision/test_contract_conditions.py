# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions that the control plane contract lists, of both its versions, on control plane, Cluster and Machines.

Source: the control plane contract, "ControlPlane: conditions".
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from builders import NOW, Builder, at, cluster, healthy, member_id
from rules import condition, external

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

Object = dict[str, Any]
V1BETA2 = [
    "Available",
    "CertificatesAvailable",
    "EtcdClusterAvailable",
    "MachinesReady",
    "MachinesUpToDate",
    "RollingOut",
    "ScalingUp",
    "ScalingDown",
    "Remediating",
    "Deleting",
    "Paused",
]


def older(builder: Builder, part: str = "controlPlane") -> dict[str, Object]:
    """The conditions of the contract v1beta1, by type."""
    status = decide(builder.build())["status"]
    found = status["machines"][part] if part not in status else status[part]
    return {each["type"]: each for each in found["deprecated"]["v1beta1"]["conditions"]}


def states(builder: Builder, part: str = "controlPlane") -> dict[str, str]:
    return {kind: each["status"] for kind, each in older(builder, part).items()}


def current(builder: Builder, part: str) -> dict[str, Object]:
    found = decide(builder.build())["conditions"]
    return {each["type"]: each for each in (found["machines"][part] if part not in found else found[part])}


def test_the_listed_types_are_there() -> None:
    assert set(V1BETA2) <= set(current(healthy(3), "controlPlane"))


def test_a_healthy_control_plane_in_the_older_contract() -> None:
    assert states(healthy(3)) == dict.fromkeys(
        (
            "Ready",
            "Available",
            "CertificatesAvailable",
            "ControlPlaneComponentsHealthy",
            "EtcdClusterHealthy",
            "MachinesCreated",
            "MachinesReady",
            "MachinesSpecUpToDate",
            "Resized",
        ),
        "True",
    )
    assert states(healthy(3), "cluster") == dict.fromkeys(
        ("Ready", "InfrastructureReady", "ControlPlaneInitialized", "ControlPlaneReady"), "True"
    )
    assert states(healthy(3), "m1") == dict.fromkeys(
        (
            "Ready",
            "InfrastructureReady",
            "BootstrapReady",
            "NodeHealthy",
            "APIServerPodHealthy",
            "ControllerManagerPodHealthy",
            "SchedulerPodHealthy",
            "EtcdPodHealthy",
            "EtcdMemberHealthy",
        ),
        "True",
    )


def test_external_etcd_has_no_condition_in_either() -> None:
    assert "EtcdClusterHealthy" not in states(external(healthy(3)))
    assert "EtcdClusterAvailable" not in current(external(healthy(3)), "controlPlane")


def test_the_summary_tells_the_worst() -> None:
    """An Error before what is only under way; what fails has a severity, what is well has none."""
    found = older(healthy(3, replicas=5).sick_member("m2"))
    assert found["Resized"]["severity"] == "Warning" and found["Resized"]["reason"] == "ScalingUp"
    assert found["Ready"]["status"] == "False"
    assert (found["Ready"]["reason"], found["Ready"]["severity"]) == ("EtcdClusterUnhealthy", "Error")
    assert found["Ready"]["message"] == found["EtcdClusterHealthy"]["message"]
    assert "severity" not in found["CertificatesAvailable"] and "reason" not in found["CertificatesAvailable"]


def test_what_is_unknown_has_no_severity() -> None:
    found = older(healthy(3).unreachable())
    assert found["ControlPlaneComponentsHealthy"]["status"] != "True"
    assert all("severity" not in each for each in found.values() if each["status"] == "Unknown")


def test_before_the_first_machine_in_the_older_contract() -> None:
    found = older(cluster(3).bare())
    assert (found["Available"]["status"], found["Available"]["reason"]) == ("False", "WaitingForKubeadmInit")
    assert found["Ready"]["status"] == "False"
    assert states(cluster(3).bare(), "cluster")["ControlPlaneReady"] == "False"


@pytest.mark.parametrize(
    ("change", "kind", "expected"),
    [
        (lambda b: b.pod("m2", "kube-scheduler"), "SchedulerPodHealthy", ("False", "PodMissing", "Error")),
        (
            lambda b: b.pod("m2", "kube-scheduler", phase="Pending"),
            "SchedulerPodHealthy",
            ("False", "PodProvisioning", "Info"),
        ),
        (lambda b: b.pod("m2", "etcd", phase="Failed"), "EtcdPodHealthy", ("False", "PodFailed", "Error")),
        (lambda b: b.deleting("m2"), "EtcdMemberHealthy", ("False", "Deleting", "Info")),
        (lambda b: b.workload["etcd"].update(statuses={}), "EtcdMemberHealthy", ("Unknown", "MemberInspectionFailed")),
        (lambda b: b.workload["nodes"].pop(1), "NodeHealthy", ("False", "NodeNotFound", "Error")),
        (lambda b: b.node("m2", ready="False"), "NodeHealthy", ("False", "NodeConditionsFailed", "Warning")),
        (lambda b: b.marked("m2"), "HealthCheckSucceeded", ("False", "UnhealthyNode", "Warning")),
        (lambda b: b.marked("m2"), "OwnerRemediated", ("False", "WaitingForRemediation", "Warning")),
    ],
)
def test_reasons_of_a_machine_in_the_older_contract(change: Any, kind: str, expected: tuple[str, ...]) -> None:
    """Each is v1beta1's own name for it, with its severity."""
    builder = healthy(3)
    change(builder)
    found = older(builder, "m2")[kind]
    assert tuple(found[key] for key in ("status", "reason", "severity") if key in found) == expected


def test_a_machines_summary_counts_its_health_check() -> None:
    assert older(healthy(3).marked("m2"), "m2")["Ready"]["reason"] == "UnhealthyNode"
    assert older(healthy(3).stored("HealthCheckSucceeded", "True", 60, "m2"), "m2")["Ready"]["status"] == "True"


def marked_for_deletion(builder: Builder, *parts: str) -> Builder:
    for part in parts:
        builder.snapshot[part]["metadata"]["deletionTimestamp"] = at(5)
    return builder


def test_how_far_a_clusters_deletion_has_come() -> None:
    """In Cluster API's reasons; a control plane that is deleted alone doesn't take its Cluster with it."""

    def found(builder: Builder, *parts: str) -> tuple[str, str]:
        deleting = current(marked_for_deletion(builder, *parts), "cluster")["Deleting"]
        return deleting["status"], deleting["reason"]

    both = ("cluster", "controlPlane")
    assert found(healthy(3)) == ("False", "NotDeleting")
    assert found(healthy(3), *both) == ("True", "WaitingForControlPlaneDeletion")
    workers = healthy(3)
    workers.workload["workerNodes"] = ["w1"]
    assert found(workers, *both) == ("True", "WaitingForWorkersDeletion")
    assert found(cluster(3).bare(), *both)[0] == "True"
    gone = healthy(3)
    gone.snapshot["machines"] = []
    assert found(gone, *both) == ("True", "WaitingForInfrastructureDeletion")
    gone.snapshot.pop("infrastructureCluster")
    assert found(gone, *both) == ("True", "DeletionCompleted")
    assert found(healthy(3), "controlPlane") == ("False", "NotDeleting")
    alone = current(marked_for_deletion(healthy(3), "controlPlane"), "cluster")["Available"]
    assert alone["status"] == "False" and "ControlPlaneAvailable" in alone["message"]


def test_a_status_that_stays_keeps_its_time() -> None:
    """Nothing is written where nothing changed, and since when something holds can be told."""
    builder = healthy(3)
    first = decide(builder.build())["status"]
    builder.snapshot["controlPlane"].setdefault("status", {})["deprecated"] = copy.deepcopy(
        first["controlPlane"]["deprecated"]
    )
    stored = builder.snapshot["controlPlane"]["status"]["deprecated"]["v1beta1"]["conditions"]
    assert {each["lastTransitionTime"] for each in stored} == {NOW}
    for each in stored:
        each["lastTransitionTime"] = at(3600)
    assert {each["lastTransitionTime"] for each in older(builder).values()} == {at(3600)}
    found = older(builder.sick_member("m2"))
    assert found["EtcdClusterHealthy"]["lastTransitionTime"] == NOW
    assert found["CertificatesAvailable"]["lastTransitionTime"] == at(3600)


AVAILABLE: list[tuple[str, Any, str, str]] = [
    ("a member fails", lambda: healthy(3).sick_member("m2"), "True", ""),
    ("most members fail", lambda: healthy(3).sick_member("m2").sick_member("m3"), "False", "* ControlPlaneAvailable: "),
    (
        "no answer",
        lambda: healthy(3).unreachable(),
        "False",
        "* ControlPlaneAvailable: ",
    ),
    ("nothing yet", lambda: cluster(3).bare(), "False", "* InfrastructureReady: "),
    ("going", lambda: healthy(3).deleting(), "False", "* Deleting: "),
]


@pytest.mark.parametrize(
    ("make", "status", "message"), [case[1:] for case in AVAILABLE], ids=[case[0] for case in AVAILABLE]
)
def test_whether_the_cluster_is_available(make: Any, status: str, message: str) -> None:
    """What `kubectl wait --for=condition=Available cluster/prod` waits for."""
    found = current(make(), "cluster")["Available"]
    assert found["status"] == status
    assert found["message"].startswith(message)


def test_etcd_is_available_while_its_quorum_is() -> None:
    """Whatever is wrong with the others; EtcdClusterHealthy tells that."""
    found = current(healthy(3).sick_member("m2"), "controlPlane")
    assert (found["EtcdClusterAvailable"]["status"], found["EtcdClusterHealthy"]["status"]) == ("True", "False")
    assert found["EtcdClusterAvailable"]["message"] == "2 of 3 voters are healthy, 2 are needed"
    found = current(healthy(3).sick_member("m2").sick_member("m3"), "controlPlane")
    assert found["EtcdClusterAvailable"]["status"] == "False"


@pytest.mark.parametrize("kind", ["CORRUPT", "NOSPACE"])
@pytest.mark.parametrize("named", [member_id("m2"), member_id("m9"), "00000000000000ff", "0000000000000000"])
def test_an_alarm_of_any_member_or_of_none_keeps_etcd_from_being_available(named: str, kind: str) -> None:
    """Etcd refuses writes on every member then, as healthy as each is. Those that have no alarm stay so."""
    builder = healthy(3)
    if named == member_id("m9"):
        builder.member("m9")
    builder.workload["etcd"]["alarms"] = [{"memberID": named, "alarm": kind}]
    found = current(builder, "controlPlane")
    for each in ("EtcdClusterHealthy", "EtcdClusterAvailable", "Available"):
        assert found[each]["status"] == "False", each
    assert kind in found["EtcdClusterHealthy"]["message"]
    assert "an alarm keeps etcd from taking writes" in found["Available"]["message"]
    ready = [name for name in ("m1", "m2", "m3") if current(builder, name)["EtcdMemberHealthy"]["status"] == "True"]
    assert ready == [name for name in ("m1", "m2", "m3") if member_id(name) != named]


def test_a_stray_member_leaves_it_available() -> None:
    """Cluster API says False; here EtcdClusterHealthy alone does."""
    found = current(healthy(3).member("prod-gone"), "controlPlane")
    assert (found["EtcdClusterHealthy"]["status"], found["Available"]["status"]) == ("False", "True")


@pytest.mark.parametrize("why", ["its Node is not known", "it goes"])
def test_a_voter_counts_by_its_own_answer(why: str) -> None:
    """Two of three voters answer; Cluster API does not count that of a machine that goes, or whose Node it can't find."""
    builder = healthy(3).sick_member("m2")
    if why == "it goes":
        builder.deleting("m3")
    else:
        builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m3"]
    assert current(builder, "m3")["Ready"]["status"] != "True"
    found = current(builder, "controlPlane")
    assert (found["EtcdClusterAvailable"]["status"], found["Available"]["status"]) == ("True", "True")


def gated(status: str, polarity: str = "") -> Builder:
    """A control plane whose machine m1 waits for the agent of somebody else."""
    builder = healthy(3)
    machine = builder.entry("m1")["machine"]
    machine["spec"]["readinessGates"] = [
        {"conditionType": "AgentReady", **({"polarity": polarity} if polarity else {})}
    ]
    if status:
        machine.setdefault("status", {}).setdefault("conditions", []).append(
            {
                "type": "AgentReady",
                "status": status,
                "reason": "Agent",
                "message": "it says so",
                "lastTransitionTime": at(60),
            }
        )
    return builder


@pytest.mark.parametrize("gate", ["Ready", "Available", "NodeReady", ""])
def test_a_gate_that_names_what_is_computed_here_is_not_waited_for_twice(gate: str) -> None:
    """A summary can't wait for itself."""
    builder = healthy(3)
    builder.entry("m1")["machine"]["spec"]["readinessGates"] = [{"conditionType": gate}]
    decision = decide(builder.build())
    assert condition(decision, "Ready", "m1")["status"] == "True"
    kinds = [each["type"] for each in decision["conditions"]["machines"]["m1"]]
    assert len(kinds) == len(set(kinds)) and "" not in kinds


@pytest.mark.parametrize(
    ("status", "polarity", "ready"),
    [
        ("True", "", "True"),
        ("False", "", "False"),
        ("Unknown", "", "Unknown"),
        ("", "", "Unknown"),
        ("False", "Negative", "True"),
        ("True", "Negative", "False"),
        ("", "Negative", "Unknown"),
    ],
)
def test_readiness_gates_of_others(status: str, polarity: str, ready: str) -> None:
    """A Machine is Ready when what others watch is, too; what they have not said yet is Unknown."""
    found = current(gated(status, polarity), "m1")
    assert found["Ready"]["status"] == ready
    assert ("AgentReady" in found["Ready"]["message"]) is (ready != "True")
    assert "AgentReady" not in found, "it is written by whoever owns it"
    assert decide(gated(status, polarity).build())["status"]["controlPlane"]["readyReplicas"] == (
        3 if ready == "True" else 2
    )
