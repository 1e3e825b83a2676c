# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterResourceSets of a cluster, applied to it."""

from __future__ import annotations

import typing as t

from ..module_utils.common.values import now_rfc3339, parse_time
from ..module_utils.workload_api.api import ADMIN_KUBECONFIG
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.decision.rollout import resource_sets as rules
from ..plugin_utils.reconcile.resource_sets.application import Application
from ..plugin_utils.records.resource_sets import stored_resource_sets


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.resource_sets; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"kubeconfig": {"type": "path", "default": ADMIN_KUBECONFIG}}

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Apply what is due; what is refused is recorded and returned."""
        objects = self.open_objects(arguments)
        found = stored_resource_sets.facts(objects.store, objects.cluster)
        rests = rules.resting(found, parse_time(now_rfc3339()))
        due = [(each, listed) for each in found if (listed := rules.due(each, rests))]
        if self.check_mode or not due:
            return {"changed": bool(due), "applied": [], "refused": []}
        application = Application(self, arguments, objects, self.machine_caller(arguments, objects))
        for each, listed in due:
            application.apply(each, listed)
        return {"changed": True, "applied": application.applied, "refused": application.refused}
