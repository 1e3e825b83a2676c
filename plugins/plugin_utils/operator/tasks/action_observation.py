# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observation of an Action under way: advanced objects, and the next step."""

from __future__ import annotations

import time
import typing as t

from ....module_utils.common import settings
from ...base_classes.control_plane_action import ControlPlaneAction
from ...objects import actions
from ...records.cluster_objects import ClusterObjects, Object
from .. import freeze
from ..flow import Step
from ..matching import Execution, NodeNow
from . import cluster_facts
from .progress import Executions


class Looks:
    """Observations of one cluster's Actions, one after another."""

    def __init__(
        self,
        plugin: ControlPlaneAction,
        arguments: dict[str, t.Any],
        cluster_objects: ClusterObjects,
        executions: Executions,
    ) -> None:
        self._plugin = plugin
        self._arguments = arguments
        self._objects = cluster_objects
        self._executions = executions
        self._asked: t.Optional[float] = None
        self._nodes: t.Optional[tuple[NodeNow, ...]] = None

    def look(self, root: Object) -> tuple[Execution, Step]:
        """Advance an Action and return it with its next step.

        It is compared with its frozen plan and with the cluster's Nodes; what needs no node is written.
        """
        if actions.finished(root):
            return self._executions.advance(root)
        plan = root["status"]["plan"]
        if plan["facts"]["apiAnswers"] and (
            self._asked is None or time.monotonic() - self._asked > settings.NODES_KNOWN_SECONDS
        ):
            caller = self._plugin.machine_caller(self._arguments, self._objects)
            self._nodes = cluster_facts.nodes_now(self._objects, caller, freeze.nodes_of(plan))
            self._asked = time.monotonic()
        self._plugin.check_lock(self._arguments)
        return self._executions.advance(root, self._nodes)
