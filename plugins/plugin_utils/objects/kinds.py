# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups, versions, kinds, labels, annotations, finalizers and Secret names of Cluster API.

Source: docs/reference/cluster_api.md, "Names and markers", "Certificates".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GROUP_CLUSTER = "cluster.x-k8s.io"
GROUP_CONTROL_PLANE = "controlplane.cluster.x-k8s.io"
GROUP_BOOTSTRAP = "bootstrap.cluster.x-k8s.io"
GROUP_ADDONS = "addons.cluster.x-k8s.io"
GROUP_INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"

API_CLUSTER = GROUP_CLUSTER + "/v1beta2"
API_CONTROL_PLANE = GROUP_CONTROL_PLANE + "/v1beta2"
API_BOOTSTRAP = GROUP_BOOTSTRAP + "/v1beta2"
API_ADDONS = GROUP_ADDONS + "/v1beta2"
API_INFRASTRUCTURE = GROUP_INFRASTRUCTURE + "/v1beta1"
API_CORE = "v1"

CLUSTER = "Cluster"
MACHINE = "Machine"
KUBEADM_CONTROL_PLANE = "KubeadmControlPlane"
KUBEADM_CONFIG = "KubeadmConfig"
KUBEADM_CONFIG_TEMPLATE = "KubeadmConfigTemplate"
MACHINE_DEPLOYMENT = "MachineDeployment"
MACHINE_SET = "MachineSet"
MACHINE_HEALTH_CHECK = "MachineHealthCheck"
CLUSTER_RESOURCE_SET = "ClusterResourceSet"
CLUSTER_RESOURCE_SET_BINDING = "ClusterResourceSetBinding"
SECRET = "Secret"
CONFIG_MAP = "ConfigMap"
INVENTORY_CLUSTER = "InventoryCluster"
INVENTORY_MACHINE = "InventoryMachine"
INVENTORY_MACHINE_TEMPLATE = "InventoryMachineTemplate"
NSPAWN_CLUSTER = "NspawnCluster"
NSPAWN_MACHINE = "NspawnMachine"
NSPAWN_MACHINE_TEMPLATE = "NspawnMachineTemplate"

# Infrastructure kinds whose shapes are this collection's own; others are their provider's and stay as they are.
OWN_INFRASTRUCTURE = (
    INVENTORY_CLUSTER,
    INVENTORY_MACHINE,
    INVENTORY_MACHINE_TEMPLATE,
    NSPAWN_CLUSTER,
    NSPAWN_MACHINE,
    NSPAWN_MACHINE_TEMPLATE,
)

# Cluster API versions whose manifests are read; v1alpha2 exists for infrastructure kinds only (the proposals' example).
MANIFEST_VERSIONS: tuple[str, ...] = ("v1alpha3", "v1alpha4", "v1beta1", "v1beta2")
INFRASTRUCTURE_VERSIONS: tuple[str, ...] = ("v1alpha2", *MANIFEST_VERSIONS)

# Infrastructure kind -> role that provides it. Callers pass their own registry to add providers.
DEFAULT_PROVIDERS: Mapping[str, str] = {
    INVENTORY_CLUSTER: "kubeadm.control_plane.machine_inventory",
    INVENTORY_MACHINE_TEMPLATE: "kubeadm.control_plane.machine_inventory",
    NSPAWN_CLUSTER: "kubeadm.control_plane.machine_nspawn",
    NSPAWN_MACHINE_TEMPLATE: "kubeadm.control_plane.machine_nspawn",
}

LABEL_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
LABEL_CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
LABEL_CONTROL_PLANE_NAME = "cluster.x-k8s.io/control-plane-name"
LABEL_DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
LABEL_SET_NAME = "cluster.x-k8s.io/set-name"
# Of a MachineSet and its Machines: what their template was, in a hash.
LABEL_TEMPLATE_HASH = "machine-template-hash"
LABEL_WATCH_FILTER = "cluster.x-k8s.io/watch-filter"

FINALIZER_CONTROL_PLANE = "kubeadm.controlplane.cluster.x-k8s.io"
FINALIZER_CLUSTER = "cluster.cluster.x-k8s.io"
FINALIZER_MACHINE = "machine.cluster.x-k8s.io"
FINALIZER_MACHINE_DEPLOYMENT = "cluster.x-k8s.io/machinedeployment"
FINALIZER_MACHINE_SET = "cluster.x-k8s.io/machineset"

ANNOTATION_PAUSED = "cluster.x-k8s.io/paused"
# Its value on a KubeadmControlPlane or MachineDeployment whose machines are being adopted; only adoption writes it.
PAUSED_BY_ADOPTION = "adoption"
ANNOTATION_MANAGED_BY = "cluster.x-k8s.io/managed-by"
ANNOTATION_SKIP_COREDNS = "controlplane.cluster.x-k8s.io/skip-coredns"
ANNOTATION_SKIP_KUBE_PROXY = "controlplane.cluster.x-k8s.io/skip-kube-proxy"
ANNOTATION_REMEDIATION_IN_PROGRESS = "controlplane.cluster.x-k8s.io/remediation-in-progress"
ANNOTATION_REMEDIATION_FOR = "controlplane.cluster.x-k8s.io/remediation-for"
HOOK_PRE_DRAIN = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
HOOK_PRE_TERMINATE = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
ANNOTATION_PRE_TERMINATE_HOOK = HOOK_PRE_TERMINATE + "/kcp-cleanup"
ANNOTATION_EXCLUDE_NODE_DRAINING = "machine.cluster.x-k8s.io/exclude-node-draining"
ANNOTATION_EXCLUDE_VOLUME_DETACH = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
ANNOTATION_DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
ANNOTATION_REMEDIATE_MACHINE = "cluster.x-k8s.io/remediate-machine"
# Its value on a Machine whose etcd a restore has given up; only restore writes it, and removes no other.
REMEDIATED_BY_RESTORE = "restore"
ANNOTATION_SKIP_REMEDIATION = "cluster.x-k8s.io/skip-remediation"
ANNOTATION_CERTIFICATES_EXPIRY = "machine.cluster.x-k8s.io/certificates-expiry"
ANNOTATION_AUTOSCALER_LEAST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
ANNOTATION_AUTOSCALER_MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
ANNOTATION_SKIP_PREFLIGHT_CHECKS = "machineset.cluster.x-k8s.io/skip-preflight-checks"
ANNOTATION_CLONED_FROM_NAME = "cluster.x-k8s.io/cloned-from-name"
ANNOTATION_CLONED_FROM_GROUP_KIND = "cluster.x-k8s.io/cloned-from-groupkind"

# This collection's own. The first four set the pace of changes (docs/manifest.md); the others are consents.
ANNOTATION_PREFIX = "kubeadm.control-plane/"
ANNOTATION_READINESS_GATES = ANNOTATION_PREFIX + "readiness-gates"
ANNOTATION_MIN_READY_SECONDS = ANNOTATION_PREFIX + "min-ready-seconds"
ANNOTATION_MAINTENANCE_WINDOW = ANNOTATION_PREFIX + "maintenance-window"
ANNOTATION_ALLOW_PATCH_DOWNGRADE = ANNOTATION_PREFIX + "allow-patch-downgrade"
ANNOTATION_IGNORE_WORKER_NODES = ANNOTATION_PREFIX + "ignore-worker-nodes"
ANNOTATION_ENDPOINT_UNUSED = ANNOTATION_PREFIX + "endpoint-is-unused"
ANNOTATION_SKIP_ETCD_SNAPSHOT = ANNOTATION_PREFIX + "skip-etcd-snapshot"
# Runs give it, too. Its external etcd holds a control plane's own data: its first machine was begun there, or it took a deleted one's place.
ANNOTATION_EXTERNAL_ETCD_BEGAN = ANNOTATION_PREFIX + "external-etcd-began"
# Of a kept plan's ConfigMap: the beginning of its digest, and when it was made, or a step of it begun, last.
LABEL_PLAN = ANNOTATION_PREFIX + "plan"
ANNOTATION_PLANNED_AT = ANNOTATION_PREFIX + "planned-at"
# A prepared machine has no Machine object yet: what it was made for is kept on the infrastructure machine itself.
ANNOTATION_PREPARED_FAILURE_DOMAIN = ANNOTATION_PREFIX + "prepared-failure-domain"
ANNOTATION_PREPARED_VERSION = ANNOTATION_PREFIX + "prepared-version"
# Of a MachineSet or a control plane Machine: the spec.rollout.after that it was made for.
ANNOTATION_MADE_FOR_ROLLOUT = ANNOTATION_PREFIX + "made-for-rollout-after"
# Annotations that say yes or no (docs/manifest.md, "Annotations that say yes"). Cluster API's do by being there, whatever their value. Consents,
# which are this collection's own, have the value "true": "false" and "no" give none.
FLAGS = frozenset(
    {
        ANNOTATION_PAUSED,
        ANNOTATION_MANAGED_BY,
        ANNOTATION_SKIP_COREDNS,
        ANNOTATION_SKIP_KUBE_PROXY,
        ANNOTATION_EXCLUDE_NODE_DRAINING,
        ANNOTATION_EXCLUDE_VOLUME_DETACH,
        ANNOTATION_DELETE_MACHINE,
        ANNOTATION_REMEDIATE_MACHINE,
        ANNOTATION_SKIP_REMEDIATION,
    }
)
CONSENTS = (
    ANNOTATION_ALLOW_PATCH_DOWNGRADE,
    ANNOTATION_IGNORE_WORKER_NODES,
    ANNOTATION_ENDPOINT_UNUSED,
    ANNOTATION_SKIP_ETCD_SNAPSHOT,
    ANNOTATION_EXTERNAL_ETCD_BEGAN,
)
# Written by this collection on a Cluster, as JSON: which KubeadmControlPlane of it was deleted while the Cluster stays.
ANNOTATION_DELETED_CONTROL_PLANE = ANNOTATION_PREFIX + "deleted-control-plane"
# Likewise: in which API versions the manifest has kinds of other providers (infrastructure_versions.py).
ANNOTATION_INFRASTRUCTURE_VERSIONS = ANNOTATION_PREFIX + "infrastructure-versions"

SECRET_TYPE = "cluster.x-k8s.io/secret"
# The only type of a Secret whose documents a ClusterResourceSet applies.
RESOURCE_SET_SECRET_TYPE = "addons.cluster.x-k8s.io/resource-set"
PURPOSE_CA = "ca"
PURPOSE_ETCD = "etcd"
PURPOSE_PROXY = "proxy"
PURPOSE_SERVICE_ACCOUNT = "sa"
PURPOSE_KUBECONFIG = "kubeconfig"
PURPOSE_ETCD_CLIENT = "apiserver-etcd-client"
PURPOSE_SSH = "ssh"
# Never given by a manifest: what a rotation of certificate authorities has to remember until it is over.
PURPOSE_AUTHORITY_ROTATION = "authority-rotation"
SECRET_PURPOSES: tuple[str, ...] = (
    PURPOSE_CA,
    PURPOSE_ETCD,
    PURPOSE_PROXY,
    PURPOSE_SERVICE_ACCOUNT,
    PURPOSE_KUBECONFIG,
    PURPOSE_ETCD_CLIENT,
    PURPOSE_SSH,
)

_HUB_API: Mapping[str, str] = {
    CLUSTER: API_CLUSTER,
    MACHINE: API_CLUSTER,
    MACHINE_DEPLOYMENT: API_CLUSTER,
    MACHINE_SET: API_CLUSTER,
    MACHINE_HEALTH_CHECK: API_CLUSTER,
    KUBEADM_CONTROL_PLANE: API_CONTROL_PLANE,
    KUBEADM_CONFIG: API_BOOTSTRAP,
    KUBEADM_CONFIG_TEMPLATE: API_BOOTSTRAP,
    CLUSTER_RESOURCE_SET: API_ADDONS,
    CLUSTER_RESOURCE_SET_BINDING: API_ADDONS,
    SECRET: API_CORE,
    CONFIG_MAP: API_CORE,
}


def api_version(kind: str, written: str = API_INFRASTRUCTURE) -> str:
    """Return the hub apiVersion of `kind`.

    Every kind that is not this collection's or Cluster API's own is another provider's: its documents' apiVersion is kept as `written`.
    """
    return _HUB_API.get(kind, API_INFRASTRUCTURE if kind in OWN_INFRASTRUCTURE else written)


def infrastructure_group(kind: Any) -> str:
    """Return the group that an infrastructure kind must have, "" for any."""
    return GROUP_INFRASTRUCTURE if kind in OWN_INFRASTRUCTURE else ""


def group(api_version_text: str) -> str:
    """Return the API group of an apiVersion ("" for the core group)."""
    return api_version_text.rpartition("/")[0]


def secret_name(cluster: str, purpose: str) -> str:
    """Return the name of a cluster's Secret for `purpose`.

    It is one of SECRET_PURPOSES, or PURPOSE_AUTHORITY_ROTATION.
    """
    return f"{cluster}-{purpose}"


def machine_kind(template_kind: str) -> str:
    """Return the machine kind of a template kind: NspawnMachineTemplate -> NspawnMachine."""
    return template_kind[: -len("Template")] if template_kind.endswith("Template") else template_kind


def _annotations(obj: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return ((obj or {}).get("metadata") or {}).get("annotations") or {}


def is_flagged(obj: Mapping[str, Any] | None, annotation: str) -> bool:
    """Return whether an object has a flag annotation, or its user's consent.

    `obj` is None where there is none. KeyError for an annotation that is neither.
    """
    if annotation in FLAGS:
        return annotation in _annotations(obj)
    if annotation not in CONSENTS:
        raise KeyError(annotation)
    return is_marked(obj, annotation)


def is_marked(obj: Mapping[str, Any] | None, annotation: str) -> bool:
    """Return whether an object has a mark of this collection's runs.

    As a consent, it is "true": a user who writes another value over it means no.
    """
    return bool(_annotations(obj).get(annotation) == "true")


def is_paused_by_adoption(obj: Mapping[str, Any] | None) -> bool:
    """Return whether an adoption, and not the user, pauses an object."""
    return bool(_annotations(obj).get(ANNOTATION_PAUSED) == PAUSED_BY_ADOPTION)


def is_marked_by_restore(obj: Mapping[str, Any] | None) -> bool:
    """Return whether a restore, and not the user, marked a Machine."""
    return bool(_annotations(obj).get(ANNOTATION_REMEDIATE_MACHINE) == REMEDIATED_BY_RESTORE)


def pause_of(obj: Mapping[str, Any], going: bool = False) -> str:
    """Return why an object's annotation pauses it, "" where it has none.

    The annotation of an adoption is not the user's to remove: machines without a status would count as never started.
    `going`: what the object belongs to is marked for deletion, which adopt refuses.
    """
    if not is_flagged(obj, ANNOTATION_PAUSED):
        return ""
    text = f"{obj.get('kind')} has the annotation {ANNOTATION_PAUSED}"
    if not is_paused_by_adoption(obj):
        return text
    text += " of an adoption that is not complete"
    if going or (obj.get("metadata") or {}).get("deletionTimestamp"):
        return f'{text}, and adopt refuses what is marked for deletion: docs/adoption.md, "Marked for deletion", says how to start again'
    return f"{text}: run the playbook adopt again, which removes it"


def label_of(obj: Mapping[str, Any]) -> str:
    """Return an object's name for messages: "Kind namespace/name"."""
    metadata = obj.get("metadata") or {}
    return f"{obj.get('kind')} {metadata.get('namespace', 'default')}/{metadata.get('name')}"


def record_bootstrap(machine: dict[str, Any], *, adopted: bool = False) -> dict[str, Any]:
    """Record the bootstrap of another controller's Machine, in place.

    Returns it. That controller keeps no such record, and a Machine without one would count as never started: kubeadm
    would be started on it, or it would be removed without asking etcd, whatever it carries. Earlier releases adopted
    it without. One that is ``adopted`` now may have a Node alone.
    """
    status = machine.get("status") or {}
    bootstrap = status.get("bootstrap") or {}
    # Machines that this collection makes name no such Secret.
    made = ((machine.get("spec") or {}).get("bootstrap") or {}).get("dataSecretName")
    if not bootstrap.get("state") and (made or (adopted and status.get("nodeRef"))):
        machine["status"] = {**status, "bootstrap": {**bootstrap, "state": "Succeeded", "message": "adopted"}}
    return machine
