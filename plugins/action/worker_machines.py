# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of workers: creation, and mark for deletion."""

from __future__ import annotations

import time
import typing as t

from ..module_utils.common import settings
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.providers.contract import described_worker
from ..plugin_utils.records.workers import worker_objects


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.worker_machines; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "workers": {"type": "list", "elements": "dict", "required": True},
        "providers": {"type": "dict", "required": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Create the missing objects of a step's workers, in order."""
        objects = self.open_objects(arguments)
        before = len(objects.workers)
        if self.check_mode:
            return {
                "changed": any(each["machine"] is None for each in arguments["workers"]),
                "machines": [],
                "failed_workers": [],
                "until": 0,
            }
        self.check_lock(arguments)
        machines, failed = [], []
        for entry in arguments["workers"]:
            name = entry["machine"]
            try:
                name = worker_objects.create_worker(objects, entry)
                machines.append(described_worker(objects, name, arguments["providers"]))
            except ControlPlaneFailure as error:
                if not name:
                    # It has no Machine that the next decision could know by its name: it would be tried again and again.
                    raise
                failed.append({"name": name, "message": str(error)})
        return {
            "changed": len(objects.workers) > before,
            "machines": machines,
            "failed_workers": failed,
            "until": time.time() + settings.WORKERS_STEP,
        }
