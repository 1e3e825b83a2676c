# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lock of a cluster, taken and released: one run per cluster."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.move import export
from ..plugin_utils.store import opening
from ..plugin_utils.store.lock import in_files, marks


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_lock; see its documentation."""

    # What a run begins and ends with says at once where the API can't be reached.
    PATIENCE_SECONDS = 0.0
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "skip_if_held": {"type": "bool", "default": False},
        "use_export": {"type": "bool", "default": False},
    }

    def ends(self, arguments: t.Mapping[str, t.Any]) -> bool:
        """Return whether the lock is released."""
        return arguments["state"] == "absent"

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Acquire or release the lock.

        The helper process that renews the lock lives as long as the run.
        """
        present = arguments["state"] == "present"
        if present and opening.export_directory(arguments["store"]) and self.ciphers()[0] is None:
            # Said before anything is done, not after the first step.
            raise ControlPlaneFailure(export.PASSWORD_MISSING)
        if self.check_mode:
            if present:
                self.refuse_beforehand(arguments)
            return {"changed": False, "fencing": 0, "run": "", "held_by": ""}
        store = self.open_store(arguments)
        del store  # opening it tells options that contradict each other, and a password that is missing
        locks, where = self.open_locks(arguments), (arguments["namespace"], arguments["cluster"])
        if not present:
            return {"changed": False, "released": locks.release_own(*where)}
        opening.refuse_others(arguments["store"], self.PATIENCE_SECONDS)
        purpose = marks.USE_EXPORT if arguments["use_export"] else marks.WORK
        try:
            lease = locks.acquire(
                *where, on_wait=lambda text: self.progress(arguments["cluster"], text), purpose=purpose
            )
        except in_files.Held as held:
            if not arguments["skip_if_held"]:
                raise
            said = f"another run is at work, so nothing is done here: {held.holder.text()}"
            self.progress(arguments["cluster"], said)
            return {"changed": False, "fencing": 0, "run": "", "held_by": held.holder.text(), "msg": said}
        return {"changed": False, "fencing": lease.fencing, "run": lease.run, "held_by": ""}
