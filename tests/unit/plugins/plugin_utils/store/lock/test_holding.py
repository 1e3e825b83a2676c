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
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import in_files


def test_take_and_release(store, folder):
    assert in_files.current_holder(store, "default", "prod") is None
    lease = in_files.acquire(store, "default", "prod")
    assert lease.fencing == 1 and len(lease.run) == 12
    in_files.check(lease)
    assert in_files.current_holder(store, "default", "prod").run == lease.run
    assert in_files.release(lease) is True
    assert in_files.current_holder(store, "default", "prod") is None
    assert in_files.release(lease) is False
    with pytest.raises(in_files.LostLock, match="it is free now"):
        in_files.check(lease)


def test_the_number_grows_across_holders(store, folder):
    numbers = []
    for _turn in range(5):
        lease = in_files.acquire(store, "default", "prod")
        numbers.append(lease.fencing)
        in_files.release(lease)
    assert numbers == [1, 2, 3, 4, 5]
    assert sorted(os.listdir(folder)) == ["5.counter", "5.released"]


def test_the_same_run_gets_its_lease_again(store):
    lease = in_files.acquire(store, "default", "prod")
    assert in_files.acquire(store, "default", "prod") == lease
    assert in_files.own_lease(store, "default", "prod") == lease
    assert one_renewer(store)
    assert in_files.release_own(store, "default", "prod") is True
    assert in_files.release_own(store, "default", "prod") is False


def test_two_owners_in_one_run_are_two(store):
    lease = in_files.acquire(store, "default", "prod", owner="prod-1")
    with pytest.raises(in_files.Held):
        in_files.acquire(store, "default", "prod", owner="prod-2")
    assert in_files.release_own(store, "default", "prod", owner="prod-2") is False
    in_files.check(lease)


def test_clusters_and_namespaces_do_not_meet(store):
    for namespace, cluster in (("default", "prod"), ("default", "test"), ("other", "prod")):
        assert in_files.acquire(store, namespace, cluster, owner=f"{namespace}/{cluster}").fencing == 1


def test_held_names_the_holder_and_what_to_do(store, sleepers):
    holder = as_run(
        sleepers(),
        user="alice",
        host="ctrl1",
        command="ansible-playbook site.yml",
        awx_job="17",
        acquired="2026-01-02T03:04:05Z",
    )
    in_files.acquire(store, "default", "prod", holder)
    with pytest.raises(in_files.Held) as caught:
        in_files.acquire(store, "default", "prod")
    said = str(caught.value)
    assert (
        f"held by alice on host ctrl1, process {holder.pid} (ansible-playbook site.yml), since 2026-01-02T03:04:05Z, AWX job 17"
        in said
    )
    assert "cluster default/prod is locked" in said and "changed nothing" in said and "nothing to delete" in said
    assert caught.value.holder == holder
    assert isinstance(caught.value, (in_files.LockError, StoreError))


def test_a_dead_holder_is_replaced_at_once(store, folder):
    in_files.acquire(store, "default", "prod", in_files.this_holder(gone()))
    lease = in_files.acquire(store, "default", "prod", observe_seconds=3600)
    assert lease.fencing == 2
    assert sorted(os.listdir(folder)) == ["2.counter", "2.json"]


def test_a_number_given_again_is_no_holder(store, sleepers):
    holder = as_run(sleepers())
    in_files.acquire(store, "default", "prod", replace(holder, start_time=holder.start_time - 1))
    assert in_files.acquire(store, "default", "prod", observe_seconds=3600).fencing == 2


def test_a_stopped_holder_is_a_holder(store, sleepers):
    run = sleepers()
    in_files.acquire(store, "default", "prod", as_run(run))
    run.send_signal(signal.SIGSTOP)
    with pytest.raises(in_files.Held):
        in_files.acquire(store, "default", "prod")


@pytest.mark.parametrize("change", [{"boot_id": "another boot"}, {"pid_namespace": "pid:[1]"}, {"boot_id": None}])
def test_a_live_holder_elsewhere_is_seen_by_its_counter(store, folder, sleepers, change):
    # A container on this machine has the same boot and other process numbers: its processes can't be seen from here.
    holder = replace(in_files.this_holder(identity.identify(sleepers().pid)), **change)
    in_files.acquire(store, "default", "prod", holder)
    said = []
    with pytest.raises(in_files.Held):
        in_files.acquire(store, "default", "prod", observe_seconds=BOUND_SECONDS, on_wait=said.append)
    assert len(said) == 1 and f"process {holder.pid}" in said[0]


@pytest.mark.parametrize("acquired", ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_dead_holder_elsewhere_is_replaced_whatever_its_clock_said(store, acquired):
    in_files.acquire(store, "default", "prod", elsewhere(gone(), acquired=acquired))
    assert in_files.acquire(store, "default", "prod", observe_seconds=0.6).fencing == 2


def test_a_holder_that_can_not_be_read_is_watched(store, folder):
    in_files.acquire(store, "default", "prod", in_files.this_holder(gone()))
    for content in (b"", b"[]", b"\xff", b'{"pid": "x", "boot_id": "y"}'):
        newest = max(name for name in os.listdir(folder) if name.endswith(".json"))
        with open(os.path.join(folder, newest), "wb") as stream:
            stream.write(content)
        said = []
        lease = in_files.acquire(
            store, "default", "prod", in_files.this_holder(gone()), observe_seconds=0.6, on_wait=said.append
        )
        assert said and lease.fencing == int(newest.partition(".")[0]) + 1


def test_a_holder_that_releases_while_it_is_watched(store, sleepers):
    lease = in_files.acquire(store, "default", "prod", elsewhere(gone()))
    taken = in_files.acquire(
        store, "default", "prod", observe_seconds=3600, on_wait=lambda said: in_files.release(lease)
    )
    assert taken.fencing == 2


def test_one_taken_over_has_lost(store, sleepers):
    old = in_files.acquire(store, "default", "prod", elsewhere(gone()))
    run = sleepers()
    new = in_files.acquire(store, "default", "prod", as_run(run, user="carol"), observe_seconds=0.6)
    with pytest.raises(in_files.LostLock, match=rf"held by carol on host .* process {run.pid}"):
        in_files.check(old)
    assert in_files.release(old) is False
    in_files.check(new)
    assert in_files.current_holder(store, "default", "prod").user == "carol"


def test_the_number_can_be_raised_above_what_the_cluster_has_seen(store, folder):
    lease = in_files.acquire(store, "default", "prod")
    assert in_files.raise_fencing(lease, 0) == lease
    raised = in_files.raise_fencing(lease, 41)
    assert raised.fencing == 42
    # Whoever was given the first number holds all of them; nobody else ever had one in between.
    assert [in_files.check(each) for each in (raised, lease)] == [42, 42]
    assert in_files.raise_fencing(lease, 30) == raised
    assert in_files.raise_fencing(raised, 100).fencing == 101 and in_files.check(lease) == 101
    for number in (0, 102):
        with pytest.raises(in_files.LostLock):
            in_files.check(replace(lease, fencing=number))
    wait_for_count(folder, 101, 0)
    in_files.release(replace(lease, fencing=101))
    with pytest.raises(in_files.LostLock, match="it is free now"):
        in_files.check(lease)
    later = in_files.acquire(store, "default", "prod")
    assert later.fencing == 102
    for each in (lease, raised):
        with pytest.raises(in_files.LostLock, match="newest 102"):
            in_files.check(each)


def test_files_are_private_and_hold_no_arguments(store, folder, sleepers):
    in_files.acquire(store, "default", "prod", as_run(sleepers(), command="sleep"))
    for name in os.listdir(folder):
        assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o640
    with open(os.path.join(folder, "1.json"), encoding="utf-8") as stream:
        content = json.load(stream)
    assert content["command"] == "sleep" and content["fencing"] == 1


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b"])
def test_names_become_no_paths(store, name):
    for namespace, cluster in ((name, "prod"), ("default", name)):
        with pytest.raises(StoreError, match="not valid"):
            in_files.acquire(store, namespace, cluster)
        with pytest.raises(StoreError, match="not valid"):
            in_files.current_holder(store, namespace, cluster)
