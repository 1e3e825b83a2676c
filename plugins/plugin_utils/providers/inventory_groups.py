# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory hosts of clusters and machines, with groups and variables."""

from __future__ import annotations

import contextlib
import hashlib
import re
import typing as t
from collections import Counter

from ansible import constants as C
from ansible.errors import AnsibleParserError

from ..calls import recorded_connection
from ..calls.inventory_source import InventoryFileError
from ..calls.machine_connection import CLUSTERS_GROUP
from ..documents.names import is_dns_subdomain
from ..objects import kinds, label_selector
from ..objects.conditions import COMPONENT_CONDITIONS, ETCD_CONDITIONS, HEALTH_CHECK_SUCCEEDED, UP_TO_DATE
from ..records.cluster_objects import ClusterObjects, Object
from ..store import opening
from .contract import first_address

HEALTH_CONDITIONS = (*COMPONENT_CONDITIONS, *ETCD_CONDITIONS, HEALTH_CHECK_SUCCEEDED)
# Of a cluster; None where they can't be read.
Labels = t.Optional[dict[str, str]]
# Those of machines, besides failure_domain_NAME.
GROUPS = ("etcd_leader", "outdated", "provisioning", "unhealthy")
MACHINES_GROUP, WORKERS_GROUP = "control_plane_machines", "control_plane_workers"
# Nobody else's text names these.
_SHARED = frozenset(("all", "ungrouped", CLUSTERS_GROUP, MACHINES_GROUP, WORKERS_GROUP, *GROUPS))


def chosen_clusters(
    clusters: t.Mapping[tuple[str, str], Labels], watch_filter: t.Any, selector: t.Any
) -> list[tuple[str, str]]:
    """Return the clusters that become hosts, by namespace and name.

    A cluster that can't be read is never left out, since its labels are not known.

    Args:
        clusters: the labels of all of them.
        watch_filter, selector: the plugin's options.

    Raises:
        AnsibleParserError: the selector is none.
    """
    mine = str(watch_filter or "")
    try:
        selected = label_selector.parse(str(selector or ""))
    except ValueError as error:
        raise AnsibleParserError(f"label_selector: {error}") from None
    return [
        key
        for key, labels in sorted(clusters.items())
        if labels is None or (mine in ("", labels.get(kinds.LABEL_WATCH_FILTER)) and selected(labels))
    ]


class ClusterHost(t.NamedTuple):
    """Inventory host of a cluster: its name, and its refusal.

    ``refused`` states why no playbook may run for it, "" where one may.
    """

    name: str
    refused: str = ""


def taken_names(inventory: t.Any, more_groups: t.Iterable[str]) -> dict[str, str]:
    """Return the inventory names that are taken, each with its holder.

    No cluster and no machine of ours may have one of them.

    Args:
        inventory: Ansible's, as it is before anything of ours is in it. Hosts that are clusters are left out (:func:`refuse_taken`).
        more_groups: the names of groups that are about to be made.
    """
    found = dict.fromkeys(C.LOCALHOST, "a host")
    found.update((name, "a host") for name, host in inventory.hosts.items() if "control_plane_store" not in host.vars)
    found.update((name, "a group") for name in (*inventory.groups, *GROUPS, *more_groups))
    return found


def foreign_groups(inventory: t.Any) -> frozenset[str]:
    """Return the inventory groups that have hosts of the user's own.

    The inventory is as it was before anything of ours was added.
    """
    return frozenset(
        name
        for name, group in inventory.groups.items()
        if name not in ("all", "ungrouped")
        and any("control_plane_cluster" not in host.vars for host in group.get_hosts())
    )


@contextlib.contextmanager
def apart(inventory: t.Any, name: str, foreign: t.AbstractSet[str], warn: t.Callable[[str], t.Any]) -> t.Iterator[None]:
    """Remove a host of ours from the user's own groups.

    From those that it enters meanwhile, with a warning for each. Labels and other texts of other users name these
    groups. The user's playbooks for such a group would else run for that host, for a cluster on the controller.

    Args:
        inventory: Ansible's.
        name: the host, which is there.
        foreign: :func:`foreign_groups`.
        warn: gets each warning.
    """
    host = inventory.hosts[name]
    before = list(host.groups)
    yield
    for group in [each for each in host.groups if each not in before]:
        if not foreign.isdisjoint((group.name, *(each.name for each in group.get_ancestors()))):
            group.remove_host(host)
            warn(
                f"the inventory host {name} is not put into the group {group.name}: an inventory before this one has hosts of its own there, and "
                "plays for them would run for it as well. Give the group another name, or the groups of keyed_groups another prefix."
            )


def cluster_hosts(
    clusters: t.Sequence[tuple[str, str]], taken: t.Mapping[str, str]
) -> dict[tuple[str, str], ClusterHost]:
    """Return the inventory host of each cluster, by namespace and name.

    It is called by the cluster's name; by NAMESPACE.NAME where another cluster has the same name, or where that name is another one's
    host. A cluster that can't have that name gets a host all the same, so that its playbooks end with the reason.

    Args:
        clusters: their namespaces and names.
        taken: what else has which name.
    """
    names = Counter(name for _namespace, name in clusters)
    full = {key: ".".join(key) for key in clusters}
    doubled = {full[key] for key in clusters if names[key[1]] > 1}
    wanted = {key: full[key] if names[key[1]] > 1 or key[1] in doubled else key[1] for key in clusters}
    used = {*taken, *wanted.values()}
    found = {}
    for key, name in wanted.items():
        refused = _refused(key, name, taken)
        found[key] = ClusterHost(_other_name(full[key], used) if refused else name, refused)
        used.add(found[key].name)
    return found


def _refused(key: tuple[str, str], name: str, taken: t.Mapping[str, str]) -> str:
    if not all(map(is_dns_subdomain, key)):
        return (
            f"The Cluster {key[0][:80]!r}/{key[1][:260]!r} has no name that Kubernetes takes: at most 253 lower-case letters, digits, '-' and '.' "
            "(RFC 1123). Nothing was done. Correct metadata.name and metadata.namespace in its manifest."
        )
    if name not in taken:
        return ""
    return (
        f"The Cluster {'/'.join(key)} can't be the inventory host {name}: this run's inventory has {taken[name]} of that name, and to Ansible "
        "both would be one, whose tasks run on the controller. Nothing was done. Give the host or group another name, or the Cluster. A cluster's "
        "variables need no host of yours: write them to host_vars."
    )


def _other_name(full: str, used: t.Container[str]) -> str:
    """Return an unused host name: NAMESPACE.NAME, else a hashed form."""
    plain = re.sub(r"[^a-z0-9]+", "-", full[:200].lower()).strip("-") or "cluster"
    name, digest = full, full
    while not is_dns_subdomain(name) or name in used:
        digest = hashlib.sha256(digest.encode("utf-8", "backslashreplace")).hexdigest()
        name = f"{plain}-{digest[:8]}"
    return name


def refuse_taken(
    clusters: t.Mapping[tuple[str, str], ClusterHost], store: Object, hosts: t.Mapping[str, t.Any]
) -> None:
    """Refuse clusters whose host another inventory has differently.

    A host name that is another cluster's: one of the two would be lost. A cluster that has another host name already: a play would work on it twice
    at once. Raises InventoryFileError.

    Args:
        clusters: the hosts of the clusters, by namespace and name.
        store: the options of their store.
        hosts: Ansible's hosts that are there already, by name.
    """
    others = {
        (each.vars.get("control_plane_namespace"), each.vars.get("control_plane_cluster")): known
        for known, each in hosts.items()
        if each.vars.get("control_plane_store") == store
    }
    for (namespace, name), (host, _refused_for) in clusters.items():
        other = others.get((namespace, name), host)
        if other != host:
            raise InventoryFileError(
                f"another inventory of this run has the cluster {namespace}/{name} as the host {other}, and in this one it would be the host {host}: "
                "a playbook would work on the cluster twice at once. No cluster of this inventory was taken. Give one of the two inventories at a time, "
                "or narrow one by namespaces or label_selector."
            )
        known = hosts[host].vars if host in hosts else {}
        mine = {"control_plane_namespace": namespace, "control_plane_cluster": name, "control_plane_store": store}
        if "control_plane_store" in known and any(known.get(key) != value for key, value in mine.items()):
            raise InventoryFileError(
                f"another inventory of this run has a cluster whose host is called {host}, too ({known.get('control_plane_namespace')}/"
                f"{known.get('control_plane_cluster')}, {opening.describe(known['control_plane_store'])}), and to Ansible two hosts of one name are one. "
                "No cluster of this inventory was taken. Give one of the two inventories at a time, or narrow one by namespaces or label_selector."
            )


def machine_groups(objects: ClusterObjects, machine: Object) -> list[str]:
    """Return a machine's groups, from the conditions that the last pass wrote."""
    conditions = {each["type"]: each["status"] for each in machine.get("status", {}).get("conditions", [])}
    groups = []
    if any(conditions.get(each, "True") != "True" for each in HEALTH_CONDITIONS):
        groups.append("unhealthy")
    if conditions.get(UP_TO_DATE) == "False":
        groups.append("outdated")
    if not machine.get("status", {}).get("nodeRef"):
        groups.append("provisioning")
    leader = (objects.control_plane or {}).get("status", {}).get("etcdLeader")
    if leader and leader == machine.get("status", {}).get("nodeRef", {}).get("name"):
        groups.append("etcd_leader")
    if machine["spec"].get("failureDomain"):
        groups.append(group_name("failure_domain", machine["spec"]["failureDomain"]))
    return groups


class MachineHost(t.NamedTuple):
    """Inventory host of a machine, with the reason where it is refused.

    ``everywhere`` is the group of all clusters' machines of its kind; ``refused`` is "" where the machine can be a host.
    """

    name: str
    variables: dict[str, t.Any]
    everywhere: str
    groups: list[str]
    refused: str


def group_name(*parts: str) -> str:
    """Return a group's name, without what such a name can't have."""
    return re.sub(r"[^A-Za-z0-9_]", "_", "_".join(parts))


def machine_hosts(
    objects: ClusterObjects, host: str, hosts: t.Mapping[str, t.Any], taken: t.Mapping[str, str]
) -> t.Iterator[MachineHost]:
    """Yield the inventory host of each machine and worker of a cluster.

    Args:
        objects: the cluster's.
        host: the cluster's own host, after which its groups are named.
        hosts: Ansible's hosts, by name; all our clusters are among them.
        taken: what had which name before anything of ours was in the inventory.
    """
    clusters = [name for name, known in hosts.items() if "control_plane_store" in known.vars] if objects.workers else []
    others = [group_name(each, "") for each in clusters if each != host]
    for machine in (*objects.all_machines, *objects.workers):
        name = str(machine["metadata"]["name"])
        variables = machine_variables(objects, machine)
        if "ansible_host" not in variables and name not in hosts:
            # How it is reached is known in the user's own inventory alone; a host of that name made here would hide that it is missing.
            continue
        refused = _machine_refused(name, variables, hosts[name].vars if name in hosts else {}, taken)
        # Never the cluster's own name: --limit prod would take the group, and so no cluster at all.
        everywhere, own = MACHINES_GROUP, [group_name(host, "machines")]
        deployment = (machine["metadata"].get("labels") or {}).get(kinds.LABEL_DEPLOYMENT_NAME)
        if any(each is machine for each in objects.workers):
            everywhere, own = WORKERS_GROUP, [group_name(host, "workers")]
            own += _pool(host, str(deployment or ""), others)
        yield MachineHost(name, variables, everywhere, [*own, *machine_groups(objects, machine)], refused)


def _pool(host: str, deployment: str, others: t.Iterable[str]) -> list[str]:
    """Return a deployment's group, [] where others could have it.

    Who plays on a group with one of the two endings means a whole cluster's machines or workers, this one's or another's. And of clusters prod
    and prod-eu the deployments eu-gpu and gpu would have one group: it is of the longer name. ``others``: what other clusters' groups begin with.
    """
    name, mine = group_name(host, deployment), group_name(host, "")
    shared = name in _SHARED or name.endswith(("_machines", "_workers"))
    taken = any(name.startswith(each) and len(each) >= len(mine) for each in others)
    return [name] if deployment and not shared and not taken else []


def _machine_refused(
    name: str, variables: t.Mapping[str, t.Any], known: t.Mapping[str, t.Any], taken: t.Mapping[str, str]
) -> str:
    if not is_dns_subdomain(name):
        return f"{name[:260]!r} is no name that Kubernetes takes (RFC 1123)"
    if "control_plane_store" in known:
        return "a cluster of this run's inventory has that name"
    if "ansible_host" not in variables:
        return ""
    address = str(variables["ansible_host"])
    if not recorded_connection.is_host(address):
        return f"its address {address[:260]!r} is neither an IP address nor a DNS name"
    own = ("control_plane_cluster", "control_plane_namespace", "control_plane_machine_version")
    if name in taken and any(known.get(key) != variables[key] for key in own):
        return f"this run's inventory has {taken[name]} of that name"
    return ""


def machine_variables(objects: ClusterObjects, machine: Object) -> dict[str, t.Any]:
    """Return a machine's inventory variables from the store, without key paths."""
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
    if not recorded_connection.problems(connection):
        variables.update({f"ansible_{key}": connection[key] for key in ("user", "port") if connection.get(key)})
    return variables
