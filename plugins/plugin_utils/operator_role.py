# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role of the user's own, run on one node by a playbook run of its own; its output is kept as any program's is."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import typing as t

import yaml
from ansible import constants as C

from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.redact import redact
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import bound_process
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator_context import CommandFailure, TaskContext

_KEPT = 16 * 1024


class RoleRun:
    """One role on the Task's node.

    It ends with the process that runs it, and when that has lost the cluster's lock: the next run begins it anew, which is what roles are
    made for, and never has it beside itself. Only its output's ends are kept, for it runs on the controller.
    """

    def __init__(self, context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
        self._context = context
        self._parameters = parameters

    def run(self) -> None:
        """Run it to its end. Raises CommandFailure where it fails or takes too long."""
        context = self._context
        started = context.now()
        role = str(self._parameters["name"])
        with tempfile.TemporaryDirectory(dir=C.DEFAULT_LOCAL_TMP, prefix="kubeadm-role-") as folder:
            inventory, playbook = self._files(folder)
            environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_RETRY_FILES_ENABLED": "0"}
            seconds = int(self._parameters["timeoutSeconds"])
            arguments = ["-i", inventory, playbook]
            done = bound_process.run("ansible.cli.playbook", arguments, environment, seconds, context.check_lock)
        self._keep(role, done, started)
        if done.status == 0:
            return
        failed = done.status != bound_process.TIMED_OUT
        why = f"failed with exit status {done.status}" if failed else f"was ended after {seconds} s"
        last = "\n".join(redact(done.output.decode("utf-8", "replace")).strip().splitlines()[-15:])
        raise CommandFailure(f"Node {context.node.name}: the role {role} {why}" + (f": {last}" if last else "."))

    def _files(self, folder: str) -> tuple[str, str]:
        """The inventory and the playbook; both are private, for they say how the node is reached."""
        context = self._context
        machine = context.machine(context.node.name)
        variables = context.connection_variables(context.node.name)
        guard: dict[str, t.Any] = {
            "name": "guard",
            "argv": [],
            "machine_id": machine.machine_id,
            "fencing": context.fencing,
        }
        play = {
            "name": f"{self._parameters['name']} on {context.node.name}",
            "hosts": "all",
            "gather_facts": True,
            "pre_tasks": [
                {
                    "name": "Check that this is the right machine",
                    "kubeadm.control_plane.node_command": {
                        key: each for key, each in guard.items() if each is not None
                    },
                }
            ],
            "tasks": [
                {
                    "name": "Run the role",
                    "ansible.builtin.include_role": {
                        "name": self._parameters["name"],
                        "tasks_from": self._parameters["tasksFrom"],
                    },
                    "vars": self._parameters["vars"],
                }
            ],
        }
        inventory = {"all": {"hosts": {context.node.name: variables}}}
        made = []
        for name, content in (("inventory.yml", inventory), ("playbook.yml", [play])):
            path = os.path.join(folder, name)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
                yaml.safe_dump(json.loads(json.dumps(content, default=str)), stream)
            made.append(path)
        return made[0], made[1]

    def _keep(self, role: str, done: bound_process.Ended, started: str) -> None:
        text = redact(done.output.decode("utf-8", "replace")).encode()
        self._context.keep_output(
            {
                "argv": ["include_role", role],
                "exitCode": done.status,
                "startTime": started,
                "endTime": self._context.now(),
                "head": text[:_KEPT].decode("utf-8", "ignore"),
                "tail": text[max(_KEPT, len(text) - _KEPT) :].decode("utf-8", "ignore"),
                "size": len(done.output),
                "sha256": hashlib.sha256(done.output).hexdigest(),
                "logPath": "",
                "node": self._context.node.name,
            }
        )
