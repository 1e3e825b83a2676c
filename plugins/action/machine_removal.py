# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of a machine, or of its remains, from a control plane."""

from __future__ import annotations

import typing as t

from ..module_utils.common import settings
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.reconcile.removal.machine_removal import Removal


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.machine_removal; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str"},
        "member_id": {"type": "str"},
        "node": {"type": "str"},
        "leadership": {"type": "list", "elements": "str", "default": []},
        "infrastructure_deleted": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": settings.REMOVAL_SECONDS},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the next step of a machine's removal."""
        if not (arguments["name"] or arguments["member_id"] or arguments["node"]):
            raise ControlPlaneFailure("one of name, member_id and node is needed; nothing was done. Give one of them.")
        objects = self.open_objects(arguments)
        if self.check_mode:
            return {"changed": True, "ready": False, "node": "", "msg": "check mode: nothing was removed"}
        self.check_lock(arguments)
        removal = Removal(self, self.machine_caller(arguments, objects), objects, arguments)
        if arguments["node"]:
            return removal.delete_node(arguments["node"], 0)
        if not arguments["name"]:
            return removal.remove_member()
        if arguments["infrastructure_deleted"]:
            self.note(f"delete what is left of machine {arguments['name']}")
            return removal.finish()
        return removal.take_out()
