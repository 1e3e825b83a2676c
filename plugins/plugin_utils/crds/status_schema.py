# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status fields of the stored kinds: Cluster API's v1beta2 and older.

The older ones are those of the older contract.

Source: the control plane contract (docs/reference/cluster_api.md, "Proposals and contract").

A status may hold more than is described (``structural.open_schema_of``); what is described has its type checked by the API server
and can be selected by printer columns and by the scale subresource.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.workload_api.trim import NODE_INFO
from ..documents.schema import MapOf
from ..objects.instance_data.machine_data import RECORDED
from ..objects.validate import limits

_CONDITION = {
    "type": "string",
    "status": "string",
    "reason": "string",
    "message": "string",
    "lastTransitionTime": "timestamp",
    "observedGeneration": "int64",
}
# The old contract's conditions have a severity; their status and type are the same.
_OLD_CONDITION = {**_CONDITION, "severity": "string"}
_COMMON: Mapping[str, Any] = {"conditions": [_CONDITION], "observedGeneration": "int64", "phase": "string"}
_FAILURE = {"failureReason": "string", "failureMessage": "string"}
_OLD = {"conditions": [_OLD_CONDITION], **_FAILURE}
_COUNTERS = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
_OLD_COUNTERS = dict.fromkeys(("updatedReplicas", "readyReplicas", "unavailableReplicas"), "integer")
_ADDRESSES = [{"type": "string", "address": "string"}]

_DELETION = (
    "nodeDrainStartTime",
    "waitForNodeVolumeDetachStartTime",
    "waitForPreDrainHookStartTime",
    "waitForPreTerminateHookStartTime",
)

CLUSTER: Mapping[str, Any] = {
    **_COMMON,
    "initialization": {"infrastructureProvisioned": "boolean", "controlPlaneInitialized": "boolean"},
    "failureDomains": [{"name": "string", "controlPlane": "boolean", "attributes": MapOf("string")}],
    "controlPlane": dict.fromkeys(("desiredReplicas", *_COUNTERS), "integer"),
    "controlPlaneReady": "boolean",
    "workers": dict.fromkeys(("desiredReplicas", *_COUNTERS), "integer"),
    **_FAILURE,
    "deprecated": {"v1beta1": _OLD},
}
CONTROL_PLANE: Mapping[str, Any] = {
    **_COMMON,
    "initialization": {"controlPlaneInitialized": "boolean"},
    "selector": "string",
    **dict.fromkeys(_COUNTERS, "integer"),
    "version": "string",
    "versions": [{"version": "string", "replicas": "integer"}],
    "lastRemediation": {"machine": "string", "time": "timestamp", "retryCount": "integer"},
    "externalManagedControlPlane": "boolean",
    "initialized": "boolean",
    "ready": "boolean",
    "updatedReplicas": "integer",
    "unavailableReplicas": "integer",
    **_FAILURE,
    "deprecated": {"v1beta1": {**_OLD, **_OLD_COUNTERS}},
}
MACHINE: Mapping[str, Any] = {
    **_COMMON,
    "initialization": {"infrastructureProvisioned": "boolean", "bootstrapDataSecretCreated": "boolean"},
    "nodeRef": {"name": "string", "uid": "string"},
    "nodeInfo": {**dict.fromkeys(NODE_INFO, "string"), "swap": {"capacity": "int64"}},
    "addresses": _ADDRESSES,
    "failureDomain": limits.SHORT,
    "certificatesExpiryDate": "timestamp",
    "lastUpdated": "timestamp",
    "deletion": dict.fromkeys(_DELETION, "timestamp"),
    "deprecated": {"v1beta1": _OLD},
}
KUBEADM_CONFIG: Mapping[str, Any] = {
    **_COMMON,
    "initialization": {"dataSecretCreated": "boolean"},
    "dataSecretName": "string",
}
MACHINE_HEALTH_CHECK: Mapping[str, Any] = {
    **_COMMON,
    "expectedMachines": "integer",
    "currentHealthy": "integer",
    "remediationsAllowed": "integer",
    "targets": ["string"],
}
MACHINE_SET: Mapping[str, Any] = {
    **_COMMON,
    "selector": "string",
    **dict.fromkeys(_COUNTERS, "integer"),
    "versions": [{"version": "string", "replicas": "integer"}],
    "deprecated": {
        "v1beta1": {
            **_OLD,
            **dict.fromkeys(("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), "integer"),
        }
    },
}
MACHINE_DEPLOYMENT: Mapping[str, Any] = {
    **MACHINE_SET,
    "deprecated": {"v1beta1": {**_OLD, **_OLD_COUNTERS, "availableReplicas": "integer"}},
}
CLUSTER_RESOURCE_SET: Mapping[str, Any] = {**_COMMON, "deprecated": {"v1beta1": _OLD}}
INFRASTRUCTURE_CLUSTER: Mapping[str, Any] = {
    **_COMMON,
    "initialization": {"provisioned": "boolean"},
    "failureDomains": [{"name": "string", "controlPlane": "boolean", "attributes": MapOf("string")}],
    "endpointIsUnused": "boolean",
}
INFRASTRUCTURE_MACHINE: Mapping[str, Any] = {
    **_COMMON,
    **_FAILURE,
    "initialization": {"provisioned": "boolean"},
    "addresses": _ADDRESSES,
    "failureDomain": "string",
    "instanceData": dict.fromkeys(RECORDED, "string"),
}
