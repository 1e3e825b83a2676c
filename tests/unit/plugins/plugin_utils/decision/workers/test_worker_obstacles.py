# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps workers from being made or deleted is named, and holds nothing else up."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Optional

import pytest
from builders import at, healthy
from worker_snapshots import WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import has_step, workers_ahead
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile import worker_obstacles
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.one_pass import makes_another

Object = dict[str, Any]
MISSING = {"reason": "HostsMissing", "message": "2 free hosts are needed, and none fits", "fix": "Add a host."}
PRE_DRAIN = "pre-drain.delete.hook.machine.cluster.x-k8s.io/a"
PRE_TERMINATE = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/a"


def decided(snapshot: Object) -> Object:
    assert check_snapshot(snapshot) == []
    return decide(snapshot)


def blocked_on(decision: Object) -> list[str]:
    return [each["reason"] for each in decision["blockedOn"]]


def second(snapshot: Object, replicas: int, *names: str) -> Object:
    """Another deployment, whose workers are these."""
    first = snapshot["workers"]
    entry = copy.deepcopy(first["deployments"][0])
    entry["machineDeployment"]["metadata"]["name"] = "others"
    entry["machineDeployment"]["spec"]["replicas"] = replicas
    entry["machineSets"] = [copy.deepcopy(deployment(healthy(1)).owned().entry["machineSets"][0])]
    entry["machineSets"][0]["metadata"]["name"] = "others-new"
    entry.pop("obstacles", None)
    made = deployment(healthy(1))
    for name in names:
        made.worker(name)
    for each in made.machines:
        each["machine"]["metadata"]["ownerReferences"][0]["name"] = "others-new"
    first["deployments"].append(entry)
    first["machines"] += made.machines
    snapshot["workload"]["workers"] += made.builder.workload["workers"]
    return snapshot


def obstructed(builder: WorkerBuilder, machine: Optional[str] = None) -> WorkerBuilder:
    """A builder whose deployment has an obstacle."""
    builder.entry["obstacles"] = [{**MISSING, **({"machine": machine} if machine else {})}]
    return builder


def test_no_host_for_a_new_one_blocks_it_with_the_reason() -> None:
    found = decided(obstructed(deployment(healthy(1), replicas=2).worker("w1")).build())
    assert (found["action"], blocked_on(found)) == ("blocked", ["HostsMissing"])
    assert "MachineDeployment workers: 2 free hosts are needed" in found["blockedOn"][0]["message"]
    assert found["blockedOn"][0]["fix"] == "Add a host."


def test_removals_and_other_deployments_are_served() -> None:
    """Of two deployments on one pool, the one that shrinks frees the host that the other one lacks."""
    lacking = obstructed(deployment(healthy(1), replicas=2).worker("w1")).build()
    joins = decided(second(copy.deepcopy(lacking), 2, "o1"))
    assert [each["deployment"] for each in joins["target"]["workers"]] == ["others"]
    goes = decided(second(copy.deepcopy(lacking), 1, "o1", "o2"))
    assert (goes["action"], [each["machine"] for each in goes["target"]["workers"]]) == ("removeWorkers", ["o1"])
    rest = decided(second(copy.deepcopy(lacking), 1, "o1"))
    assert (rest["action"], blocked_on(rest)) == ("blocked", ["HostsMissing"])


def without_authority(builder: WorkerBuilder) -> WorkerBuilder:
    """A builder of whose cluster the Secret of the authority was deleted."""
    builder.builder.snapshot["certificates"]["ca"].update(present=False)
    return builder


@pytest.mark.parametrize(
    ("change", "reasons"),
    [(obstructed, ["HostsMissing"]), (without_authority, ["CertificatesNotAvailable"] * 2)],
)
@pytest.mark.parametrize(("surge", "action"), [(1, "joinWorkers"), (0, "removeWorkers")])
def test_outdated_ones_stay_where_nothing_could_come_in_their_place(
    change: Callable[[WorkerBuilder], WorkerBuilder], reasons: list[str], surge: int, action: str
) -> None:
    rolls = deployment(healthy(1), replicas=2).strategy(surge, 1).worker("w1", "old").worker("w2", "old")
    assert decided(rolls.build())["action"] == action
    found = decided(change(rolls).build())
    assert (found["action"], blocked_on(found)) == ("blocked", reasons)


def test_one_that_could_not_be_made_is_not_tried_again_in_the_run() -> None:
    """Others are resumed; with nothing else left the run ends with it, and nobody is removed for it."""
    builder = obstructed(deployment(healthy(1), replicas=3).worker("w1", state="").worker("w2", state=""), "w1")
    builder.worker("w3")
    found = decided(builder.build())
    assert (found["action"], [each["machine"] for each in found["target"]["workers"]]) == ("joinWorkers", ["w2"])
    alone = obstructed(deployment(healthy(1), replicas=2).worker("w1", state="").worker("w3"), "w1")
    found = decided(alone.build())
    assert (found["action"], blocked_on(found)) == ("blocked", ["HostsMissing"])


def test_what_ends_by_itself_is_waited_for_before_the_run_fails() -> None:
    """Another worker's kubeadm, or a Node that has only just joined; what needs a person is named meanwhile."""
    at_work = obstructed(deployment(healthy(1), replicas=3).worker("w1")).worker("w2", state="Running", age=30)
    at_work.machine("w2")["bootstrapUnit"] = {"answers": True, "state": "Running"}
    new = obstructed(deployment(healthy(1), replicas=3).worker("w1")).worker("w2", ready="False", age=5)
    for builder, reason in ((at_work, "WorkerBootstrapUnderWay"), (new, "WorkersNotAvailable")):
        found = decided(builder.build())
        assert (found["action"], blocked_on(found)) == ("wait", [reason, "HostsMissing"])


def test_a_runs_failures_become_obstacles_of_their_deployment() -> None:
    snapshot = second(deployment(healthy(1), replicas=2).worker("w1").worker("w2", state="").build(), 1, "o1")
    worker_obstacles.add_failed(snapshot, [{"name": "w2", "message": "no quota"}, {"name": "gone", "message": "a"}])
    [first, other] = snapshot["workers"]["deployments"]
    assert "obstacles" not in other
    assert first["obstacles"] == [
        {
            "reason": "WorkerNotMade",
            "message": "machine w2 could not be made: no quota",
            "fix": "Mend what the message names, and run reconcile again.",
            "machine": "w2",
        }
    ]
    assert blocked_on(decided(snapshot)) == ["WorkerNotMade"]
    worker_obstacles.add(snapshot, "others", [MISSING])
    assert other["obstacles"] == [MISSING]


def test_one_that_could_not_be_removed_holds_no_other() -> None:
    """The others go in the same run, which ends with it; one that could not be made may be removed all the same."""
    failed = [{"name": "w1", "message": "no host", "removal": True}, {"name": "w2", "message": "no quota"}]
    scaled = deployment(healthy(1), replicas=0).worker("w1", deleting=True).worker("w2", deleting=True).build()
    worker_obstacles.add_failed(scaled, failed)
    found = decided(scaled)
    assert (found["action"], [each["machine"] for each in found["target"]["workers"]]) == ("removeWorkers", ["w2"])
    deleted = deployment(healthy(1), replicas=2).worker("w1").worker("w2").build()
    for kind in ("cluster", "controlPlane"):
        deleted[kind]["metadata"]["deletionTimestamp"] = at(5)
    worker_obstacles.add_failed(deleted, failed)
    found = decided(deleted)
    assert (found["action"], found["target"]["machines"]) == ("deleteWorkers", ["w2"])
    for snapshot in (scaled, deleted):
        snapshot["workers"]["machines"].pop()
        found = decided(snapshot)
        assert (found["action"], blocked_on(found)) == ("blocked", ["WorkerNotRemoved"])
        assert "machine w1 could not be removed: no host" in found["blockedOn"][0]["message"]


def test_the_control_plane_comes_before_every_obstacle() -> None:
    """It is scaled up whatever is wrong with workers."""
    builder = healthy(1, replicas=3)
    assert decided(obstructed(deployment(builder, replicas=2)).build())["action"] == "join"


@pytest.mark.parametrize(
    ("hook", "stage", "waits"),
    [
        (PRE_DRAIN, "", "WaitingForPreDrainHook"),
        (PRE_TERMINATE, "", ""),
        (PRE_TERMINATE, "WaitingForPreTerminateHook", "WaitingForPreTerminateHook"),
        (PRE_DRAIN, "WaitingForPreTerminateHook", ""),
    ],
)
def test_hooks_of_a_deletion_are_waited_for(hook: str, stage: str, waits: str) -> None:
    """In the phase that they are of; others go meanwhile."""
    builder = deployment(healthy(1), replicas=0).worker("w1", deleting=True)
    metadata = builder.machine("w1")["machine"]["metadata"]
    metadata["annotations"][hook] = ""
    if stage:
        told = {"type": "Deleting", "status": "True", "reason": stage, "message": "", "lastTransitionTime": at(10)}
        builder.machine("w1")["machine"]["status"]["conditions"] = [told]
    found = decided(builder.build())
    expected = ("wait", [waits]) if waits else ("removeWorkers", [])
    assert (found["action"], blocked_on(found)) == expected
    both = decided(builder.worker("w2", deleting=True).build())
    assert [each["machine"] for each in both["target"]["workers"]] == ["w2"] if waits else ["w1", "w2"]


def test_the_hosts_that_a_plan_needs() -> None:
    """Those of a deployment's first step, without machines that have theirs; with what goes before."""
    builder = deployment(healthy(1), replicas=2).strategy(0, 1).worker("w1", "old").worker("w2", "old")
    assert workers_ahead(builder.build()) == {"workers": ([""], ["w1"])}
    assert workers_ahead(deployment(healthy(1), replicas=2).build()) == {"workers": (["", ""], [])}
    begun = deployment(healthy(1), replicas=2).worker("w1", state="")
    assert workers_ahead(begun.build()) == {"workers": ([""], [])}
    begun.machine("w1")["infrastructureMachine"]["status"] = {}
    assert workers_ahead(begun.build()) == {"workers": (["", ""], [])}


def test_whether_a_plan_has_a_step() -> None:
    assert not has_step(deployment(healthy(1), replicas=1).worker("w1").build())
    assert has_step(deployment(healthy(1), replicas=0).worker("w1").build())
    asked = healthy(1).wants(version="v1.21.1").build()
    asked["policy"] = {"replace": "ask", "approved": False}
    assert decided(asked)["action"] == "postponed" and has_step(asked)


def test_a_step_that_only_resumes_makes_no_other_machine() -> None:
    begun = deployment(healthy(1), replicas=1).worker("w1", state="")
    assert not makes_another(decided(begun.build()))
    assert makes_another(decided(deployment(healthy(1), replicas=1).build()))


@pytest.mark.parametrize(
    ("which", "infrastructure", "kind", "why", "remedy"),
    [
        ("new", {"state": "dead"}, "RollingUpdate", "its provider says: dead", "ask for it"),
        ("new", {"failureReason": "CreateError"}, "OnDelete", "its provider says: CreateError", "ask for it"),
        ("old", {}, "OnDelete", "it is of an earlier template", "delete its Machine"),
        ("old", {"state": "gone"}, "OnDelete", "its provider says: gone", "delete its Machine"),
    ],
)
def test_a_worker_that_can_not_be_started_any_more_is_named(
    which: str, infrastructure: Object, kind: str, why: str, remedy: str
) -> None:
    """It counts as one of the replicas, so that none is made in its place: they are not all there."""
    builder = deployment(healthy(3), 2).strategy(kind=kind).worker("a", which, state="").worker("b")
    builder.machines[0]["infrastructureMachine"]["status"].update(infrastructure)
    decision = decided(builder.build())
    assert (decision["action"], blocked_on(decision)) == ("blocked", ["WorkerBootstrapFailed"])
    [found] = decision["blockedOn"]
    assert f"machine a: kubeadm was never started there ({why}" in found["message"] and remedy in found["fix"]
    assert "journalctl" not in found["fix"], "nothing ran there"


def test_a_worker_that_can_not_be_started_holds_no_step_up() -> None:
    """Of an earlier template it goes with the rollout; one that is marked is replaced."""
    for which, marked in (("old", False), ("new", True)):
        builder = deployment(healthy(3), 1).worker("a", which, state="", marked=marked)
        builder.machines[0]["infrastructureMachine"]["status"]["state"] = "dead"
        assert decided(builder.build())["action"] in ("joinWorkers", "removeWorkers")


@pytest.mark.parametrize(("which", "age", "action"), [("old", 60, "joinWorkers"), ("older", 7200, "blocked")])
def test_a_worker_that_a_paused_rollout_makes_is_started(which: str, age: float, action: str) -> None:
    """It is made of the newest set, whose template is an earlier one, and a run may be killed before kubeadm was started."""
    builder = deployment(healthy(3), 2, paused=True).worker("a", "old").worker("b", which, state="", age=age)
    decision = decided(builder.build())
    assert decision["action"] == action
    if action == "blocked":
        assert "b: kubeadm was never started there (it is of an earlier" in decision["blockedOn"][0]["message"]
    else:
        [entry] = decision["target"]["workers"]
        assert (entry["machine"], entry["machineSet"]) == ("b", "workers-old")


@pytest.mark.parametrize(
    ("version", "made", "action"), [("v1.20.2", "v1.19.2", "blocked"), ("v1.19.2", "v1.20.2", "joinWorkers")]
)
def test_what_a_paused_rollout_makes_is_what_is_checked(version: str, made: str, action: str) -> None:
    """The deployment's own template may be of another version, and need not be there yet."""
    builder = deployment(healthy(3), 2, version, paused=True).worker("a", "old")
    builder.entry["machineSets"][0]["spec"]["template"]["spec"].update(version=made, failureDomain="x")
    builder.entry["machineTemplate"] = False
    decision = decided(builder.build())
    assert decision["action"] == action
    builder.entry["setsWithoutTemplates"] = ["workers-old"]
    assert decided(builder.build())["blockedOn"][0]["reason"] == "WorkerTemplateNotFound"
    if action == "blocked":
        assert blocked_on(decision) == ["KubeadmVersionSkew"] and "End spec.paused" in decision["blockedOn"][0]["fix"]
    else:
        [entry] = decision["target"]["workers"]
        assert (entry["machineSet"], entry["failureDomain"]) == ("workers-old", "x")
