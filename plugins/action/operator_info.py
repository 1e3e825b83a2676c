# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions of a cluster, or one with its Tasks, commands and logs."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.objects import actions
from ..plugin_utils.operator import overview
from ..plugin_utils.operator.tasks.progress import Executions


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.operator_info; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str", "default": ""},
        "task": {"type": "str", "default": ""},
        "logs": {"type": "bool", "default": False},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read and show the Actions; nothing is written."""
        executions = Executions(self.open_store(arguments), arguments["namespace"], arguments["cluster"])
        roots = [executions.needed(arguments["name"], earlier=True)] if arguments["name"] else executions.roots()
        rows = [overview.row(executions.load(each)) for each in roots]
        if not arguments["name"]:
            shown = overview.table(executions.cluster, rows)
        else:
            execution = executions.load(roots[0])
            names = [each["name"] for each in overview.tasks(execution)]
            if arguments["task"] and arguments["task"] not in names:
                raise ControlPlaneFailure(
                    f"{actions.label(roots[0])} has no Task {arguments['task']}. Name one of its Tasks: {', '.join(names) or 'none'}."
                )
            shown = overview.details(execution, task=arguments["task"], logs=arguments["logs"])
        self.display.display("\n" + shown)
        result: dict[str, t.Any] = {"changed": False, "actions": rows, "msg": shown}
        if arguments["name"]:
            wanted = arguments["task"]
            tasks = overview.tasks(executions.load(roots[0]))
            result["tasks"] = [each for each in tasks if wanted in ("", each["name"])]
        return result
