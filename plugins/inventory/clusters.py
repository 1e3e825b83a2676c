# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory of clusters and their machines, from the manifests and the store."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clusters
short_description: List clusters and their machines as inventory hosts
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Makes one inventory host of every Cluster that the manifests or the store name, in the group C(control_planes).
    The playbooks of this collection run on these hosts; one host is one cluster, and C(forks), C(--limit), C(serial)
    and AWX job slicing work on clusters.
  - The host has the cluster's name, or, where two clusters here have the same, C(NAMESPACE.NAME). Hosts and groups of your own need other names, since
    Ansible takes two of one name for one, and tasks for that host would run on the controller. A cluster whose name is taken, or is none that
    Kubernetes takes, gets a host with another name, on which every playbook of this collection ends with the reason. A machine whose name is
    taken is left out with a warning. Give your own inventories before this one, since what comes later can't be seen.
  - Makes one inventory host of every control plane machine that the store knows, in the group of its cluster's machines
    (C(NAME_machines), with every character that a group name can't have replaced by C(_)), in C(control_plane_machines), and in the groups that
    describe it, C(unhealthy), C(outdated), C(etcd_leader), C(provisioning) and C(failure_domain_NAME). C(etcd_leader) is empty
    where the last pass saw no leader. A machine that has the very name of its host in
    your own inventory is in these groups where that inventory is given before this one.
  - Makes one inventory host of every worker of a MachineDeployment, in the groups C(control_plane_workers), C(NAME_workers), C(NAME_DEPLOYMENT) unless
    that ends in C(_machines) or C(_workers), is one of the groups named above, or could be a group of another cluster with a longer name, and those
    that describe it.
  - Sets C(control_plane_inventory_store) and C(control_plane_inventory_manifests) for all hosts, from which the playbook C(adopt)
    knows where the objects and the manifest of a cluster go that is not here yet.
  - It only reads. The desired state is the manifest; an inventory is never its source. One cluster that can't be read keeps no other from becoming a host.
  - A manifest file that can't be read as one still gives a host, named after it, so that playbooks end with its errors rather than without a cluster.
  - For a store of the type C(kubernetes) the options from O(store.kubeconfig) on are those of the collection kubernetes.core, and so are the environment
    variables (C(K8S_AUTH_KUBECONFIG), C(K8S_AUTH_HOST), C(K8S_AUTH_API_KEY) and so on) that replace what isn't given. What is given here becomes part
    of the hosts' variables, as C(ansible-inventory) shows them; a token or a password is better given in the environment.
  - The hosts of clusters have the variables C(control_plane_cluster), C(control_plane_namespace) and C(control_plane_labels), of which O(keyed_groups),
    O(groups) and O(compose) make groups and variables. C(control_plane_labels) are those of the manifest, else of the stored Cluster.
extends_documentation_fragment:
  - ansible.builtin.constructed
  - kubeadm.control_plane._store
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
  namespaces:
    description:
      - The only namespaces whose clusters become hosts, of manifests and store. All of them where it is empty.
      - With credentials that are good for some namespaces of a Kubernetes API only, name these.
    type: list
    elements: str
    default: []
    version_added: 0.7.0
  watch_filter:
    description:
      - Where several instances of this collection share manifests or a store, the value of the label C(cluster.x-k8s.io/watch-filter) of the clusters that
        are this one's, as Cluster API's controllers have it. Only these become hosts, whether the manifest or the stored Cluster has the label.
      - All clusters, labelled or not, where it is empty.
    type: str
    default: ""
    version_added: 0.7.0
  label_selector:
    description:
      - Only clusters with such labels become hosts, whether the manifest or the stored Cluster has them.
      - As C(kubectl --selector) takes it, for example C(env=prod,region!=east,!retired); sets in parentheses after C(in) and C(notin) are taken, too.
      - All clusters where it is empty.
    type: str
    default: ""
    version_added: 0.7.0
  machines:
    description:
      - Whether the clusters' machines become hosts, too. No playbook of this collection needs that.
      - A fleet's inventory is read faster and takes less memory without, and each of its hosts is a cluster, as AWX needs for slicing a job.
    type: bool
    default: true
    version_added: 0.7.0
  store:
    description: Where the clusters' objects are kept. Paths are relative to the inventory file's folder; O(store.path) is C(store) where it isn't given.
    required: false
    default: {}
"""

EXAMPLES = r"""
# inventory.clusters.yml
plugin: kubeadm.control_plane.clusters
manifests:
  - clusters/*.yaml
store:
  type: file
  path: store

# inventory.clusters.yml, of a fleet: the clusters in two namespaces that are in production, in groups by namespace and region
# plugin: kubeadm.control_plane.clusters
# namespaces: [team-a, team-b]
# label_selector: env=prod
# machines: false
# keyed_groups:
#   - key: control_plane_namespace
#     prefix: namespace
#   - key: control_plane_labels.region
#     prefix: region
# store:
#   type: kubernetes
#   path: journal

# inventory.clusters.yml, with the objects in a management cluster
# plugin: kubeadm.control_plane.clusters
# manifests:
#   - clusters/*.yaml
# namespaces: [team-a]
# store:
#   type: kubernetes
#   kubeconfig: ~/.kube/management
#   path: journal
"""

import contextlib
import glob
import os
import sys
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

from ..plugin_utils.calls import inventory_source, screen
from ..plugin_utils.calls.machine_connection import CLUSTERS_GROUP, REFUSED
from ..plugin_utils.objects.manifest.reader import list_clusters
from ..plugin_utils.providers import inventory_groups
from ..plugin_utils.records.cluster_objects import CLUSTER, ClusterObjects
from ..plugin_utils.store import opening
from ..plugin_utils.store.base import Store, StoreError
from ..plugin_utils.store.read_once import OF_ALL, OF_NAMESPACE

Key = tuple[str, str]


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Inventory plugin with clusters and machines as hosts."""

    NAME = "kubeadm.control_plane.clusters"

    def verify_file(self, path: str) -> bool:
        """Accept *.clusters.yml and *.clusters.yaml, and refuse other names later."""
        named = path.endswith(inventory_source.SUFFIXES) or inventory_source.names_the_plugin(path)
        return bool(super().verify_file(path)) and named

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Fill the inventory."""
        try:
            self._parse(inventory, loader, path, cache)
        except (AnsibleError, StoreError) as error:
            inventory_source.refuse(inventory, path, error)
        inventory_source.has_been_read(path)

    def _parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool) -> None:
        super().parse(inventory, loader, path, cache)
        inventory_source.check_name(path)
        inventory_source.check_options(self._read_config_data(path), self.option_definitions)
        folder = os.path.dirname(os.path.abspath(path))
        options = opening.of_inventory(self.get_option("store") or {}, folder)
        files = inventory_source.manifest_files(self.get_option("manifests"), folder)
        # For what works on a cluster that is no host yet (the playbook adopt): where its objects and its manifest would go.
        self._taken = inventory_groups.taken_names(self.inventory, self.get_option("groups") or {})
        self._foreign = inventory_groups.foreign_groups(self.inventory)
        self.inventory.set_variable("all", "control_plane_inventory_store", options)
        self.inventory.set_variable("all", "control_plane_inventory_manifests", self._new_manifest(folder))
        self.inventory.add_group(CLUSTERS_GROUP)
        self.inventory.add_group(inventory_groups.MACHINES_GROUP)
        self._add_clusters(options, files, self._decrypt(loader))
        if not self.inventory.groups[CLUSTERS_GROUP].get_hosts():
            why = inventory_source.without_clusters(
                self.get_option("manifests"), folder, files, opening.describe(options)
            )
            inventory_source.note_without_clusters(inventory, path, why)

    def _add_clusters(self, options: dict[str, t.Any], files: list[str], decrypt: t.Any) -> None:
        namespaces = [str(each) for each in self.get_option("namespaces") or []]
        everywhere: list[t.Optional[str]] = [None]
        manifests: dict[Key, list[str]] = {}
        labels: dict[Key, inventory_groups.Labels] = {}
        for entry in list_clusters(files):
            # Of a file that can't be read nobody can tell the namespace, and all are told of it, where they may work.
            home = namespaces[0] if entry.labels is None and namespaces else entry.namespace
            if not namespaces or home in namespaces:
                manifests[(home, entry.name)] = list(entry.paths)
                labels[(home, entry.name)] = None if entry.labels is None else dict(entry.labels)
        opening.check(options)
        store = opening.open_store(options, decrypt=decrypt) if opening.exists(options) else None
        with store.view(OF_NAMESPACE if namespaces else OF_ALL) if store is not None else contextlib.nullcontext():
            try:
                for namespace in (namespaces or everywhere) if store is not None else ():
                    for key, stored in self._stored(store, namespace).items():
                        of_manifest = labels.get(key, {})
                        both = stored is not None and of_manifest is not None
                        labels[key] = {**(stored or {}), **(of_manifest or {})} if both else None
            except StoreError as error:
                if not opening.is_not_installed(error):
                    raise
                # The playbook that installs is run with this very inventory.
                screen.Screen().warning(str(error))
                store = None
            chosen = inventory_groups.chosen_clusters(
                labels, self.get_option("watch_filter"), self.get_option("label_selector")
            )
            hosts = inventory_groups.cluster_hosts(chosen, self._taken)
            inventory_groups.refuse_taken(hosts, options, self.inventory.hosts)
            for key, host in hosts.items():
                self._add_cluster(host, key, manifests.get(key, []), options, labels[key])
            if store is None or not self.get_option("machines"):
                return
            # After all clusters: a machine of one may have another one's name.
            for key, host in hosts.items():
                if not host.refused:
                    self._add_machines(store, host.name, *key)

    def _stored(self, store: t.Any, namespace: str | None) -> dict[Key, inventory_groups.Labels]:
        """Return stored clusters with labels; None for a damaged file's labels."""
        found: dict[Key, inventory_groups.Labels] = {}
        try:
            for cluster in store.list(CLUSTER, namespace):
                metadata = cluster["metadata"]
                found[(metadata["namespace"], metadata["name"])] = metadata.get("labels") or {}
        except StoreError as error:
            if opening.is_not_installed(error):
                raise
            for key in store.names(CLUSTER, namespace):
                try:
                    cluster = store.get(CLUSTER, *key)
                    if cluster is not None:
                        found[key] = cluster["metadata"].get("labels") or {}
                except StoreError as damaged:
                    screen.Screen().warning(str(damaged))
                    found[key] = None
        return found

    def _new_manifest(self, folder: str) -> str:
        """Return a new manifest's path, * for the name; "" without pattern."""
        patterns = [each for each in self.get_option("manifests") if os.path.basename(each).count("*") == 1]
        known = patterns and not glob.has_magic(os.path.dirname(patterns[0]))
        return os.path.join(folder, patterns[0]) if known else ""

    @staticmethod
    def _decrypt(loader: t.Any) -> t.Any:
        vault = getattr(loader, "_vault", None)
        return vault.decrypt if vault is not None and vault.secrets else None

    def _add_cluster(
        self,
        made: inventory_groups.ClusterHost,
        key: Key,
        paths: list[str],
        store: dict[str, t.Any],
        labels: inventory_groups.Labels,
    ) -> None:
        host = made.name
        self.inventory.add_host(host, group=CLUSTERS_GROUP)
        variables = {
            # The play's host is the cluster: its tasks run on the controller, with the Python that runs Ansible.
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "control_plane_cluster": key[1],
            "control_plane_namespace": key[0],
            "control_plane_manifests": paths,
            "control_plane_store": store,
            "control_plane_labels": labels or {},
        }
        # Of one that can't be read the errors say more.
        if made.refused and labels is not None:
            self.display.warning(made.refused)
            variables[REFUSED] = made.refused
        for variable, value in variables.items():
            self.inventory.set_variable(host, variable, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict)
        with inventory_groups.apart(self.inventory, host, self._foreign, self.display.warning):
            self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict)

    def _add_machines(self, store: Store, host: str, namespace: str, name: str) -> None:
        try:
            objects = ClusterObjects.read(store, namespace, name)
            if objects is None:
                return
            machines = list(inventory_groups.machine_hosts(objects, host, self.inventory.hosts, self._taken))
        except (StoreError, LookupError, TypeError, AttributeError) as error:
            # Whatever is wrong with the objects of one cluster.
            screen.Screen().warning(f"machines of {namespace}/{name} are left out of the inventory: {error}")
            return
        self.inventory.add_group(inventory_groups.group_name(host, "machines"))
        for each in machines:
            if each.refused:
                self.display.warning(f"machine {namespace}/{each.name} is left out of the inventory: {each.refused}")
                continue
            self.inventory.add_host(each.name, group=self.inventory.add_group(each.everywhere))
            with inventory_groups.apart(self.inventory, each.name, self._foreign, self.display.warning):
                for one in each.groups:
                    self.inventory.add_host(each.name, group=self.inventory.add_group(one))
            for key, value in each.variables.items():
                self.inventory.set_variable(each.name, key, value)
