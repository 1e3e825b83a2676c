# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of workers, of their MachineSets and MachineDeployments, and of the Cluster.

Source: docs/reference/cluster_api.md, "Conditions", and Cluster API's own of MachineDeployments and MachineSets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....module_utils.common import settings
from ....module_utils.common.values import condition_of
from ...objects import kinds
from ...objects.conditions import HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED
from ...objects.workers import counts
from .. import terms
from ..conditions.aggregate import aggregate
from ..conditions.machine import (
    api_conditions,
    condition,
    deleting_condition,
    gates_of_others,
    health_check_condition,
    paused_condition,
    ready_condition,
    up_to_date,
)
from ..rollout.uptodate import Outdated
from ..snapshot.typed_snapshot import MachineView, View
from .numbers import is_available
from .worker_view import DeploymentView, SetView, Workers

Object = dict[str, Any]
Conditions = dict[str, list[Object]]
_GATES = ("InfrastructureReady", "BootstrapConfigReady", "NodeHealthy")


def machine_conditions(workers: Workers) -> Conditions:
    """Return the conditions of every worker, by name."""
    return {
        machine.name: _of_machine(workers.view, machine, deployment.outdates(machine))
        for deployment, machine in workers.each_machine()
    }


def _of_machine(view: View, machine: MachineView, outdated: Sequence[Outdated]) -> list[Object]:
    found = [up_to_date(machine, outdated), *api_conditions(view, machine)]
    found += [deleting_condition(machine), paused_condition(view)]
    own = [*health_check_condition(machine), *gates_of_others(machine, found)]
    found.append(ready_condition(machine, [*found, *own], [*_GATES, *(each["type"] for each in own)]))
    return [*found, _available(view, machine, found[-1])]


def _available(view: View, machine: MachineView, ready: Object) -> Object:
    if ready["status"] != terms.TRUE:
        return condition("Available", terms.FALSE, "NotReady")
    value = machine.machine["spec"].get("minReadySeconds")
    wanted = value if isinstance(value, int) and value > 0 else 0
    held = view.held(machine.machine, "Ready", terms.TRUE)
    if wanted and (held is None or held < wanted):
        return condition("Available", terms.FALSE, "WaitingForMinReadySeconds", f"Not Ready for {wanted} s yet")
    return condition("Available", terms.TRUE, "Available")


def deployment_conditions(
    workers: Workers, deployment: DeploymentView, machines: Conditions, blocked: Sequence[str]
) -> list[Object]:
    """Return a MachineDeployment's conditions; `blocked` says why no machine is made."""
    _surge, unavailable = counts.fenceposts(deployment.spec, deployment.replicas)
    available = sum(1 for each in deployment.machines if is_available(each, machines))
    least = max(0, deployment.replicas - unavailable)
    text = f"{available} available replicas, at least {least} required"
    first = condition("Available", terms.TRUE, "Available")
    if deployment.deleting:
        first = condition("Available", terms.FALSE, "NotAvailable", "Deletion in progress")
    elif available < least:
        first = condition("Available", terms.FALSE, "NotAvailable", f"{text} (spec.replicas is {deployment.replicas})")
    return [
        first,
        *_common(workers.view, deployment, deployment.machines, machines),
        _rolling_out(deployment),
        *_scaling(deployment.replicas, len(deployment.machines), blocked),
    ]


def set_conditions(
    workers: Workers, deployment: DeploymentView, owned: SetView, machines: Conditions, blocked: Sequence[str]
) -> list[Object]:
    """Return a MachineSet's conditions; a current one is blocked as its deployment."""
    found = _common(workers.view, deployment, owned.machines, machines)
    staying = sum(1 for each in owned.machines if not each.deleting)
    blocking = blocked if owned is deployment.current else ()
    return [*found, *_scaling(staying, len(owned.machines), blocking)]


def _common(view: View, deployment: DeploymentView, own: Sequence[MachineView], machines: Conditions) -> list[Object]:
    settled = [each for each in own if view.now - each.created >= settings.SURFACING_DELAY]
    deleting = condition("Deleting", terms.FALSE, "NotDeleting")
    if deployment.deleting:
        names = ", ".join(each.name for each in own)
        deleting = condition("Deleting", terms.TRUE, "Deleting", f"Deleting {names}" if names else "Deletion completed")
    paused = paused_condition(view)
    if deployment.paused:
        paused = condition("Paused", terms.TRUE, "Paused", kinds.pause_of(deployment.document, view.deleting))
    return [
        aggregate("MachinesReady", "Ready", own, machines),
        aggregate("MachinesUpToDate", "UpToDate", settled, machines),
        _remediating(own),
        deleting,
        paused,
    ]


def _remediating(own: Sequence[MachineView]) -> Object:
    marked = [each.name for each in own if condition_of(each.machine, OWNER_REMEDIATED).get("status") == terms.FALSE]
    if marked:
        text = f"* Machine{'s' if len(marked) > 1 else ''} {', '.join(marked)}: to be remediated"
        return condition("Remediating", terms.TRUE, "Remediating", text)
    sick = [
        each.name for each in own if condition_of(each.machine, HEALTH_CHECK_SUCCEEDED).get("status") == terms.FALSE
    ]
    text = f"Machine{'s' if len(sick) > 1 else ''} {', '.join(sick)} not healthy (not to be remediated)" if sick else ""
    return condition("Remediating", terms.FALSE, "NotRemediating", text)


def _rolling_out(deployment: DeploymentView) -> Object:
    old = [each for each in deployment.live if deployment.outdates(each)]
    if not old:
        return condition("RollingOut", terms.FALSE, "NotRollingOut")
    texts = sorted({why.message for each in old for why in deployment.outdates(each)})
    lines = [f"Rolling out {len(old)} not up-to-date replicas", *(f"* {text}" for text in texts)]
    return condition("RollingOut", terms.TRUE, "RollingOut", "\n".join(lines))


def _scaling(desired: int, existing: int, blocked: Sequence[str]) -> list[Object]:
    up = condition("ScalingUp", terms.FALSE, "NotScalingUp")
    if existing < desired:
        lines = [f"Scaling up from {existing} to {desired} replicas", *(f"* {text}" for text in blocked)]
        up = condition("ScalingUp", terms.TRUE, "ScalingUp", "\n".join(lines))
    down = condition("ScalingDown", terms.FALSE, "NotScalingDown")
    if existing > desired:
        down = condition(
            "ScalingDown", terms.TRUE, "ScalingDown", f"Scaling down from {existing} to {desired} replicas"
        )
    return [up, down]


def cluster_conditions(workers: Workers, machines: Conditions, deployments: Conditions) -> list[Object]:
    """Return the Cluster's conditions about its workers, [] without MachineDeployments."""
    if not workers.deployments:
        return []
    short = {name: next(each for each in found if each["type"] == "Available") for name, found in deployments.items()}
    texts = [
        f"* MachineDeployment {name}: {each['message']}" for name, each in short.items() if each["status"] != terms.TRUE
    ]
    available = condition("WorkersAvailable", terms.TRUE, "Available")
    if texts:
        available = condition("WorkersAvailable", terms.FALSE, "NotAvailable", "\n".join(texts))
    everything = workers.machines
    return [
        available,
        aggregate("WorkerMachinesReady", "Ready", everything, machines),
        aggregate("WorkerMachinesUpToDate", "UpToDate", everything, machines),
    ]
