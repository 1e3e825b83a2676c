# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the actions that edit objects of a workload cluster.

They read on a node, plan here, compare and swap there.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.redact import redact
from ...module_utils.workload_api.api import ADMIN_KUBECONFIG
from ...module_utils.workload_api.compare_and_swap import Read
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer
from ..filters.kubeadm import plain
from ..processes.failpoints import around
from ..records.cluster_objects import ClusterObjects
from ..store.opening import STORE_SPEC
from ..workload import swap
from ..workload.swap import MODULE, Planner
from ..workload.writes import Plan, WorkloadError
from .control_plane_action import ControlPlaneAction

WORKLOAD_SPEC: dict[str, t.Any] = {
    "cluster": {"type": "str"},
    "namespace": {"type": "str", "default": "default"},
    "store": {**STORE_SPEC, "required": False},
    "machine_id": {"type": "str"},
    "fencing": {"type": "int"},
    "kubeconfig": {"type": "path", "default": ADMIN_KUBECONFIG},
}


class WorkloadAction(ControlPlaneAction):
    """Action plugin that writes a planner's objects to a workload cluster.

    A subclass gives ``ARGUMENTS`` (with WORKLOAD_SPEC) and ``work(arguments, objects)``. With ``cluster`` the objects are reached
    through the cluster's machines as the store knows them, else on the play's host.
    """

    _requires_connection = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = WORKLOAD_SPEC

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read, plan and write; again where another writer wrote in between."""
        # What comes from variables and over connections carries tags, which YAML can't be written with.
        arguments = plain(arguments)
        if bool(arguments["cluster"]) != bool(arguments["store"]):
            raise ControlPlaneFailure(
                "cluster and store go together; nothing was done. Give both to reach a stored cluster's machines, or neither to work "
                "on the play's host."
            )
        objects = self.open_objects(arguments) if arguments["cluster"] else None
        if objects is not None and objects.control_plane is None:
            raise ControlPlaneFailure(
                f"the store has no KubeadmControlPlane of {objects.title}; nothing was done. Run reconcile, which stores the manifest's."
            )
        result: dict[str, t.Any] = {}
        try:
            work = self.work(arguments, objects)
            if isinstance(work, str):
                return {"changed": False, "msg": work}
            reads, planner = work
            result["changed"] = swap.converge(
                self._call_here(arguments) if objects is None else self._call_machines(arguments, objects),
                reads,
                planner,
                lambda: self.check_lock(arguments),
                lambda plan: self._tell(result, plan),
                self.check_mode,
            )
        except swap.SwapFailure as error:
            raise ControlPlaneFailure(str(error), changed=error.changed) from error
        except (WorkloadError, ValueError) as error:
            raise ControlPlaneFailure(str(error)) from error
        return result

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> t.Union[str, tuple[tuple[Read, ...], Planner]]:
        """Return what to read and the planner, or a text.

        The text states why there is nothing to do.
        """
        raise NotImplementedError

    def _tell(self, result: dict[str, t.Any], plan: Plan) -> None:
        result.update(plan.facts, msg=plan.message)
        if plan.warnings:
            result["warnings"] = list(plan.warnings)
        if plan.writes and self._task.diff:
            result["diff"] = [
                {
                    "before_header": change.name,
                    "after_header": change.name,
                    "before": redact(change.before),
                    "after": redact(change.after),
                }
                for change in plan.changes
            ]

    def _call_here(self, arguments: dict[str, t.Any]) -> swap.Call:
        given = {**_given(arguments), **({"machine_id": arguments["machine_id"]} if arguments["machine_id"] else {})}

        def call(work: dict[str, t.Any], plan: t.Optional[Plan]) -> dict[str, t.Any]:
            module, words = f"kubeadm.control_plane.{MODULE}", {**given, **work}
            with around(f"node {MODULE}"):
                done = self._execute_module(module_name=module, module_args=words, task_vars=self._task_vars)
            answer = Answer(True, done)
            if answer.failed:
                raise swap.refusal(answer, plan)
            return answer.result

        return call

    def _call_machines(self, arguments: dict[str, t.Any], objects: ClusterObjects) -> swap.Call:
        caller = self.machine_caller(arguments, objects)
        # The newest first, and those that are going away last.
        machines = list(reversed(objects.bootstrapped_machines()))
        machines.sort(key=lambda each: bool(each["metadata"].get("deletionTimestamp")))

        def ask(name: str, work: dict[str, t.Any]) -> Answer:
            return caller.call(objects.reach(name), MODULE, {**_given(arguments), **work})

        names = [str(each["metadata"]["name"]) for each in machines]
        return swap.through(ask, names, "machine", f"machine of {objects.title}")


def _given(arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    fencing = {} if arguments["fencing"] is None else {"fencing": arguments["fencing"]}
    return {"kubeconfig": arguments["kubeconfig"], **fencing}


def needed_version(version: t.Optional[str]) -> str:
    """Return the Kubernetes version. Raises ControlPlaneFailure where it is unknown."""
    if not version:
        raise ControlPlaneFailure(
            "kubernetes_version is needed where no cluster's KubeadmControlPlane states it; nothing was done. Give it."
        )
    return version
