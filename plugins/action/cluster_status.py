# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Summary of a cluster's state, as text and data; changes nothing."""

from __future__ import annotations

import os
import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.decision.decide import decide
from ..plugin_utils.observe.observation import observe
from ..plugin_utils.pki.certificates import PkiError
from ..plugin_utils.pki.kubeconfig import read_kubeconfig, write_kubeconfig
from ..plugin_utils.progress.progress_lines import Line
from ..plugin_utils.reconcile.status.data import status_data
from ..plugin_utils.reconcile.status.table import status_lines
from ..plugin_utils.records.journal_entries import last_failure


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_status; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "kubeconfig": {"type": "path"},
        "show": {"type": "bool", "default": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Observe and decide, then return the state; write a requested kubeconfig.

        No other file is written.
        """
        objects = self.open_objects(arguments)
        snapshot = observe(objects, self.machine_caller(arguments, objects), now_rfc3339())
        decision = decide(snapshot)
        data = status_data(
            snapshot, decision, self.host_of(arguments["cluster"]), last_failure(self.journal(arguments))
        )
        refused: t.Optional[PkiError] = None
        changed = False
        if arguments["kubeconfig"] and read_kubeconfig(objects.store, objects.cluster) is not None:
            data["kubeconfig"] = os.path.abspath(arguments["kubeconfig"])
            try:
                changed = not self.check_mode and write_kubeconfig(objects.store, objects.cluster, data["kubeconfig"])
            except PkiError as error:
                refused = error
                del data["kubeconfig"]
        if arguments["show"]:
            self.display.display_lines([Line(""), *status_lines(data)])
        if refused is not None:
            raise refused
        return {"changed": changed, "status": data}
