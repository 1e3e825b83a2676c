# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""User's commands to a running Action: approve, pause, resume, retry, skip, abort."""

from __future__ import annotations

import getpass
import socket
import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.objects import actions
from ..plugin_utils.operator import flow, freeze, leaving_out
from ..plugin_utils.operator.matching import Execution, NodeNow
from ..plugin_utils.operator.tasks import cluster_facts
from ..plugin_utils.operator.tasks.progress import Executions
from ..plugin_utils.operator.tasks.records import TASK
from ..plugin_utils.records.cluster_objects import Object

APPROVE, PAUSE, RESUME, RETRY, SKIP, ABORT = VERBS = ("approve", "pause", "resume", "retry", "skip", "abort")
# Whom and what a person's word came from, for whoever reads the object later.
SAID_BY = "kubeadm.control-plane/said-by"
_SHOWN = 20


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.operator_flow; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "verb": {"type": "str", "required": True, "choices": list(VERBS)},
        "name": {"type": "str", "default": ""},
        "task": {"type": "str", "default": ""},
        "node": {"type": "str", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Write the user's command into the Action's object.

        The running pass, or the next one, sees it before its next Task.
        """
        store = self.open_store(arguments)
        executions = Executions(store, arguments["namespace"], arguments["cluster"])
        root = executions.needed(arguments["name"])
        verb = arguments["verb"]
        if actions.finished(root):
            raise ControlPlaneFailure(
                f"{actions.label(root)} has ended ({root['status'].get('phase')}), so there is nothing to {verb}; nothing was done. "
                "kubeadm.control_plane.actions lists those that have not ended."
            )
        if not actions.started(root) and verb != ABORT:
            raise ControlPlaneFailure(
                f"{actions.label(root)} has not begun, so there is nothing to {verb}; nothing was done. "
                "kubeadm.control_plane.action begins it."
            )
        execution = executions.load(root) if actions.started(root) else Execution(root)
        changed, said = getattr(self, f"_{verb}")(executions, execution, arguments)
        if changed and self.check_mode:
            said = f"check mode, so nothing was written. Without it: {said}"
        self.progress(executions.cluster, said)
        if changed:
            self.note(f"{verb} {actions.label(root)}")
        return {
            "changed": changed,
            "go_on": verb != PAUSE,
            "action": str(root["metadata"]["name"]),
            "msg": said,
        }

    def _approve(self, executions: Executions, execution: Execution, arguments: Object) -> tuple[bool, str]:
        waiting = [
            each
            for each in self._tasks(execution, arguments["task"])
            if not (each.get("status") or {}).get("startTime") and not (each.get("status") or {}).get("completionTime")
        ]
        if execution.root["spec"].get("executionMode") != actions.CONTROLLED or not waiting:
            raise ControlPlaneFailure(
                f"no Task of {actions.label(execution.root)} waits for approval; nothing was done. Only in the mode Controlled does it "
                "stop before each Task; kubeadm.control_plane.actions shows what it does."
            )
        names = [self._say(executions, each, "approve", _approved) for each in waiting]
        return True, f"approved: {', '.join(names)}"

    def _pause(self, executions: Executions, execution: Execution, _arguments: Object) -> tuple[bool, str]:
        root = execution.root
        if root["spec"].get("paused"):
            return False, f"{actions.label(root)} is paused already"
        self._say(executions, root, PAUSE, lambda each: each["spec"].update(paused=True))
        return True, f"{actions.label(root)} pauses before its next Task; one that runs now is not interrupted"

    def _resume(self, executions: Executions, execution: Execution, _arguments: Object) -> tuple[bool, str]:
        root = execution.root
        if not root["spec"].get("paused"):
            return False, f"{actions.label(root)} was not paused by a user; it continues as far as it can"
        self._say(executions, root, RESUME, lambda each: each["spec"].pop("paused", None))
        return True, f"{actions.label(root)} continues"

    def _retry(self, executions: Executions, execution: Execution, arguments: Object) -> tuple[bool, str]:
        failed = self._failed(execution, arguments["task"], RETRY)
        names = [self._say(executions, each, RETRY, _mode(actions.RETRY)) for each in failed]
        return True, f"the failed command is run again: {', '.join(names)}"

    def _skip(self, executions: Executions, execution: Execution, arguments: Object) -> tuple[bool, str]:
        node = arguments["node"]
        if node:
            return self._leave_out(executions, execution, node, arguments)
        failed = self._failed(execution, arguments["task"], SKIP)
        if len(failed) > 1:
            names = ", ".join(str(each["metadata"]["name"]) for each in failed)
            raise ControlPlaneFailure(
                f"several Tasks have failed: {names}; nothing was done. Say which is meant with -e operator_task=NAME."
            )
        refused = leaving_out.command_refusal(execution, failed[0])
        if refused:
            raise ControlPlaneFailure(refused)
        name = self._say(executions, failed[0], SKIP, _mode(actions.SKIP))
        return True, f"the failed command is left out: {name}"

    def _leave_out(
        self, executions: Executions, execution: Execution, node: str, arguments: Object
    ) -> tuple[bool, str]:
        root = execution.root
        if node in execution.left_out:
            return False, f"Node {node} is left out of {actions.label(root)} already"
        refused = leaving_out.refusal(execution, node, self._nodes_now(executions, execution, node, arguments))
        if refused:
            raise ControlPlaneFailure(refused)

        def change(each: Object) -> None:
            each["spec"]["leftOut"] = sorted({*(each["spec"].get("leftOut") or []), node})

        self._say(executions, root, f"skip {node}", change)
        return True, f"Node {node} is left out of {actions.label(root)}: nothing more is run there"

    def _nodes_now(
        self, executions: Executions, execution: Execution, node: str, arguments: Object
    ) -> t.Optional[tuple[NodeNow, ...]]:
        """Return the cluster's present Nodes.

        None where the plan has this one already, and where no API answers.
        """
        planned = freeze.nodes_of(execution.plan)
        if not execution.plan["facts"]["apiAnswers"] or any(each.name == node for each in planned):
            return None
        cluster_objects = self.open_objects(arguments, executions.store)
        return cluster_facts.nodes_now(cluster_objects, self.machine_caller(arguments, cluster_objects), planned)

    def _abort(self, executions: Executions, execution: Execution, _arguments: Object) -> tuple[bool, str]:
        root = execution.root
        if root["spec"].get("abort"):
            return False, f"{actions.label(root)} is being aborted already"
        self._say(executions, root, ABORT, lambda each: each["spec"].update(abort=True))
        return True, f"{actions.label(root)} is given up before its next Task; what is done stays done"

    def _failed(self, execution: Execution, task: str, verb: str) -> list[Object]:
        failed = [each for each in self._tasks(execution, task) if flow.has_failed(each)]
        if not failed:
            raise ControlPlaneFailure(
                f"no Task of {actions.label(execution.root)} has failed, so there is nothing to {verb}; nothing was done. "
                "kubeadm.control_plane.actions shows what it does."
            )
        return failed

    @staticmethod
    def _tasks(execution: Execution, name: str) -> list[Object]:
        tasks = list(execution.tasks.values())
        if not name:
            return tasks
        found = [each for each in tasks if each["metadata"]["name"] == name]
        if not found:
            known = ", ".join(str(each["metadata"]["name"]) for each in tasks[-_SHOWN:]) or "none"
            raise ControlPlaneFailure(
                f"{actions.label(execution.root)} has no Task {name}; nothing was done. Name one of its Tasks: {known}."
            )
        return found

    @staticmethod
    def _say(executions: Executions, obj: Object, word: str, change: t.Callable[[Object], t.Any]) -> str:
        who = f"{getpass.getuser()}@{socket.gethostname()}"

        def whole(each: Object) -> None:
            change(each)
            said = each["metadata"].setdefault("annotations", {})
            said[SAID_BY] = f"{now_rfc3339()} {word} by {who}"

        kind = TASK if obj["kind"] == actions.TASK else actions.kind_ref(obj["kind"])
        executions.store.modify(kind, executions.namespace, obj["metadata"]["name"], whole)
        return str(obj["metadata"]["name"])


def _approved(task: Object) -> None:
    task["spec"]["approved"] = True


def _mode(mode: str) -> t.Callable[[Object], None]:
    def change(task: Object) -> None:
        task["spec"]["recoveryMode"] = mode

    return change
