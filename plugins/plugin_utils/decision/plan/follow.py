# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Position of a cluster in a plan. Pure.

A plan is acted on only while what is observed is what it expects.
The invariant: docs/reference/invariants.md, "The plan is true".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from .. import terms
from ..snapshot.state_fingerprint import difference, distance, fingerprint, state_of
from ..workers import planned_names
from .predict import predict
from .steps import walk

Object = dict[str, Any]
# Steps that a killed run leaves half done without a machine that shows it.
_REPEATABLE = (terms.CREATE_INFRASTRUCTURE, terms.CREATE_CERTIFICATES, terms.UPDATE_ADDONS, terms.APPLY_RESOURCE_SETS)


@dataclass(frozen=True)
class Position:
    """Position of the cluster in the plan.

    `step` is the step to carry out now. Without one, `ended` says that the plan has none left; otherwise the cluster
    has left the plan: `nearest` is the step (or the end) that is most like what is observed, `differences` what differs
    from it, and `next_differs` that the state is as expected but another step follows from it now.
    """

    step: Optional[Object] = None
    ended: bool = False
    nearest: Optional[Object] = None
    differences: Sequence[Object] = field(default_factory=tuple)
    next_differs: bool = False


def position(document: Object, snapshot: Object, decision: Object) -> Position:
    """Return the cluster's position in a plan that passed check_plan.

    `decision` is decide(snapshot).
    A step is found by the state before it, or, where a run was killed in it, by the decision to resume it and the state
    that follows when that succeeds.
    """
    state = state_of(snapshot, decision)
    seen = fingerprint(state)
    stops = [*document["steps"], document["end"]]
    for step in stops:
        if step["expects"]["fingerprint"] == seen:
            if step is document["end"]:
                return Position(ended=True)
            same = _same_step(step, decision)
            return Position(step=step) if same else Position(nearest=step, next_differs=True)
    for index, step in enumerate(document["steps"]):
        resumed = _resumed(step, decision, snapshot, state)
        if resumed is not None:
            after = fingerprint(state_of(predict(snapshot, resumed)))
            if after == stops[index + 1]["expects"]["fingerprint"]:
                return Position(step=step)
    nearest = min(stops, key=lambda step: distance(step["expects"]["state"], state))
    return Position(nearest=nearest, differences=difference(nearest["expects"]["state"], state))


@dataclass(frozen=True)
class Departure:
    """First step in which two plans differ: approved, and made now.

    `approved` or `now` is None where that plan has ended before the other.
    """

    number: int
    approved: Optional[Object]
    now: Optional[Object]


def departure(document: Object, step: Object, snapshot: Object, decision: Object) -> Optional[Departure]:
    """Return where a plan made now leaves the approved one.

    None where it doesn't. From the step on that the cluster is at; `decision` is decide(snapshot). A plan that stops early, for it has to wait or is
    blocked, does nothing that was not approved; an approved plan that ended so may have more steps now.
    """
    approved = document["steps"][step["step"] - 1 :]
    begun = (decision.get("target") or {}).get("machine")
    planned_names = [*([] if begun else [fixed_name(step)]), *(name for name, _domain in names_ahead(document, step))]
    names = itertools.chain(filter(None, planned_names), (f"not-planned-{number}" for number in itertools.count(1)))
    made = [decision for _view, decision in walk(snapshot, names=lambda _domain: next(names))]
    end = made.pop()
    # The first one is the step that position() has found, half done or not.
    for planned, now in zip(approved[1:], made[1:]):
        if not _same_step(planned, now):
            return Departure(planned["step"], planned, now)
    if len(made) > len(approved) and document["end"]["action"] == terms.NONE:
        return Departure(len(document["steps"]) + 1, None, made[len(approved)])
    if len(made) < len(approved) and end["action"] == terms.NONE:
        return Departure(approved[len(made)]["step"], approved[len(made)], None)
    return None


def fixed_name(step: Object) -> Optional[str]:
    """Return the planned name of the step's new machine, or None."""
    name = (step.get("target") or {}).get("name")
    return str(name) if name else None


def names_ahead(document: Object, step: Object) -> list[tuple[str, str]]:
    """Return the planned names of later steps' new machines.

    In order, each with its failure domain ("" for none).
    """
    return [
        (str(fixed_name(later)), str(later["target"].get("failureDomain") or ""))
        for later in document["steps"]
        if later["step"] > step["step"] and fixed_name(later)
    ]


def _same_step(step: Object, decision: Object) -> bool:
    if step["action"] != decision["action"]:
        return False
    planned, now = step.get("target") or {}, decision.get("target") or {}
    if (planned.get("machine"), planned.get("failureDomain")) != (now.get("machine"), now.get("failureDomain")):
        return False
    if sorted(planned.get("machines") or ()) != sorted(now.get("machines") or ()):
        return False
    if not planned_names.same_workers(planned, now):
        return False
    for named in ("addons", "resourceSets"):
        if sorted(planned.get(named) or ()) != sorted(now.get(named) or ()):
            return False
    if planned.get("machine") is None:
        return bool(planned.get("memberID") == now.get("memberID"))
    # A member's ID is etcd's own choice: a plan knows it only of members that exist already.
    return bool(planned.get("memberID")) == bool(now.get("memberID"))


def _resumed(step: Object, decision: Object, snapshot: Object, state: Object) -> Optional[Object]:
    """Return the decision that resumes a step half done, or None.

    With the names that the plan has.
    """
    if step["action"] != decision["action"]:
        return None
    if step["action"] in _REPEATABLE:
        return decision if _is_left(step["expects"]["state"], state) else None
    planned, now = step.get("target") or {}, decision.get("target") or {}
    if step["action"] in (terms.JOIN_WORKERS, terms.REMOVE_WORKERS):
        if step["action"] == terms.JOIN_WORKERS:
            decision = planned_names.resumed(step, decision, snapshot)
        return decision if planned_names.goes_on(planned, decision["target"]) else None
    begun = planned.get("machine") or planned.get("name")
    return decision if now.get("resume") and begun is not None and begun == now.get("machine") else None


def _is_left(approved: Object, state: Object) -> bool:
    """Return whether what is left to do was approved.

    What is done at one stroke is the same afterwards whatever was to be done: other contents of a resource set, another add-on.
    """
    addons, sets, certificates = (approved.get(part) or {} for part in ("addons", "resourceSets", "certificates"))
    return (
        all(addons.get(name) == found for name, found in state["addons"].items())
        and all(set(left) <= set(sets.get(name) or ()) for name, left in (state.get("resourceSets") or {}).items())
        and all(found in (certificates.get(name), "present") for name, found in state["certificates"].items())
    )
