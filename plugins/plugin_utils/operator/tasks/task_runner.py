# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runner of Tasks: commands in their order, status saved after each.

Several Tasks run at a time within a disruption budget.
"""

from __future__ import annotations

import os
import sys
import time
import typing as t

from ...base_classes.control_plane_action import ControlPlaneAction
from ...calls.failure import ControlPlaneFailure
from ...objects import actions
from ...records.cluster_objects import ClusterObjects, Object
from ...store.base import StoreError
from ...store.journal import Journal
from ...store.lock import file_lock
from .. import catalogue, flow, phases
from . import registry as operator_commands
from .context import CommandFailure, TaskContext
from .progress import Executions
from .records import TASK, Secrets, TaskRecord, next_command

LOST_LOCK = 3
POLL_SECONDS = 0.1
_BROKEN = 4


class TaskRunner:
    """Runner of an Action's Tasks for an Ansible action."""

    def __init__(
        self, plugin: ControlPlaneAction, arguments: dict[str, t.Any], cluster_objects: ClusterObjects, root: Object
    ) -> None:
        self._plugin = plugin
        self._arguments = arguments
        self._objects = cluster_objects
        self._root = root
        self._executions = Executions(cluster_objects.store, cluster_objects.namespace, cluster_objects.name)

    def run(self, names: t.Sequence[str]) -> list[str]:
        """Run these Tasks and return the names of all that were run.

        Other Tasks of the same group start beside them as far as the disruption budget allows.
        """
        execution = self._executions.load(self._root)
        group = flow.current_group(execution)
        if group is None or (len(names) == 1 and int(group["maxUnavailable"]) == 1):
            for name in names:
                self.run_one(name)
            return list(names)
        return self._beside_each_other(list(names), group)

    def _beside_each_other(self, waiting: list[str], group: t.Mapping[str, t.Any]) -> list[str]:
        """Run each Task in a process of its own; return all names.

        Each process writes the store by itself, so that no Task waits for another.
        """
        busy: dict[int, str] = {}
        ran: list[str] = []
        codes: dict[str, int] = {}
        while waiting or busy:
            for name in waiting:
                busy[self._forked(name)] = name
                ran.append(name)
            waiting = []
            ended = [(pid, status) for pid, status in (os.waitpid(each, os.WNOHANG) for each in busy) if pid]
            for pid, status in ended:
                codes[busy.pop(pid)] = os.waitstatus_to_exitcode(status)
            if not ended:
                time.sleep(POLL_SECONDS)
            elif not any(codes.values()):
                waiting = self._more(group, list(busy.values()))
        lost = [name for name, code in codes.items() if code == LOST_LOCK]
        if lost:
            self._plugin.check_lock(self._arguments)
        broken = [name for name, code in codes.items() if code not in (0, LOST_LOCK)]
        if broken:
            raise ControlPlaneFailure(
                f"the process that ran {', '.join(broken)} ended unexpectedly. What it started on its node continues there; run this again, "
                "which takes its result."
            )
        return ran

    def _more(self, group: t.Mapping[str, t.Any], busy: list[str]) -> list[str]:
        execution = self._executions.load(self._root)
        step = flow.startable(execution, group, busy)
        if step is None:
            return []
        if step.kind == flow.CREATE_TASKS:
            return [str(each["metadata"]["name"]) for each in self._executions.create_tasks(execution, step)]
        return list(step.tasks)

    def _forked(self, name: str) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = _BROKEN
        try:
            self.run_one(name)
            code = 0
        except file_lock.LostLock:
            code = LOST_LOCK
        except BaseException as error:  # pylint: disable=broad-except
            self._plugin.progress(self._objects.name, f"{name}: {type(error).__name__}: {error}")
        finally:
            sys.stdout.flush()
            os._exit(code)

    def run_one(self, name: str) -> bool:
        """Run a Task from its current command; return whether it succeeded.

        A failure is kept in its record.

        Raises:
            LostLock: this run has lost the cluster's lock; nothing was written about it.
        """
        store, namespace = self._objects.store, self._objects.namespace
        secrets = Secrets()
        record = TaskRecord(store, namespace, name, secrets)
        self._plugin.check_lock(self._arguments)
        task = record.begin()
        node = str(task["spec"]["nodeName"])
        commands = task["spec"]["commands"]
        journal = self._plugin.journal(self._arguments)
        message = f"{name}: {len(commands)} commands on Node {node}"
        intent = journal.intent("task", node, str(self._arguments.get("run") or ""), {"name": name, "message": message})
        title = f"Task {name} on Node {node}"
        self._plugin.begin_step(journal, "task", title, name, comparable=name.removesuffix(node))
        index = next_command(task)
        if not 0 <= int(task["status"]["currentCommand"]) - 1 < len(commands):
            # Somebody edited the status; to go on would skip commands, or run them again.
            said = f"currentCommand is {task['status']['currentCommand']}, and the Task has {len(commands)} commands; correct it, then retry"
            record.fail_before(phases.INDEX_OUT_OF_RANGE, said)
            self._ended(journal, intent, name, "failed", said)
            return False
        while index < len(commands):
            (command,) = commands[index]
            self._plugin.check_lock(self._arguments)
            task = record.begin_command(index, command)
            self._plugin.progress(self._objects.name, f"{node}: {index + 1} of {len(commands)}, {command}")
            error = self._error(task, index, commands[index], secrets)
            if error:
                task = record.fail(index, command, error)
                said = f"{node}: failed: {task['status']['errorMessage']}"
                self._plugin.progress(self._objects.name, said)
                self._ended(journal, intent, name, "failed", said)
                return False
            record.end_command(index)
            index += 1
        record.complete()
        self._ended(journal, intent, name, "succeeded", f"{name} is done")
        return True

    def _read_contents_of_files(self, secrets: Secrets) -> None:
        """Register the Secrets that files of this Action are written from.

        A program may print them in a later command, Task or run than the one that wrote the file.

        Raises CommandFailure where one can't be read.
        """
        names = set()
        for descriptor in (each for group in self._root["status"]["plan"]["groups"] for each in group["commands"]):
            if "file" in descriptor and not catalogue.descriptor_errors(descriptor, ""):
                _command, parameters = catalogue.split(descriptor)
                names |= {parameters["secret"]["name"]} if parameters["secret"] else set()
        for name in sorted(names):
            try:
                secrets.read(self._objects.store, self._objects.namespace, name)
            except ValueError:
                continue  # What can't be decoded is written nowhere; the command says so.
            except StoreError as error:
                raise CommandFailure(
                    f"Secret {name} of the store can't be read: {error} A file of this Action is written from it, and what a program prints of it "
                    "could not be kept out of the records: nothing was started. Mend that, then retry."
                ) from error

    def _ended(self, journal: Journal, intent: str, name: str, result: str, said: str) -> None:
        journal.outcome(intent, result, said)
        self._plugin.display.send("done", id=name, result=result)

    def _error(self, task: Object, index: int, descriptor: t.Mapping[str, t.Any], secrets: Secrets) -> str:
        """Run a command and return its error; "" without one."""
        (name,) = descriptor
        run = operator_commands.REGISTRY.get(name)
        if run is None or name not in catalogue.COMMANDS:
            return "this release does not know the command; it was planned by another one"
        # The stored Task is read again, and whoever may write it may have written what no plan would have.
        wrong = catalogue.descriptor_errors(descriptor, f"spec.commands[{index}]")
        if wrong:
            return f"{wrong[0].path}: {wrong[0].rule}. {wrong[0].fix}"
        _command, parameters = catalogue.split(descriptor)
        root = task if self._root["kind"] == actions.TASK else self._root
        objects_now = ClusterObjects.read(self._objects.store, self._objects.namespace, self._objects.name)
        try:
            self._read_contents_of_files(secrets)
            context = TaskContext(
                self._plugin, self._arguments, objects_now or self._objects, root, task, index, secrets
            )
            run(context, parameters)
        except file_lock.LostLock:
            raise
        except (CommandFailure, ControlPlaneFailure) as error:
            return str(error) or type(error).__name__
        except Exception as error:  # pylint: disable=broad-except
            # A mistake in a command's code must stop its Action as any failure does: with a record, and ways out.
            return f"unexpected {type(error).__name__}: {error}"
        return ""


__all__ = ["TASK", "TaskRunner"]
