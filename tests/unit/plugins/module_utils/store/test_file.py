# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file store through its interface, on a real file system."""

from __future__ import annotations

import copy
import os
import stat

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.file import FileStore

MACHINE = ("cluster.x-k8s.io", "Machine")
SECRET = ("", "Secret")


def machine(name="m-1", namespace="default", **metadata):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"clusterName": "prod", "version": "v1.20.2"},
    }


def secret(name="prod-ca", value="c2VjcmV0"):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": {"tls.key": value}}


@pytest.fixture
def store(tmp_path):
    return FileStore(str(tmp_path / "store"), clock=lambda: "2026-01-02T03:04:05Z")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


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
    with pytest.raises(base.Conflict, match="deleted and made anew"):
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


def test_files_are_where_people_look_and_private(store, tmp_path):
    previous = os.umask(0)
    try:
        store.create(machine())
        store.create(secret())
    finally:
        os.umask(previous)
    root = tmp_path / "store"
    assert mode(root) == 0o700
    assert mode(root / "default/machine.cluster.x-k8s.io/m-1.yaml") == 0o640
    assert mode(root / "default/secret") == 0o700
    assert mode(root / "default/secret/prod-ca.yaml") == 0o600
    assert "formatVersion: 1" in (root / "store.yaml").read_text()
    text = (root / "default/machine.cluster.x-k8s.io/m-1.yaml").read_text()
    assert text.startswith("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata:\n  name: m-1\n")


def test_a_secret_that_others_can_read_is_made_private(store, tmp_path):
    store.create(secret())
    path = tmp_path / "store/default/secret/prod-ca.yaml"
    path.chmod(0o644)
    store.get(SECRET, "default", "prod-ca")
    assert mode(path) == 0o600


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
    assert type(created["spec"]["version"]) is str
    assert store.get(MACHINE, "default", "m-1") == created


def test_times_stay_texts_also_when_written_by_hand(store, tmp_path):
    store.create(machine())
    path = tmp_path / "store/default/machine.cluster.x-k8s.io/m-1.yaml"
    path.write_text(path.read_text() + "status:\n  when: 2026-01-02T03:04:05Z\n")
    assert store.get(MACHINE, "default", "m-1")["status"]["when"] == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a: [",
        b"\xff\xfe",
        b"- 1",
        b"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: other, namespace: default}\n",
        b"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: m-1, namespace: default}\n",
        b"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: m-1\n",
    ],
)
def test_a_damaged_file_is_named_and_left(store, tmp_path, content):
    store.create(machine())
    path = tmp_path / "store/default/machine.cluster.x-k8s.io/m-1.yaml"
    path.write_bytes(content)
    for call in (
        lambda: store.get(MACHINE, "default", "m-1"),
        lambda: store.list(MACHINE),
        lambda: store.create(machine()),
        lambda: store.update(machine(resourceVersion="1")),
        lambda: store.delete(MACHINE, "default", "m-1"),
    ):
        with pytest.raises(base.StoreError, match="damaged") as caught:
            call()
        assert str(path) in str(caught.value) and "backup" in str(caught.value)
    assert path.read_bytes() == content


def test_a_damaged_secret_is_not_quoted(store, tmp_path):
    store.create(secret())
    path = tmp_path / "store/default/secret/prod-ca.yaml"
    path.write_text("data: {tls.key: hunter2: hunter2}")
    with pytest.raises(base.StoreError) as caught:
        store.get(SECRET, "default", "prod-ca")
    assert "hunter2" not in str(caught.value)


def test_leftovers_are_ignored_and_cleaned(store, tmp_path):
    store.create(machine())
    folder = tmp_path / "store/default/machine.cluster.x-k8s.io"
    (folder / ".tmp-0123").write_text("half")
    (folder / "README").write_text("a person's")
    assert [each["metadata"]["name"] for each in store.list(MACHINE)] == ["m-1"]
    store.create(machine("m-2"))
    assert sorted(each.name for each in folder.iterdir()) == ["README", "m-1.yaml", "m-2.yaml"]


def test_another_directory_is_refused_and_left(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    store = FileStore(str(tmp_path))
    for call in (lambda: store.get(MACHINE, "default", "m-1"), lambda: store.create(machine())):
        with pytest.raises(base.StoreError, match=r"not a store.*notes\.txt"):
            call()
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_directory_becomes_a_store(tmp_path):
    (tmp_path / "lost+found").mkdir()
    FileStore(str(tmp_path)).create(machine())
    assert (tmp_path / "store.yaml").exists()


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "store").write_text("")
    for call in (lambda store: store.get(MACHINE, "default", "m-1"), lambda store: store.create(machine())):
        with pytest.raises(base.StoreError, match="not a directory"):
            call(FileStore(str(tmp_path / "store")))


def test_a_missing_parent_is_not_made(tmp_path):
    with pytest.raises(base.StoreError, match=r"does not exist.*mkdir -p"):
        FileStore(str(tmp_path / "not-mounted" / "store")).create(machine())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("formatVersion: 2\n", "has format 2"),
        ("formatVersion: x\n", "can't be read"),
        ("[", "can't be read"),
        ("", "can't be read"),
    ],
)
def test_another_format_is_refused(store, tmp_path, text, said):
    store.create(machine())
    (tmp_path / "store/store.yaml").write_text(text)
    other = FileStore(str(tmp_path / "store"))
    for call in (
        lambda: other.get(MACHINE, "default", "m-1"),
        lambda: other.create(machine("m-2")),
        lambda: store.create(machine("m-2")),
    ):
        with pytest.raises(base.StoreError, match=said):
            call()


def test_a_store_removed_meanwhile_is_made_anew_whole(store, tmp_path):
    store.create(machine())
    (tmp_path / "store").rename(tmp_path / "moved")
    store.create(machine())
    assert (tmp_path / "store/store.yaml").exists()
    assert FileStore(str(tmp_path / "moved")).get(MACHINE, "default", "m-1")


class TestEncryption:
    @staticmethod
    def vault(password: bytes) -> VaultLib:
        return VaultLib([("default", VaultSecret(password))])

    def sealed(self, tmp_path, password=b"one"):
        vault = self.vault(password)
        return FileStore(str(tmp_path / "store"), encrypt=vault.encrypt, decrypt=vault.decrypt)

    def test_secrets_and_only_secrets_are_encrypted(self, tmp_path):
        store = self.sealed(tmp_path)
        created = store.create(secret())
        store.create(machine())
        raw = (tmp_path / "store/default/secret/prod-ca.yaml").read_bytes()
        assert raw.startswith(b"$ANSIBLE_VAULT;") and b"c2VjcmV0" not in raw
        assert (tmp_path / "store/default/machine.cluster.x-k8s.io/m-1.yaml").read_text().startswith("apiVersion")
        assert store.get(SECRET, "default", "prod-ca") == created
        assert mode(tmp_path / "store/default/secret/prod-ca.yaml") == 0o600

    def test_without_or_with_another_password(self, tmp_path):
        self.sealed(tmp_path).create(secret())
        with pytest.raises(base.StoreError, match="--vault-password-file"):
            FileStore(str(tmp_path / "store")).list(SECRET)
        with pytest.raises(base.StoreError, match=r"can't be decrypted.*right vault password"):
            self.sealed(tmp_path, b"two").get(SECRET, "default", "prod-ca")

    def test_sealing_and_unsealing_what_is_there(self, tmp_path):
        plain = FileStore(str(tmp_path / "store"), decrypt=self.vault(b"one").decrypt)
        created = plain.create(secret())
        path = tmp_path / "store/default/secret/prod-ca.yaml"
        assert self.sealed(tmp_path).seal_secrets() == 1
        assert path.read_bytes().startswith(b"$ANSIBLE_VAULT;")
        assert self.sealed(tmp_path).seal_secrets() == 0
        assert plain.get(SECRET, "default", "prod-ca") == created
        assert plain.seal_secrets() == 1
        assert path.read_text().startswith("apiVersion")
