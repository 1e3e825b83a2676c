# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of an Action, TaskGroup or Task, independent of the cluster.

Source: docs/reference/kubeadm_operator.md, "Defects".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...module_utils.common.violations import Report
from ..documents import schema
from ..objects import actions
from ..objects.actions import FieldError
from . import kinds
from .custom import plan

# Half of what a file name takes: the names of its TaskGroups, Tasks and Nodes come after it.
NAME_LENGTH = 100
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def validate(obj: Mapping[str, Any]) -> list[FieldError]:
    """Return all errors in an object of the hub form (objects.to_hub)."""
    found = _metadata(obj["metadata"])
    spec = obj["spec"]
    if obj["kind"] == actions.ACTION:
        found += _action(spec)
    elif obj["kind"] == actions.TASK_GROUP:
        found += _unknown(spec, actions.GROUP_FIELDS) + plan.group_errors(spec, "spec")
    else:
        found += plan.task_errors(spec, "spec")
    return found + _flow(obj)


def _metadata(metadata: Mapping[str, Any]) -> list[FieldError]:
    name = metadata.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > NAME_LENGTH:
        rule = f"must be at most {NAME_LENGTH} lower-case letters, digits and '-', with a letter or digit at both ends"
        return [FieldError("metadata.name", name, rule, "Its TaskGroups and Tasks are named after it.")]
    return []


def _unknown(spec: Mapping[str, Any], known: tuple[str, ...]) -> list[FieldError]:
    return [
        FieldError(f"spec.{key}", None, f"there is no such field (there are: {', '.join(known)})", "Correct its name.")
        for key in sorted(set(spec) - set(known))
    ]


def _action(spec: Mapping[str, Any]) -> list[FieldError]:
    asked = [each for each in actions.ACTIONS if spec.get(each) is not None]
    unknown = _unknown(spec, actions.ACTION_FIELDS)
    if len(asked) > 1:
        rule = f"asks for {len(asked)} actions at once ({', '.join(asked)}), an Action is exactly one"
        return [
            *unknown,
            FieldError("spec", None, rule, "Make each an Action of its own, and run one after the other."),
        ]
    if not asked:
        rule = f"asks for no action that is known: exactly one of {', '.join(actions.ACTIONS)}"
        return [*unknown, FieldError("spec", None, rule, "Write such as: spec: {renewCertificates: {}}.")]
    value, path = spec[asked[0]], f"spec.{asked[0]}"
    if not isinstance(value, Mapping):
        return [*unknown, FieldError(path, None, "must be a mapping", "Write {} where there is nothing to say.")]
    return unknown + kinds.planner_of(asked[0]).validate(value, path)


def _flow(obj: Mapping[str, Any]) -> list[FieldError]:
    spec, described = obj["spec"], actions.SPECS[obj["kind"]]
    fields = {key: described[key] for key in actions.FLOW_FIELDS if key in described}
    report = Report(actions.label(obj))
    schema.check({key: spec[key] for key in fields if key in spec}, fields, "spec", report)
    found = [FieldError(each.path, each.value, each.rule, each.fix) for each in report.violations]
    for key, known in (("executionMode", actions.MODES), ("recoveryMode", actions.RECOVERIES)):
        value = spec.get(key)
        if value not in (None, "", *known):
            rule = f"must be one of {', '.join(known)}"
            found.append(FieldError(f"spec.{key}", value, rule, "Correct it, or leave it out."))
    return found
