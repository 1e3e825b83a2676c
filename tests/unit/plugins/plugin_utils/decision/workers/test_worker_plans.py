# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans with workers that a person approves: kept by their digest, which covers the workers' names, and true while they are carried out."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from builders import NOW, healthy
from worker_snapshots import WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import terms
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import (
    acting_steps,
    digest,
    make_plan,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.follow import departure, position
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.public import public_snapshot
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile import (
    plan_and_reconcile,
    worker_obstacles,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.plans import kept_plans
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, Any]


def rollout() -> WorkerBuilder:
    """Two outdated workers, replaced one after the other."""
    return deployment(healthy(1), 2).strategy(1, 0).worker("a", "old").worker("b", "old")


def planned(builder: WorkerBuilder, **policy: Any) -> Object:
    """The plan of a snapshot, with names for new workers."""
    snapshot = builder.build()
    snapshot["policy"] = policy
    return make_plan(snapshot, NOW, lambda domain: f"prod-{domain or 'x'}")


def objects_of(snapshot: Object) -> ClusterObjects:
    """A snapshot's desired state as objects of a store."""
    return ClusterObjects(
        store=FileStore("/nonexistent"),
        namespace="default",
        name="prod",
        cluster=snapshot["cluster"],
        control_plane=snapshot["controlPlane"],
        infrastructure_cluster=snapshot.get("infrastructureCluster"),
        machine_template=snapshot.get("machineTemplate"),
        machines=[],
        infrastructure_machines={},
    )


def names_of(document: Object) -> list[str]:
    """The names that a plan has for new workers, in order."""
    joins = [step for step in document["steps"] if step["action"] == terms.JOIN_WORKERS]
    return [each["name"] for step in joins for each in step["target"]["workers"]]


def test_the_digest_covers_the_workers(tmp_path: Path) -> None:
    """Names, machines and numbers: a kept plan whose worker was renamed is not the one that was approved."""
    document = planned(rollout())
    assert len(set(names_of(document))) == 2 and planned(rollout()) == document
    store = FileStore(str(tmp_path))
    value = kept_plans.keep(store, document)
    assert kept_plans.read(store, "default", "prod", value) == document
    renamed = copy.deepcopy(document)
    renamed["steps"][0]["target"]["workers"][0]["name"] = "workers-new-other"
    assert digest(renamed) != value
    kept_plans.keep(store, renamed)
    [kept] = [
        each for each in kept_plans.of_cluster(store, "default", "prod") if value[7:19] in each["metadata"]["name"]
    ]

    def change(stored: Object) -> None:
        stored["data"] = {
            key: text.replace(names_of(document)[0], "workers-new-other") for key, text in stored["data"].items()
        }

    store.modify(kept_plans.CONFIG_MAP, "default", kept["metadata"]["name"], change)
    with pytest.raises(ControlPlaneFailure, match="was changed in the store"):
        kept_plans.read(store, "default", "prod", value)
    assert digest(planned(deployment(healthy(1), 3).strategy(1, 0).worker("a", "old").worker("b", "old"))) != value


def test_replacements_of_workers_wait_for_consent() -> None:
    """Those that are missing are made; who asked is asked for what goes."""
    assert acting_steps(planned(rollout(), replace="ask")) == []
    assert len(acting_steps(planned(rollout(), replace="ask"), approved=True)) == len(planned(rollout())["steps"]) == 4
    [first, *_rest] = acting_steps(planned(deployment(healthy(1), 2).strategy(1, 0).worker("a", "old"), replace="ask"))
    assert first["action"] == terms.JOIN_WORKERS and len(first["target"]["workers"]) == 1


def test_an_approved_plan_is_left_when_another_worker_would_go() -> None:
    """It is asked before each step, and holds while nothing else has happened."""
    document, snapshot = planned(rollout()), rollout().build()
    for step in document["steps"]:
        decision = decide(snapshot)
        assert (
            position(document, snapshot, decision).step is step
            and departure(document, step, snapshot, decision) is None
        )
        snapshot = predict(snapshot, {**decision, "target": step["target"]})
    more = rollout().worker("c", "old")
    assert position(document, more.build(), decide(more.build())).step is None
    first = document["steps"][0]
    found = departure(document, first, more.build(), decide(more.build()))
    assert found is not None and (
        found.approved is None or found.now is None or found.approved["target"] != found.now["target"]
    )


def test_a_removal_that_hangs_holds_no_approved_one() -> None:
    """What needs no consent goes first, as a step of its own; the rest follows where it can't be done in this run."""
    builder = deployment(healthy(1), 3).strategy(0, 1).worker("a", "old", deleting=True)
    for name in "bcd":
        builder.worker(name, "old")
    document = planned(builder, replace="ask")
    first, second, *_later = document["steps"]
    assert [[each["machine"] for each in step["target"]["workers"]] for step in (first, second)] == [["a"], ["b"]]
    snapshot = builder.build()
    snapshot["policy"] = {"replace": "ask", "approved": True}
    assert position(document, snapshot, decide(snapshot)).step is first
    worker_obstacles.add_failed(snapshot, [{"name": "a", "message": "it is still drained", "removal": True}])
    decision = decide(snapshot)
    assert position(document, snapshot, decision).step is second
    # As many as maxUnavailable lets go.
    snapshot = predict(snapshot, decision)
    found = decide(snapshot)
    assert (found["action"], [each["reason"] for each in found["blockedOn"]]) == (terms.BLOCKED, ["WorkerNotRemoved"])


def test_a_removal_that_failed_is_named_where_the_plan_breaks_off() -> None:
    """The state is as the next step expects it, and fewer workers follow from it: without the cause the plan would seem to be wrong."""
    builder = deployment(healthy(1), 3).strategy(0, 2)
    for name in "abc":
        builder.worker(name, "old")
    snapshot = public_snapshot(builder.build())
    document = make_plan(snapshot, NOW, lambda domain: f"prod-{domain}")
    first = document["steps"][0]
    assert [each["machine"] for each in first["target"]["workers"]] == ["a", "b"]
    after = predict(snapshot, {**decide(snapshot), "target": {"workers": first["target"]["workers"][1:]}})
    worker_obstacles.add_failed(after, [{"name": "a", "message": "its drain hangs", "removal": True}])
    plan = plan_and_reconcile.FollowedPlan(document, "the-plan", "make another one")
    with pytest.raises(ControlPlaneFailure) as left:
        plan.where(objects_of(after), after, decide(after))
    assert "Its state is as before step 2" in str(left.value)
    assert "In this run machine a could not be removed: its drain hangs." in str(left.value)
