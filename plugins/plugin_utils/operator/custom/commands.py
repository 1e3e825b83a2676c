# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for the user's programs, files, modules and roles, and records.

The records are of in-place changes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.common import kubernetes_versions, settings
from ...documents import names
from ...objects.actions import FieldError
from ..command_type import BOOLEAN, CONTROL_PLANE, INTEGER, INTEGERS, MAPPING, STRING, STRINGS, Command, Parameter
from ..planner_types import NodeFacts

# What a shell would take for its own. Nothing here goes through a shell, so it would be passed on as it stands.
_SHELL = re.compile(r"[;&|<>`*\n]|\$[({\w]|^~")
_VERSION = rf"v1\.{kubernetes_versions.REST_PATTERN}"
_PATH = r"/[^\0\n]*[^/\0\n]"
# A folder or a name to be sought would let an Action choose what code runs on the controller.
_FULL_NAME = r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*){2,}"
_OWN_ROLES = "kubeadm.control_plane."


def _command_check(parameters: Mapping[str, Any], path: str) -> list[FieldError]:
    argv: Sequence[str] = parameters["argv"]
    if not argv or not argv[0]:
        rule = "must name a program and its arguments, each an entry of its own"
        return [FieldError(f"{path}.argv", None, rule, 'Write such as: argv: ["systemctl", "restart", "chronyd"].')]
    if len(argv) == 1 and re.search(r"\s", argv[0]):
        rule = "is one text with blanks in it: there is no shell that would split it"
        return [FieldError(f"{path}.argv[0]", None, rule, "Make the program and each argument an entry of its own.")]
    if parameters["literal"]:
        return []
    found = []
    for index, each in enumerate(argv):
        meant = _SHELL.search(each)
        if meant:
            rule = f"holds {meant.group(0)!r}, which only a shell understands, and commands never go through one"
            fix = (
                "Nothing was started. Make several commands of it; where the program itself is to get that text, say literal: true; "
                "where you mean a shell, put the script into a file and run that."
            )
            found.append(FieldError(f"{path}.argv[{index}]", None, rule, fix))
    return found


def _file_check(parameters: Mapping[str, Any], path: str) -> list[FieldError]:
    sources = [each for each in ("content", "secret") if parameters[each] is not None]
    if parameters["state"] == "absent":
        return [FieldError(f"{path}.{each}", None, "an absent file has no content", "Remove it.") for each in sources]
    if len(sources) != 1:
        rule = "needs exactly one of content and secret"
        return [FieldError(path, None, rule, "Give the text, or the Secret of the store that holds it.")]
    secret = parameters["secret"]
    if secret is None:
        return []
    if set(secret) != {"name", "key"} or not all(isinstance(each, str) for each in secret.values()):
        return [FieldError(f"{path}.secret", None, "must have name and key", "Name the Secret and the key in it.")]
    return []


def _role_check(parameters: Mapping[str, Any], path: str) -> list[FieldError]:
    found = []
    if str(parameters["name"]).startswith(_OWN_ROLES):
        rule = "is a role of this collection, which works on clusters from the controller and not on a node"
        found.append(
            FieldError(f"{path}.name", None, rule, "Nothing was started. Name another role, or run its playbook.")
        )
    for name in parameters["vars"]:
        if not isinstance(name, str) or not names.is_variable(name):
            rule = "is no variable's name: letters, digits and _, and no digit first"
        elif names.is_special_variable(name):
            rule = (
                "is a variable of Ansible's own, by which a role could be made to run on another host than the Task's"
            )
        else:
            continue
        found.append(
            FieldError(f"{path}.vars.{name}", None, rule, "Nothing was started. Give the role's variable another name.")
        )
    return found


def _record_check(parameters: Mapping[str, Any], path: str) -> list[FieldError]:
    if any(value not in (None, False) for value in parameters.values()):
        return []
    return [FieldError(path, None, "records nothing", "Give what is to be recorded.")]


def _file_lines(parameters: Mapping[str, Any], _node: NodeFacts) -> tuple[str, ...]:
    if parameters["state"] == "absent":
        return (f"rm -f {shlex.quote(parameters['path'])}",)
    secret = parameters["secret"]
    source = f"Secret {secret['name']}, key {secret['key']}" if secret else f"{len(parameters['content'])} characters"
    owner = f"{parameters['owner']}:{parameters['group']}"
    return (f"write {parameters['path']} (mode {parameters['mode']}, {owner}) from {source}",)


def _module_lines(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    # Which of a module's arguments are secret is not known here: their names are shown, their values are not.
    names = shlex.quote(json.dumps(dict.fromkeys(sorted(parameters["args"]), "...")))
    return (f"ansible {node.name} -m {parameters['name']} -a {names}",)


def _role_lines(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (f"include_role: name={parameters['name']} tasks_from={parameters['tasksFrom']}, on {node.name}",)


def _recorded(parameters: Mapping[str, Any]) -> str:
    parts = []
    if parameters["version"]:
        parts.append(f"version {parameters['version']}")
    if parameters["clusterConfiguration"] is not None:
        parts.append("the changed ClusterConfiguration")
    if parameters.get("certificates"):
        parts.append("that its certificates are new")
    return " and ".join(parts)


_RECORD: Mapping[str, Parameter] = {
    "version": Parameter(STRING, pattern=_VERSION, pattern_words="a version such as v1.21.0"),
    "clusterConfiguration": Parameter(MAPPING),
}

COMMANDS: tuple[Command, ...] = (
    Command("pass", lambda _parameters, _node: ("true",)),
    Command(
        "fail",
        lambda parameters, _node: (f"false  # {parameters['message']}",),
        {"message": Parameter(STRING, default="it was asked to fail")},
    ),
    Command(
        "wait",
        lambda parameters, _node: (f"sleep {parameters['seconds']}",),
        {"seconds": Parameter(INTEGER, required=True, minimum=1)},
    ),
    Command(
        "command",
        lambda parameters, _node: (shlex.join(parameters["argv"]),),
        {
            "argv": Parameter(STRINGS, required=True),
            "timeoutSeconds": Parameter(INTEGER, default=settings.COMMAND_SECONDS, minimum=1),
            "exitCodes": Parameter(INTEGERS, default=[0], minimum=0),
            "literal": Parameter(BOOLEAN, default=False),
        },
        check=_command_check,
    ),
    Command(
        "file",
        _file_lines,
        {
            "path": Parameter(STRING, required=True, pattern=_PATH, pattern_words="an absolute path of a file"),
            "content": Parameter(STRING, secret=True),
            "secret": Parameter(MAPPING),
            "mode": Parameter(STRING, default="0600", pattern=r"0?[0-7]{3}", pattern_words='octal, such as "0644"'),
            "owner": Parameter(STRING, default="root"),
            "group": Parameter(STRING, default="root"),
            "state": Parameter(STRING, default="present", choices=("present", "absent")),
        },
        check=_file_check,
    ),
    Command(
        "module",
        _module_lines,
        {
            "name": Parameter(
                STRING,
                required=True,
                pattern=_FULL_NAME,
                pattern_words="a module's full name, NAMESPACE.COLLECTION.MODULE",
            ),
            "args": Parameter(MAPPING, default={}),
        },
    ),
    Command(
        "role",
        _role_lines,
        {
            "name": Parameter(
                STRING, required=True, pattern=_FULL_NAME, pattern_words="a role's full name, NAMESPACE.COLLECTION.ROLE"
            ),
            "tasksFrom": Parameter(
                STRING, default="main", pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*", pattern_words="the name of a task file"
            ),
            "vars": Parameter(MAPPING, default={}),
            "timeoutSeconds": Parameter(INTEGER, default=settings.ROLE_SECONDS, minimum=1),
        },
        check=_role_check,
    ),
    Command(
        "recordMachine",
        lambda parameters, node: (f"record on the Machine of {node.name}: {_recorded(parameters)}",),
        {**_RECORD, "certificates": Parameter(BOOLEAN, default=False)},
        check=_record_check,
    ),
    Command(
        "recordControlPlane",
        lambda parameters, _node: (f"record in the KubeadmControlPlane and its manifest: {_recorded(parameters)}",),
        _RECORD,
        check=_record_check,
        scope=CONTROL_PLANE,
    ),
)
