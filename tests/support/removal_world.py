# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal of a machine of a stored cluster, whose machines give recorded answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

from explained_store import ExplainedStore
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import Waiting
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.removal.machine_removal import Removal
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CONTROL_PLANE,
    MACHINE,
    ClusterObjects,
)

NAMES = ("m1", "m2", "m3")
Object = dict[str, t.Any]


class RecordedMachines:
    """Machines that answer every call with what was recorded for its module, or well."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Object]] = []
        self.answers: dict[str, list[Answer]] = {}
        # What happens once, while a machine is at a module.
        self.meanwhile: dict[str, t.Callable[[], None]] = {}

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer a call."""
        self.calls.append((machine.name, module, arguments))
        self.meanwhile.pop(module, lambda: None)()
        recorded = self.answers.get(module)
        if recorded:
            return recorded.pop(0) if len(recorded) > 1 else recorded[0]
        return Answer(True, {"msg": f"{module} done"})

    def modules(self) -> list[str]:
        """The modules that were called, in order."""
        return [module for _name, module, _arguments in self.calls]


class Controller:
    """The running action: it keeps what people were told, and its lock is held until it is lost."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.lost = False

    def check_lock(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where the lock was lost."""
        if self.lost:
            raise ControlPlaneFailure("the lock was lost")

    def progress(self, cluster: str, text: str) -> None:
        """Keep a line."""
        self.said.append(text)

    def waiting(self, cluster: str, bound_seconds: float) -> Waiting:
        """A wait that ends at once where nothing is waited for."""
        return Waiting(self, cluster, min(bound_seconds, 0.3) if bound_seconds < 30 else bound_seconds)


class World:
    """A stored cluster, its machines, and the machine m1 marked for deletion."""

    def __init__(self, folder: Path) -> None:
        stored_cluster(folder, "v1.20.2", {}, {}, dict.fromkeys(NAMES, "localhost"))
        self.store = ExplainedStore(str(folder))
        self.machines = RecordedMachines()
        self.controller = Controller()
        self.seconds = 0.0
        for name in NAMES:
            self.change(
                name, lambda stored: stored["status"].update(nodeRef={"name": f"node-{stored['metadata']['name']}"})
            )
        self.change("m1", lambda stored: stored["metadata"].update(finalizers=["machine.cluster.x-k8s.io"]))
        self.store.delete(MACHINE, "default", "m1")

    def change(self, name: str, change: t.Callable[[Object], t.Any]) -> None:
        """Change a Machine."""
        self.store.modify(MACHINE, "default", name, lambda stored: t.cast(None, change(stored)))

    def annotate(self, key: str) -> None:
        """Annotate the Machine that goes."""
        self.change("m1", lambda stored: stored["metadata"].setdefault("annotations", {}).update({key: ""}))

    def removal(self, **arguments: t.Any) -> Removal:
        """The removal of m1, as a new run begins it."""
        objects = ClusterObjects.read(self.store, "default", "prod")
        assert objects is not None
        given = {"name": "m1", "member_id": "a1", "node": None, "leadership": [], "timeout": 1, "fencing": 7}
        return Removal(self.controller, self.machines, objects, {**given, **arguments}, lambda: self.seconds)

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds

    def waive(self, value: str) -> None:
        """Annotate the control plane: whether the snapshot is waived."""
        key = "kubeadm.control-plane/skip-etcd-snapshot"
        self.store.modify(
            CONTROL_PLANE, "default", "prod", lambda stored: stored["metadata"]["annotations"].update({key: value})
        )

    def lose_the_others(self) -> None:
        """The store has no other Machine any more."""
        for name in ("m2", "m3"):
            self.store.delete(MACHINE, "default", name)

    def stage(self) -> str:
        """How far the machine's deletion has come."""
        conditions = (self.store.get(MACHINE, "default", "m1") or {})["status"]["conditions"]
        return str(next(each["reason"] for each in conditions if each["type"] == "Deleting"))
