# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Task of a frozen plan and a store of its own, whose nodes answer from Python: for tests of what a command asks of them."""

from __future__ import annotations

import contextlib
import time
import typing as t
from pathlib import Path

from builders import Builder
from observed import objects_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import ClusterFacts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import registry as operator_commands
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import TaskContext
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import Object

# (Node, module, arguments) -> the module's result; None: the node is not reached.
Node = t.Callable[[str, str, Object], t.Optional[Object]]
NOW = "2026-11-21T19:00:00Z"


class Patience:
    """A wait that may look again so often, and takes no time but where the nodes are real."""

    elapsed = 0.0

    def __init__(self, looks: int, real: bool) -> None:
        self._left = looks
        self._real = real

    def again(self, text: str, pause_seconds: float = 1.0) -> bool:
        """Whether there is patience left."""
        del text
        self._left -= 1
        if self._real:
            time.sleep(pause_seconds)
        return self._left >= 0


class StandInAction:
    """Stands in for the Ansible action that runs a Task, and for its nodes. ``calls`` are (Node, module, arguments) in their order."""

    def __init__(self, node: Node, looks: int = 3, real: bool = False) -> None:
        self._node = node
        self._looks = looks
        self._real = real
        self.calls: list[tuple[str, str, Object]] = []
        self.shown: list[str] = []
        self.locks = 0
        self.reached_by: Object = {}

    def machine_caller(self, arguments: Object, cluster_objects: t.Any) -> StandInAction:
        """What reaches the nodes."""
        del arguments, cluster_objects
        return self

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer as a module on that machine would."""
        self.calls.append((machine.name, module, arguments))
        result = self._node(machine.name, module, arguments)
        if result is None:
            return Answer(False, {"msg": f"machine {machine.name} was not reached: timed out"})
        return Answer(True, result)

    def variables(self, machine: Machine) -> Object:
        """The connection variables of that machine."""
        del machine
        return self.reached_by

    def progress(self, cluster: str, text: str) -> None:
        """A line for people."""
        del cluster
        self.shown.append(text)

    def waiting(self, cluster: str, bound_seconds: float) -> Patience:
        """A wait."""
        del cluster, bound_seconds
        return Patience(self._looks, self._real)

    def check_lock(self, arguments: Object) -> None:
        """The run holds the lock."""
        del arguments
        self.locks += 1

    def modules(self) -> list[tuple[str, str]]:
        """Who was asked which module, in order."""
        return [(name, module) for name, module, _arguments in self.calls]

    def programs(self) -> list[list[str]]:
        """The programs that were started, once each."""
        found: list[list[str]] = []
        for _name, module, arguments in self.calls:
            if module == "node_command" and arguments.get("argv") and arguments["argv"] not in found:
                found.append(arguments["argv"])
        return found


def ended(rc: int = 0, text: str = "") -> Object:
    """What node_command returns for a program that has ended."""
    times = {"started_at": NOW, "ended_at": NOW}
    return {
        "state": "Ended",
        "exit_status": rc,
        "head": text,
        "tail": "",
        "size": len(text),
        "sha256": "0",
        "log_path": "/log",
        **times,
    }


class CommandRun:
    """One command of a Task on one Node of a cluster."""

    def __init__(
        self, folder: Path, facts: ClusterFacts, node: str, descriptor: Object, action: StandInAction, attempt: int = 1
    ) -> None:
        self.action = action
        root: Object = {
            "apiVersion": actions.API_VERSION,
            "kind": actions.ACTION,
            "metadata": {"name": "up", "namespace": "default", "uid": "u-1"},
            "spec": {"custom": {"workflow": []}},
        }
        command, self._parameters = catalogue.split(descriptor)
        self._run = operator_commands.REGISTRY[command.name]
        plan = {"nodes": [freeze._node_record(each) for each in facts.nodes], "facts": _facts(facts)}
        root["status"] = {"plan": plan}
        self._task: Object = {
            "apiVersion": actions.API_VERSION,
            "kind": actions.TASK,
            "metadata": {"name": f"up-01-{node}", "namespace": "default"},
            "spec": {"nodeName": node, "commands": [descriptor]},
            "status": {"currentCommand": 1, "commands": [{"attempt": attempt}]},
        }
        self.objects = objects_of(Builder(1, "v1.20.2"), folder)
        self.store = self.objects.store
        with contextlib.suppress(FileExistsError):
            self._task = self.store.create(self._task)
        arguments = {"fencing": 7}
        self.context = TaskContext(t.cast(t.Any, action), arguments, self.objects, root, self._task, 0)

    def run(self) -> None:
        """Run it."""
        self._run(self.context, self._parameters)

    def notes(self) -> list[str]:
        """What the Task keeps of it in words."""
        task = self.store.get(actions.kind_ref(actions.TASK), "default", self._task["metadata"]["name"])
        assert task is not None
        return list(task["status"]["commands"][0].get("notes") or [])


def _facts(facts: ClusterFacts) -> Object:
    return {
        "kubernetesVersion": facts.kubernetes_version,
        "clusterConfiguration": facts.cluster_configuration,
        "kubeletConfiguration": facts.kubelet_configuration,
        "kubeProxyConfiguration": facts.kube_proxy_configuration,
        "apiAnswers": facts.api_answers,
        "externalEtcd": facts.external_etcd,
        "extra": dict(facts.extra),
    }
