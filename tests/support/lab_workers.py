# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers of a cluster on local machines: their documents, and what is true of one that has joined."""

from __future__ import annotations

import json
import typing as t

from lab_kubernetes import VERSION
from machines import Machines


def deployment_name(cluster: str) -> str:
    """The name of a cluster's MachineDeployment."""
    return f"{cluster}-workers"


def worker_documents(
    cluster: str, replicas: int, version: str = VERSION, kubeadm: t.Optional[dict[str, t.Any]] = None
) -> list[dict[str, t.Any]]:
    """A MachineDeployment on local machines with its templates; its name is :func:`deployment_name`.

    ``kubeadm`` are further fields of the workers' KubeadmConfigSpec.
    """
    name = deployment_name(cluster)
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": name}
    machine = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachineTemplate", "name": name}
    template = {
        "metadata": {"labels": {"node.cluster.x-k8s.io/pool": "general"}},
        "spec": {
            "clusterName": cluster,
            "version": version,
            "bootstrap": {"configRef": config},
            "infrastructureRef": machine,
        },
    }
    labels = {"name": "node-labels", "value": "shop=yes"}
    join = {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [labels]}}, **(kubeadm or {})}
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterName": cluster, "replicas": replicas, "template": template},
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": {"spec": join}},
        },
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "NspawnMachineTemplate",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": {"spec": {}}},
        },
    ]


def joined(machines: Machines, name: str) -> None:
    """A worker's Node has the template's labels and kubelet arguments, and its machine no key of the cluster."""
    labels = json.loads(machines.kubectl("get", "node", name, "-o", "json"))["metadata"]["labels"]
    assert (labels["shop"], labels["node.cluster.x-k8s.io/pool"]) == ("yes", "general")
    assert "node-role.kubernetes.io/master" not in labels
    assert machines.ssh(name, "find /etc/kubernetes -name admin.conf -o -name '*.key'") == ""
