# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that belong to a Cluster without a reference from it.

Its Secrets, MachineHealthChecks and ClusterResourceSets, with what these apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....module_utils.common.violations import Report
from ...documents.yaml_files import Document
from .. import kinds, machine_health_check
from ..resource_sets import cluster_resource_set, contents
from ..validate import cluster as validate_cluster
from ..validate import control_plane as validate
from .related import Index

# Converts a document, and gives its report for further violations.
Take = Callable[[Document], tuple[dict[str, Any], Report]]
Default = Callable[[dict[str, Any]], object]
Validate = Callable[[dict[str, Any], Report], None]


def secrets(cluster: Document, index: Index, take: Take) -> Iterable[dict[str, Any]]:
    """Yield the Cluster's own Secrets, validated."""
    for found in index.secrets(cluster):
        secret, report = take(found)
        validate_cluster.validate_secret(secret, report)
        yield secret


def health_checks(cluster: Document, index: Index, take: Take) -> Iterable[dict[str, Any]]:
    """Yield the Cluster's MachineHealthChecks, defaulted and validated."""
    rules = (machine_health_check.default_health_check, machine_health_check.validate_health_check)
    return _read(index.health_checks(cluster), take, *rules)


def resource_sets(cluster: Document, index: Index, take: Take) -> Iterable[dict[str, Any]]:
    """Yield the ClusterResourceSets that select the Cluster, defaulted and validated."""
    rules = (cluster_resource_set.default_resource_set, cluster_resource_set.validate_resource_set)
    return _read(index.resource_sets(cluster), take, *rules)


def _read(
    documents: Iterable[Document], take: Take, default: Default, validate_one: Validate
) -> Iterable[dict[str, Any]]:
    for found in documents:
        read, report = take(found)
        default(read)
        validate.metadata_rules(read["metadata"], "metadata", report)
        validate_one(read, report)
        yield read


def resources(cluster: Document, index: Index, take: Take) -> Iterable[dict[str, Any]]:
    """Yield the ConfigMaps and Secrets that these sets name, validated.

    What can't be applied for its form is reported before anything is created; what an API server thinks of it, only that one can say.
    """
    own = set(index.secrets(cluster))
    for found in index.resources(cluster):
        if found in own:
            # By its label: read with the Cluster's own already.
            continue
        resource, report = take(found)
        validate.metadata_rules(resource["metadata"], "metadata", report)
        if found.kind == kinds.SECRET:
            validate_cluster.validate_secret(resource, report)
            _wrong_type(resource, report)
        _documents(resource, report)
        yield resource


def _wrong_type(secret: Mapping[str, Any], report: Report) -> None:
    if secret.get("type") != kinds.RESOURCE_SET_SECRET_TYPE:
        rule = "a ClusterResourceSet names this Secret, and applies none of this type"
        report.add("type", secret.get("type"), rule, f"Give it the type {kinds.RESOURCE_SET_SECRET_TYPE}.")


def _documents(resource: Mapping[str, Any], report: Report) -> None:
    if report.violations:
        return
    for each in contents.documents(resource)[1]:
        where = each.source.rpartition(":")[2]
        line = f"line {where} of this value: " if where.isdigit() else ""
        report.add(each.path, None, f"{line}{each.rule}", each.fix)
