# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Context of a Task's command: node, frozen plan, and cluster access."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import time
import typing as t
from dataclasses import dataclass

from ansible.plugins.loader import action_loader

from ....module_utils.common import settings
from ....module_utils.common.legible import block
from ....module_utils.common.values import now_rfc3339
from ....module_utils.workload_api.compare_and_swap import Read
from ...base_classes.control_plane_action import ControlPlaneAction
from ...calls.machine_connection import Answer, Machine
from ...objects import kinds, origin
from ...observe.observation import observe
from ...records.cluster_objects import CLUSTER_LABEL, SECRET, ClusterObjects, Object
from ...store.base import NotFound
from ...workload import swap
from ...workload.swap import Planner
from ...workload.writes import Plan, WorkloadError
from .. import freeze
from ..planner_types import NodeFacts
from .records import Secrets, TaskRecord

# A command: it may have run before, whole or in part, and does what is left.
Run = t.Callable[["TaskContext", t.Mapping[str, t.Any]], None]

# How node_observe is asked whether a node is well now: whoever waits for that asks again anyway.
QUICK_LOOK: dict[str, t.Any] = {"look_again": False, "timeout": 2.0}


class CommandFailure(Exception):
    """Failure of a command, with its cause and remedy in words.

    Its Action pauses.
    """


class NotReached(CommandFailure):
    """Failure to reach the node; an operation started there may continue."""


@dataclass(frozen=True)
class Output:
    """Output and exit status of a program on a node.

    ``head`` and ``tail`` are at most 16 KiB each, without secrets; ``tail`` is "" where head has it all.
    """

    argv: tuple[str, ...]
    rc: int
    start_time: str
    head: str
    tail: str
    size: int
    sha256: str
    log_path: str

    @property
    def text(self) -> str:
        """Text of the output, as far as it is kept."""
        left_out = self.size > len(self.head.encode()) + len(self.tail.encode())
        return self.head + ("\n[...]\n" if left_out and self.tail else "") + self.tail


class TaskContext:
    """Context of one command of a Task, on one node.

    Attributes:
        cluster, objects: the cluster's name and its objects in the store.
        action: the Action, or the detached TaskGroup or Task. task: the Task.
        index: the command's place in the Task, from 0.
        node: the Task's Node, as the frozen plan has it. nodes: all Nodes of the frozen plan, by name.
        plan_facts: the facts of the cluster in the frozen plan: kubernetesVersion, clusterConfiguration, externalEtcd,
            extra, ...
        fencing: the run's fencing number; every irreversible call on a node gets it.
        plugin, arguments: the Ansible action that runs the Task, and its arguments.
    """

    def __init__(
        self,
        plugin: ControlPlaneAction,
        arguments: dict[str, t.Any],
        objects: ClusterObjects,
        action: Object,
        task: Object,
        index: int,
        secrets: t.Optional[Secrets] = None,
    ) -> None:
        self.plugin = plugin
        self.arguments = arguments
        self.objects = objects
        self.cluster = objects.name
        self.action = action
        self.task = task
        self.index = index
        plan = action["status"]["plan"]
        self.plan_facts: t.Mapping[str, t.Any] = plan["facts"]
        self.nodes: tuple[NodeFacts, ...] = freeze.nodes_of(plan)
        self.node = self.node_named(str(task["spec"]["nodeName"]))
        self.fencing: t.Optional[int] = arguments.get("fencing")
        self._secrets = secrets or Secrets()
        self._record = TaskRecord(objects.store, objects.namespace, str(task["metadata"]["name"]), self._secrets)
        self._caller = plugin.machine_caller(arguments, objects)

    def node_named(self, name: str) -> NodeFacts:
        """Return the Node of a name in the frozen plan.

        Raises CommandFailure where the plan has none.
        """
        found = next((each for each in self.nodes if each.name == name), None)
        if found is None:
            raise CommandFailure(f"the frozen plan has no Node {name}. Abort this Action and start it again.")
        return found

    def now(self) -> str:
        """Return the time, RFC 3339 UTC."""
        return now_rfc3339()

    def note(self, text: str) -> None:
        """Keep a text in the Task's record ("already ...") and show it.

        Lines after its first are shown below it, further in.
        """
        self._record.note(self.index, text)
        first, *rest = text.split("\n")
        self.progress(first)
        if rest:
            self.plugin.display.display(
                block(f"    {each}" for each in self._secrets.remove("\n".join(rest)).split("\n"))
            )

    def progress(self, text: str) -> None:
        """Show a line of progress; nothing is kept."""
        self.plugin.progress(self.cluster, self._secrets.remove(f"{self.node.name}: {text}"))

    def call(self, module: str, arguments: t.Mapping[str, t.Any], node: t.Optional[str] = None) -> dict[str, t.Any]:
        """Run a module of the collection on this Task's node.

        ``node`` is the name of another Node to run it on. The machine-id travels along. What changes a node
        irreversibly takes ``fencing`` among its arguments: give it ``self.fencing``.

        Raises:
            NotReached: the node was not reached. CommandFailure: the module failed.
        """
        name = node or self.node.name
        answer = self._asked(name, module, dict(arguments))
        if answer.failed:
            what, kind = (f"{module}: ", CommandFailure) if answer.reached else ("", NotReached)
            raise kind(self._secrets.remove(f"Node {name}: {what}{answer.message}"))
        return answer.result

    def module(self, name: str, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Run any Ansible module, by its full name, on this Task's node.

        The node is first checked to be the right machine.

        Raises:
            CommandFailure: the node was not reached, the module failed, or it needs an action plugin, which only a role
            can run.
        """
        if not name.startswith("kubeadm.control_plane."):
            if action_loader.has_plugin(name):
                raise CommandFailure(f"{name} has an action plugin, which runs on the controller: use it in a role.")
            self.call("node_command", {"name": "guard", "fencing": self.fencing})
        return self.call(name, arguments)

    def keep_output(self, output: t.Mapping[str, t.Any]) -> None:
        """Keep the output of a run on the controller in the record."""
        self._record.output(self.index, output)

    def hide(self, secrets: t.Mapping[str, bytes]) -> None:
        """Remove these values from all records from now on."""
        self._secrets.add(secrets)

    def connection_variables(self, node: str) -> dict[str, t.Any]:
        """Return the variables that reach a Node's machine."""
        return self._caller.variables(self.machine(node))

    def run(
        self,
        argv: t.Sequence[str],
        step: str = "",
        timeout_seconds: int = 600,
        node: t.Optional[str] = None,
        ok: t.Sequence[int] = (0,),
    ) -> Output:
        """Run a program on the node to its end, without a shell.

        It is kept in the Task's record. It runs as a transient unit named after Task, command, attempt, step and
        program: after a kill it is found again, awaited, and its result taken; it is never started twice. A command
        that runs several programs names each by a step of its own. The user's ``retry`` starts a new attempt, which
        takes over a program of the attempt before that still runs, or that ended unobserved.

        Raises:
            CommandFailure: not reached, not ended within the time, or an exit status that isn't in ``ok``.
        """
        name = node or self.node.name
        words = [str(each) for each in argv]
        unit = self._unit(name, words, step)
        said = step or " ".join(words)[:60]
        call = {"name": unit, "argv": words, "timeout": timeout_seconds, "wait": settings.FIRST_CALL_SECONDS}
        # What an Action left running that was aborted, or a command that was skipped, would be worked against.
        call.update(fencing=self.fencing, alone=True)
        waiting = self.plugin.waiting(self.cluster, timeout_seconds + settings.SILENCE_SECONDS)
        heard = None
        while True:
            answer = self._asked(name, "node_command", call)
            if answer.reached and answer.failed:
                raise CommandFailure(self._secrets.remove(f"Node {name}: {answer.message}"))
            if answer.reached:
                heard = time.monotonic()
                if answer.result["state"] != "Running":
                    break
                call["wait"] = settings.WAITING_CALL_SECONDS
            elif heard is None or time.monotonic() - heard > settings.SILENCE_SECONDS:
                self._record.unobserved(self.index, unit)
                begun = "what was begun there" if heard else "if this was begun there, it"
                raise CommandFailure(f"Node {name}: {answer.message} ({begun} continues; retry takes its result).")
            if not waiting.again(f"{name}: {said}", 0.2 if answer.reached else 2.0):
                self._record.unobserved(self.index, unit)
                raise CommandFailure(
                    f"Node {name}: {said} has not ended within {timeout_seconds} s. Look at it, then retry."
                )
        return self._collected(name, words, step, answer.result, timeout_seconds, ok)

    def _unit(self, node: str, words: t.Sequence[str], step: str) -> str:
        records = (self.task.get("status") or {}).get("commands") or []
        record = records[self.index] if self.index < len(records) else {}
        attempt = int(record.get("attempt") or 1)
        earlier = self._name(words, step, attempt - 1)
        if attempt > 1:
            before = self._asked(node, "node_command", {"name": earlier})
            state = "" if before.failed else before.result["state"]
            # What ended while nobody could ask was not seen to fail.
            seen = {each.get("logPath") for each in record.get("outputs") or []}
            if state == "Running" or (state == "Ended" and before.result["log_path"] not in seen):
                return earlier
        return self._name(words, step, attempt)

    def _name(self, words: t.Sequence[str], step: str, attempt: int) -> str:
        metadata = self.task["metadata"]
        # The uid: a later Action of the same name would otherwise find this one's programs.
        key = json.dumps([origin.uid(self.task) or None, self.index, step, attempt, list(words)])
        shown = re.sub(r"[^A-Za-z0-9_.-]", "-", step or words[0].rpartition("/")[2]).strip("-.")[:40] or "program"
        return f"{metadata['name']}-{self.index + 1}-{shown}-{attempt}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"

    def _collected(
        self,
        name: str,
        words: t.Sequence[str],
        step: str,
        result: t.Mapping[str, t.Any],
        timeout_seconds: int,
        ok: t.Sequence[int],
    ) -> Output:
        rc = result["exit_status"]
        kept = {
            "argv": list(words),
            "exitCode": rc,
            "startTime": result["started_at"],
            "endTime": result["ended_at"],
            "head": result["head"],
            "tail": result["tail"],
            "size": result["size"],
            "sha256": result["sha256"],
            "logPath": result["log_path"],
            "node": name,
            **({"step": step} if step else {}),
        }
        self._record.output(self.index, kept)
        program = words[0].rpartition("/")[2]
        if rc is None:
            raise CommandFailure(
                f"Node {name}: {program} was interrupted: {result['said']}. How far it came is not known. Look, then retry."
            )
        output = Output(
            argv=tuple(words),
            rc=int(rc),
            start_time=str(result["started_at"]),
            head=self._secrets.remove(str(result["head"])),
            tail=self._secrets.remove(str(result["tail"])),
            size=int(result["size"]),
            sha256=str(result["sha256"]),
            log_path=str(result["log_path"]),
        )
        if output.rc not in ok:
            shown = self._secrets.remove(" ".join(words))
            why = f"was ended after {timeout_seconds} s" if output.rc == 124 else f"ended with exit status {output.rc}"
            last = "\n".join(output.text.strip().splitlines()[-5:])
            raise CommandFailure(f"Node {name}: {shown} {why}" + (f": {last}" if last else "."))
        return output

    def workload(self, reads: t.Sequence[Read], planner: Planner) -> dict[str, t.Any]:
        """Read the workload cluster's objects and write the planner's plan.

        On a Node that answers, by compare and swap. Returns the plan's facts, with ``changed``, ``msg`` and ``warnings``.

        Raises:
            CommandFailure: no Node answers, or another client keeps writing there.
        """
        # The others first: on this Task's own node something may be about to restart.
        nodes = [each for each in self.nodes if each.control_plane]
        names = [each.name for each in sorted(nodes, key=lambda each: each.name == self.node.name)]
        plans: list[Plan] = []

        def ask(node: str, call: dict[str, t.Any]) -> Answer:
            return self._asked(node, swap.MODULE, {**call, "fencing": self.fencing})

        try:
            changed = swap.converge(swap.through(ask, names), reads, planner, self.check_lock, plans.append)
        except (swap.SwapFailure, WorkloadError) as error:
            raise CommandFailure(self._secrets.remove(str(error))) from error
        last = plans[-1]
        return {**last.facts, "msg": last.message, "warnings": list(last.warnings), "changed": changed}

    def observe(self) -> dict[str, t.Any]:
        """Return the ``workload`` part of a new snapshot of the cluster.

        It has etcd, pods, nodes and the components' health.
        """
        found: dict[str, t.Any] = observe(self.objects, self._caller, now_rfc3339(), look_again=False)["workload"]
        return found

    def check_lock(self) -> None:
        """Check the cluster's lock before anything irreversible.

        Raises the store's LostLock, which ends the run, where this run has lost it.
        """
        self.plugin.check_lock(self.arguments)

    def secret(self, name: str) -> t.Optional[dict[str, bytes]]:
        """Return a Secret of the store, decoded; None where there is none.

        ``name`` is its whole name. Its values are removed from all records from now on.
        """
        return self._secrets.read(self.objects.store, self.objects.namespace, name)

    def put_secret(self, name: str, data: t.Mapping[str, bytes]) -> None:
        """Write a Secret whole and remove its values from all records."""
        self._secrets.add(data)
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}

        def change(stored: Object) -> None:
            stored["data"] = encoded

        try:
            self.objects.store.modify(SECRET, self.objects.namespace, name, change)
        except NotFound:
            metadata = {"name": name, "namespace": self.objects.namespace, "labels": {CLUSTER_LABEL: self.cluster}}
            made = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": metadata,
                "type": kinds.SECRET_TYPE,
                "data": encoded,
            }
            self.objects.store.create(made)

    def forget_secret(self, name: str) -> None:
        """Delete a Secret; a missing one is no error."""
        if self.objects.store.get(SECRET, self.objects.namespace, name) is not None:
            self.objects.store.delete(SECRET, self.objects.namespace, name)

    def machine(self, node: str) -> Machine:
        """Return a Node's machine and how it is reached."""
        return reach(self.objects, self.node_named(node))

    def _asked(self, node: str, module: str, arguments: dict[str, t.Any]) -> Answer:
        return self._caller.call(self.machine(node), module, {k: v for k, v in arguments.items() if v is not None})


def reach(objects: ClusterObjects, node: NodeFacts) -> Machine:
    """Return a Node's machine and how it is reached.

    It is reached as the store records it, or as a host of the inventory.
    """
    if node.machine:
        known = objects.reach(node.machine)
        return dataclasses.replace(known, machine_id=known.machine_id or node.machine_id or None)
    connection = {"inventoryHost": node.inventory_host} if node.inventory_host else {}
    return Machine(node.name, node.machine_id or None, connection)
