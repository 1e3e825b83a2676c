# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Order in which workers are deleted.

Source: docs/reference/cluster_api.md, "MachineDeployments".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....module_utils.common.values import condition_in, condition_of
from ...objects import kinds
from ...objects.conditions import HEALTH_CHECK_SUCCEEDED
from ...objects.workers import machine_deployment
from .. import terms
from ..snapshot.typed_snapshot import MachineView

Object = dict[str, Any]


def prioritized(machines: Sequence[MachineView], order: str, conditions: dict[str, list[Object]]) -> list[MachineView]:
    """Return machines in their order of deletion.

    `order` is a MachineDeployment's deletion.order; `conditions` are the computed ones, by machine. Random is by name: a plan has to come true.
    """

    def key(machine: MachineView) -> tuple[int, int, str]:
        age = {machine_deployment.OLDEST: machine.created, machine_deployment.NEWEST: -machine.created}.get(order, 0)
        if machine.deleting:
            return (0, 0, machine.name)
        if kinds.is_flagged(machine.machine, kinds.ANNOTATION_DELETE_MACHINE):
            return (1, 0, machine.name)
        return (3, age, machine.name) if is_healthy(machine, conditions) else (2, 0, machine.name)

    return sorted(machines, key=key)


def is_healthy(machine: MachineView, conditions: dict[str, list[Object]]) -> bool:
    """Return whether a machine counts as healthy where one has to go.

    It has a Node, and neither that nor a health check says otherwise; Unknown is not otherwise.
    """
    if not machine.node_known:
        return False
    node = condition_in(conditions[machine.name], "NodeHealthy").get("status")
    checked = condition_of(machine.machine, HEALTH_CHECK_SUCCEEDED).get("status")
    return terms.FALSE not in (node, checked)
