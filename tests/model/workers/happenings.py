# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a deployment's world: the ends that a step may have, and what happens without us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from model.workers.fleet import (
    BEHIND,
    BETWEEN,
    DARK,
    ENDED,
    FAILED,
    ILL,
    JOINED,
    MARKED,
    NEW,
    REMEDIATE,
    RUNNING,
    SPOILT,
    WELL,
    Fleet,
    Rollout,
    Worker,
)
from model.workers.render import index_of, made_of

Object = dict[str, Any]
_NEXT = {ILL: WELL, BEHIND: BETWEEN, BETWEEN: WELL}


def ends(fleet: Fleet, decision: Object) -> Iterator[tuple[str, Fleet]]:
    """Every end of a step, the good one first."""
    if decision["action"] == "joinWorkers":
        yield from _joins(fleet, decision["target"]["workers"])
    elif decision["action"] == "removeWorkers":
        yield from _removals(fleet, [index_of(each["machine"]) for each in decision["target"]["workers"]])
    else:
        yield "succeeds", fleet._replace(control=_NEXT[fleet.control])
        yield "nothing done", fleet


def _joins(fleet: Fleet, entries: list[Object]) -> Iterator[tuple[str, Fleet]]:
    yield "succeeds", _joined(fleet, entries, JOINED)
    yield "kubeadm runs", _joined(fleet, entries, RUNNING)
    yield "one is made and nothing started", _joined(fleet, entries[:1], NEW)
    yield "one is started", _joined(fleet, entries[:1], RUNNING)
    if fleet.faults:
        less = fleet._replace(faults=fleet.faults - 1)
        yield "Nodes aren't Ready", _joined(less, entries, JOINED, ready=False)
        yield "the first one fails", _joined(_joined(less, entries[:1], FAILED), entries[1:], JOINED)


def _joined(fleet: Fleet, entries: list[Object], boot: str, ready: bool = True) -> Fleet:
    workers = list(fleet.workers)
    for entry in entries:
        if entry["machine"] is None:
            workers.append(Worker(made_of(fleet, entry), boot, ready and boot == JOINED))
            continue
        index = index_of(entry["machine"])
        recorded = {ENDED: JOINED, SPOILT: FAILED}.get(workers[index].boot, boot)
        workers[index] = workers[index]._replace(boot=recorded, ready=ready and recorded == JOINED)
    return fleet._replace(workers=tuple(workers))


def _removals(fleet: Fleet, going: list[int]) -> Iterator[tuple[str, Fleet]]:
    marked = [each._replace(deleting=True) if index in going else each for index, each in enumerate(fleet.workers)]
    yield (
        "removed",
        fleet._replace(workers=tuple(each for index, each in enumerate(fleet.workers) if index not in going)),
    )
    yield "marked only", fleet._replace(workers=tuple(marked))
    yield (
        "the first one is removed",
        fleet._replace(workers=tuple(each for index, each in enumerate(marked) if index != going[0])),
    )
    first = list(fleet.workers)
    first[going[0]] = first[going[0]]._replace(deleting=True)
    yield "the first one is marked", fleet._replace(workers=tuple(first))


def ended(fleet: Fleet) -> Fleet:
    """The world in which every kubeadm that runs has ended well."""
    return fleet._replace(
        workers=tuple(
            each._replace(boot=ENDED) if each.boot == RUNNING and not each.mute else each for each in fleet.workers
        )
    )


def happenings(rollout: Rollout, fleet: Fleet) -> Iterator[tuple[str, Fleet]]:
    """What may happen: the end of kubeadm by itself, and each fault while faults are left."""
    if ended(fleet) != fleet:
        yield "kubeadm ends", ended(fleet)
    if not fleet.faults:
        return
    less = fleet._replace(faults=fleet.faults - 1)
    for index, worker in enumerate(fleet.workers):
        for kind, changes in _of_worker(worker):
            if kind in rollout.faults:
                workers = list(fleet.workers)
                workers[index] = worker._replace(**changes)
                yield f"{kind}: w{index + 1}", less._replace(workers=tuple(workers))
    for kind, changes in _of_user(rollout, fleet):
        if kind in rollout.faults:
            yield kind, less._replace(**changes)


def _of_worker(worker: Worker) -> Iterator[tuple[str, dict[str, Any]]]:
    if worker.boot == JOINED:
        yield "Node turns", {"ready": not worker.ready}
    if worker.boot == RUNNING and not worker.mute:
        yield "kubeadm fails", {"boot": SPOILT}
        yield "worker falls silent", {"mute": True}
    if not worker.mark and not worker.deleting:
        yield "health check marks", {"mark": MARKED}
        yield "user asks to remediate", {"mark": REMEDIATE}
    if worker.deleting:
        # The next run tries again.
        yield "removal fails", {"stuck": not worker.stuck}
    if worker.mark == MARKED and not worker.deleting:
        yield "health check unmarks", {"mark": ""}
    if not worker.deleting:
        yield "user deletes a Machine", {"deleting": True}


def _of_user(rollout: Rollout, fleet: Fleet) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "template flips", {"template": 1 - fleet.template}
    for wanted in rollout.replicas:
        if wanted != fleet.wanted:
            yield "replicas change", {"wanted": wanted}
    yield "window turns", {"window": not fleet.window}
    yield "pause turns", {"paused": not fleet.paused}
    yield "Action turns", {"beside": not fleet.beside}
    if fleet.control == WELL:
        yield "control plane falls ill", {"control": ILL}
        yield "no API answers", {"control": DARK}
        if not fleet.version:
            yield "control plane is to be upgraded", {"version": 1, "control": BEHIND}
    if fleet.control == DARK:
        yield "the API answers", {"control": WELL}
