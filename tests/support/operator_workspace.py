# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workspace with a cluster of stand-in machines, workers among them, and Actions on it."""

from __future__ import annotations

import base64
import json
import time
import typing as t
from pathlib import Path

import yaml
from acme_workspace import ROLE, AcmeWorkspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.stored_cluster import apply_manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

NAME = "prod"
WORKERS = ("worker-1", "worker-2")
Object = dict[str, t.Any]


class OperatorWorkspace(AcmeWorkspace):
    """One cluster ``prod``; its workers are hosts of the user's own inventory."""

    def create(self, replicas: int = 3) -> None:
        """A control plane as reconcile leaves it, and workers as a person has them."""
        providers = {"AcmeMachineTemplate": str(ROLE), "AcmeCluster": str(ROLE)}
        manifest = read_cluster([str(self.manifest(NAME, replicas=replicas))], "default", NAME, providers)
        store = FileStore(str(self.store))
        apply_manifest(store, manifest)
        self._ready(store, ("cluster.x-k8s.io", "Cluster"), NAME)
        self._ready(store, ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"), f"{NAME}-control-plane")
        self._ready(store, ("infrastructure.cluster.x-k8s.io", "AcmeCluster"), NAME)
        for purpose in ("ca", "etcd", "proxy", "sa", "kubeconfig"):
            self.keep_secret(purpose, {"tls.key": f"secret key of {purpose}" * 9})
        cloud: Object = {"made": replicas, "machines": {}, "balancers": {}}
        world: Object = {"members": [], "nodes": {}, "bootstraps": {}, "objects": {}, "fencing": {}, "violations": []}
        world |= {"calls": [], "snapshots": 0, "leader": f"{1:016x}"}
        for number in range(1, replicas + 1):
            name = f"{NAME}-{'zyx'[number - 1]}"
            machine = self._machine(cloud, world, name, f"198.51.100.{number + 1}", number)
            world["members"].append({"id": f"{number:016x}", "name": name, "machine": name})
            _store_machine(store, name, machine)
        hosts = {}
        for number, name in enumerate(WORKERS, 200):
            address = self._machine(cloud, world, name, f"198.51.100.{number}", number, worker=True)["address"]
            hosts[name] = {"ansible_host": address, "ansible_user": "root"}
        self.put_cloud(cloud)
        self.put_world(world)
        self.put_workers(hosts)

    def keep_secret(self, purpose: str, content: t.Mapping[str, str]) -> None:
        """Put a Secret of the cluster into the store."""
        data = {key: base64.b64encode(value.encode()).decode() for key, value in content.items()}
        store = FileStore(str(self.store))
        store.create(_object("v1", "Secret", f"{NAME}-{purpose}", type="cluster.x-k8s.io/secret", data=data))

    @staticmethod
    def _ready(store: FileStore, kind: tuple[str, str], name: str) -> None:
        def change(each: Object) -> None:
            each["status"] = {"initialization": {"provisioned": True, "controlPlaneInitialized": True}}
            if each["kind"] != "KubeadmControlPlane":
                each["spec"]["controlPlaneEndpoint"] = {"host": "198.51.100.1", "port": 6443}

        store.modify(kind, "default", name, change)

    @staticmethod
    def _machine(cloud: Object, world: Object, name: str, address: str, number: int, worker: bool = False) -> Object:
        machine = {"name": name, "id": name, "cluster": NAME, "address": address, "state": "running"}
        cloud["machines"][name] = {
            **machine,
            "account": "",
            "machineID": f"{number:032x}",
            "hostKeys": ["ssh-ed25519 STANDIN"],
        }
        world["nodes"][name] = {"created": "2026-01-01T00:00:00Z", "version": "v1.20.2", "worker": worker}
        found: Object = cloud["machines"][name]
        return found

    def put_cloud(self, cloud: Object) -> None:
        """Change what the cloud has."""
        (self._cloud / "cloud.json").write_text(json.dumps(cloud))

    def put_workers(self, hosts: Object) -> None:
        """Write the user's own inventory of workers."""
        content = {"all": {"children": {f"{NAME}_workers": {"hosts": hosts}}}}
        (self.folder / "workers.yml").write_text(yaml.safe_dump(content))

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type."""
        command = super().command(playbook, *arguments)
        workers = ["-i", "workers.yml"] if (self.folder / "workers.yml").exists() else []
        return [command[0], *workers, *command[1:]]

    @property
    def control_planes(self) -> list[str]:
        """The control plane's Nodes by name."""
        return sorted(each["metadata"]["name"] for each in self.objects("Machine"))

    def action(self, spec: Object, name: str = "first", kind: str = "Action", **more: t.Any) -> Path:
        """Write an object to a file of its name."""
        content = {"apiVersion": "operator.kubeadm.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": name}}
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump({**content, "spec": {**spec, **more}}))
        return path

    def stored(self, kind: str, name: str) -> Object:
        """A stored object."""
        return next(each for each in self.objects(kind) if each["metadata"]["name"] == name)

    def change(self, kind: str, name: str, change: t.Callable[[Object], None]) -> None:
        """Edit a stored object's file behind everybody's back."""
        group = "operator.kubeadm.x-k8s.io"
        path = self.store / "default" / f"{kind.lower()}.{group}" / f"{name}.yaml"
        content = yaml.safe_load(path.read_text())
        change(content)
        path.write_text(yaml.safe_dump(content))

    def tasks(self) -> list[Object]:
        """The stored Tasks; those that have begun nothing yet have an empty status."""
        return [{"status": {}, **each} for each in self.objects("Task")]

    def until(self, holds: t.Callable[[], bool], seconds: float = 300.0) -> None:
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it has not come"
            time.sleep(0.1)

    def ran(self) -> list[list[str]]:
        """Every program that was started, on which machine, in order."""
        return list(self.world().get("started", []))


def _object(api_version: str, kind: str, name: str, **content: t.Any) -> Object:
    labels = {"cluster.x-k8s.io/cluster-name": NAME, "cluster.x-k8s.io/control-plane": ""}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def _store_machine(store: FileStore, name: str, machine: Object) -> None:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachine", "name": name}
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name}
    spec = {
        "clusterName": NAME,
        "version": "v1.20.2",
        "infrastructureRef": reference,
        "bootstrap": {"configRef": config},
    }
    connection = {"host": machine["address"], "port": 22, "user": "root", "hostKeys": machine["hostKeys"]}
    status: Object = {"machineID": machine["machineID"], "connection": connection}
    status["addresses"] = [{"type": "InternalIP", "address": machine["address"]}]
    joined = {"bootstrap": {"state": "Succeeded"}, "nodeRef": {"name": name}}
    store.create(_object("cluster.x-k8s.io/v1beta2", "Machine", name, spec=spec, status={**status, **joined}))
    status["initialization"] = {"provisioned": True}
    store.create(_object("infrastructure.cluster.x-k8s.io/v1beta1", "AcmeMachine", name, spec={}, status=status))
    bootstrap: Object = {"clusterConfiguration": {}, "joinConfiguration": {"nodeRegistration": {}}}
    store.create(_object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", name, spec=bootstrap))
