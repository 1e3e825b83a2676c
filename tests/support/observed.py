# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's objects with machines that answer from Python instead of over SSH, for tests of observing."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

from builders import Builder

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Observation = dict[str, t.Any]
# What a machine answers to node_observe's arguments; None: it is not reached.
Node = t.Callable[[dict[str, t.Any]], t.Optional[Observation]]
DATE = "Sat, 31 Jan 2026 12:00:00 GMT"


def objects_of(builder: Builder, directory: Path) -> ClusterObjects:
    """The objects of a built snapshot, as a store in that directory would give them."""
    snapshot = builder.build()
    entries = {entry["machine"]["metadata"]["name"]: entry for entry in snapshot["machines"]}
    return ClusterObjects(
        store=FileStore(str(directory)),
        namespace="default",
        name="prod",
        cluster=snapshot["cluster"],
        control_plane=snapshot["controlPlane"],
        infrastructure_cluster=snapshot["infrastructureCluster"],
        machine_template=snapshot["machineTemplate"],
        machines=[entry["machine"] for entry in entries.values()],
        infrastructure_machines={name: entry["infrastructureMachine"] for name, entry in entries.items()},
        kubeadm_configs={name: entry["kubeadmConfig"] for name, entry in entries.items()},
    )


def answers(builder: Builder, etcd: t.Any = "same", api: bool = True, wanted: t.Any = None, **objects: t.Any) -> Node:
    """A machine that sees what was built; ``etcd`` is another view of etcd."""
    view = copy.deepcopy(builder.workload["etcd"] if etcd == "same" else etcd)
    observation = {
        "api": {"answers": api, "date": DATE, "message": "" if api else "connection refused"},
        "endpoint": {"answers": True, "message": ""},
        "etcd": view,
        "objects": {"nodes": [], "workerNodes": ["w1", "w2"], "kubeadmConfig": {"data": {}}, **objects}
        if api
        else None,
        "wanted": wanted,
    }
    return lambda _arguments: observation


def dead(_arguments: dict[str, t.Any]) -> None:
    """A machine that is not reached."""


class Machines:
    """Machines by name; ``calls`` keeps who was asked with what, in order."""

    def __init__(self, nodes: t.Mapping[str, Node]) -> None:
        self._nodes = nodes
        self.calls: list[tuple[str, dict[str, t.Any]]] = []

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Answer as the module node_observe on that machine would, through JSON."""
        self.calls.append((machine.name, arguments))
        if module != "node_observe":
            return Answer(True, {"failed": True, "msg": f"{module} is not expected here"})
        observation = self._nodes[machine.name](arguments)
        if observation is None:
            return Answer(False, {"msg": f"machine {machine.name} was not reached: timed out"})
        return Answer(True, {"observation": json.loads(json.dumps(observation))})

    @property
    def asked(self) -> list[str]:
        """Who was asked, in order."""
        return [name for name, _arguments in self.calls]
