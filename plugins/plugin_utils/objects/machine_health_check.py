# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineHealthCheck: its structure in every form, conversion, defaults and rules.

The forms are those of every Cluster API version.

The names and rules are those of Cluster API's types and of their admission webhook. "classic" is v1alpha3, v1alpha4 and v1beta1 in
one, "hub" is v1beta2, the internal form.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, Union

from ...module_utils.common import settings
from ...module_utils.common.violations import Report, item
from ..documents import names
from ..documents.scalars import format_duration
from ..documents.schema import ListOf, Needed, Refused, Text
from ..kubeadm.configuration import classic_form
from . import conditions, kinds
from .validate import limits, object_selector

_MOST_CONDITIONS = 100
# What a health check or the remediation itself says of a machine, and what is made of all the others.
NOT_CHECKED = (conditions.READY, conditions.AVAILABLE, *conditions.HEALTH_MARKS, "ExternallyRemediated")
_PERCENTAGE = re.compile(r"(100|[1-9]?[0-9])%")
_RANGE = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})\]")
# unhealthyRange came with v1alpha4 and the conditions of Machines with v1beta1, by their index in kinds.MANIFEST_VERSIONS.
_RANGE_SINCE, _MACHINE_CONDITIONS_SINCE = 1, 2
# (name in the classic form, name below spec.checks of the hub form).
_CONDITION_LISTS = (
    ("unhealthyConditions", "unhealthyNodeConditions"),
    ("unhealthyMachineConditions", "unhealthyMachineConditions"),
)

_EXTERNAL = Refused(
    "external remediation is not supported: nothing here makes objects of a remediation template, or waits for whoever would act on them",
    "Remove the reference; an unhealthy machine is removed and replaced by its KubeadmControlPlane.",
)
_EXPRESSIONS = Refused(
    "CEL expressions are not evaluated here", "Use unhealthyNodeConditions and unhealthyMachineConditions."
)
# Any client sets conditions of a Node, and their types are free.
_NODE_CONDITION = {"type": Needed(Text()), "status": Needed(Text()), "timeoutSeconds": Needed("seconds")}
_MACHINE_CONDITION = {
    "type": Needed(limits.CONDITION_TYPE),
    "status": Needed(limits.STATUS),
    "timeoutSeconds": Needed("seconds"),
}
_NODE_CONDITION_CLASSIC = {"type": "string", "status": "string", "timeout": "duration"}
_MACHINE_CONDITION_CLASSIC = {"type": limits.CONDITION_TYPE, "status": limits.STATUS, "timeout": "duration"}
SPEC: Mapping[str, Any] = {
    "hub": {
        "clusterName": Needed(limits.CLUSTER_NAME),
        "selector": Needed(object_selector.SHAPE),
        "checks": {
            "nodeStartupTimeoutSeconds": "seconds",
            "unhealthyNodeConditions": ListOf(_NODE_CONDITION, _MOST_CONDITIONS),
            "unhealthyMachineConditions": ListOf(_MACHINE_CONDITION, _MOST_CONDITIONS),
            "unhealthyExpressions": _EXPRESSIONS,
        },
        "remediation": {
            "triggerIf": {"unhealthyLessThanOrEqualTo": "intOrString", "unhealthyInRange": limits.RANGE},
            "templateRef": _EXTERNAL,
        },
    },
    "classic": {
        "clusterName": limits.CLUSTER_NAME,
        "selector": object_selector.SHAPE,
        "unhealthyConditions": ListOf(_NODE_CONDITION_CLASSIC, _MOST_CONDITIONS),
        "unhealthyMachineConditions": ListOf(_MACHINE_CONDITION_CLASSIC, _MOST_CONDITIONS),
        "maxUnhealthy": "intOrString",
        "unhealthyRange": limits.RANGE,
        "nodeStartupTimeout": "duration",
        "remediationTemplate": _EXTERNAL,
    },
}
HINTS: Mapping[str, Mapping[str, str]] = {
    "hub": {
        "unhealthyConditions": "In v1beta2 this is spec.checks.unhealthyNodeConditions, with timeoutSeconds.",
        "unhealthyMachineConditions": "In v1beta2 this is in spec.checks, with timeoutSeconds.",
        "nodeStartupTimeout": "In v1beta2 this is spec.checks.nodeStartupTimeoutSeconds.",
        "maxUnhealthy": "In v1beta2 this is spec.remediation.triggerIf.unhealthyLessThanOrEqualTo.",
        "unhealthyRange": "In v1beta2 this is spec.remediation.triggerIf.unhealthyInRange.",
        "remediationTemplate": "External remediation is not supported; remove it.",
        "timeout": "In v1beta2 this is timeoutSeconds, a number.",
    },
    "classic": {
        "checks": "In v1beta1 and before its fields are directly in spec; unhealthyNodeConditions is unhealthyConditions.",
        "remediation": "In v1beta1 and before these are spec.maxUnhealthy and spec.unhealthyRange.",
        "timeoutSeconds": 'In v1beta1 and before this is timeout, a duration such as "5m".',
    },
}


def from_classic(spec: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the hub form of a checked classic spec.

    Durations that are no whole seconds go to `report`.
    """
    hub = {key: spec[key] for key in ("clusterName", "selector") if key in spec}
    checks: dict[str, Any] = {}
    if "nodeStartupTimeout" in spec:
        where = "spec.nodeStartupTimeout"
        checks["nodeStartupTimeoutSeconds"] = classic_form.whole_seconds(spec["nodeStartupTimeout"], where, report)
        report.moved("spec.checks.nodeStartupTimeoutSeconds", where)
    for name, hub_name in _CONDITION_LISTS:
        if name in spec:
            report.moved(f"spec.checks.{hub_name}", f"spec.{name}")
            checks[hub_name] = [
                _condition_from_classic(
                    entry, item(f"spec.{name}", index), item(f"spec.checks.{hub_name}", index), report
                )
                for index, entry in enumerate(spec[name])
            ]
    trigger: dict[str, Any] = {}
    for name, hub_name in (("maxUnhealthy", "unhealthyLessThanOrEqualTo"), ("unhealthyRange", "unhealthyInRange")):
        if name in spec:
            trigger[hub_name] = spec[name]
        report.moved(f"spec.remediation.triggerIf.{hub_name}", f"spec.{name}")
    if checks:
        hub["checks"] = checks
    if trigger:
        hub["remediation"] = {"triggerIf": trigger}
    return hub


def _condition_from_classic(entry: Mapping[str, Any], written: str, hub: str, report: Report) -> dict[str, Any]:
    condition = {key: entry[key] for key in ("type", "status") if key in entry}
    report.moved(f"{hub}.timeoutSeconds", f"{written}.timeout")
    if "timeout" in entry:
        condition["timeoutSeconds"] = classic_form.whole_seconds(entry["timeout"], f"{written}.timeout", report)
    return condition


def to_classic(spec: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return a hub spec in an older version.

    `version` is the index in kinds.MANIFEST_VERSIONS; what that version has no place for is left out.
    """
    written = {key: copy.deepcopy(spec[key]) for key in ("clusterName", "selector") if key in spec}
    checks = spec.get("checks") or {}
    trigger = (spec.get("remediation") or {}).get("triggerIf") or {}
    if checks.get("nodeStartupTimeoutSeconds") is not None:
        written["nodeStartupTimeout"] = format_duration(checks["nodeStartupTimeoutSeconds"])
    for name, hub_name in _CONDITION_LISTS:
        of_machine = name == "unhealthyMachineConditions"
        if checks.get(hub_name) is not None and (version >= _MACHINE_CONDITIONS_SINCE or not of_machine):
            written[name] = [_condition_to_classic(each) for each in checks[hub_name]]
    if trigger.get("unhealthyLessThanOrEqualTo") is not None:
        written["maxUnhealthy"] = trigger["unhealthyLessThanOrEqualTo"]
    if trigger.get("unhealthyInRange") is not None and version >= _RANGE_SINCE:
        written["unhealthyRange"] = trigger["unhealthyInRange"]
    return written


def _condition_to_classic(entry: Mapping[str, Any]) -> dict[str, Any]:
    condition = {key: entry[key] for key in ("type", "status") if key in entry}
    if entry.get("timeoutSeconds") is not None:
        condition["timeout"] = format_duration(entry["timeoutSeconds"])
    return condition


def default_health_check(health_check: dict[str, Any]) -> None:
    """Set the defaults of a MachineHealthCheck, in place.

    They are ten minutes for a machine to get its Node, and the label that leads from the Cluster to it.
    """
    spec = health_check["spec"]
    checks = spec.setdefault("checks", {})
    checks.setdefault("nodeStartupTimeoutSeconds", settings.NODE_STARTUP_SECONDS)
    if spec.get("clusterName"):
        labels = health_check["metadata"].setdefault("labels", {})
        labels[kinds.LABEL_CLUSTER_NAME] = spec["clusterName"]


def validate_health_check(health_check: Mapping[str, Any], report: Report) -> None:
    """Check every rule for a defaulted hub MachineHealthCheck."""
    name, spec = health_check["metadata"]["name"], health_check["spec"]
    if not names.is_dns_subdomain(name):
        report.add("metadata.name", name, "this is not an RFC 1123 name", "Use lower case letters, digits and '-'.")
    selector = spec.get("selector") or {}
    if object_selector.is_empty(selector):
        rule = "the selector is empty: it would select every machine by accident"
        fix = f'Select labels of machines; all of a control plane have matchLabels {{{kinds.LABEL_CONTROL_PLANE}: ""}}.'
        report.add("spec.selector", None, rule, fix)
    object_selector.validate(selector, "spec.selector", report)
    checks = spec.get("checks") or {}
    startup = checks.get("nodeStartupTimeoutSeconds")
    if startup is not None and 0 < startup < settings.SHORTEST_NODE_STARTUP_SECONDS:
        rule = f"a machine needs at least {settings.SHORTEST_NODE_STARTUP_SECONDS} seconds to get its Node"
        report.add(
            "spec.checks.nodeStartupTimeoutSeconds", startup, rule, "Write 30 seconds or more, or 0 for no limit."
        )
    for field in ("unhealthyNodeConditions", "unhealthyMachineConditions"):
        path, listed = f"spec.checks.{field}", checks.get(field) or []
        for index, entry in enumerate(listed):
            _condition(entry, item(path, index), field == "unhealthyMachineConditions", report)
    _trigger((spec.get("remediation") or {}).get("triggerIf") or {}, "spec.remediation.triggerIf", report)


def _condition(entry: Mapping[str, Any], path: str, of_machine: bool, report: Report) -> None:
    kind, status = entry.get("type"), entry.get("status")
    if not kind:
        report.add(f"{path}.type", None, "the condition has no type", "Name it, such as Ready.")
    elif of_machine and kind in NOT_CHECKED:
        rule = "this condition of a Machine is made of others, or of health checks themselves"
        report.add(f"{path}.type", kind, rule, "Use the condition behind it, such as NodeHealthy or EtcdMemberHealthy.")
    if status not in conditions.STATUSES:
        rule = f"a condition's status is one of {', '.join(conditions.STATUSES)}"
        report.add(f"{path}.status", status, rule, "Write it as text, in quotes.")
    if entry.get("timeoutSeconds") is None:
        rule = "the condition has no timeout: a short disturbance would cost a machine"
        report.add(f"{path}.timeoutSeconds", None, rule, "Say for how long it must have been so, such as 300 seconds.")


def _trigger(trigger: Mapping[str, Any], path: str, report: Report) -> None:
    limit = trigger.get("unhealthyLessThanOrEqualTo")
    wrong = isinstance(limit, int) and limit < 0
    if wrong or (isinstance(limit, str) and not _PERCENTAGE.fullmatch(limit)):
        rule = "this is neither a number of machines nor a percentage"
        report.add(
            f"{path}.unhealthyLessThanOrEqualTo", limit, rule, 'Write a number such as 1, or text such as "40%".'
        )
    span = trigger.get("unhealthyInRange")
    if span is None:
        return
    found = unhealthy_range(span)
    if found is None or found[0] > found[1]:
        rule = "this is not a range of numbers of machines"
        report.add(f"{path}.unhealthyInRange", span, rule, 'Write the smaller number first, such as "[1-2]".')


def unhealthy_range(text: Any) -> Union[tuple[int, int], None]:
    """Return the bounds of a range such as "[3-5]", else None."""
    match = _RANGE.fullmatch(text) if isinstance(text, str) else None
    return (int(match.group(1)), int(match.group(2))) if match else None


def unhealthy_limit(limit: Any, total: int) -> Union[int, None]:
    """Return a number of machines from a number or a percentage.

    The percentage is of `total` and rounded down; None where it is neither.
    """
    if isinstance(limit, int) and not isinstance(limit, bool):
        return limit
    if isinstance(limit, str) and _PERCENTAGE.fullmatch(limit):
        return total * int(limit[:-1]) // 100
    return None
