# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many clusters in one store: what is read of the others, and what a damaged file of one of them does to the rest."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest
from store_objects import MACHINE, machine

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.read_once import OF_ALL, OF_NAMESPACE

LABEL = "cluster.x-k8s.io/cluster-name"


def of(cluster: str) -> dict[str, str]:
    return {LABEL: cluster}


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """Two machines of each of two clusters."""
    made = FileStore(str(tmp_path / "store"))
    for name in ("one-a", "one-b", "two-a", "two-b"):
        made.create(machine(name, labels=of(name[:3])))
    return made


def file_of(store: FileStore, name: str) -> Path:
    return Path(store.directory) / "default" / "machine.cluster.x-k8s.io" / f"{name}.yaml"


def names(found: t.Iterable[t.Any]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


@pytest.mark.parametrize("whole", [None, OF_ALL, OF_NAMESPACE])
def test_a_damaged_file_of_another_cluster_stops_nobody(store: FileStore, whole: t.Optional[str]) -> None:
    file_of(store, "two-a").write_text(file_of(store, "two-a").read_text() + "\t: [\n")
    with store.view(whole):
        assert names(store.list(MACHINE, "default", of("one"))) == ["one-a", "one-b"]
        assert store.get(MACHINE, "default", "two-b") is not None
        with pytest.raises(StoreError, match=r"two-a\.yaml"):
            store.list(MACHINE, "default", of("two"))
        with pytest.raises(StoreError, match=r"two-a\.yaml"):
            store.list(MACHINE, "default")


@pytest.mark.parametrize("left", ["", "\0" * 400, "kind: Machine\n"])
def test_a_file_of_which_nobody_can_tell_whose_it_is_stops_everybody(store: FileStore, left: str) -> None:
    """It may be this cluster's, and what is not there is taken for deleted."""
    file_of(store, "two-a").write_text(left)
    for cluster in ("one", "two"):
        with pytest.raises(StoreError, match=r"two-a\.yaml"):
            store.list(MACHINE, "default", of(cluster))


def test_however_a_person_writes_the_label(store: FileStore) -> None:
    path = file_of(store, "one-a")
    path.write_text(path.read_text().replace(f"{LABEL}: one", f'"{LABEL}"   :  "one"'))
    assert names(store.list(MACHINE, "default", of("one"))) == ["one-a", "one-b"]


def test_a_large_object_is_found(store: FileStore) -> None:
    large = machine("one-c", labels=of("one"), annotations={"large": "x" * 200_000})
    store.create(large)
    assert names(store.list(MACHINE, "default", of("one"))) == ["one-a", "one-b", "one-c"]


def test_names_of_what_cannot_be_read(store: FileStore) -> None:
    file_of(store, "two-a").write_text("[")
    found = [("default", name) for name in ("one-a", "one-b", "two-a", "two-b")]
    assert store.names(MACHINE) == store.names(MACHINE, "default") == found
    assert store.names(MACHINE, "other") == []
    assert FileStore(f"{store.directory}-none").names(MACHINE) == []


def test_within_a_view_of_everything_each_file_is_read_once(store: FileStore) -> None:
    opened: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[t.Any, ...]) -> None:
        if watching and event == "open" and str(arguments[0]).endswith("-a.yaml"):
            opened.append(Path(arguments[0]).name)

    sys.addaudithook(hook)
    try:
        with store.view(OF_ALL):
            for cluster in ("one", "two", "one"):
                assert names(store.list(MACHINE, "default", of(cluster))) == [f"{cluster}-a", f"{cluster}-b"]
                assert store.get(MACHINE, "default", f"{cluster}-a") is not None
            assert store.get(MACHINE, "default", "three") is None
        assert sorted(opened) == ["one-a.yaml", "two-a.yaml"]
    finally:
        watching = False


def test_a_write_is_seen_in_the_view(store: FileStore) -> None:
    with store.view(OF_ALL):
        assert len(store.list(MACHINE)) == 4
        store.create(machine("one-c", labels=of("one")))
        store.modify(MACHINE, "default", "one-a", lambda found: found["metadata"].update(labels=of("two")))
        store.delete(MACHINE, "default", "one-b")
        assert names(store.list(MACHINE, "default", of("one"))) == ["one-c"]
        assert names(store.list(MACHINE, "default", of("two"))) == ["one-a", "two-a", "two-b"]
