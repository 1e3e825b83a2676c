# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers on real machines with real kubeadm: made beside their control plane, scaled, and deleted before it."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from etcd_cluster import until
from lab_kubernetes import VERSION
from machines import Machines
from workspace import Workspace, cluster_documents

pytestmark = pytest.mark.full
NAME = "lab-work"
WORKERS = f"{NAME}-workers"


class Lab:
    """A cluster with workers."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.machines = Machines(workspace, NAME)

    def wants(self, workers: int, version: str = VERSION, deployment: t.Optional[dict[str, t.Any]] = None) -> None:
        """Write the manifest."""
        documents = [
            *cluster_documents(NAME, replicas=1, version=version),
            *worker_documents(workers, version, **(deployment or {})),
        ]
        self.workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))

    def reconcile(self) -> None:
        """Make it so; a second run has nothing to do."""
        self.workspace.playbook("reconcile").succeeded()
        assert self.workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0

    def whole(self, workers: int, control_plane: int = 1) -> list[str]:
        """Machines, Nodes and etcd's members agree, all are Ready; returns the workers' names."""
        names, led = self.machines.workers(), self.machines.control_plane()
        assert (len(names), len(led)) == (workers, control_plane)
        until("all Nodes are Ready", lambda: self.machines.ready_nodes() == sorted([*names, *led]))
        nodes = json.loads(self.machines.kubectl("get", "nodes", "-o", "json"))["items"]
        roles = {each["metadata"]["name"]: "node-role.kubernetes.io/master" in each["metadata"]["labels"] for each in nodes}
        assert roles == {**dict.fromkeys(names, False), **dict.fromkeys(led, True)}
        assert [each["name"] for each in self.machines.etcd_members()] == led
        return names


def worker_documents(replicas: int, version: str = VERSION, **spec: t.Any) -> list[dict[str, t.Any]]:
    """A MachineDeployment on local machines with its templates."""
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": WORKERS}
    machine = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachineTemplate", "name": WORKERS}
    template = {
        "metadata": {"labels": {"node.cluster.x-k8s.io/pool": "general"}},
        "spec": {
            "clusterName": NAME,
            "version": version,
            "bootstrap": {"configRef": config},
            "infrastructureRef": machine,
        },
    }
    labels = {"name": "node-labels", "value": "shop=yes"}
    join = {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [labels]}}}
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": WORKERS, "namespace": "default"},
            "spec": {"clusterName": NAME, "replicas": replicas, "template": template, **spec},
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": WORKERS, "namespace": "default"},
            "spec": {"template": {"spec": join}},
        },
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "NspawnMachineTemplate",
            "metadata": {"name": WORKERS, "namespace": "default"},
            "spec": {"template": {"spec": {}}},
        },
    ]


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Lab:
    """A control plane of one and two workers, by one manifest and one run."""
    made = Lab(workspace)
    made.wants(2)
    plan = workspace.playbook("plan").succeeded().text
    assert plan.index("initialize") < plan.index("2 new workers")
    made.reconcile()
    return made


def test_one_manifest_makes_control_plane_and_workers(lab: Lab) -> None:
    """Both workers are Ready, with the template's labels and kubelet arguments; status tells of them."""
    for name in lab.whole(2):
        labels = json.loads(lab.machines.kubectl("get", "node", name, "-o", "json"))["metadata"]["labels"]
        assert (labels["shop"], labels["node.cluster.x-k8s.io/pool"]) == ("yes", "general")
        assert "/etc/kubernetes/admin.conf" not in lab.machines.ssh(name, "ls -d /etc/kubernetes/*")
    text = lab.workspace.playbook("status").succeeded().text
    print(text)
    assert WORKERS in text


def test_scaled_up_and_down(lab: Lab) -> None:
    """Those that there are stay; with none left the control plane goes on alone."""
    before = lab.whole(2)
    scale = ("scale", "-e", f"control_plane_deployment={WORKERS}")
    lab.workspace.playbook(*scale, "-e", "control_plane_replicas=3").succeeded()
    lab.reconcile()
    assert set(before) < set(lab.whole(3))
    lab.workspace.playbook(*scale, "-e", "control_plane_replicas=0").succeeded()
    lab.reconcile()
    assert lab.whole(0) == []


def test_workers_go_first(lab: Lab) -> None:
    """Delete takes workers before the control plane, and nothing is left."""
    lab.wants(1)
    lab.workspace.playbook("reconcile").succeeded()
    lab.whole(1)
    run = lab.workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert [path for path in lab.workspace.store.rglob("*.yaml") if path.name != "store.yaml"] == [], run.output
