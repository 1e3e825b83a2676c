# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane made by hand on existing hosts, with the plain kubeadm commands as a person types them."""

from __future__ import annotations

import json
import re
import typing as t

from host_pool import NETWORK, HostPool
from lab_kubernetes import VERSION

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.addresses import network_of
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import haproxy, lifecycle
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout

# The newest in which flags are a map, as the tests have them.
API = kubernetes_versions.api(min(3, kubernetes_versions.api_version_for(VERSION).number)).api_version
KUBECTL = "KUBECONFIG=/etc/kubernetes/admin.conf kubectl"


class ByHand:
    """A cluster that this collection has never seen, on hosts of a pool, behind a load balancer of its owner's."""

    def __init__(self, pool: HostPool, cluster: str, hosts: t.Sequence[str]) -> None:
        self.pool = pool
        self.cluster = cluster
        self.hosts = list(hosts)
        self.balancer = ""

    def make(self, configuration: t.Optional[t.Mapping[str, t.Any]] = None) -> None:
        """Run kubeadm init on the first host and kubeadm join on the others, one after the other.

        A load balancer that is there already has all of the hosts; else one is made that gets them one by one.
        """
        there = bool(self.balancer)
        if not there:
            self.balance(1)
        documents = [
            {"apiVersion": API, "kind": "InitConfiguration"},
            {
                "apiVersion": API,
                "kind": "ClusterConfiguration",
                "kubernetesVersion": VERSION,
                "controlPlaneEndpoint": f"{self.balancer}:6443",
                "networking": {"podSubnet": "10.244.0.0/16"},
                **(configuration or {}),
            },
        ]
        text = "\n---\n".join(json.dumps(each) for each in documents)
        ignore = "".join(f" --ignore-preflight-errors={each}" for each in self.pool.needs["ignorePreflightErrors"])
        skip = "".join(f" --skip-phases={each}" for each in self.pool.needs["skipPhases"])
        first = self.hosts[0]
        self.pool.ssh(first, f"umask 077; cat > /root/kubeadm.json <<'END'\n{text}\nEND\n")
        said = self.pool.ssh(
            first, f"kubeadm init --config /root/kubeadm.json --upload-certs{ignore}{skip} 2>&1", timeout=600
        )
        found = re.search(r"kubeadm join (.*--control-plane --certificate-key \S+)", said.replace("\\\n", " "))
        assert found, said
        for number, name in enumerate(self.hosts[1:], start=2):
            if not there:
                self.balance(number)
            self.pool.ssh(name, f"kubeadm join {found.group(1)}{ignore} 2>&1", timeout=600)

    def join_worker(self, name: str) -> None:
        """Run kubeadm join on a host as a worker, with the command that kubeadm prints for it."""
        ignore = "".join(f" --ignore-preflight-errors={each}" for each in self.pool.needs["ignorePreflightErrors"])
        command = self.pool.ssh(self.hosts[0], "kubeadm token create --print-join-command").strip().splitlines()[-1]
        self.pool.ssh(name, f"{command}{ignore} 2>&1", timeout=600)

    def balance(self, count: int) -> None:
        """Put the first so many hosts behind the load balancer."""
        servers = [{"name": name, "address": self.pool.addresses[name]} for name in self.hosts[:count]]
        wanted = lifecycle.Wanted("default", self.cluster, None, 6443, haproxy.servers_of(servers))
        self.balancer = str(lifecycle.ensure(Layout(DEFAULT_DIRECTORY), network_of(*NETWORK), wanted)[0]["host"])

    def kubectl(self, arguments: str, host: str = "") -> str:
        """Run kubectl on a host, by default the first."""
        return self.pool.ssh(host or self.hosts[0], f"{KUBECTL} {arguments}")

    def remove(self) -> None:
        """Remove the load balancer."""
        lifecycle.remove(Layout(DEFAULT_DIRECTORY), "default", self.cluster)
