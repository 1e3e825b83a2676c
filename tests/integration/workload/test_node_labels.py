# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Machine's labels on its Node, in a real API server: set, changed, taken away again, and nobody else's touched."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import compare_and_swap, trim
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe import parse
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile import node_labels
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

from .conftest import Workload

NODES = "/api/v1/nodes"
ROLE, SIZE = "node-role.kubernetes.io/edge", "node.cluster.x-k8s.io/size"
OWN = {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/hostname": "m1"}


class Machines:
    """The machines, on which the module's work is done in the real API; `interrupt` is done between reading and writing."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.calls = 0
        self.silent: set[str] = set()
        self.interrupt: t.Callable[[], t.Any] = lambda: None

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """What the module workload_objects does."""
        assert module == node_labels.MODULE
        self.calls += 1
        if machine.name in self.silent:
            return Answer(False, {"msg": "no route to host"})
        with self.workload.server.client() as client:
            if "read" in arguments:
                reads = [compare_and_swap.Read(each["path"], tuple(each["keep"])) for each in arguments["read"]]
                found = compare_and_swap.read(client, reads)
                self.interrupt()
                return Answer(True, {"objects": found})
            changes = [
                compare_and_swap.Write(
                    each["path"], each["method"], json.loads(each["document"]), each["resource_version"]
                )
                for each in arguments["write"]
            ]
            return Answer(True, {"written": compare_and_swap.write(client, changes).count})


class Kept:
    """The cluster of the machine m1, whose Node is in the API."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        stored_cluster(folder, "v1.20.2", {}, {}, {"m1": "localhost"})
        self.store = FileStore(str(folder))
        self.workload = workload
        self.machines = Machines(workload)
        workload.put(NODES, {"metadata": {"name": "m1", "labels": OWN}})
        self.store.modify(MACHINE, "default", "m1", lambda found: found["status"].update(nodeRef={"name": "m1"}))

    def labels(self, **wanted: str) -> None:
        """Give the Machine these labels of the Node's domains, and take the others away."""

        def give(found: dict[str, t.Any]) -> None:
            labels = found["metadata"]["labels"]
            for each in [each for each in labels if node_labels.managed({each: ""})]:
                del labels[each]
            labels.update(wanted)

        self.store.modify(MACHINE, "default", "m1", give)

    def sync(self) -> list[str]:
        """What the end of a run does."""
        objects = ClusterObjects.read(self.store, "default", "prod")
        assert objects is not None
        observed = parse._node(trim.node(self.workload.there(f"{NODES}/m1")))
        return node_labels.sync(objects, self.machines, {"workload": {"nodes": [observed]}})

    def found(self) -> dict[str, str]:
        """The Node's labels beside its own."""
        labels = self.workload.there(f"{NODES}/m1")["metadata"]["labels"]
        assert OWN.items() <= labels.items()
        return {key: value for key, value in labels.items() if key not in OWN}


@pytest.fixture
def kept(tmp_path: Path, workload: Workload) -> Kept:
    return Kept(tmp_path, workload)


def test_set_changed_and_taken_away(kept: Kept) -> None:
    kept.labels(**{ROLE: "", SIZE: "s"})
    assert kept.sync() == [f"labels of Node m1: {ROLE}, {SIZE}"]
    assert kept.found() == {ROLE: "", SIZE: "s"}
    before, calls = kept.workload.version(f"{NODES}/m1"), kept.machines.calls
    assert kept.sync() == [] and kept.machines.calls == calls, "nobody is asked where nothing differs"
    assert kept.workload.version(f"{NODES}/m1") == before
    kept.labels(**{SIZE: "l"})
    assert kept.sync() == [f"labels of Node m1: {ROLE}, {SIZE}"]
    assert kept.found() == {SIZE: "l"}
    kept.labels()
    kept.sync()
    assert kept.found() == {}
    assert node_labels.FROM_MACHINE_ANNOTATION not in kept.workload.there(f"{NODES}/m1")["metadata"].get(
        "annotations", {}
    )


def test_somebody_who_changes_the_node_meanwhile_is_not_overruled(kept: Kept) -> None:
    """The next run does it."""
    kept.labels(**{ROLE: ""})
    kept.machines.interrupt = lambda: kept.workload.patch(f"{NODES}/m1", {"metadata": {"labels": {"theirs": "1"}}})
    assert kept.sync() == []
    kept.machines.interrupt = lambda: None
    assert kept.sync() == [f"labels of Node m1: {ROLE}"]
    assert kept.found() == {ROLE: "", "theirs": "1"}


def test_nobody_answers(kept: Kept) -> None:
    kept.labels(**{ROLE: ""})
    kept.machines.silent = {"m1"}
    assert kept.sync() == [] and kept.found() == {}


def test_not_while_paused(kept: Kept) -> None:
    kept.labels(**{ROLE: ""})
    kept.store.modify(CLUSTER, "default", "prod", lambda found: found["spec"].update(paused=True))
    assert kept.sync() == [] and kept.machines.calls == 0
