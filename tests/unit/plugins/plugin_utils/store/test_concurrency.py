# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several real processes on one store."""

from __future__ import annotations

import copy

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

CONFIG = ("bootstrap.cluster.x-k8s.io", "KubeadmConfig")


def config(name):
    metadata = {"name": name, "namespace": "default", "annotations": {}}
    return {
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmConfig",
        "metadata": metadata,
        "spec": {"n": 0},
    }


def test_no_update_is_lost(python, tmp_path):
    store = FileStore(str(tmp_path / "store"))
    created = store.create(config("counter"))
    script = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
store = FileStore(sys.argv[1])
sys.stdin.readline()
for _ in range(25):
    store.modify(("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), "default", "counter", lambda found: found["spec"].update(n=found["spec"]["n"] + 1))
"""
    processes = [python.start(script, tmp_path / "store") for _process in range(4)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
    final = store.get(CONFIG, "default", "counter")
    assert final["spec"]["n"] == 100
    assert final["metadata"]["generation"] == 101
    assert int(final["metadata"]["resourceVersion"]) == int(created["metadata"]["resourceVersion"]) + 100


def test_one_of_several_creates(python, tmp_path):
    script = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import AlreadyExists
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
store = FileStore(sys.argv[1])
sys.stdin.readline()
for number in range(20):
    metadata = {"name": f"c-{number}", "namespace": "default"}
    try:
        store.create({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": metadata})
        print(number)
    except AlreadyExists:
        pass
"""
    processes = [python.start(script, tmp_path / "store") for _process in range(3)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    created = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
        created += out.split()
    assert sorted(map(int, created)) == list(range(20))


class StoreAgainstModel(RuleBasedStateMachine):
    """Any order of operations by two clients who remember what they read: the store does what a dict would."""

    directory: str
    count = 0
    names = st.sampled_from(["a", "b"])
    clients = st.sampled_from([0, 1])

    def __init__(self):
        super().__init__()
        type(self).count += 1
        self.stores = [FileStore(f"{self.directory}/{self.count}") for _client in range(2)]
        self.model = {}
        self.read = [{}, {}]

    @initialize()
    def begin(self):
        self.create(0, "a", True)

    @rule(client=clients, name=names, finalizer=st.booleans())
    def create(self, client, name, finalizer):
        obj = config(name)
        obj["metadata"]["finalizers"] = ["f"] if finalizer else []
        try:
            made = self.stores[client].create(obj)
        except base.AlreadyExists:
            assert name in self.model
            return
        assert name not in self.model
        self.model[name] = made
        self.read[client][name] = copy.deepcopy(made)

    @rule(client=clients, name=names)
    def look(self, client, name):
        found = self.stores[client].get(CONFIG, "default", name)
        assert found == self.model.get(name)
        if found is not None:
            self.read[client][name] = found

    @rule(client=clients, name=names, number=st.integers(0, 1), release=st.booleans(), fresh=st.booleans())
    def update(self, client, name, number, release, fresh):
        if fresh:
            self.look(client, name)
        if name not in self.read[client]:
            return
        obj = copy.deepcopy(self.read[client][name])
        obj["spec"]["n"] = number
        if release:
            obj["metadata"]["finalizers"] = []
        current = self.model.get(name)
        try:
            written = self.stores[client].update(obj)
        except base.NotFound:
            assert current is None
            return
        except base.Conflict:
            assert current["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]
            return
        assert current["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]
        changed = (obj["spec"], obj["metadata"]["finalizers"]) != (current["spec"], current["metadata"]["finalizers"])
        moved = int(written["metadata"]["resourceVersion"]) - int(current["metadata"]["resourceVersion"])
        if changed and current["metadata"].get("deletionTimestamp") and release:
            del self.model[name]
            return
        assert moved == (1 if changed else 0)
        assert written["metadata"]["generation"] - current["metadata"]["generation"] == (obj["spec"] != current["spec"])
        self.model[name] = self.read[client][name] = written

    @rule(client=clients, name=names, exact=st.booleans())
    def delete(self, client, name, exact):
        known = self.read[client].get(name)
        version = known["metadata"]["resourceVersion"] if exact and known else None
        current = self.model.get(name)
        try:
            left = self.stores[client].delete(CONFIG, "default", name, version)
        except base.NotFound:
            assert current is None
            return
        except base.Conflict:
            assert version != current["metadata"]["resourceVersion"]
            return
        assert version in (None, current["metadata"]["resourceVersion"])
        assert (left is not None) == bool(current["metadata"]["finalizers"])
        if left is None:
            del self.model[name]
        else:
            self.model[name] = left

    @invariant()
    def same(self):
        assert self.stores[0].list(CONFIG) == [self.model[name] for name in sorted(self.model)]


def test_any_order_of_operations(tmp_path):
    machine = type("Machine", (StoreAgainstModel,), {"directory": str(tmp_path)})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=40, stateful_step_count=25, suppress_health_check=list(HealthCheck)),
    )
