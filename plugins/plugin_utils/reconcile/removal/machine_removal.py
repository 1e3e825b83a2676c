# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of one machine from a control plane, in Cluster API's order.

The order is the Machine controller's; the control plane stays.

Source: docs/reference/cluster_api.md, "Removing a machine".
"""

from __future__ import annotations

import time
import typing as t

from ....module_utils.common import settings
from ....module_utils.common.redact import redact
from ....module_utils.common.values import condition_of, now_rfc3339
from ...base_classes.control_plane_action import Waiting
from ...calls.failure import ControlPlaneFailure
from ...calls.machine_connection import Answer
from ...decision import terms
from ...decision.removal import hooks
from ...objects import kinds
from ...objects.conditions import DELETING, best_to_ask, set_condition
from ...objects.etcd_member import cluster_argument
from ...observe.observation import Caller
from ...records.cluster_objects import MACHINE, ClusterObjects, Object, delete_finally
from ...records.journal_entries import note_snapshot
from ...store.base import kind_ref_of
from .. import snapshot_before_change
from ..nodes import node_of_machine
from . import deletion_times

# Fields of a Machine's status.deletion: by the hooks that are waited for, and with node_drain's option of the same time. The node's
# clock tells the latter, because it counts the bounds from them.
_HOOK_TIMES = {
    kinds.HOOK_PRE_DRAIN: "waitForPreDrainHookStartTime",
    kinds.HOOK_PRE_TERMINATE: "waitForPreTerminateHookStartTime",
}
_DRAIN_TIMES = {"nodeDrainStartTime": "started_at", "waitForNodeVolumeDetachStartTime": "volumes_started_at"}


class Action(t.Protocol):
    """Interface of :class:`ControlPlaneAction` that a removal needs."""

    def check_lock(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where this run doesn't hold the lock any more."""

    def progress(self, cluster: str, text: str) -> None:
        """Show a progress line to the user."""

    def waiting(self, cluster: str, bound_seconds: float) -> Waiting:
        """Start a bounded wait."""


class Removal:
    """Removal of a machine, an orphaned etcd member or an orphaned Node.

    Args:
        action: the running action, which shows progress, bounds waits and checks the lock.
        caller: reaches the machines.
        objects: the cluster's objects, just read.
        arguments: the action's arguments (see the module machine_removal).
        clock: seconds that only ever grow, for how old what it was decided on is.
    """

    def __init__(
        self,
        action: Action,
        caller: Caller,
        objects: ClusterObjects,
        arguments: t.Mapping[str, t.Any],
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._action = action
        self._caller = caller
        self._objects = objects
        self._arguments = arguments
        self._clock = clock
        self._name: str = arguments["name"] or ""
        self._machine: Object = objects.machine(self._name) or {}
        self._worker = bool(arguments.get("worker"))
        self._done: list[str] = []

    def take_out(self) -> dict[str, t.Any]:
        """Prepare a marked machine for deletion by its provider.

        Returns whether it is ready for that.

        Not ready means that a deletion hook holds it, which the next decision waits for, or that what it was decided on
        is to be observed again: its drain took long, or the whole cluster was marked for deletion meanwhile. A worker of
        such a cluster is ready at once, and so is a machine beside which there is no other and that never carried the
        control plane.
        """
        if not self._machine.get("metadata", {}).get("deletionTimestamp"):
            raise ControlPlaneFailure(
                f"machine {self._name} is not marked for deletion; nothing was done. Mark it first: kubeadm.control_plane.machine with state=absent."
            )
        if self._objects.going:
            # The deletion decides about the control plane's machines together: one alone would leave a dead voter to the others.
            if not self._worker:
                self._done.append("the cluster was marked for deletion meanwhile: it is decided again")
            return {**self._result(self._worker), "node": ""}
        if not self._others():
            self._require_nothing_to_lose()
            return {**self._result(True), "node": ""}
        if self._held(kinds.HOOK_PRE_DRAIN, not hooks.drained(self._machine)):
            return {**self._result(False), "node": self._node()}
        begun = self._clock()
        self._move_leadership()
        if not self._drain():
            return {**self._result(False), "node": self._node()}
        if self._clock() - begun >= settings.EVIDENCE_SECONDS:
            # Upstream checks the others' components again, too
            # (docs/reference/cluster_api.md, "Removing etcd members", step 2): the next decision does.
            self._done.append("its drain took a while: what it was decided on is observed again")
            return {**self._result(False), "node": self._node()}
        if self._held(kinds.HOOK_PRE_TERMINATE, self._stage() != terms.WAITING_FOR_INFRASTRUCTURE):
            return {**self._result(False), "node": self._node()}
        self.remove_member()
        # What follows, the machine's end, asks nobody: a run that stood still during the drain ends here.
        self._action.check_lock(self._arguments)
        self._say(terms.WAITING_FOR_INFRASTRUCTURE, "")
        return {**self._result(True), "node": self._node()}

    def _require_nothing_to_lose(self) -> None:
        """Refuse to remove the only machine known to carry the control plane."""
        state = ((self._machine.get("status") or {}).get("bootstrap") or {}).get("state")
        if state == "Succeeded" or (self._node() and not state):
            raise ControlPlaneFailure(
                f"machine {self._name} is the only one in the store that carries the control plane of {self._objects.title}: it was not "
                "removed, and nothing was done. Where the store has lost the other Machines, put them back; to end the cluster, run the playbook delete."
            )

    def remove_member(self) -> dict[str, t.Any]:
        """Remove the etcd member after a verified snapshot; nothing without a member.

        The snapshot is taken on a machine that stays.
        """
        identity = self._arguments["member_id"]
        if not identity:
            return self._result(True)
        self._snapshot()
        self._action.check_lock(self._arguments)
        self._progress(f"etcd member {identity} is removed")
        # A refusal is an answer: asking the next machine until one agrees would make the check worthless.
        answer = self._through("etcd_member", {**self._member(), "state": "absent"}, refusal_ends=True)
        self._tell(answer)
        return self._result(True)

    def finish(self) -> dict[str, t.Any]:
        """Delete a removed machine's Node and objects, the InfraMachine last.

        Its infrastructure is gone already.
        """
        node = node_of_machine.possible_name(self._objects, self._machine, self._worker) if self._machine else ""
        if node and (self._worker or not self._objects.going) and self._others():
            self.delete_node(
                node,
                deletion_times.bound(self._machine, "nodeDeletionTimeoutSeconds", settings.NODE_DELETION_SECONDS),
                machine_gone=bool(self._node()),
            )
        config = self._objects.kubeadm_configs.get(self._name)
        infrastructure = self._objects.infrastructure_machines.get(self._name)
        own = [
            (kind_ref_of(each), str(each["metadata"]["name"])) for each in (config, infrastructure) if each is not None
        ]
        store, namespace = self._objects.store, self._objects.namespace
        gone = [each for each in [(MACHINE, self._name), *own] if delete_finally(store, each[0], namespace, each[1])]
        return {"changed": bool(gone), "ready": True, "msg": "; ".join(self._done) or f"machine {self._name} is gone"}

    def delete_node(self, node: str, seconds: int, machine_gone: bool = False) -> dict[str, t.Any]:
        """Delete a Node through a remaining machine, within `seconds`.

        0 seconds: within the run's own bound.

        `machine_gone`: its provider has deleted the machine, so that what its components held can be taken from them.
        """
        waiting = self._action.waiting(self._objects.name, seconds or self._arguments["timeout"])
        while True:
            call = {"name": node, "state": "absent", "machine_gone": machine_gone}
            if self._machine:
                call["identity"] = node_of_machine.identity(self._objects, self._machine, self._worker, with_uid=True)
            answer = self._ask_each("workload_node", call)
            if isinstance(answer, Answer):
                self._tell(answer)
                return self._result(True)
            if not waiting.again(f"Node {node} is not deleted yet: {answer}"):
                break
        text = f"Node {node} was not deleted within {waiting.elapsed:.0f} s ({answer})"
        if not seconds or not self._name:
            raise ControlPlaneFailure(f"{text}. Everything else was left as it is; run reconcile again.")
        # No run deletes a worker's Node that has no Machine: it may be one that was joined by hand.
        left = f"kubectl delete node {node}" if self._worker else "reconcile deletes the Node later"
        self._progress(f"{text}; the machine goes without: {left}")
        return self._result(True)

    def _node(self) -> str:
        return node_of_machine.recorded_name(self._machine)

    def _others(self, newest_first: bool = False) -> list[str]:
        """Return the other machines to ask, in order of preference.

        Those that carry the control plane; ready ones first, those that are being deleted last.
        """
        machines = [each for each in self._objects.bootstrapped_machines() if each["metadata"]["name"] != self._name]
        if newest_first:
            machines.reverse()
        return [str(each["metadata"]["name"]) for each in best_to_ask(machines)]

    def _stage(self) -> str:
        return str(condition_of(self._machine, DELETING).get("reason", ""))

    def _say(self, reason: str, message: str, times: t.Optional[t.Mapping[str, str]] = None, uid: str = "") -> None:
        """Record the deletion's stage, its Node and starts, which stay as recorded."""

        def record(stored: Object) -> None:
            set_condition(stored, DELETING, "True", reason, message, now_rfc3339())
            if times:
                stored["status"]["deletion"] = {**times, **deletion_times.begun(stored)}
            if uid:
                noted = {node_of_machine.NODE_UID_ANNOTATION: uid}
                stored["metadata"]["annotations"] = {**(stored["metadata"].get("annotations") or {}), **noted}

        self._machine = self._objects.store.modify(MACHINE, self._objects.namespace, self._name, record)

    def _held(self, prefix: str, applies: bool) -> bool:
        found = hooks.hooks(self._machine, prefix) if applies else []
        if found:
            waiting_since = {_HOOK_TIMES[prefix]: now_rfc3339()}
            self._say(hooks.WAITING[prefix], f"Waiting for hooks: {', '.join(found)}", waiting_since)
            self._done.append(f"its deletion is held by {', '.join(found)}")
        return bool(found)

    def _move_leadership(self) -> None:
        identity, successors = self._arguments["member_id"], self._arguments["leadership"]
        if not identity or not successors:
            return
        nodes = {
            str(each["metadata"]["name"]): str(each.get("status", {}).get("nodeRef", {}).get("name") or "")
            for each in self._objects.machines
        }
        to = [nodes.get(name) or name for name in successors]
        # A leader that nobody can ask keeps its machine no longer: the others elect one when its member is removed.
        self._tell(self._through("etcd_leader", {**self._member(), "to": to}, accepted=("LeaderSilent",)))

    def _member(self) -> dict[str, str]:
        """Return the IDs of the member and, where recorded, of its cluster."""
        return {"member_id": self._arguments["member_id"], **cluster_argument(self._objects.control_plane)}

    def _drain(self) -> bool:
        """Drain the Node; return whether that has ended.

        A worker's may continue beside other work.
        """
        node = self._node()
        if self._worker:
            node = node_of_machine.possible_name(self._objects, self._machine, True)
        if hooks.drained(self._machine):
            return True
        drains = not kinds.is_flagged(self._machine, kinds.ANNOTATION_EXCLUDE_NODE_DRAINING)
        detaches = not kinds.is_flagged(self._machine, kinds.ANNOTATION_EXCLUDE_VOLUME_DETACH)
        if node and (drains or detaches) and not self._drain_node(node, drains, detaches):
            return False
        self._say(terms.WAITING_FOR_PRE_TERMINATE, "")
        return True

    def _drain_node(self, node: str, drains: bool, detaches: bool) -> bool:
        # A worker's Pods are its users': as in Cluster API no bound ends their protection, unless one is set.
        worker = self._worker
        drain = deletion_times.bound(self._machine, "nodeDrainTimeoutSeconds", 0 if worker else settings.DRAIN_SECONDS)
        volumes = deletion_times.bound(
            self._machine, "nodeVolumeDetachTimeoutSeconds", 0 if worker else settings.VOLUME_DETACH_SECONDS
        )
        call = {
            "name": node,
            "skip_drain": not drains,
            "timeout": drain,
            "wait_for_volumes": detaches,
            "volumes_timeout": volumes,
            "identity": node_of_machine.identity(self._objects, self._machine, self._worker, with_uid=False),
            "wait": 0 if worker else settings.WAITING_CALL_SECONDS,
        }
        self._say(terms.DRAINING, f"Draining Node {node}")
        self._progress(f"Node {node} is cordoned, and its pods are asked to go")
        # A timeout of 0 is for ever to Cluster API; a run ends, and the next one goes on waiting.
        bound = drain + volumes + 60 if drain and volumes else self._arguments["timeout"]
        waiting = self._action.waiting(self._objects.name, bound)
        while True:
            # Another machine may have to be asked than before: the bounds are counted from the first one's starts.
            begun = deletion_times.begun(self._machine)
            starts = {option: begun[field] for field, option in _DRAIN_TIMES.items() if field in begun}
            answer = self._through("node_drain", {**call, **starts})
            said = redact(str(answer.result.get("message", "")))
            times = {
                field: deletion_times.not_before_deletion(self._machine, answer.result.get(option))
                for field, option in _DRAIN_TIMES.items()
                if field not in begun and (drains or field != "nodeDrainStartTime")
            }
            times = {field: value for field, value in times.items() if value}
            uid = str(answer.result.get("uid") or "")
            if times or uid:
                self._say(terms.DRAINING, said, times, uid)
            if answer.result.get("state") != "Running":
                break
            if worker:
                self._done.append(said)
                return False
            if not waiting.again(said, pause_seconds=0.0):
                self._explain("FailedDrainNode", said, warning=True)
                raise ControlPlaneFailure(
                    f"machine {self._name}: its Node {node} was not drained within {waiting.elapsed:.0f} s: {said}. It is cordoned and stays so, "
                    "nothing was removed. Free what holds it (kubectl get pdb -A, kubectl get volumeattachments), and run reconcile again."
                )
        late = answer.result.get("state") == "TimedOut"
        if late:
            self._progress(f"its bound is over and the removal continues without: {said}")
        self._explain("FailedDrainNode" if late else "SuccessfulDrainNode", said, warning=late)
        self._done.append(said)
        return True

    def _explain(self, reason: str, said: str, warning: bool = False) -> None:
        self._objects.store.record(self._machine, reason, said, warning)

    def _snapshot(self) -> None:
        if snapshot_before_change.is_waived(self._objects):
            self._done.append(f"no etcd snapshot was taken ({kinds.ANNOTATION_SKIP_ETCD_SNAPSHOT} is set)")
            return
        self._progress("an etcd snapshot is taken and verified")
        call = {
            **snapshot_before_change.call_of(self._objects),
            # Each try's own snapshot would push those of other removals out of the few that are kept; another
            # removal's will not do, however young: it lacks what was written before this one.
            "purpose": f"removal of etcd member {self._arguments['member_id']}",
            "max_age": settings.SNAPSHOT_AGE_SECONDS,
        }
        # A snapshot goes with its machine: the oldest that stays is the one that a rollout takes out next.
        answer = self._ask_each(snapshot_before_change.MODULE, call, newest_first=True)
        if not isinstance(answer, Answer):
            without = f"none of {self._objects.title}'s members is removed without one. Nothing was removed."
            raise snapshot_before_change.not_taken(answer, without)
        if answer.result.get("changed"):
            note_snapshot(self._objects, answer.result.get("path"))
        self._tell(answer)

    def _through(
        self, module: str, call: dict[str, t.Any], refusal_ends: bool = False, accepted: t.Collection[str] = ()
    ) -> Answer:
        answer = self._ask_each(module, call, refusal_ends, accepted=accepted)
        if isinstance(answer, Answer):
            return answer
        what = f"machine {self._name}" if self._name else f"etcd member {self._arguments['member_id']}"
        raise ControlPlaneFailure(
            f"{what} was not removed from the control plane ({module}): {answer}. Its infrastructure was left as it is. Run again, once that is mended."
        )

    def _ask_each(
        self,
        module: str,
        call: dict[str, t.Any],
        refusal_ends: bool = False,
        newest_first: bool = False,
        accepted: t.Collection[str] = (),
    ) -> t.Union[Answer, str]:
        """Return the first answer of a remaining machine, or its failures.

        Failures are in words.

        Refusals for ``accepted`` reasons are answers.
        """
        if self._arguments["fencing"] is not None:
            call = dict(call, fencing=self._arguments["fencing"])
        failures = []
        for other in self._others(newest_first):
            answer = self._caller.call(self._objects.reach(other), module, call)
            if not answer.failed or answer.result.get("reason") in accepted:
                return answer
            failures.append(f"{other}: {redact(answer.message)}")
            if answer.reached and refusal_ends:
                break
        return "; ".join(failures) or "no other machine carries a control plane"

    def _tell(self, answer: Answer) -> None:
        self._done.append(redact(str(answer.result.get("msg", ""))))

    def _progress(self, text: str) -> None:
        about = f"machine {self._name}: " if self._name else ""
        self._action.progress(self._objects.name, about + text)

    def _result(self, ready: bool) -> dict[str, t.Any]:
        return {"changed": True, "ready": ready, "msg": "; ".join(each for each in self._done if each)}
