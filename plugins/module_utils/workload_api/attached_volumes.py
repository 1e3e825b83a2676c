# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes that are waited for after a Node's drain.

Source: docs/reference/cluster_api.md, "Removing a machine".
"""

from __future__ import annotations

import typing as t
from urllib.parse import quote

from ..common.values import controller_of
from .api import ApiClient

_MIRROR = "kubernetes.io/config.mirror"


def stays(pod: t.Mapping[str, t.Any]) -> bool:
    """Return whether a drain leaves a pod: static, or a DaemonSet's."""
    if _MIRROR in (pod["metadata"].get("annotations") or {}):
        return True
    return bool((controller_of(pod) or {}).get("kind") == "DaemonSet")


def awaited(api: ApiClient, node: str) -> list[str]:
    """Return the attached volumes of a Node that a drain leaves unused.

    By their PersistentVolumes' names. Those that pods use which stay on the Node stay attached, and are left out.

    Raises:
        ApiError, Unreachable: the API could not be asked.
    """
    names = set()
    for each in api.list("/apis/storage.k8s.io/v1/volumeattachments"):
        spec, status = each.get("spec") or {}, each.get("status") or {}
        if spec.get("nodeName") == node and status.get("attached"):
            names.add(str((spec.get("source") or {}).get("persistentVolumeName") or each["metadata"]["name"]))
    return sorted(names - _in_use(api, node)) if names else []


def _in_use(api: ApiClient, node: str) -> set[str]:
    """Return the PersistentVolumes of the pods that stay on a Node."""
    claims: set[tuple[str, str]] = set()
    for pod in filter(stays, api.list("/api/v1/pods", fields=f"spec.nodeName={node}")):
        claims.update((pod["metadata"]["namespace"], name) for name in _claims(pod))
    found = set()
    for namespace, name in sorted(claims):
        path = f"/api/v1/namespaces/{quote(namespace)}/persistentvolumeclaims/{quote(name)}"
        found.add(str(((api.get(path) or {}).get("spec") or {}).get("volumeName") or ""))
    return found


def _claims(pod: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or []:
        if volume.get("persistentVolumeClaim"):
            yield str(volume["persistentVolumeClaim"]["claimName"])
        elif volume.get("ephemeral"):
            # A claim that Kubernetes makes for this pod alone, by this name.
            yield f"{pod['metadata']['name']}-{volume['name']}"
