# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marked workers: with the consent that a control plane machine needs, and with a remedy where no mark replaces them."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable

import pytest
from builders import at, healthy
from health_checks import REMEDIATE, mhc, set_on, states
from worker_snapshots import WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import (
    acting_steps,
    make_plan,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.remediation.health_marks import evaluate
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import restore_note

Object = dict[str, Any]
ROLE = "node-role.kubernetes.io/control-plane"


def policy(builder: WorkerBuilder, replace: str, approved: bool = False) -> WorkerBuilder:
    builder.builder.snapshot["policy"] = {"replace": replace, "approved": approved}
    return builder


def marked(replicas: int = 2, surge: int = 0, **spec: Any) -> WorkerBuilder:
    """Workers that work, and that a health check has marked."""
    builder = deployment(healthy(3), replicas, **spec).strategy(surge, 1)
    for number in range(replicas):
        builder.worker(f"w{number + 1}", marked=True)
    return builder


def going(decision: Object) -> list[str]:
    return [each["machine"] for each in decision["target"]["workers"]]


@pytest.mark.parametrize("surge", [0, 1])
@pytest.mark.parametrize(
    ("replace", "action", "reason"),
    [("never", "blocked", "ReplacementNotAllowed"), ("ask", "postponed", "ReplacementNotApproved")],
)
def test_unhealthy_workers_stay_without_consent(surge: int, replace: str, action: str, reason: str) -> None:
    """Neither goes one, nor joins one in its place; the annotation is no consent, as on a control plane machine."""
    builder = policy(marked(surge=surge), replace)
    builder.machine("w1")["machine"]["metadata"]["annotations"][REMEDIATE] = ""
    found = decide(builder.build())
    assert (found["action"], [each["reason"] for each in found["blockedOn"]]) == (action, [reason])
    assert "MachineDeployment workers: unhealthy machines w1, w2: a machine would" in found["blockedOn"][0]["message"]
    approved = decide(policy(builder, "ask", approved=True).build())
    assert approved["action"] == ("joinWorkers" if surge else "removeWorkers")


def behind(builder: WorkerBuilder) -> None:
    """The control plane waits for its maintenance window to come to its version."""
    builder.builder.spec["version"] = "v1.20.3"
    builder.builder.snapshot["maintenance"] = {"open": False, "message": "", "opensAt": None, "closesAt": None}


def skipping(builder: WorkerBuilder) -> None:
    behind(builder)
    key = "machineset.cluster.x-k8s.io/skip-preflight-checks"
    builder.document["metadata"]["annotations"][key] = "ControlPlaneIsStable"


def at_version(wanted: str) -> Callable[[WorkerBuilder], object]:
    return lambda builder: builder.document["spec"]["template"]["spec"].update(version=wanted)


def without(key: str) -> Callable[[WorkerBuilder], object]:
    return lambda builder: builder.entry.update({key: False})


def no_host(builder: WorkerBuilder) -> None:
    builder.entry["obstacles"] = [{"reason": "HostsMissing", "message": "m", "fix": "f"}]


@pytest.mark.parametrize(
    ("change", "action", "why"),
    [
        (at_version("v1.19.0"), "blocked", "kubeadm of v1.19.0 joins no control plane of v1.20.2"),
        (at_version("v1.16.0"), "blocked", "a kubelet may be at most"),
        (at_version("v1.21.0"), "blocked", "workers are never newer"),
        (at_version("latest"), "blocked", "is not a Kubernetes version"),
        (without("configTemplate"), "blocked", "KubeadmConfigTemplate workers, which does not exist"),
        (without("machineTemplate"), "blocked", "NspawnMachineTemplate b, which does not exist"),
        (lambda builder: builder.document["spec"].pop("replicas"), "blocked", "workers has no spec.replicas"),
        (behind, "postponed", "workers come after it"),
        # Its own host may be the one that is missing; and who skips Cluster API's check skips it here, too.
        (no_host, "removeWorkers", ""),
        (skipping, "removeWorkers", ""),
    ],
)
def test_none_goes_where_no_other_one_could_join(
    change: Callable[[WorkerBuilder], object], action: str, why: str
) -> None:
    """Half a cluster would be wiped for the sake of workers that can't come."""
    builder = marked()
    change(builder)
    for each in builder.entry["machineSets"]:
        each["spec"]["template"] = copy.deepcopy(builder.document["spec"]["template"])
    found = decide(builder.build())
    said = [each["message"] for each in found["blockedOn"] if each["reason"] == "RemediationDeferred"]
    assert found["action"] == action and len(said) == (1 if why else 0)
    assert all("unhealthy machines w1, w2 not replaced" in each and why in each for each in said)


def test_what_needs_no_consent_is_done_without_it() -> None:
    """What is missing is made, and one that never worked goes, also where as many as allowed wait for consent."""
    short = marked()
    short.document["spec"]["replicas"] = 3
    assert decide(policy(short, "ask").build())["action"] == "joinWorkers"
    failed = marked(1, remediation={"maxInFlight": 1}).worker("x1", state="Failed", marked=True)
    failed.document["spec"]["replicas"] = 2
    found = decide(policy(failed, "never").build())
    assert (found["action"], going(found)) == ("removeWorkers", ["x1"])


@pytest.mark.parametrize("replace", ["never", "ask", "allow"])
@pytest.mark.parametrize(("wanted", "gone"), [(3, []), (2, ["w1"]), (0, ["w1", "w2", "w3"])])
def test_fewer_workers_of_an_earlier_template_are_no_replacement(replace: str, wanted: int, gone: list[str]) -> None:
    """They wait neither for consent nor for what holds new ones back; one that a new one has come for does."""
    builder = policy(deployment(healthy(3), wanted), replace).strategy(1, 0)
    for name in ("w1", "w2", "w3"):
        builder.worker(name, "old")
    builder.entry["machineTemplate"] = replace != "allow"
    found = decide(builder.build())
    if gone:
        assert (found["action"], going(found)) == ("removeWorkers", gone)
        assert [each["reason"] for each in found["reasons"]] == ["WorkersScalingDown"]
    else:
        assert found["action"] in ("blocked", "postponed")
        assert decide(builder.worker("n1").build())["action"] == found["action"]


def test_a_plan_says_which_steps_wait_for_consent() -> None:
    """One worker too many and one that is marked go in two steps."""
    builder = policy(marked(1).worker("w2").worker("w3", deleting=True), "ask")
    builder.document["spec"]["replicas"] = 2
    document = make_plan(builder.build(), at(0), lambda domain: f"prod-{domain}")
    told = [(each["action"], going(each), each["needsApproval"]) for each in document["steps"]]
    assert told[:2] == [("removeWorkers", ["w3"], False), ("removeWorkers", ["w1"], True)]
    assert acting_steps(document) == document["steps"][:1]


@pytest.mark.parametrize(("kind", "paused"), [("OnDelete", False), ("RollingUpdate", True)])
def test_one_of_an_earlier_template_that_no_rollout_replaces(kind: str, paused: bool) -> None:
    """Not Ready alone it is no fault; marked, the message names what works, and that works."""
    builder = deployment(healthy(3), 2).strategy(kind=kind).worker("a", "old", ready="False").worker("b")
    builder.document["spec"]["paused"] = paused
    assert decide(builder.build())["action"] == "none"
    builder.machine("a")["machine"]["metadata"]["annotations"][REMEDIATE] = ""
    found = decide(builder.build())
    [refusal] = found["blockedOn"]
    assert (found["action"], refusal["reason"]) == ("blocked", "CannotBeRemediated")
    assert "machine a of an earlier template" in refusal["message"] and "kubectl delete machine a" in refusal["fix"]
    builder.machine("a")["machine"]["metadata"]["deletionTimestamp"] = at(5)
    assert going(decide(builder.build())) == ["a"]


def test_one_of_an_earlier_template_that_failed_to_join() -> None:
    """The remedy is not a mark that nothing would come of."""
    builder = deployment(healthy(3), 1).strategy(kind="OnDelete").worker("a", "old", state="Failed")
    [refusal] = decide(builder.build())["blockedOn"]
    assert refusal["reason"] == "WorkerBootstrapFailed" and "kubectl delete machine a" in refusal["fix"]


def labelled(machine_id: str) -> WorkerBuilder:
    """Two workers, one of which has a Node that is listed among the control plane's."""
    builder = deployment(healthy(3), 2).strategy(0, 1).worker("a").worker("b")
    workload = builder.builder.workload
    node = next(each for each in workload["workers"] if each["name"] == "a")
    workload["workers"].remove(node)
    workload["nodes"].append({**node, "labels": {ROLE: ""}, "machineID": machine_id})
    for each in builder.machines:
        each["machine"]["metadata"]["labels"] = {"pool": "a"}
    return builder


@pytest.mark.parametrize(
    ("machine_id", "reason"), [("id-a", "NodeLabelUnexpected"), ("id-other", "NodeIdentityDiffers")]
)
def test_a_node_with_the_control_planes_label_is_not_deleted(machine_id: str, reason: str) -> None:
    """It exists: the worker is not known to be unhealthy; nor is it where another host has its Node's name."""
    builder = labelled(machine_id)
    check = mhc(selector={"matchLabels": {"pool": "a"}})
    found = evaluate([check], builder.build())
    assert states(found)["a"] == "unknown" and set_on(found, "a") == {}
    assert found.verdicts["a"].finding.reason == reason
    builder.builder.workload["nodes"].pop()
    restored = copy.deepcopy(builder)
    made = restored.machine("a")["machine"]["metadata"]["creationTimestamp"]
    restored.builder.annotate(restore_note.ANNOTATION, json.dumps({"state": "Done", "newestMachine": made}))
    assert states(evaluate([check], restored.build()))["a"] == "unknown"
    assert set_on(evaluate([check], builder.build()), "a")["HealthCheckSucceeded"] == ("False", "NodeDeleted")


def test_a_node_with_the_control_planes_label_is_left_and_reported() -> None:
    """Its kubelet is silent: it is no removed machine's, and its deletion would cost the worker."""
    builder = labelled("id-a")
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": at(9000)}
    builder.builder.workload["nodes"][-1].update(ready="Unknown", conditions=[silent])
    found = decide(builder.build())
    [refusal] = found["blockedOn"]
    assert (found["action"], refusal["reason"]) == ("blocked", "UnmanagedNode")
    assert "Node a of worker a" in refusal["message"] and f"kubectl label node a {ROLE}-" in refusal["fix"]
