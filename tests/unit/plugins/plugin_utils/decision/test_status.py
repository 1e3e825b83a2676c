# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status fields of both contract versions.

Source: docs/reference/cluster_api.md, "Conditions", "Fields of older versions".
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import pytest
from builders import NOW, Builder, cluster, healthy, member_id
from decisions import Change, changed
from rules import MIN_READY, external, ready_for, upgrade, walked

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.state_fingerprint import (
    fingerprint,
    state_of,
)


def status(builder: Builder, part: str = "controlPlane") -> Any:
    return decide(builder.build())["status"][part]


class TestStatus:
    def test_a_healthy_control_plane(self) -> None:
        status = decide(healthy(3).build())["status"]
        for part in (status["controlPlane"], status["cluster"], *status["machines"].values()):
            # test_contract_conditions.py
            assert part["deprecated"]["v1beta1"].pop("conditions")
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
            "rollout": {},
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
            "lastProbeSuccessTime": NOW,
            "controlPlane": {
                "desiredReplicas": 3,
                "replicas": 3,
                "readyReplicas": 3,
                "availableReplicas": 3,
                "upToDateReplicas": 3,
            },
            "deprecated": {"v1beta1": {}},
        }
        assert status["machines"]["m1"] == {
            "phase": "Running",
            "lastUpdated": NOW,
            "nodeRef": {"name": "m1"},
            "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
            "deprecated": {"v1beta1": {}},
        }

    def test_node_info_is_the_nodes(self) -> None:
        """Whole, and nothing is decided by it: neither the step nor the state that a plan is bound to changes with it."""
        told = {"osImage": "Debian GNU/Linux 12", "kernelVersion": "6.1.0", "swap": {"capacity": 1}}
        builder = healthy(3)
        builder.workload["nodes"][0]["nodeInfo"] = told
        before, after = healthy(3).build(), builder.build()
        decision = decide(after)
        assert decision["status"]["machines"]["m1"].pop("nodeInfo") == told
        assert "nodeInfo" not in decision["status"]["machines"]["m2"]
        assert decision == decide(before)
        assert fingerprint(state_of(after)) == fingerprint(state_of(before))

    @pytest.mark.parametrize("gone", [True, False])
    def test_node_info_stays_when_the_node_is_gone_or_not_asked(self, gone: bool) -> None:
        """As nodeRef: what a status doesn't name stays as it is stored; None would take it away."""
        builder = healthy(3)
        builder.entry("m2")["machine"]["status"]["nodeInfo"] = {"osImage": "Debian GNU/Linux 12"}
        if gone:
            builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m2"]
        else:
            builder.unreachable()
        assert not {"nodeInfo", "nodeRef"} & set(status(builder, "machines")["m2"])

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


# What is changed; then replicas, readyReplicas, availableReplicas, upToDateReplicas, and v1beta1's unavailableReplicas.
COUNTERS: list[tuple[str, Change, tuple[int, ...]]] = [
    ("nothing", lambda b: b, (3, 3, 3, 3, 0)),
    ("a Node is not ready", lambda b: b.node("m2", ready="False"), (3, 2, 2, 3, 1)),
    ("a Node is silent", lambda b: b.node("m2", ready="Unknown"), (3, 2, 2, 3, 1)),
    ("a member fails", lambda b: b.sick_member("m2"), (3, 2, 2, 3, 0)),
    ("another version is wanted", upgrade, (3, 3, 3, 0, 0)),
    ("more are wanted", lambda b: b.wants(replicas=5), (3, 3, 3, 3, 2)),
    ("fewer are wanted", lambda b: b.wants(replicas=1), (3, 3, 3, 3, 0)),
    ("one is going", lambda b: b.deleting("m2"), (3, 2, 2, 3, 0)),
    ("one boots", lambda b: b.machine("m4", "Running", age=20), (4, 3, 3, 4, 1)),
    ("ready for too short a time", lambda b: ready_for(b.annotate(MIN_READY, "60"), 59, "m2"), (3, 3, 0, 3, 0)),
    ("ready for long enough", lambda b: ready_for(b.annotate(MIN_READY, "60"), 60), (3, 3, 3, 3, 0)),
    ("min-ready that is no number", lambda b: b.annotate(MIN_READY, "x"), (3, 3, 0, 3, 0)),
]


@pytest.mark.parametrize(("what", "change", "expected"), COUNTERS, ids=[case[0] for case in COUNTERS])
def test_counters(what: str, change: Change, expected: tuple[int, ...]) -> None:
    found = status(changed(healthy(3), change))
    names = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas", "unavailableReplicas")
    assert tuple(found[name] for name in names) == expected
    old = found["deprecated"]["v1beta1"]
    assert (found["updatedReplicas"], old["updatedReplicas"]) == (expected[3], expected[3])
    assert old["unavailableReplicas"] == expected[4]


def test_the_older_contract_counts_nodes_that_are_ready() -> None:
    assert status(healthy(3).sick_member("m2"))["deprecated"]["v1beta1"]["readyReplicas"] == 3
    assert status(healthy(3).node("m2", ready="False"))["deprecated"]["v1beta1"]["readyReplicas"] == 2


def test_ready_is_an_api_server_that_serves() -> None:
    builder = healthy(2, replicas=3).pod("m1", "kube-apiserver", phase="Failed")
    assert status(builder)["ready"] is True
    assert status(builder.pod("m2", "kube-apiserver"))["ready"] is False


def test_versions_during_a_rollout() -> None:
    found = status(walked(upgrade(healthy(3)), 2))
    assert found["version"] == "v1.20.2"
    assert found["versions"] == [{"version": "v1.20.2", "replicas": 2}, {"version": "v1.21.1", "replicas": 1}]


@pytest.mark.parametrize("state", ["", "nodeRef", "works", "Running", "Failed", "Succeeded"])
def test_a_machine_that_was_never_started_runs_no_version(state: str) -> None:
    """Its version may be taken back; what may run on a machine, or did, counts, whatever is recorded of its start."""
    builder = healthy(3, replicas=5).machine("m4", "" if state in ("nodeRef", "works") else state)
    machine = builder.entry("m4")["machine"]
    machine["spec"]["version"] = "v1.21.1"
    if state == "nodeRef":
        machine["status"]["nodeRef"] = {"name": "m4"}
    if state == "works":
        builder.works("m4")
    new = [{"version": "v1.21.1", "replicas": 1}] if state else []
    assert status(builder)["versions"] == [{"version": "v1.20.2", "replicas": 3}, *new]


def test_external_etcd_has_no_leader_and_no_cluster_id() -> None:
    found = status(external(healthy(3)))
    assert "etcdLeader" not in found
    assert "etcdClusterID" not in found


@pytest.mark.parametrize(
    ("change", "leader"),
    [
        (lambda b: b, "m1"),
        (lambda b: b.workload["etcd"].update(leader=None), None),
        (lambda b: b.workload.update(etcd={"reachable": False, "message": "timeout"}), None),
        (lambda b: b.unreachable(), None),
    ],
    ids=["known", "none agreed", "etcd not reached", "no API answers"],
)
def test_a_leader_that_is_not_known_is_taken_out(change: Callable[[Builder], object], leader: Optional[str]) -> None:
    """Else the group etcd_leader of the inventory would name the last one for ever."""
    builder = healthy(3)
    builder.snapshot["controlPlane"]["status"]["etcdLeader"] = "m3"
    change(builder)
    found = status(builder)
    assert "etcdLeader" in found and found["etcdLeader"] == leader


@pytest.mark.parametrize("where", ["controlPlane", "cluster"])
def test_once_initialized_always_initialized(where: str) -> None:
    """As either object has recorded it: an API server that knows nothing of kubeadm's configuration doesn't take it back."""
    builder = healthy(3)
    builder.workload["initialized"] = False
    for each in ("controlPlane", "cluster"):
        builder.snapshot[each].setdefault("status", {}).pop("initialization", None)
    assert status(builder)["initialization"] == {"controlPlaneInitialized": False}
    builder.snapshot[where]["status"]["initialization"] = {"controlPlaneInitialized": True}
    found = status(builder)
    assert found["initialization"] == {"controlPlaneInitialized": True} and found["initialized"] and found["ready"]


@pytest.mark.parametrize("gone", [True, False])
def test_a_machine_runs_while_its_node_is_gone_or_not_asked(gone: bool) -> None:
    """An outage of the workload cluster's API changes no phase; what is wrong is told by conditions."""
    builder = healthy(3)
    builder.entry("m2")["machine"]["status"].update(phase="Running", nodeRef={"name": "m2"})
    if gone:
        builder.workload["nodes"].pop(1)
    else:
        builder.unreachable()
    found = status(builder, "machines")["m2"]
    assert found["phase"] == "Running" and "lastUpdated" not in found


def test_no_remediation_is_no_field() -> None:
    """Cluster API's schema takes no empty one; what is stored and holds no more is taken away."""
    assert "lastRemediation" not in status(healthy(3))
    builder = healthy(3)
    builder.snapshot["controlPlane"]["status"]["lastRemediation"] = {}
    assert status(builder)["lastRemediation"] is None


def test_when_a_machines_phase_changed() -> None:
    """lastUpdated, as Cluster API's core sets it: nothing is written while the phase stays."""
    builder = healthy(3)
    assert status(builder, "machines")["m1"]["lastUpdated"] == NOW
    builder.entry("m1")["machine"]["status"]["phase"] = "Running"
    assert "lastUpdated" not in status(builder, "machines")["m1"]
    assert status(builder.deleting("m1"), "machines")["m1"]["lastUpdated"] == NOW


def test_the_cluster_follows() -> None:
    assert status(healthy(3, replicas=5), "cluster")["controlPlane"]["desiredReplicas"] == 5
    assert status(healthy(3).deleting(), "cluster")["phase"] == "Deleting"
    assert status(healthy(3).unreachable(), "cluster")["initialization"]["controlPlaneInitialized"] is True


def test_it_is_about_the_generation_that_was_read() -> None:
    builder = healthy(3)
    builder.snapshot["controlPlane"]["metadata"]["generation"] = 7
    builder.snapshot["cluster"]["metadata"]["generation"] = 8
    builder.entry("m2")["machine"]["metadata"]["generation"] = 9
    found = decide(builder.build())["status"]
    observed = [each.get("observedGeneration") for each in (found["controlPlane"], found["cluster"])]
    assert [*observed, found["machines"]["m2"].get("observedGeneration")] == [7, 8, 9]
