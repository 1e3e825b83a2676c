# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pass of a run: what was asked, seen and decided.

Source: docs/architecture.md, "One run".
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..calls.machine_connection import MachineCaller
from ..decision import terms
from ..decision.conditions.control_plane import settled
from ..decision.plan.follow import fixed_name, names_ahead
from ..decision.workers import planned_names
from ..records.cluster_objects import ClusterObjects, Object
from ..store.base import Store
from ..store.journal import Journal
from . import plan_and_reconcile

# What is made before the first machine.
_FOUNDATION = {terms.CREATE_INFRASTRUCTURE, terms.CREATE_CERTIFICATES}


@dataclass(frozen=True)
class Pass:
    """Pass: what was asked, and what its run did before.

    ``steps`` are the actions of the run's steps so far: what machines are made of is checked before its first one.
    ``glance`` is whether the infrastructure was not observed, so that only a cluster with nothing to do can be decided on.
    """

    arguments: dict[str, t.Any]
    store: Store
    journal: Journal
    plan: t.Optional[plan_and_reconcile.FollowedPlan]
    policy: Object
    steps: tuple[str, ...]
    glance: bool

    @property
    def begun(self) -> bool:
        """Return whether the run has taken a step already."""
        return bool(self.steps)


@dataclass(frozen=True)
class Seen:
    """Observation of a cluster, and the decision on it."""

    objects: ClusterObjects
    caller: MachineCaller
    snapshot: Object
    decision: Object

    @property
    def action(self) -> str:
        """Return the decision's action."""
        return str(self.decision["action"])

    @property
    def acts(self) -> bool:
        """Return whether a step follows."""
        return self.action not in terms.ENDINGS


def was_settled(objects: ClusterObjects) -> bool:
    """Return whether the stored cluster has nothing under way.

    Also one without a machine, of which no infrastructure can be observed. A wrong answer costs an observation, and changes no decision.
    """
    if not objects.all_machines and not objects.unowned_machines():
        return True
    if objects.control_plane is None or objects.unowned_machines():
        return False
    status = objects.control_plane.get("status") or {}
    states = {(each.get("status") or {}).get("state") for each in objects.infrastructure_machines.values()}
    return (
        status.get("observedGeneration") == objects.control_plane["metadata"].get("generation")
        and states <= {None, terms.RUNNING.lower()}
        and settled(status.get("conditions") or ())
    )


def is_settled(decision: Object) -> bool:
    """Return whether nothing is to be done, and everything is healthy."""
    return decision["action"] == terms.NONE and settled(decision["conditions"]["controlPlane"])


def makes_another(decision: Object) -> bool:
    """Return whether the step makes a new machine.

    Its possible hosts, released meanwhile or in another failure domain, were not asked yet.
    """
    target = decision["target"] or {}
    if decision["action"] == terms.JOIN_WORKERS:
        return not all(each.get("machine") for each in target["workers"])
    return decision["action"] in (terms.INITIALIZE, terms.JOIN) and not target.get("machine")


def is_check_due(decision: Object, steps: t.Sequence[str], checked: bool) -> bool:
    """Return whether what machines are made of is to be checked now.

    Before a run's first step, and before each new machine. Before the first machine of all only once: the steps that come before it make no
    machine and release no host, and a host that is claimed is asked again.

    Args:
        decision: the decision so far.
        steps: the actions of the run's steps.
        checked: whether it was checked in this run before its first pass.
    """
    if not steps and not checked:
        return True
    if decision["action"] == terms.INITIALIZE and set(steps) <= _FOUNDATION:
        return False
    return makes_another(decision)


def with_fixed_names(plan: plan_and_reconcile.FollowedPlan, step: Object, decision: Object) -> tuple[Object, list[str]]:
    """Return the decision with the plan's machine name, and names made ahead.

    The plan's name is for a new machine, or its names for new workers; the other names are of the machines that are made ahead meanwhile.
    """
    if decision["action"] == terms.JOIN_WORKERS:
        return planned_names.with_planned_names(step, decision), []
    target = decision.get("target") or {}
    if not target.get("machine") and fixed_name(step):
        decision = {**decision, "target": {**target, "name": fixed_name(step)}}
    ahead = []
    for (name, domain), wanted in zip(names_ahead(plan.document, step), decision.get("prepare") or []):
        if domain != (wanted or ""):
            break
        ahead.append(name)
    # Only machines whose names are fixed are made ahead: another one would never be used.
    decision = {**decision, "prepare": (decision.get("prepare") or [])[: len(ahead)]}
    return decision, ahead


def versions(objects: ClusterObjects) -> dict[tuple[str, str], str]:
    """Return the resourceVersions of a cluster's objects, by kind and name."""
    everything = [objects.cluster, *([objects.control_plane] if objects.control_plane else []), *objects.machines]
    everything += objects.workers
    return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"] for each in everything}
