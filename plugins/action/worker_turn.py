# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time left in a step for another worker."""

from __future__ import annotations

import time
import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.worker_turn; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"until": {"type": "float", "required": True}}

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Compare the time with the step's, under the lock."""
        # What a worker before failed with is told in the end; that the lock is lost ends the run here.
        self.check_lock(arguments)
        return {"changed": False, "begins": time.time() < arguments["until"]}
