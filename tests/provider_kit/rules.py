# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be said of a provider's role without running it, and of the objects that it recorded: lists of problems, each a sentence."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import yaml

Object = dict[str, Any]
Problems = list[str]

CONTRACT: dict[str, tuple[str, ...]] = {
    "endpoint": ("infrastructure_cluster", "infrastructure_endpoint_servers", "infrastructure_state"),
    "create": ("infrastructure_cluster", "infrastructure_machine", "infrastructure_ssh_public_key"),
    "delete": ("infrastructure_cluster", "infrastructure_machine"),
    "observe": ("infrastructure_cluster", "infrastructure_machines"),
}
# They act on the whole play, and several clusters run in one; set_fact outlives the call; an ignored unreachable counts as success.
FORBIDDEN = ("add_host", "run_once", "group_by", "meta", "throttle", "set_fact", "ignore_unreachable")
RECORDS = ("create", "observe", "endpoint")
RECORD = "kubeadm.control_plane.infrastructure_status"
INCLUDES = ("include_tasks", "import_tasks")
STATES = ("running", "dead", "missing")
_ID = re.compile(r"[0-9a-f]{32}\Z")
_KEY_PATH = re.compile(r"(^|_)(key|keyfile|private_?key.*|password|token)\Z", re.IGNORECASE)


class _Loader(yaml.SafeLoader):
    """Reads Ansible's YAML; what a tag of Ansible's means doesn't matter here."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def read_yaml(path: Path) -> Any:
    """The document of a file, None where it isn't there."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader) if path.is_file() else None


def role_problems(role: Path) -> Problems:
    """Everything in a role's files that breaks the contract."""
    problems = []
    for name in CONTRACT:
        if not isinstance(read_yaml(role / "tasks" / f"{name}.yml"), list):
            problems.append(
                f"tasks/{name}.yml is missing or holds no tasks: the contract's task file {name} does its part"
            )
    for path in sorted((role / "tasks").glob("**/*.yml")) + sorted((role / "handlers").glob("**/*.yml")):
        problems += _task_problems(role, path)
    problems += _argument_problems(role) + _variable_problems(role)
    for name in RECORDS:
        if (role / "tasks" / f"{name}.yml").is_file() and RECORD not in _text_with_includes(role, f"{name}.yml", set()):
            problems.append(
                f"tasks/{name}.yml records nothing with {RECORD}: what a provider made is known from the store only"
            )
    return problems


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def tasks_of(value: Any) -> Iterator[Object]:
    """Every task of a list of tasks, those in blocks included."""
    for task in value if isinstance(value, list) else []:
        if isinstance(task, dict):
            yield task
            for section in ("block", "rescue", "always"):
                yield from tasks_of(task.get(section))


def _task_problems(role: Path, path: Path) -> Problems:
    problems = []
    where = path.relative_to(role).as_posix()
    for task in tasks_of(read_yaml(path)):
        label = f"{where}: task {task.get('name', 'without a name')!r}"
        problems += [f"{label} uses {_short(str(key))}" for key in task if _short(str(key)) in FORBIDDEN]
        names = [str(task["register"])] if "register" in task else []
        names += [str(key) for key in task.get("vars") or {}]
        names += [str((task.get("loop_control") or {}).get("loop_var") or "item")] if "loop" in task else []
        problems += [
            f"{label} has the variable {name}: without the role's name in front it is every other role's too"
            for name in names
            if not name.startswith((f"{role.name}_", "infrastructure_"))
        ]
    return problems


def _argument_problems(role: Path) -> Problems:
    specs = (read_yaml(role / "meta" / "argument_specs.yml") or {}).get("argument_specs") or {}
    problems = []
    for name, wanted in CONTRACT.items():
        options = (specs.get(name) or {}).get("options") or {}
        problems += [
            f"meta/argument_specs.yml: {name} has no option {option}: a caller that leaves it out must be told"
            for option in wanted
            if option not in options
        ]
    return problems


def _variable_problems(role: Path) -> Problems:
    problems = []
    for folder in ("defaults", "vars"):
        for path in sorted((role / folder).glob("*.yml")):
            problems += [
                f"{folder}/{path.name}: {name} does not begin with {role.name}_"
                for name in read_yaml(path) or {}
                if not str(name).startswith(f"{role.name}_")
            ]
    return problems


def _text_with_includes(role: Path, name: str, seen: set[str]) -> str:
    path = role / "tasks" / name
    if name in seen or not path.is_file():
        return ""
    seen.add(name)
    text = path.read_text(encoding="utf-8")
    for task in tasks_of(read_yaml(path)):
        for key, value in task.items():
            if _short(str(key)) in INCLUDES:
                file = value.get("file") if isinstance(value, dict) else value
                text += _text_with_includes(role, str(file), seen)
    return text


def machine_problems(infrastructure: Object, machine: Optional[Object]) -> Problems:
    """What is missing of what `create` has to record on the infrastructure machine, and of what the Machine takes over."""
    spec, status = infrastructure.get("spec") or {}, infrastructure.get("status") or {}
    problems = []
    if not spec.get("providerID"):
        problems.append("spec.providerID is empty: nothing tells this machine from another")
    if (status.get("initialization") or {}).get("provisioned") is not True:
        problems.append("status.initialization.provisioned is not true, though create ended well")
    addresses = [each.get("address") for each in status.get("addresses") or [] if each.get("type") == "InternalIP"]
    if not addresses or not all(_is_address(each) for each in addresses):
        problems.append(f"status.addresses has no InternalIP that is an address (found: {addresses})")
    problems += _connection_problems(status.get("connection") or {})
    if not _ID.match(str(status.get("machineID") or "")):
        problems.append(
            f"status.machineID {status.get('machineID')!r} is no machine-id: calls to a wrong machine would not be refused"
        )
    if status.get("state") not in (None, "running"):
        problems.append(f"status.state is {status['state']!r}, though create ended well")
    followed = (machine or {}).get("status") or {}
    if followed.get("machineID") != status.get("machineID") or followed.get("addresses") != status.get("addresses"):
        problems.append(f"the Machine did not take machineID and addresses over: record them with {RECORD}")
    return problems


def _connection_problems(connection: Object) -> Problems:
    problems = []
    if connection.get("inventoryHost"):
        extra = sorted(set(connection) - {"inventoryHost"})
        problems += (
            [f"status.connection has inventoryHost and {extra}: that host's own variables hold"] if extra else []
        )
    elif not connection.get("host"):
        problems.append("status.connection has neither host nor inventoryHost: nothing can reach the machine")
    elif not connection.get("hostKeys"):
        problems.append("status.connection has no hostKeys: the first connection would trust whoever answers")
    problems += [
        f"status.connection.{key}: paths of keys and secrets never go into the store"
        for key in connection
        if _KEY_PATH.search(key)
    ]
    return problems


def _is_address(text: Any) -> bool:
    try:
        ipaddress.ip_address(str(text))
        return True
    except ValueError:
        return False


def cluster_problems(infrastructure: Object, cluster: Object) -> Problems:
    """What is missing of what `endpoint` has to record on the infrastructure cluster, and of what the Cluster takes over."""
    problems = []
    endpoint = (infrastructure.get("spec") or {}).get("controlPlaneEndpoint") or {}
    if not endpoint.get("host") or not isinstance(endpoint.get("port"), int):
        problems.append(
            f"spec.controlPlaneEndpoint is {endpoint}: a host and a port that is a number are needed before the first machine"
        )
    status = infrastructure.get("status") or {}
    if (status.get("initialization") or {}).get("provisioned") is not True:
        problems.append("status.initialization.provisioned is not true, though endpoint ended well")
    if not isinstance(status.get("failureDomains") or [], list):
        problems.append("status.failureDomains is no list of {name, controlPlane}")
    if (cluster.get("spec") or {}).get("controlPlaneEndpoint") != endpoint:
        problems.append(f"the Cluster did not take the endpoint over: record it with {RECORD}")
    return problems
