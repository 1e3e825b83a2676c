# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recovery of a cluster's etcd on one machine, its second voter lost."""

from __future__ import annotations

import typing as t

from ..module_utils.common import settings
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.reconcile.single_voter_recovery import recover


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.recover_single_voter; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "machine": {"type": "str", "required": True},
        "member_id": {"type": "str", "required": True},
        "lost": {"type": "str", "default": ""},
        "timeout": {"type": "int", "default": settings.RECOVERY_SECONDS},
        "fencing": {"type": "int", "required": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Recover etcd, give the lost machine up, note the success."""
        objects = self.open_objects(arguments)
        if self.check_mode:
            return {"changed": True}
        self.check_lock(arguments)
        return recover(self, self.machine_caller(arguments, objects), objects, arguments)
