# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots for tests, built in words: ``cluster(3).machine("a").machine("b").build()``. Used by every test of decisions."""

from __future__ import annotations

import copy
import datetime
from typing import Any, Optional

Object = dict[str, Any]
NOW = "2026-01-31T12:00:00Z"
LONG_AGO = 3600
VERSION = "v1.20.2"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
CONFIG: Object = {
    "clusterConfiguration": {"apiServer": {"extraArgs": [{"name": "v", "value": "2"}]}},
    "initConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "cgroup-driver", "value": "cgroupfs"}]}},
    "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "cgroup-driver", "value": "cgroupfs"}]}},
}


def at(seconds_ago: float, now: str = NOW) -> str:
    """The RFC 3339 time so many seconds before ``now``."""
    moment = datetime.datetime.strptime(now, "%Y-%m-%dT%H:%M:%SZ") - datetime.timedelta(seconds=seconds_ago)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def member_id(name: str) -> str:
    """A member's ID made from its name: "a" -> 00000000000000a1, readable in failures."""
    return name.encode().hex()[-15:].rjust(16, "0")


def cluster(replicas: int = 3, version: str = VERSION) -> Builder:
    """A cluster with infrastructure, endpoint and certificates, without machines."""
    return Builder(replicas, version)


def healthy(count: int, replicas: Optional[int] = None) -> Builder:
    """A control plane of ``count`` working machines named m1, m2, ... that began long ago; m1 leads etcd."""
    builder = cluster(count if replicas is None else replicas)
    for number in range(1, count + 1):
        builder.machine(f"m{number}", age=LONG_AGO - number)
    return builder


class Builder:
    """Builds a snapshot step by step; every method changes and returns the builder."""

    def __init__(self, replicas: int, version: str) -> None:
        self.snapshot: Object = {
            "snapshotVersion": "v1",
            "now": NOW,
            "cluster": {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Cluster",
                "metadata": {"name": "prod", "namespace": "default", "annotations": {}},
                "spec": {
                    "controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443},
                    "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "NspawnCluster", "name": "prod"},
                },
                "status": {"initialization": {"infrastructureProvisioned": True}},
            },
            "controlPlane": {
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                "kind": "KubeadmControlPlane",
                "metadata": {"name": "prod", "namespace": "default", "generation": 1, "annotations": {}},
                "spec": {
                    "replicas": replicas,
                    "version": version,
                    "machineTemplate": {
                        "spec": {
                            "infrastructureRef": {
                                "apiGroup": INFRASTRUCTURE,
                                "kind": "NspawnMachineTemplate",
                                "name": "prod",
                            }
                        }
                    },
                    "kubeadmConfigSpec": copy.deepcopy(CONFIG),
                },
                "status": {},
            },
            "infrastructureCluster": {
                "kind": "NspawnCluster",
                "metadata": {"name": "prod", "namespace": "default"},
                "spec": {},
                "status": {"initialization": {"provisioned": True}},
            },
            "machineTemplate": {
                "kind": "NspawnMachineTemplate",
                "metadata": {"name": "prod"},
                "spec": {"template": {"spec": {}}},
            },
            "certificates": {
                **{
                    name: {"present": True, "hasKey": True, "notAfter": "2036-01-01T00:00:00Z"}
                    for name in ("ca", "etcd", "proxy", "sa")
                },
                "kubeconfig": {"present": True, "notAfter": "2036-01-01T00:00:00Z"},
            },
            "machines": [],
            "preparedMachines": [],
            "workload": _unreachable(False),
        }

    @property
    def workload(self) -> Object:
        """The workload part."""
        found: Object = self.snapshot["workload"]
        return found

    @property
    def spec(self) -> Object:
        """The KubeadmControlPlane's spec."""
        found: Object = self.snapshot["controlPlane"]["spec"]
        return found

    def build(self) -> Object:
        """A copy of the snapshot as it stands."""
        return copy.deepcopy(self.snapshot)

    def bare(self) -> Builder:
        """As the manifest was read a moment ago: no infrastructure, endpoint or certificates."""
        del self.snapshot["cluster"]["spec"]["controlPlaneEndpoint"]
        self.snapshot["cluster"]["status"] = {}
        self.snapshot["infrastructureCluster"]["status"] = {}
        for facts in self.snapshot["certificates"].values():
            facts.update(present=False, notAfter=None)
            facts.pop("hasKey", None)
        self.workload["endpoint"] = {"answers": None, "message": "not asked"}
        return self

    def domains(self, *names: str) -> Builder:
        """Failure domains that take control plane machines."""
        self.snapshot["infrastructureCluster"]["status"]["failureDomains"] = [
            {"name": name, "controlPlane": True} for name in names
        ]
        return self

    def machine(
        self,
        name: str,
        state: str = "Succeeded",
        age: float = LONG_AGO,
        domain: str = "",
        init: Optional[bool] = None,
        started: Optional[float] = None,
    ) -> Builder:
        """A Machine; with state Succeeded its Node, static pods and etcd member work. ``started``: seconds ago, default ``age``."""
        first = not self.snapshot["machines"] if init is None else init
        number = len(self.snapshot["machines"]) + 1
        metadata: Object = {
            "name": name,
            "namespace": "default",
            "creationTimestamp": at(age),
            "annotations": {},
            "ownerReferences": [{"kind": "KubeadmControlPlane", "name": "prod", "controller": True}],
        }
        status: Object = {
            "bootstrap": {"state": state, "message": "", "startedAt": at(age if started is None else started)}
        }
        if not state:
            status = {}
        config = copy.deepcopy(self.spec["kubeadmConfigSpec"])
        if first:
            config.pop("joinConfiguration", None)
        else:
            config.pop("initConfiguration", None)
            config.setdefault("joinConfiguration", {}).setdefault("controlPlane", {})
        spec: Object = {"clusterName": "prod", "version": self.spec["version"], "providerID": f"nspawn:///prod/{name}"}
        if domain:
            spec["failureDomain"] = domain
        self.snapshot["machines"].append(
            {
                "machine": {"kind": "Machine", "metadata": metadata, "spec": spec, "status": status},
                "infrastructureMachine": {
                    "kind": "NspawnMachine",
                    "metadata": {
                        "name": name,
                        "annotations": {
                            "cluster.x-k8s.io/cloned-from-name": "prod",
                            "cluster.x-k8s.io/cloned-from-groupkind": f"NspawnMachineTemplate.{INFRASTRUCTURE}",
                        },
                    },
                    "spec": {},
                    "status": {
                        "initialization": {"provisioned": True},
                        "machineID": f"id-{name}",
                        "addresses": [{"type": "InternalIP", "address": f"10.0.0.{number}"}],
                    },
                },
                "kubeadmConfig": {
                    "kind": "KubeadmConfig",
                    "metadata": {**metadata, "annotations": {}},
                    "spec": config,
                },
            }
        )
        return self.works(name) if state == "Succeeded" else self

    def says(self, name: str, state: str = "", message: str = "") -> Builder:
        """What the machine says of its bootstrap now; without a state it does not answer."""
        said = {"answers": bool(state), "state": state, "message": message or ("" if state else "no route to host")}
        self.entry(name)["bootstrapUnit"] = said
        return self

    def entry(self, name: str) -> Object:
        """The machine's entry: machine, infrastructureMachine, kubeadmConfig."""
        found: Object = next(each for each in self.snapshot["machines"] if each["machine"]["metadata"]["name"] == name)
        return found

    def works(self, name: str) -> Builder:
        """The machine carries a working control plane: Node, static pods, etcd member; the API answers."""
        entry = self.entry(name)
        if not self.workload["reachable"]:
            self.snapshot["workload"] = {
                **_unreachable(True),
                "reachable": True,
                "via": name,
                "message": "",
                "initialized": True,
            }
        if self.workload["etcd"] is None:
            self.etcd()
        self.node(name)
        entry["machine"]["status"]["nodeRef"] = {"name": name}
        self.workload["pods"][name] = {
            component: {"phase": "Running", "ready": True, "waitingReason": "", "lastExitCode": None}
            for component in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
        }
        self.member(name)
        for owner in (self.snapshot["cluster"], self.snapshot["controlPlane"]):
            owner["status"].setdefault("initialization", {})["controlPlaneInitialized"] = True
        return self

    def node(self, name: str, ready: str = "True", age: float = LONG_AGO) -> Builder:
        """A control plane Node of that name."""
        self.workload["nodes"] = [each for each in self.workload["nodes"] if each["name"] != name]
        self.workload["nodes"].append(
            {
                "name": name,
                "uid": f"uid-{name}",
                "providerID": "",
                "kubeletVersion": self.spec["version"],
                "labels": {"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""},
                "taints": [{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}],
                "unschedulable": False,
                "ready": ready,
                "readyReason": "KubeletReady" if ready == "True" else "KubeletNotReady",
                "internalIP": "",
                "machineID": f"id-{name}",
                "creationTimestamp": at(age),
                "annotations": {},
            }
        )
        return self

    def unlabelled(self, name: str) -> Builder:
        """Somebody took kubeadm's labels off the Node: it is listed among the workers'."""
        self.workload["nodes"] = [each for each in self.workload["nodes"] if each["name"] != name]
        self.workload["workerNodes"] = [*self.workload["workerNodes"], name]
        return self

    def etcd(self) -> Builder:
        """An etcd cluster that answers and has no member yet."""
        self.workload["etcd"] = {
            "reachable": True,
            "message": "",
            "members": [],
            "memberListAgrees": True,
            "leader": None,
            "clusterID": "00000000000000cc",
            "alarms": [],
            "statuses": {},
        }
        return self

    def member(
        self, name: str, healthy: bool = True, learner: bool = False, unnamed: bool = False, address: str = ""
    ) -> Builder:
        """An etcd member; the first one leads. ``unnamed``: it was added and never started."""
        etcd = self.workload["etcd"]
        identity = member_id(name)
        etcd["members"] = [each for each in etcd["members"] if each["id"] != identity]
        etcd["members"].append(
            {
                "id": identity,
                "name": "" if unnamed else name,
                "peerURLs": [f"https://{address}:2380"] if address else [],
                "clientURLs": [],
                "isLearner": learner,
            }
        )
        etcd["statuses"][identity] = {
            "healthy": healthy and not unnamed,
            "message": "" if healthy else "context deadline exceeded",
        }
        etcd["leader"] = etcd["leader"] or identity
        return self

    def sick_member(self, name: str) -> Builder:
        """The machine's member does not answer; another one leads."""
        etcd = self.workload["etcd"]
        etcd["statuses"][member_id(name)].update(healthy=False, message="context deadline exceeded")
        if etcd["leader"] == member_id(name):
            etcd["leader"] = next((each["id"] for each in etcd["members"] if each["id"] != member_id(name)), None)
        return self

    def without_member(self, name: str) -> Builder:
        """The machine's member is not listed."""
        etcd = self.workload["etcd"]
        etcd["members"] = [each for each in etcd["members"] if each["id"] != member_id(name)]
        etcd["statuses"].pop(member_id(name), None)
        return self

    def pod(self, name: str, component: str, **facts: Any) -> Builder:
        """Change the facts of a machine's static pod; no facts: it does not exist."""
        if facts:
            self.workload["pods"][name][component].update({"ready": False, **facts})
        else:
            del self.workload["pods"][name][component]
        return self

    def unreachable(self, message: str = "connection refused") -> Builder:
        """No machine's API answers."""
        self.snapshot["workload"] = {**_unreachable(None), "message": message}
        return self

    def endpoint(self, answers: Optional[bool]) -> Builder:
        """What was learnt about the control plane endpoint."""
        self.workload["endpoint"] = {"answers": answers, "message": ""}
        return self

    def deleting(self, *names: str) -> Builder:
        """Mark Machines for deletion; without names the Cluster and its KubeadmControlPlane."""
        owners = [self.entry(name)["machine"] for name in names] or [
            self.snapshot["cluster"],
            self.snapshot["controlPlane"],
        ]
        for owner in owners:
            owner["metadata"]["deletionTimestamp"] = at(30)
        return self

    def stored(self, kind: str, status: str, seconds: float, name: str = "", reason: str = "X") -> Builder:
        """A stored condition that has had its status for so many seconds; of a Machine, "cluster" or the control plane ("")."""
        owner = {"": self.snapshot["controlPlane"], "cluster": self.snapshot["cluster"]}.get(name) or self.entry(name)[
            "machine"
        ]
        owner.setdefault("status", {}).setdefault("conditions", []).append(
            {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": at(seconds)}
        )
        return self

    def marked(self, *names: str, seconds: float = LONG_AGO) -> Builder:
        """A MachineHealthCheck found these Machines unhealthy so many seconds ago and asks their owner to remediate them."""
        for name in names:
            for kind, reason in (
                ("HealthCheckSucceeded", "UnhealthyNode"),
                ("OwnerRemediated", "WaitingForRemediation"),
            ):
                self.stored(kind, "False", seconds, name, reason)
        return self

    def annotate(self, key: str, value: str, name: str = "") -> Builder:
        """An annotation on a Machine, or on the control plane ("")."""
        owner = self.entry(name)["machine"] if name else self.snapshot["controlPlane"]
        owner["metadata"]["annotations"][key] = value
        return self

    def wants(self, **spec: Any) -> Builder:
        """Change fields of the KubeadmControlPlane's spec: the machines stay as they were made."""
        self.spec.update(spec)
        return self

    def leads(self, name: str) -> Builder:
        """The machine's member leads etcd."""
        self.workload["etcd"]["leader"] = member_id(name)
        return self


def _unreachable(answers: Optional[bool]) -> Object:
    return {
        "reachable": False,
        "via": None,
        "message": "no machine has been bootstrapped yet",
        "endpoint": {"answers": answers, "message": ""},
        "initialized": None,
        "kubeadmConfig": {"clusterConfiguration": None, "clusterStatus": None},
        "nodes": [],
        "pods": {},
        "etcd": None,
        "addons": {},
        "workerNodes": [],
    }
