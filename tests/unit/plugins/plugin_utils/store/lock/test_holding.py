# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a cluster, with real processes: taking, holding, taking over."""

from __future__ import annotations

import json
import os
import signal
import stat
from dataclasses import replace

import pytest
from locks import BOUND_SECONDS, as_run, elsewhere, gone, one_renewer, wait_for_count

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks


def test_take_and_release(store, folder):
    assert file_lock.current_holder(store, "default", "prod") is None
    lease = file_lock.acquire(store, "default", "prod")
    assert lease.fencing == 1 and len(lease.run) == 12
    file_lock.check(lease)
    assert file_lock.current_holder(store, "default", "prod").run == lease.run
    assert file_lock.release(lease) is True
    assert file_lock.current_holder(store, "default", "prod") is None
    assert file_lock.release(lease) is False
    with pytest.raises(file_lock.LostLock, match="it is free now"):
        file_lock.check(lease)


def test_the_number_grows_across_holders(store, folder):
    numbers = []
    for _turn in range(5):
        lease = file_lock.acquire(store, "default", "prod")
        numbers.append(lease.fencing)
        file_lock.release(lease)
    assert numbers == [1, 2, 3, 4, 5]
    assert sorted(os.listdir(folder)) == ["5.counter", "5.released"]


def test_the_same_run_gets_its_lease_again(store):
    lease = file_lock.acquire(store, "default", "prod")
    assert file_lock.acquire(store, "default", "prod") == lease
    assert file_lock.own_lease(store, "default", "prod") == lease
    assert one_renewer(store)
    assert file_lock.release_own(store, "default", "prod") is True
    assert file_lock.release_own(store, "default", "prod") is False


def test_two_owners_in_one_run_are_two(store):
    lease = file_lock.acquire(store, "default", "prod", owner="prod-1")
    with pytest.raises(file_lock.Held):
        file_lock.acquire(store, "default", "prod", owner="prod-2")
    assert file_lock.release_own(store, "default", "prod", owner="prod-2") is False
    file_lock.check(lease)


def test_two_hosts_of_a_run_are_two(store):
    """A cluster under two names in the inventory, or played on its machines."""
    at = ("default", "prod")
    locks, other = FileLocks(store, "prod"), FileLocks(store, "a.prod")
    taken = locks.acquire(*at)
    with pytest.raises(file_lock.Held, match=r"another host of this run, prod\b.*This run changed nothing.*--limit"):
        other.acquire(*at)
    assert other.own(*at) is None and other.release_own(*at) is False
    with pytest.raises(file_lock.LostLock):
        other.raise_above(*at, 7)
    assert locks.acquire(*at) == locks.own(*at) == taken
    assert locks.raise_above(*at, 7) == (8, taken.run) and locks.release_own(*at) is True
    assert other.acquire(*at).fencing == 9


def test_clusters_and_namespaces_do_not_meet(store):
    for namespace, cluster in (("default", "prod"), ("default", "test"), ("other", "prod")):
        assert file_lock.acquire(store, namespace, cluster, owner=f"{namespace}/{cluster}").fencing == 1


def test_held_names_the_holder_and_what_to_do(store, sleepers):
    holder = as_run(
        sleepers(),
        user="alice",
        host="ctrl1",
        command="ansible-playbook site.yml",
        awx_job="17",
        acquired="2026-01-02T03:04:05Z",
    )
    file_lock.acquire(store, "default", "prod", holder)
    with pytest.raises(file_lock.Held) as caught:
        file_lock.acquire(store, "default", "prod")
    said = str(caught.value)
    assert (
        f"held by alice on host ctrl1, process {holder.pid} (ansible-playbook site.yml), since 2026-01-02T03:04:05Z, AWX job 17"
        in said
    )
    assert "cluster default/prod is locked" in said and "changed nothing" in said and "nothing to delete" in said
    assert caught.value.holder == holder
    assert isinstance(caught.value, (file_lock.LockError, StoreError))


def test_a_dead_holder_is_replaced_at_once(store, folder):
    file_lock.acquire(store, "default", "prod", file_lock.this_holder(gone()))
    lease = file_lock.acquire(store, "default", "prod", observe_seconds=3600)
    assert lease.fencing == 2
    assert sorted(os.listdir(folder)) == ["2.counter", "2.json"]


def test_a_number_given_again_is_no_holder(store, sleepers):
    holder = as_run(sleepers())
    file_lock.acquire(store, "default", "prod", replace(holder, start_time=holder.start_time - 1))
    assert file_lock.acquire(store, "default", "prod", observe_seconds=3600).fencing == 2


def test_a_stopped_holder_is_a_holder(store, sleepers):
    run = sleepers()
    file_lock.acquire(store, "default", "prod", as_run(run))
    run.send_signal(signal.SIGSTOP)
    with pytest.raises(file_lock.Held):
        file_lock.acquire(store, "default", "prod")


@pytest.mark.parametrize("change", [{"boot_id": "another boot"}, {"pid_namespace": "pid:[1]"}, {"boot_id": None}])
def test_a_live_holder_elsewhere_is_seen_by_its_counter(store, folder, sleepers, change):
    # A container on this machine has the same boot and other process numbers: its processes can't be seen from here.
    holder = replace(file_lock.this_holder(identity.identify(sleepers().pid)), **change)
    file_lock.acquire(store, "default", "prod", holder)
    said = []
    with pytest.raises(file_lock.Held):
        file_lock.acquire(store, "default", "prod", observe_seconds=BOUND_SECONDS, on_wait=said.append)
    assert len(said) == 1 and f"process {holder.pid}" in said[0]


@pytest.mark.parametrize("acquired", ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_dead_holder_elsewhere_is_replaced_whatever_its_clock_said(store, acquired):
    file_lock.acquire(store, "default", "prod", elsewhere(gone(), acquired=acquired))
    assert file_lock.acquire(store, "default", "prod", observe_seconds=0.6).fencing == 2


def test_a_holder_that_can_not_be_read_is_watched(store, folder):
    file_lock.acquire(store, "default", "prod", file_lock.this_holder(gone()))
    for content in (b"", b"[]", b"\xff", b'{"pid": "x", "boot_id": "y"}'):
        newest = max(name for name in os.listdir(folder) if name.endswith(".json"))
        with open(os.path.join(folder, newest), "wb") as stream:
            stream.write(content)
        said = []
        lease = file_lock.acquire(
            store, "default", "prod", file_lock.this_holder(gone()), observe_seconds=0.6, on_wait=said.append
        )
        assert said and lease.fencing == int(newest.partition(".")[0]) + 1


def test_a_holder_that_releases_while_it_is_watched(store, sleepers):
    lease = file_lock.acquire(store, "default", "prod", elsewhere(gone()))
    taken = file_lock.acquire(
        store, "default", "prod", observe_seconds=3600, on_wait=lambda said: file_lock.release(lease)
    )
    assert taken.fencing == 2


def test_one_taken_over_has_lost(store, sleepers):
    old = file_lock.acquire(store, "default", "prod", elsewhere(gone()))
    run = sleepers()
    new = file_lock.acquire(store, "default", "prod", as_run(run, user="carol"), observe_seconds=0.6)
    with pytest.raises(file_lock.LostLock, match=rf"held by carol on host .* process {run.pid}"):
        file_lock.check(old)
    assert file_lock.release(old) is False
    file_lock.check(new)
    assert file_lock.current_holder(store, "default", "prod").user == "carol"


def test_the_number_can_be_raised_above_what_the_cluster_has_seen(store, folder):
    lease = file_lock.acquire(store, "default", "prod")
    assert file_lock.raise_fencing(lease, 0) == lease
    raised = file_lock.raise_fencing(lease, 41)
    assert raised.fencing == 42
    # Whoever was given the first number holds all of them; nobody else ever had one in between.
    assert [file_lock.check(each) for each in (raised, lease)] == [42, 42]
    assert file_lock.raise_fencing(lease, 30) == raised
    assert file_lock.raise_fencing(raised, 100).fencing == 101 and file_lock.check(lease) == 101
    for number in (0, 102):
        with pytest.raises(file_lock.LostLock):
            file_lock.check(replace(lease, fencing=number))
    wait_for_count(folder, 101, 0)
    file_lock.release(replace(lease, fencing=101))
    with pytest.raises(file_lock.LostLock, match="it is free now"):
        file_lock.check(lease)
    later = file_lock.acquire(store, "default", "prod")
    assert later.fencing == 102
    for each in (lease, raised):
        with pytest.raises(file_lock.LostLock, match="newest 102"):
            file_lock.check(each)


def test_files_are_private_and_hold_no_arguments(store, folder, sleepers):
    file_lock.acquire(store, "default", "prod", as_run(sleepers(), command="sleep"))
    for name in os.listdir(folder):
        assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o640
    with open(os.path.join(folder, "1.json"), encoding="utf-8") as stream:
        content = json.load(stream)
    assert content["command"] == "sleep" and content["fencing"] == 1


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b"])
def test_names_become_no_paths(store, name):
    for namespace, cluster in ((name, "prod"), ("default", name)):
        with pytest.raises(StoreError, match="not valid"):
            file_lock.acquire(store, namespace, cluster)
        with pytest.raises(StoreError, match="not valid"):
            file_lock.current_holder(store, namespace, cluster)
