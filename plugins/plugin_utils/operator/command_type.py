# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command type of a Task: name, parameters, and equivalent shell lines.

Source: docs/reference/kubeadm_operator.md, "Commands".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..objects.actions import FieldError
from .planner_types import NodeFacts

STRING = "string"
INTEGER = "integer"
BOOLEAN = "boolean"
STRINGS = "strings"
MAPPING = "mapping"
MAPPINGS = "mappings"
INTEGERS = "integers"

# What a command concerns: its Task's Node; the cluster, whichever Node it is run on; the cluster, with a record of what all control plane
# Nodes have.
NODE, CLUSTER, CONTROL_PLANE = "node", "cluster", "controlPlane"

_TYPES: Mapping[str, tuple[type, str]] = {
    STRING: (str, "text"),
    INTEGER: (int, "a whole number"),
    BOOLEAN: (bool, "true or false"),
    STRINGS: (list, "a list of texts"),
    MAPPING: (dict, "a mapping"),
    MAPPINGS: (list, "a list of mappings"),
    INTEGERS: (list, "a list of whole numbers"),
}


@dataclass(frozen=True)
class Parameter:
    """Parameter of a command.

    ``pattern`` must match a text (each text of a list) as a whole; ``minimum`` holds for numbers.
    """

    type: str = STRING
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    pattern_words: str = ""
    minimum: int | None = None
    secret: bool = False

    def errors(self, value: Any, path: str) -> list[FieldError]:
        """Return the errors in a parameter's value."""
        wanted, words = _TYPES[self.type]
        shown = None if self.secret or isinstance(value, (dict, list)) else value
        right = isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
        texts = value if wanted is list and right else [value]
        part = {STRINGS: str, MAPPINGS: dict, INTEGERS: int}.get(self.type)
        if not right or (part is not None and not all(isinstance(each, part) for each in texts)):
            return [FieldError(path, shown, f"must be {words}", "Correct its type.")]
        if self.choices and any(each not in self.choices for each in texts):
            return [FieldError(path, shown, f"must be one of {', '.join(self.choices)}", "Choose one of them.")]
        if self.pattern and not all(re.fullmatch(self.pattern, each) for each in texts):
            return [
                FieldError(path, shown, f"must be {self.pattern_words or 'of the form ' + self.pattern}", "Correct it.")
            ]
        if self.minimum is not None and any(each < self.minimum for each in texts):
            return [FieldError(path, shown, f"must be at least {self.minimum}", "Give a larger number.")]
        return []


def given_errors(
    known: Mapping[str, Parameter], given: Mapping[str, Any], path: str, owner: str, noun: str = "field"
) -> list[FieldError]:
    """Return the errors in given values.

    They are unknown names, wrong values, and missing required ones.

    ``owner`` is what has the parameters, such as "an upgrade"; ``noun`` is what one of them is called.
    """
    found = []
    for name in sorted(set(given) - set(known)):
        rule = f"{owner} has no such {noun} (it has: {', '.join(sorted(known)) or 'none'})"
        found.append(FieldError(f"{path}.{name}", None, rule, "Remove it, or correct its name."))
    for name, parameter in known.items():
        if given.get(name) is not None:
            found += parameter.errors(given[name], f"{path}.{name}")
        elif parameter.required:
            found.append(FieldError(f"{path}.{name}", None, f"{owner} needs it", "Give it."))
    return found


# (parameters, Node) -> the lines that a person would type. They must not show a secret.
Describe = Callable[[Mapping[str, Any], NodeFacts], "tuple[str, ...]"]
# (parameters, path) -> rules over several parameters.
Check = Callable[[Mapping[str, Any], str], "list[FieldError]"]
# parameters -> whether it holds for them.
Holds = Callable[[Mapping[str, Any]], bool]


def always(parameters: Mapping[str, Any]) -> bool:
    """Return True for any parameters."""
    del parameters
    return True


def never(parameters: Mapping[str, Any]) -> bool:
    """Return False for any parameters."""
    del parameters
    return False


@dataclass(frozen=True)
class Command:
    """Command that a Task may have.

    ``stops_api_server`` is whether a control plane Node's API server, or the etcd that it asks, stops while it runs
    with these parameters. ``scope`` is what it concerns: NODE, CLUSTER or CONTROL_PLANE.
    """

    name: str
    describe: Describe
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    check: Check | None = None
    stops_api_server: Holds = never
    scope: str = NODE

    def errors(self, parameters: Mapping[str, Any], path: str) -> list[FieldError]:
        """Return the errors in the parameters as written."""
        found = given_errors(self.parameters, parameters, path, self.name, "parameter")
        if not found and self.check is not None:
            found += self.check(self.complete(parameters), path)
        return found

    def complete(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters, completed with the defaults of those not given."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return {**{name: each.default for name, each in self.parameters.items()}, **given}
