# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start of an Action, with its plan kept; or its resumption.

The Action is read and checked, and its plan frozen; one that has started is found again.
"""

from __future__ import annotations

import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.objects import actions
from ..plugin_utils.operator import action_text, flow, freeze
from ..plugin_utils.operator.matching import Execution
from ..plugin_utils.operator.planner_types import ClusterFacts, RefusedAction, workers_group
from ..plugin_utils.operator.tasks import requested_action
from ..plugin_utils.operator.tasks.cluster_facts import Facts
from ..plugin_utils.operator.tasks.endpoint import may_have_left
from ..plugin_utils.operator.tasks.progress import Executions
from ..plugin_utils.records import actions_under_way as operator_respect
from ..plugin_utils.records.cluster_objects import ClusterObjects, Object
from ..plugin_utils.workload.swap import SwapFailure


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.operator_action; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "manifest": {"type": "path"},
        "spec": {"type": "dict"},
        "name": {"type": "str", "default": ""},
        "mode": {"type": "str", "choices": ["", *actions.MODES], "default": ""},
        "run": {"type": "str", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the Action's name; ``act`` is whether there is something to run."""
        store = self.open_store(arguments)
        cluster_objects = self.open_objects(arguments, store)
        executions = Executions(store, arguments["namespace"], arguments["cluster"])
        root = requested_action.wanted(arguments, executions)
        if actions.finished(root):
            return self._ended(cluster_objects.name, root)
        if self.check_mode and root["spec"].get("abort"):
            said = f"{actions.label(root)} is to be aborted, and a run would give it up before its next Task"
            self.progress(cluster_objects.name, said)
            return {**self._answer(root, {"groups": []}, act=False), "changed": True, "step": flow.WOULD, "msg": said}
        if actions.started(root):
            return self._started(cluster_objects, root, executions.load(root))
        if root["spec"].get("abort"):
            answer = self._ended(cluster_objects.name, executions.give_up(root))
            return {**answer, "changed": True, "step": flow.ABORTED}
        # A dry run runs nothing, and begins nothing that would be left under way.
        dry = self.check_mode or root["spec"].get("executionMode") == actions.DRY_RUN
        pauses = executions.pauses()
        held = action_text.held_text(root, pauses)
        if pauses and not dry:
            self.progress(cluster_objects.name, held)
            return {**self._answer(root, {"groups": []}, act=False), "step": flow.PAUSED, "msg": held}
        self._refuse_others(executions, root)
        plan = self._plan(arguments, cluster_objects, root)
        shown = action_text.plan_text(root, plan)
        if dry or root["spec"].get("executionMode") == actions.CONTROLLED or not plan["groups"]:
            self.display.display("\n" + shown)
        else:
            self.progress(cluster_objects.name, shown.splitlines()[0])
        if self.check_mode:
            answer = self._answer(root, plan, act=False)
            if pauses:
                self.progress(cluster_objects.name, held)
                return {**answer, "step": flow.PAUSED, "msg": held}
            would = bool(plan["groups"])
            return {**answer, "changed": would, "step": flow.WOULD if would else "", "msg": shown}
        self.check_lock(arguments)
        if "uid" not in root["metadata"]:
            root = executions.put(root)
            self.note(f"store {actions.label(root)}")
        root = executions.begin(root, plan)
        self.note(f"begin {actions.label(root)}")
        said = shown if actions.finished(root) else f"{actions.label(root)} has begun"
        return {**self._answer(root, plan, act=not actions.finished(root)), "changed": True, "msg": said}

    def _started(self, cluster_objects: ClusterObjects, root: Object, execution: Execution) -> dict[str, t.Any]:
        """Return the answer on an Action that is under way.

        In check mode it is what a run would do, or what keeps it from doing anything.
        """
        said, step = f"{actions.label(root)} has started, and is resumed", ""
        if self.check_mode:
            said = f"{actions.label(root)} has started, and a run would resume it: {action_text.progress(execution)}"
            step = flow.WOULD
            following = flow.next_step(execution)
            if following.kind in flow.ENDINGS:
                said = action_text.ending(execution, following, self.host_of(cluster_objects.name))
                step = following.kind
        self.progress(cluster_objects.name, said)
        if self.check_mode:
            self.display.display("\n" + action_text.plan_text(root, root["status"]["plan"]))
        answer = self._answer(root, root["status"]["plan"], act=not self.check_mode)
        left = may_have_left(cluster_objects, execution)
        return {**answer, "changed": step == flow.WOULD, "step": step, "left_endpoint": left, "msg": said}

    @staticmethod
    def _refuse_others(executions: Executions, root: Object) -> None:
        others = [
            each for each in executions.unfinished() if each["metadata"].get("uid") != root["metadata"].get("uid")
        ]
        if others:
            name = str(others[0]["metadata"]["name"])
            raise ControlPlaneFailure(
                f"{actions.label(others[0])} of this cluster has not ended ({(others[0].get('status') or {}).get('phase')}), and one cluster "
                f"has one Action at a time. Nothing was started. Finish it (kubeadm.control_plane.action -e operator_action={name}), or give "
                f"it up (kubeadm.control_plane.abort -e operator_action={name}), then run this again."
            )

    def _plan(self, arguments: dict[str, t.Any], cluster_objects: ClusterObjects, root: Object) -> Object:
        hosts = (self._task_vars.get("groups") or {}).get(workers_group(cluster_objects.name)) or []
        gatherer = Facts(
            cluster_objects, self.machine_caller(arguments, cluster_objects), [str(each) for each in hosts]
        )
        facts = None
        try:
            facts = gatherer.gather(root)
            self._refuse_busy(cluster_objects, root, facts)
            return freeze.freeze(root, facts, now_rfc3339())
        except SwapFailure as error:
            raise ControlPlaneFailure(f"{actions.label(root)}: {error}. Nothing was started.") from error
        except RefusedAction as refused:
            self._refuse_busy(cluster_objects, root, facts)
            raise ControlPlaneFailure(
                f"{actions.label(root)} can't be carried out on {cluster_objects.title}, so nothing was started: {refused}"
            ) from refused

    def _refuse_busy(self, cluster_objects: ClusterObjects, root: Object, facts: t.Optional[ClusterFacts]) -> None:
        # A rollout can't end where certificates have expired: then only a renewal helps.
        what = actions.what(root)
        renewed = facts if what == "renewCertificates" else None
        offline = renewed is not None and not renewed.api_answers
        ended = renewed is not None and any(map(renewed.ended, renewed.control_plane_nodes))
        busy = operator_respect.under_way(cluster_objects, what, ended=ended)
        if busy and not offline:
            raise ControlPlaneFailure(
                f"{actions.label(root)}: {busy}, and Actions keep out of its way. Nothing was started. Let it end first "
                f"(kubeadm.control_plane.reconcile --limit {self.host_of(cluster_objects.name)}), then run this again."
            )
        amid = operator_respect.amid_rotation(cluster_objects, root)
        if amid and not offline:
            raise ControlPlaneFailure(f"{actions.label(root)}: {amid}")

    def _ended(self, cluster: str, root: Object) -> dict[str, t.Any]:
        status = root["status"]
        how = f"is complete since {status['completionTime']}" if status.get("completionTime") else "was aborted"
        said = f"{actions.label(root)} {how}. What has finished never runs again; to repeat it, give a new Action another name."
        self.progress(cluster, said)
        return {**self._answer(root, status.get("plan") or {"groups": []}, act=False), "msg": said}

    @staticmethod
    def _answer(root: Object, plan: Object, *, act: bool) -> dict[str, t.Any]:
        return {
            "changed": False,
            "act": act,
            "action": str(root["metadata"]["name"]),
            "kind": root["kind"],
            "groups": [{key: each[key] for key in ("name", "nodes", "maxUnavailable")} for each in plan["groups"]],
            "left_endpoint": False,
            "step": "",
            "msg": "",
        }
