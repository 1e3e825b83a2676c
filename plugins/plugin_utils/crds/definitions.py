# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CustomResourceDefinitions of the stored kinds.

Names, labels, subresources and columns are as the contract asks.

Source: the control plane contract (docs/reference/cluster_api.md, "Proposals and contract").

One version of each kind is served and stored: the internal form, Cluster API's v1beta2. Manifests of older versions are converted
when they are read; an API server would need a webhook for that, and nothing here runs all the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ..documents.schema import MapOf, Needed
from ..objects import actions as operator
from ..objects import kinds, machine_health_check, structures
from ..objects.resource_sets import cluster_resource_set
from ..objects.workers import machine_deployment
from . import columns, crd_names, status_schema, webhook_rules
from .structural_schema import LIMITS_SINCE_MINOR, open_schema_of, schema_of

Object = dict[str, Any]

CATEGORY = "cluster-api"
# Says whose definition it is: one without it is somebody else's, Cluster API's own as a rule, and is never written over.
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "kubeadm.control-plane"
PROVIDER_LABEL = "cluster.x-k8s.io/provider"
# Raised with every release whose definitions differ from the one before: an older release then doesn't write over them.
REVISION = "kubeadm.control-plane/definitions"
REVISION_NUMBER = 5
# Cluster API contract version -> our version of the kind that keeps it.
CONTRACT_LABEL = "cluster.x-k8s.io/v1beta2"


@dataclass(frozen=True)
class Kind:
    """Stored kind: spec and status descriptions, and kubectl columns.

    A status of None: it has none.

    ``open``: its spec may hold more than is described, and null means something there.
    """

    name: str
    provider: str
    spec: Optional[Mapping[str, Any]]
    status: Optional[Mapping[str, Any]]
    short_names: Sequence[str] = ()
    columns: Sequence[columns.Column] = ()
    scale: bool = False
    open: bool = False


_CORE, _CONTROL_PLANE, _BOOTSTRAP = "cluster-api", "control-plane-kubeadm", "bootstrap-kubeadm"
_OPERATOR = "operator-kubeadm"
_TEMPLATE_METADATA = {"labels": MapOf("string"), "annotations": MapOf("string")}


def _template(spec: Any) -> Mapping[str, Any]:
    return {"template": Needed({"metadata": _TEMPLATE_METADATA, "spec": spec})}


def _infrastructure(prefix: str, provider: str) -> tuple[Kind, ...]:
    # A provider's own fields are the provider's to check: every role reads other ones.
    anything: Mapping[str, Any] = {}
    return (
        Kind(
            f"{prefix}Cluster",
            provider,
            anything,
            status_schema.INFRASTRUCTURE_CLUSTER,
            (),
            columns.INFRASTRUCTURE[:2],
        ),
        Kind(f"{prefix}Machine", provider, anything, status_schema.INFRASTRUCTURE_MACHINE, (), columns.INFRASTRUCTURE),
        Kind(f"{prefix}MachineTemplate", provider, _template("object"), None, (), (columns.AGE,)),
    )


KINDS: Sequence[Kind] = (
    Kind(kinds.CLUSTER, _CORE, structures.CLUSTER_SPEC["hub"], status_schema.CLUSTER, ("cl",), columns.CLUSTER),
    Kind(kinds.MACHINE, _CORE, structures.MACHINE_SPEC["hub"], status_schema.MACHINE, ("ma",), columns.MACHINE),
    Kind(
        kinds.MACHINE_HEALTH_CHECK,
        _CORE,
        machine_health_check.SPEC["hub"],
        status_schema.MACHINE_HEALTH_CHECK,
        ("mhc", "mhcs"),
        columns.CHECK,
    ),
    Kind(
        kinds.KUBEADM_CONTROL_PLANE,
        _CONTROL_PLANE,
        structures.CONTROL_PLANE_SPEC["hub"],
        status_schema.CONTROL_PLANE,
        ("kcp",),
        columns.CONTROL_PLANE,
        scale=True,
    ),
    Kind(
        "KubeadmControlPlaneTemplate",
        _CONTROL_PLANE,
        _template(structures.CONTROL_PLANE_TEMPLATE_SPEC),
        None,
        (),
        (columns.AGE,),
    ),
    Kind(
        kinds.KUBEADM_CONFIG,
        _BOOTSTRAP,
        structures.KUBEADM_CONFIG_SPEC["hub"],
        status_schema.KUBEADM_CONFIG,
        (),
        columns.CONFIG,
    ),
    Kind(
        kinds.KUBEADM_CONFIG_TEMPLATE,
        _BOOTSTRAP,
        machine_deployment.CONFIG_TEMPLATE_SPEC["hub"],
        None,
        (),
        (columns.AGE,),
    ),
    Kind(
        kinds.MACHINE_DEPLOYMENT,
        _CORE,
        machine_deployment.SPEC["hub"],
        status_schema.MACHINE_DEPLOYMENT,
        ("md",),
        columns.MACHINE_DEPLOYMENT,
        scale=True,
    ),
    Kind(
        kinds.MACHINE_SET,
        _CORE,
        machine_deployment.SET_SPEC["hub"],
        status_schema.MACHINE_SET,
        ("ms",),
        columns.MACHINE_SET,
        scale=True,
    ),
    Kind(
        kinds.CLUSTER_RESOURCE_SET,
        _CORE,
        cluster_resource_set.SPEC["hub"],
        status_schema.CLUSTER_RESOURCE_SET,
        (),
        columns.RESOURCE_SET,
    ),
    Kind(kinds.CLUSTER_RESOURCE_SET_BINDING, _CORE, cluster_resource_set.BINDING_SPEC, None, (), (columns.AGE,)),
    *_infrastructure("Inventory", "infrastructure-inventory"),
    *_infrastructure("Nspawn", "infrastructure-nspawn"),
    *(
        Kind(each, _OPERATOR, operator.SPECS[each], operator.STATUS, (), columns.OPERATOR, open=True)
        for each in operator.KINDS
    ),
)


# Not among the definitions of release 0.9.0: until `install` is run again, an API server may have all others and lack these.
LATER = frozenset(
    (kinds.group(kinds.api_version(each)), each)
    for each in (
        kinds.CLUSTER_RESOURCE_SET,
        kinds.CLUSTER_RESOURCE_SET_BINDING,
        kinds.MACHINE_DEPLOYMENT,
        kinds.MACHINE_SET,
    )
)
_KNOWN = frozenset((*(kind.name for kind in KINDS), kinds.SECRET, kinds.CONFIG_MAP))


def infrastructure_kinds(prefix: str) -> tuple[Kind, ...]:
    """Return the three kinds of a user's own infrastructure provider.

    ``Acme`` -> AcmeCluster, AcmeMachine, AcmeMachineTemplate.
    """
    return _infrastructure(prefix, f"infrastructure-{prefix.lower()}")


def group_of(kind: str) -> str:
    """Return the API group of a stored kind.

    Every kind that is not named here is an infrastructure kind.
    """
    if kind == "KubeadmControlPlaneTemplate":
        return kinds.GROUP_CONTROL_PLANE
    if kind in operator.KINDS:
        return operator.GROUP
    return kinds.group(kinds.api_version(kind))


def version_of(kind: str) -> str:
    """Return the API version of a stored kind.

    v1beta2; v1beta1 for infrastructure, v1alpha1 for Actions, v1 for what the API server brings.
    """
    if kind in operator.KINDS:
        return operator.VERSION
    if kind == "KubeadmControlPlaneTemplate":
        return kinds.api_version(kinds.KUBEADM_CONTROL_PLANE).rpartition("/")[2]
    return kinds.api_version(kind).rpartition("/")[2]


def is_own(kind_ref: tuple[str, str]) -> bool:
    """Return whether a stored kind (apiGroup, kind) is no other provider's.

    It is this collection's, Cluster API's or the API server's own, in the group that it has here. Any other one is an infrastructure
    provider's, also where its name is one of these.
    """
    group, kind = kind_ref
    return kind in _KNOWN and group == group_of(kind)


def keeps_null(kind: str) -> bool:
    """Return whether null differs from an absent field in a kind.

    In a patch, null removes a field.
    """
    return kind in operator.KINDS


def definition(kind: Kind, minor: int = 0) -> Object:
    """Return a kind's CustomResourceDefinition.

    Args:
        kind: one of ``KINDS``, or of ``infrastructure_kinds``.
        minor: the API server's minor version, which says what rules it can evaluate (``webhook_rules.py``); 0 where it isn't known.
    """
    group, version = group_of(kind.name), version_of(kind.name)
    plural = crd_names.plural(kind.name)
    served: Object = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema(kind, minor)},
        "additionalPrinterColumns": [_column(each) for each in kind.columns],
    }
    if kind.status is not None:
        served["subresources"] = {"status": {}}
    if kind.scale:
        served["subresources"]["scale"] = {
            "labelSelectorPath": ".status.selector",
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
        }
    spelled: Object = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": plural,
        "singular": kind.name.lower(),
        "categories": [CATEGORY],
    }
    if kind.short_names:
        spelled["shortNames"] = list(kind.short_names)
    labels = {MANAGED_BY: MANAGER, PROVIDER_LABEL: kind.provider, "clusterctl.cluster.x-k8s.io": ""}
    if kind.name not in operator.KINDS:
        labels[CONTRACT_LABEL] = version
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": crd_names.crd_name(group, kind.name),
            "labels": labels,
            "annotations": {REVISION: str(REVISION_NUMBER)},
        },
        "spec": {"group": group, "scope": "Namespaced", "names": spelled, "versions": [served]},
    }


# Kinds of Cluster API that are nothing without a spec.
_WITH_SPEC = (*(kind.name for kind in KINDS if kind.provider == _CORE), kinds.KUBEADM_CONTROL_PLANE)


def _schema(kind: Kind, minor: int) -> Object:
    limits = minor >= LIMITS_SINCE_MINOR
    if kind.open and kind.spec:
        described = open_schema_of(kind.spec, limits)
    else:
        described = schema_of(kind.spec if kind.spec else "object", limits)
    if kind.name == kinds.MACHINE and not limits:
        # As in Cluster API: each entry has whoever set it for its manager, so that one of the template can go and a user's stay.
        lists = {"readinessGates": ["conditionType"], "taints": ["key", "effect"]}
        for name, keys in lists.items():
            field = described["properties"][name]
            field.update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys})
            field["items"]["required"] = keys
            field["items"]["properties"].update({key: {"type": "string"} for key in keys})
        # Of what nobody has anything in any more, API servers of Kubernetes 1.20 make null.
        for name in (*lists, "deletion"):
            described["properties"][name]["nullable"] = True
    spec = webhook_rules.with_rules(kind.name, described, minor)
    properties: Object = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": spec,
    }
    if kind.status is not None:
        properties["status"] = _with_owned_conditions(open_schema_of(kind.status, limits))
    root: Object = {"type": "object", "properties": properties}
    if limits and kind.name in _WITH_SPEC:
        root["required"] = ["spec"]
    return root


def _with_owned_conditions(status: Object) -> Object:
    """Return a status's schema in which each condition has its own manager.

    The manager is the one that set the condition, as in Cluster API.

    Readiness gates are conditions that another controller sets: by server-side apply of a list that is one thing,
    theirs would be all that is left.
    """
    conditions = status["properties"].get("conditions")
    if conditions is not None:
        conditions.update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]})
        conditions["items"]["required"] = ["type"]
        conditions["items"]["properties"]["type"] = {"type": "string"}
    return status


def _column(column: columns.Column) -> Object:
    name, kind, path, priority = column
    shown: Object = {"name": name, "type": kind, "jsonPath": path}
    if priority:
        shown["priority"] = priority
    return shown
