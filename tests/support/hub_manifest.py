# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A manifest as it is read, in hub form: the smallest one."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


def obj(api_version: str, kind: str, name: str, **content: t.Any) -> dict[str, t.Any]:
    """An object of the namespace default."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **content}


def manifest(replicas: int = 3, secrets: t.Sequence[dict[str, t.Any]] = ()) -> ClusterManifest:
    """A cluster named c in hub form."""
    template = {"apiGroup": INFRASTRUCTURE, "kind": "NspawnMachineTemplate", "name": "t"}
    return ClusterManifest(
        cluster=obj(
            "cluster.x-k8s.io/v1beta2",
            "Cluster",
            "c",
            spec={
                "controlPlaneRef": {"apiGroup": CONTROL_PLANE[0], "kind": CONTROL_PLANE[1], "name": "cp"},
                "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "NspawnCluster", "name": "i"},
            },
        ),
        control_plane=obj(
            f"{CONTROL_PLANE[0]}/v1beta2",
            CONTROL_PLANE[1],
            "cp",
            spec={
                "replicas": replicas,
                "version": "v1.20.2",
                "machineTemplate": {"spec": {"infrastructureRef": template}},
            },
        ),
        machine_template=obj(
            f"{INFRASTRUCTURE}/v1beta1", "NspawnMachineTemplate", "t", spec={"template": {"spec": {}}}
        ),
        infrastructure_cluster=obj(f"{INFRASTRUCTURE}/v1beta1", "NspawnCluster", "i", spec={}),
        secrets=tuple(secrets),
    )
