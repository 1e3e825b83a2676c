# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Machine's labels and taints on its Node, in a real API server: set, changed, taken away, and nobody else's touched."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import compare_and_swap, trim
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe import parse
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.nodes import (
    node_labels,
    node_sync,
    node_taints,
)
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
        assert module == node_sync.MODULE
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

    def taints(self, *wanted: dict[str, str]) -> None:
        """Give the Machine these taints and no others."""
        self.store.modify(MACHINE, "default", "m1", lambda found: found["spec"].update(taints=list(wanted)))

    def put_on_node(self, taints: list[dict[str, str]]) -> None:
        """What another writer does to the Node's taints."""
        self.workload.patch(f"{NODES}/m1", {"spec": {"taints": taints}})

    def sync(self, tainted: bool = False) -> list[str]:
        """What the end of a run does, or what comes before another step."""
        objects = ClusterObjects.read(self.store, "default", "prod")
        assert objects is not None
        observed = parse._node(trim.node(self.workload.there(f"{NODES}/m1")))
        return node_sync.sync(objects, self.machines, {"workload": {"nodes": [observed]}}, tainted)

    def found(self) -> dict[str, str]:
        """The Node's labels beside its own."""
        labels = self.workload.there(f"{NODES}/m1")["metadata"]["labels"]
        assert OWN.items() <= labels.items()
        return {key: value for key, value in labels.items() if key not in OWN}

    def tainted(self) -> set[str]:
        """The Node's taints as kubectl writes them, but for the one that every new Node has."""
        taints = self.workload.there(f"{NODES}/m1")["spec"].get("taints") or []
        return {f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in taints if each["key"] != NEW}

    def record(self) -> t.Optional[str]:
        """The annotation that remembers which taints are the Machine's."""
        annotations = self.workload.there(f"{NODES}/m1")["metadata"].get("annotations") or {}
        return t.cast("t.Optional[str]", annotations.get(node_taints.FROM_MACHINE_ANNOTATION))


@pytest.fixture
def kept(tmp_path: Path, workload: Workload) -> Kept:
    return Kept(tmp_path, workload)


def test_set_changed_and_taken_away(kept: Kept) -> None:
    kept.labels(**{ROLE: "", SIZE: "s"})
    assert kept.sync() == [f"Node m1: labels {ROLE}, {SIZE}"]
    assert kept.found() == {ROLE: "", SIZE: "s"}
    before, calls = kept.workload.version(f"{NODES}/m1"), kept.machines.calls
    assert kept.sync() == [] and kept.machines.calls == calls, "nobody is asked where nothing differs"
    assert kept.workload.version(f"{NODES}/m1") == before
    kept.labels(**{SIZE: "l"})
    assert kept.sync() == [f"Node m1: labels {ROLE}, {SIZE}"]
    assert kept.found() == {SIZE: "l"}
    kept.labels()
    kept.sync()
    assert kept.found() == {}
    assert node_labels.FROM_MACHINE_ANNOTATION not in kept.workload.there(f"{NODES}/m1")["metadata"].get(
        "annotations", {}
    )


def test_kubeadms_role_outlives_the_machines(kept: Kept) -> None:
    """Without it the Node would be no control plane's; a worker's Node never had it of kubeadm."""
    role = next(iter(OWN))
    for value in ("", "true"):
        kept.labels(**{role: value})
        kept.sync()
        assert kept.workload.there(f"{NODES}/m1")["metadata"]["labels"][role] == value
        kept.labels()
        assert kept.sync() == ([f"Node m1: labels {role}"] if value else [])
        assert kept.found() == {} and kept.sync() == []


def test_somebody_who_changes_the_node_meanwhile_is_not_overruled(kept: Kept) -> None:
    """The next run does it."""
    kept.labels(**{ROLE: ""})
    kept.machines.interrupt = lambda: kept.workload.patch(f"{NODES}/m1", {"metadata": {"labels": {"theirs": "1"}}})
    assert kept.sync() == []
    kept.machines.interrupt = lambda: None
    assert kept.sync() == [f"Node m1: labels {ROLE}"]
    assert kept.found() == {ROLE: "", "theirs": "1"}


def test_nobody_answers(kept: Kept) -> None:
    kept.labels(**{ROLE: ""})
    kept.machines.silent = {"m1"}
    assert kept.sync() == [] and kept.found() == {}


def test_not_while_paused(kept: Kept) -> None:
    kept.labels(**{ROLE: ""})
    kept.store.modify(CLUSTER, "default", "prod", lambda found: found["spec"].update(paused=True))
    assert kept.sync() == [] and kept.machines.calls == 0


ALWAYS = {"key": "example.com/rack", "value": "7", "effect": "NoSchedule", "propagation": "Always"}
ONCE = {"key": "example.com/burn-in", "effect": "NoExecute", "propagation": "OnInitialization"}
FOREIGN = {"key": "theirs", "value": "1", "effect": "NoSchedule"}
NEW, KUBEADM = "node.kubernetes.io/not-ready", "node-role.kubernetes.io/control-plane"


def test_taints_of_a_new_node(kept: Kept) -> None:
    """Both sorts once; then only those that are to stay are set again."""
    kept.taints(ALWAYS, ONCE)
    rack, burn_in = "example.com/rack=7:NoSchedule", "example.com/burn-in=:NoExecute"
    assert kept.sync() == ["Node m1: taint example.com/burn-in:NoExecute set; taint example.com/rack:NoSchedule set"]
    assert kept.tainted() == {rack, burn_in} and kept.record() == "example.com/rack:NoSchedule"
    calls = kept.machines.calls
    assert kept.sync() == [] and kept.machines.calls == calls
    kept.put_on_node([FOREIGN])
    assert kept.sync() == ["Node m1: taint example.com/rack:NoSchedule set"]
    assert kept.tainted() == {rack, "theirs=1:NoSchedule"}


def test_taints_that_leave_the_machine_leave_the_node(kept: Kept) -> None:
    """Those of the initialization and other writers' stay, with the time that these have."""
    kept.taints(ALWAYS, ONCE)
    kept.sync()
    foreign = {**FOREIGN, "effect": "NoExecute", "timeAdded": "2026-01-31T10:00:00Z"}
    kept.put_on_node([*kept.workload.there(f"{NODES}/m1")["spec"]["taints"], foreign])
    kept.taints({**ALWAYS, "value": "8"})
    assert kept.sync() == ["Node m1: taint example.com/rack:NoSchedule set"]
    assert "example.com/rack=8:NoSchedule" in kept.tainted()
    kept.taints()
    assert kept.sync() == ["Node m1: taint example.com/rack:NoSchedule removed"]
    assert kept.tainted() == {"example.com/burn-in=:NoExecute", "theirs=1:NoExecute"} and kept.record() == ""
    assert foreign in kept.workload.there(f"{NODES}/m1")["spec"]["taints"]


def test_a_taint_that_comes_to_a_node_of_long_ago(kept: Kept) -> None:
    """The Node is initialized: one for that comes too late, one that is to stay does not."""
    assert kept.sync() == [] and kept.record() == ""
    kept.taints(ALWAYS, ONCE)
    assert kept.sync() == ["Node m1: taint example.com/rack:NoSchedule set"]
    assert kept.tainted() == {"example.com/rack=7:NoSchedule"}


def test_a_taint_changes_its_propagation(kept: Kept) -> None:
    """One that is not to stay any longer is left on the Node; whoever removes it there is not overruled."""
    kept.taints(ALWAYS)
    kept.sync()
    kept.taints({**ALWAYS, "propagation": "OnInitialization"})
    assert kept.sync() == [] and kept.tainted() and kept.record() == ""
    kept.put_on_node([])
    assert kept.sync() == [] and kept.tainted() == set()
    kept.taints(ALWAYS)
    kept.sync()
    assert kept.tainted() == {"example.com/rack=7:NoSchedule"} and kept.record() == "example.com/rack:NoSchedule"


def test_kubeadms_own_taint_stays_when_it_leaves_the_machine(kept: Kept) -> None:
    """Without it the Node would not be as kubeadm made it; what became of the value is the Machine's."""
    kept.store.modify(MACHINE, "default", "m1", lambda found: found["spec"].update(version="v1.27.3"))
    kept.taints({"key": KUBEADM, "value": "x", "effect": "NoSchedule", "propagation": "Always"})
    kept.sync()
    assert kept.tainted() == {f"{KUBEADM}=x:NoSchedule"}
    kept.taints()
    assert kept.sync() == [] and kept.tainted() == {f"{KUBEADM}=x:NoSchedule"} and kept.record() == ""


def test_another_effect_of_kubeadms_key_leaves_the_node(kept: Kept) -> None:
    """kubeadm's own has the effect NoSchedule; one that evicts is nobody's once it has left the Machine."""
    kept.store.modify(MACHINE, "default", "m1", lambda found: found["spec"].update(version="v1.27.3"))
    kept.taints({"key": KUBEADM, "effect": "NoExecute", "propagation": "Always"})
    kept.sync()
    assert f"{KUBEADM}=:NoExecute" in kept.tainted()
    kept.taints()
    kept.sync()
    assert f"{KUBEADM}=:NoExecute" not in kept.tainted()


def test_taints_before_another_step(kept: Kept) -> None:
    """They don't wait for a run's end; without any the Node is left for then."""
    assert kept.sync(tainted=True) == [] and kept.record() is None
    kept.taints(ALWAYS)
    assert kept.sync(tainted=True) and kept.tainted() == {"example.com/rack=7:NoSchedule"}


def test_a_taint_of_another_writer_meanwhile(kept: Kept) -> None:
    """The list has one writer at a time: nothing is written over what came meanwhile."""
    kept.taints(ALWAYS)
    kept.machines.interrupt = lambda: kept.put_on_node([FOREIGN])
    assert kept.sync() == [] and kept.tainted() == {"theirs=1:NoSchedule"}
    kept.machines.interrupt = lambda: None
    kept.sync()
    assert kept.tainted() == {"example.com/rack=7:NoSchedule", "theirs=1:NoSchedule"}
