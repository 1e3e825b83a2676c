# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's folder whose cluster's objects go from files to the very cluster's API and back; what is there is read with kubectl alone."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import yaml
from workspace import Run, Workspace

# An inventory for each place that the objects may be in.
FILES, ITSELF, EXPORT = "inventory.clusters.yml", "itself.clusters.yml", "export.clusters.yml"
STORES = {FILES: "store", ITSELF: "journal", EXPORT: "export"}
VAULT_PASSWORD = "of the exports"


class SelfHosted(Workspace):
    """``inventory`` is the one that playbooks are run with, and whose store is read."""

    def __init__(self, folder: Path, cluster: str, kubectl: str) -> None:
        super().__init__(folder)
        self.cluster = cluster
        self.inventory = FILES
        self._kubectl = kubectl
        # What the API said last: it may be silent for a moment, and how machines are reached doesn't change.
        self._said: dict[tuple[str, str], list[dict[str, t.Any]]] = {}
        self.password = self._private("vault-password", VAULT_PASSWORD.encode())
        self.kubeconfig = folder / f"{cluster}.kubeconfig"
        self._write_inventory(EXPORT, path=STORES[EXPORT], encrypt_secrets=True)

    @property
    def itself(self) -> dict[str, str]:
        """The options of the store in the cluster's own API."""
        folder = self.folder
        return {
            "type": "kubernetes",
            "kubeconfig": str(self.kubeconfig),
            "path": str(folder / STORES[ITSELF]),
            "export": str(folder / STORES[EXPORT]),
        }

    def reach_itself(self) -> None:
        """Have the administrator's kubeconfig written, and the inventory that uses it."""
        self.playbook("status", "-e", f"control_plane_kubeconfig={self.kubeconfig}").succeeded()
        self._write_inventory(ITSELF, **self.itself)

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type."""
        program, _i, _inventory, *rest = super().command(playbook, *arguments)
        return [program, "-i", self.inventory, "--vault-password-file", str(self.password), *rest]

    def move(self, to: t.Mapping[str, t.Any], *arguments: str) -> Run:
        """Carry the objects to another store."""
        return self.playbook("move", "-e", json.dumps({"control_plane_move_to": to}), *arguments)

    def kubectl(self, *arguments: str, check: bool = True) -> str:
        """What a person types on this host; the cluster is reached by its endpoint."""
        done = subprocess.run(
            [self._kubectl, "--kubeconfig", str(self.kubeconfig), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
            env={**os.environ, "HOME": str(self.folder)},
        )
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout if done.returncode == 0 else ""

    def objects(self, kind: str, namespace: str = "default") -> list[dict[str, t.Any]]:
        """The stored objects of a kind. Of an export, whose Secrets are encrypted, those are as the API gave them."""
        if self.inventory == ITSELF:
            asked = ("get", kind.lower(), "-n", namespace, "-o", "json", "--request-timeout=10s")
            text = self.kubectl(*asked, check=False)
            if text:
                self._said[kind, namespace] = json.loads(text)["items"]
            return self._said.get((kind, namespace), [])
        if self.inventory == EXPORT and kind == "Secret":
            return self._said.get((kind, namespace), [])
        return super().objects(kind, namespace)

    @property
    def store(self) -> Path:
        """The folder of the store in files; of the one in an API, that of the journals."""
        return self.folder / STORES[self.inventory]

    def _write_inventory(self, name: str, **store: t.Any) -> None:
        document = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["clusters/*.yaml"], "store": store}
        (self.folder / name).write_text(yaml.safe_dump(document))

    def _private(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path
