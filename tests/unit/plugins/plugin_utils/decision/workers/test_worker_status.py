# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status of MachineDeployments, MachineSets and the Cluster's workers, in both contracts."""

from __future__ import annotations

from typing import Any

import pytest
from builders import at, healthy
from worker_snapshots import NAME, SETS, WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    read_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers.worker_view import read_workers

Object = dict[str, Any]


def two(ready: str = "True", replicas: int = 2) -> WorkerBuilder:
    """Two workers, the second one as told."""
    return deployment(healthy(1), replicas).worker("w1").worker("w2", ready=ready)


def states(conditions: list[Object]) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {each["type"]: (each["status"], each.get("reason", "")) for each in conditions}


def older(status: Object) -> dict[str, tuple[str, str]]:
    """The conditions of the contract v1beta1."""
    return states(status["deprecated"]["v1beta1"]["conditions"])


def test_counters_and_selector() -> None:
    """Those of the older contract, too; what is missing altogether is unavailable."""
    status = decide(two("False", 3).build())["status"]
    own = status["machineDeployments"][NAME]
    counted = {"replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "upToDateReplicas": 2}
    assert {key: own[key] for key in counted} == counted and own["phase"] == "ScalingUp"
    assert (
        own["versions"] == [{"version": "v1.20.2", "replicas": 2}]
        and "cluster.x-k8s.io/cluster-name" in own["selector"]
    )
    before = own["deprecated"]["v1beta1"]
    assert (before["updatedReplicas"], before["unavailableReplicas"], before["readyReplicas"]) == (2, 2, 1)
    assert status["machineSets"][SETS["new"]]["deprecated"]["v1beta1"]["fullyLabeledReplicas"] == 2
    assert status["cluster"]["workers"] == {"desiredReplicas": 3, **counted}


def test_conditions_of_both_contracts() -> None:
    """A deployment's summary of v1beta1 is whether enough are available; a set's tells what it lacks."""
    decision = decide(two().build())
    found, status = decision["conditions"], decision["status"]
    kinds = (
        "Available",
        "MachinesReady",
        "MachinesUpToDate",
        "RollingOut",
        "ScalingUp",
        "ScalingDown",
        "Remediating",
        "Deleting",
        "Paused",
    )
    assert sorted(states(found["machineDeployments"][NAME])) == sorted(kinds)
    assert sorted(states(found["machineSets"][SETS["new"]])) == sorted(set(kinds) - {"Available", "RollingOut"})
    assert older(status["machineDeployments"][NAME]) == dict.fromkeys(
        ("Ready", "Available", "MachineSetReady"), ("True", "")
    )
    assert older(status["machineSets"][SETS["new"]]) == dict.fromkeys(
        ("Ready", "MachinesReady", "MachinesCreated", "Resized"), ("True", "")
    )
    decision = decide(two("False", 3).build())
    assert states(decision["conditions"]["machineDeployments"][NAME])["ScalingUp"] == ("True", "ScalingUp")
    told = older(decision["status"]["machineDeployments"][NAME])
    assert told["Ready"] == told["Available"] == ("False", "WaitingForAvailableMachines")
    assert told["MachineSetReady"] == ("False", "WaitingForMachineSet")
    assert older(decision["status"]["machineSets"][SETS["new"]])["MachinesReady"] == ("False", "MachinesNotReady")
    # One may be away: then the summary is content, and the set is not.
    told = older(decide(two("False").strategy(1, 1).build())["status"]["machineDeployments"][NAME])
    assert told["Ready"][0] == told["Available"][0] == "True" and told["MachineSetReady"][0] == "False"


def test_a_pause_is_told() -> None:
    """The annotation is; spec.paused only rests a rollout, as in Cluster API."""
    for change, status in ((lambda built: built.annotated(paused=""), "True"), (lambda built: built, "False")):
        built = two()
        built.document["spec"]["paused"] = True
        found = decide(change(built).build())["conditions"]["machineDeployments"][NAME]
        assert states(found)["Paused"][0] == status


def test_the_pause_of_an_adoption_says_how_it_ends() -> None:
    found = decide(deployment(healthy(3), 1).annotated(paused="adoption").worker("a").build())
    [paused] = [each for each in found["conditions"]["machineDeployments"][NAME] if each["type"] == "Paused"]
    assert "run the playbook adopt again" in paused["message"]
    [told] = [each["message"] for each in found["reasons"] if each["reason"] == "Paused"]
    assert told.startswith(f"MachineDeployment {NAME} is left alone: ") and "run the playbook adopt again" in told
    found = decide(deployment(healthy(3), 1).annotated(paused="").worker("a").build())
    assert "Paused" not in str(found["reasons"]), "a pause of the user's own is known"


@pytest.mark.parametrize("value", ["adoption", ""])
def test_a_pause_that_holds_a_deletion_says_how_it_ends(value: str) -> None:
    """The user takes off no pause of an adoption, and adopt refuses what is marked."""
    built = deployment(healthy(3), 1).annotated(paused=value).worker("a")
    built.document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    [told] = [each["message"] for each in decide(built.build())["reasons"] if each["reason"] == "WorkersDeleting"]
    assert "its workers stay while it is paused" in told
    assert ("adoption.md" in told, "Remove it" in told) == (bool(value), not value)
    assert "run the playbook adopt again" not in told


def test_conditions_of_the_cluster() -> None:
    """Only where it has MachineDeployments."""
    names = {"WorkersAvailable", "WorkerMachinesReady", "WorkerMachinesUpToDate"}
    found = states(decide(two("False").build())["conditions"]["cluster"])
    assert {name: found[name][0] for name in names} == {
        "WorkersAvailable": "False",
        "WorkerMachinesReady": "False",
        "WorkerMachinesUpToDate": "True",
    }
    assert not names & set(states(decide(healthy(1).build())["conditions"]["cluster"]))


@pytest.mark.parametrize(
    "spec", [{"name": "Web-1"}, {}], ids=["by the name that its configuration gives", "by its machine-id"]
)
def test_a_node_of_another_name_is_a_workers(spec: Object) -> None:
    """nodeRegistration.name, or what the kubelet calls itself. A Node of the machine's own name is another one's."""
    builder = deployment(healthy(1), 1).worker("w1", ready="").node("web-1")
    entry = builder.machine("w1")
    del entry["machine"]["status"]["nodeRef"]
    entry["kubeadmConfig"]["spec"]["joinConfiguration"]["nodeRegistration"] = spec
    node = builder.builder.workload["workers"][0]
    if spec:
        node["machineID"] = ""
        builder.node("w1")
        builder.builder.workload["workers"][1]["machineID"] = "id-other"
    else:
        node["machineID"] = "id-w1"
    [machine] = read_workers(read_snapshot(builder.build())).machines
    assert machine.node is not None and machine.node["name"] == "web-1" and machine.impostor == ""


def test_no_rollout_follows_an_upgrade_in_place_though_the_stores_clock_was_behind() -> None:
    """The set keeps the name of its former template; its annotation has the rollout that it was made for."""
    builder = deployment(healthy(3), 2, rollout={"after": at(60)}).worker("a").worker("b")
    metadata = builder.entry["machineSets"][0]["metadata"]
    metadata["creationTimestamp"] = at(65)
    assert decide(builder.build())["action"] == "joinWorkers"
    for value in ("soon", at(61)):
        metadata["annotations"] = {"kubeadm.control-plane/made-for-rollout-after": value}
        assert decide(builder.build())["action"] == "joinWorkers"
    metadata["annotations"] = {"kubeadm.control-plane/made-for-rollout-after": at(60)}
    assert decide(builder.build())["action"] == "none"
