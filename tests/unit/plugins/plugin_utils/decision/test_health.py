# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions of one machine: Unknown, False and True for the right reasons.

Source: docs/reference/cluster_api.md, "Conditions".
"""

from __future__ import annotations

from typing import Any, Callable

import pytest
from builders import Builder, at, healthy, member_id

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

Change = Callable[[Builder], Any]


def conditions(builder: Builder, name: str = "m2") -> dict[str, tuple[str, str]]:
    decision = decide(builder.build())
    return {each["type"]: (each["status"], each["reason"]) for each in decision["conditions"]["machines"][name]}


def test_a_working_machine() -> None:
    assert conditions(healthy(3)) == {
        "APIServerPodHealthy": ("True", "Running"),
        "ControllerManagerPodHealthy": ("True", "Running"),
        "SchedulerPodHealthy": ("True", "Running"),
        "EtcdPodHealthy": ("True", "Running"),
        "EtcdMemberHealthy": ("True", "Healthy"),
        "NodeKubeadmLabelsAndTaintsSet": ("True", "Set"),
        "UpToDate": ("True", "UpToDate"),
        "InfrastructureReady": ("True", "Ready"),
        "BootstrapConfigReady": ("True", "Ready"),
        "NodeHealthy": ("True", "NodeHealthy"),
        "NodeReady": ("True", "NodeReady"),
        "Deleting": ("False", "NotDeleting"),
        "Paused": ("False", "NotPaused"),
        "Ready": ("True", "Ready"),
        "Available": ("True", "Available"),
    }


@pytest.mark.parametrize(
    ("change", "healthy_reason", "ready"),
    [
        (lambda b: b.node("m2", ready="False"), "NodeNotHealthy", ("False", "NodeNotReady")),
        (lambda b: b.node("m2", ready="Unknown"), "NodeHealthyUnknown", ("Unknown", "NodeReadyUnknown")),
    ],
)
def test_a_node_that_is_not_ready(change: Change, healthy_reason: str, ready: tuple[str, str]) -> None:
    """In both of Cluster API's conditions."""
    builder = healthy(3)
    change(builder)
    found = conditions(builder)
    assert found["NodeHealthy"] == (ready[0], healthy_reason) and found["NodeReady"] == ready


def reported(**states: str) -> list[dict[str, str]]:
    """A Node's conditions."""
    return [{"type": kind, "status": status, "reason": f"Kubelet{kind}"} for kind, status in states.items()]


@pytest.mark.parametrize(
    ("states", "healthy_as", "said"),
    [
        ({"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}, ("True", "NodeHealthy"), ""),
        ({"DiskPressure": "True"}, ("False", "NodeNotHealthy"), "Node has DiskPressure (KubeletDiskPressure)"),
        (
            {"DiskPressure": "True", "PIDPressure": "True", "MemoryPressure": "Unknown"},
            ("False", "NodeNotHealthy"),
            "Node has DiskPressure (KubeletDiskPressure); Node has PIDPressure (KubeletPIDPressure); "
            "Node's condition MemoryPressure is Unknown (KubeletMemoryPressure)",
        ),
        (
            {"MemoryPressure": "Unknown"},
            ("Unknown", "NodeHealthyUnknown"),
            "Node's condition MemoryPressure is Unknown (KubeletMemoryPressure)",
        ),
        ({"NetworkUnavailable": "True"}, ("True", "NodeHealthy"), ""),
    ],
)
def test_a_node_under_pressure_is_ready_and_not_healthy(
    states: dict[str, str], healthy_as: tuple[str, str], said: str
) -> None:
    """And its Machine is not Ready: NodeHealthy counts for that, as in Cluster API; the older contract counts its Node as ready."""
    builder = healthy(3)
    builder.workload["nodes"][1]["conditions"] = reported(**states)
    found = conditions(builder)
    assert found["NodeHealthy"] == healthy_as and found["NodeReady"] == ("True", "NodeReady")
    assert found["Ready"][0] == healthy_as[0]
    decision = decide(builder.build())
    told = {each["type"]: each["message"] for each in decision["conditions"]["machines"]["m2"]}
    assert told["NodeHealthy"] == said
    assert decision["status"]["controlPlane"]["deprecated"]["v1beta1"]["readyReplicas"] == 3


def test_a_silent_node_is_told_once() -> None:
    builder = healthy(3)
    silent = {"ready": "Unknown", "readyReason": "NodeStatusUnknown", "conditions": reported(DiskPressure="Unknown")}
    builder.workload["nodes"][1].update(silent)
    (found,) = (e for e in decide(builder.build())["conditions"]["machines"]["m2"] if e["type"] == "NodeHealthy")
    assert found["message"] == "Node's Ready condition is Unknown (NodeStatusUnknown)"


def test_a_machine_without_a_node() -> None:
    """Waited for, gone with its Machine's deletion or without: the reasons of Cluster API."""
    for deleting, recorded, expected in (
        (False, False, ("Unknown", "InspectionFailed")),
        (True, False, ("Unknown", "NodeDoesNotExist")),
        (False, True, ("False", "NodeDeleted")),
        (True, True, ("False", "NodeDeleted")),
    ):
        builder = healthy(3)
        builder.workload["nodes"].pop(1)
        status = builder.entry("m2")["machine"]["status"]
        status.update(nodeRef={"name": "m2"}) if recorded else status.pop("nodeRef", None)
        found = conditions(builder.deleting("m2") if deleting else builder)
        assert (found["NodeHealthy"], found["NodeReady"]) == (expected, expected)


def test_a_health_check_counts_where_there_is_one() -> None:
    """A machine that a MachineHealthCheck found unhealthy is not Ready, whatever else is well."""
    assert conditions(healthy(3).stored("HealthCheckSucceeded", "True", 60, "m2"))["Ready"] == ("True", "Ready")
    builder = healthy(3).stored("HealthCheckSucceeded", "False", 60, "m2", "UnhealthyNode")
    found = conditions(builder)
    assert found["Ready"] == ("False", "NotReady") and "HealthCheckSucceeded" not in found, "others set it"
    assert conditions(builder, "m1")["Ready"] == ("True", "Ready")


@pytest.mark.parametrize("stage", ["DrainingNode", "WaitingForPreTerminateHook", "WaitingForInfrastructureDeletion"])
def test_how_far_a_deletion_has_come_is_kept(stage: str) -> None:
    """The removal that goes on after a killed run begins where that stage says, not with the drain."""
    assert conditions(healthy(3).deleting("m2").stored("Deleting", "True", 30, "m2", stage))["Deleting"] == (
        "True",
        stage,
    )
    assert conditions(healthy(3).deleting("m2").stored("Deleting", "False", 30, "m2", "NotDeleting"))["Deleting"] == (
        "True",
        "Deleting",
    )


def test_a_machine_that_goes_and_one_that_is_paused() -> None:
    found = conditions(healthy(3).deleting("m2"))
    assert found["Deleting"] == ("True", "Deleting") and found["Paused"] == ("False", "NotPaused")
    assert conditions(healthy(3).deleting("m2"), "m1")["Deleting"] == ("False", "NotDeleting")
    builder = healthy(3)
    builder.snapshot["cluster"]["spec"]["paused"] = True
    assert conditions(builder)["Paused"] == ("True", "Paused")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, ("False", "DoesNotExist")),
        ({"phase": "Pending"}, ("False", "Provisioning")),
        ({"phase": "Running"}, ("False", "Provisioning")),
        ({"phase": "Running", "waitingReason": "ContainerCreating"}, ("False", "Provisioning")),
        ({"phase": "Running", "waitingReason": "CrashLoopBackOff", "lastExitCode": 1}, ("False", "Failed")),
        ({"phase": "Running", "waitingReason": "CrashLoopBackOff", "lastExitCode": 0}, ("False", "Provisioning")),
        ({"phase": "Running", "terminated": True, "lastExitCode": 2}, ("False", "Failed")),
        ({"phase": "Running", "ready": True}, ("True", "Running")),
        ({"phase": "Succeeded"}, ("False", "Failed")),
        ({"phase": "Failed"}, ("False", "Failed")),
        ({"phase": "Unknown"}, ("Unknown", "InspectionFailed")),
        ({"phase": "Odd"}, ("Unknown", "InspectionFailed")),
    ],
)
@pytest.mark.parametrize(
    ("component", "kind"),
    [
        ("kube-apiserver", "APIServerPodHealthy"),
        ("kube-controller-manager", "ControllerManagerPodHealthy"),
        ("kube-scheduler", "SchedulerPodHealthy"),
        ("etcd", "EtcdPodHealthy"),
    ],
)
def test_static_pods(component: str, kind: str, facts: dict[str, Any], expected: tuple[str, str]) -> None:
    assert conditions(healthy(3).pod("m2", component, **facts))[kind] == expected


NODE_CASES: list[tuple[str, tuple[str, str], Change]] = [
    ("node unknown", ("Unknown", "InspectionFailed"), lambda b: b.node("m2", ready="Unknown")),
    ("node not ready still tells of its pods", ("True", "Running"), lambda b: b.node("m2", ready="False")),
    ("node gone", ("Unknown", "InspectionFailed"), lambda b: b.workload["nodes"].pop(1)),
    ("another host", ("Unknown", "InspectionFailed"), lambda b: b.workload["nodes"][1].update(machineID="x")),
    (
        "unreachable taint",
        ("Unknown", "InspectionFailed"),
        lambda b: b.workload["nodes"][1]["taints"].append(
            {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
        ),
    ),
    (
        "unreachable but not NoExecute",
        ("True", "Running"),
        lambda b: b.workload["nodes"][1]["taints"].append(
            {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
        ),
    ),
    ("deleting", ("False", "Deleting"), lambda b: b.deleting("m2")),
]


@pytest.mark.parametrize(("what", "expected", "change"), NODE_CASES, ids=[case[0] for case in NODE_CASES])
def test_what_is_known_of_a_pod_depends_on_its_node(what: str, expected: tuple[str, str], change: Change) -> None:
    builder = healthy(3)
    change(builder)
    assert conditions(builder)["SchedulerPodHealthy"] == expected


MEMBER_CASES: list[tuple[str, tuple[str, str], Change]] = [
    ("sick", ("False", "NotHealthy"), lambda b: b.sick_member("m2")),
    ("not listed", ("False", "NotHealthy"), lambda b: b.without_member("m2")),
    ("learner", ("False", "NotHealthy"), lambda b: b.member("m2", learner=True)),
    (
        "alarm",
        ("False", "NotHealthy"),
        lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "NOSPACE"}),
    ),
    (
        "alarm of another",
        ("True", "Healthy"),
        lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m1"), "alarm": "CORRUPT"}),
    ),
    (
        "own status missing",
        ("Unknown", "InspectionFailed"),
        lambda b: b.workload["etcd"]["statuses"].pop(member_id("m2")),
    ),
    ("no list", ("Unknown", "InspectionFailed"), lambda b: b.workload["etcd"].update(reachable=False)),
    ("etcd not asked", ("Unknown", "InspectionFailed"), lambda b: b.workload.update(etcd=None)),
    ("deleting", ("False", "Deleting"), lambda b: b.deleting("m2")),
]


@pytest.mark.parametrize(("what", "expected", "change"), MEMBER_CASES, ids=[case[0] for case in MEMBER_CASES])
def test_etcd_members(what: str, expected: tuple[str, str], change: Change) -> None:
    builder = healthy(3)
    change(builder)
    assert conditions(builder)["EtcdMemberHealthy"] == expected


def test_external_etcd_has_no_etcd_conditions() -> None:
    builder = healthy(3)
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {"endpoints": ["https://e:2379"]}}
    builder.workload["etcd"] = None
    decision = decide(builder.build())
    kinds = {each["type"] for each in decision["conditions"]["machines"]["m2"] + decision["conditions"]["controlPlane"]}
    assert not [kind for kind in kinds if kind.startswith("Etcd")]


@pytest.mark.parametrize(
    ("version", "labels", "taints", "expected"),
    [
        ("v1.20.2", ["control-plane", "master"], ["master"], "True"),
        ("v1.20.2", ["control-plane", "master"], [], "False"),
        ("v1.20.2", ["master"], ["master"], "False"),
        ("v1.19.0", ["master"], ["master"], "True"),
        ("v1.24.0", ["control-plane"], ["master", "control-plane"], "True"),
        ("v1.29.0", ["control-plane"], ["control-plane"], "True"),
        ("v1.29.0", ["control-plane"], ["master"], "False"),
    ],
)
def test_labels_and_taints_are_those_of_the_version(
    version: str, labels: list[str], taints: list[str], expected: str
) -> None:
    builder = healthy(3)
    builder.spec["version"] = version
    builder.entry("m2")["machine"]["spec"]["version"] = version
    node = builder.workload["nodes"][1]
    node["labels"] = {f"node-role.kubernetes.io/{label}": "" for label in labels}
    node["taints"] = [{"key": f"node-role.kubernetes.io/{taint}", "effect": "NoSchedule"} for taint in taints]
    assert conditions(builder)["NodeKubeadmLabelsAndTaintsSet"][0] == expected


@pytest.mark.parametrize(
    ("present", "lacks"),
    [
        ([{"key": "dedicated", "value": "cp", "effect": "NoExecute"}], ""),
        ([{"key": "dedicated", "value": "other", "effect": "NoExecute"}], ""),
        ([{"key": "dedicated", "value": "cp", "effect": "NoSchedule"}], "dedicated=cp:NoExecute"),
        ([{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}], "dedicated=cp:NoExecute"),
    ],
)
def test_taints_that_were_asked_for(present: list[dict[str, str]], lacks: str) -> None:
    """By key and effect, as the API server tells them apart: a value may be changed."""
    builder = healthy(3)
    registration = builder.entry("m2")["kubeadmConfig"]["spec"]["joinConfiguration"]["nodeRegistration"]
    registration["taints"] = [{"key": "dedicated", "value": "cp", "effect": "NoExecute"}]
    builder.workload["nodes"][1]["taints"] = present
    listed = decide(builder.build())["conditions"]["machines"]["m2"]
    [found] = [each for each in listed if each["type"] == "NodeKubeadmLabelsAndTaintsSet"]
    assert found["status"] == ("False" if lacks else "True") and lacks in found["message"]


def test_taints_that_the_user_chose_are_not_kubeadms() -> None:
    builder = healthy(3)
    builder.entry("m2")["kubeadmConfig"]["spec"]["joinConfiguration"]["nodeRegistration"]["taints"] = []
    builder.workload["nodes"][1]["taints"] = []
    assert conditions(builder)["NodeKubeadmLabelsAndTaintsSet"] == ("True", "Set")


def test_a_kubelet_of_another_version_is_being_updated() -> None:
    builder = healthy(3)
    builder.workload["nodes"][1]["kubeletVersion"] = "v1.19.9"
    assert conditions(builder)["UpToDate"] == ("False", "Updating")


class TestConnection:
    """The API does not answer: conditions are kept for the grace period, then they are Unknown.

    Source: docs/reference/cluster_api.md, "Conditions".
    """

    @pytest.mark.parametrize(
        ("down", "expected"),
        [
            (None, ("True", "Kept")),
            (299, ("True", "Kept")),
            (300, ("Unknown", "ConnectionDown")),
            (9999, ("Unknown", "ConnectionDown")),
        ],
    )
    def test_grace(self, down: Any, expected: tuple[str, str]) -> None:
        builder = healthy(3).stored("SchedulerPodHealthy", "True", 900, "m2", reason="Kept").unreachable()
        if down is not None:
            builder.stored("RemoteConnectionProbe", "False", down, "cluster")
        assert conditions(builder)["SchedulerPodHealthy"] == expected

    @pytest.mark.parametrize(("answered", "expected"), [(599, ("True", "Kept")), (600, ("Unknown", "ConnectionDown"))])
    def test_grace_counts_from_the_last_answer(self, answered: float, expected: tuple[str, str]) -> None:
        """Nobody looked meanwhile: the first look that finds no answer says of how long ago what is stored is."""
        builder = healthy(3).stored("SchedulerPodHealthy", "True", 9000, "m2", reason="Kept").unreachable()
        builder.stored("RemoteConnectionProbe", "True", 9000, "cluster")
        builder.snapshot["cluster"]["status"]["lastProbeSuccessTime"] = at(answered)
        assert conditions(builder)["SchedulerPodHealthy"] == expected

    @pytest.mark.parametrize(("stored", "written"), [(None, 0), (299, 299), (300, 0), (-60, 0)])
    def test_the_last_answer_is_recorded_once_in_a_grace_period(self, stored: Any, written: float) -> None:
        """A second run right after the first one writes nothing."""
        builder = healthy(3)
        if stored is not None:
            builder.snapshot["cluster"]["status"]["lastProbeSuccessTime"] = at(stored)
        assert decide(builder.build())["status"]["cluster"]["lastProbeSuccessTime"] == at(written)

    def test_no_answer_leaves_it_as_it_was(self) -> None:
        builder = healthy(3).unreachable()
        assert "lastProbeSuccessTime" not in decide(builder.build())["status"]["cluster"]
        builder.snapshot["cluster"]["status"]["lastProbeSuccessTime"] = at(5000)
        assert decide(builder.build())["status"]["cluster"]["lastProbeSuccessTime"] == at(5000)

    def test_a_nodes_too_unless_the_machine_goes(self) -> None:
        builder = healthy(3).stored("NodeReady", "True", 9000, "m2", reason="Kept").unreachable()
        builder.snapshot["cluster"]["status"]["lastProbeSuccessTime"] = at(10)
        assert conditions(builder)["NodeReady"] == ("True", "Kept")
        assert conditions(builder.deleting("m2"))["NodeReady"] == ("Unknown", "NodeDoesNotExist")

    def test_nothing_stored_is_unknown(self) -> None:
        assert conditions(healthy(3).unreachable())["SchedulerPodHealthy"] == ("Unknown", "InspectionFailed")

    def test_a_probe_that_succeeded_is_not_taken_for_a_failing_one(self) -> None:
        builder = healthy(3).unreachable().stored("RemoteConnectionProbe", "True", 9999, "cluster")
        assert conditions(builder)["SchedulerPodHealthy"] == ("Unknown", "InspectionFailed")


def test_text_from_a_host_stays_short_and_plain() -> None:
    builder = healthy(3)
    builder.workload["nodes"][1].update(ready="False", readyReason="{{ lookup('file', '/etc/shadow') }}\n" + "x" * 9999)
    condition = next(
        each for each in decide(builder.build())["conditions"]["machines"]["m2"] if each["type"] == "NodeHealthy"
    )
    assert "\n" not in condition["message"]
    assert len(condition["message"]) < 200


@pytest.mark.parametrize(
    ("state", "said"), [("", "Waiting for kubeadm"), ("Running", "kubeadm is at work"), ("Failed", "kubeadm failed")]
)
def test_a_bootstrap_that_has_not_succeeded_says_how_far_it_is(state: str, said: str) -> None:
    machines = decide(healthy(2, replicas=3).machine("m3", state, age=20).build())["conditions"]["machines"]
    assert [said in each["message"] for each in machines["m3"] if each["type"] == "BootstrapConfigReady"] == [True]


def test_a_machine_that_only_boots_is_not_ready() -> None:
    found = conditions(healthy(2, replicas=3).machine("m3", "Running", age=20), "m3")
    assert found["Ready"][0] == "False"
    assert found["BootstrapConfigReady"] == ("False", "NotReady")
    assert found["APIServerPodHealthy"] == ("Unknown", "InspectionFailed")
