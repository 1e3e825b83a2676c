# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts of a control plane made by hand answer to node_adoption_info, with real certificates; it stands in for the hosts."""

from __future__ import annotations

import copy
import json
import typing as t

import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import sealed
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.evidence import (
    Host,
    configuration,
    problems,
    read_host,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.host_problems import Problem
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates

Object = dict[str, t.Any]
# The store writes the time of its own clock.
NOW = now_rfc3339()
VERSION = "v1.20.2"
ALGORITHM = "ECDSA-P256"
CONFIGURATION: Object = {
    "apiVersion": "kubeadm.k8s.io/v1beta2",
    "kind": "ClusterConfiguration",
    "apiServer": {
        "extraArgs": {"audit-log-maxage": "7", "authorization-mode": "Node,RBAC"},
        "timeoutForControlPlane": "4m0s",
    },
    "certificatesDir": "/etc/kubernetes/pki",
    "clusterName": "kubernetes",
    "controlPlaneEndpoint": "10.0.0.100:6443",
    "controllerManager": {},
    "dns": {"type": "CoreDNS"},
    "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
    "imageRepository": "k8s.gcr.io",
    "kubernetesVersion": VERSION,
    "networking": {"dnsDomain": "cluster.local", "podSubnet": "10.244.0.0/16", "serviceSubnet": "10.96.0.0/12"},
    "scheduler": {},
}


class HandMade:
    """Hosts of one cluster. A test changes ``configuration``, ``nodes`` or one host's answer before it is read."""

    def __init__(self, count: int = 3, cluster_id: str = "00000000000000c1", prefix: str = "host") -> None:
        self.configuration = copy.deepcopy(CONFIGURATION)
        self.cluster_id = cluster_id
        authorities = {name: certificates.new_ca(name, NOW, ALGORITHM) for name in ("ca", "etcd", "proxy")}
        self.pairs = {**authorities, "sa": certificates.new_service_account(ALGORITHM)}
        self.names = [f"{prefix}-{number}" for number in range(1, count + 1)]
        self.nodes = {name: self.node(number, name) for number, name in enumerate(self.names, start=1)}
        # Workers' Nodes by their hosts, of which kubeadm has joined none yet.
        self.workers: dict[str, Object] = {}
        # Each host's own answer, changed in place.
        self.changes: dict[str, t.Callable[[Object], None]] = {}

    def node(self, number: int, name: str) -> Object:
        return {
            "metadata": {
                "name": f"cp-{number}",
                "uid": f"uid-{number}",
                "creationTimestamp": f"2024-10-01T12:0{number}:00Z",
                "labels": {"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""},
                "annotations": {"kubeadm.alpha.kubernetes.io/cri-socket": "/run/containerd/containerd.sock"},
            },
            "spec": {"taints": [{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}]},
            "status": {
                "nodeInfo": {"machineID": f"{number}" * 32, "kubeletVersion": VERSION},
                "addresses": [{"type": "InternalIP", "address": f"10.0.0.{number}"}],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def join(self, count: int = 2, version: str = VERSION) -> list[str]:
        """Have so many workers, as plain kubeadm joins them; returns their hosts."""
        for number in range(1, count + 1):
            node = self.node(number, f"w-host-{number}")
            node["metadata"].update(name=f"w-{number}", uid=f"uid-w-{number}", labels={"kubernetes.io/os": "linux"})
            node["spec"]["taints"] = []
            node["status"]["nodeInfo"].update(machineID=f"{number}".rjust(32, "e"), kubeletVersion=version)
            node["status"]["addresses"] = [{"type": "InternalIP", "address": f"10.0.1.{number}"}]
            self.workers[f"w-host-{number}"] = node
        return list(self.workers)

    def worker_result(self, name: str) -> Object:
        """What the module returns on a worker's host; one that has none carries nothing."""
        node = self.workers.get(name)
        number = name.rpartition("-")[2]
        answer: Object = {
            "observation": {
                "api": {"answers": False, "message": "no control plane", "date": None, "server": None},
                "endpoint": {"answers": None, "message": ""},
                "machine": {
                    "machineID": node["status"]["nodeInfo"]["machineID"] if node else "f" * 32,
                    "bootID": f"boot-w-{number}",
                    "hostname": f"w-{number}",
                    "staticPodManifests": [],
                },
                "objects": None,
                "etcd": None,
            },
            "adoption": None,
            "worker": {
                "caCertHash": certificates.ca_cert_hash(self.pairs["ca"].crt) if node else "",
                "kubeletArguments": [["network-plugin", "cni"], ["node-labels", "shop=yes"]] if node else [],
                "claim": None,
                "missing": [],
            },
        }
        self.changes.get(name, lambda answer: None)(answer)
        return dict(json.loads(json.dumps(answer)))

    def result(self, name: str, key: str) -> Object:
        """What the module returns there."""
        if name not in self.names:
            return self.worker_result(name)
        number = self.names.index(name) + 1
        private = {purpose: str(pair.key) for purpose, pair in self.pairs.items() if pair.key}
        answer = {
            "observation": {
                "api": {"answers": True, "message": "", "date": None, "server": f"https://10.0.0.{number}:6443"},
                "endpoint": {"answers": True, "message": ""},
                "machine": {
                    "machineID": f"{number}" * 32,
                    "bootID": f"boot-{number}",
                    "hostname": f"cp-{number}",
                    "staticPodManifests": ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"],
                },
                "objects": {
                    "kubeadmConfig": {"data": {"ClusterConfiguration": yaml.safe_dump(self.configuration)}},
                    "nodes": list(self.nodes.values()),
                    "workerNodes": [each["metadata"]["name"] for each in self.workers.values()],
                    "workers": list(self.workers.values()),
                    "pods": [
                        _pod(component, node["metadata"]["name"])
                        for node in self.nodes.values()
                        for component in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
                    ],
                    "staticPodFlags": [],
                },
                "etcd": {
                    "reachable": True,
                    "clusterID": self.cluster_id,
                    "members": [
                        {"id": f"{each:016x}", "name": f"cp-{each}", "peerURLs": [], "clientURLs": []}
                        for each in range(1, len(self.names) + 1)
                    ],
                    "statuses": {
                        f"{each:016x}": {"healthy": True, "version": "3.4.13", "leader": f"{1:016x}"}
                        for each in range(1, len(self.names) + 1)
                    },
                    "leader": f"{1:016x}",
                    "alarms": [],
                    "memberListAgrees": True,
                },
            },
            "adoption": {
                "certificatesDir": "/etc/kubernetes/pki",
                "public": {purpose: pair.crt for purpose, pair in self.pairs.items()},
                "sealed": sealed.seal(key, json.dumps(private).encode()),
                "withKey": sorted(private),
                "kubeletArguments": [["network-plugin", "cni"], ["node-labels", "rack=a"]],
                "clusterAPI": {"served": False, "machines": [], "message": ""},
            },
            "worker": None,
        }
        self.changes.get(name, lambda answer: None)(answer)
        return dict(json.loads(json.dumps(answer)))

    def read(self, name: str) -> tuple[t.Optional[Host], t.Optional[Problem]]:
        """Read one host's answer."""
        key = sealed.new_key()
        return read_host(name, self.result(name, key), key)

    def hosts(self, *names: str) -> list[Host]:
        """Every host, all of which must be readable."""
        found = [self.read(name) for name in names or self.names]
        assert all(problem is None for _host, problem in found), found
        return [host for host, _problem in found if host is not None]

    def hub(self) -> Object:
        """kubeadm's configuration in hub form."""
        hub, wrong = configuration(self.hosts(self.names[0])[0])
        assert not wrong
        return hub

    def problems(self) -> list[Problem]:
        """Everything that speaks against adopting them."""
        return problems(self.hosts(), self.hub(), NOW)


def _pod(component: str, node: str) -> Object:
    return {
        "metadata": {"name": f"{component}-{node}", "labels": {"component": component, "tier": "control-plane"}},
        "spec": {"nodeName": node, "containers": [{"name": component, "image": f"k8s.gcr.io/{component}:{VERSION}"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
