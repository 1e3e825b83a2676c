# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineHealthChecks that select workers, and what a marked worker comes to."""

from __future__ import annotations

from typing import Any

from builders import at, healthy
from health_checks import REMEDIATE, mhc, set_on, states
from worker_snapshots import WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import terms
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.remediation.health_marks import (
    Evaluation,
    evaluate,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.stored_health_checks import with_conditions

Object = dict[str, Any]
POOL = {"matchLabels": {"pool": "a"}}


def three(unready: tuple[str, ...] = ("w2",), seconds: float = 3000) -> WorkerBuilder:
    """Three workers; the Nodes of some have not been Ready for so long."""
    workers = deployment(healthy(3))
    for name in ("w1", "w2", "w3"):
        workers.worker(name, ready="False" if name in unready else "True")
        workers.machine(name)["machine"]["metadata"]["labels"] = {"pool": "a"}
    for node in workers.builder.workload["workers"]:
        since = at(seconds if node["name"] in unready else 9000)
        node["conditions"] = [{"type": "Ready", "status": node["ready"], "lastTransitionTime": since}]
    return workers


def found(workers: WorkerBuilder, **check: Any) -> Evaluation:
    """What a MachineHealthCheck of the workers finds."""
    return evaluate([mhc(selector=POOL, **check)], workers.build())


def marked(workers: WorkerBuilder, evaluation: Evaluation) -> Object:
    """The snapshot with the marks that an evaluation sets."""
    return with_conditions(
        workers.build(),
        {name: marks.set for name, marks in evaluation.marks.items()},
        {name: marks.remove for name, marks in evaluation.marks.items()},
    )


def test_an_unhealthy_worker_is_marked_and_goes_after_another_has_joined() -> None:
    """Control plane machines are not selected; the mark is what the decision reads."""
    workers = three()
    evaluation = found(workers)
    assert states(evaluation) == {"w1": "healthy", "w2": "unhealthy", "w3": "healthy"}
    assert set_on(evaluation, "w2")["OwnerRemediated"] == ("False", "WaitingForRemediation")
    decision = decide(marked(workers, evaluation))
    assert decision["action"] == terms.JOIN_WORKERS and len(decision["target"]["workers"]) == 1
    conditions = {each["type"]: each for each in decision["conditions"]["workers"]["w2"]}
    assert conditions["Ready"]["status"] == "False"
    decision = decide(marked(workers.strategy(0, 1), evaluation))
    assert decision["action"] == terms.REMOVE_WORKERS
    assert [each["machine"] for each in decision["target"]["workers"]] == ["w2"]


def test_it_is_not_marked_before_its_time_nor_beyond_the_limit() -> None:
    """Two of three are more than one."""
    assert states(found(three(seconds=100)))["w2"] == "pending"
    refused = found(three(("w1", "w2")), limit=1)
    assert states(refused)["w1"] == "unhealthy" and "OwnerRemediated" not in set_on(refused, "w1")


def test_a_worker_that_is_asked_to_go_is_marked_whatever_its_health() -> None:
    """The annotation counts as unhealthy, as on a control plane machine."""
    workers = three(()).strategy(0, 1)
    workers.machine("w3")["machine"]["metadata"]["annotations"][REMEDIATE] = ""
    evaluation = found(workers)
    assert states(evaluation)["w3"] == "unhealthy"
    decision = decide(marked(workers, evaluation))
    assert [each["machine"] for each in decision["target"]["workers"]] == ["w3"]
