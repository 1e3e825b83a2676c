# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workspace whose store is a real API server; its machines are stand-ins (acme_workspace.py)."""

from __future__ import annotations

import shutil
import typing as t
from pathlib import Path

import yaml
from acme_workspace import AcmeWorkspace
from api_server import ApiServer
from recorded_fleet import KINDS as RECORDED_KINDS
from recorded_fleet import create_all
from store_objects import SECRET

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import (
    KubernetesStore,
    kind_path,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks

if t.TYPE_CHECKING:
    import pytest

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ACME = definitions.infrastructure_kinds("Acme")
KINDS = (*definitions.KINDS, *ACME)


class ManagementWorkspace(AcmeWorkspace):
    """Nothing of a cluster is in the user's folder but manifests, and the journals."""

    def __init__(self, folder: Path, kubeconfig: str) -> None:
        super().__init__(folder)
        self.api = KubernetesApi({"kubeconfig": kubeconfig})
        self.objects_store = KubernetesStore(self.api)
        # What a user exports before a run.
        self.environment: dict[str, str] = {}
        self.options({"kubeconfig": kubeconfig})

    @classmethod
    def over(
        cls, server: ApiServer, folder: Path, monkeypatch: pytest.MonkeyPatch, kubeconfig: str = ""
    ) -> ManagementWorkspace:
        """A user's folder with machines that answer, and nothing in the store."""
        define(server)
        made = cls(folder, kubeconfig or server.kubeconfig).answering(monkeypatch)
        # No machine is taken away in these tests, so that nobody is waited for in vain, and an API server beside them takes its time.
        path = made.folder / "variables.yml"
        variables = {**yaml.safe_load(path.read_text()), "control_plane_bootstrap_timeout": 60}
        path.write_text(yaml.safe_dump(variables))
        empty(KubernetesStore(KubernetesApi({"kubeconfig": server.kubeconfig})))
        return made

    def options(self, connection: t.Mapping[str, t.Any], **plugin: t.Any) -> None:
        """Write the inventory: the store's connection options, and options of the plugin."""
        self.connection = dict(connection)
        document = {
            "plugin": "kubeadm.control_plane.clusters",
            "manifests": ["clusters/*.yaml"],
            "store": {"type": "kubernetes", "path": "journal", **connection},
            **plugin,
        }
        (self.folder / "inventory.clusters.yml").write_text(yaml.safe_dump(document))

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type."""
        exported = [f"{name}={value}" for name, value in self.environment.items()]
        return [*(["env", *exported] if exported else []), *super().command(playbook, *arguments)]

    @property
    def store(self) -> Path:
        """The folder of the journals."""
        return self.folder / "journal"

    def objects(self, kind: str, namespace: str = "default") -> list[dict[str, t.Any]]:
        """The stored objects of a kind."""
        group = "" if kind == "Secret" else definitions.group_of(kind)
        return self.objects_store.list((group, kind), namespace)

    def locked(self, name: str) -> bool:
        """Whether a run holds a cluster's lock."""
        return LeaseLocks(self.api, {}).holder("default", name) is not None


class RecordedCluster:
    """A cluster as the playbooks left it: its objects, its lock, its machines and its journal.

    Args:
        workspace: whose cluster it is; nothing else is in its store.
        folder: where files of it are kept.
    """

    def __init__(self, workspace: ManagementWorkspace, folder: Path) -> None:
        self._objects = [each for kind in RECORDED_KINDS for each in workspace.objects(kind)]
        self._leases = workspace.api.send("list", LEASES).document["items"]
        self._folder = folder
        for name in ("cloud", "journal"):
            shutil.copytree(workspace.folder / name, folder / name)

    def put(self, server: ApiServer, workspace: ManagementWorkspace) -> None:
        """Put it into the empty API and the folder of a workspace, as if that had made it; its manifest is left to the test."""
        with server.client() as client:
            create_all(client, self._objects)
        for lease in self._leases:
            metadata = {"name": lease["metadata"]["name"], "annotations": lease["metadata"].get("annotations") or {}}
            # One that is held meanwhile stays as it is.
            workspace.api.send("create", LEASES, {**lease, "metadata": metadata}, accepted=(409,))
        for name in ("cloud", "journal"):
            shutil.copytree(self._folder / name, workspace.folder / name, dirs_exist_ok=True)


def define(server: ApiServer) -> None:
    """Define the stand-in provider's kinds, once."""
    with server.client() as client:
        there = client.send("GET", f"{DEFINITIONS}/acmemachines.infrastructure.cluster.x-k8s.io").status == 200
    for kind in () if there else ACME:
        server.create(DEFINITIONS, definitions.definition(kind))
    for kind in ACME:
        server.until_served(kind_path((definitions.group_of(kind.name), kind.name), "default"))


def empty(store: KubernetesStore) -> None:
    """Take away every object that tests made, and the locks."""
    for kind_ref in [*((definitions.group_of(kind.name), kind.name) for kind in KINDS), SECRET, ("", "ConfigMap")]:
        for each in store.list(kind_ref):
            where = (kind_ref, each["metadata"]["namespace"], each["metadata"]["name"])
            if where[1].startswith("kube-") or (kind_ref == SECRET and where[2].startswith("default-token")):
                continue
            if each["metadata"].get("finalizers"):
                store.modify(*where, lambda found: found["metadata"].pop("finalizers"))
            if store.get(*where) is not None:
                store.delete(*where)
    for each in store.api.send("list", LEASES).document["items"]:
        store.api.send("delete", f"{LEASES}/{each['metadata']['name']}", {}, accepted=(404,))
