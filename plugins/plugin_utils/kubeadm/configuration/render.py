# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of one kubeadm API version, from the hub form (docs/reference/kubeadm.md, "Fields", "Conversion").

Nothing is dropped silently: a value that the version cannot hold becomes the command-line flag that does the same, or a violation
that names the field, the version and the alternative. Leaving out what older kubeadm does anyway loses nothing and is not a violation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.common import kubernetes_facts, kubernetes_versions
from ....module_utils.common.violations import ManifestError, Report, child, item
from ...documents.scalars import format_duration
from . import fields, kinds
from .decode import UNCONVERTED

CONFIG_PATH = "spec.kubeadmConfigSpec"
HEALTH_CHECK = "controlPlaneComponentHealthCheck"


@dataclass(frozen=True)
class Rendered:
    """Documents and flags for one kubeadm API version.

    `documents` for kubeadm's --config file in order; `flags` for what the API version has no field for; `api` number.
    """

    documents: tuple[dict[str, Any], ...]
    flags: tuple[str, ...]
    api: int


@dataclass(frozen=True)
class Target:
    """Target of rendering: the version, and receivers of violations, flags and warnings.

    Flags are by kubeadm command.

    `elsewhere` names the timeouts that another field of the older API carries; `allowed` the paths whose loss was consented to.
    """

    api: int
    version: kubernetes_versions.Version
    report: Report
    command: str = kinds.INIT
    flags: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()
    elsewhere: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """API and Kubernetes version, for messages."""
        return f"{kubernetes_versions.api(self.api).name} (Kubernetes {self.version})"

    def add_flag(self, flag: str) -> None:
        """Add a flag to the command's."""
        self.flags.setdefault(self.command, []).append(flag)

    def lose(self, path: str, value: Any, rule: str, fix: str) -> None:
        """Report a value that is not written anywhere.

        It is a violation, or a warning where its loss is allowed.
        """
        written = self.report.written(path)
        for allowed in self.allowed:
            below = (allowed + ".", allowed + "[")
            if allowed in (path, written) or path.startswith(below) or written.startswith(below):
                self.warnings.append(f"{written}: {rule}. It was left out, as allowed_losses says.")
                return
        self.report.add(path, value, rule, fix)


def init_documents(
    init: Mapping[str, Any],
    cluster: Mapping[str, Any],
    version: str,
    api: int | None = None,
    component_configs: tuple[dict[str, Any], ...] = (),
    report: Report | None = None,
) -> Rendered:
    """Return InitConfiguration and ClusterConfiguration for `kubeadm init` of a Kubernetes version.

    Both are given in the hub form.

    `api` overrides the version's own API number; `component_configs` (KubeletConfiguration, KubeProxyConfiguration) follow untouched.
    With `report` violations are collected there; without it a ManifestError lists them all.
    """
    target = _target(version, api, report, kinds.INIT, HEALTH_CHECK)
    init_document = document(kinds.BY_KEY["initConfiguration"], init, CONFIG_PATH, target)
    cluster_document = document(kinds.BY_KEY["clusterConfiguration"], cluster, CONFIG_PATH, target)
    if target.api < 4:
        set_health_timeout(init, cluster_document)
    return _finish((init_document, cluster_document, *component_configs), target, report)


def join_documents(
    join: Mapping[str, Any], version: str, api: int | None = None, report: Report | None = None
) -> Rendered:
    """Return JoinConfiguration for `kubeadm join` of a Kubernetes version.

    It is given in the hub form; see init_documents.

    Before v1beta4 the health check timeout of a join is the stored ClusterConfiguration's, which init wrote (both are equal by
    rule), so it is not written again.
    """
    target = _target(version, api, report, kinds.JOIN, HEALTH_CHECK, "discovery")
    written = document(kinds.BY_KEY["joinConfiguration"], join, CONFIG_PATH, target)
    if target.api < 4:
        set_discovery_timeout(join, written)
    return _finish((written,), target, report)


def _target(version: str, api: int | None, report: Report | None, command: str, *elsewhere: str) -> Target:
    number = kubernetes_versions.api_version_for(version).number if api is None else api
    report = report if report is not None else Report("kubeadm configuration")
    return Target(number, kubernetes_versions.parse(version), report, command, elsewhere=frozenset(elsewhere))


def _finish(documents: tuple[dict[str, Any], ...], target: Target, report: Report | None) -> Rendered:
    if report is None and target.report.violations:
        raise ManifestError(target.report.violations)
    return Rendered(documents, tuple(target.flags.get(target.command, ())), target.api)


def set_health_timeout(configuration: Mapping[str, Any], cluster_document: dict[str, Any]) -> None:
    """Write a configuration's health check timeout to its older place.

    The configuration is an Init- or JoinConfiguration in the hub form.

    Source: docs/reference/kubeadm.md, "Timeouts".
    """
    seconds = (configuration.get("timeouts") or {}).get(HEALTH_CHECK + "Seconds")
    if seconds is not None:
        cluster_document.setdefault("apiServer", {})["timeoutForControlPlane"] = format_duration(seconds)


def set_discovery_timeout(join: Mapping[str, Any], join_document: dict[str, Any]) -> None:
    """Write a JoinConfiguration's discovery timeout to its older place (docs/reference/kubeadm.md, "Timeouts").

    The JoinConfiguration is in the hub form.
    """
    seconds = (join.get("timeouts") or {}).get("discoverySeconds")
    if seconds is not None:
        join_document.setdefault("discovery", {})["timeout"] = format_duration(seconds)


def document(part: kinds.Part, hub: Mapping[str, Any], root: str, target: Target) -> dict[str, Any]:
    """Return one part of the hub (below `root`) as a document.

    It is of the target's API.
    """
    body = _struct(part.struct, hub, child(root, part.key), target)
    return {"apiVersion": kubernetes_versions.api(target.api).api_version, "kind": part.kind, **body}


def without_document(part: kinds.Part, hub: Mapping[str, Any], root: str, target: Target) -> None:
    """Write a part that the target's API lacks as flags or losses."""
    path = child(root, part.key)
    if part.since > target.api:
        _lose_unconverted(hub, path, target)
        for one in part.struct.fields:
            if hub.get(one.hub_name) is not None:
                _unwritable(one, hub[one.hub_name], child(path, one.hub_name), target)
    elif any(value not in ({}, None) for value in hub.values()):
        target.lose(path, None, f"kubeadm {target.name} has no {part.kind}", part.alternative)


def _struct(struct: fields.Struct, hub: Mapping[str, Any], path: str, target: Target) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for one in struct.fields:
        value = hub.get(one.hub_name) if one.hub else None
        if value is None:
            continue
        where = child(path, one.hub_name)
        if one.since <= target.api <= one.until and (not one.minor or target.version.at_least(one.minor)):
            result[one.name] = _value(one, value, where, target)
        else:
            _unwritable(one, value, where, target)
    for key in hub:
        if key == UNCONVERTED:
            _unconverted(struct, hub[key], path, target, result)
        elif key not in struct.by_hub_name:
            rule = f"kubeadm's {struct.name} has no field of this name"
            target.report.add(child(path, key), None, rule, "Remove it.")
    return result


def _unconverted(
    struct: fields.Struct, kept: Mapping[str, Any], path: str, target: Target, result: dict[str, Any]
) -> None:
    number = kinds.api_number(kept["apiVersion"]) or fields.OLDEST
    for name, value in kept["fields"].items():
        one = struct.by_name.get(name)
        # What the API version itself has (a removed field, a duration finer than the hub's) is right wherever the table says so.
        known = one is not None and one.since <= number <= one.until and one.since <= target.api <= one.until
        if number == target.api or known:
            result.setdefault(name, value)
            continue
        rule = f"this was kept from kubeadm {kubernetes_versions.api(number).name} without being understood, and cannot be written as {target.name}"
        target.lose(
            child(path, name),
            None,
            rule,
            f"Remove it, or write it in a field of {kubernetes_versions.api(target.api).name}.",
        )


def _lose_unconverted(hub: Mapping[str, Any], path: str, target: Target) -> None:
    for name in (hub.get(UNCONVERTED) or {}).get("fields") or {}:
        rule = f"this was kept without being understood, and kubeadm {target.name} has no place for it"
        target.lose(child(path, name), None, rule, "Remove it.")


def _value(one: fields.Field, value: Any, path: str, target: Target) -> Any:
    if one.type == fields.DURATION:
        return format_duration(value)
    if one.type == fields.DAYS:
        return format_duration(value * 24 * 3600)
    if one.type == fields.ARGS and target.api < 4:
        return _arguments(value, path, target)
    struct = one.struct or fields.ENTRIES.get(one.type)
    if struct is None:
        return value
    if one.type == fields.STRUCT:
        return _struct(struct, value, path, target)
    if one.type == fields.STRUCT_MAP:
        return {name: _struct(struct, entry, child(path, name), target) for name, entry in value.items()}
    return [_struct(struct, entry, item(path, index), target) for index, entry in enumerate(value)]


def _arguments(arguments: list[dict[str, Any]], path: str, target: Target) -> dict[str, str]:
    result: dict[str, str] = {}
    for index, argument in enumerate(arguments):
        name = argument.get("name", "")
        _lose_unconverted(argument, item(path, index), target)
        if name in result:
            rule = f"the flag {name!r} is repeated, which kubeadm {target.name} cannot hold (its extraArgs is a map)"
            fix = "Give the flag once (many flags take a comma-separated list), or use Kubernetes 1.31 or newer."
            target.lose(item(path, index), None, rule, fix)
        result[name] = argument.get("value", "")
    return result


def _unwritable(one: fields.Field, value: Any, path: str, target: Target) -> None:
    """Write a field that the target API lacks as a flag.

    Nothing is done where nothing is lost or where the value is moved elsewhere; without a flag its loss is reported.
    """
    if value in one.same_before or value in ({}, [], ""):
        return
    if one.flag == fields.PATCHES_FLAG:
        _lose_unconverted(value, path, target)
        _patches_flag(value, path, target)
    elif one.flag and target.version.at_least(one.flag_since):
        target.add_flag(_flag(one, value))
    elif one.name == "timeouts":
        _timeouts(value, path, target)
    elif one.struct is not None:
        inner_target = dataclasses.replace(target, command=one.command) if one.command else target
        _lose_unconverted(value, path, target)
        for inner in one.struct.fields:
            if value.get(inner.hub_name) is not None:
                _unwritable(inner, value[inner.hub_name], child(path, inner.hub_name), inner_target)
    else:
        _lost(one, value, path, target)


def _flag(one: fields.Field, value: Any) -> str:
    if one.flag == fields.POSITIONAL:
        return str(value)
    if isinstance(value, bool):
        return one.flag if value else f"{one.flag}=false"
    return f"{one.flag}={','.join(value) if isinstance(value, list) else value}"


def _timeouts(value: Mapping[str, Any], path: str, target: Target) -> None:
    _lose_unconverted(value, path, target)
    for inner in fields.TIMEOUTS.fields:
        seconds = value.get(inner.hub_name)
        if seconds is not None and inner.name not in target.elsewhere and seconds not in inner.same_before:
            # The structure came with v1beta4, its fields say nothing of their own.
            _lost(dataclasses.replace(inner, since=4), seconds, child(path, inner.hub_name), target)


def _lost(one: fields.Field, value: Any, path: str, target: Target) -> None:
    if target.api >= one.since and one.minor:
        came = f"it came with Kubernetes 1.{one.minor}"
    else:
        came = f"it came with {kubernetes_versions.api(one.since).name}"
    rule = f"kubeadm {target.name} has no such field ({came}), so the value would be lost"
    fix = one.alternative or "Leave it out, or use a Kubernetes version whose kubeadm has it."
    target.lose(path, value, rule, fix)


def _patches_flag(value: Mapping[str, Any], path: str, target: Target) -> None:
    directory = value.get("directory")
    flag = kubernetes_facts.patches_flag(str(target.version))
    if directory and flag:
        target.add_flag(f"{flag}={directory}")
    elif directory:
        rule = f"kubeadm of Kubernetes {target.version} cannot patch static pods"
        fix = "Use Kubernetes 1.19 or newer, or extraArgs and extraVolumes."
        target.lose(child(path, "directory"), directory, rule, fix)
