# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of CustomResourceDefinitions: what Cluster API's webhooks refuse.

The API server itself refuses it by these rules.

Source: docs/reference/cluster_api.md, "Admission rules".

A run checks again what a spec says; these rules say it earlier, to whoever types ``kubectl scale`` or ``kubectl edit``. Rules over
more than one field, or over what was there before, are in CEL, which API servers before 1.25 don't have. Of objects that no manifest
names nothing else knows what was there before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.common import kubernetes_versions
from ..objects import actions as operator
from ..objects import kinds, machine_health_check
from ..objects.resource_sets import cluster_resource_set
from .structural_schema import LIMITS_SINCE_MINOR

Schema = dict[str, Any]

# Validation rules in schemas are on by default from Kubernetes 1.25 on.
CEL_SINCE_MINOR = 25
VERSION_PATTERN = rf"^v?1\.{kubernetes_versions.REST_PATTERN}$"

_EXTERNAL = (
    "(has({0}.kubeadmConfigSpec) && has({0}.kubeadmConfigSpec.clusterConfiguration) && "
    "has({0}.kubeadmConfigSpec.clusterConfiguration.etcd) && has({0}.kubeadmConfigSpec.clusterConfiguration.etcd.external))"
)
_ODD = {
    "rule": "!has(self.replicas) || self.replicas % 2 == 1 || " + _EXTERNAL.format("self"),
    "message": "with etcd on the control plane machines the number of replicas is odd: an even number tolerates no more failures than one fewer",
}
_ETCD = {
    "rule": f"{_EXTERNAL.format('self')} == {_EXTERNAL.format('oldSelf')}",
    "message": "etcd doesn't become external, nor local: its data would be left behind. To have the other kind, make a new cluster",
}
_SURGE = {
    "rule": "!has(self.rollout) || !has(self.rollout.strategy) || !has(self.rollout.strategy.rollingUpdate) || "
    "!has(self.rollout.strategy.rollingUpdate.maxSurge) || string(self.rollout.strategy.rollingUpdate.maxSurge) != '0' || "
    "!has(self.replicas) || self.replicas >= 3",
    "message": "maxSurge 0 needs at least 3 replicas: with fewer, removing first would lose etcd's quorum",
}

# What a KubeadmConfigSpec's clusterConfiguration says once and for all: the pki, the addresses and the names that every Node was made with.
_UNCHANGEABLE = (
    ("networking", "serviceSubnet"),
    ("networking", "podSubnet"),
    ("networking", "dnsDomain"),
    ("clusterName",),
    ("controlPlaneEndpoint",),
    ("certificatesDir",),
)
_SAME = {
    "rule": "self == oldSelf || oldSelf == ''",
    "message": "this can't be changed: restore the old value; to have the new one, make a new cluster",
}
# The one is required and the other has a default: neither can be taken away.
_SET_FOR_GOOD = {"rule": "self == oldSelf", "message": "this can't be changed: to have another one, make another set"}
_NOT_CHECKED = {
    "rule": f"!(self in [{', '.join(map(repr, machine_health_check.NOT_CHECKED))}])",
    "message": "this condition of a Machine is made of others, or of health checks themselves",
}


def with_rules(kind: str, schema: Schema, minor: int) -> Schema:
    """Add a kind's rules to its spec's schema in place; return it.

    Args:
        kind: the kind's name.
        schema: the structural schema of its spec.
        minor: the API server's minor version; 0 where it isn't known, which has no CEL.
    """
    if kind == kinds.KUBEADM_CONTROL_PLANE:
        # A webhook sets this one where Cluster API has one; the other defaults follow when a run reads the object.
        _at(schema, ("replicas",)).update(minimum=1, default=1)
        _at(schema, ("version",)).update(pattern=VERSION_PATTERN)
        _at(schema, ("rollout", "strategy", "type")).update(enum=["RollingUpdate"])
        _at(schema, ("rollout", "before", "certificatesExpiryDays")).update(minimum=7)
        _at(schema, ("remediation", "maxRetry")).update(minimum=0)
        if minor >= CEL_SINCE_MINOR:
            schema["x-kubernetes-validations"] = [dict(_ODD), dict(_SURGE), dict(_ETCD)]
            for path in _UNCHANGEABLE:
                field = _at(schema, ("kubeadmConfigSpec", "clusterConfiguration", *path))
                field["x-kubernetes-validations"] = [dict(_SAME)]
    elif kind == kinds.MACHINE:
        schema.setdefault("required", ["clusterName"])
    elif kind == kinds.MACHINE_HEALTH_CHECK:
        schema.setdefault("required", ["clusterName", "selector"])
        if minor >= LIMITS_SINCE_MINOR:
            listed = _at(schema, ("checks", "unhealthyMachineConditions"))
            _at(listed["items"], ("type",))["x-kubernetes-validations"] = [dict(_NOT_CHECKED)]
    elif kind == kinds.CLUSTER_RESOURCE_SET:
        schema.setdefault("required", ["clusterSelector", "resources"])
        _at(schema, ("strategy",)).update(
            enum=list(cluster_resource_set.STRATEGIES), default=cluster_resource_set.APPLY_ONCE
        )
        if minor >= CEL_SINCE_MINOR:
            for name in ("clusterSelector", "strategy"):
                _at(schema, (name,))["x-kubernetes-validations"] = [dict(_SET_FOR_GOOD)]
    elif kind in operator.KINDS:
        # An empty one means the first.
        _at(schema, ("executionMode",)).update(enum=["", *operator.MODES])
        if kind == operator.TASK:
            _at(schema, ("recoveryMode",)).update(enum=["", *operator.RECOVERIES])
    return schema


def _at(schema: Mapping[str, Any], path: Sequence[str]) -> Schema:
    found: Any = schema
    for name in path:
        found = found["properties"][name]
    result: Schema = found
    return result
