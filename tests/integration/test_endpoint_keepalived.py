# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint on the hosts themselves, as its role calls it: what is refused before a machine is made, and hosts that don't answer."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import yaml
from host_pool import GROUP, pool_documents
from workspace import Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
# Nothing listens on port 1: a host that doesn't answer, at once.
AWAY = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}
# The endpoint of each cluster, the group of its hosts, and what is said.
CLUSTERS = {
    "far": ("203.0.113.250", 8443, GROUP, "here: 203.0.113.250 is on no network of this host"),
    "wan": ("203.0.113.250", 8443, "wans", "There is no interface wan0 on this host; it has"),
    "port": ("203.0.113.250", 6443, GROUP, "has the port 6443, on which the API servers listen on the same hosts"),
    "name": ("prod.example.org", 8443, GROUP, "has prod.example.org, and keepalived takes an IP address"),
    "vip-port": (
        "203.0.113.250",
        8443,
        GROUP,
        "answers on its API server's. Nothing was done. Give the endpoint the port 6443",
    ),
    "vip-name": ("prod.example.org", 6443, GROUP, "has prod.example.org, and kube-vip takes an IP address"),
    "vip-old": (
        "203.0.113.250",
        6443,
        GROUP,
        "kubeadm join of v1.20.2 takes none beside its own; it does from 1.23 on",
    ),
    "silent": ("203.0.113.250", 8443, "aways", "no free host of the inventory group aways answers"),
    "away": ("203.0.113.250", 8443, "aways", "the endpoint was left as it is on away-m1 (host gone): machine"),
}


def test_what_is_said_of_an_endpoint_on_the_hosts(tmp_path: Path) -> None:
    """Each refusal with its reason; a machine whose host is dead keeps nobody from replacing it."""
    workspace = Workspace(tmp_path / "workspace")
    store = FileStore(str(workspace.store))
    for name, (host, port, group, _said) in CLUSTERS.items():
        documents = cluster_documents(name, replicas=1)
        pool_documents(documents, {"group": group}, host, port)
        path = workspace.write(name, yaml.safe_dump_all(documents, sort_keys=False))
        stored_cluster.apply_manifest(store, read_cluster([str(path)], "default", name))
    _machine(store, "away-m1", {"cluster.x-k8s.io/control-plane": ""})
    # Its release was cut off, and the host is another cluster's by now, with an endpoint of that one's.
    _machine(store, "away-m2", {"cluster.x-k8s.io/control-plane": ""}, state="Releasing", host="back")
    _machine(
        store,
        "away-w1",
        {},
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "w", "uid": "1", "controller": True},
    )
    inventory = workspace.folder / "hosts.yml"
    back, asked = tmp_path / "back", tmp_path / "asked"
    answer = json.dumps({"failed": True, "msg": "It was given back.", "reason": "GivenBack"})
    back.write_text(f"#!/bin/sh\ncat > {asked}\necho '{answer}'\n")
    back.chmod(0o755)
    wan = {**HERE, "endpoint_keepalived_interface": "wan0"}
    groups = {GROUP: {"here": HERE}, "wans": {"there": wan}, "aways": {"gone": AWAY, "gone-2": AWAY}}
    groups["others"] = {"back": {**HERE, "ansible_python_interpreter": str(back)}}
    inventory.write_text(yaml.safe_dump({name: {"hosts": hosts} for name, hosts in groups.items()}))
    task = {
        "kubeadm.control_plane.inventory_endpoint": {
            "cluster": "{{ inventory_hostname }}",
            "store": {"path": str(workspace.store)},
            "servers": "{{ servers[inventory_hostname] | default([]) }}",
            "kube_vip_image": "{{ 'registry.invalid/kube-vip:v1' if inventory_hostname.startswith('vip-') else '' }}",
        }
    }
    workspace.write_playbook("endpoint.yml", task)
    servers = json.dumps({"servers": {"away": [{"name": "away-m1", "address": "203.0.113.1"}]}})
    run = workspace.playbook("endpoint.yml", "-i", str(inventory), "-e", servers)
    for name, (*_wanted, said) in CLUSTERS.items():
        assert said in run.text, (name, run.output)
        assert run.recap(name)["failed"] == int(name != "away") and run.recap(name)["changed"] == 0
    assert "away-w1" not in run.text, "a worker's host was never behind it"
    assert re.search(r"claim_id\W+id-1", asked.read_text()) and "away-m2" not in run.text, "it has left long ago"


def _machine(
    store: FileStore,
    name: str,
    labels: dict[str, str],
    *owners: dict[str, object],
    state: str = "Claimed",
    host: str = "gone",
) -> None:
    """A machine of the cluster away, by default on a host that is gone."""
    labels = {"cluster.x-k8s.io/cluster-name": "away", **labels}
    metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": list(owners)}
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "InventoryMachine", "name": name}
    spec = {"clusterName": "away", "version": "v1.20.2", "infrastructureRef": reference}
    claim = {"inventoryHost": host, "id": "id-1", "state": state}
    status = {"claim": claim, "connection": {"inventoryHost": host}, "machineID": "0" * 32, "state": "running"}
    for document in (
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata, "spec": spec},
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "InventoryMachine",
            "metadata": metadata,
            "spec": {"group": GROUP},
            "status": status,
        },
    ):
        store.create(document)
