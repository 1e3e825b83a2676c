# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterResourceSet: its structure, defaults and rules, and whom it selects.

Every API version has the same fields. Source: Cluster API's types and webhook of addons.cluster.x-k8s.io
(docs/reference/cluster_api.md, "ClusterResourceSets").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common.violations import Report, item
from ...documents import names
from ...documents.schema import ListOf, Needed, Text
from .. import kinds
from ..validate import limits, object_selector

Object = dict[str, Any]
APPLY_ONCE, RECONCILE = "ApplyOnce", "Reconcile"
STRATEGIES = (APPLY_ONCE, RECONCILE)
RESOURCE_KINDS = (kinds.SECRET, kinds.CONFIG_MAP)
MOST_RESOURCES = 100
CONDITION = "ResourcesApplied"

_REFERENCE = {
    "name": Needed(limits.HOST_NAME),
    "kind": Needed(
        Text(
            one_of=RESOURCE_KINDS,
            rule="documents are in ConfigMaps and Secrets alone",
            fix="Write ConfigMap or Secret.",
        )
    ),
}
_FIELDS = {
    "clusterSelector": Needed(object_selector.SHAPE),
    "resources": Needed(ListOf(_REFERENCE, MOST_RESOURCES)),
    "strategy": Text(
        one_of=STRATEGIES,
        rule="there is no such strategy",
        fix=f"Use {APPLY_ONCE}, which is the default, or {RECONCILE}.",
    ),
}
SPEC: Mapping[str, Any] = {"hub": _FIELDS, "classic": _FIELDS}
_BOUND = {
    "name": Needed(limits.HOST_NAME),
    "kind": Needed(Text(one_of=RESOURCE_KINDS)),
    "hash": limits.SHORT,
    "lastAppliedTime": "timestamp",
    "applied": Needed("boolean"),
}
BINDING_SPEC: Mapping[str, Any] = {
    "bindings": ListOf(
        {"clusterResourceSetName": Needed(limits.HOST_NAME), "resources": ListOf(_BOUND, MOST_RESOURCES, least=0)},
        100,
        least=0,
    ),
    "clusterName": Needed(limits.CLUSTER_NAME),
}


def default_resource_set(resource_set: Object) -> None:
    """Set the default of a ClusterResourceSet, in place: it applies once."""
    resource_set["spec"].setdefault("strategy", APPLY_ONCE)


def validate_resource_set(resource_set: Mapping[str, Any], report: Report) -> None:
    """Check every rule for a defaulted hub ClusterResourceSet."""
    name, spec = resource_set["metadata"]["name"], resource_set["spec"]
    if not names.is_dns_subdomain(name):
        report.add("metadata.name", name, "this is not an RFC 1123 name", "Use lower case letters, digits and '-'.")
    selector = spec.get("clusterSelector") or {}
    if object_selector.is_empty(selector):
        report.add(
            "spec.clusterSelector", None, "an empty selector selects no Cluster", "Select labels of the Cluster."
        )
    object_selector.validate(selector, "spec.clusterSelector", report)
    if not spec.get("resources"):
        rule = "the set names nothing that could be applied"
        report.add("spec.resources", None, rule, "Name ConfigMaps or Secrets, each by kind and name.")
    seen = set()
    for index, each in enumerate(spec.get("resources") or []):
        path, key = item("spec.resources", index), (each.get("kind"), each.get("name"))
        for field in ("kind", "name"):
            if not each.get(field):
                report.add(f"{path}.{field}", None, f"the resource has no {field}", "Name a ConfigMap or Secret.")
        if all(key) and key in seen:
            report.add(f"{path}.name", each["name"], "the set names it twice", "Remove one of the two.")
        seen.add(key)


def selects(resource_set: Mapping[str, Any], cluster: Mapping[str, Any]) -> bool:
    """Return whether a set selects a Cluster of its namespace.

    By its labels; both in any form, and not checked yet.
    """
    spec, metadata = resource_set.get("spec"), cluster.get("metadata")
    selector = spec.get("clusterSelector") if isinstance(spec, Mapping) else None
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if not isinstance(selector, Mapping):
        return False
    try:
        return object_selector.selects(selector, labels if isinstance(labels, Mapping) else {})
    except (AttributeError, TypeError):
        # A text where a list or a mapping has to be: what validates it says so.
        return False


def references(resource_set: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (kind, name) of each resource of a set, in order."""
    spec = resource_set.get("spec")
    listed = spec.get("resources") if isinstance(spec, Mapping) else None
    return [
        (each["kind"], each["name"])
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, Mapping) and each.get("kind") in RESOURCE_KINDS and isinstance(each.get("name"), str)
    ]
