# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a cluster, with real processes."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import stat
import subprocess
import time
from dataclasses import replace

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import lock, process
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.process import Process

BOUND_SECONDS = 20

# Takes the lock as a run of its own, says so, and lives until told otherwise.
HOLD = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import lock, process
me = process.identify(os.getpid())
lease = lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(me))
print(lease.fencing, flush=True)
sys.stdin.readline()
print(lock.release(lease), flush=True)
"""


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "store")


@pytest.fixture
def folder(store):
    return os.path.join(store, "default/locks/prod")


@pytest.fixture
def sleepers():
    started = []

    def start():
        started.append(subprocess.Popen(["sleep", "600"]))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


@pytest.fixture(autouse=True)
def no_renewer_left_behind(store):
    yield
    shutil.rmtree(store, ignore_errors=True)
    for pid in renewers(store):
        wait_for_end(pid)


def renewers(store):
    """Return the helper processes of this store."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                arguments = stream.read()
            with open(f"/proc/{pid}/stat", "rb") as stream:
                zombie = stream.read().rpartition(b")")[2].split()[0] == b"Z"
        except OSError:
            continue
        if b"renewer.py" in arguments and store.encode() in arguments and not zombie:
            found.append(int(pid))
    return found


def wait_for_end(pid):
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], BOUND_SECONDS)[0], f"process {pid} does not end"
    finally:
        os.close(descriptor)


def count(folder, number):
    with open(os.path.join(folder, f"{number}.counter"), encoding="utf-8") as stream:
        return int(stream.read())


def wait_for_count(folder, number, more_than):
    deadline = time.monotonic() + BOUND_SECONDS
    while count(folder, number) <= more_than:
        assert time.monotonic() < deadline, "the counter stands still"
        select.select([], [], [], 0.05)


def as_run(run, **changes):
    """Describe another process as the run that takes the lock."""
    return replace(lock.this_holder(process.identify(run.pid)), **changes)


def gone():
    with subprocess.Popen(["sleep", "600"]) as started:
        found = process.identify(started.pid)
        started.kill()
    return found


def elsewhere(run_process, **changes):
    return replace(
        lock.this_holder(run_process),
        boot_id="another boot",
        host="ctrl2",
        user="bob",
        pid_namespace="pid:[1]",
        **changes,
    )


def test_take_and_release(store, folder):
    assert lock.current_holder(store, "default", "prod") is None
    lease = lock.acquire(store, "default", "prod")
    assert lease.fencing == 1 and len(lease.run) == 12
    lock.check(lease)
    assert lock.current_holder(store, "default", "prod").run == lease.run
    assert lock.release(lease) is True
    assert lock.current_holder(store, "default", "prod") is None
    assert lock.release(lease) is False
    with pytest.raises(lock.LostLock, match="it is free now"):
        lock.check(lease)


def test_the_number_grows_across_holders(store, folder):
    numbers = []
    for _ in range(5):
        lease = lock.acquire(store, "default", "prod")
        numbers.append(lease.fencing)
        lock.release(lease)
    assert numbers == [1, 2, 3, 4, 5]
    assert sorted(os.listdir(folder)) == ["5.counter", "5.released"]


def test_the_same_run_gets_its_lease_again(store):
    lease = lock.acquire(store, "default", "prod")
    assert lock.acquire(store, "default", "prod") == lease
    assert lock.own_lease(store, "default", "prod") == lease
    assert len(renewers(store)) == 1
    assert lock.release_own(store, "default", "prod") is True
    assert lock.release_own(store, "default", "prod") is False


def test_two_owners_in_one_run_are_two(store):
    lease = lock.acquire(store, "default", "prod", owner="prod-1")
    with pytest.raises(lock.Held):
        lock.acquire(store, "default", "prod", owner="prod-2")
    assert lock.release_own(store, "default", "prod", owner="prod-2") is False
    lock.check(lease)


def test_clusters_and_namespaces_do_not_meet(store):
    for namespace, cluster in (("default", "prod"), ("default", "test"), ("other", "prod")):
        assert lock.acquire(store, namespace, cluster, owner=f"{namespace}/{cluster}").fencing == 1


def test_held_names_the_holder_and_what_to_do(store, sleepers):
    holder = as_run(
        sleepers(),
        user="alice",
        host="ctrl1",
        command="ansible-playbook site.yml",
        awx_job="17",
        acquired="2026-01-02T03:04:05Z",
    )
    lock.acquire(store, "default", "prod", holder)
    with pytest.raises(lock.Held) as caught:
        lock.acquire(store, "default", "prod")
    said = str(caught.value)
    assert (
        f"held by alice on host ctrl1, process {holder.pid} (ansible-playbook site.yml), since 2026-01-02T03:04:05Z, AWX job 17"
        in said
    )
    assert "cluster default/prod is locked" in said and "changed nothing" in said and "nothing to delete" in said
    assert caught.value.holder == holder
    assert isinstance(caught.value, (lock.LockError, StoreError))


def test_a_dead_holder_is_replaced_at_once(store, folder):
    lock.acquire(store, "default", "prod", lock.this_holder(gone()))
    lease = lock.acquire(store, "default", "prod", observe_seconds=3600)
    assert lease.fencing == 2
    assert sorted(os.listdir(folder)) == ["2.counter", "2.json"]


def test_a_number_given_again_is_no_holder(store, sleepers):
    holder = as_run(sleepers())
    lock.acquire(store, "default", "prod", replace(holder, start_time=holder.start_time - 1))
    assert lock.acquire(store, "default", "prod", observe_seconds=3600).fencing == 2


def test_a_stopped_holder_is_a_holder(store, sleepers):
    run = sleepers()
    lock.acquire(store, "default", "prod", as_run(run))
    run.send_signal(signal.SIGSTOP)
    with pytest.raises(lock.Held):
        lock.acquire(store, "default", "prod")


@pytest.mark.parametrize("change", [{"boot_id": "another boot"}, {"pid_namespace": "pid:[1]"}, {"boot_id": None}])
def test_a_live_holder_elsewhere_is_seen_by_its_counter(store, folder, sleepers, change):
    # A container on this machine has the same boot and other process numbers: its processes can't be seen from here.
    holder = replace(lock.this_holder(process.identify(sleepers().pid)), **change)
    lock.acquire(store, "default", "prod", holder)
    said = []
    with pytest.raises(lock.Held):
        lock.acquire(store, "default", "prod", observe_seconds=BOUND_SECONDS, on_wait=said.append)
    assert len(said) == 1 and f"process {holder.pid}" in said[0]


@pytest.mark.parametrize("acquired", ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_dead_holder_elsewhere_is_replaced_whatever_its_clock_said(store, acquired):
    lock.acquire(store, "default", "prod", elsewhere(gone(), acquired=acquired))
    assert lock.acquire(store, "default", "prod", observe_seconds=0.6).fencing == 2


def test_a_holder_that_can_not_be_read_is_watched(store, folder):
    lock.acquire(store, "default", "prod", lock.this_holder(gone()))
    for content in (b"", b"[]", b"\xff", b'{"pid": "x", "boot_id": "y"}'):
        newest = max(name for name in os.listdir(folder) if name.endswith(".json"))
        with open(os.path.join(folder, newest), "wb") as stream:
            stream.write(content)
        said = []
        lease = lock.acquire(
            store, "default", "prod", lock.this_holder(gone()), observe_seconds=0.6, on_wait=said.append
        )
        assert said and lease.fencing == int(newest.partition(".")[0]) + 1


def test_a_holder_that_releases_while_it_is_watched(store, sleepers):
    lease = lock.acquire(store, "default", "prod", elsewhere(gone()))
    taken = lock.acquire(store, "default", "prod", observe_seconds=3600, on_wait=lambda said: lock.release(lease))
    assert taken.fencing == 2


def test_one_taken_over_has_lost(store, sleepers):
    old = lock.acquire(store, "default", "prod", elsewhere(gone()))
    run = sleepers()
    new = lock.acquire(store, "default", "prod", as_run(run, user="carol"), observe_seconds=0.6)
    with pytest.raises(lock.LostLock, match=rf"held by carol on host .* process {run.pid}"):
        lock.check(old)
    assert lock.release(old) is False
    lock.check(new)
    assert lock.current_holder(store, "default", "prod").user == "carol"


def test_the_number_can_be_raised_above_what_the_cluster_has_seen(store, folder):
    lease = lock.acquire(store, "default", "prod")
    assert lock.raise_fencing(lease, 0) == lease
    raised = lock.raise_fencing(lease, 41)
    assert raised.fencing == 42
    lock.check(raised)
    with pytest.raises(lock.LostLock):
        lock.check(lease)
    with pytest.raises(lock.LostLock):
        lock.raise_fencing(lease, 100)
    wait_for_count(folder, 42, 0)
    lock.release(raised)
    assert lock.acquire(store, "default", "prod").fencing == 43


def test_files_are_private_and_hold_no_arguments(store, folder, sleepers):
    lock.acquire(store, "default", "prod", as_run(sleepers(), command="sleep"))
    for name in os.listdir(folder):
        assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o640
    with open(os.path.join(folder, "1.json"), encoding="utf-8") as stream:
        content = json.load(stream)
    assert content["command"] == "sleep" and content["fencing"] == 1


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b"])
def test_names_become_no_paths(store, name):
    for namespace, cluster in ((name, "prod"), ("default", name)):
        with pytest.raises(StoreError, match="not valid"):
            lock.acquire(store, namespace, cluster)
        with pytest.raises(StoreError, match="not valid"):
            lock.current_holder(store, namespace, cluster)


class TestRenewal:
    def test_it_counts_while_the_run_lives(self, store, folder, sleepers):
        lock.acquire(store, "default", "prod", as_run(sleepers()))
        wait_for_count(folder, 1, 1)

    def test_it_is_no_ones_child_and_holds_nothing_of_the_run(self, store, sleepers):
        opened = os.open(store + "-open", os.O_CREAT)
        os.set_inheritable(opened, True)
        lock.acquire(store, "default", "prod", as_run(sleepers()))
        (pid,) = renewers(store)
        assert os.getsid(pid) not in (os.getsid(0), pid)
        targets = {os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")}
        os.close(opened)
        assert {each for each in targets if not each.startswith("anon_inode")} <= {
            "/dev/null",
            f"{store}/default/locks/prod/1.counter",
        }
        assert os.readlink(f"/proc/{pid}/cwd") == "/"

    def test_it_ends_with_the_runs_process_however_that_ends(self, store, python):
        for end in (signal.SIGKILL, signal.SIGTERM):
            run = python.start(HOLD, store)
            assert run.stdout.readline().strip()
            (pid,) = renewers(store)
            run.send_signal(end)
            wait_for_end(pid)
            run.communicate()

    def test_it_survives_what_is_sent_to_the_runs_group(self, store, sleepers):
        lock.acquire(store, "default", "prod", as_run(sleepers()))
        (pid,) = renewers(store)
        assert os.getpgid(pid) != os.getpgid(0)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGHUP)
        wait_for_count(os.path.join(store, "default/locks/prod"), 1, 1)

    def test_it_ends_with_the_release(self, store, sleepers):
        lease = lock.acquire(store, "default", "prod", as_run(sleepers()))
        (pid,) = renewers(store)
        lock.release(lease)
        wait_for_end(pid)

    def test_it_ends_when_taken_over_and_when_the_store_is_removed(self, store, sleepers):
        run = process.identify(sleepers().pid)
        lock.acquire(store, "default", "prod", replace(lock.this_holder(run), start_time=run.start_time))
        (pid,) = renewers(store)
        shutil.rmtree(store)
        wait_for_end(pid)

    def test_a_killed_one_is_started_again_with_the_lease(self, store, folder):
        lock.acquire(store, "default", "prod")
        (pid,) = renewers(store)
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
        before = count(folder, 1)
        lock.acquire(store, "default", "prod")
        wait_for_count(folder, 1, before)

    def test_for_a_process_that_is_gone_it_ends_at_once(self, store, folder):
        lock.acquire(store, "default", "prod", lock.this_holder(Process(os.getpid(), 1)))
        for pid in renewers(store):
            wait_for_end(pid)
        assert count(folder, 1) == 0


def test_a_run_that_is_killed_leaves_a_lock_that_is_taken_at_once(store, python):
    run = python.start(HOLD, store)
    assert run.stdout.readline() == "1\n"
    with pytest.raises(lock.Held, match=f"process {run.pid}"):
        lock.acquire(store, "default", "prod")
    run.kill()
    run.communicate()
    assert lock.acquire(store, "default", "prod", observe_seconds=3600).fencing == 2


def test_killed_at_any_step_of_taking_and_releasing(store, python, killed_at_step, tmp_path):
    script = """
import os
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import lock, process
me = process.identify(os.getpid())
directory = sys.argv[2]
for _ in range(2):
    lease = lock.acquire(directory, "default", "prod", lock.this_holder(me))
    print(lease.fencing, flush=True)
    lock.release(lease)
"""
    step = 0
    while True:
        step += 1
        shutil.rmtree(store, ignore_errors=True)
        done = python.run(killed_at_step + script, step, store)
        taken = [int(line) for line in done.stdout.split()]
        lease = lock.acquire(store, "default", "prod", observe_seconds=3600)
        assert lease.fencing > max(taken, default=0)
        lock.check(lease)
        leftovers = [name for _, _, files in os.walk(store) for name in files if name.startswith(".tmp-")]
        assert leftovers == []
        assert lock.release(lease) is True
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert step > 30 and taken == [1, 2]


@pytest.mark.parametrize("flock_works", [True, False])
def test_racing_runs(store, python, tmp_path, flock_works):
    # Also where a file system's locks do nothing: then exclusive creation alone must hold.
    script = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import files, lock, process
if sys.argv[3] == "False":
    files.fcntl.flock = lambda descriptor, operation: None
me = process.identify(os.getpid())
inside = sys.argv[2]
sys.stdin.readline()
done = 0
while done < 25:
    try:
        lease = lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(me))
    except lock.StoreErrors as error:
        continue
    os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
    lock.check(lease)
    print(lease.fencing, flush=True)
    os.remove(inside)
    if not lock.release(lease):
        sys.exit("not released")
    done += 1
"""
    accepted = "lock.Held" if flock_works else "(lock.LockError, lock.base.StoreError)"
    script = script.replace("lock.StoreErrors", accepted)
    runs = [python.start(script, store, tmp_path / "inside", flock_works) for _ in range(2)]
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    numbers = []
    for run in runs:
        out, err = run.communicate(timeout=180)
        assert (run.returncode, err) == (0, "")
        numbers.append([int(line) for line in out.split()])
    assert all(each == sorted(each) and len(each) == 25 for each in numbers)
    assert len(set(numbers[0]) | set(numbers[1])) == 50


# Stopped right before one of its files appears, on a file system whose locks do nothing.
STOPPED_WHILE_TAKING = """
import os, signal, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import files, lock, process
files.fcntl.flock = lambda descriptor, operation: None
def hook(event, arguments):
    if event == "os.link" and str(arguments[1]).endswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGSTOP)
me = process.identify(os.getpid())
sys.addaudithook(hook)
try:
    print(lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(me)).fencing, flush=True)
except lock.Held as error:
    print(f"held by {error.holder.pid}", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("stopped_at", ["/1.counter", "/1.json"])
def test_a_run_that_stood_still_while_taking_finds_another(store, folder, python, sleepers, stopped_at):
    run = python.start(STOPPED_WHILE_TAKING, store, stopped_at)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED)
    lock.release(lock.acquire(store, "default", "prod"))
    other = sleepers()
    lease = lock.acquire(store, "default", "prod", as_run(other))
    run.send_signal(signal.SIGCONT)
    assert run.stdout.readline() == f"held by {other.pid}\n"
    run.communicate("\n", timeout=30)
    lock.check(lease)
    assert [name for name in os.listdir(folder) if name.endswith(".json")] == ["2.json"]


@pytest.mark.parametrize("stopped_at", ["/1.counter", "/1.json"])
def test_a_run_that_stood_still_while_taking_never_gets_a_used_number(store, folder, python, stopped_at):
    run = python.start(STOPPED_WHILE_TAKING, store, stopped_at)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED)
    lock.release(lock.acquire(store, "default", "prod"))
    run.send_signal(signal.SIGCONT)
    assert run.stdout.readline() == "2\n"
    run.communicate("\n", timeout=30)
    assert sorted(name for name in os.listdir(folder) if "counter" not in name) == ["2.json"]


def test_racing_for_a_dead_runs_lock(store, python, tmp_path):
    script = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import lock, process
sys.stdin.readline()
try:
    print(lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(process.identify(os.getpid()))).fencing, flush=True)
except lock.Held:
    print("held", flush=True)
sys.stdin.readline()
"""
    for expected in range(2, 14, 2):
        lock.acquire(store, "default", "prod", lock.this_holder(gone()))
        runs = [python.start(script, store) for _ in range(3)]
        for run in runs:
            run.stdin.write("go\n")
            run.stdin.flush()
        answers = sorted(run.stdout.readline().strip() for run in runs)
        for run in runs:
            run.communicate("\n", timeout=30)
        assert answers == sorted([str(expected), "held", "held"])
