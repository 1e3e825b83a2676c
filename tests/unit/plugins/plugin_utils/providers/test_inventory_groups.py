# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine's variables in the inventory."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.inventory.host import Host

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers.inventory_groups import (
    machine_hosts,
    machine_variables,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


def variables(folder: Path, connection: dict[str, t.Any]) -> dict[str, t.Any]:
    """The variables of the machine m1 that is reached so."""
    infrastructure = {
        "status": {"connection": connection, "addresses": [{"type": "InternalIP", "address": "10.0.0.5"}]}
    }
    objects = ClusterObjects(
        store=FileStore(str(folder / "store")),
        namespace="default",
        name="prod",
        cluster={},
        control_plane=None,
        infrastructure_cluster=None,
        machine_template=None,
        infrastructure_machines={"m1": infrastructure},
    )
    return machine_variables(objects, {"metadata": {"name": "m1"}, "spec": {"version": "v1.20.2"}})


def test_a_machine_of_its_own(tmp_path: Path) -> None:
    """How it is reached is in the store; no key's path is."""
    found = variables(tmp_path, {"host": "10.0.0.6", "port": 2222, "user": "root", "hostKeys": ["ssh-ed25519 AAAA"]})
    assert (found["ansible_host"], found["ansible_port"], found["ansible_user"]) == ("10.0.0.6", 2222, "root")
    assert "control_plane_inventory_host" not in found and "key" not in str(found).lower()


def test_what_ssh_could_take_for_an_option_is_no_user(tmp_path: Path) -> None:
    """Nor a port. That such a host is refused is tested with the whole inventory."""
    found = variables(tmp_path, {"host": "10.0.0.5", "user": "-oProxyCommand=x", "port": "-1"})
    assert found["ansible_host"] == "10.0.0.5" and "ansible_user" not in found and "ansible_port" not in found


def test_a_machine_on_a_host_of_the_inventory_names_it(tmp_path: Path) -> None:
    """The host's own variables hold under its own name only."""
    found = variables(tmp_path, {"inventoryHost": "cp-2"})
    assert found["control_plane_inventory_host"] == "cp-2" and found["ansible_host"] == "10.0.0.5"


def test_a_machine_with_the_name_of_its_host_overwrites_nothing(tmp_path: Path) -> None:
    """The user's own inventory says how it is reached."""
    found = variables(tmp_path, {"inventoryHost": "m1"})
    assert [name for name in found if name.startswith("ansible_")] == []


def test_workers_are_in_groups_of_their_cluster_and_deployment(tmp_path: Path) -> None:
    """Never in the control plane machines' groups."""
    labels = {"cluster.x-k8s.io/deployment-name": "gpu.pool"}
    worker = {"metadata": {"name": "w1", "labels": labels}, "spec": {"version": "v1.20.2"}, "status": {"nodeRef": {}}}
    objects = ClusterObjects(
        store=FileStore(str(tmp_path / "store")),
        namespace="default",
        name="prod",
        cluster={},
        control_plane=None,
        infrastructure_cluster=None,
        machine_template=None,
        workers=[worker],
        infrastructure_machines={"w1": {"status": {"connection": {"host": "10.0.0.7"}}}},
    )
    [found] = machine_hosts(objects, "prod", {}, {})
    assert (found.name, found.refused, found.variables["ansible_host"]) == ("w1", "", "10.0.0.7")
    assert found.everywhere == "control_plane_workers"
    assert found.groups == ["prod_workers", "prod_gpu_pool", "provisioning"]
    # Beside it are other clusters: the names of their groups, and of those that all clusters share, are not for its deployments.
    clusters = {each: Host(each) for each in ("prod", "prod-eu", "pro", "etcd")}
    for each in clusters.values():
        each.vars["control_plane_store"] = {}
    labels["cluster.x-k8s.io/deployment-name"] = "gpu"
    for cluster, name in (("prod", "prod_gpu"), ("prod-eu", "prod_eu_gpu")):
        [found] = machine_hosts(objects, cluster, clusters, {})
        assert found.groups[1] == name
    for cluster, name in (("prod", "eu-gpu"), ("etcd", "leader"), ("prod", "eu.gpu")):
        labels["cluster.x-k8s.io/deployment-name"] = name
        [found] = machine_hosts(objects, cluster, clusters, {})
        assert found.groups == [f"{cluster}_workers", "provisioning"]
    for name in ("machines", "eu-machines", "workers", "eu-workers"):
        labels["cluster.x-k8s.io/deployment-name"] = name
        [found] = machine_hosts(objects, "prod", {}, {})
        assert found.groups == ["prod_workers", "provisioning"]
