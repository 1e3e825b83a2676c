# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of a cluster's objects that each pass leaves on the controller: encrypted, whole, nobody's store until somebody says so."""

from __future__ import annotations

import typing as t
from pathlib import Path

import moves
import pytest
from actions import run_action
from management_workspace import empty
from moves import AT, CLUSTER, MACHINE, SECRET, everything, keepers, missing, move, opened
from operator_workspace import NAME

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import VAULT_HEADER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

PASSWORD = "of the copies"
Options = dict[str, t.Any]


@pytest.fixture
def api(api: Options, tmp_path: Path) -> Options:
    """A cluster in an API, with a folder for its copy."""
    result = move(moves.make(tmp_path / "workspace"), api)
    assert not result.get("failed"), result
    return {**api, "export": str(tmp_path / "export")}


@pytest.fixture
def copy(tmp_path: Path) -> Options:
    """The copy, as a store."""
    return {"type": "file", "path": str(tmp_path / "export")}


def keep(api: Options, fencing: int = 7, password: str = PASSWORD) -> Object:
    """What a pass does in its end, under a lock with that number."""
    locks = opening.open_locks(api)
    locks.take(*AT)
    number = locks.raise_above(*AT, fencing - 1).fencing
    try:
        return run_action("cluster_export", cluster=NAME, store=dict(api), fencing=number, vault_password=password)
    finally:
        locks.release_own(*AT)


def test_a_run_that_lost_its_lock_copies_nothing(api: Options, copy: Options) -> None:
    """What it copies may be older than what the next run has copied."""
    keep(api, fencing=5)
    there, before = opened(api), everything(moves.opened(copy, PASSWORD))
    [name, *_more] = [each["metadata"]["name"] for each in there.list(MACHINE, "default")]
    there.modify(MACHINE, "default", name, lambda each: each["spec"].update(failureDomain="z"))
    said = run_action("cluster_export", cluster=NAME, store=dict(api), fencing=5, vault_password=PASSWORD)
    assert said["failed"] and "does not hold the lock" in said["msg"]
    assert everything(moves.opened(copy, PASSWORD)) == before


def lock(options: Options, password: str = PASSWORD, **more: t.Any) -> Object:
    """What a run begins with."""
    result = run_action("run", cluster=NAME, store=dict(options), vault_password=password, **more)
    opening.open_locks(options).release_own(*AT)
    return result


def test_everything_is_in_it_and_no_secret_can_be_read(api: Options, copy: Options) -> None:
    """Kept up to date, and written only where something differs."""
    assert not keep(api).get("failed")
    before = everything(opened(api))
    store = moves.opened(copy, PASSWORD)
    assert missing(store, before) == []
    files = list(Path(copy["path"]).rglob("secret/*.yaml"))
    assert len(files) >= 6 and all(each.read_bytes().startswith(VAULT_HEADER) for each in files)
    assert all(each.stat().st_mode & 0o077 == 0 for each in files)
    assert keep(api)["changes"] == []
    there = opened(api)
    names = [each["metadata"]["name"] for each in there.list(MACHINE, "default")]
    there.modify(MACHINE, "default", names[0], lambda each: each["spec"].update(failureDomain="z"))
    there.delete(MACHINE, "default", names[1])
    assert keep(api)["changes"] == [f"change Machine {names[0]}", f"delete Machine {names[1]}"]
    assert missing(store, everything(there)) == [] and everything(store).keys() == everything(there).keys()
    # A field that is taken away, and a Secret that is changed as kubectl users do.
    there.modify(MACHINE, "default", names[0], lambda each: each["spec"].pop("failureDomain"))
    secret = there.get(SECRET, "default", "registry") or {}
    there.delete(SECRET, "default", "registry")
    there.create({**secret, "metadata": {"name": "registry", "namespace": "default"}, "data": {"a": "Yw=="}})
    assert sorted(keep(api)["changes"]) == [f"change Machine {names[0]}", "change Secret registry"]
    assert "failureDomain" not in (store.get(MACHINE, "default", names[0]) or {})["spec"]
    assert (store.get(SECRET, "default", "registry") or {})["data"] == {"a": "Yw=="}


def test_nobody_works_with_it_unless_they_say_so(api: Options, copy: Options) -> None:
    """The run's number is above every one that the API gave; from then on it is no copy any more, and is not written over."""
    keep(api, fencing=41)
    assert keepers(api, copy) == [0]
    said = lock(copy)
    assert said["failed"] and "control_plane_use_export=true" in said["msg"] and "the Kubernetes API" in said["msg"]
    taken = lock(copy, use_export=True)
    assert taken["fencing"] > 42 and not taken.get("failed")
    said = keep(api)
    assert said["failed"] and "was worked with since it was made" in said["msg"]
    assert not lock(copy).get("failed"), "said once"


@pytest.mark.parametrize("by", ["", "third"])
def test_moved_back_it_is_what_the_api_has(api: Options, copy: Options, tmp_path: Path, by: str) -> None:
    """After a restore the API has what it had when the snapshot was taken; the copy is what was worked with meanwhile.

    Also where the cluster comes back by a third store, which the copy says that it was moved to.
    """
    keep(api)
    said = move(copy, {key: value for key, value in api.items() if key != "export"}, vault_password=PASSWORD)
    assert said["failed"] and "this is a copy" in said["msg"]
    lock(copy, use_export=True)
    store = moves.opened(copy, PASSWORD)
    names = [each["metadata"]["name"] for each in store.list(MACHINE, "default")]
    store.modify(MACHINE, "default", names[0], lambda each: each["spec"].update(failureDomain="z"))
    worked, last = everything(store), copy
    if by:
        last = {"type": "file", "path": str(tmp_path / by)}
        moved = move(copy, last, vault_password=PASSWORD)
        assert not moved.get("failed"), moved
    moved = move(last, dict(api), vault_password=PASSWORD)
    assert not moved.get("failed"), moved
    assert missing(opened(api), worked) == [] and keepers(api, last) == [0]
    # It leaves a copy again.
    assert missing(moves.opened(copy, PASSWORD), worked) == []
    assert opened(api).get(*(CLUSTER, *AT)) is not None
    assert not keep(api).get("failed")


def test_what_the_api_has_more_than_the_copy_is_named(api: Options, copy: Options) -> None:
    """A machine that was made after the copy: nobody knows which of the two is right."""
    keep(api)
    there = opened(api)
    first = there.list(MACHINE, "default")[0]
    labels = first["metadata"]["labels"]
    there.create({**first, "metadata": {"name": "made-since", "namespace": "default", "labels": labels}})
    lock(copy, use_export=True)
    said = move(copy, dict(api), vault_password=PASSWORD)
    assert said["failed"] and "only there are: Machine made-since" in said["msg"]


def test_without_a_password_nothing_begins(api: Options) -> None:
    for said in (lock(api, password=""), lock(api, password="", check=True), keep(api, password="")):
        assert said["failed"] and "has no vault password" in said["msg"]
    assert not Path(api["export"]).exists()


def test_a_cluster_that_is_gone_keeps_its_last_copy(api: Options, copy: Options) -> None:
    keep(api)
    before = {key for key in everything(moves.opened(copy, PASSWORD)) if key[0] != SECRET}
    empty(KubernetesStore(KubernetesApi({"kubeconfig": api["kubeconfig"]})))
    assert keep(api)["changes"] == []
    assert {key for key in everything(moves.opened(copy, PASSWORD)) if key[0] != SECRET} == before
