# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stored MachineHealthChecks: they follow the manifest, and what they find is written where decisions read it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Callable

import pytest
from builders import Builder, at, healthy
from explained_store import ExplainedStore
from health_checks import CONTROL_PLANE, PAUSED, REMEDIATE, SKIP, mhc, node_condition
from observed import objects_of
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import condition_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_deletion, stored_health_checks
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.stored_health_checks import HEALTH_CHECK
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.overlay import OverlayStore

Object = dict[str, Any]


def document(name: str = "hc", cluster: str = "my-cluster", startup: int = 700) -> Object:
    """A MachineHealthCheck as a user writes it."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterName": cluster,
            "selector": {"matchLabels": {CONTROL_PLANE: ""}},
            "checks": {"nodeStartupTimeoutSeconds": startup},
        },
    }


def test_the_store_follows_the_manifest(kept: Kept) -> None:
    """Created, left alone, changed with its status kept, and taken away, each in words."""
    assert kept.apply([*kept.documents, document()]) == ["create MachineHealthCheck default/hc"]
    assert kept.apply([*kept.documents, document()]) == []
    kept.store.modify(HEALTH_CHECK, "default", "hc", lambda stored: stored.update(status={"targets": ["a"]}))
    [change] = kept.apply([*kept.documents, document(startup=800)])
    assert change.startswith("change MachineHealthCheck default/hc: spec.checks.nodeStartupTimeoutSeconds")
    stored = kept.store.get(HEALTH_CHECK, "default", "hc")
    assert stored is not None and stored["status"] == {"targets": ["a"]}
    [change] = kept.apply()
    assert change == "delete MachineHealthCheck default/hc: it is no longer in the manifest"
    assert kept.store.list(HEALTH_CHECK) == []


def test_another_clusters_health_check_is_not_overwritten_and_not_deleted(kept: Kept) -> None:
    """Names are unique in a namespace."""
    other = document(cluster="other")
    other["metadata"]["labels"] = {"cluster.x-k8s.io/cluster-name": "other"}
    kept.store.create(other)
    kept.documents.append(document())
    assert "other" in kept.refused()["spec.clusterName"].rule
    kept.documents.pop()
    assert kept.apply() == [] and len(kept.store.list(HEALTH_CHECK)) == 1


def test_it_is_deleted_with_its_cluster(kept: Kept) -> None:
    """Nothing of the cluster stays."""
    kept.apply([*kept.documents, document()])
    objects = ClusterObjects.read(kept.store, "default", "my-cluster")
    assert objects is not None
    assert "delete MachineHealthCheck hc" in stored_deletion.delete_records(objects)
    assert kept.store.list(HEALTH_CHECK) == []


def stored(builder: Builder, folder: Path, *documents: Object) -> tuple[ClusterObjects, Object]:
    """A built snapshot's objects as they are in a store, with the snapshot of them."""
    for entry in builder.snapshot["machines"]:
        entry["machine"]["metadata"].setdefault("labels", {})[CONTROL_PLANE] = ""
    for node in builder.workload["nodes"]:
        node.setdefault("conditions", [])
    objects = objects_of(builder, folder)
    kinds_of = (objects.cluster, objects.control_plane, *objects.machines)
    for each in kinds_of:
        assert each is not None
        each.setdefault("apiVersion", "cluster.x-k8s.io/v1beta2")
        each["metadata"].setdefault("namespace", "default")
        objects.store.create(each)
    for each in documents or (mhc(),):
        each["metadata"]["labels"] = {"cluster.x-k8s.io/cluster-name": "prod"}
        objects.store.create(each)
    objects.machines = objects.store.list(MACHINE, "default")
    return objects, seen(builder, objects)


def seen(builder: Builder, objects: ClusterObjects) -> Object:
    """The snapshot with the Machines as they are stored now."""
    snapshot = copy.deepcopy(builder.build())
    by_name = {each["metadata"]["name"]: each for each in objects.machines}
    for entry in snapshot["machines"]:
        entry["machine"] = by_name[entry["machine"]["metadata"]["name"]]
    return snapshot


def sick(seconds: float = 9000) -> Builder:
    """Three machines; m2's kubelet has been silent for so long, and its member with it."""
    builder = node_condition(healthy(3), "m2", "Ready", "Unknown", seconds).sick_member("m2")
    node = next(each for each in builder.workload["nodes"] if each["name"] == "m2")
    node["ready"] = "Unknown"
    builder.workload["witnesses"] = [
        {"machine": "m3", "reachable": True, "message": "", "etcd": copy.deepcopy(builder.workload["etcd"])}
    ]
    return builder


def status_of(objects: ClusterObjects, machine: str, kind: str) -> Any:
    """The stored condition's status and reason."""
    found = condition_of(objects.store.get(MACHINE, "default", machine) or {}, kind)
    return (found["status"], found["reason"]) if found else None


def test_a_mark_leads_to_the_removal_of_that_machine(tmp_path: Path) -> None:
    """From a silent kubelet to the decision: m2 goes, because of what the health check found."""
    builder = sick()
    objects, snapshot = stored(builder, tmp_path)
    assert decide(snapshot)["action"] != "remove"
    stored_health_checks.check_health(objects, snapshot)
    assert status_of(objects, "m2", "HealthCheckSucceeded") == ("False", "UnhealthyNode")
    assert status_of(objects, "m2", "OwnerRemediated") == ("False", "WaitingForRemediation")
    decision = decide(seen(builder, objects))
    assert (decision["action"], decision["target"]["machine"]) == ("remove", "m2")
    assert "reporting status Unknown" in decision["reasons"][0]["message"]


def test_a_machine_that_begins_to_be_unhealthy_is_explained_once(tmp_path: Path) -> None:
    builder = sick()
    objects, snapshot = stored(builder, tmp_path)
    explained = objects.store = ExplainedStore(str(tmp_path))
    for _look in range(2):
        stored_health_checks.check_health(objects, snapshot)
        snapshot = seen(builder, objects)
    assert [each[:4] for each in explained.told] == [("Machine", "m2", True, "MachineMarkedUnhealthy")]
    assert "m2 is to be remediated" in explained.told[0][4]


def ready(builder: Builder) -> Builder:
    """m2 is back, and so is its member."""
    well = healthy(3)
    builder.workload.update({key: well.workload[key] for key in ("etcd", "nodes")})
    for node in builder.workload["nodes"]:
        node_condition(builder, node["name"], "Ready", "True", 60)
    return builder


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (ready, "healthy again (MachineHealthCheck prod)"),
        (lambda builder: builder.annotate(SKIP, "", "m2"), SKIP),
        (lambda builder: builder.annotate(PAUSED, "", "m2"), PAUSED),
        (lambda builder: builder, ""),
        (lambda builder: node_condition(builder, "m2", "Ready", "Unknown", 60), ""),
        (lambda builder: node_condition(builder, "m2", "Ready", "Unknown", None), ""),
        (lambda builder: ready(builder).unreachable(), ""),
        (lambda builder: ready(builder).annotate(REMEDIATE, "", "m2"), ""),
        (lambda builder: builder.annotate(REMEDIATE, "", "m2").annotate(SKIP, "", "m2"), ""),
        (lambda builder: ready(builder).deleting("m2"), ""),
        (lambda builder: ready(builder).annotate(PAUSED, ""), ""),
    ],
)
def test_a_mark_that_a_machine_has_outlived(tmp_path: Path, change: Callable[[Builder], Builder], why: str) -> None:
    """Taken back before a removal that would follow; what can't be told is not healthy, and what a person asked for stays."""
    builder = change(sick().marked("m2"))
    going = builder.entry("m2")["machine"]["metadata"].get("deletionTimestamp")
    objects, _snapshot = stored(builder, tmp_path)
    objects.machines[1]["metadata"].update({"deletionTimestamp": going} if going else {})
    before = decide(seen(builder, objects))["action"]
    left, said = stored_health_checks.take_back(objects, seen(builder, objects))
    assert [each.partition(": ")[0] for each in said] == ["take back the mark for remediation of machine m2"] * bool(
        why
    )
    assert why in "".join(said)
    assert (decide(left)["action"] == before) is not bool(why) and (before == "remove" or not why)
    assert decide(seen(builder, objects))["action"] == decide(left)["action"], "what is stored leads to the same"
    assert stored_health_checks.take_back(objects, seen(builder, objects))[1] == [], "a second pass has nothing to do"


def test_a_mark_that_no_health_check_covers_any_more_is_left_to_the_next_health_check(tmp_path: Path) -> None:
    objects, snapshot = stored(ready(sick().marked("m2")), tmp_path, mhc(selector={"matchLabels": {"no": "such"}}))
    assert stored_health_checks.take_back(objects, snapshot) == (snapshot, [])


def test_what_is_kept_of_a_health_check(tmp_path: Path) -> None:
    """Counts, targets and whether it allows remediation; the observed conditions of the machines with it."""
    objects, snapshot = stored(sick(), tmp_path, mhc(limit=0))
    stored_health_checks.check_health(objects, snapshot)
    [kept] = objects.store.list(HEALTH_CHECK)
    assert (kept["status"]["expectedMachines"], kept["status"]["currentHealthy"]) == (3, 2)
    condition = condition_of(kept, "RemediationAllowed")
    assert condition["status"] == "False" and "unhealthy: 1" in condition["message"]
    assert status_of(objects, "m2", "OwnerRemediated") is None
    assert status_of(objects, "m2", "EtcdMemberHealthy") == ("False", "NotHealthy")
    assert status_of(objects, "m1", "HealthCheckSucceeded") == ("True", "HealthCheckSucceeded")


def test_a_second_look_changes_no_mark_and_no_time(tmp_path: Path) -> None:
    """lastTransitionTime is evidence."""
    builder = sick()
    objects, snapshot = stored(builder, tmp_path)
    stored_health_checks.check_health(objects, snapshot)
    before = [each["status"]["conditions"] for each in objects.machines]
    builder.snapshot["now"] = at(-60)
    stored_health_checks.check_health(objects, seen(builder, objects))
    assert [each["status"]["conditions"] for each in objects.machines] == before


def test_a_decision_that_is_not_carried_out_is_not_written(tmp_path: Path) -> None:
    """Nothing says that the machine is being deleted."""
    builder = sick()
    objects, snapshot = stored(builder, tmp_path)
    for _time in range(2):
        stored_health_checks.check_health(objects, snapshot)
        snapshot = seen(builder, objects)
    assert status_of(objects, "m2", "OwnerRemediated") == ("False", "WaitingForRemediation")
    assert all(not each["metadata"].get("deletionTimestamp") for each in objects.machines)


def test_check_mode_writes_nothing(tmp_path: Path) -> None:
    """The store's files are as they were, and the evaluation is the same."""
    builder = sick()
    objects, snapshot = stored(builder, tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")}
    objects.store = OverlayStore(objects.store, "2026-01-31T12:00:00Z")
    stored_health_checks.annotate(objects, ["m1"])
    evaluation = stored_health_checks.check_health(objects, seen(builder, objects))
    assert {name for name, each in evaluation.verdicts.items() if each.marked} == {"m1", "m2"}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")} == files
    del snapshot


def test_the_annotation_is_set_once(tmp_path: Path) -> None:
    """A second run has nothing to change."""
    objects, _snapshot = stored(healthy(3), tmp_path)
    assert stored_health_checks.annotate(objects, ["m1", "m3"]) == ["m1", "m3"]
    assert stored_health_checks.annotate(objects, ["m1", "m3"]) == []
    assert REMEDIATE in (objects.machine("m3") or {})["metadata"]["annotations"]


def test_the_annotation_of_a_restore_becomes_the_users(tmp_path: Path) -> None:
    """A restore that ends removes its own."""
    objects, _snapshot = stored(healthy(3).annotate(REMEDIATE, kinds.REMEDIATED_BY_RESTORE, "m1"), tmp_path)
    assert stored_health_checks.annotate(objects, ["m1"]) == ["m1"]
    assert not kinds.is_marked_by_restore(objects.machine("m1"))
    assert stored_health_checks.annotate(objects, ["m1"]) == []
