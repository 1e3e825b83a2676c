# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of a cluster's objects: what is in it, whom it is for; a store of files stands for the API."""

from __future__ import annotations

import typing as t
from pathlib import Path

import moves
import pytest
import yaml
from actions import run_action, vault_secrets
from ansible.parsing.vault import VaultLib
from moves import AT, CLUSTER, MACHINE, everything, keepers, missing, opened
from operator_workspace import NAME

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.export import Export
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import VAULT_HEADER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock, marks

PASSWORD = "of the copies"
Options = dict[str, t.Any]


@pytest.fixture
def source(tmp_path: Path) -> Store:
    """Where the cluster is."""
    return opened(moves.make(tmp_path / "workspace"))


@pytest.fixture
def copy(tmp_path: Path) -> Options:
    """The copy, as a store."""
    return {"type": "file", "path": str(tmp_path / "export")}


@pytest.fixture
def export(copy: Options) -> Export:
    """What keeps it."""
    vault = VaultLib(vault_secrets(PASSWORD))
    return Export(copy["path"], vault.encrypt, vault.decrypt)


def keep(export: Export, source: Store, fencing: int = 7, arrived: bool = False) -> list[str]:
    """What a pass does in its end, or a move."""
    return export.keep(source, *AT, fencing, "https://192.0.2.10:6443", arrived)


def test_everything_is_in_it_and_no_secret_can_be_read(export: Export, source: Store, copy: Options) -> None:
    keep(export, source)
    there = opened(copy, PASSWORD)
    assert missing(there, everything(source)) == []
    files = list(Path(copy["path"]).rglob("secret/*.yaml"))
    assert len(files) >= 6 and all(each.read_bytes().startswith(VAULT_HEADER) for each in files)
    assert all(each.stat().st_mode & 0o077 == 0 for each in files)


def test_only_what_has_changed_is_written(export: Export, source: Store, copy: Options) -> None:
    keep(export, source)
    assert keep(export, source) == []
    names = [each["metadata"]["name"] for each in source.list(MACHINE, "default")]
    source.modify(MACHINE, "default", names[0], lambda each: each["spec"].update(failureDomain="z"))
    source.delete(MACHINE, "default", names[1])
    assert keep(export, source) == [f"change Machine {names[0]}", f"delete Machine {names[1]}"]
    assert everything(opened(copy, PASSWORD)).keys() == everything(source).keys()


def test_what_is_taken_out_of_a_spec_is_taken_out_of_the_copy(export: Export, source: Store, copy: Options) -> None:
    """Whoever works with the copy would else find machines that differ from it, and replace them."""
    [name, *_others] = [each["metadata"]["name"] for each in source.list(MACHINE, "default")]
    source.modify(MACHINE, "default", name, lambda each: each["spec"].update(failureDomain="z"))
    keep(export, source)
    source.modify(MACHINE, "default", name, lambda each: each["spec"].pop("failureDomain"))
    assert keep(export, source) == [f"change Machine {name}"]
    assert "failureDomain" not in (opened(copy, PASSWORD).get(MACHINE, "default", name) or {})["spec"]
    assert keep(export, source) == []


def test_what_is_deleted_and_made_again_is_the_new_one(export: Export, source: Store, copy: Options) -> None:
    """Under its name, between two runs, as a Secret is changed with kubectl."""
    keep(export, source)
    for data in ({"a": "Yw=="}, {"a": "ZA=="}):
        [secret] = [each for each in source.list(moves.SECRET, "default") if each["metadata"]["name"] == "registry"]
        source.delete(moves.SECRET, "default", "registry")
        source.create({**secret, "metadata": {"name": "registry", "namespace": "default"}, "data": data})
        assert keep(export, source) == ["change Secret registry"]
        there = opened(copy, PASSWORD)
        assert (there.get(moves.SECRET, "default", "registry") or {})["data"] == data
        assert missing(there, everything(source)) == [] and keep(export, source) == []


def test_another_clusters_object_of_the_same_name_stays(export: Export, source: Store, copy: Options) -> None:
    """The folder may have copies of several clusters, each of its own API."""
    keep(export, source)
    there = opened(copy, PASSWORD)
    [secret] = [each for each in there.list(moves.SECRET, "default") if each["metadata"]["name"] == "registry"]
    secret["metadata"]["annotations"]["kubeadm.control-plane/original-uid"] = "of another cluster's API"
    before = there.update({**secret, "data": {"a": "theirs"}})
    with pytest.raises(StoreError, match="Secret default/registry is there already, and is not this one"):
        keep(export, source)
    assert there.get(moves.SECRET, "default", "registry") == before


def test_a_cluster_that_was_made_again_leaves_the_former_ones_copy(
    export: Export, source: Store, copy: Options
) -> None:
    """It may have keys that are nowhere else; moved aside, it is whole, and a new copy is made."""
    keep(export, source)
    before = everything(opened(copy, PASSWORD))
    cluster = source.get(*(CLUSTER, *AT))
    assert cluster is not None
    source.modify(*(CLUSTER, *AT), lambda each: each["metadata"].update(finalizers=[]))
    source.delete(*(CLUSTER, *AT))
    source.create({**cluster, "metadata": {"name": NAME, "namespace": "default"}})
    with pytest.raises(ControlPlaneFailure, match="Move that folder aside") as refused:
        keep(export, source)
    assert copy["path"] in str(refused.value) and everything(opened(copy, PASSWORD)) == before
    Path(copy["path"]).rename(f"{copy['path']}.former")
    keep(export, source)
    assert missing(opened(copy, PASSWORD), everything(source)) == []


def test_while_something_is_being_deleted(export: Export, source: Store, copy: Options) -> None:
    """It is being deleted in the copy too, for whoever works with it; and goes with it."""
    keep(export, source)
    [name, *_others] = [each["metadata"]["name"] for each in source.list(MACHINE, "default")]
    moves.mark(source, MACHINE, name)
    assert keep(export, source) == [f"change Machine {name}", f"mark Machine {name} for deletion"]
    assert keep(export, source) == [] and moves.marked(opened(copy, PASSWORD)) == [name]
    source.modify(MACHINE, "default", name, lambda each: each["metadata"].update(finalizers=[]))
    assert keep(export, source) == [f"delete Machine {name}"]
    assert missing(opened(copy, PASSWORD), everything(source)) == []


def test_a_cluster_that_goes_as_a_whole_is_followed(export: Export, source: Store, copy: Options) -> None:
    """It is not the copy that keeps what is deleted elsewhere; only of a cluster that keeps its own objects it does."""
    keep(export, source)
    [first, second, *_others] = [each["metadata"]["name"] for each in source.list(MACHINE, "default")]
    moves.mark(source, CLUSTER, NAME)
    source.delete(MACHINE, "default", first)
    assert f"delete Machine {first}" in keep(export, source)
    reason = {"type": "Deleting", "status": "True", "reason": "ObjectsInItself", "message": ""}
    source.modify(
        moves.CONTROL_PLANE,
        "default",
        f"{NAME}-control-plane",
        lambda each: each.setdefault("status", {}).update(conditions=[{**reason, "lastTransitionTime": moves.OLD}]),
    )
    source.delete(MACHINE, "default", second)
    keep(export, source)
    there = opened(copy, PASSWORD)
    assert there.get(MACHINE, "default", second) is not None and there.get(MACHINE, "default", first) is None
    assert "deletionTimestamp" not in there.get(*(CLUSTER, *AT))["metadata"]  # type: ignore[index]


def test_a_store_without_the_cluster_takes_nothing_away(export: Export, source: Store, copy: Options) -> None:
    keep(export, source)
    empty = opened({"type": "file", "path": f"{copy['path']}-empty"})
    assert keep(export, empty) == [] and len(everything(opened(copy, PASSWORD))) > 20


def test_nobody_works_with_it_unless_they_say_so(export: Export, source: Store, copy: Options) -> None:
    """The run's number is above every one that the API gave; from then on it is no copy any more, and is not written over."""
    keep(export, source, fencing=41)
    assert keepers(copy) == []
    for check in (True, False):
        said = run_action("run", check=check, cluster=NAME, store=dict(copy))
        assert "this is a copy of what is kept in https://192.0.2.10:6443" in said["msg"]
    assert run_action("run", check=True, cluster=NAME, store=dict(copy), use_export=True)["begun"]
    taken = run_action("run", cluster=NAME, store=dict(copy), use_export=True)
    assert taken["fencing"] > 42
    with pytest.raises(ControlPlaneFailure, match="was worked with since it was made"):
        keep(export, source)
    opening.open_locks(copy).release_own(*AT)
    with pytest.raises(ControlPlaneFailure, match="was worked with since it was made"):
        keep(export, source)
    assert keepers(copy) == [0]


@pytest.mark.parametrize("other", ["", "the Kubernetes API https://192.0.2.11:6443"])
def test_one_that_was_moved_away_is_kept_again(export: Export, source: Store, copy: Options, other: str) -> None:
    """By the store that it was moved to, or when the cluster arrives in another one; else that one's objects may be older."""
    keep(export, source)
    locks, own = opening.open_locks(copy), "https://192.0.2.10:6443"
    locks.take(*AT)
    moved = marks.Mark(marks.MOVED, "a1", other or own)
    locks.set_mark(*AT, moved)
    locks.release_own(*AT)
    before = everything(opened(copy, PASSWORD))
    if other:
        with pytest.raises(
            ControlPlaneFailure, match=f"was moved to {other}. .* still kept there: .* move that folder aside"
        ):
            keep(export, source, fencing=20)
        assert (locks.mark(*AT), everything(opened(copy, PASSWORD))) == (moved, before)
    keep(export, source, fencing=20, arrived=bool(other))
    mark = locks.mark(*AT)
    assert mark is not None and mark.state == marks.EXPORT


def test_a_run_that_works_with_it_now(export: Export, source: Store, copy: Options) -> None:
    keep(export, source)
    opening.open_locks(copy).take(*AT)
    with pytest.raises(ControlPlaneFailure, match="was worked with"):
        keep(export, source)
    with pytest.raises(file_lock.Held):
        file_lock.leave_number(copy["path"], *AT, 50)


def test_the_same_as_it_was_when_it_is_moved_back(export: Export, source: Store, copy: Options, tmp_path: Path) -> None:
    """The API has what it had at the time of a snapshot; what was done with the copy meanwhile is brought there."""
    keep(export, source)
    api = {"type": "file", "path": str(tmp_path / "workspace" / "store")}
    refused = moves.move(copy, api, vault_password=PASSWORD)
    assert refused["failed"] and "this is a copy" in refused["msg"]
    run_action("run", cluster=NAME, store=dict(copy), use_export=True)
    there = opened(copy, PASSWORD)
    name = there.list(MACHINE, "default")[0]["metadata"]["name"]
    there.modify(MACHINE, "default", name, lambda each: each["spec"].update(failureDomain="z"))
    worked = everything(there)
    moved = moves.move(copy, api, vault_password=PASSWORD)
    assert not moved.get("failed"), moved
    assert missing(source, worked) == [] and keepers(api, copy) == [0]
    cluster = source.get(*(CLUSTER, *AT))
    assert cluster is not None and "paused" not in cluster["spec"]


def test_what_the_copy_had_and_has_no_more_goes(export: Export, source: Store, copy: Options, tmp_path: Path) -> None:
    """A machine that was removed while the copy was worked with, and one that a newer copy knew to be gone: a snapshot has both."""
    names = [each["metadata"]["name"] for each in source.list(MACHINE, "default")]
    older = {name: source.get(MACHINE, "default", name) for name in names}
    keep(export, source)
    source.delete(MACHINE, "default", names[0])
    keep(export, source)
    _back(source, tmp_path, older[names[0]])
    run_action("run", cluster=NAME, store=dict(copy), use_export=True)
    there = opened(copy, PASSWORD)
    there.delete(MACHINE, "default", names[1])
    api = {"type": "file", "path": str(tmp_path / "workspace" / "store")}
    would = moves.move(copy, api, vault_password=PASSWORD, check=True)
    assert {f"delete Machine {each}" for each in names[:2]} <= set(would["changes"])
    assert [each["metadata"]["name"] for each in source.list(MACHINE, "default")] == names
    moved = moves.move(copy, api, vault_password=PASSWORD)
    assert not moved.get("failed"), moved
    assert [each["metadata"]["name"] for each in source.list(MACHINE, "default")] == names[2:] != []


def _back(source: Store, folder: Path, obj: t.Any) -> None:
    """An object is there again as it was, by its uid, too: what a restored snapshot brings."""
    path = folder / "workspace" / "store" / "default" / "machine.cluster.x-k8s.io" / f"{obj['metadata']['name']}.yaml"
    path.write_text(yaml.safe_dump(obj))


def test_what_is_there_more_than_in_the_copy_is_named(
    export: Export, source: Store, copy: Options, tmp_path: Path
) -> None:
    """A machine that was made after the copy: nobody knows which of the two is right."""
    keep(export, source)
    first = source.list(MACHINE, "default")[0]
    labels = first["metadata"]["labels"]
    source.create({**first, "metadata": {"name": "made-since", "namespace": "default", "labels": labels}})
    run_action("run", cluster=NAME, store=dict(copy), use_export=True)
    said = moves.move(copy, {"type": "file", "path": str(tmp_path / "workspace" / "store")}, vault_password=PASSWORD)
    assert said["failed"] and "only there are: Machine made-since" in said["msg"]
    assert opening.open_locks(copy).mark(*AT) is None
