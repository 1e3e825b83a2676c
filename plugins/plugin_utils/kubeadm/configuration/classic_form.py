# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of kubeadm structures from Cluster API's classic form to the hub.

The values have been checked against their description (objects/structures.py); what is left are names, durations, arguments and the
removed fields, which are moved to their successors (docs/reference/kubeadm.md, "Conversion").

Reading kubeadm's own documents goes through the same functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import Report, child, item
from ...documents.scalars import parse_duration
from . import fields


def whole_seconds(text: str, path: str, report: Report) -> int:
    """Return a checked duration in whole seconds.

    A fraction or a negative duration is a violation; it is rounded down then.
    """
    seconds = parse_duration(text) or 0.0
    if seconds < 0 or seconds != int(seconds):
        rule = "the duration is not a whole, positive number of seconds"
        report.unreadable(path, text, rule, 'Write whole seconds, like "90s" or "10m".')
    return max(0, int(seconds))


def structure(struct: fields.Struct, value: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    """Return the hub form of one kubeadm structure in the classic form.

    Removed fields are left to `configuration`.
    """
    result: dict[str, Any] = {}
    for field in struct.fields:
        name = field.name if field.name in value else field.hub_name
        if not field.hub or name not in value:
            continue
        entry, where = value[name], child(path, name)
        if field.type == fields.STRUCTS and field.struct is not None:
            entry = [structure(field.struct, one, item(where, index), report) for index, one in enumerate(entry)]
        elif field.struct is not None:
            entry = structure(field.struct, entry, where, report)
        elif field.type == fields.ARGS and isinstance(entry, dict):
            entry = [{"name": key, "value": entry[key]} for key in sorted(entry)]
            for index, argument in enumerate(entry):
                report.moved(item(where, index), child(where, argument["name"]))
        elif field.type == fields.DURATION and isinstance(entry, str):
            report.moved(child(path, field.hub_name), where)
            entry = whole_seconds(entry, where, report)
        result[field.hub_name] = entry
    return result


def configuration(spec: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    """Return the hub form of a classic KubeadmConfigSpec's three kubeadm parts.

    Its other fields are the caller's.

    timeoutForControlPlane becomes the health check timeout of init and join, discovery.timeout becomes timeouts.discovery
    (kubeadm's own rule; Cluster API's conversion to tlsBootstrap is not followed).

    Source: docs/reference/kubeadm.md, "Cluster API differs in one field".
    """
    result: dict[str, Any] = {}
    for key, struct in (
        ("clusterConfiguration", fields.CLUSTER_CONFIGURATION),
        ("initConfiguration", fields.INIT_CONFIGURATION),
        ("joinConfiguration", fields.JOIN_CONFIGURATION),
    ):
        if key in spec:
            _type_meta(spec[key], struct.name, child(path, key), report)
            result[key] = structure(struct, spec[key], child(path, key), report)
    cluster = spec.get("clusterConfiguration") or {}
    health = (cluster.get("apiServer") or {}).get("timeoutForControlPlane")
    if health is not None:
        written = child(path, "clusterConfiguration", "apiServer", "timeoutForControlPlane")
        seconds = whole_seconds(health, written, report)
        for key in ("initConfiguration", "joinConfiguration"):
            timeouts = result.setdefault(key, {}).setdefault("timeouts", {})
            timeouts["controlPlaneComponentHealthCheckSeconds"] = seconds
            report.moved(child(path, key, "timeouts", "controlPlaneComponentHealthCheckSeconds"), written)
    discovery = ((spec.get("joinConfiguration") or {}).get("discovery") or {}).get("timeout")
    if discovery is not None:
        written = child(path, "joinConfiguration", "discovery", "timeout")
        timeouts = result["joinConfiguration"].setdefault("timeouts", {})
        timeouts["discoverySeconds"] = whole_seconds(discovery, written, report)
        report.moved(child(path, "joinConfiguration", "timeouts", "discoverySeconds"), written)
    _removed(cluster, child(path, "clusterConfiguration"), report)
    return result


def _removed(cluster: Mapping[str, Any], path: str, report: Report) -> None:
    dns = (cluster.get("dns") or {}).get("type")
    if dns not in (None, "", "CoreDNS"):
        rule = "kubeadm sets up CoreDNS only; kube-dns was removed"
        report.unreadable(child(path, "dns", "type"), dns, rule, "Remove the field.")
    if cluster.get("useHyperKubeImage"):
        rule = "kubeadm removed hyperkube images, there is no replacement"
        report.unreadable(
            child(path, "useHyperKubeImage"), True, rule, "Remove the field; images come from imageRepository."
        )


def _type_meta(value: Mapping[str, Any], kind: str, path: str, report: Report) -> None:
    readable = [each.api_version for each in kubernetes_versions.APIS]
    if value.get("apiVersion", readable[0]) not in readable:
        rule = "this is not a kubeadm API version that is read here"
        report.unreadable(
            child(path, "apiVersion"), value["apiVersion"], rule, "Remove apiVersion; the field says what it is."
        )
    if value.get("kind", kind) != kind:
        report.unreadable(
            child(path, "kind"), value["kind"], f"the kind here is {kind}", f"Remove kind, or write {kind}."
        )
