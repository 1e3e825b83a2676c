# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What clusters are called in the inventory, and which groups and variables a machine has there."""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ansible.errors import AnsibleParserError

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import stores
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects, Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.provider import first_address

HEALTH_CONDITIONS = (
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "HealthCheckSucceeded",
)


def cluster_hosts(clusters: t.Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return what the host of each cluster, a namespace and a name, is called.

    By its name; by NAMESPACE.NAME where another has the same name, or where that name is another one's host.
    """
    names = Counter(name for _namespace, name in clusters)
    full = {key: ".".join(key) for key in clusters}
    taken = {full[key] for key in clusters if names[key[1]] > 1}
    return {key: full[key] if names[key[1]] > 1 or key[1] in taken else key[1] for key in clusters}


def refuse_taken(clusters: t.Mapping[tuple[str, str], str], store: Object, hosts: t.Mapping[str, t.Any]) -> None:
    """Raise AnsibleParserError where another inventory of this run has another cluster under the name of one's host: one of them would be lost.

    Args:
        clusters: the hosts' names of the clusters, by namespace and name.
        store: the options of their store.
        hosts: Ansible's hosts that are there already, by name.
    """
    for (namespace, name), host in clusters.items():
        known = hosts[host].vars if host in hosts else {}
        mine = {"control_plane_namespace": namespace, "control_plane_cluster": name, "control_plane_store": store}
        if "control_plane_store" in known and any(known.get(key) != value for key, value in mine.items()):
            raise AnsibleParserError(
                f"another inventory of this run has a cluster whose host is called {host}, too ({known.get('control_plane_namespace')}/"
                f"{known.get('control_plane_cluster')}, {stores.describe(known['control_plane_store'])}), and to Ansible two hosts of one name are one. "
                "No cluster of this inventory was taken. Give one of the two inventories at a time, or narrow one by namespaces or label_selector."
            )


def machine_groups(objects: ClusterObjects, machine: Object) -> list[str]:
    """Return the groups that describe a machine, from the conditions that the last pass wrote."""
    conditions = {each["type"]: each["status"] for each in machine.get("status", {}).get("conditions", [])}
    groups = []
    if any(conditions.get(each, "True") != "True" for each in HEALTH_CONDITIONS):
        groups.append("unhealthy")
    if conditions.get("UpToDate") == "False":
        groups.append("outdated")
    if not machine.get("status", {}).get("nodeRef"):
        groups.append("provisioning")
    leader = (objects.control_plane or {}).get("status", {}).get("etcdLeader")
    if leader and leader == machine.get("status", {}).get("nodeRef", {}).get("name"):
        groups.append("etcd_leader")
    if machine["spec"].get("failureDomain"):
        groups.append("failure_domain_" + re.sub(r"[^A-Za-z0-9_]", "_", machine["spec"]["failureDomain"]))
    return groups


def machine_variables(objects: ClusterObjects, machine: Object) -> dict[str, t.Any]:
    """Return a machine's inventory variables: what the store knows, without the path of any key."""
    name = machine["metadata"]["name"]
    infrastructure = objects.infrastructure_machines.get(name)
    connection = (infrastructure or {}).get("status", {}).get("connection") or {}
    variables: dict[str, t.Any] = {
        "control_plane_cluster": objects.name,
        "control_plane_namespace": objects.namespace,
        "control_plane_machine_version": machine["spec"]["version"],
    }
    if connection.get("inventoryHost") == name:
        # The user's own inventory has this very host: how it is reached is said there, and must not be written over.
        return variables
    if connection.get("inventoryHost"):
        variables["control_plane_inventory_host"] = connection["inventoryHost"]
    variables["ansible_host"] = connection.get("host") or first_address(infrastructure) or name
    variables["ansible_python_interpreter"] = "/usr/bin/python3"
    if connection.get("user"):
        variables["ansible_user"] = connection["user"]
    if connection.get("port"):
        variables["ansible_port"] = connection["port"]
    return variables
