# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stored cluster whose machines are inventory hosts, for tests of what reaches machines through the store."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


def stored_cluster(
    folder: Path,
    version: str,
    configuration: t.Mapping[str, t.Any],
    annotations: t.Mapping[str, str],
    machines: t.Mapping[str, str],
) -> None:
    """Store the cluster "prod" with a KubeadmControlPlane and machines, oldest first, each with its inventory host's name."""
    store = FileStore(str(folder))
    labels = {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/control-plane": ""}
    group = "controlplane.cluster.x-k8s.io"
    reference = {"apiGroup": group, "kind": "KubeadmControlPlane", "name": "prod"}
    template = {"apiGroup": INFRASTRUCTURE, "kind": "NspawnMachineTemplate", "name": "prod"}
    store.create(_object("cluster.x-k8s.io/v1beta2", "Cluster", "prod", spec={"controlPlaneRef": reference}))
    spec = {
        "version": version,
        "replicas": len(machines),
        "machineTemplate": {"spec": {"infrastructureRef": template}},
        "kubeadmConfigSpec": {"clusterConfiguration": dict(configuration)},
    }
    plane = _object(f"{group}/v1beta2", "KubeadmControlPlane", "prod", spec=spec)
    plane["metadata"]["annotations"] = dict(annotations)
    store.create(plane)
    store.create(_object(f"{INFRASTRUCTURE}/v1beta1", "NspawnMachineTemplate", "prod", spec={"template": {"spec": {}}}))
    for name, host in machines.items():
        infrastructure = {"apiGroup": INFRASTRUCTURE, "kind": "NspawnMachine", "name": name}
        machine = _object(
            "cluster.x-k8s.io/v1beta2",
            "Machine",
            name,
            spec={"clusterName": "prod", "version": version, "infrastructureRef": infrastructure},
            status={"bootstrap": {"state": "Succeeded"}},
        )
        owner = {"apiVersion": f"{group}/v1beta2", "kind": "KubeadmControlPlane", "name": "prod", "controller": True}
        machine["metadata"].update(labels=dict(labels), ownerReferences=[owner])
        store.create(machine)
        status = {"connection": {"inventoryHost": host}}
        inner = _object(f"{INFRASTRUCTURE}/v1beta1", "NspawnMachine", name, spec={}, status=status)
        inner["metadata"]["labels"] = dict(labels)
        store.create(inner)


def _object(api_version: str, kind: str, name: str, **content: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **content}
