# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory of clusters and their machines, from the manifests and the store."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clusters
short_description: Clusters and their machines as inventory hosts
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Makes one inventory host of every Cluster that the manifests or the store name, in the group C(control_planes).
    The playbooks of this collection run on these hosts; one host is one cluster, and C(forks), C(--limit), C(serial)
    and AWX job slicing work on clusters.
  - Makes one inventory host of every control plane machine that the store knows, in the group of its cluster's machines
    (C(NAME_machines), with every character that a group name can't have replaced by C(_)), in C(control_plane_machines), and in the groups that
    describe it, C(unhealthy), C(outdated), C(etcd_leader), C(provisioning) and C(failure_domain_NAME). A machine that has the very name of its host in
    your own inventory is in these groups where that inventory is given before this one.
  - Sets C(control_plane_inventory_store) and C(control_plane_inventory_manifests) for all hosts, from which the playbook C(adopt)
    knows where the objects and the manifest of a cluster go that is not here yet.
  - It only reads. The desired state is the manifest; an inventory is never its source.
  - A manifest file that can't be read as one still gives a host, named after the file, so that the playbooks end with the file's errors
    rather than without a cluster.
options:
  plugin:
    description: Must be C(kubeadm.control_plane.clusters).
    type: str
    required: true
    choices: [kubeadm.control_plane.clusters]
  manifests:
    description:
      - Files with the clusters' manifests, shell patterns allowed.
      - Relative to the inventory file's folder.
    type: list
    elements: str
    default: []
  store:
    description: Where the clusters' objects are kept.
    type: dict
    default: {}
    suboptions:
      type:
        description: The kind of store.
        type: str
        choices: [file]
        default: file
      path:
        description: The store's folder, relative to the inventory file's folder.
        type: str
        default: store
      encrypt_secrets:
        description: Whether Secrets are encrypted with Ansible Vault; needs a vault password in every run.
        type: bool
        default: false
"""

EXAMPLES = r"""
# inventory.clusters.yml
plugin: kubeadm.control_plane.clusters
manifests:
  - clusters/*.yaml
store:
  type: file
  path: store
"""

import glob
import os
import re
import sys
import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.manifest import list_clusters
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.file import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import CLUSTER, ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.inventory_groups import (
    machine_groups,
    machine_variables,
)

CLUSTERS_GROUP = "control_planes"
MACHINES_GROUP = "control_plane_machines"


class InventoryModule(BaseInventoryPlugin):
    """Clusters and machines as hosts."""

    NAME = "kubeadm.control_plane.clusters"

    def verify_file(self, path: str) -> bool:
        """Accept *.clusters.yml and *.clusters.yaml."""
        return bool(super().verify_file(path)) and path.endswith((".clusters.yml", ".clusters.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Fill the inventory."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        folder = os.path.dirname(os.path.abspath(path))
        options = self.get_option("store") or {}
        store_options = {
            "type": options.get("type", "file"),
            "path": os.path.join(folder, options.get("path", "store")),
            "encrypt_secrets": bool(options.get("encrypt_secrets", False)),
        }
        if store_options["type"] != "file":
            raise AnsibleParserError(
                f"{path}: store.type is {store_options['type']!r}; this release knows the type 'file'."
            )
        files = self._files(folder, path)
        # For what works on a cluster that is no host yet (the playbook adopt): where its objects and its manifest would go.
        self.inventory.set_variable("all", "control_plane_inventory_store", store_options)
        self.inventory.set_variable("all", "control_plane_inventory_manifests", self._new_manifest(folder))
        self.inventory.add_group(CLUSTERS_GROUP)
        self.inventory.add_group(MACHINES_GROUP)
        clusters: dict[tuple[str, str], list[str]] = {}
        for entry in list_clusters(files):
            clusters[(entry.namespace, entry.name)] = list(entry.paths)
        store = (
            FileStore(store_options["path"], decrypt=self._decrypt(loader))
            if os.path.isdir(store_options["path"])
            else None
        )
        if store is not None:
            try:
                for cluster in store.list(CLUSTER):
                    clusters.setdefault((cluster["metadata"]["namespace"], cluster["metadata"]["name"]), [])
            except StoreError as error:
                raise AnsibleParserError(str(error)) from error
        names = [name for _namespace, name in clusters]
        for (namespace, name), paths in sorted(clusters.items()):
            host = name if names.count(name) == 1 else f"{namespace}.{name}"
            self._add_cluster(host, namespace, name, paths, store_options)
            if store is not None:
                self._add_machines(store, host, namespace, name)

    def _files(self, folder: str, path: str) -> list[str]:
        files: list[str] = []
        for pattern in self.get_option("manifests"):
            found = sorted(glob.glob(os.path.join(folder, pattern)))
            if not found and not glob.has_magic(pattern):
                raise AnsibleParserError(f"{path}: the manifest {pattern} does not exist (looked in {folder}).")
            files += [each for each in found if each not in files]
        return files

    def _new_manifest(self, folder: str) -> str:
        """The path of a new cluster's manifest, with a * for its name; "" where no pattern takes new files."""
        patterns = [each for each in self.get_option("manifests") if os.path.basename(each).count("*") == 1]
        return (
            os.path.join(folder, patterns[0]) if patterns and not glob.has_magic(os.path.dirname(patterns[0])) else ""
        )

    @staticmethod
    def _decrypt(loader: t.Any) -> t.Any:
        vault = getattr(loader, "_vault", None)
        return vault.decrypt if vault is not None and vault.secrets else None

    def _add_cluster(self, host: str, namespace: str, name: str, paths: list[str], store: dict[str, t.Any]) -> None:
        self.inventory.add_host(host, group=CLUSTERS_GROUP)
        variables = {
            # The play's host is the cluster: its tasks run on the controller, with the Python that runs Ansible.
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "control_plane_cluster": name,
            "control_plane_namespace": namespace,
            "control_plane_manifests": paths,
            "control_plane_store": store,
        }
        for key, value in variables.items():
            self.inventory.set_variable(host, key, value)

    def _add_machines(self, store: FileStore, host: str, namespace: str, name: str) -> None:
        try:
            objects = ClusterObjects.read(store, namespace, name)
        except StoreError as error:
            self.display.warning(f"machines of {namespace}/{name} are left out of the inventory: {error}")
            return
        if objects is None:
            return
        # Never the cluster's own name: --limit prod would take the group, and so no cluster at all.
        group = self.inventory.add_group(re.sub(r"[^A-Za-z0-9_]", "_", host) + "_machines")
        for machine in objects.machines:
            machine_name = machine["metadata"]["name"]
            variables = machine_variables(objects, machine)
            if "ansible_host" not in variables and machine_name not in self.inventory.hosts:
                # How it is reached is known in the user's own inventory alone; a host of that name made here would hide that it is missing.
                continue
            self.inventory.add_host(machine_name, group=group)
            self.inventory.add_host(machine_name, group=MACHINES_GROUP)
            for key, value in variables.items():
                self.inventory.set_variable(machine_name, key, value)
            for each in machine_groups(objects, machine):
                self.inventory.add_host(machine_name, group=self.inventory.add_group(each))
