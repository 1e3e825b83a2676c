# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-vip on two hosts with folders and a network of their own, as its role puts it there; no kubelet runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from host_pool import GROUP, pool_documents
from private_host import PROGRAM, NetworkedHost
from workspace import Run, Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="no ip: tests/tools/setup.sh gets it where there is apt-get"),
]
VIP, POD = "192.0.2.250", "/etc/kubernetes/manifests/kube-vip.yaml"
STATE = "/var/lib/kubeadm-control-plane"
PLAY = """\
- name: Own
  hosts: control_planes
  gather_facts: false
  module_defaults:
    group/kubeadm.control_plane.cluster_objects:
      cluster: "{{ inventory_hostname }}"
      store:
        path: "{{ playbook_dir }}/store"
  tasks:
    - name: Call the role as a reconcile does
      ansible.builtin.include_role:
        name: kubeadm.control_plane.endpoint_kube_vip
        tasks_from: endpoint
      vars:
        infrastructure_state: present
        infrastructure_cluster:
          cluster: {name: prod, namespace: default}
          object: {kind: InventoryCluster, metadata: {name: prod}}
        infrastructure_endpoint_servers: "{{ servers }}"
"""


class Host(NetworkedHost):
    """A host with a network namespace; Ansible reaches it by an interpreter that goes there."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        folder.mkdir()
        python = folder / "python"
        apart = "setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc"
        inside = f"{sys.executable} {PROGRAM} {folder}/system ip netns exec {self.name} {sys.executable}"
        python.write_text(f'#!/bin/sh\nexec {apart} {inside} "$@"\n')
        python.chmod(0o755)
        self.variables: dict[str, t.Any] = {"ansible_connection": "local", "ansible_python_interpreter": str(python)}

    def record(self, name: str, document: dict[str, t.Any]) -> None:
        """Have a record of this collection on the host."""
        self.run("sh", "-c", f"mkdir -p {STATE} && printf '%s' '{json.dumps(document)}' > {STATE}/{name}")

    def pod(self) -> dict[str, t.Any]:
        """The pod that a kubelet would run, {} without one."""
        text = self.run("cat", POD, check=False)
        return dict(yaml.safe_load(text)) if text else {}

    def kubeconfig(self) -> str:
        """The host's file that kube-vip reads."""
        return str(self.pod()["spec"]["volumes"][0]["hostPath"]["path"])


class Site:
    """Two hosts on one network, a cluster that is to be made of them, and its store."""

    def __init__(self, folder: Path) -> None:
        self.hosts = [Host(folder / name, name) for name in ("kv-a", "kv-b")]
        one, two = self.hosts
        self.workspace = Workspace(folder / "workspace")
        subprocess.run(
            f"ip link add eth0 netns {one.name} type veth peer name eth0 netns {two.name}".split(), check=True
        )
        for host, address in zip(self.hosts, ("192.0.2.11/24", "192.0.2.12/24")):
            host.ip("link set lo up")
            host.ip("link set eth0 up")
            host.ip(f"address add {address} dev eth0")
        self.store = FileStore(str(self.workspace.store))
        documents = cluster_documents("prod", replicas=1, version="v1.33.2")
        pool_documents(documents, {"group": GROUP}, VIP, 6443)
        path = self.workspace.write("prod", yaml.safe_dump_all(documents, sort_keys=False))
        stored_cluster.apply_manifest(self.store, read_cluster([str(path)], "default", "prod"))
        (self.workspace.folder / "endpoint.yml").write_text(PLAY)

    def call(self, *servers: str, **more: t.Any) -> Run:
        """Call the role, with further variables of the hosts."""
        options = more.pop("options", ())
        hosts = {name: {**host.variables, **more} for name, host in zip("ab", self.hosts)}
        inventory = self.workspace.folder / "hosts.yml"
        inventory.write_text(yaml.safe_dump({GROUP: {"hosts": hosts}}))
        wanted = json.dumps({"servers": [{"name": each, "address": "192.0.2.11"} for each in servers]})
        return self.workspace.playbook("endpoint.yml", "-i", str(inventory), "-e", wanted, *options)

    def changed(self, *servers: str, **more: t.Any) -> int:
        """Call it well, and return how many tasks changed something."""
        return self.call(*servers, **more).succeeded().recap("prod")["changed"]

    def claim(self) -> None:
        """Make the first host the machine m1, as the provider does."""
        host = self.hosts[0]
        host.record("claim.json", {"id": "id-1"})
        labels = {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/control-plane": ""}
        metadata = {"name": "m1", "namespace": "default", "labels": labels}
        reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "InventoryMachine", "name": "m1"}
        spec = {"clusterName": "prod", "version": "v1.33.2", "infrastructureRef": reference}
        identity = Path("/etc/machine-id").read_text().strip()
        claim = {"inventoryHost": "a", "id": "id-1", "state": "Claimed"}
        status = {"claim": claim, "connection": {"inventoryHost": "a"}, "machineID": identity, "state": "running"}
        common = {"metadata": metadata}
        self.store.create({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": spec, **common})
        infrastructure = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "InventoryMachine"}
        self.store.create({**infrastructure, "spec": {"group": GROUP}, "status": status, **common})


@pytest.fixture(name="site")
def _site(tmp_path: Path) -> t.Iterator[Site]:
    made = Site(tmp_path)
    yield made
    for host in made.hosts:
        host.end()


def test_a_machines_host_comes_behind_the_address_and_leaves_it(site: Site) -> None:
    """With super-admin.conf until kubeadm init has ended; what a kube-vip that was killed left of the address goes with it."""
    first, second = site.hosts
    assert site.changed() == 1, "that the address is free is recorded"
    assert site.workspace.objects("InventoryCluster")[0]["status"]["endpointIsUnused"] is True
    site.claim()
    assert site.changed("m1", options=["--check"]) == 1 and first.pod() == {}
    assert site.changed("m1") == 1 and second.pod() == {}
    settings = {each["name"]: each.get("value") for each in first.pod()["spec"]["containers"][0]["env"]}
    assert (settings["address"], settings["port"], settings["vip_interface"]) == (VIP, "6443", "eth0")
    assert first.kubeconfig() == "/etc/kubernetes/super-admin.conf"
    assert site.changed("m1") == 0
    first.record("bootstrap.json", {"state": "Succeeded", "step": "bootstrap-m1", "kind": "init"})
    assert site.changed("m1") == 1 and first.kubeconfig() == "/etc/kubernetes/admin.conf"
    first.ip(f"address add {VIP}/32 dev eth0")
    assert site.changed("m1") == 0 and site.changed() == 1
    assert first.pod() == {} and VIP not in first.ip("address show") and "192.0.2.11" in first.ip("address show")
    assert site.changed() == 0


def test_what_the_hosts_and_their_network_refuse(site: Site) -> None:
    """Said of both hosts at once; another host on the network that has the address is found by ARP."""
    said = site.call(endpoint_kube_vip_interface="wan0").failed().text
    assert all(f"{name}: There is no interface wan0 on this host; it has eth0, lo" in said for name in "ab")
    assert "endpoint_kube_vip_interface" in said
    site.hosts[1].ip(f"address add {VIP}/32 dev eth0")
    said = site.call().failed().text
    assert f"a: {VIP} is held by another host on the network of eth0" in said
    assert f"b: {VIP} is this host's own address" in said
    assert all(host.pod() == {} for host in site.hosts)
