# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decision of an Action's next step; steps without a node are done."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.move import export
from ..plugin_utils.objects import actions
from ..plugin_utils.operator import action_text, flow
from ..plugin_utils.operator.tasks.action_observation import Looks
from ..plugin_utils.operator.tasks.endpoint import out_of_endpoint
from ..plugin_utils.operator.tasks.progress import Executions
from ..plugin_utils.records import actions_under_way as operator_respect
from ..plugin_utils.records.cluster_objects import Object
from ..plugin_utils.records.journal_entries import close_intents

_FAILS = (flow.FAILED, flow.INCONSISTENT)


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.operator_next; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str", "default": ""},
        "run": {"type": "str", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the Action's next step.

        ``act`` is whether Tasks are to be run, ``fails`` whether the user must act.
        """
        store = self.open_store(arguments)
        cluster_objects = self.open_objects(arguments, store)
        executions = Executions(store, arguments["namespace"], arguments["cluster"])
        root = executions.needed(arguments["name"])
        if not actions.started(root) and not actions.finished(root):
            said = f"{actions.label(root)} has not begun; the playbook kubeadm.control_plane.action begins it."
            return self._answer(root, "pending", [], said)
        if not self.check_mode:
            close_intents(self.journal(arguments), arguments["run"], "succeeded", "the Task came to its end")
            # What comes next may take the API away, and a run that was killed left no copy.
            export.keep_copy(self, arguments)
        execution, step = Looks(self, arguments, cluster_objects, executions).look(root)
        if step.kind == flow.RUN:
            leaving = out_of_endpoint(self, arguments, cluster_objects, execution, step.tasks)
            return {**self._answer(execution.root, step.kind, list(step.tasks), ""), "out_of_endpoint": leaving}
        said = action_text.ending(execution, step, self.host_of(cluster_objects.name))
        if step.kind == flow.ABORTED and actions.what(root) == operator_respect.ROTATION:
            said += operator_respect.left_behind(cluster_objects)
        if step.kind not in _FAILS:
            self.progress(cluster_objects.name, said)
        return self._answer(execution.root, step.kind, list(step.tasks), said)

    @staticmethod
    def _answer(root: Object, step: str, tasks: list[str], said: str) -> dict[str, t.Any]:
        return {
            "changed": False,
            "step": step,
            "act": step == flow.RUN,
            "fails": step in _FAILS,
            "action": str(root["metadata"]["name"]),
            "tasks": tasks,
            "out_of_endpoint": [],
            "phase": str((root.get("status") or {}).get("phase") or ""),
            "msg": said,
        }
