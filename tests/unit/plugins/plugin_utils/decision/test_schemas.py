# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents that are read and produced fit the schemas that users validate against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from builders import Builder, cluster, healthy
from rules import external, in_progress, lasting, replaces, runs, surge, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

REFERENCE = Path(__file__).parents[5] / "docs" / "reference"


def validator(name: str) -> Any:
    schema = json.loads((REFERENCE / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


SNAPSHOT = validator("snapshot")
DECISION = validator("decision")


def some_snapshots() -> list[Builder]:
    return [
        cluster(3).bare().domains("a", "b", "c"),
        cluster(3),
        cluster(3).machine("x", "").endpoint(False),
        cluster(3).machine("x", "Running"),
        cluster(3).machine("x", "Failed"),
        cluster(3).endpoint(True),
        cluster(3).endpoint(None),
        healthy(1, replicas=3),
        healthy(2, replicas=3).machine("m3", "Failed"),
        healthy(3),
        healthy(3).unreachable(),
        healthy(3).sick_member("m2"),
        healthy(3).deleting(),
        healthy(3).deleting("m3"),
        healthy(5).pod("m1", "kube-scheduler"),
        upgrade(healthy(3)),
        upgrade(surge(healthy(3), 0)),
        healthy(5, replicas=1),
        healthy(3).marked("m1"),
        in_progress(healthy(3), "gone", 9000),
        replaces(healthy(2, replicas=3), "m2", 100, 3),
        lasting(healthy(3).member("stray")),
        lasting(healthy(3).member("stray", unnamed=True)),
        orphaned(healthy(3)),
        external(healthy(4, replicas=2)),
        healthy(3).stored("HealthCheckSucceeded", "True", 5, "m2").stored("OwnerRemediated", "False", 9, "m2"),
        gated(upgrade(healthy(3))),
        runs(upgrade(healthy(3)), "k8s.gcr.io/kube-proxy:v1.20.2", "k8s.gcr.io/coredns:1.7.0"),
    ]


def orphaned(builder: Builder) -> Builder:
    builder.entry("m2")["machine"]["metadata"]["ownerReferences"] = []
    return builder


def gated(builder: Builder) -> Builder:
    builder.snapshot["maintenance"] = {"open": False, "message": "", "opensAt": None, "closesAt": None}
    return builder


@pytest.mark.parametrize("builder", some_snapshots())
def test_snapshots_decisions_and_predictions_fit_their_schemas(builder: Builder) -> None:
    snapshot = builder.build()
    for step in plan(snapshot):
        SNAPSHOT.validate(snapshot)
        assert check_snapshot(snapshot) == []
        DECISION.validate(step)
        snapshot = predict(snapshot, step)


def test_a_decision_is_plain_json() -> None:
    decision = decide(healthy(3).build())
    assert json.loads(json.dumps(decision)) == decision


@pytest.mark.parametrize(
    "break_it",
    [
        lambda s: s.pop("now"),
        lambda s: s.update(snapshotVersion="v2"),
        lambda s: s.update(machines={}),
        lambda s: s["workload"].update(reachable="yes"),
        lambda s: s["workload"]["nodes"][0].update(ready=True),
        lambda s: s["machines"][0]["machine"]["status"]["bootstrap"].update(state="Odd"),
        lambda s: s["workload"]["etcd"]["members"][0].update(id="not hex"),
    ],
)
def test_schema_and_check_refuse_the_same_breaks(break_it: Any) -> None:
    snapshot = healthy(3).build()
    break_it(snapshot)
    assert not SNAPSHOT.is_valid(snapshot)
    assert check_snapshot(snapshot)
