# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's folder whose clusters are moved: an inventory for each place that their objects may be in."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import yaml
from acme_workspace import AcmeWorkspace
from workspace import Run, Workspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening

PASSWORD = "of the copies"
FILES, API, EXPORT = "files", "api", "export"
Options = dict[str, t.Any]


class Moving:
    """Gives a workspace two stores and the copy that one leaves. ``place`` is the one whose inventory is used, and whose objects are read."""

    def __init__(self, workspace: AcmeWorkspace, kubeconfig: str) -> None:
        folder = workspace.folder
        self.workspace = workspace
        self.place = FILES
        self.password = folder / "password"
        self.password.write_text(PASSWORD)
        self.password.chmod(0o600)
        journal, export = str(folder / "journal"), str(folder / "export")
        self.stores: dict[str, Options] = {
            FILES: {"path": str(folder / "store")},
            API: {"type": "kubernetes", "kubeconfig": kubeconfig, "path": journal, "export": export},
            EXPORT: {"path": export, "encrypt_secrets": True},
        }
        # No machine is taken away in these tests, so that nobody is waited for in vain, and an API server beside them takes its time.
        path = folder / "variables.yml"
        variables = {**yaml.safe_load(path.read_text()), "control_plane_bootstrap_timeout": 60}
        path.write_text(yaml.safe_dump(variables))
        for place, store in self.stores.items():
            document = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["clusters/*.yaml"], "store": store}
            (folder / f"{place}.clusters.yml").write_text(yaml.safe_dump(document))

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type."""
        command = self.workspace.command(playbook, *arguments)
        command[command.index("inventory.clusters.yml")] = f"{self.place}.clusters.yml"
        return [*command, "--vault-password-file", str(self.password)]

    def playbook(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook to its end."""
        return Workspace.run(self.command(playbook, *arguments), self.workspace.folder)

    def to(self, place: str) -> tuple[str, ...]:
        """What says where a move goes."""
        return ("-e", json.dumps({"control_plane_move_to": self.stores[place]}))

    def moved(self, place: str, *arguments: str) -> Run:
        """Move there, and use its inventory from now on."""
        run = self.playbook("move", *self.to(place), *arguments).succeeded()
        self.place = place
        return run

    def objects(self, kind: str) -> list[dict[str, t.Any]]:
        """The stored objects of a kind; no Secrets of the copy."""
        store = opening.open_store({"encrypt_secrets": False, **self.stores[self.place], "export": None})
        group = "" if kind == "Secret" else definitions.group_of(kind)
        return store.list((group, kind), "default")

    @property
    def journal(self) -> Path:
        """The folder with the journals of the store that is in use."""
        return Path(self.stores[self.place]["path"])
