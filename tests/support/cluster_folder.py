# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's folder with a new cluster of three machines, in which each step is what the role does."""

from __future__ import annotations

import socket
import typing as t
from pathlib import Path

import yaml
from actions import run_action
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


class ClusterFolder:
    """Manifest, store, and where a plan would be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: Object = {"path": str(path / "store")}
        self.manifest = path / "prod.yaml"
        self.plan_file = path / "prod.plan.json"
        self.wants()

    def wants(self, name: str = "prod", **options: t.Any) -> None:
        """Write the manifest."""
        documents = cluster_documents(name, failure_domains=("a", "b", "c"), **options)
        self.manifest.write_text(yaml.safe_dump_all(documents, sort_keys=False))

    def run(self, module: str, /, check: bool = False, **arguments: t.Any) -> Object:
        """Run one of the collection's actions on the cluster."""
        return run_action(module, check, cluster="prod", **{"store": self.store, **arguments})

    def provide_infrastructure(self, port: int = 0) -> None:
        """What a provider reports; nobody listens at the endpoint, unless its port is given."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = port or listener.getsockname()[1]
        domains = [{"name": each, "controlPlane": True} for each in "abc"]
        result = self.run(
            "infrastructure_status",
            kind="NspawnCluster",
            name="prod",
            spec={"controlPlaneEndpoint": {"host": "127.0.0.1", "port": port}},
            status={"initialization": {"provisioned": True}, "failureDomains": domains},
        )
        assert not result.get("failed"), result["msg"]

    @property
    def objects(self) -> FileStore:
        """The store."""
        return FileStore(self.store["path"])

    def files(self) -> dict[Path, bytes]:
        """Every file with its content."""
        return {path: path.read_bytes() for path in self.path.rglob("*") if path.is_file()}
