# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run of a user's own role on one node.

The role has an ansible-playbook run of its own; its output is kept as any program's is.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import typing as t

import yaml
from ansible import constants as C

from ....module_utils.common.redact import redact
from ...calls import inventory_connection
from ...documents.names import is_dns_subdomain
from ...processes import bound, key_file
from .context import CommandFailure, TaskContext

_KEPT = 16 * 1024


class _Data(dict[str, t.Any]):
    """Mapping whose texts are no templates, at any depth."""


class _Dumper(yaml.SafeDumper):
    """YAML writer for ansible-playbook that marks data as no templates.

    ansible-playbook takes every text for a template that isn't marked.
    """

    def ignore_aliases(self, data: t.Any) -> bool:
        """Return True, so that the YAML has no aliases.

        An alias would carry the mark of its anchor, or lack it.
        """
        del data
        return True


_Dumper.add_representer(_Data, lambda dumper, data: dumper.represent_mapping("!unsafe", data))


class RoleRun:
    """Run of one role on the Task's node.

    It ends with the process that runs it, and when that has lost the cluster's lock: the next run starts it again,
    which is what roles are made for, and never has it beside itself. Only its output's ends are kept, for it runs on
    the controller.

    What ansible-playbook reads from a file it trusts as a template. So all that comes from an Action, the store or a
    node is marked as data, and nothing else is written but this file's own words.
    """

    def __init__(self, context: TaskContext, parameters: t.Mapping[str, t.Any]) -> None:
        self._context = context
        self._parameters = parameters

    def run(self) -> None:
        """Run the role to its end.

        Raises CommandFailure where it fails or takes too long.
        """
        context = self._context
        started = context.now()
        role = str(self._parameters["name"])
        with tempfile.TemporaryDirectory(dir=C.DEFAULT_LOCAL_TMP, prefix="kubeadm-role-") as folder:
            variables = self._variables()
            inventory, playbook = self._inventory(folder, variables), self._playbook(folder, variables)
            environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_RETRY_FILES_ENABLED": "0"}
            seconds = int(self._parameters["timeoutSeconds"])
            arguments = ["-i", inventory, playbook]
            done = bound.run("ansible.cli.playbook", arguments, environment, seconds, context.check_lock)
        self._keep(role, done, started)
        if done.status == 0:
            return
        failed = done.status != bound.TIMED_OUT
        why = f"failed with exit status {done.status}" if failed else f"was ended after {seconds} s"
        last = "\n".join(redact(done.output.decode("utf-8", "replace")).strip().splitlines()[-15:])
        raise CommandFailure(f"Node {context.node.name}: the role {role} {why}" + (f": {last}" if last else "."))

    def _variables(self) -> dict[str, t.Any]:
        """Return the variables by which the Node is reached."""
        node = self._context.node.name
        if not is_dns_subdomain(node):
            # It becomes a host's name, of which Ansible makes paths and ranges.
            raise CommandFailure(f"{node!r} is no Node's name (RFC 1123): the role was not started. Skip it.")
        variables = self._context.connection_variables(node)
        overridden = sorted(set(self._parameters["vars"]) & inventory_connection.declared(variables))
        if overridden:
            raise CommandFailure(
                f"Node {node}: the role was not started, since its vars have {', '.join(overridden)}, which would change how the Node is "
                "reached. Give these variables other names."
            )
        return variables

    def _inventory(self, folder: str, variables: dict[str, t.Any]) -> str:
        """Return the path of the inventory, kept in memory for its passwords.

        Where the controller has no files in memory, it is a file on the disk, and variables with secrets are refused.
        """
        node = self._context.node.name
        secrets = inventory_connection.secrets(variables)
        self._context.hide(secrets)
        content = _yaml({"all": {"hosts": {node: _Data(variables)}}})
        path = os.path.join(folder, "inventory.yml")
        memory = key_file.in_memory(self, content)
        if memory:
            os.symlink(memory, path)
        elif secrets:
            raise CommandFailure(
                f"Node {node}: the role was not started, since {', '.join(sorted(secrets))} would be written to a file: this controller has no "
                "files in memory. Run it on Linux, or reach the Node without a password."
            )
        else:
            _write(path, content)
        return path

    def _playbook(self, folder: str, variables: t.Mapping[str, t.Any]) -> str:
        """Return the path of the playbook."""
        context = self._context
        machine = context.machine(context.node.name)
        guard: dict[str, t.Any] = {
            "name": "guard",
            "argv": [],
            "machine_id": machine.machine_id,
            "fencing": context.fencing,
        }
        play = {
            "name": "Run a role of an Action",
            "hosts": "all",
            "gather_facts": True,
            "pre_tasks": [
                {
                    "name": "Check that this is the right machine",
                    "kubeadm.control_plane.node_command": _Data(
                        {key: each for key, each in guard.items() if each is not None}
                    ),
                },
                {
                    # Behind the guard, whose answer is the node's word as well.
                    "name": "Check that the node doesn't say how it is reached",
                    "ansible.builtin.assert": {
                        "that": "ansible_facts | list | intersect(no_facts) | length == 0",
                        "fail_msg": "The facts of the node have {{ ansible_facts | list | intersect(no_facts) | sort | join(', ') }}, by which it would "
                        "change how it is reached. The role was not started.",
                        "quiet": True,
                    },
                    "vars": {"no_facts": inventory_connection.no_facts(variables)},
                },
            ],
            "tasks": [
                {
                    "name": "Run the role",
                    "ansible.builtin.include_role": _Data(
                        {"name": self._parameters["name"], "tasks_from": self._parameters["tasksFrom"]}
                    ),
                    "vars": _Data(self._parameters["vars"]),
                }
            ],
        }
        path = os.path.join(folder, "playbook.yml")
        _write(path, _yaml([play]))
        return path

    def _keep(self, role: str, done: bound.Ended, started: str) -> None:
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


def _yaml(content: t.Any) -> bytes:
    """Return content as YAML with the marks of data.

    Whatever Ansible made of the content becomes JSON types.
    """
    return str(yaml.dump(_plain(content), Dumper=_Dumper, sort_keys=False)).encode()


def _plain(value: t.Any) -> t.Any:
    if isinstance(value, _Data):
        return _Data(json.loads(json.dumps(value, default=str)))
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _write(path: str, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
