# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the hub form to the documents of one kubeadm API version (kubeadm.md B2, B3).

Nothing is dropped silently: a value that the version cannot hold becomes the command-line flag that does the same, or a violation
that names the field, the version and the alternative. Leaving out what older kubeadm does anyway loses nothing and is not a violation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm import facts, fields, versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.errors import (
    ManifestError,
    Report,
    child,
    item,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.scalars import format_duration

CONFIG_PATH = "spec.kubeadmConfigSpec"


@dataclass(frozen=True)
class Rendered:
    """`documents` for kubeadm's --config file in order; `flags` for what the API version has no field for; `api` number."""

    documents: tuple[dict[str, Any], ...]
    flags: tuple[str, ...]
    api: int


@dataclass(frozen=True)
class _Target:
    """What is written for: the API number, the Kubernetes version, where violations and flags go."""

    api: int
    version: str
    report: Report
    flags: list[str]


def init_documents(
    init: Mapping[str, Any],
    cluster: Mapping[str, Any],
    version: str,
    api: int | None = None,
    component_configs: tuple[dict[str, Any], ...] = (),
    report: Report | None = None,
) -> Rendered:
    """InitConfiguration and ClusterConfiguration (hub) for `kubeadm init` of a Kubernetes version.

    `api` overrides the version's own API number; `component_configs` (KubeletConfiguration, KubeProxyConfiguration) follow untouched.
    With `report` violations are collected there; without it a ManifestError lists them all.
    """
    target = _target(version, api, report)
    init_document = _document(fields.INIT_CONFIGURATION, init, f"{CONFIG_PATH}.initConfiguration", target)
    cluster_document = _document(fields.CLUSTER_CONFIGURATION, cluster, f"{CONFIG_PATH}.clusterConfiguration", target)
    if target.api < 4:
        _health_timeout(init, cluster_document)
    return _finish((init_document, cluster_document, *component_configs), target, report)


def join_documents(
    join: Mapping[str, Any], version: str, api: int | None = None, report: Report | None = None
) -> Rendered:
    """JoinConfiguration (hub) for `kubeadm join` of a Kubernetes version; see init_documents.

    Before v1beta4 the health check timeout of a join is the stored ClusterConfiguration's, which init wrote (both are equal by
    rule), so it is not written again.
    """
    target = _target(version, api, report)
    document = _document(fields.JOIN_CONFIGURATION, join, f"{CONFIG_PATH}.joinConfiguration", target)
    discovery = (join.get("timeouts") or {}).get("discoverySeconds")
    if target.api < 4 and discovery is not None:
        document.setdefault("discovery", {})["timeout"] = format_duration(discovery)
    return _finish((document,), target, report)


def _target(version: str, api: int | None, report: Report | None) -> _Target:
    number = versions.api_version_for(version).number if api is None else api
    return _Target(number, version, report if report is not None else Report("kubeadm configuration"), [])


def _finish(documents: tuple[dict[str, Any], ...], target: _Target, report: Report | None) -> Rendered:
    if report is None and target.report.violations:
        raise ManifestError(target.report.violations)
    return Rendered(documents, tuple(target.flags), target.api)


def _document(struct: fields.Struct, hub: Mapping[str, Any], path: str, target: _Target) -> dict[str, Any]:
    return {
        "apiVersion": fields.api_version(target.api),
        "kind": struct.name,
        **_struct(struct, hub, path, target),
    }


def _struct(struct: fields.Struct, hub: Mapping[str, Any], path: str, target: _Target) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for field in struct.fields:
        if not field.hub or hub.get(field.hub_name) is None:
            continue
        value, where = hub[field.hub_name], child(path, field.hub_name)
        if target.api >= field.since:
            result[field.name] = _value(field, value, where, target)
        else:
            _unwritable(field, value, where, target)
    known = {field.hub_name for field in struct.fields if field.hub}
    for key in hub:
        if key not in known:
            rule = f"kubeadm's {struct.name} has no field of this name"
            target.report.add(child(path, key), None, rule, "Remove it.")
    return result


def _value(field: fields.Field, value: Any, path: str, target: _Target) -> Any:
    if field.type == fields.STRUCTS and field.struct is not None:
        return [_struct(field.struct, one, item(path, index), target) for index, one in enumerate(value)]
    if field.struct is not None:
        return _struct(field.struct, value, path, target)
    if field.type == fields.ARGS:
        return [dict(argument) for argument in value] if target.api >= 4 else _arguments(value, path, target)
    if field.type == fields.DURATION:
        return format_duration(value)
    if field.type == fields.DAYS:
        return format_duration(value * 24 * 3600)
    return value


def _arguments(arguments: list[dict[str, Any]], path: str, target: _Target) -> dict[str, str]:
    result: dict[str, str] = {}
    for index, argument in enumerate(arguments):
        name = argument.get("name", "")
        if name in result:
            rule = f"the flag {name!r} is repeated, which kubeadm {_names(target)} cannot hold (its extraArgs is a map)"
            fix = "Give the flag once (many flags take a comma-separated list), or use Kubernetes 1.31 or newer."
            target.report.add(item(path, index), None, rule, fix)
        result[name] = argument.get("value", "")
    return result


def _unwritable(field: fields.Field, value: Any, path: str, target: _Target) -> None:
    """A field that the target API does not have: nothing to lose, a flag, a move done elsewhere, or a violation."""
    if value in field.same_before or value in ({}, []):
        return
    if field.flag == "patches":
        _patches_flag(value, path, target)
    elif field.flag:
        target.flags.append(field.flag if value is True else f"{field.flag}={','.join(value)}")
    elif field.name == "timeouts":
        _timeouts(value, path, target)
    elif field.struct is not None:
        for inner in field.struct.fields:
            if value.get(inner.hub_name) is not None:
                _unwritable(inner, value[inner.hub_name], child(path, inner.hub_name), target)
    else:
        _lost(field, value, path, target)


def _timeouts(value: Mapping[str, Any], path: str, target: _Target) -> None:
    # Both have a field of their own in the older API: apiServer.timeoutForControlPlane and a join's discovery.timeout.
    moved = {"controlPlaneComponentHealthCheck", "discovery" if ".joinConfiguration" in path else ""}
    for inner in fields.TIMEOUTS.fields:
        seconds = value.get(inner.hub_name)
        if seconds is not None and inner.name not in moved and seconds not in inner.same_before:
            _lost(inner, seconds, child(path, inner.hub_name), target)


def _lost(field: fields.Field, value: Any, path: str, target: _Target) -> None:
    rule = f"kubeadm {_names(target)} has no such field (it came with v1beta{field.since}), so the value would be lost"
    target.report.add(
        path, value, rule, field.alternative or "Leave it out, or use a Kubernetes version whose kubeadm has it."
    )


def _patches_flag(value: Mapping[str, Any], path: str, target: _Target) -> None:
    directory = value.get("directory")
    flag = facts.patches_flag(target.version)
    if directory and flag:
        target.flags.append(f"{flag}={directory}")
    elif directory:
        rule = f"kubeadm of Kubernetes {target.version} cannot patch static pods"
        target.report.add(
            child(path, "directory"), directory, rule, "Use Kubernetes 1.19 or newer, or extraArgs and extraVolumes."
        )


def _health_timeout(init: Mapping[str, Any], cluster_document: dict[str, Any]) -> None:
    seconds = (init.get("timeouts") or {}).get("controlPlaneComponentHealthCheckSeconds")
    if seconds is not None:
        cluster_document.setdefault("apiServer", {})["timeoutForControlPlane"] = format_duration(seconds)


def _names(target: _Target) -> str:
    return f"v1beta{target.api} (Kubernetes {target.version})"
