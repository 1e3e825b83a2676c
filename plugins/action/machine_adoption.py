# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adoption of machines without a controller by a KubeadmControlPlane."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.records import adopted_machines as machine_adoption


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.machine_adoption; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "machines": {"type": "list", "elements": "str", "required": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read the objects again, check every machine, then adopt all of them."""
        # In check mode the store keeps what is written in memory: everything is checked and told, nothing lasts.
        objects = self.open_objects(arguments)
        self.check_lock(arguments)
        changes = machine_adoption.adopt(objects, arguments["machines"])
        for each in changes:
            self.progress(objects.name, f"{'would ' if self.check_mode else ''}{each}")
        return {"changed": bool(changes), "changes": changes}
