# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps about workers: after the control plane, never newer, several at once, and in a plan that comes true."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest
from builders import Builder, at, cluster, healthy
from worker_snapshots import NAME, WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import digest, make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.follow import position
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

Object = dict[str, Any]


def decided(builder: WorkerBuilder) -> Object:
    snapshot = builder.build()
    assert check_snapshot(snapshot) == []
    before = copy.deepcopy(snapshot)
    found = decide(snapshot)
    assert snapshot == before
    return found


def workers_of(decision: Object) -> list[str]:
    return [each["machine"] or "new" for each in decision["target"]["workers"]]


def reasons(decision: Object) -> list[str]:
    return [each["reason"] for each in decision["reasons"]]


def steps(builder: WorkerBuilder) -> list[str]:
    """A plan in short: J and the number of new workers, R and the number of those that go."""
    found = []
    for each in plan(builder.build()):
        if each["action"] in ("joinWorkers", "removeWorkers"):
            found.append(f"{each['action'][0].upper()}{len(each['target']['workers'])}")
        else:
            found.append(each["action"])
    return found


def test_without_deployments_nothing_of_them_is_said() -> None:
    found = decide(healthy(3).build())
    assert "workers" not in found["conditions"] and "machineDeployments" not in found["status"]
    assert not [each for each in found["conditions"]["cluster"] if each["type"].startswith("Worker")]


def test_new_workers_join_at_once() -> None:
    found = decided(deployment(healthy(3), 3))
    assert (found["action"], workers_of(found)) == ("joinWorkers", ["new"] * 3)
    assert {each["deployment"] for each in found["target"]["workers"]} == {NAME}
    assert describe(found).startswith("join 3 new workers: MachineDeployment workers: 0 of 3 replicas, 3 more")
    assert decided(deployment(healthy(3), 30))["target"]["workers"].__len__() == 10


def not_ready(builder: Builder) -> Builder:
    builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != "m3"]
    return builder


@pytest.mark.parametrize(
    ("builder", "action"),
    [
        (cluster(3), "initialize"),
        (healthy(2, replicas=3), "join"),
        (healthy(4, replicas=3), "remove"),
    ],
)
def test_the_control_plane_comes_first(builder: Builder, action: str) -> None:
    assert decided(deployment(builder, 3))["action"] == action


def test_workers_follow_a_control_plane_that_is_blocked() -> None:
    """What needs a person does not keep workers away, unless another cluster answers; what passes by itself is waited for."""
    builder = healthy(3, replicas=4)
    assert decided(deployment(builder, 1))["action"] == "joinWorkers"
    assert decided(deployment(builder, 1).worker("w1"))["action"] == "blocked"
    builder = healthy(3)
    builder.snapshot["controlPlane"]["status"]["etcdClusterID"] = "00000000000000dd"
    assert decided(deployment(builder, 1))["blockedOn"][0]["reason"] == "EtcdClusterIDDiffers"


def version(wanted: str, running: str = "v1.20.2") -> Builder:
    """A control plane that is at a version, and wants one."""
    builder = healthy(3)
    for entry in builder.snapshot["machines"]:
        entry["machine"]["spec"]["version"] = running
    builder.spec["version"] = wanted
    return builder


# Cluster API's TestMachineSetReconciler_runPreflightChecks, as far as it has a meaning here.
@pytest.mark.parametrize(
    ("control_plane", "workers", "skip", "held"),
    [
        ("v1.20.2", "v1.20.2", "", ""),
        ("v1.20.2", "v1.20.0", "", ""),
        ("v1.20.2", "v1.20.3", "", "WorkersNewerThanControlPlane"),
        ("v1.20.2", "v1.21.0", "", "WorkersNewerThanControlPlane"),
        ("v1.20.2", "v1.21.0", "All", "WorkersNewerThanControlPlane"),
        ("v1.20.2", "v1.19.0", "", "KubeadmVersionSkew"),
        ("v1.20.2", "v1.19.0", "KubeadmVersionSkew", ""),
        ("v1.20.2", "v1.16.0", "KubeadmVersionSkew", "KubernetesVersionSkew"),
        ("v1.20.2", "v1.16.0", "KubeadmVersionSkew,KubernetesVersionSkew", ""),
        ("v1.20.2", "v1.16.0", "All", ""),
        ("v1.20.2", "latest", "", "WorkerVersionInvalid"),
    ],
)
def test_versions(control_plane: str, workers: str, skip: str, held: str) -> None:
    builder = deployment(version(control_plane, control_plane), 1, workers)
    if skip:
        key = "machineset.cluster.x-k8s.io/skip-preflight-checks"
        builder.document["metadata"]["annotations"][key] = skip
    found = decided(builder)
    assert (found["action"] == "joinWorkers") is (held == "")
    assert [each["reason"] for each in found["blockedOn"]] == ([held] if held else [])


def test_what_is_held_back_is_told_with_its_remedy() -> None:
    found = decided(deployment(healthy(3), 1, "v1.21.0"))
    assert found["action"] == "blocked" and "v1.21.0" in found["blockedOn"][0]["fix"]
    [up] = [each for each in found["conditions"]["machineDeployments"][NAME] if each["type"] == "ScalingUp"]
    assert up["status"] == "True" and "never newer" in up["message"]


def missing(which: str) -> Callable[[WorkerBuilder], object]:
    return lambda builder: builder.entry.update({which: False})


@pytest.mark.parametrize("change", [missing("configTemplate"), missing("machineTemplate")])
def test_templates_that_are_missing(change: Callable[[WorkerBuilder], object]) -> None:
    builder = deployment(healthy(3), 1)
    change(builder)
    assert [each["reason"] for each in decided(builder)["blockedOn"]] == ["WorkerTemplateNotFound"]


# The cases of Cluster API's Test_RollingUpdateSequences; here what is to be made is made before others go.
@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (3, 1, 0, "J1 R1 J1 R1 J1 R1 none"),
        (3, 0, 1, "R1 J1 R1 J1 R1 J1 none"),
        (6, 3, 1, "J3 R4 J3 R2 none"),
        (6, 1, 3, "J1 R4 J4 R2 J1 none"),
        (6, 10, 0, "J6 R6 none"),
        (6, 0, 10, "R6 J6 none"),
    ],
)
def test_a_rollout(replicas: int, surge: int, unavailable: int, expected: str) -> None:
    builder = deployment(healthy(3), replicas).strategy(surge, unavailable)
    for number in range(replicas):
        builder.worker(f"w{number}", "old")
    assert " ".join(steps(builder)) == expected


def test_after_a_rollout_all_are_of_the_new_set() -> None:
    builder = deployment(healthy(3), 2).strategy(1, 0).worker("a", "old").worker("b", "old")
    found = plan(builder.build())
    assert found[-1]["action"] == "none" and "WorkersUpToDate" in reasons(found[-1])
    assert all(name.startswith("workers-") for name in found[-1]["conditions"]["workers"])
    states = {each["type"]: each["status"] for each in found[-1]["conditions"]["cluster"]}
    assert states["WorkersAvailable"] == states["WorkerMachinesUpToDate"] == "True"
    assert found[-1]["status"]["cluster"]["workers"] == {
        "desiredReplicas": 2,
        "replicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "upToDateReplicas": 2,
    }


def test_a_rollout_that_is_asked_for_ends_though_the_stores_clock_is_behind() -> None:
    """The set that is made for it is stamped with a time before it."""
    rollout = {"after": at(60)}
    name = decided(deployment(healthy(3), 2, rollout=rollout))["target"]["workers"][0]["machineSet"]
    builder = deployment(healthy(3), 2, rollout=rollout).worker("a").worker("b")
    assert steps(builder)[0] == "J1"
    builder.entry["machineSets"][0]["metadata"].update(name=name, creationTimestamp=at(65))
    for each in builder.machines:
        each["machine"]["metadata"]["ownerReferences"][0]["name"] = name
    assert (steps(builder), reasons(decided(builder))[-1]) == (["none"], "WorkersUpToDate")


def test_on_delete_replaces_what_a_person_deletes() -> None:
    builder = deployment(healthy(3), 2).strategy(kind="OnDelete").worker("a", "old").worker("b", "old")
    assert (steps(builder), reasons(decided(builder))[-1]) == (["none"], "WorkersOfEarlierTemplate")
    builder.machine("a")["machine"]["metadata"]["deletionTimestamp"] = at(5)
    assert steps(builder) == ["R1", "J1", "none"]


@pytest.mark.parametrize(("wanted", "expected"), [(5, "J3 none"), (1, "R1 none"), (0, "R2 none")])
def test_scaling(wanted: int, expected: str) -> None:
    assert " ".join(steps(deployment(healthy(3), wanted).worker("a").worker("b"))) == expected


def test_the_policy_for_replacements() -> None:
    """It is about workers, too: nothing outdated goes without it; what is missing is made."""
    builder = deployment(healthy(3), 2).strategy(1, 1).worker("a", "old")
    builder.builder.snapshot["policy"] = {"replace": "never"}
    found = decided(builder)
    assert (found["action"], workers_of(found)) == ("joinWorkers", ["new"])
    builder.worker("b", "old")
    assert [each["reason"] for each in decided(builder)["blockedOn"]] == ["ReplacementNotAllowed"]
    builder.builder.snapshot["policy"] = {"replace": "ask"}
    assert decided(builder)["action"] == "postponed"
    builder.builder.snapshot["policy"]["approved"] = True
    assert decided(builder)["action"] == "joinWorkers"


def test_unhealthy_workers_are_replaced() -> None:
    """The newest first; those of an older set go with the rollout alone."""
    builder = deployment(healthy(3), 3, remediation={"maxInFlight": 1})
    builder.worker("a", marked=True, age=500).worker("b", marked=True, age=400).worker("c")
    found = decided(builder)
    assert (found["action"], workers_of(found)) == ("joinWorkers", ["new"])
    builder.strategy(0, 1)
    found = decided(builder)
    assert (found["action"], workers_of(found), reasons(found)) == ("removeWorkers", ["b"], ["WorkersRemediating"])
    del builder.document["spec"]["remediation"]
    assert workers_of(decided(builder)) == ["b", "a"]
    old = deployment(healthy(3), 2).strategy(0, 1).worker("a", "old", marked=True).worker("b", "old")
    assert reasons(decided(old)) == ["WorkersRollingOut"]


@pytest.mark.parametrize(
    ("state", "says", "action", "told"),
    [
        ("", None, "joinWorkers", "WorkersResumed"),
        ("Running", "Running", "wait", "WorkerBootstrapUnderWay"),
        ("Running", "Succeeded", "joinWorkers", "WorkersResumed"),
        ("Running", "Failed", "joinWorkers", "WorkersResumed"),
        ("Running", "", "wait", "WorkerBootstrapUnknown"),
        ("Failed", None, "blocked", "WorkerBootstrapFailed"),
    ],
)
def test_a_bootstrap(state: str, says: Any, action: str, told: str) -> None:
    builder = deployment(healthy(3), 1).worker("a", state=state, age=60)
    if says is not None:
        builder.machine("a")["bootstrapUnit"] = {"answers": bool(says), "state": says, "message": ""}
    found = decided(builder)
    assert found["action"] == action and told in reasons(found)


def test_what_began_of_an_older_template_is_not_resumed() -> None:
    builder = deployment(healthy(3), 1).strategy(0, 1).worker("a", "old", state="")
    assert steps(builder) == ["R1", "J1", "none"]


def test_a_new_worker_is_waited_for() -> None:
    """One that stays unavailable holds up its rollout, and nothing else."""
    assert decided(deployment(healthy(3), 1).worker("a", ready="False", age=60))["action"] == "wait"
    found = decided(deployment(healthy(3), 1).worker("a", ready="False"))
    assert found["action"] == "none" and "WorkersNotAvailable" in reasons(found)
    stuck = deployment(healthy(3), 1).strategy(1, 0).worker("a", "old").worker("b", ready="False")
    found = decided(stuck)
    assert found["action"] == "blocked" and found["blockedOn"][0]["reason"] == "WorkersNotAvailable"


def test_min_ready_seconds_are_waited_for() -> None:
    builder = deployment(healthy(3), 1).worker("a", age=1000)
    machine = builder.machine("a")["machine"]
    machine["spec"]["minReadySeconds"] = 900
    machine["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": at(100)}]
    assert decided(builder)["action"] == "wait"
    machine["status"]["conditions"][0]["lastTransitionTime"] = at(900)
    assert decided(builder)["action"] == "none"


@pytest.mark.parametrize(
    ("age", "network", "action"),
    [(60, "none", "none"), (60, "workers", "wait"), (60, "all", "wait"), (1000, "all", "none")],
)
def test_a_missing_network_plugin_is_named(age: int, network: str, action: str) -> None:
    """A new worker's is waited for where other Nodes have one; those of a new control plane may get theirs with its add-ons."""
    builder = deployment(healthy(3), 2).worker("a", ready="False", age=age)
    builder.worker("b", ready="False" if network == "none" else "True")
    builder.builder.workload["workers"][0]["networkReady"] = False
    if network != "all":
        for node in builder.builder.workload["nodes"]:
            node.update(ready="False", networkReady=False)
    found = decided(builder)
    told = any("NO NETWORK PLUGIN on machine a" in each["message"] for each in found["reasons"])
    assert found["action"] == action and told == (action == "none")


def test_pauses() -> None:
    builder = deployment(healthy(3), 3).annotated(paused="")
    assert decided(builder)["action"] == "none"
    builder = deployment(healthy(3), 3)
    builder.builder.snapshot["cluster"]["spec"]["paused"] = True
    assert decided(builder)["action"] == "none"


def test_a_deployment_that_is_deleted() -> None:
    builder = deployment(healthy(3), 2).worker("a").worker("b")
    builder.document["metadata"]["deletionTimestamp"] = at(5)
    assert steps(builder) == ["R2", "R0", "none"]
    assert plan(builder.build())[1]["target"]["deployments"] == [NAME]


def test_a_pause_that_holds_a_deletion_is_told() -> None:
    builder = deployment(healthy(3), 2).worker("a").worker("b").annotated(paused="")
    builder.document["metadata"]["deletionTimestamp"] = at(5)
    found = decided(builder)
    assert (found["action"], reasons(found)[-1]) == ("none", "WorkersDeleting")
    assert "annotation cluster.x-k8s.io/paused" in found["reasons"][-1]["message"]


def test_a_deleted_cluster_loses_its_workers_first() -> None:
    builder = deployment(healthy(3), 2).worker("a").worker("b")
    builder.builder.workload["workerNodes"] = ["a", "b"]
    builder.builder.snapshot["cluster"]["metadata"]["deletionTimestamp"] = at(5)
    builder.builder.snapshot["controlPlane"]["metadata"]["deletionTimestamp"] = at(5)
    found = plan(builder.build())
    assert [each["action"] for each in found][:2] == ["deleteWorkers", "deleteMachines"]
    assert found[0]["target"]["machines"] == ["a", "b"]
    # One that was joined by hand refuses the whole deletion, before any worker is lost.
    builder.builder.workload["workerNodes"] = ["a", "b", "c"]
    [refusal] = decided(builder)["blockedOn"]
    assert refusal["reason"] == "WaitingForWorkersDeletion" and "to the cluster: c." in refusal["message"]
    builder.builder.workload["workerNodes"] = ["a", "b"]
    builder.builder.snapshot["cluster"]["metadata"].pop("deletionTimestamp")
    assert [each["reason"] for each in decided(builder)["blockedOn"]] == ["WaitingForWorkersDeletion"]


def test_another_hosts_node_under_a_workers_name_stays() -> None:
    """It is no worker's of ours: a worker's removal leaves it, and a cluster's deletion is refused for it."""
    builder = deployment(healthy(3), 0).worker("a")
    builder.builder.workload["workerNodes"] = ["a"]
    builder.builder.workload["workers"][0]["machineID"] = "id-other"
    removal = decided(builder)
    assert workers_of(removal) == ["a"]
    assert [each["name"] for each in predict(builder.build(), removal)["workload"]["workers"]] == ["a"]
    for kind in ("cluster", "controlPlane"):
        builder.builder.snapshot[kind]["metadata"]["deletionTimestamp"] = at(5)
    assert [each["reason"] for each in decided(builder)["blockedOn"]] == ["WaitingForWorkersDeletion"]


def test_not_beside_an_action() -> None:
    builder = deployment(healthy(3), 3)
    builder.builder.snapshot["unfinishedAction"] = {"name": "Action a", "phase": "Running"}
    assert [each["reason"] for each in decided(builder)["blockedOn"]] == ["ActionUnfinished"]


def names(domain: str) -> str:
    return f"prod-{domain}-named"


def test_a_plan_comes_true() -> None:
    """Each step is found again where the one before it was done, with the names that the plan gave."""
    builder = deployment(healthy(3), 2).strategy(1, 0).worker("a", "old").worker("b", "old")
    snapshot = builder.build()
    document = make_plan(snapshot, at(0), names)
    assert digest(document) == digest(make_plan(snapshot, at(0), names))
    for step in document["steps"]:
        decision = decide(snapshot)
        found = position(document, snapshot, decision)
        assert found.step is step
        snapshot = predict(snapshot, {**decision, "target": step["target"]})
    assert position(document, snapshot, decide(snapshot)).ended


def test_a_plan_goes_on_where_a_run_was_killed() -> None:
    """With half of its machines made, or gone."""
    builder = deployment(healthy(3), 2).owned("new")
    document = make_plan(builder.build(), at(0), names)
    [first] = document["steps"]
    [made, _other] = [each["name"] for each in first["target"]["workers"]]
    half = builder.worker(made, state="").build()
    assert position(document, half, decide(half)).step is first
    under_way = deployment(healthy(3), 2).owned("new").worker(made, state="Running").build()
    assert decide(under_way)["action"] == "joinWorkers"
    assert position(document, under_way, decide(under_way)).step is first
    stranger = deployment(healthy(3), 2).owned("new").worker("stranger", state="").build()
    assert position(document, stranger, decide(stranger)).step is None
    down = deployment(healthy(3), 0).worker("a").worker("b")
    document = make_plan(down.build(), at(0), names)
    left = deployment(healthy(3), 0).worker("b").build()
    assert position(document, left, decide(left)).step is document["steps"][0]
