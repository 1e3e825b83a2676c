# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue of all commands by name, and validation of command descriptors.

Source: docs/reference/kubeadm_operator.md, "Commands", "Defects".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ..documents.names import typed_name
from ..objects.actions import FieldError
from . import kinds
from .command_type import Command
from .planner_types import NodeFacts

COMMANDS: Mapping[str, Command] = {each.name: each for module in kinds.modules("commands") for each in module.COMMANDS}


def split(descriptor: Mapping[str, Any]) -> tuple[Command, dict[str, Any]]:
    """Return a valid descriptor's command and its parameters, completed with defaults."""
    ((name, parameters),) = descriptor.items()
    command = COMMANDS[name]
    return command, command.complete(parameters or {})


def descriptor_errors(descriptor: Any, path: str) -> list[FieldError]:
    """Return the errors in a command descriptor.

    A descriptor names exactly one known command, with parameters that the command has.
    """
    if not isinstance(descriptor, Mapping) or not descriptor:
        rule = "must be a mapping of one command's name to its parameters"
        return [FieldError(path, None, rule, "Write such as: preflight: {}.")]
    if len(descriptor) > 1:
        rule = f"names {len(descriptor)} commands ({', '.join(sorted(map(str, descriptor)))}), a descriptor names exactly one"
        return [FieldError(path, None, rule, "Make them entries of their own, in the order they are to run.")]
    ((name, parameters),) = descriptor.items()
    if name not in COMMANDS:
        known = ", ".join(sorted(COMMANDS))
        return [FieldError(f"{path}.{name}", None, "there is no such command", f"Known are: {known}.")]
    if parameters is not None and not isinstance(parameters, Mapping):
        return [FieldError(f"{path}.{name}", None, "its parameters must be a mapping", "Write {} where it has none.")]
    return COMMANDS[name].errors(parameters or {}, f"{path}.{name}")


def describe(descriptors: Sequence[Mapping[str, Any]], node: NodeFacts) -> list[str]:
    """Return the shell lines of these commands on a Node, in order."""
    lines: list[str] = []
    node = dataclasses.replace(node, name=typed_name(node.name, "NODE"))
    for descriptor in descriptors:
        command, parameters = split(descriptor)
        lines += command.describe(parameters, node)
    return lines


def stops_api_server(descriptors: Sequence[Mapping[str, Any]]) -> str:
    """Return the first that stops an API server or etcd, else ""."""
    for descriptor in descriptors:
        # One that another release planned, or a person edited, is refused when its turn comes.
        if not descriptor_errors(descriptor, ""):
            command, parameters = split(descriptor)
            if command.stops_api_server(parameters):
                return command.name
    return ""
