# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a cluster's Actions, TaskGroups and Tasks in the store.

They are found, started, and advanced as far as no node is needed.
"""

from __future__ import annotations

import copy
import typing as t

from ....module_utils.common.values import now_rfc3339
from ...calls.failure import ControlPlaneFailure
from ...objects import actions, origin
from ...records.cluster_objects import CLUSTER, CLUSTER_LABEL, Object
from ...store import pause
from ...store.base import AlreadyExists, Store
from .. import flow, freeze, phases
from ..flow import Step
from ..matching import Execution, NodeNow
from . import records

# More than any plan has steps.
STEP_LIMIT = 20_000


class Executions:
    """Actions of one cluster, with all objects made from them."""

    def __init__(self, store: Store, namespace: str, cluster: str) -> None:
        self.store = store
        self.namespace = namespace
        self.cluster = cluster
        self._uid = origin.uid(store.get(CLUSTER, namespace, cluster) or {})

    def pauses(self) -> list[str]:
        """Return why the cluster is paused, [] where it is not."""
        return pause.reasons(self.store, self.namespace, self.cluster)

    def roots(self) -> list[Object]:
        """Return the cluster's Actions and detached TaskGroups and Tasks, oldest first."""
        found = []
        for kind in actions.KINDS:
            for each in self.store.list(actions.kind_ref(kind), self.namespace, {CLUSTER_LABEL: self.cluster}):
                if actions.detached(each):
                    found.append(each)
        return sorted(found, key=lambda each: (str(each["metadata"]["creationTimestamp"]), each["metadata"]["name"]))

    def unfinished(self) -> list[Object]:
        """Return the started, unfinished Actions and detached TaskGroups and Tasks."""
        return [each for each in self.roots() if actions.under_way(each, self._uid)]

    def find(self, name: str, *, earlier: bool = False) -> t.Optional[Object]:
        """Return the Action, detached TaskGroup or Task of a name.

        None where there is none. Raises ControlPlaneFailure where it is another cluster's; with ``earlier`` it may be of
        an earlier cluster of the same name.
        """
        for kind in actions.KINDS:
            found = self.store.get(actions.kind_ref(kind), self.namespace, name)
            if found is None or not actions.detached(found):
                continue
            owner = (found["metadata"].get("labels") or {}).get(CLUSTER_LABEL)
            if owner != self.cluster:
                raise ControlPlaneFailure(
                    f"{actions.label(found)} is of the cluster {owner or '(none: it has no label ' + CLUSTER_LABEL + ')'}, not of "
                    f"{self.cluster}; nothing was done. Give another name, or leave the name out."
                )
            if not earlier and not actions.of_cluster(found, self._uid):
                status = found["status"]
                begun = (status.get("plan") or {}).get("frozenAt") or status.get("abortTime")
                raise ControlPlaneFailure(
                    f"{actions.label(found)} of {begun} is of an earlier cluster named {self.cluster}: that Cluster object had another uid, and "
                    "its plan has the nodes and files of that time. Nothing was done. Give the new one another name; "
                    f"kubeadm.control_plane.actions -e operator_action={name} shows this one."
                )
            return found
        return None

    def needed(self, name: str, *, earlier: bool = False) -> Object:
        """Return the Action of a name, or the only unfinished one.

        Raises ControlPlaneFailure where there is none, or several without a name, and as ``find`` does.
        """
        if name:
            found = self.find(name, earlier=earlier)
            if found is None:
                known = ", ".join(str(each["metadata"]["name"]) for each in self.roots()) or "none"
                raise ControlPlaneFailure(
                    f"the cluster {self.cluster} has no Action {name}; nothing was done. Name one that it has: {known}."
                )
            return found
        under_way = self.unfinished()
        if len(under_way) != 1:
            names = ", ".join(str(each["metadata"]["name"]) for each in under_way) or "none"
            raise ControlPlaneFailure(
                f"which Action of {self.cluster} is meant was not said, and under way is: {names}. Nothing was done. "
                "Say -e operator_action=NAME."
            )
        return under_way[0]

    def new_name(self, kind: str) -> str:
        """Return a name for a new Action: <cluster>-<kind>-<number>."""
        words = "".join(f"-{each.lower()}" if each.isupper() else each for each in kind)
        number = 1
        while self.store.get(actions.kind_ref(actions.ACTION), self.namespace, f"{self.cluster}-{words}-{number}"):
            number += 1
        return f"{self.cluster}-{words}-{number}"

    def put(self, obj: Object) -> Object:
        """Create the user's object in the store."""
        return self.store.create(freeze.new_root(obj, self.cluster, self.namespace))

    def put_spec(self, root: Object, spec: Object) -> Object:
        """Store a user's object again, with its spec in the hub form."""
        return self.store.update({**copy.deepcopy(root), "spec": spec})

    def begin(self, root: Object, plan: Object) -> Object:
        """Store an object's frozen plan, which starts it.

        Without anything to do, and with DryRun, it is complete at once.
        """
        now = now_rfc3339()

        def change(stored: Object) -> None:
            status = stored.setdefault("status", {})
            status.update(plan=plan, clusterUID=self._uid)
            if stored["kind"] != actions.TASK:
                status["startTime"] = now
            if not plan["groups"]:
                status.update(completionTime=now, message="there was nothing to do")
            elif stored["spec"].get("executionMode") == actions.DRY_RUN:
                status.update(completionTime=now, message="DryRun: nothing was run")
            status["phase"] = phases.phase(stored)

        return self.store.modify(actions.kind_ref(root["kind"]), self.namespace, root["metadata"]["name"], change)

    def give_up(self, root: Object) -> Object:
        """Abort an object that has never started."""

        def change(stored: Object) -> None:
            stored["status"] = {**(stored.get("status") or {}), "abortTime": now_rfc3339(), "clusterUID": self._uid}
            stored["status"]["phase"] = phases.phase(stored)

        return self.store.modify(actions.kind_ref(root["kind"]), self.namespace, root["metadata"]["name"], change)

    def load(self, root: Object, nodes: t.Optional[tuple[NodeNow, ...]] = None) -> Execution:
        """Return an Action with all objects made from it."""
        metadata = root["metadata"]
        root = self.store.get(actions.kind_ref(root["kind"]), self.namespace, metadata["name"]) or root
        labels = {actions.LABEL_UID: origin.uid(root)}

        def made(kind: str) -> dict[str, Object]:
            found = self.store.list(actions.kind_ref(kind), self.namespace, labels)
            return {str(each["metadata"]["name"]): each for each in found}

        return Execution(
            root=root,
            groups=made(actions.TASK_GROUP),
            tasks=made(actions.TASK),
            others=self._others(root),
            nodes=nodes,
            pauses=tuple(self.pauses()),
        )

    def _others(self, root: Object) -> tuple[str, ...]:
        frozen = str(((root.get("status") or {}).get("plan") or {}).get("frozenAt") or "")
        found = []
        for each in self.roots():
            if each["metadata"]["uid"] == root["metadata"]["uid"] or actions.finished(each):
                continue
            came_later = str(each["metadata"]["creationTimestamp"]) > frozen
            if actions.of_cluster(each, self._uid) and (actions.started(each) or came_later):
                found.append(actions.label(each))
        return tuple(found)

    def advance(self, root: Object, nodes: t.Optional[tuple[NodeNow, ...]] = None) -> tuple[Execution, Step]:
        """Advance an Action until a Task can run or the run ends.

        Every step that needs no node is done here, object by object; then the status is written. Every write is
        complete by itself: what a killed run has left undone, the next one finds and does.
        """
        for _round in range(STEP_LIMIT):
            execution = self.load(root, nodes)
            step = flow.next_step(execution)
            if step.kind == flow.RUN or step.kind in flow.ENDINGS:
                self.tell(execution, step)
                return execution, step
            self._apply(execution, step)
        raise ControlPlaneFailure(
            f"{actions.label(root)} came to no end after {STEP_LIMIT} steps; this is a bug. Report it with the Action and its Tasks."
        )

    def create_tasks(self, execution: Execution, step: Step) -> list[Object]:
        """Create the Tasks of a step and return them."""
        group = t.cast(Object, step.group)
        owner = t.cast(Object, execution.group_object(group))
        return [
            self._create(freeze.build_task(execution.root, group, owner, node), execution.root) for node in step.nodes
        ]

    def _apply(self, execution: Execution, step: Step) -> None:
        root, now = execution.root, now_rfc3339()
        if step.kind == flow.CREATE_GROUP:
            self._create(freeze.build_group(root, t.cast(Object, step.group)), root)
        elif step.kind == flow.CREATE_TASKS:
            self.create_tasks(execution, step)
        elif step.kind in (flow.RECOVER, flow.LEAVE_OUT):
            change = records.recover if step.kind == flow.RECOVER else records.leave_out
            for name in step.tasks:
                self.store.modify(records.TASK, self.namespace, name, _with_time(change, now))
        elif step.kind == flow.COMPLETE_GROUP:
            group = t.cast(Object, step.group)
            obj = t.cast(Object, execution.group_object(group))
            status = phases.group_status(execution, group, step, now)
            self._set_status(obj, {**status, "completionTime": now})
        elif step.kind == flow.COMPLETE:
            status = phases.root_status(execution, step, now)
            for key in ("errorReason", "errorMessage"):
                status.pop(key, None)
            self._set_status(root, {**status, "completionTime": now, "paused": False})
        else:
            self._set_status(root, {**(root.get("status") or {}), "abortTime": now, "paused": False})

    def _create(self, obj: Object, root: Object) -> Object:
        try:
            return self.store.create(obj)
        except AlreadyExists as error:
            name = obj["metadata"]["name"]
            stored = self.store.get(actions.kind_ref(obj["kind"]), self.namespace, name) or {"metadata": {}}
            if (stored["metadata"].get("labels") or {}).get(actions.LABEL_UID) == origin.uid(root):
                return stored
            raise ControlPlaneFailure(
                f"{actions.label(root)} needs the name {name} for a {obj['kind']} of its own, but the store has one of that name that is "
                "not its own. Nothing was run for it. Abort this Action, and give the next one another name."
            ) from error

    def tell(self, execution: Execution, step: Step) -> None:
        """Write phases, counters and reasons."""
        now = now_rfc3339()
        root = execution.root
        if root["kind"] == actions.ACTION:
            for group in execution.plan["groups"]:
                obj = execution.group_object(group)
                if obj is not None and not obj.get("status", {}).get("completionTime"):
                    self._set_status(obj, phases.group_status(execution, group, step, now))
        if actions.finished(root):
            status = {**root["status"], "phase": phases.phase(root)}
        else:
            status = phases.root_status(execution, step, now)
        if root["kind"] != actions.TASK:
            status["created"] = sorted({*(status.get("created") or []), *execution.groups, *execution.tasks})
        self._set_status(root, status)

    def _set_status(self, obj: Object, status: Object) -> None:
        wanted = copy.deepcopy(status)
        wanted["phase"] = phases.phase({**obj, "status": wanted})
        if wanted == obj.get("status"):
            return

        def change(stored: Object) -> None:
            stored["status"] = wanted

        self.store.modify(actions.kind_ref(obj["kind"]), self.namespace, obj["metadata"]["name"], change)


def _with_time(change: t.Callable[[Object, str], None], now: str) -> t.Callable[[Object], None]:
    def whole(stored: Object) -> None:
        change(stored, now)

    return whole
