# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections from the controller to machines.

A machine is reached by what the store knows of it (its InfraMachine's ``status.connection``), never by the
variables of the play's host: a ``--limit`` or a job slice can't hide it. A machine that is an inventory host is
reached by that host's own variables, so that its bastion and become settings hold
(docs/architecture.md, "How a machine is reached").
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import typing as t
from dataclasses import dataclass

from ansible import constants as C
from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleRuntimeError
from ansible.plugins.loader import become_loader, connection_loader

from ...module_utils.common import bounded_yaml, settings
from ..processes.failpoints import around
from ..processes.forked import beside_each_other
from ..processes.key_file import KeyFile
from . import deadline, inventory_connection, not_reached, recorded_connection
from .fence import FENCED, Fence, is_observing
from .recorded_connection import UnusableConnection

# More than any object of a cluster has, and far from what Python can't follow.
ANSWER_DEPTH = 200
NODE_PYTHON = "/usr/bin/python3"
_POINTS_OF_THEIR_OWN = ("absent", "learner", "promoted")
# A killed module otherwise leaves its arguments in a folder that outlives the machine's next boot.
NODE_REMOTE_TMP = "/run/kubeadm-control-plane/tmp"

# Which the inventory plugin puts clusters into.
CLUSTERS_GROUP = "control_planes"
# The variable of a cluster's host that says why nothing may be done with it.
REFUSED = "control_plane_refused"
# How often one call is made with a number that was raised: a machine that always has seen a greater one doesn't tell the truth.
FENCED_TURNS = 3
CLUSTER_OF_THAT_NAME = (
    "a cluster of this inventory has the same name: to Ansible both are one host, whose tasks run on the controller"
)
ANOTHER_NAME = "Give the machine another name in your inventory (ansible_host says where it is), or the cluster."


@dataclass(frozen=True)
class Machine:
    """Machine to call: name, machine-id, connection, and claim of its host.

    The machine-id is the recorded one; the claim is of an existing host.
    """

    name: str
    machine_id: t.Optional[str]
    connection: t.Mapping[str, t.Any]
    claim: str = ""

    def identity(self) -> dict[str, str]:
        """Return the identity that every call of our modules carries.

        By it a module refuses another machine, and a host that is no longer this machine's.
        """
        known = {"machine_id": self.machine_id, "claim_id": self.claim}
        return {name: value for name, value in known.items() if value}


@dataclass(frozen=True)
class Answer:
    """Answer of a machine; ``reached`` is False where the connection failed.

    A failure of SSH is no evidence of the machine's health.
    """

    reached: bool
    result: dict[str, t.Any]

    @property
    def failed(self) -> bool:
        """Failure of the call: machine not reached, or module failed."""
        return not self.reached or bool(self.result.get("failed"))

    @property
    def message(self) -> str:
        """Message of the module, or why the machine was not reached."""
        return str(self.result.get("msg", ""))


def is_cluster(variables: t.Mapping[str, t.Any]) -> bool:
    """Return whether an inventory host's variables are those of a cluster.

    A cluster has the host's name then: the variables lead to the controller, and not to the host.
    """
    return CLUSTERS_GROUP in (variables.get("group_names") or ())


def connection_variables(
    machine: Machine, hostvars: t.Mapping[str, t.Any], key_directory: str, key_path: str = "", shared: bool = True
) -> dict[str, t.Any]:
    """Return the ``ansible_*`` variables that reach a machine.

    Args:
        machine: the machine to reach.
        hostvars: the inventory's variables by host name, templated.
        key_directory: an existing private folder; ``known_hosts`` files are written to it.
        key_path: the private key's file; by default ``ssh_key`` in that folder.
        shared: whether a recorded connection is kept for further calls; an inventory host's own settings say that of it.

    Raises:
        UnusableConnection: the store has no address or no host key of the machine, or a value that ssh could take for an option.
        AnsibleError: the machine names an inventory host that this run doesn't have, or that is a cluster as well.
    """
    inventory_host = machine.connection.get("inventoryHost")
    variables: dict[str, t.Any] = {"ansible_python_interpreter": NODE_PYTHON}
    if inventory_host:
        if inventory_host not in hostvars:
            raise AnsibleError(
                f"machine {machine.name} is the inventory host {inventory_host}, which this run's inventory does not have. "
                "Nothing was done: its connection settings are known only there. Add the host to the inventory "
                "(an AWX job slice or a partial inventory can hide it) and run again."
            )
        known = hostvars[inventory_host]
        if is_cluster(known):
            raise AnsibleError(
                f"machine {machine.name} is the inventory host {inventory_host}, and {CLUSTER_OF_THAT_NAME}. Nothing was done. {ANOTHER_NAME}"
            )
        variables.update(inventory_connection.told(str(inventory_host), known))
        variables.setdefault("ansible_host", inventory_host)
    else:
        recorded_connection.check(machine.name, machine.connection)
        variables.update(
            ansible_connection="ansible.builtin.ssh",
            ansible_host=machine.connection["host"],
            ansible_port=int(machine.connection.get("port", recorded_connection.DEFAULT_PORT)),
            ansible_user=machine.connection.get("user", recorded_connection.DEFAULT_USER),
            ansible_ssh_private_key_file=key_path or os.path.join(key_directory, "ssh_key"),
            # Not among the common arguments: Ansible puts its own "StrictHostKeyChecking=no" before those.
            ansible_ssh_args=recorded_connection.ssh_arguments(machine.name, machine.connection, key_directory, shared),
            ansible_ssh_common_args="-o IdentitiesOnly=yes",
            # A new machine may get a dead one's address: its multiplexed connection must not be taken for the new one.
            ansible_control_path=f"%(directory)s/kcp-{_short_hash(key_directory, machine.name)}",
        )
    variables.update(
        ansible_pipelining=True,
        ansible_remote_tmp=NODE_REMOTE_TMP,
        ansible_timeout=settings.CONNECT_SECONDS,
    )
    return variables


def _short_hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


class MachineCaller:
    """Caller of modules on machines, from inside an action plugin.

    It has connections of its own.
    """

    def __init__(
        self,
        action: t.Any,
        task_vars: dict[str, t.Any],
        key_directory: str,
        key: t.Optional[KeyFile] = None,
        fence: t.Optional[Fence] = None,
        shared: bool = True,
        most_seconds: float = math.inf,
    ) -> None:
        self._action = action
        self._task_vars = task_vars
        self._key_directory = key_directory
        self._key = key
        self._fence = fence
        self._shared = shared
        self._most_seconds = most_seconds
        # Machines on which a call has not ended in its time, with what was said of that: none of them is waited for twice.
        self._hung: dict[str, str] = {}

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Run a module on a machine and return its answer.

        The module is ``kubeadm.control_plane.<module>``, or another collection's by its full name.

        The recorded machine-id travels with the call of a module of ours, which refuses another machine before it does anything. A call
        that has not ended in its time (deadline.py) is one that did not reach the machine; what it started there may continue. So does the
        number of the run's lock, where it has one: a machine, or the cluster that it carries, refuses one that is smaller than another's.

        Raises:
            StoreError: this run was refused for its number, and has lost its lock (``fence.py``).
        """
        if machine.connection.get("released"):
            # Whatever answers there now is not this machine any more, though it has the same machine-id.
            return Answer(False, {"msg": f"machine {machine.name} was not asked: it has given its host back"})
        try:
            variables = self.variables(machine)
        except UnusableConnection as error:
            # One machine of which that got lost must not keep the others from being asked, or the cluster from being deleted.
            return Answer(False, {"msg": _last_line(error)})
        name = module if "." in module else f"kubeadm.control_plane.{module}"
        if name.startswith("kubeadm.control_plane."):
            arguments = {**arguments, **machine.identity()}
        if self._fence is None or module not in FENCED:
            return self._call(machine, variables, name, arguments)
        named = {"run": self._fence.run} if module == "node_observe" else {}
        observing = is_observing(module, arguments, bool(self._action._task.check_mode))
        for _turn in range(FENCED_TURNS):
            # By now it may be another one than the caller knows.
            number = self._fence.number
            answer = self._call(machine, variables, name, {**arguments, "fencing": number, **named})
            highest = answer.result.get("fenced")
            if not isinstance(highest, int) or highest < number or not self._fence.answer(highest, number, observing):
                break
        return answer

    def beside_each_other(self, calls: t.Sequence[t.Callable[[], Answer]], at_once: int) -> list[Answer]:
        """Make calls of different machines at the same time; return their answers.

        Each is made in a process of its own, so that one that hangs is bounded by its own time, and it must change nothing: what becomes of
        the calls that are under way is not known where this one ends before them.

        Args:
            calls: each makes one call with this caller.
            at_once: so many are made at the same time.

        Raises:
            what a call raises; the others have ended then.
        """

        def made(number: int) -> str:
            answer = calls[number]()
            return json.dumps([answer.reached, answer.result, self._hung], default=str)

        found = []
        texts = beside_each_other(made, len(calls), at_once) if len(calls) > 1 else [None] * len(calls)
        for call, text in zip(calls, texts):
            if text is None:
                # Alone, or it raised an error there, or its process was killed.
                found.append(call())
                continue
            reached, result, hung = json.loads(text)
            self._hung.update(hung)
            found.append(Answer(reached, result))
        return found

    def _call(self, machine: Machine, variables: dict[str, t.Any], name: str, arguments: dict[str, t.Any]) -> Answer:
        module = name.removeprefix("kubeadm.control_plane.")
        if machine.name in self._hung:
            return Answer(False, {"msg": self._hung[machine.name]})
        connection = self._connect(machine.name, variables)
        action = self._action
        previous = action._connection
        action._connection = connection
        seconds = min(self._most_seconds, deadline.seconds_of(name, arguments))
        try:
            # Taking something away is another point than making it, and what a member becomes too: a killed run is to be seen after each.
            state = arguments.get("state")
            with (
                around(f"node {module}{f' {state}' if state in _POINTS_OF_THEIR_OWN else ''}"),
                deadline.deadline(seconds),
            ):
                result = action._execute_module(
                    module_name=name,
                    module_args=arguments,
                    task_vars=self._call_variables(variables),
                )
            bounded_yaml.require_shallow(dict(result), ANSWER_DEPTH)
        except AnsibleConnectionFailure as error:
            return _not_reached(machine, _said(connection, error))
        except deadline.TookTooLong:
            deadline.end_shared_connection(connection)
            said = f"{module} has not ended there within {seconds:.0f} s, though its connection lives"
            self._hung[machine.name] = f"machine {machine.name} was not reached: {said}"
            return Answer(False, {"msg": self._hung[machine.name]})
        except (AnsibleRuntimeError, RecursionError, ValueError) as error:
            # What its answer holds is its own matter: Ansible refuses a whole result for half a character in it, and one machine must not end
            # the run for the others.
            deep = f"it is nested deeper than {ANSWER_DEPTH} levels" if isinstance(error, RecursionError) else ""
            said = f"machine {machine.name}: its answer can't be read: {deep or _last_line(error)}"
            return Answer(True, {"failed": True, "msg": said})
        finally:
            action._connection = previous
        if result.get("unreachable"):
            return _not_reached(machine, str(result.get("msg", "")))
        return Answer(True, dict(result))

    def variables(self, machine: Machine) -> dict[str, t.Any]:
        """Return the ``ansible_*`` variables that reach a machine.

        Raises as :func:`connection_variables` does.
        """
        path = self._key.path if self._key is not None else ""
        return connection_variables(machine, self._task_vars["hostvars"], self._key_directory, path, self._shared)

    def _call_variables(self, variables: dict[str, t.Any]) -> dict[str, t.Any]:
        # The play's host is a cluster with connection local; none of its connection variables may leak to a machine.
        kept = {
            key: value
            for key, value in self._task_vars.items()
            if not key.startswith("ansible_") or key in ("ansible_version", "ansible_playbook_python")
        }
        return {**kept, "ansible_facts": {}, "ansible_delegated_vars": {}, **variables}

    def _connect(self, machine: str, variables: dict[str, t.Any]) -> t.Any:
        action = self._action
        context = action._play_context.copy()
        name = str(variables.get("ansible_connection", C.DEFAULT_TRANSPORT))
        context.connection = name
        context.remote_addr = variables.get("ansible_host")
        context.timeout = settings.CONNECT_SECONDS
        connection = connection_loader.get(
            name,
            context,
            new_stdin=None,
            task_uuid=action._task._uuid,
            ansible_playbook_pid=str(os.getppid()),
        )
        if connection is None:
            raise AnsibleError(f"the connection plugin {name!r} was not found")
        connection.set_options(task_keys={"timeout": settings.CONNECT_SECONDS}, var_options=variables)
        connection._shell.set_options(var_options=variables)
        become = variables.get("ansible_become")
        if become is not None and str(become).lower() in ("true", "yes", "1", "on"):
            method = str(variables.get("ansible_become_method", "ansible.builtin.sudo"))
            plugin = become_loader.get(method)
            if plugin is None:
                raise AnsibleError(
                    f"machine {machine}: the become plugin {method!r} was not found (ansible_become_method)"
                )
            if not plugin.pipelining:
                raise AnsibleError(
                    f"machine {machine}: it becomes root by {method}, for which Ansible writes each call's arguments, secrets among them, to a file "
                    "on the machine. Nothing was done. Set ansible_become_method to sudo, or another that can pipeline, for this host."
                )
            plugin.set_options(var_options=variables)
            connection.set_become_plugin(plugin)
        return connection


def _not_reached(machine: Machine, said: str) -> Answer:
    return Answer(
        False, {"msg": f"machine {machine.name} was not reached: {not_reached.why(said, machine.connection)}"}
    )


def _said(connection: t.Any, error: AnsibleConnectionFailure) -> str:
    """Return ssh's own message for a failed connection.

    Ansible reports only that the module could not be sent where ssh closes its input before it has ended.
    """
    if "could not be sent" in str(error):
        try:
            with deadline.deadline(settings.CONNECT_SECONDS):
                connection.exec_command("true")
        except AnsibleConnectionFailure as told:
            error = told
        except deadline.TookTooLong:
            pass
    return str(error)


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[-1]
