# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole lives of a MachineDeployment while Nodes come and go: what every step must hold to, and that it ends."""

from __future__ import annotations

import copy
from typing import Any

from builders import healthy
from hypothesis import given, settings
from hypothesis import strategies as st
from worker_snapshots import SETS, WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import terms
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    read_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers.numbers import is_available
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers.worker_view import (
    DeploymentView,
    read_workers,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import counts

Object = dict[str, Any]
MOST_STEPS = 80
WORKERS = st.lists(st.tuples(st.sampled_from(sorted(SETS)), st.booleans()), max_size=5)
# What happens between two steps: a Node's turn for the worse or for the better, by its place among them.
EVENTS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=12)


def built(replicas: int, workers: list[tuple[str, bool]]) -> WorkerBuilder:
    """A deployment with workers of several sets, ready or not."""
    builder = deployment(healthy(1), replicas)
    for number, (which, ready) in enumerate(workers):
        builder.worker(f"w{number}", which, ready="True" if ready else "False")
    return builder


def seen(snapshot: Object) -> DeploymentView:
    """The deployment with its machines."""
    [found] = read_workers(read_snapshot(snapshot)).deployments
    return found


def happened(snapshot: Object, event: tuple[int, bool]) -> Object:
    """The snapshot with a Node that is Ready, or isn't, from now on."""
    place, ready = event
    nodes = snapshot["workload"]["workers"]
    if place < len(nodes):
        nodes[place]["ready"] = "True" if ready else "False"
    return snapshot


def check_join(snapshot: Object, decision: Object) -> None:
    """Never more than allowed, of the current set alone, and never more of it than wanted."""
    found = seen(snapshot)
    surge, _unavailable = counts.fenceposts(found.spec, found.replicas)
    made = [each for each in decision["target"]["workers"] if each["machine"] is None]
    assert not made or len(found.machines) + len(made) <= found.replicas + surge
    assert {each["machineSet"] for each in made} <= {found.set_name()}
    current = found.current.machines if found.current is not None else []
    assert not made or len([each for each in current if not each.deleting]) + len(made) <= found.replicas


def check_removal(snapshot: Object, decision: Object) -> None:
    """As many stay available as have to, but for what is beyond the wanted number; nobody is taken that isn't there."""
    found = seen(snapshot)
    conditions = decision["conditions"]["workers"]
    _surge, unavailable = counts.fenceposts(found.spec, found.replicas)
    going = {each["machine"] for each in decision["target"]["workers"]}
    machines = {each.name: each for each in found.machines}
    assert going and going <= set(machines)
    available = {name for name, each in machines.items() if not each.deleting and is_available(each, conditions)}
    taken, current = going & available, found.current.machines if found.current is not None else []
    if not taken:
        return
    beyond = len([each for each in current if not each.deleting]) - found.replicas
    too_many = {name for name in taken if machines[name] in current}
    assert len(too_many) <= max(0, beyond)
    if taken - too_many:
        assert len(available - taken) >= min(found.replicas, len(available)) - unavailable


@settings(max_examples=80, deadline=None)
@given(
    replicas=st.integers(0, 4),
    strategy=st.sampled_from([(1, 0), (0, 1), (2, 1), ("50%", 0), (3, 3), (0, 0)]),
    workers=WORKERS,
    events=EVENTS,
)
def test_every_step_of_a_rollout_holds_to_the_numbers_and_it_ends(
    replicas: int, strategy: tuple[Any, Any], workers: list[tuple[str, bool]], events: list[tuple[int, bool]]
) -> None:
    """Nodes become unready and ready again in between; once they all work, what is wanted comes to be."""
    snapshot = copy.deepcopy(built(replicas, workers).strategy(*strategy).build())
    pending = list(events)
    for _number in range(MOST_STEPS):
        decision = decide(snapshot)
        if decision["action"] == terms.JOIN_WORKERS:
            check_join(snapshot, decision)
            snapshot = predict(snapshot, decision)
        elif decision["action"] == terms.REMOVE_WORKERS:
            check_removal(snapshot, decision)
            snapshot = predict(snapshot, decision)
        elif not pending:
            nodes = snapshot["workload"]["workers"]
            if all(node["ready"] == "True" for node in nodes):
                break
            for node in nodes:
                node["ready"] = "True"
        if pending:
            snapshot = happened(snapshot, pending.pop(0))
    else:
        raise AssertionError("it does not end")
    found = seen(snapshot)
    assert decision["action"] == terms.NONE, decision
    assert len(found.machines) == replicas
    assert all(each in (found.current.machines if found.current is not None else []) for each in found.machines)
