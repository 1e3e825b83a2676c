# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reduction of Kubernetes objects to the fields that decisions read.

An observation stays small by it, and contains no secrets.
"""

from __future__ import annotations

import typing as t

from .untrusted import mapping, sequence

_ANNOTATIONS = ("kubeadm.alpha.kubernetes.io/cri-socket", "node.alpha.kubernetes.io/ttl")
# Anybody may add conditions to a Node; a Node has five of its own.
_MOST_CONDITIONS = 100
# The runtime's condition in the message of a Node's Ready condition (CRI RuntimeCondition NetworkReady).
_NO_NETWORK = "NetworkReady=false"
_LONGEST_KUBECONFIG = 65536
_MOST_FILES = 20
# A Node's status.nodeInfo, of which every field but swap is a text that is always there (core/v1 NodeSystemInfo).
NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def _pick(source: t.Any, *names: str) -> dict[str, t.Any]:
    fields = mapping(source)
    return {name: fields[name] for name in names if fields.get(name) is not None}


def _items(source: t.Any, name: str) -> list[t.Any]:
    return sequence(mapping(source).get(name))


def node(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Reduce a Node to the fields that decisions read.

    Kept are identity, labels, taints, conditions (without their messages), addresses and nodeInfo.
    """
    metadata = _pick(item.get("metadata"), "name", "uid", "labels", "creationTimestamp", "deletionTimestamp")
    annotations = (item.get("metadata") or {}).get("annotations") or {}
    metadata["annotations"] = {
        name: value
        for name, value in annotations.items()
        if name in _ANNOTATIONS or name.startswith("cluster.x-k8s.io/")
    }
    status = item.get("status") or {}
    conditions = [
        _pick(condition, "type", "status", "reason", "lastTransitionTime")
        for condition in _items(status, "conditions")[:_MOST_CONDITIONS]
        if isinstance(condition, dict)
    ]
    return {
        "metadata": metadata,
        "spec": _pick(item.get("spec"), "providerID", "taints", "unschedulable"),
        "status": {
            **({"networkReady": False} if _lacks_network(status) else {}),
            "conditions": conditions,
            "addresses": _items(status, "addresses"),
            "nodeInfo": _pick(status.get("nodeInfo"), *NODE_INFO, "swap"),
        },
    }


def _lacks_network(status: t.Mapping[str, t.Any]) -> bool:
    """Return whether the kubelet says that the runtime has no network.

    Only the message tells it: the reason is KubeletNotReady whatever is missing.
    """
    return any(
        condition.get("type") == "Ready" and _NO_NETWORK in str(condition.get("message"))
        for condition in _items(status, "conditions")[:_MOST_CONDITIONS]
        if isinstance(condition, dict)
    )


def is_control_plane(item: t.Mapping[str, t.Any]) -> bool:
    """Return whether a Node has kubeadm's control plane label, old or new.

    Source: docs/reference/kubeadm.md, "Labels and taints".
    """
    labels = (item.get("metadata") or {}).get("labels") or {}
    return any(name in labels for name in _CONTROL_PLANE_LABELS)


def kubeconfig(item: t.Any) -> str:
    """Return the kubeconfig in ConfigMap cluster-info, "" where there is none.

    The ConfigMap is public. A kubeconfig larger than any of kubeadm's counts as none.
    """
    data = item.get("data") if isinstance(item, dict) else None
    text = data.get("kubeconfig") if isinstance(data, dict) else None
    return text if isinstance(text, str) and len(text) <= _LONGEST_KUBECONFIG else ""


def kubelet_version(item: t.Mapping[str, t.Any]) -> str:
    """Return the version that a Node's kubelet reported, or ""."""
    info = (item.get("status") or {}).get("nodeInfo") or {}
    return str(info.get("kubeletVersion") or "")


def pod(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Reduce a static pod to the fields that decisions read.

    Kept are its component, its node, phase, readiness and its containers' state. No env, no arguments.
    """
    metadata = _pick(item.get("metadata"), "name", "creationTimestamp", "deletionTimestamp")
    labels = (item.get("metadata") or {}).get("labels") or {}
    metadata["labels"] = _pick(labels, "component", "tier")
    status = item.get("status") or {}
    containers = [
        _pick(container, "name", "ready", "started", "restartCount", "image", "state", "lastState")
        for container in _items(status, "containerStatuses")
    ]
    conditions = [
        _pick(condition, "type", "status", "reason")
        for condition in _items(status, "conditions")
        if isinstance(condition, dict) and condition.get("type") == "Ready"
    ]
    spec = item.get("spec") or {}
    return {
        "metadata": metadata,
        "spec": {
            "nodeName": spec.get("nodeName", ""),
            "containers": [
                {**_pick(container, "name", "image"), "readinessProbe": bool(container.get("readinessProbe"))}
                for container in _items(spec, "containers")
            ],
        },
        "status": {"phase": status.get("phase", ""), "conditions": conditions, "containerStatuses": containers},
    }


def workload(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Reduce a DaemonSet or Deployment to the fields that decisions read.

    Kept are its images, its files from ConfigMaps, and the numbers of its desired and ready pods.
    """
    template = ((item.get("spec") or {}).get("template") or {}).get("spec") or {}
    return {
        "metadata": _pick(item.get("metadata"), "name", "namespace", "generation"),
        "spec": {
            "replicas": (item.get("spec") or {}).get("replicas"),
            "containers": [_pick(container, "name", "image") for container in _items(template, "containers")],
            "files": _files(template),
        },
        "status": _pick(
            item.get("status"),
            "observedGeneration",
            "desiredNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "replicas",
            "readyReplicas",
            "updatedReplicas",
        ),
    }


def _files(template: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return the files that a pod's volumes take from ConfigMaps.

    Each has the ConfigMap's name, its key and the path.
    """
    sources = [volume.get("configMap") for volume in _items(template, "volumes") if isinstance(volume, dict)]
    return [
        {**_pick(source, "name"), **_pick(item, "key", "path")}
        for source in sources
        if isinstance(source, dict)
        for item in _items(source, "items")[:_MOST_FILES]
    ]


def kubeadm_config_map(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Reduce ConfigMap kube-system/kubeadm-config to kubeadm's two keys.

    Source: docs/reference/kubeadm.md, "Stored objects".
    """
    return {"data": _pick(item.get("data"), "ClusterConfiguration", "ClusterStatus")}


def binding(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Reduce a RoleBinding or ClusterRoleBinding to its role and subjects."""
    subjects = [_pick(subject, "kind", "name") for subject in _items(item, "subjects")]
    return {"metadata": _pick(item.get("metadata"), "name"), "roleRef": item.get("roleRef"), "subjects": subjects}
