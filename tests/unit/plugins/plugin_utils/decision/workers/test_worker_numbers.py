# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many workers are made, and which ones go: Cluster API's own cases, and what always holds."""

from __future__ import annotations

from typing import Any

import pytest
from builders import at, healthy
from hypothesis import given, settings
from hypothesis import strategies as st
from worker_snapshots import SETS, WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
    read_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers import numbers
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers.conditions import (
    machine_conditions,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers.order_of_deletion import (
    prioritized,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.workers.worker_view import read_workers

Object = dict[str, Any]
DAY = 86400
# (available, unavailable, being deleted) machines of one set.
Machines = tuple[int, int, int]


def made(builder: WorkerBuilder, which: str, machines: Machines) -> WorkerBuilder:
    """Machines of a set: a1, a2, ... available, u1, ... not, d1, ... being deleted."""
    builder.owned(which)
    for letter, count in zip("aud", machines):
        for number in range(count):
            name = f"{which}-{letter}{number + 1}"
            builder.worker(name, which, ready="True" if letter == "a" else "False", deleting=letter == "d")
    return builder


def change_of(builder: WorkerBuilder) -> numbers.Change:
    snapshot = builder.build()
    assert check_snapshot(snapshot) == []
    workers = read_workers(read_snapshot(snapshot))
    return numbers.change(workers.deployments[0], machine_conditions(workers))


def names(machines: list[Any]) -> list[str]:
    return [machine.name for machine in machines]


# Cluster API's TestReconcileNewMachineSet.
@pytest.mark.parametrize(
    ("wanted", "surge", "new", "old", "make"),
    [
        (2, 0, (0, 0, 0), (0, 0, 0), 2),
        # "Scale up does not go above maxSurge (3+2)"
        (3, 2, (2, 0, 0), (3, 0, 0), 0),
        # "Scale up accounts for deleting Machines to honour maxSurge"
        (2, 0, (0, 0, 0), (0, 0, 1), 1),
        (3, 1, (0, 0, 0), (3, 0, 0), 1),
        (6, 3, (0, 0, 0), (6, 0, 0), 3),
        (6, 10, (0, 0, 0), (6, 0, 0), 6),
        (6, 3, (5, 0, 0), (1, 0, 0), 1),
        (3, 1, (3, 0, 0), (0, 0, 0), 0),
        # One that is remediated is replaced while it goes.
        (3, 1, (2, 0, 1), (0, 0, 0), 1),
        (3, 0, (2, 0, 1), (0, 0, 0), 0),
    ],
)
def test_how_many_are_made(wanted: int, surge: int, new: Machines, old: Machines, make: int) -> None:
    builder = deployment(healthy(3), wanted).strategy(surge, 1)
    assert change_of(made(made(builder, "new", new), "old", old)).make == make


# Cluster API's Test_reconcileOldMachineSetsRollingUpdate, its machines counted one by one.
@pytest.mark.parametrize(
    ("wanted", "surge", "unavailable", "new", "old", "goes"),
    [
        # "no op if there are no replicas on old machinesets"
        (3, 1, 0, (3, 0, 0), (0, 0, 0), ""),
        # "do not scale down if replicas is equal to minAvailable replicas"
        (3, 1, 0, (1, 0, 0), (2, 0, 0), ""),
        # "... less then minAvailable replicas"
        (3, 1, 0, (1, 0, 0), (1, 0, 0), ""),
        # "... scale down from a previous reconcile already takes the availability buffer"
        (3, 1, 0, (1, 0, 0), (2, 0, 1), ""),
        # "do not scale down if there are unavailable replicas on the new MachineSet", both strategies
        (3, 1, 0, (0, 1, 0), (0, 3, 0), ""),
        (3, 0, 1, (0, 1, 0), (0, 2, 0), ""),
        # "... not all the replicas are available (unavailability on newMS)"
        (3, 1, 0, (0, 1, 0), (3, 0, 0), ""),
        # "scale down replicas when there are more replicas than minAvailable replicas, all replicas are available"
        (3, 1, 0, (1, 0, 0), (3, 0, 0), "a1"),
        # "unavailable replicas are scaled down first"
        (6, 3, 1, (3, 0, 0), (4, 2, 0), "u1 u2 a1 a2"),
        # "scale down stops before breaching minAvailable replicas"
        (10, 0, 2, (3, 0, 0), (5, 2, 0), "u1 u2"),
        # Cluster API has to break this deadlock; here the one that isn't available is known to be the one that goes.
        (3, 1, 0, (1, 0, 0), (2, 1, 0), "u1"),
        (3, 0, 1, (0, 0, 0), (3, 0, 0), "a1"),
        (6, 0, 10, (0, 0, 0), (6, 0, 0), "a1 a2 a3 a4 a5 a6"),
    ],
)
def test_which_outdated_ones_go(
    wanted: int, surge: int, unavailable: int, new: Machines, old: Machines, goes: str
) -> None:
    builder = deployment(healthy(3), wanted).strategy(surge, unavailable)
    found = change_of(made(made(builder, "new", new), "old", old))
    assert names(found.outdated) == [f"old-{each}" for each in goes.split()]


def test_the_oldest_set_goes_first() -> None:
    builder = deployment(healthy(3), 3).strategy(2, 0).owned("older", 2 * DAY)
    found = change_of(made(made(made(builder, "old", (2, 0, 0)), "older", (1, 0, 0)), "new", (2, 0, 0)))
    assert names(found.outdated) == ["older-a1", "old-a1"]


def test_too_many_new_ones_go_whatever_is_available() -> None:
    found = change_of(made(deployment(healthy(3), 1), "new", (2, 1, 0)))
    assert names(found.too_many) == ["new-u1", "new-a1"] and found.make == 0


# Cluster API's reconcileOldMachineSetsOnDelete.
@pytest.mark.parametrize(
    ("wanted", "new", "old", "make", "goes"),
    [
        (3, (0, 0, 0), (3, 0, 0), 0, ""),
        (3, (0, 0, 0), (2, 0, 0), 1, ""),
        (3, (0, 0, 0), (2, 0, 1), 0, ""),
        (2, (1, 0, 0), (3, 0, 0), 0, "old-a1 old-a2"),
        (1, (2, 0, 0), (1, 0, 0), 0, "new-a1 old-a1"),
    ],
)
def test_on_delete(wanted: int, new: Machines, old: Machines, make: int, goes: str) -> None:
    builder = deployment(healthy(3), wanted).strategy(kind="OnDelete")
    found = change_of(made(made(builder, "new", new), "old", old))
    assert (found.make, names(found.too_many), found.outdated) == (make, goes.split(), [])


def test_a_paused_rollout_still_scales() -> None:
    for wanted, make, goes in ((4, 1, []), (2, 0, ["old-a1"])):
        builder = deployment(healthy(3), wanted, paused=True).strategy(1, 1)
        found = change_of(made(made(builder, "old", (2, 0, 0)), "new", (1, 0, 0)))
        assert (found.make, names(found.too_many), found.outdated) == (make, ["new-a1"] if goes else [], [])


@pytest.mark.parametrize("kind", ["RollingUpdate", "OnDelete"])
def test_where_no_number_is_given_all_stay(kind: str) -> None:
    """An API takes a MachineDeployment without spec.replicas; where there is no worker yet, none is made."""
    builder = deployment(healthy(3), 3).strategy(2, 0, kind)
    del builder.document["spec"]["replicas"]
    assert [each["reason"] for each in decide(builder.build())["blockedOn"]] == ["WorkerReplicasUnknown"]
    made(builder, "new", (3, 0, 0))
    found = decide(builder.build())
    assert (found["action"], found["reasons"][-1]["reason"]) == ("none", "WorkersUpToDate")
    found = decide(made(builder, "old", (1, 0, 0)).build())
    assert [each["reason"] for each in found["blockedOn"]] == (
        ["WorkerReplicasUnknown"] if kind == "RollingUpdate" else []
    )
    builder.machine("new-a1")["machine"]["metadata"]["deletionTimestamp"] = at(5)
    found = decide(builder.build())
    assert [each["machine"] for each in found["target"]["workers"]] == ["new-a1"]


def worker(builder: WorkerBuilder, name: str, **changes: Any) -> None:
    """One worker, by what Cluster API's test of the order calls it."""
    changes.setdefault("age", 10 * DAY)
    builder.worker(name, **changes)


def ordered(order: str, *which: str) -> list[str]:
    """The order in which these workers go."""
    builder = deployment(healthy(3))
    kinds: dict[str, Object] = {
        "healthy": {},
        "must": {"deleting": True},
        "annotated": {},
        "noNode": {"state": "", "age": DAY},
        "nodeFalse": {"ready": "False"},
        "nodeUnknown": {"ready": "Unknown"},
        "checkFalse": {"marked": True},
        "newest": {"age": DAY},
        "secondNewest": {"age": 5 * DAY},
        "secondOldest": {"age": 10 * DAY},
        "oldest": {"age": 11 * DAY},
    }
    for name in which:
        worker(builder, name, **kinds[name.rstrip("0123456789")])
        if name == "annotated":
            builder.machine(name)["machine"]["metadata"]["annotations"]["cluster.x-k8s.io/delete-machine"] = ""
    workers = read_workers(read_snapshot(builder.build()))
    return names(prioritized(workers.machines, order, machine_conditions(workers)))


# Cluster API's TestMachineToDelete, TestMachineNewestDelete and TestMachineOldestDelete.
@pytest.mark.parametrize(
    ("order", "which", "first"),
    [
        ("Random", "healthy1 nodeFalse healthy2", "nodeFalse healthy1"),
        ("Random", "healthy1 must1 nodeFalse must2", "must1 must2 nodeFalse"),
        ("Random", "nodeFalse annotated nodeFalse2", "annotated"),
        ("Random", "healthy1 noNode healthy2", "noNode"),
        ("Random", "healthy1 nodeUnknown healthy2", "healthy1 healthy2 nodeUnknown"),
        ("Random", "healthy1 checkFalse healthy2", "checkFalse"),
        ("Newest", "secondNewest oldest secondOldest must newest", "must newest secondNewest"),
        ("Newest", "secondNewest oldest secondOldest newest annotated", "annotated"),
        ("Newest", "secondNewest oldest secondOldest newest noNode", "noNode"),
        ("Newest", "secondNewest oldest secondOldest newest nodeFalse", "nodeFalse"),
        ("Newest", "secondNewest oldest secondOldest newest nodeUnknown", "newest"),
        ("Oldest", "secondNewest oldest secondOldest newest", "oldest secondOldest secondNewest newest"),
        ("Oldest", "secondNewest oldest secondOldest newest annotated", "annotated"),
        ("Oldest", "secondNewest oldest secondOldest newest checkFalse", "checkFalse"),
        ("Oldest", "secondNewest oldest nodeUnknown newest", "oldest nodeUnknown"),
    ],
)
def test_the_order_of_deletion(order: str, which: str, first: str) -> None:
    expected = first.split()
    assert ordered(order, *which.split())[: len(expected)] == expected


def test_the_current_set() -> None:
    """By comparison and not by name; after a rollout's time only one that was made since."""
    for after, made_ago, current in (
        (None, 3600, SETS["new"]),
        (60, 3600, None),
        (60, 30, SETS["new"]),
        (-60, 3600, SETS["new"]),
    ):
        builder = deployment(healthy(3)).owned("old").owned("new", made_ago)
        if after is not None:
            builder.document["spec"]["rollout"] = {"after": at(after)}
        [found] = read_workers(read_snapshot(builder.build())).deployments
        assert (found.current.name if found.current else None) == current
        assert found.set_name().startswith("workers-") and (found.set_name() == current or current is None)


def test_a_set_whose_version_an_action_changed() -> None:
    """Its name stays that of its former template: back at that, the deployment gets a set of another name."""
    builder = deployment(healthy(3)).owned("old")
    [before] = read_workers(read_snapshot(builder.build())).deployments
    builder.entry["machineSets"][0]["metadata"]["name"] = before.set_name()
    [found] = read_workers(read_snapshot(builder.build())).deployments
    assert found.current is None and found.set_name() != before.set_name()
    [again] = read_workers(read_snapshot(builder.build())).deployments
    assert again.set_name() == found.set_name()


COUNTS = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2))


@settings(max_examples=60)
@given(
    wanted=st.integers(0, 4),
    surge=st.one_of(st.integers(0, 3), st.just("30%")),
    unavailable=st.one_of(st.integers(0, 3), st.just("50%")),
    new=COUNTS,
    old=COUNTS,
)
def test_what_always_holds(wanted: int, surge: Any, unavailable: Any, new: Machines, old: Machines) -> None:
    """No more machines than allowed are made, and none that is needed is taken."""
    builder = made(made(deployment(healthy(1), wanted).strategy(surge, unavailable), "new", new), "old", old)
    workers = read_workers(read_snapshot(builder.build()))
    [found] = workers.deployments
    change = change_of(builder)
    most, away = numbers.counts.fenceposts(found.spec, wanted)
    if change.make:
        assert len(found.machines) + change.make <= wanted + most
        assert new[0] + new[1] + change.make <= wanted
    assert 0 <= change.fill <= change.make
    going = {*names(change.outdated), *names(change.too_many)}
    assert len(going) == len(change.outdated) + len(change.too_many)
    if change.outdated:
        staying = [
            f"{which}-a{number + 1}" for which, count in (("new", new), ("old", old)) for number in range(count[0])
        ]
        left = [name for name in staying if name not in going]
        taken = [name for name in names(change.outdated) if "-a" in name]
        assert not taken or len(left) >= wanted - away
    # It never stands still where all new ones work: something goes, or something is made.
    if old[0] + old[1] and not (new[1] or new[2] or old[2]):
        assert change.make or change.outdated or change.too_many
