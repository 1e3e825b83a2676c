# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a cluster in a real API server, with real processes: a Lease that is taken, renewed, lost and taken over."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from locks import BOUND_SECONDS, as_run, elsewhere, gone, renewers, wait_for_end

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks, lease_path

# A name of its own: tests of other files hold locks of their "prod" at the same time.
PROD = ("default", "raced")
WHERE = lease_path(*PROD)


@pytest.fixture
def api(server: ApiServer) -> t.Iterator[KubernetesApi]:
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    yield api
    api.send("delete", WHERE, {}, accepted=(404,))
    for pid in renewers(WHERE):
        wait_for_end(pid)


@pytest.fixture
def locks(server: ApiServer, api: KubernetesApi) -> LeaseLocks:
    return LeaseLocks(api, {"kubeconfig": server.kubeconfig}, observe_seconds=4.0)


@pytest.fixture
def proxy(server: ApiServer, tmp_path: Path) -> t.Iterator[ApiProxy]:
    """A way to the API on which answers are lost."""
    made = ApiProxy(server, tmp_path)
    yield made
    made.end()


@pytest.fixture
def run() -> t.Iterator[subprocess.Popen[bytes]]:
    """Another process, as the run that holds a lock."""
    started = subprocess.Popen(["sleep", "600"])
    yield started
    started.kill()
    started.wait()


def version(api: KubernetesApi) -> str:
    return str(api.send("get", WHERE).document["metadata"]["resourceVersion"])


def until_renewed(api: KubernetesApi) -> None:
    before, deadline = version(api), time.monotonic() + BOUND_SECONDS
    while version(api) == before:
        assert time.monotonic() < deadline, "the Lease stands still"
        select.select([], [], [], 0.1)


def one_renewer() -> int:
    deadline = time.monotonic() + BOUND_SECONDS
    while len(found := renewers(WHERE)) != 1:
        assert time.monotonic() < deadline, f"{len(found)} helpers"
        select.select([], [], [], 0.05)
    return found[0]


def test_take_and_release(locks: LeaseLocks) -> None:
    assert locks.holder(*PROD) is None and locks.own(*PROD) is None
    assert locks.release_own(*PROD) is False
    taken = locks.acquire(*PROD)
    assert taken.fencing == 1
    locks.check(*PROD, 1)
    assert locks.own(*PROD) == taken
    found = locks.holder(*PROD)
    assert found is not None and found.run == taken.run and found.pid == identity.find_run_process().pid
    assert locks.release_own(*PROD) is True
    assert locks.holder(*PROD) is None
    with pytest.raises(file_lock.LostLock, match="it is free now"):
        locks.check(*PROD, 1)


def test_two_hosts_of_a_run_are_two(api: KubernetesApi, server: ApiServer) -> None:
    """A cluster under two names in the inventory, or played on its machines."""
    options = {"kubeconfig": server.kubeconfig}
    locks, other = LeaseLocks(api, options, owner="prod"), LeaseLocks(api, options, owner="a.prod")
    taken = locks.acquire(*PROD)
    with pytest.raises(file_lock.Held, match=r"another host of this run, prod\b.*--limit"):
        other.acquire(*PROD)
    assert other.own(*PROD) is None and other.release_own(*PROD) is False
    assert locks.acquire(*PROD) == locks.own(*PROD) == taken
    assert locks.release_own(*PROD) is True


def test_the_number_grows_across_holders(locks: LeaseLocks) -> None:
    numbers = []
    for _turn in range(3):
        numbers.append(locks.acquire(*PROD).fencing)
        locks.release_own(*PROD)
    assert numbers == [1, 2, 3]


def test_the_same_run_gets_its_lock_again_and_needs_no_second_helper(locks: LeaseLocks) -> None:
    taken = locks.acquire(*PROD)
    helper = one_renewer()
    assert locks.acquire(*PROD) == taken
    assert one_renewer() == helper


def test_held_names_the_holder_and_what_to_do(locks: LeaseLocks, run: subprocess.Popen[bytes]) -> None:
    locks.acquire(*PROD, holder=as_run(run, user="alice", host="ctrl1", awx_job="17"))
    with pytest.raises(file_lock.Held) as caught:
        locks.acquire(*PROD)
    said = str(caught.value)
    assert f"held by alice on host ctrl1, process {run.pid}" in said and "AWX job 17" in said
    assert "changed nothing" in said and "nothing to delete" in said


def test_a_dead_holder_is_replaced_at_once(locks: LeaseLocks) -> None:
    locks.acquire(*PROD, holder=file_lock.this_holder(gone()))
    said: list[str] = []
    assert locks.acquire(*PROD, said.append).fencing == 2
    assert said == []


def test_a_dead_holder_elsewhere_is_replaced_when_its_lease_stands_still(locks: LeaseLocks) -> None:
    locks.acquire(*PROD, holder=elsewhere(gone(), acquired="2999-01-01T00:00:00Z"))
    for pid in renewers(WHERE):
        wait_for_end(pid)
    said: list[str] = []
    assert locks.acquire(*PROD, said.append).fencing == 2
    assert len(said) == 1 and "bob on host ctrl2" in said[0]


def test_a_live_holder_elsewhere_is_seen_by_its_renewals(locks: LeaseLocks, run: subprocess.Popen[bytes]) -> None:
    holder = replace(file_lock.this_holder(identity.identify(run.pid)), boot_id="another boot")
    locks.acquire(*PROD, holder=holder)
    with pytest.raises(file_lock.Held):
        locks.acquire(*PROD)


def test_a_lock_that_somebody_else_took_is_lost(locks: LeaseLocks) -> None:
    locks.acquire(*PROD, holder=file_lock.this_holder(gone()))
    locks.acquire(*PROD)
    with pytest.raises(file_lock.LostLock, match="fencing number 1, newest 2"):
        locks.check(*PROD, 1)
    locks.check(*PROD, 2)


def test_the_helper_renews_and_ends_with_the_run(
    locks: LeaseLocks, api: KubernetesApi, run: subprocess.Popen[bytes]
) -> None:
    locks.acquire(*PROD, holder=as_run(run))
    until_renewed(api)
    helper = one_renewer()
    os.kill(helper, signal.SIGHUP)
    until_renewed(api)
    run.kill()
    wait_for_end(helper)


def test_the_helper_ends_with_the_release(locks: LeaseLocks) -> None:
    locks.acquire(*PROD)
    helper = one_renewer()
    locks.release_own(*PROD)
    wait_for_end(helper)


def test_a_number_whose_answer_was_lost_is_renewed(server: ApiServer, api: KubernetesApi, proxy: ApiProxy) -> None:
    """The number is another one then, and the helper of the one before ends."""
    through = LeaseLocks(KubernetesApi({"kubeconfig": proxy.kubeconfig}), {"kubeconfig": server.kubeconfig})
    through.acquire(*PROD)
    helper = one_renewer()
    proxy.loses(f"PUT {WHERE}", 504)
    assert through.raise_above(*PROD, 5).fencing == 6
    wait_for_end(helper)
    until_renewed(api)
    assert one_renewer() != helper
    assert through.raise_above(*PROD, 3).fencing == 6


def test_no_renewal_is_sent_again_after_the_run(
    api: KubernetesApi, proxy: ApiProxy, run: subprocess.Popen[bytes]
) -> None:
    """A waiter would take it for a sign of life."""

    def end() -> None:
        run.kill()
        run.wait()

    proxy.before(f"PUT {WHERE}", end)
    proxy.loses(f"PUT {WHERE}", 503)
    LeaseLocks(api, {"kubeconfig": proxy.kubeconfig}).acquire(*PROD, holder=as_run(run))
    wait_for_end(one_renewer())
    assert [each.method for each in proxy.requests if each.renews and each.path.startswith(WHERE)] == ["GET", "PUT"]


def test_two_at_once_are_one(server: ApiServer, api: KubernetesApi) -> None:
    """Racing processes: each in turn is alone inside, and no number is given twice."""
    script = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks
options = {"kubeconfig": sys.argv[1]}
locks = LeaseLocks(KubernetesApi(options), options)
me = process.identify(os.getpid())
done = 0
while done < 4:
    try:
        taken = locks.acquire("default", "raced", holder=lock.this_holder(me))
    except lock.LockError:
        continue
    os.close(os.open(sys.argv[2], os.O_CREAT | os.O_EXCL))
    locks.check("default", "raced", taken.fencing)
    print(taken.fencing, flush=True)
    os.remove(sys.argv[2])
    locks._release("/apis/coordination.k8s.io/v1/namespaces/default/leases/raced-control-plane-lock", taken)
    done += 1
"""
    inside = f"{server.kubeconfig}.inside"
    runs = [
        subprocess.Popen([sys.executable, "-c", script, server.kubeconfig, inside], stdout=subprocess.PIPE, text=True)
        for _number in range(3)
    ]
    said = [each.communicate(timeout=120)[0] for each in runs]
    assert [each.returncode for each in runs] == [0, 0, 0]
    assert sorted(int(line) for line in "".join(said).split()) == list(range(1, 13))
