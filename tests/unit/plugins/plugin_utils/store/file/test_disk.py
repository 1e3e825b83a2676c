# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the file store leaves on a real file system and what it finds there: rights, damage, formats, encryption."""

from __future__ import annotations

import os
import stat
import sys

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret
from store_objects import MACHINE, SECRET, machine, secret

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.pause import paused_because

PAUSE = "name: kubeadm-control-plane-pause, namespace: default"


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


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


def test_a_store_that_another_run_makes_while_it_is_looked_at(store):
    # Right between the look for its format file and the look at what else is there.
    made = []

    def hook(event, arguments):
        if not made and event == "os.listdir" and arguments[0] == store.directory:
            made.append("it")
            FileStore(store.directory).create(machine("m-1"))

    sys.addaudithook(hook)
    store.create(machine("m-2"))
    assert made and [each["metadata"]["name"] for each in store.list(MACHINE)] == ["m-1", "m-2"]


def test_a_secret_that_others_can_read_is_made_private(store, tmp_path):
    store.create(secret())
    path = tmp_path / "store/default/secret/prod-ca.yaml"
    path.chmod(0o644)
    store.get(SECRET, "default", "prod-ca")
    assert mode(path) == 0o600


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
        *(
            b"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: m-1, namespace: default, uid: u, generation: 1,\n"
            b"  creationTimestamp: '2026-01-01T00:00:00Z', resourceVersion: '1'" + odd
            for odd in (
                b", labels: [a]}\n",
                b", labels: {a: 1}}\n",
                b", annotations: 7}\n",
                b", finalizers: {a: b}}\n",
                b", finalizers: [[]]}\n",
                b", ownerReferences: [a]}\n",
                b"}\nspec: []\n",
                b"}\nstatus: x\n",
            )
        ),
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


@pytest.mark.parametrize(
    ("metadata", "path_too"),
    [("", True), ("{creationTimestamp: null, name: kubeadm-control-plane-pause}", True), (f"{{{PAUSE}}}", False)],
)
def test_a_pause_that_is_made_by_hand_is_told_what_it_lacks(store, tmp_path, metadata, path_too):
    """The second one is what kubectl create configmap --dry-run=client -o yaml writes."""
    store.create(machine())
    (folder := tmp_path / "store/default/configmap").mkdir()
    path = folder / "kubeadm-control-plane-pause.yaml"
    path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n")
    with pytest.raises(base.StoreError) as caught:
        paused_because(store, "default")
    assert ("metadata.namespace and metadata.name have to be those of its path" in str(caught.value)) is path_too
    own = ["uid: by-hand", 'resourceVersion: "1"', "generation: 1", 'creationTimestamp: "2026-01-01T00:00:00Z"']
    assert all(each in str(caught.value) for each in own)
    # One that the store wrote is mended from a backup.
    (folder / "addons.yaml").write_text(path.read_text())
    with pytest.raises(base.StoreError) as caught:
        store.get(("", "ConfigMap"), "default", "addons")
    assert "a field that the store writes is missing" in str(caught.value) and "by-hand" not in str(caught.value)
    path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{{', '.join([PAUSE, *own])}}}\n")
    assert "is there" in paused_because(store, "default")


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
