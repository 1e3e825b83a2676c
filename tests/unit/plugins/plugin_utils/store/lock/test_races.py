# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a cluster when runs are killed, stand still or race for it."""

from __future__ import annotations

import os
import shutil
import signal

import pytest
from locks import HOLD, as_run, gone

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock


def test_a_run_that_is_killed_leaves_a_lock_that_is_taken_at_once(store, python):
    run = python.start(HOLD, store)
    assert run.stdout.readline() == "1\n"
    with pytest.raises(file_lock.Held, match=f"process {run.pid}"):
        file_lock.acquire(store, "default", "prod")
    run.kill()
    run.communicate()
    assert file_lock.acquire(store, "default", "prod", observe_seconds=3600).fencing == 2


@pytest.fixture(name="forks")
def _forks(python):
    """Processes that have imported the lock."""
    beginning = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
"""
    with python.forks(beginning) as forks:
        yield forks


def test_killed_at_any_step_of_taking_and_releasing(store, forks, killed_at_step):
    script = """
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
        done = forks.run(killed_at_step + script, step, store)
        taken = [int(line) for line in done.stdout.split()]
        lease = file_lock.acquire(store, "default", "prod", observe_seconds=3600)
        assert lease.fencing > max(taken, default=0)
        file_lock.check(lease)
        leftovers = [name for _path, _folders, files in os.walk(store) for name in files if name.startswith(".tmp-")]
        assert leftovers == []
        assert file_lock.release(lease) is True
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert step > 30 and taken == [1, 2]


@pytest.mark.parametrize("flock_works", [True, False])
def test_racing_runs(store, python, tmp_path, flock_works):
    # Also where a file system's locks do nothing: then exclusive creation alone must hold.
    script = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file import disk as files
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
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
    runs = [python.start(script, store, tmp_path / "inside", flock_works) for _process in range(2)]
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
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file import disk as files
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
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
    file_lock.release(file_lock.acquire(store, "default", "prod"))
    other = sleepers()
    lease = file_lock.acquire(store, "default", "prod", as_run(other))
    run.send_signal(signal.SIGCONT)
    assert run.stdout.readline() == f"held by {other.pid}\n"
    run.communicate("\n", timeout=30)
    file_lock.check(lease)
    assert [name for name in os.listdir(folder) if name.endswith(".json")] == ["2.json"]


@pytest.mark.parametrize("stopped_at", ["/1.counter", "/1.json"])
def test_a_run_that_stood_still_while_taking_never_gets_a_used_number(store, folder, python, stopped_at):
    run = python.start(STOPPED_WHILE_TAKING, store, stopped_at)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED)
    file_lock.release(file_lock.acquire(store, "default", "prod"))
    run.send_signal(signal.SIGCONT)
    assert run.stdout.readline() == "2\n"
    run.communicate("\n", timeout=30)
    assert sorted(name for name in os.listdir(folder) if "counter" not in name) == ["2.json"]


# Stopped when it has seen that it holds the lock, before it has the store's own lock.
STOPPED_WHILE_RAISING = """
import os, signal, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
lease = lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(process.identify(os.getpid())))
stops = [signal.SIGSTOP]
def hook(event, arguments):
    if event == "fcntl.flock" and stops:
        os.kill(os.getpid(), stops.pop())
sys.addaudithook(hook)
try:
    lock.raise_fencing(lease, 41)
except lock.LockError as error:
    print(type(error).__name__, error, flush=True)
"""


def test_a_run_that_stood_still_while_raising_its_number_has_lost(store, folder, python, sleepers):
    run = python.start(STOPPED_WHILE_RAISING, store)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED)
    file_lock.release(file_lock.Lease(store, "default", "prod", 1, ""))
    other = sleepers()
    lease = file_lock.acquire(store, "default", "prod", as_run(other))
    run.send_signal(signal.SIGCONT)
    said, failed = run.communicate(timeout=30)
    assert said.startswith("LostLock ") and f"process {other.pid}" in said, failed
    file_lock.check(lease)
    assert [name for name in os.listdir(folder) if name.endswith(".json")] == ["2.json"]


def test_racing_for_a_dead_runs_lock(store, python, tmp_path):
    script = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
sys.stdin.readline()
try:
    print(lock.acquire(sys.argv[1], "default", "prod", lock.this_holder(process.identify(os.getpid()))).fencing, flush=True)
except lock.Held:
    print("held", flush=True)
sys.stdin.readline()
"""
    for expected in range(2, 14, 2):
        file_lock.acquire(store, "default", "prod", file_lock.this_holder(gone()))
        runs = [python.start(script, store) for _process in range(3)]
        for run in runs:
            run.stdin.write("go\n")
            run.stdin.flush()
        answers = sorted(run.stdout.readline().strip() for run in runs)
        for run in runs:
            run.communicate("\n", timeout=30)
        assert answers == sorted([str(expected), "held", "held"])
