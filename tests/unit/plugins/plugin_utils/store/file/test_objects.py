# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file store through its interface: objects and their names, on a real file system."""

from __future__ import annotations

import copy
import os

import pytest
from store_objects import MACHINE, machine, secret

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base


def test_reading_makes_nothing(store, tmp_path):
    assert store.get(MACHINE, "default", "m-1") is None
    assert store.list(MACHINE) == []
    with pytest.raises(base.NotFound):
        store.delete(MACHINE, "default", "m-1")
    assert list(tmp_path.iterdir()) == []


def test_create_sets_the_stores_own_fields(store):
    created = store.create(
        machine(uid="mine", resourceVersion="7", generation=9, deletionTimestamp="2020-01-01T00:00:00Z")
    )
    metadata = created["metadata"]
    assert metadata["uid"] != "mine" and len(metadata["uid"]) == 36
    assert int(metadata["resourceVersion"]) > 7
    assert metadata["generation"] == 1
    assert metadata["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert "deletionTimestamp" not in metadata
    assert store.get(MACHINE, "default", "m-1") == created


def test_create_twice_is_refused(store):
    created = store.create(machine())
    with pytest.raises(base.AlreadyExists, match="Machine default/m-1 exists already"):
        store.create(machine())
    assert store.get(MACHINE, "default", "m-1") == created


def test_what_is_returned_is_a_copy(store):
    created = store.create(machine())
    created["spec"]["version"] = "changed by the caller"
    assert store.get(MACHINE, "default", "m-1")["spec"]["version"] == "v1.20.2"


def test_update_moves_generation_only_with_spec(store):
    created = store.create(machine())
    created["status"] = {"phase": "Running"}
    updated = store.update(created)
    assert updated["metadata"]["generation"] == 1
    assert updated["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]
    updated["spec"]["version"] = "v1.21.0"
    assert store.update(updated)["metadata"]["generation"] == 2


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


def test_update_of_an_old_version_is_a_conflict(store):
    created = store.create(machine())
    store.update({**created, "status": {"phase": "Running"}})
    with pytest.raises(base.Conflict, match="was changed by someone else"):
        store.update({**created, "status": {"phase": "Failed"}})
    assert store.get(MACHINE, "default", "m-1")["status"] == {"phase": "Running"}


def test_update_without_a_version_is_a_conflict(store):
    store.create(machine())
    with pytest.raises(base.Conflict, match=r"names no metadata\.resourceVersion"):
        store.update(machine())


def test_update_of_an_object_made_anew_is_a_conflict(store):
    old = store.create(machine())
    store.delete(MACHINE, "default", "m-1")
    new = store.create(machine())
    assert new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]
    forged = copy.deepcopy(old)
    forged["metadata"]["resourceVersion"] = new["metadata"]["resourceVersion"]
    with pytest.raises(base.Conflict, match="deleted and created again"):
        store.update(forged)


def test_update_of_nothing(store):
    with pytest.raises(base.NotFound, match="Machine default/m-1 does not exist"):
        store.update(machine(resourceVersion="1"))
    with pytest.raises(base.NotFound):
        store.modify(MACHINE, "default", "m-1", lambda found: None)


def test_modify_takes_changes_in_place_and_whole_objects_only(store):
    store.create(machine())
    in_place = store.modify(MACHINE, "default", "m-1", lambda found: found["spec"].pop("version"))
    assert in_place["spec"] == {"clusterName": "prod"}
    returned = store.modify(MACHINE, "default", "m-1", lambda found: {**found, "spec": {"version": "v2"}})
    assert returned["spec"] == {"version": "v2"}
    a_part = store.modify(MACHINE, "default", "m-1", lambda found: found.pop("spec"))
    assert "spec" not in a_part and a_part["kind"] == "Machine"


def test_modify_meets_a_change_made_meanwhile(store):
    store.create(machine(annotations={}))
    seen = []

    def change(found):
        if not seen:
            store.modify(MACHINE, "default", "m-1", lambda other: other["metadata"]["annotations"].update(other="here"))
        seen.append(found["metadata"]["resourceVersion"])
        found["metadata"]["annotations"]["mine"] = "too"

    assert store.modify(MACHINE, "default", "m-1", change)["metadata"]["annotations"] == {
        "other": "here",
        "mine": "too",
    }
    assert len(seen) == 2


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


def test_delete(store, tmp_path):
    created = store.create(machine())
    with pytest.raises(base.Conflict):
        store.delete(MACHINE, "default", "m-1", resource_version="1")
    assert store.delete(MACHINE, "default", "m-1", created["metadata"]["resourceVersion"]) is None
    assert store.get(MACHINE, "default", "m-1") is None
    with pytest.raises(base.NotFound):
        store.delete(MACHINE, "default", "m-1")


def test_finalizers_keep_a_deleted_object(store):
    store.create(machine(finalizers=["example.org/a", "example.org/b"]))
    marked = store.delete(MACHINE, "default", "m-1")
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    assert store.delete(MACHINE, "default", "m-1") == marked
    fewer = store.modify(
        MACHINE, "default", "m-1", lambda found: found["metadata"].update(finalizers=["example.org/b"])
    )
    assert store.get(MACHINE, "default", "m-1") == fewer
    store.modify(MACHINE, "default", "m-1", lambda found: found["metadata"].update(finalizers=[]))
    assert store.get(MACHINE, "default", "m-1") is None


@pytest.mark.parametrize("deletion", ["2026-01-01T00:00:00Z", None])
def test_deletion_is_not_a_matter_of_updates(store, deletion):
    store.create(machine(finalizers=["example.org/a"]))
    if deletion is None:
        store.delete(MACHINE, "default", "m-1")
    with pytest.raises(base.StoreError, match=r"deletionTimestamp.*Call delete"):
        store.modify(MACHINE, "default", "m-1", lambda found: found["metadata"].update(deletionTimestamp=deletion))


def test_list_orders_and_selects(store):
    for namespace, name, labels in (
        ("b", "x", {"k": "1"}),
        ("a", "z", {"k": "1", "l": ""}),
        ("a", "y", {"k": "2"}),
        ("a", "n", None),
    ):
        store.create(machine(name, namespace, **({"labels": labels} if labels else {})))
    store.create(secret())

    def names(*arguments):
        return [
            f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in store.list(MACHINE, *arguments)
        ]

    assert names() == ["a/n", "a/y", "a/z", "b/x"]
    assert names("a") == ["a/n", "a/y", "a/z"]
    assert names(None, {"k": "1"}) == ["a/z", "b/x"]
    assert names("a", {"l": ""}) == ["a/z"]
    assert names("nowhere") == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "A",
        "a_b",
        "-a",
        "a-",
        "a..b",
        "a\n",
        "a\0",
        "ä",
        "a" * 254,
        "store.yaml/..",
        None,
        7,
    ],
)
def test_names_that_are_no_names(store, tmp_path, name):
    for call in (
        lambda: store.get(MACHINE, "default", name),
        lambda: store.get(MACHINE, name, "m-1"),
        lambda: store.list(MACHINE, name if name is not None else ".."),
        lambda: store.delete(MACHINE, "default", name),
        lambda: store.create(machine(name=name)),
        lambda: store.create(machine(namespace=name)),
    ):
        with pytest.raises(base.StoreError, match="not valid"):
            call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "kind_ref", [("..", "Machine"), ("a/b", "Machine"), ("", "../x"), ("", ""), ("", "machine"), ("x.io", "A/B")]
)
def test_kinds_that_are_no_kinds(store, kind_ref):
    with pytest.raises(base.StoreError, match="not valid"):
        store.get(kind_ref, "default", "m-1")
    with pytest.raises(base.StoreError, match="not valid"):
        store.list(kind_ref)


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
