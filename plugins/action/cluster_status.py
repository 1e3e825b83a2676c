# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Summary of a cluster's state, as text and data; changes nothing."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.pki.certificates import PkiError
from ..plugin_utils.progress.progress_lines import Line
from ..plugin_utils.reconcile.status.fleet import FAILED_AS_ASKED, failing
from ..plugin_utils.reconcile.status.observer import keep_kubeconfig, observed_status
from ..plugin_utils.reconcile.status.table import status_lines
from ..plugin_utils.reconcile.status.verdict import TROUBLES


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_status; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "kubeconfig": {"type": "path"},
        "show": {"type": "bool", "default": True},
        "fail_when": {"type": "list", "elements": "str", "default": [], "choices": list(TROUBLES)},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Observe and decide, then return the state; write a requested kubeconfig.

        No other file is written.
        """
        data, objects = observed_status(self, arguments, self.host_of(arguments["cluster"]))
        refused: t.Optional[PkiError] = None
        changed = False
        try:
            changed = keep_kubeconfig(objects, arguments["kubeconfig"] or "", data, not self.check_mode)
        except PkiError as error:
            refused = error
        if arguments["show"]:
            self.display.display_lines([Line(""), *status_lines(data)])
        if refused is not None:
            raise refused
        wrong = failing([data], arguments["fail_when"])
        if wrong:
            raise ControlPlaneFailure(f"{wrong[0]}. {FAILED_AS_ASKED}", status=data)
        return {"changed": changed, "status": data}
