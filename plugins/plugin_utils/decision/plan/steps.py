# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of the plan: decide, predict, decide again, to the end.

It is the same function run forward (docs/architecture.md, "the same function run forward").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, Optional

from ....module_utils.common import settings
from .. import terms
from ..creation.existing_hosts import has_host
from ..decide import decide_on
from ..snapshot.state_fingerprint import fingerprint, state_of_view
from ..snapshot.typed_snapshot import View, read_snapshot
from ..workers.planned_names import named
from ..workers.worker_view import read_workers
from .predict import predict

__all__ = ["Names", "has_step", "machines_ahead", "plan", "predict", "walk", "workers_ahead"]

Object = dict[str, Any]
# Gives a new machine's name; takes the failure domain that it goes to, "" where there are none.
Names = Callable[[str], str]
# It is removed, and another one joins.
_STEPS_OF_A_WORKER = 2


def plan(snapshot: Object, limit: int = settings.PLAN_LIMIT, names: Optional[Names] = None) -> list[Object]:
    """Return the ordered steps from a snapshot on.

    Each is a decision with its number as `step` and the state that it `expects` as a fingerprint. The last one is what
    it ends with: none, or what it is blocked on, waits for or is postponed by. New machines get their `target.name`
    from `names`; without it the name is open, and further steps call the machine by a placeholder. A plan never has
    more than `limit` steps and two for each worker; one that would is cut off with a step that is blocked by PlanTooLong, which means a fault
    of this code.
    """
    return [
        {"step": number, **decision, "expects": fingerprint(state_of_view(view, decision))}
        for number, (view, decision) in enumerate(walk(snapshot, limit, names), start=1)
    ]


def walk(
    snapshot: Object, limit: int = settings.PLAN_LIMIT, names: Optional[Names] = None
) -> Iterator[tuple[View, Object]]:
    """Yield each step of the plan with its snapshot.

    The snapshot is the one, read, that the step is decided on; the arguments are those of plan().
    """
    current = read_snapshot(snapshot)
    limit += _STEPS_OF_A_WORKER * _workers(snapshot)
    for number in range(1, limit + 1):
        decision = decide_on(current)
        if decision["action"] in terms.ENDINGS:
            yield current, decision
            return
        if number == limit:
            yield current, _too_long(decision, limit)
            return
        decision = _named(current, decision, names)
        yield current, decision
        current = read_snapshot(predict(current.raw, decision))


def _workers(snapshot: Object) -> int:
    workers = snapshot.get("workers") or {}
    wanted = [each["machineDeployment"]["spec"].get("replicas") or 0 for each in workers.get("deployments") or ()]
    return len(workers.get("machines") or ()) + sum(wanted)


def _approved(snapshot: Object) -> Object:
    return {**snapshot, "policy": {**(snapshot.get("policy") or {}), "approved": True}}


def machines_ahead(snapshot: Object) -> list[Object]:
    """Return a plan's steps that make a new machine.

    One for which nothing was made yet; the steps that need consent are included.
    `after` of each names the machines that are removed before it.
    """
    found, removed = [], []
    for view, decision in walk(_approved(snapshot)):
        name = (decision["target"] or {}).get("machine")
        if decision["action"] == terms.REMOVE:
            removed.append(name)
        elif decision["action"] in (terms.INITIALIZE, terms.JOIN) and not any(
            each.name == name and has_host(each) for each in view.machines
        ):
            found.append({**decision, "after": list(removed)})
    return found


def workers_ahead(snapshot: Object) -> dict[str, tuple[list[str], list[str]]]:
    """Return the failure domains of each MachineDeployment's next workers, by its name.

    "" is any failure domain. Of the first step of the plan that joins some of it, without those that have their host; beside them the
    machines that are removed before. The steps that need consent are included.
    """
    found: dict[str, tuple[list[str], list[str]]] = {}
    removed: list[str] = []
    for view, decision in walk(_approved(snapshot)):
        target = decision["target"] or {}
        if decision["action"] == terms.REMOVE:
            removed.append(str(target["machine"]))
        elif decision["action"] == terms.REMOVE_WORKERS:
            removed += [str(each["machine"]) for each in target["workers"]]
        elif decision["action"] == terms.JOIN_WORKERS:
            hosted = {each.name for each in read_workers(view).machines if has_host(each)}
            step: dict[str, list[str]] = {}
            for each in target["workers"]:
                if each["machine"] not in hosted:
                    step.setdefault(str(each["deployment"]), []).append(str(each["failureDomain"] or ""))
            for name, domains in step.items():
                found.setdefault(name, (domains, list(removed)))
    return found


def has_step(snapshot: Object) -> bool:
    """Return whether a plan has a step; one that needs consent counts."""
    _view, first = next(walk(_approved(snapshot)))
    return first["action"] not in terms.ENDINGS


def _named(view: View, decision: Object, names: Optional[Names]) -> Object:
    if names is not None and decision["action"] == terms.JOIN_WORKERS:
        return named(view, decision)
    target = decision.get("target") or {}
    if names is None or decision["action"] not in (terms.INITIALIZE, terms.JOIN) or target.get("machine"):
        return decision
    return {**decision, "target": {**target, "name": names(str(target.get("failureDomain") or ""))}}


def _too_long(decision: Object, limit: int) -> Object:
    text = f"the plan has not come to an end after {limit} steps"
    fault = {
        "reason": "PlanTooLong",
        "message": text,
        "fix": "Report this with the snapshot: it is a fault of this collection.",
    }
    return {
        **decision,
        "action": terms.BLOCKED,
        "target": None,
        "reasons": [{"reason": "PlanTooLong", "message": text}],
        "blockedOn": [fault],
    }
