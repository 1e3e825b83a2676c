# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the actions that edit objects of a workload cluster.

They read on a node, plan here, compare and swap there.
"""

from __future__ import annotations

import time
import typing as t

from ...module_utils.common.redact import redact
from ...module_utils.workload_api.api import ADMIN_KUBECONFIG
from ...module_utils.workload_api.compare_and_swap import Read
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer
from ..decision.snapshot.json_shape import Boolean, Path, Sequence, Shape, Struct, Table, Text, written
from ..filters.kubeadm import plain
from ..processes.failpoints import around
from ..records.cluster_objects import ClusterObjects
from ..store.opening import STORE_SPEC
from ..workload.writes import Objects, Plan, WorkloadError
from .control_plane_action import ControlPlaneAction

MODULE = "workload_objects"
# Somebody else who writes all the time is a fault to look at, not one to wait out.
ATTEMPTS = 5
PAUSE_SECONDS = 0.2

Planner = t.Callable[[Objects], Plan]

_TEXTS = Table(Text())
_METADATA: dict[str, Shape] = {
    "name": Text(1),
    "namespace": Text(),
    "uid": Text(),
    "resourceVersion": Text(),
    "labels": _TEXTS,
    "annotations": _TEXTS,
}
_CONTAINERS = Sequence(Struct({"name": Text(), "image": Text(), "args": Sequence(Text()), "command": Sequence(Text())}))
_CONFIG_MAP = Struct({"name": Text(), "items": Sequence(Struct({"key": Text(), "path": Text()}))})
_VOLUMES = Sequence(Struct({"name": Text(), "configMap": _CONFIG_MAP}))
_TEMPLATE = Struct({"metadata": Struct(_METADATA), "spec": Struct({"containers": _CONTAINERS, "volumes": _VOLUMES})})
_FIELDS: dict[str, Shape] = {
    "spec": Struct({"unschedulable": Boolean(), "template": _TEMPLATE}),
    "status": Struct(
        {
            "nodeInfo": Struct({"kubeletVersion": Text(), "machineID": Text()}),
            "conditions": Sequence(Struct({"type": Text(), "status": Text()})),
        }
    ),
    "data": _TEXTS,
}
# What is relied on in objects of any kind that an API server answers with, and in the entries of a list of them.
_OBJECT = Struct(
    {
        **_FIELDS,
        "metadata": Struct(_METADATA),
        "items": Sequence(Struct({**_FIELDS, "metadata!": Struct({**_METADATA, "name!": Text(1)})})),
    }
)

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
        try:
            work = self.work(arguments, objects)
            if isinstance(work, str):
                return {"changed": False, "msg": work}
            reads, planner = work
            return self._converge(arguments, objects, reads, planner)
        except (WorkloadError, ValueError) as error:
            raise ControlPlaneFailure(str(error)) from error

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> t.Union[str, tuple[tuple[Read, ...], Planner]]:
        """Return what to read and the planner, or a text.

        The text states why there is nothing to do.
        """
        raise NotImplementedError

    def _converge(
        self,
        arguments: dict[str, t.Any],
        objects: t.Optional[ClusterObjects],
        reads: tuple[Read, ...],
        planner: Planner,
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = {"changed": False}
        wanted = {"read": [{"path": each.path, "keep": list(each.keep)} for each in reads]}
        conflict = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_SECONDS * attempt)
            answer = self._call(arguments, objects, wanted)
            plan = planner(objects_of(answer))
            self._tell(result, plan)
            if not plan.writes:
                return result
            if self.check_mode:
                result["changed"] = True
                return result
            self.check_lock(arguments)
            done = self._call(arguments, objects, {"write": writes_of(plan)}, plan)
            result["changed"] = result["changed"] or done["written"] > 0
            if not done["conflict"]:
                return result
            conflict = str(done["conflict"])
        raise ControlPlaneFailure(
            f"another client changed what was to be written, {ATTEMPTS} times in a row: {conflict}. What was written so far is complete "
            "in itself. Find out who writes there all the time (another run, an operator), and run this again.",
            changed=result["changed"],
        )

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

    def _call(
        self,
        arguments: dict[str, t.Any],
        objects: t.Optional[ClusterObjects],
        call: dict[str, t.Any],
        plan: t.Optional[Plan] = None,
    ) -> dict[str, t.Any]:
        call = {"kubeconfig": arguments["kubeconfig"], **call}
        if arguments["fencing"] is not None:
            call["fencing"] = arguments["fencing"]
        if objects is not None:
            return self._call_machines(arguments, objects, call, plan)
        if arguments["machine_id"]:
            call["machine_id"] = arguments["machine_id"]
        module = f"kubeadm.control_plane.{MODULE}"
        with around(f"node {MODULE}"):
            answer = Answer(True, self._execute_module(module_name=module, module_args=call, task_vars=self._task_vars))
        if answer.failed:
            raise _failure(answer, plan)
        return answer.result

    def _call_machines(
        self, arguments: dict[str, t.Any], objects: ClusterObjects, call: dict[str, t.Any], plan: t.Optional[Plan]
    ) -> dict[str, t.Any]:
        caller = self.machine_caller(arguments, objects)
        failures: list[str] = []
        # The newest first, and those that are going away last.
        machines = list(reversed(objects.bootstrapped_machines()))
        machines.sort(key=lambda each: bool(each["metadata"].get("deletionTimestamp")))
        for machine in machines:
            name = str(machine["metadata"]["name"])
            answer = caller.call(objects.reach(name), MODULE, call)
            if not answer.failed:
                return answer.result
            if answer.reached and plan is not None:
                # The API has taken a part of it, or nothing of it; either way it would say the same on another machine.
                raise _failure(answer, plan, name)
            failures.append(f"{name}: {redact(answer.message)}")
        raise ControlPlaneFailure(
            f"no machine of {objects.title} could be asked: {'; '.join(failures) or 'none has been bootstrapped'}. "
            "Run this again when one answers."
        )


def objects_of(answer: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the objects of a module's answer by path.

    A missing object is None.

    Raises:
        WorkloadError: an answer of an API server that no Kubernetes gives, with the field.
    """
    found = plain(answer.get("objects"))
    if not isinstance(found, dict):
        raise WorkloadError("the answer of the machine has no objects")
    problems: list[str] = []

    def say(where: Path, why: str) -> None:
        problems.append(f"{written(where)} {why}")

    for path, obj in found.items():
        if obj is not None:
            _OBJECT.check(obj, None, say)
        if problems:
            raise WorkloadError(
                f"the API server answers {path} with what no Kubernetes does: {problems[0]}. Nothing was made of it. Look at the machine that "
                "was asked: what runs there is not what kubeadm has started"
            )
    return found


def writes_of(plan: Plan) -> list[dict[str, t.Any]]:
    """Return a plan's writes as the module takes them."""
    return [
        {
            "path": each.path,
            "method": each.method,
            "document": dict(each.document),
            "resource_version": each.resource_version,
        }
        for each in plan.writes
    ]


def _failure(answer: Answer, plan: t.Optional[Plan], machine: str = "") -> ControlPlaneFailure:
    where = f"machine {machine}: " if machine else ""
    message = f"{where}{redact(answer.message)}"
    written = int(answer.result.get("written") or 0)
    if plan is None:
        return ControlPlaneFailure(f"{message} Nothing was written.")
    done = f"{written} of {len(plan.writes)} changes were made; running this again continues from there."
    return ControlPlaneFailure(f"{message} {done}", changed=written > 0)


def needed_version(version: t.Optional[str]) -> str:
    """Return the Kubernetes version. Raises ControlPlaneFailure where it is unknown."""
    if not version:
        raise ControlPlaneFailure(
            "kubernetes_version is needed where no cluster's KubeadmControlPlane states it; nothing was done. Give it."
        )
    return version
