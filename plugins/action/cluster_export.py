# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy of a cluster's objects on the controller, where the store asks."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.move import export
from ..plugin_utils.store import opening


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_export; see its documentation."""

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Update the copy from the API; do nothing where none is kept."""
        directory = opening.export_directory(arguments["store"])
        if directory is None or self.check_mode:
            return {"changed": False, "changes": [], "directory": directory or ""}
        changes = export.keep_copy(self, arguments)
        return {"changed": False, "changes": changes, "directory": directory}
