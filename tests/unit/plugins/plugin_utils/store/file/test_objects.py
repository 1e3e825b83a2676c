# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file store through its interface: what every store promises, and what is so with files only."""

from __future__ import annotations

import copy
import os

import pytest
from store_objects import MACHINE, machine
from store_promises import StorePromises

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base


class TestFileStore(StorePromises):
    """The file store keeps the promises."""


def test_what_is_read_or_refused_makes_nothing(store, tmp_path):
    assert store.get(MACHINE, "default", "m-1") is None
    assert store.list(MACHINE) == []
    for call in (
        lambda: store.delete(MACHINE, "default", "m-1"),
        lambda: store.create(machine("..")),
        lambda: store.create(machine(namespace="../x")),
    ):
        with pytest.raises(base.StoreError):
            call()
    assert list(tmp_path.iterdir()) == []


def test_times_are_the_clocks_and_versions_grow(store):
    created = store.create(machine(resourceVersion="7", finalizers=["example.org/a"]))["metadata"]
    assert created["creationTimestamp"] == "2026-01-02T03:04:05Z" and int(created["resourceVersion"]) > 7
    assert store.delete(MACHINE, "default", "m-1")["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"


def test_a_part_that_a_change_returns_is_not_the_object(store):
    store.create(machine())
    found = store.modify(MACHINE, "default", "m-1", lambda found: found.pop("spec"))
    assert "spec" not in found and found["kind"] == "Machine"


def test_update_that_changes_nothing_writes_nothing(store, tmp_path):
    created = store.create(machine(labels={"a": "1"}))
    path = tmp_path / "store/default/machine.cluster.x-k8s.io/m-1.yaml"
    before = os.stat(path)
    reordered = dict(reversed(list(copy.deepcopy(created).items())))
    reordered["metadata"]["generation"] = 55
    assert store.update(reordered) == created
    assert store.modify(MACHINE, "default", "m-1", lambda found: found["spec"].get("version")) == created
    after = os.stat(path)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_the_format_file_is_written_once(store, tmp_path):
    store.create(machine("m-1"))
    path = tmp_path / "store/store.yaml"
    path.write_text(f"# The clusters of Berlin.\n{path.read_text()}")
    before = path.read_text()
    store.create(machine("m-2"))
    assert path.read_text() == before


def test_modify_gives_up_when_it_always_meets_someone(store):
    store.create(machine(annotations={}))
    calls = []

    def change(found):
        calls.append(1)
        store.modify(
            MACHINE, "default", "m-1", lambda other: other["metadata"]["annotations"].update(count=str(len(calls)))
        )
        found["metadata"]["annotations"]["mine"] = "never"

    base_pause, base.MODIFY_PAUSE_SECONDS = base.MODIFY_PAUSE_SECONDS, 0.0
    try:
        with pytest.raises(base.Conflict):
            store.modify(MACHINE, "default", "m-1", change)
    finally:
        base.MODIFY_PAUSE_SECONDS = base_pause
    assert len(calls) == base.MODIFY_ATTEMPTS


def test_the_longest_name_that_a_file_can_have(store):
    name = ".".join(["a" * 62, "a" * 62, "a" * 62, "a" * 61])
    store.create(machine(name))
    assert store.get(MACHINE, "default", name)["metadata"]["name"] == name
    with pytest.raises(base.StoreError, match="too long for the file store"):
        store.create(machine(name + "b"))


def test_a_name_without_a_dot_may_be_longer_than_a_label(store):
    """As in Kubernetes: a Task's name is made of its Action's, its TaskGroup's and its Node's."""
    name = "rotation-02-trust-control-plane-" + "a-machine-of-a-cluster-with-a-long-name-" * 3 + "x"
    store.create(machine(name))
    assert [each["metadata"]["name"] for each in store.list(MACHINE, "default")] == [name]
    with pytest.raises(base.StoreError, match="namespace is not valid"):
        store.get(MACHINE, "a" * 64, "m-1")


@pytest.mark.parametrize("kind", ["Journal", "Locks"])
def test_kinds_that_would_land_in_the_stores_own_folders(store, kind):
    with pytest.raises(base.StoreError, match="no place for the kind"):
        store.get(("", kind), "default", "x")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"apiVersion": None}, "without apiVersion or kind"),
        ({"kind": None}, "without apiVersion or kind"),
        ({"metadata": None}, "without metadata"),
        ({"spec": {"a": [{"b": {1, 2}}]}}, r"spec.a\[0\].b"),
        ({"spec": {"a": float("nan")}}, "spec.a"),
        ({"spec": {7: "a"}}, r"spec\[7\]"),
    ],
)
def test_objects_that_are_none(store, change, said):
    with pytest.raises(base.StoreError, match=said):
        store.create({**machine(), **change})


def test_marked_texts_become_plain(store, tmp_path):
    class Marked(str):
        pass

    obj = machine()
    obj["spec"]["version"] = Marked("v1.20.2")
    created = store.create(obj)
    assert not isinstance(created["spec"]["version"], Marked)
    assert store.get(MACHINE, "default", "m-1") == created
