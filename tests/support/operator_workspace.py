# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workspace with a cluster of stand-in machines, workers among them, and Actions on it."""

from __future__ import annotations

import json
import os
import shutil
import typing as t
from pathlib import Path

import yaml
from acme_workspace import AcmeWorkspace

NAME = "prod"
WORKERS = ("worker-1", "worker-2")
Object = dict[str, t.Any]


class OperatorWorkspace(AcmeWorkspace):
    """One cluster ``prod``; its workers are hosts of the user's own inventory."""

    def create(self, replicas: int = 3) -> None:
        """Make the control plane by the playbook, and workers as a person would have."""
        self.manifest(NAME, replicas=replicas)
        environment = {**os.environ, **self.machines_answer()}
        os.environ.update(environment)
        self.playbook("reconcile", "-e", "control_plane_bootstrap_timeout=600").succeeded()
        cloud, world = self.cloud(), self.world()
        hosts = {}
        for number, name in enumerate(WORKERS, 200):
            address = f"198.51.100.{number}"
            machine = {"name": name, "id": name, "cluster": "none", "address": address, "state": "running"}
            cloud["machines"][name] = {**machine, "machineID": f"{number:032x}", "hostKeys": ["ssh-ed25519 STANDIN"]}
            world["nodes"][name] = {"created": "2026-01-01T00:00:00Z", "version": "v1.20.2", "worker": True}
            hosts[name] = {"ansible_host": address, "ansible_user": "root"}
        self.put_cloud(cloud)
        self.put_world(world)
        self.put_workers(hosts)

    def copied(self, folder: Path) -> OperatorWorkspace:
        """The same at another place."""
        shutil.copytree(self.folder, folder)
        other = OperatorWorkspace.__new__(OperatorWorkspace)
        other.__dict__.update(self.__dict__)
        other.folder = folder
        other._cloud = folder / "cloud"
        text = (folder / "variables.yml").read_text()
        (folder / "variables.yml").write_text(text.replace(str(self.folder), str(folder)))
        return other

    def put_cloud(self, cloud: Object) -> None:
        """Change what the cloud has."""
        (self._cloud / "cloud.json").write_text(json.dumps(cloud))

    def put_world(self, world: Object) -> None:
        """Change what the machines carry."""
        (self._cloud / "world.json").write_text(json.dumps(world))

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

    def ran(self) -> list[list[str]]:
        """Every program that was started, on which machine, in order."""
        return list(self.world().get("started", []))
