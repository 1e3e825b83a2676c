# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unhealthy workers that are replaced: which ones, and how many at once.

Source: docs/reference/cluster_api.md, "MachineDeployments".
"""

from __future__ import annotations

from ...objects import kinds
from ...objects.workers import counts
from ..creation.bootstrap import marked
from ..snapshot.typed_snapshot import MachineView
from .numbers import rolls_out
from .worker_view import DeploymentView


def unhealthy(deployment: DeploymentView) -> list[MachineView]:
    """Return the up-to-date machines that are marked, in order.

    The order is that of deletion: those that a user has asked for come first, then the newest: it may never have had a Pod. Outdated ones go with the rollout.
    """
    found = [machine for machine in deployment.live if marked(machine) and not deployment.outdates(machine)]
    return sorted(
        found,
        key=lambda each: (
            not kinds.is_flagged(each.machine, kinds.ANNOTATION_REMEDIATE_MACHINE),
            -each.created,
            each.name,
        ),
    )


def is_left_alone(deployment: DeploymentView, machine: MachineView) -> bool:
    """Return whether neither a mark nor a rollout replaces a machine.

    It is outdated, and no rollout takes place.
    """
    return bool(deployment.outdates(machine)) and not rolls_out(deployment)


def to_remediate(deployment: DeploymentView, found: list[MachineView]) -> tuple[list[MachineView], list[MachineView]]:
    """Return which unhealthy machines are remediated now, and which are deferred.

    remediation.maxInFlight counts those whose remediation has begun.
    """
    limit = counts.most_in_flight(deployment.spec, deployment.replicas)
    if limit is None:
        return found, []
    begun = sum(1 for machine in deployment.machines if machine.deleting and marked(machine))
    room = max(0, limit - begun)
    return found[:room], found[room:]
