# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of a MachineDeployment: workers to make, and those that go.

Source: docs/reference/cluster_api.md, "MachineDeployments". Cluster API plans numbers of replicas, and another controller chooses the machines; here the
machines are chosen at once (docs/decisions/130-workers-after-control-plane.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.common.values import condition_in
from ...objects.workers import counts, machine_deployment
from .. import terms
from ..snapshot.typed_snapshot import MachineView
from .order_of_deletion import prioritized
from .worker_view import DeploymentView

Object = dict[str, Any]
TOO_MANY, OUTDATED = "WorkersScalingDown", "WorkersRollingOut"


@dataclass
class Change:
    """Machines that a deployment gains, and those that go.

    `make_as` is the name of the MachineSet that they are made from. `fill` of those to make bring the deployment to its size; the others are made only
    because there are outdated ones. `surplus` of the outdated ones are more than are wanted. New workers don't count there: with one of them a replacement may
    have begun.
    """

    make: int = 0
    fill: int = 0
    make_as: str = ""
    too_many: list[MachineView] = field(default_factory=list)
    outdated: list[MachineView] = field(default_factory=list)
    surplus: int = 0


def is_available(machine: MachineView, conditions: dict[str, list[Object]]) -> bool:
    """Return whether a machine's computed condition Available is True."""
    return condition_in(conditions[machine.name], "Available").get("status") == terms.TRUE


def rolls_out(deployment: DeploymentView) -> bool:
    """Return whether a rollout replaces outdated machines.

    Not with OnDelete, nor where spec.paused or a deletion stops it.
    """
    if deployment.spec.get("paused") or deployment.deleting:
        return False
    strategy = (deployment.spec.get("rollout") or {}).get("strategy") or {}
    return str(strategy.get("type") or machine_deployment.ROLLING_UPDATE) == machine_deployment.ROLLING_UPDATE


def change(
    deployment: DeploymentView, conditions: dict[str, list[Object]], going: Sequence[MachineView] = ()
) -> Change:
    """Return the next change of a deployment that its numbers allow.

    `going` are machines that go for another reason in the same step: they count as those that are being deleted. Where it is paused by
    spec.paused, its rollout rests: all of its machines count alike.
    """
    live = [machine for machine in deployment.live if machine not in going]
    if deployment.spec.get("paused") or deployment.deleting:
        return _scaled(deployment, live, conditions)
    new = [machine for machine in live if not deployment.outdates(machine)]
    old = [machine for machine in live if machine not in new]
    wanted, total = deployment.replicas, len(deployment.machines)
    surge, unavailable = counts.fenceposts(deployment.spec, wanted)
    found = Change(make_as=deployment.set_name())
    order = _order(deployment)
    rolls = rolls_out(deployment)
    room = wanted + surge - total
    found.make = max(0, min(room, wanted - len(new))) if rolls else max(0, room)
    found.fill = max(0, min(found.make, wanted - len(live)))
    found.too_many = prioritized(new, order, conditions)[: max(0, len(new) - wanted)]
    left = [machine for machine in new if machine not in found.too_many]
    if rolls:
        found.outdated = _rolled(deployment, left, old, wanted - unavailable, conditions)
        found.surplus = max(0, len(old) - wanted)
    else:
        surplus = max(0, len(left) + len(old) - wanted)
        found.too_many += _by_set(deployment, old, conditions)[:surplus]
    return found


def _rolled(
    deployment: DeploymentView,
    new: list[MachineView],
    old: list[MachineView],
    least: int,
    conditions: dict[str, list[Object]],
) -> list[MachineView]:
    """Return the outdated machines that may go now.

    Unavailable ones first, then available ones while at least `least` machines stay available. A new machine that isn't available holds one back, so
    that a template that does not work does not take over all machines.
    """
    working = [machine for machine in [*new, *old] if is_available(machine, conditions)]
    waiting = sum(1 for machine in new if machine not in working)
    room = max(0, len(new) + len(old) - max(0, least) - waiting)
    return sorted(_by_set(deployment, old, conditions), key=lambda machine: machine in working)[:room]


def _by_set(
    deployment: DeploymentView, machines: list[MachineView], conditions: dict[str, list[Object]]
) -> list[MachineView]:
    """Return outdated machines in the order of their sets, oldest first."""
    order = _order(deployment)
    found: list[MachineView] = []
    for each in deployment.sets:
        found += prioritized([machine for machine in machines if machine in each.machines], order, conditions)
    return found


def _scaled(deployment: DeploymentView, live: list[MachineView], conditions: dict[str, list[Object]]) -> Change:
    """Return the change to the desired size, without any rollout."""
    wanted = deployment.replicas
    made_from = deployment.current or deployment.held_set
    surplus = max(0, len(live) - wanted)
    found = Change(too_many=prioritized(live, _order(deployment), conditions)[:surplus])
    if made_from is not None and not deployment.deleting:
        found.make, found.make_as = max(0, wanted - len(deployment.machines)), made_from.name
        found.fill = found.make
    return found


def _order(deployment: DeploymentView) -> str:
    return str((deployment.spec.get("deletion") or {}).get("order") or machine_deployment.RANDOM)
