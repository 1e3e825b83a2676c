# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks that fail and processes that are killed, with real file systems and real processes."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

MACHINE = ("cluster.x-k8s.io", "Machine")

COMMON = """
import errno, os, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock as lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal
MACHINE = ("cluster.x-k8s.io", "Machine")
def machine(name, text="small"):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata, "spec": {"text": text}}
def refused(call, *words):
    try:
        call()
    except StoreError as error:
        missing = [word for word in words if word not in str(error)]
        if missing:
            sys.exit(f"{missing} not in: {error}")
        return
    sys.exit(f"not refused: {words}")
def expect(condition, said):
    if not condition:
        sys.exit(said)
"""


def test_read_only_file_system(python, tmp_path, mounts_allowed):
    script = """
folder = sys.argv[1]
path = folder + "/store"
store = FileStore(path)
kept = store.create(machine("m-1"))
journal = Journal(path, "default", "prod")
before = sorted(os.walk(path))
expect(os.system(f"mount -o remount,ro {folder}") == 0, "remount")
words = (path, "Read-only file system (EROFS)", "Nothing", "Mount that file system read-write")
refused(lambda: store.create(machine("m-2")), *words)
refused(lambda: store.update({**kept, "spec": {}}), *words)
refused(lambda: store.delete(MACHINE, "default", "m-1"), *words)
refused(lambda: journal.intent("join"), *words)
refused(lambda: lock.acquire(path, "default", "prod"), *words)
refused(lambda: FileStore(folder + "/other").create(machine("m-2")), folder + "/other", "EROFS", *words[2:])
expect(store.get(MACHINE, "default", "m-1") == kept and store.list(MACHINE) == [kept], "reading needs no writing")
expect(sorted(os.walk(path)) == before, "something was written")
"""
    done = python.run_on_tmpfs(COMMON + script, tmp_path / "disk", "1m")
    assert (done.returncode, done.stderr) == (0, "")


def test_full_file_system(python, tmp_path, mounts_allowed):
    script = """
folder = sys.argv[1]
path = folder + "/store"
store = FileStore(path)
kept = store.create(machine("m-1"))
journal = Journal(path, "default", "prod")
first = journal.intent("join", "m-1")
lease = lock.acquire(path, "default", "prod")
free = lock.acquire(path, "default", "other")
lock.release(free)
filler = os.open(folder + "/filler", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(filler, b"x" * 4096):
        pass
except OSError as error:
    expect(error.errno == errno.ENOSPC, str(error))
os.close(filler)
words = ("No space left on device (ENOSPC)", "half-written", "Free space")
big = "x" * 20000
refused(lambda: store.create(machine("m-2", big)), path, *words)
refused(lambda: store.update({**kept, "spec": {"text": big}}), path, *words)
expect(store.list(MACHINE) == [kept], "the objects are as they were")
content = open(journal.path, "rb").read()
refused(lambda: [journal.intent("join", "m-1", "", {"message": "y" * 1900}) for _ in range(10)], journal.path, "ENOSPC")
expect(open(journal.path, "rb").read().endswith(b"\\n"), "a torn line")
expect(journal.open_intents()[0]["id"] == first, "the journal is as it was")
refused(lambda: lock.acquire(path, "default", "other"), path, "ENOSPC")
expect(lock.current_holder(path, "default", "other") is None, "half a lock")
lock.check(lease)
expect(lock.release(lease), "a lock can be released on a full disk")
leftovers = [name for _, _, names in os.walk(path) for name in names if name.startswith(".tmp-")]
expect(not leftovers, str(leftovers))
os.remove(folder + "/filler")
store.create(machine("m-2", big))
journal.outcome(first, "succeeded")
expect(lock.acquire(path, "default", "prod").fencing == lease.fencing + 1, "taken again")
"""
    done = python.run_on_tmpfs(COMMON + script, tmp_path / "disk", "128k")
    assert (done.returncode, done.stderr) == (0, "")


def test_directory_of_another_user(python, tmp_path):
    if os.getuid() != 0:
        pytest.skip("becoming another user needs root")
    folder = tempfile.mkdtemp(prefix="kubeadm-control-plane-test-")
    try:
        Path(folder).chmod(0o755)
        script = """
os.seteuid(65534)
words = ("Permission denied (EACCES)", "Nothing was written", "Run as the user who owns the store")
refused(lambda: FileStore(sys.argv[1] + "/store").create(machine("m-1")), *words)
os.seteuid(0)
FileStore(sys.argv[1] + "/store").create(machine("m-1"))
os.seteuid(65534)
refused(lambda: FileStore(sys.argv[1] + "/store").get(MACHINE, "default", "m-1"), "EACCES", "Nothing was changed")
"""
        done = python.run(COMMON + script, folder)
        assert (done.returncode, done.stderr) == (0, "")
    finally:
        shutil.rmtree(folder)


def killed_at_every_step(python, killed_at_step, script, folder):
    """Yield after each kill: before the first step, the second, … until the script runs to its end."""
    with python.forks(COMMON) as forks:
        for step in range(1, 200):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            done = forks.run(killed_at_step + script, step, folder)
            if done.returncode == 0:
                assert step > 10
                return
            assert done.returncode == -signal.SIGKILL, done.stderr
            yield step
        pytest.fail("the script has no end")


def test_killed_at_any_step_of_a_write(python, killed_at_step, tmp_path):
    script = """
store = FileStore(sys.argv[2] + "/store")
created = store.create(machine("m-1"))
store.update({**created, "spec": {"text": "changed"}})
store.delete(MACHINE, "default", "m-1")
"""
    seen = set()
    for _step in killed_at_every_step(python, killed_at_step, script, tmp_path / "work"):
        store = FileStore(str(tmp_path / "work/store"))
        found = store.get(MACHINE, "default", "m-1")
        seen.add(found["spec"]["text"] if found else None)
        assert store.list(MACHINE) == ([found] if found else [])
        other = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {"name": "m-2", "namespace": "default"},
        }
        store.create(other)
        names = sorted(name for _path, _folders, files in os.walk(tmp_path / "work/store") for name in files)
        assert names == sorted([".lock", "m-2.yaml", "store.yaml", *(["m-1.yaml"] if found else [])])
    assert seen == {None, "small", "changed"}


def test_killed_at_any_step_of_the_journal(python, killed_at_step, tmp_path):
    script = """
journal = Journal(sys.argv[2] + "/store", "default", "prod", max_bytes=400)
first = journal.intent("initialize", "m-1", "run")
print(first, flush=True)
second = journal.intent("join", "m-2", "run")
journal.outcome(second, "succeeded", "x" * 300)
third = journal.intent("join", "m-3", "run")
"""
    for _step in killed_at_every_step(python, killed_at_step, script, tmp_path / "work"):
        journal = Journal(str(tmp_path / "work/store"), "default", "prod")
        targets = [entry.get("target") for entry in journal.entries() if entry["event"] == "intent"]
        assert targets == ["m-1", "m-2", "m-3"][: len(targets)]
        if len(targets) > 1:
            assert journal.open_intents()[0]["target"] == "m-1"
        last = journal.intent("join", "m-4")
        assert journal.last()["id"] == last
