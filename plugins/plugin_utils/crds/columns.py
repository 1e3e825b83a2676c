# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Columns in which kubectl shows the stored kinds."""

from __future__ import annotations

from collections.abc import Sequence

from ..objects.resource_sets import cluster_resource_set

# The priority of columns that kubectl shows with -o wide alone.
_WIDE = 10
AGE = ("Age", "date", ".metadata.creationTimestamp", 0)
# An API server that can't read a path shows no column at all; a dot within a name is escaped.
_CLUSTER_COLUMN = ("Cluster", "string", r".metadata.labels['cluster\.x-k8s\.io/cluster-name']", 0)
Column = tuple[str, str, str, int]


def _condition(column: str, condition: str, priority: int = 0) -> Column:
    return (column, "string", f'.status.conditions[?(@.type=="{condition}")].status', priority)


def _address(column: str, kind: str) -> Column:
    return (column, "string", f'.status.addresses[?(@.type=="{kind}")].address', _WIDE)


# Cluster API's columns, in its words and its order; two of a name are two of its own. What is never told here has none: ClusterClass.
_PAUSED = _condition("Paused", "Paused", _WIDE)
_REPLICAS: Sequence[Column] = (
    ("Desired", "integer", ".spec.replicas", 0),
    ("Current", "integer", ".status.replicas", 0),
    ("Ready", "integer", ".status.readyReplicas", 0),
    ("Available", "integer", ".status.availableReplicas", 0),
    ("Up-to-date", "integer", ".status.upToDateReplicas", 0),
)
CONTROL_PLANE: Sequence[Column] = (
    _CLUSTER_COLUMN,
    _condition("Available", "Available"),
    *_REPLICAS,
    _PAUSED,
    ("Initialized", "boolean", ".status.initialization.controlPlaneInitialized", 0),
    AGE,
    ("Version", "string", ".spec.version", 0),
)
MACHINE: Sequence[Column] = (
    ("Cluster", "string", ".spec.clusterName", 0),
    ("Node Name", "string", ".status.nodeRef.name", 0),
    ("Provider ID", "string", ".spec.providerID", _WIDE),
    ("Failure domain", "string", ".status.failureDomain", 0),
    _condition("Ready", "Ready"),
    _condition("Available", "Available"),
    _condition("Up-to-date", "UpToDate"),
    _address("Internal-IP", "InternalIP"),
    _address("External-IP", "ExternalIP"),
    ("OS-Image", "string", ".status.nodeInfo.osImage", _WIDE),
    _PAUSED,
    ("Phase", "string", ".status.phase", 0),
    AGE,
    ("Version", "string", ".spec.version", 0),
)
CLUSTER: Sequence[Column] = (
    _condition("Available", "Available"),
    ("CP Desired", "integer", ".status.controlPlane.desiredReplicas", 0),
    ("CP Current", "integer", ".status.controlPlane.replicas", _WIDE),
    ("CP Ready", "integer", ".status.controlPlane.readyReplicas", _WIDE),
    ("CP Available", "integer", ".status.controlPlane.availableReplicas", 0),
    ("CP Up-to-date", "integer", ".status.controlPlane.upToDateReplicas", 0),
    ("W Desired", "integer", ".status.workers.desiredReplicas", 0),
    ("W Current", "integer", ".status.workers.replicas", _WIDE),
    ("W Ready", "integer", ".status.workers.readyReplicas", _WIDE),
    ("W Available", "integer", ".status.workers.availableReplicas", 0),
    ("W Up-to-date", "integer", ".status.workers.upToDateReplicas", 0),
    # This collection's own.
    ("CP Endpoint", "string", ".spec.controlPlaneEndpoint.host", _WIDE),
    _PAUSED,
    ("Phase", "string", ".status.phase", 0),
    AGE,
)
CHECK: Sequence[Column] = (
    ("Cluster", "string", ".spec.clusterName", 0),
    ("Replicas", "integer", ".status.expectedMachines", 0),
    ("Healthy", "integer", ".status.currentHealthy", 0),
    _PAUSED,
    AGE,
)
CONFIG: Sequence[Column] = (
    _CLUSTER_COLUMN,
    _PAUSED,
    ("Data secret created", "string", ".status.initialization.dataSecretCreated", 0),
    AGE,
)
INFRASTRUCTURE: Sequence[Column] = (
    _CLUSTER_COLUMN,
    ("Provisioned", "boolean", ".status.initialization.provisioned", 0),
    ("Address", "string", ".status.addresses[0].address", 1),
    AGE,
)
RESOURCE_SET: Sequence[Column] = (_condition("Applied", cluster_resource_set.CONDITION), _PAUSED, AGE)
OPERATOR: Sequence[Column] = (
    _CLUSTER_COLUMN,
    ("Phase", "string", ".status.phase", 0),
    ("Paused", "boolean", ".status.paused", 0),
    ("Error", "string", ".status.errorMessage", 1),
    AGE,
)
MACHINE_DEPLOYMENT: Sequence[Column] = (
    ("Cluster", "string", ".spec.clusterName", 0),
    _condition("Available", "Available"),
    *_REPLICAS,
    _PAUSED,
    ("Phase", "string", ".status.phase", 0),
    AGE,
    ("Version", "string", ".spec.template.spec.version", 0),
)
MACHINE_SET: Sequence[Column] = (
    ("Cluster", "string", ".spec.clusterName", 0),
    *_REPLICAS,
    _PAUSED,
    AGE,
    ("Version", "string", ".spec.template.spec.version", 0),
)
