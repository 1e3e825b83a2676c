# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several MachineSets with the template of their MachineDeployment, as after an upgrade in place."""

from __future__ import annotations

import copy
from typing import Any

from builders import at, healthy
from worker_snapshots import NAME, WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan

Object = dict[str, Any]
JOIN, REMOVE, NONE = "joinWorkers", "removeWorkers", "none"


def actions(builder: WorkerBuilder) -> list[str]:
    return [each["action"] for each in plan(builder.build())]


def reasons(decision: Object) -> list[str]:
    return [each["reason"] for each in decision["reasons"]]


def of_two_sets(replicas: int, **spec: Any) -> WorkerBuilder:
    """Three workers of two sets, both with the deployment's template."""
    builder = deployment(healthy(3), replicas, **spec).worker("a").worker("b").worker("c", "old", age=600)
    for each in builder.entry["machineSets"]:
        each["spec"]["template"] = copy.deepcopy(builder.document["spec"]["template"])
    return builder


def test_all_machines_are_up_to_date() -> None:
    found = decide(of_two_sets(3).build())
    assert (found["action"], reasons(found)[-1]) == (NONE, "WorkersUpToDate")
    assert found["status"]["machineDeployments"][NAME]["upToDateReplicas"] == 3


def test_they_scale_and_are_remediated_whatever_their_set() -> None:
    assert actions(of_two_sets(4)) == [JOIN, NONE] and actions(of_two_sets(2)) == [REMOVE, NONE]
    found = decide(of_two_sets(3).worker("d", "old", marked=True).build())
    assert [each["machine"] for each in found["target"]["workers"]] == ["d"]
    assert "WorkersRemediating" in reasons(found)


def test_a_rollout_that_is_asked_for_replaces_those_of_the_older_set() -> None:
    builder = of_two_sets(3, rollout={"after": at(300)})
    builder.entry["machineSets"][0]["metadata"]["creationTimestamp"] = at(200)
    assert actions(builder) == [JOIN, REMOVE, NONE]
    assert "WorkersRollingOut" in reasons(decide(builder.build()))
