# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers for snapshots of tests, in words: ``deployment(healthy(3)).worker("w1").worker("w2", "old")``."""

from __future__ import annotations

import copy
from typing import Any, Optional

from builders import LONG_AGO, VERSION, Builder, at

Object = dict[str, Any]
NAME = "workers"
SETS = {"new": "workers-new", "old": "workers-old", "older": "workers-older"}


def template(version: str = VERSION, machine_template: str = "b") -> Object:
    """A machine template."""
    return {
        "spec": {
            "clusterName": "prod",
            "version": version,
            "bootstrap": {"configRef": {"kind": "KubeadmConfigTemplate", "name": NAME}},
            "infrastructureRef": {"kind": "NspawnMachineTemplate", "name": machine_template},
        }
    }


# What the machines of each set were made from; the deployment wants what the set "new" has.
TEMPLATES = {"new": "b", "old": "a", "older": "older"}


class WorkerBuilder:
    """One MachineDeployment beside a control plane; every method changes and returns the builder."""

    def __init__(self, builder: Builder, replicas: int = 3, version: str = VERSION, **spec: Any) -> None:
        self.builder = builder
        self.version = version
        self.document: Object = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": NAME, "namespace": "default", "generation": 1, "annotations": {}},
            "spec": {"clusterName": "prod", "replicas": replicas, "template": template(version), **spec},
        }
        self.entry: Object = {"machineDeployment": self.document, "machineSets": []}
        self.machines: list[Object] = []
        builder.snapshot["workers"] = {"deployments": [self.entry], "machines": self.machines}
        builder.workload["workers"] = []

    def strategy(self, surge: Any = 1, unavailable: Any = 0, kind: str = "RollingUpdate") -> WorkerBuilder:
        """The rollout's strategy and numbers."""
        rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
        self.document["spec"]["rollout"] = {
            "strategy": {"type": kind, **({"rollingUpdate": rolling} if kind == "RollingUpdate" else {})}
        }
        return self

    def annotated(self, **annotations: str) -> WorkerBuilder:
        """Annotations of Cluster API on the deployment."""
        self.document["metadata"]["annotations"].update(
            {f"cluster.x-k8s.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
        )
        return self

    def owned(self, which: str = "new", age: float = LONG_AGO) -> WorkerBuilder:
        """A MachineSet."""
        if not any(each["metadata"]["name"] == SETS[which] for each in self.entry["machineSets"]):
            self.entry["machineSets"].append(
                {
                    "kind": "MachineSet",
                    "metadata": {"name": SETS[which], "namespace": "default", "creationTimestamp": at(age)},
                    "spec": {"template": template(self.version, TEMPLATES[which])},
                }
            )
        return self

    def worker(
        self,
        name: str,
        which: str = "new",
        state: str = "Succeeded",
        ready: str = "True",
        age: float = LONG_AGO,
        deleting: bool = False,
        marked: bool = False,
        version: Optional[str] = None,
    ) -> WorkerBuilder:
        """A Machine of a set, with its Node where it has joined; ``ready`` is the Node's, "" without one."""
        self.owned(which, max(age, LONG_AGO))
        metadata: Object = {
            "name": name,
            "namespace": "default",
            "creationTimestamp": at(age),
            "annotations": {},
            "ownerReferences": [{"kind": "MachineSet", "name": SETS[which], "controller": True}],
        }
        if deleting:
            metadata["deletionTimestamp"] = at(10)
        status: Object = {}
        if state:
            status["bootstrap"] = {"state": state, "message": "", "startedAt": at(age)}
        if marked:
            status["conditions"] = [
                {"type": kind, "status": "False", "reason": "r", "message": "", "lastTransitionTime": at(60)}
                for kind in ("HealthCheckSucceeded", "OwnerRemediated")
            ]
        if state == "Succeeded":
            status["nodeRef"] = {"name": name}
            if ready:
                self.node(name, ready, version)
        self.machines.append(
            {
                "machine": {
                    "kind": "Machine",
                    "metadata": metadata,
                    "spec": {"clusterName": "prod", "version": version or self.version},
                    "status": status,
                },
                "infrastructureMachine": {
                    "kind": "NspawnMachine",
                    "metadata": {"name": name},
                    "spec": {},
                    "status": {"initialization": {"provisioned": True}, "machineID": f"id-{name}"},
                },
                "kubeadmConfig": {"kind": "KubeadmConfig", "metadata": metadata, "spec": {"joinConfiguration": {}}},
            }
        )
        return self

    def node(self, name: str, ready: str = "True", version: Optional[str] = None) -> WorkerBuilder:
        """A worker's Node."""
        self.builder.workload["workers"].append(
            {
                "name": name,
                "kubeletVersion": version or self.version,
                "labels": {},
                "taints": [],
                "ready": ready,
                "readyReason": "KubeletReady",
                "machineID": f"id-{name}",
                "creationTimestamp": at(LONG_AGO),
            }
        )
        return self

    def machine(self, name: str) -> Object:
        """A worker's entry."""
        return next(each for each in self.machines if each["machine"]["metadata"]["name"] == name)

    def build(self) -> Object:
        """A copy of the snapshot as it stands."""
        return copy.deepcopy(self.builder.build())


def deployment(builder: Builder, replicas: int = 3, version: str = VERSION, **spec: Any) -> WorkerBuilder:
    """A MachineDeployment beside a control plane."""
    return WorkerBuilder(builder, replicas, version, **spec)
