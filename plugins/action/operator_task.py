# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Execution of an Action's Tasks on their nodes."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.operator import flow, stopped_api_servers
from ..plugin_utils.operator.tasks.action_observation import Looks
from ..plugin_utils.operator.tasks.progress import Executions
from ..plugin_utils.operator.tasks.task_runner import TASK, TaskRunner
from ..plugin_utils.records.cluster_objects import Object


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.operator_task; see its documentation."""

    _supports_check_mode = False
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str", "required": True},
        "tasks": {"type": "list", "elements": "str", "required": True},
        "out_of_endpoint": {"type": "list", "elements": "str", "default": []},
        "manifests": {"type": "list", "elements": "path", "default": []},
        "run": {"type": "str", "default": ""},
        "fencing": {"type": "int", "required": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the given Tasks, and then others of their TaskGroup.

        Failures are in the Tasks' records; operator_next reports them.
        """
        store = self.open_store(arguments)
        cluster_objects = self.open_objects(arguments, store)
        executions = Executions(store, arguments["namespace"], arguments["cluster"])
        root = executions.needed(arguments["name"])
        if not root.get("status", {}).get("plan"):
            raise ControlPlaneFailure(
                f"{root['kind']} {arguments['name']} has not begun; nothing was run. kubeadm.control_plane.action begins it."
            )
        looks = Looks(self, arguments, cluster_objects, executions)
        runner = TaskRunner(self, arguments, cluster_objects, root)
        ran = runner.run(arguments["tasks"])
        group = self._group(executions, root, ran)
        # A machine that has left the endpoint comes back before anything else happens, its Action's end included.
        while not arguments["out_of_endpoint"]:
            # Before each Task everything is looked at anew, as operator_next does: a pause, an edit, a Node that came or went.
            execution, step = looks.look(root)
            root = execution.root
            if step.kind != flow.RUN or group is None or t.cast(Object, step.group)["name"] != group:
                break
            if stopped_api_servers.leaving(execution.plan, [execution.tasks[name] for name in step.tasks]):
                # operator_next says which machine leaves the endpoint before it.
                break
            ran += runner.run(step.tasks)
        phases = {}
        for name in ran:
            task = store.get(TASK, arguments["namespace"], name) or {}
            phases[name] = str((task.get("status") or {}).get("phase") or "")
        return {"changed": True, "phases": phases, "msg": ", ".join(f"{name}: {each}" for name, each in phases.items())}

    @staticmethod
    def _group(executions: Executions, root: Object, names: t.Sequence[str]) -> t.Optional[str]:
        """Return the planned group of the Tasks."""
        execution = executions.load(root)
        for group in execution.plan["groups"]:
            if any(each["metadata"]["name"] in names for each in execution.tasks_of(group)):
                return str(group["name"])
        return None
