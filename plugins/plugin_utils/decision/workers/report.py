# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers in a decision: conditions and status of their objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..conditions.status_fields import machine_status
from ..snapshot.typed_snapshot import View
from .conditions import Conditions, cluster_conditions, deployment_conditions, machine_conditions, set_conditions
from .held_back import held_back
from .status import cluster_workers, deployment_status, set_status
from .worker_view import Workers, read_workers

Object = dict[str, Any]


@dataclass
class Report:
    """Conditions and status of a cluster's workers, as a decision has them.

    `machines` are the conditions of the workers by name. Without MachineDeployments everything is empty.
    """

    workers: Workers
    machines: Conditions = field(default_factory=dict)
    conditions: Object = field(default_factory=dict)
    status: Object = field(default_factory=dict)
    cluster_conditions: list[Object] = field(default_factory=list)
    cluster_status: Object = field(default_factory=dict)


def report_on(view: View) -> Report:
    """Return the report on a snapshot's workers."""
    workers = read_workers(view)
    if not workers.deployments:
        return Report(workers)
    machines = machine_conditions(workers)
    deployments: Conditions = {}
    sets: Conditions = {}
    status: Object = {"machineDeployments": {}, "machineSets": {}}
    for each in workers.deployments:
        blocked = [trouble.message for trouble in held_back(view, each)]
        found = deployment_conditions(workers, each, machines, blocked)
        deployments[each.name] = found
        status["machineDeployments"][each.name] = deployment_status(each, machines, found, view.now)
        for owned in each.sets:
            sets[owned.name] = set_conditions(workers, each, owned, machines, blocked)
            status["machineSets"][owned.name] = set_status(owned, machines, sets[owned.name], view.now)
    status["workers"] = {
        machine.name: machine_status(view, machine, machines[machine.name]) for machine in workers.machines
    }
    return Report(
        workers,
        machines,
        {"workers": machines, "machineDeployments": deployments, "machineSets": sets},
        status,
        cluster_conditions(workers, machines, deployments),
        cluster_workers(workers, machines),
    )
