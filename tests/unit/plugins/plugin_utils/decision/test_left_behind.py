# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that machines left behind which never joined: said while they are there, and deleted once their kubelets are silent."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from builders import Builder, at, cluster, healthy
from rules import REMEDIATION_FOR, reasons, says, short
from worker_snapshots import WorkerBuilder

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.removal.left_behind import (
    removed_machines_nodes,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

RECORD = '{"machine": "gone", "timestamp": "2026-01-31T11:00:00Z", "retryCount": 0}'


def left(builder: Builder, silent: Optional[float], name: str = "gone") -> Builder:
    """A Node without a control plane's label; its kubelet has been silent for so many seconds, or reports."""
    node: dict[str, Any] = cluster(1).node(name, ready="False" if silent is None else "Unknown").workload["nodes"][0]
    state = {"type": "Ready", "status": node["ready"], "reason": "X", "lastTransitionTime": at(silent or 0)}
    builder.workload.setdefault("leftBehind", []).append({**node, "labels": {}, "conditions": [state]})
    builder.workload["workerNodes"].append(name)
    builder.annotate(REMEDIATION_FOR, RECORD, "m3")
    assert check_snapshot(builder.build()) == []
    return builder


def test_it_is_said_with_the_time_at_which_it_goes() -> None:
    decision = decide(left(healthy(3), 100).build())
    assert says(decision) == ("none", "UpToDate")
    [told] = [each["message"] for each in decision["reasons"] if each["reason"] == "NodeLeftBehind"]
    assert "Node gone" in told and at(100 - 300) in told


def test_it_goes_then() -> None:
    builder = left(healthy(3), 300)
    decision = decide(builder.build())
    assert says(decision) == ("removeNode", "StrayNode") and decision["target"]["node"] == "gone"
    assert [short(step) for step in plan(builder.build())] == ["removeNode", "none"]
    assert "NodeLeftBehind" not in reasons(plan(builder.build())[1])


def test_one_whose_kubelet_reports_is_somebodys_host() -> None:
    decision = decide(left(healthy(3), None).build())
    [told] = [each["message"] for each in decision["reasons"] if each["reason"] == "NodeLeftBehind"]
    assert decision["action"] == "none" and "still reports" in told and "kubeadm reset" in told


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.member("gone"),
        lambda b: b.machine("gone", "", age=20),
        lambda b: WorkerBuilder(b, 1).worker("gone", ready=""),
    ],
)
def test_not_what_may_be_somebodys(change: Any) -> None:
    """An etcd member is called like it, or a machine, a worker's too."""
    builder = left(healthy(3), 3000)
    change(builder)
    assert decide(builder.build())["action"] != "removeNode"
    assert "NodeLeftBehind" not in reasons(decide(builder.build()))


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.workload["leftBehind"][0].update(creationTimestamp=at(1799)),
        lambda b: b.annotate(REMEDIATION_FOR, RECORD.replace("2026-01-31T11:00:00Z", "?"), "m3"),
    ],
)
def test_one_that_registered_long_after_its_kubeadm_must_have_ended_is_told_alone(change: Any) -> None:
    """Its host was started again, or is a worker that was joined by hand: nobody here can tell."""
    builder = left(healthy(3), 3000)
    change(builder)
    decision = decide(builder.build())
    [told] = [each["message"] for each in decision["reasons"] if each["reason"] == "NodeLeftBehind"]
    assert decision["action"] == "none" and "turn it off" in told and "joined by hand may stay" in told


def test_it_is_said_beside_what_else_holds_things_up() -> None:
    assert "NodeLeftBehind" in reasons(decide(left(healthy(3).wants(replicas=2), 10).build()))


def test_whose_it_was_tell_the_records_of_replacements() -> None:
    builder = healthy(3).annotate(REMEDIATION_FOR, RECORD, "m3")
    machines = [each["machine"] for each in builder.snapshot["machines"]]
    assert removed_machines_nodes(builder.snapshot["controlPlane"], machines) == ["gone"]
    builder.annotate("controlplane.cluster.x-k8s.io/remediation-in-progress", RECORD.replace("gone", "m2"))
    assert removed_machines_nodes(builder.snapshot["controlPlane"], machines) == ["gone"], "m2 is there still"
    named = {"nodeRegistration": {"name": "{{ ds.meta_data.local_hostname }}.example.com"}}
    builder.wants(kubeadmConfigSpec={"joinConfiguration": named})
    assert removed_machines_nodes(builder.snapshot["controlPlane"], machines) == ["gone.example.com"]
