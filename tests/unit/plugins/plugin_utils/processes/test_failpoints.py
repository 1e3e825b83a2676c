# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Points that a run passes: nothing while off, a trace, and real processes stopped dead at them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from killed_runs import Group, hierarchies

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import failpoints
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.failpoints import (
    around,
    failpoint,
    site_of,
    within,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock

PLUGINS = Path(failpoints.__file__).resolve().parents[2]
# Four points; beside it a child in a session of its own, as Ansible's workers and modules have one. Says how far it came.
RUN = """
import os, subprocess, sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.failpoints import failpoint
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
child = subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet)
print("child", child.pid, flush=True)
for number in range(4):
    failpoint(f"before node module_{number}")
    print("did", number, flush=True)
child.kill()
"""
# The main process waits for a worker of the same command line, which passes a point.
FORKING = """
import os, sys, time
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.failpoints import failpoint
worker = os.fork()
if worker == 0:
    failpoint("before node one")
    failpoint("before node two")
    os.rename(sys.argv[1], sys.argv[1] + ".done")
    os._exit(0)
os.waitpid(worker, 0)
"""
MACHINE = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Machine",
    "metadata": {"name": "m-1", "namespace": "default"},
    "spec": {},
}


class Runs:
    """Processes with failpoints on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trace = folder / "trace"
        self.setting = folder / "setting.json"

    def set(self, **stop: t.Any) -> Path:
        """Write the setting; without ``stop`` it only traces."""
        self.setting.write_text(json.dumps({"trace": str(self.trace), **({"stop": stop} if stop else {})}))
        return self.setting

    def run(self, code: str, *arguments: str, group: t.Optional[Group] = None) -> subprocess.CompletedProcess[str]:
        """Run Python code to its end."""
        command = [sys.executable, "-c", code, *arguments]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            failpoints.VARIABLE: str(self.setting),
        }
        return subprocess.run(
            group.command(command) if group else command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )

    def names(self) -> list[str]:
        """The points in the trace."""
        return [line.split(" ", 2)[2] for line in self.trace.read_text().splitlines()]

    def stopped(self) -> str:
        """Where it was stopped."""
        return Path(f"{self.trace}.stopped").read_text()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
def on(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Traced in this process, which has passed no point yet."""
    monkeypatch.setattr(failpoints, "_place", type(failpoints._place)())
    monkeypatch.setenv(failpoints.VARIABLE, str(runs.set()))
    return runs


@pytest.fixture(params=["v2", "v1"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[Group]:
    """A control group of each version that this host has: only v2 can kill one as a whole by itself."""
    is_v2 = request.param == "v2"
    parents = [each for each in hierarchies() if (each / "cgroup.controllers").exists() == is_v2]
    made = Group(f"kubeadm-control-plane-test-{os.getpid()}-{tmp_path.name}", parents)
    if made.path is None:
        pytest.skip(f"this host has no cgroup {request.param}, or this user can't make a group")
    yield made
    made.remove()


def ended(pid: int) -> bool:
    """Whether a process has ended, also where nobody has taken note of that yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def gone(pid: int) -> bool:
    """The same, within a moment: killing takes one."""
    end = time.monotonic() + 20
    while not ended(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return ended(pid)


def test_off_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a name is looked at, and store, journal and lock write what they write without them."""
    monkeypatch.delenv(failpoints.VARIABLE, raising=False)
    failpoint("nonsense")
    with within("join"), around("nonsense"):
        pass
    FileStore(str(tmp_path / "store")).create(MACHINE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_the_trace_names_step_action_and_repeats(on: Runs, tmp_path: Path) -> None:
    """What a point is about, and where in a run it is."""
    failpoint("before lock take")
    journal = Journal(str(tmp_path / "store"), "default", "prod")
    with within("decide"):
        identifier = journal.intent("join", "m-1")
    with within("machine_bootstrap"):
        for _call in range(4):
            failpoint("before node node_bootstrap")
    journal.outcome(identifier, "succeeded")
    failpoint("after task machine_acme: Make the machine")
    assert on.names() == [
        "before lock take",
        "decide: before action",
        "decide: before journal intent join",
        "decide: after journal intent join",
        "join > decide: after action",
        "join > machine_bootstrap: before action",
        "join > machine_bootstrap: before node node_bootstrap",
        "join > machine_bootstrap: before node node_bootstrap (2)",
        "join > machine_bootstrap: before node node_bootstrap (3+)",
        "join > machine_bootstrap: before node node_bootstrap (3+)",
        "join > machine_bootstrap: after action",
        "join > before journal outcome succeeded",
        "join > after journal outcome succeeded",
        "after task machine_acme: Make the machine",
    ]
    assert {site_of(each)[1] for each in on.names()} <= set(failpoints.SITES)


def test_store_and_lock_pass_points(on: Runs, tmp_path: Path) -> None:
    """Around every change of a file, and none where nothing is written."""
    store = FileStore(str(tmp_path / "store"))
    kept = store.create(MACHINE)
    store.update(kept)
    store.delete(("cluster.x-k8s.io", "Machine"), "default", "m-1")
    file_lock.release(file_lock.acquire(str(tmp_path / "store"), "default", "prod"))
    expected = ("store write Machine", "store remove Machine", "lock take", "lock release")
    assert on.names() == [f"{when} {what}" for what in expected for when in ("before", "after")]


def test_what_fails_passes_its_point_too(on: Runs) -> None:
    """A run can die after a failure as well."""
    with pytest.raises(RuntimeError), within("join"):
        raise RuntimeError
    assert on.names() == ["join: before action", "join: after action"]


@pytest.mark.parametrize(
    "name", ["", "node x", "before", "before x", "between node x", "before nodes x", "x: y: before node z"]
)
def test_a_name_of_no_site_is_refused(on: Runs, name: str) -> None:
    with pytest.raises(ValueError, match="is no failpoint"):
        failpoint(name)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"trace": 1}', '{"trace": "x", "stop": "y"}'])
def test_a_setting_that_cannot_be_read_is_named(runs: Runs, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    """A test whose setting is wrong must not look as if it had stopped something."""
    runs.setting.write_text(content)
    monkeypatch.setenv(failpoints.VARIABLE, str(runs.setting))
    with pytest.raises(ValueError, match=f"{failpoints.VARIABLE}={re.escape(str(runs.setting))}"):
        failpoint("before node x")


@pytest.mark.parametrize(
    ("stop", "point", "did"),
    [
        ({"at": 1}, 0, []),
        ({"at": 3}, 2, [0, 1]),
        ({"at": "before node module_1"}, 1, [0]),
        ({"at": None}, 0, []),
        ({"at": None, "except": ["before node module_0", "before node module_1"]}, 2, [0, 1]),
        ({"at": None, "only": "module_[23]"}, 2, [0, 1]),
        ({"at": None, "only": "module_[23]", "except": ["before node module_2"]}, 3, [0, 1, 2]),
    ],
)
def test_a_run_is_killed_with_its_children(runs: Runs, stop: dict[str, t.Any], point: int, did: list[int]) -> None:
    """Nothing after the point happens, and what runs in a session of its own dies too."""
    runs.set(how="kill", **stop)
    done = runs.run(RUN)
    assert done.returncode == -signal.SIGKILL
    first, *rest = done.stdout.splitlines()
    assert rest == [f"did {number}" for number in did]
    assert runs.stopped() == runs.names()[-1] == f"before node module_{point}"
    assert gone(int(first.split()[1]))


def test_a_point_that_is_not_met_stops_nothing(runs: Runs) -> None:
    runs.set(how="kill", at="before node module_9")
    assert runs.run(RUN).returncode == 0 and len(runs.names()) == 4
    assert not Path(f"{runs.trace}.stopped").exists()


def test_an_unknown_way_to_stop_is_an_error(runs: Runs) -> None:
    runs.set(how="gently", at=1)
    assert runs.run(FORKING, "").returncode == 0
    assert "before node two" not in runs.names()


def test_a_control_group_is_killed_as_a_whole(runs: Runs, group: Group) -> None:
    """Also what made itself a child of no one; what a host runs as a service is spared, and moved out."""
    more = """
subprocess.run(["setsid", "-f", "sleep", "601"], **quiet)
spared = subprocess.Popen(["tail", "-f", "/dev/null"], **quiet).pid
# Popen returns before the kernel has given the process its new name.
while open(f"/proc/{spared}/comm").read() != "tail\\n":
    pass
print("spared", spared, flush=True)
for number"""
    code = RUN.replace("for number", more, 1)
    runs.set(how="kill", at=2, cgroup=str(group.path), spare=["tail"])
    done = runs.run(code, group=group)
    assert done.returncode == -signal.SIGKILL
    pids = {name: int(pid) for name, pid in (line.split() for line in done.stdout.splitlines() if "did" not in line)}
    try:
        assert gone(pids["child"])
        group.wait_empty()
        assert not ended(pids["spared"])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pids["spared"], signal.SIGKILL)


def test_only_the_main_process_is_killed(runs: Runs) -> None:
    """Its worker goes on to its end, past points at which it would be stopped again."""
    runs.set(how="kill-main", at=None)
    left = runs.folder / "left"
    left.touch()
    assert runs.run(FORKING, str(left)).returncode == -signal.SIGKILL
    end = time.monotonic() + 20
    while left.exists():
        assert time.monotonic() < end, "the worker did not go on"
        time.sleep(0.01)
    assert runs.stopped() == "before node one" and runs.names() == ["before node one", "before node two"]


def test_the_main_process_is_asked_to_end(runs: Runs) -> None:
    """SIGTERM reaches the run's main process and not the one that met the point."""
    runs.set(how="terminate", at=2)
    left = runs.folder / "left"
    left.touch()
    done = runs.run(FORKING.replace("os.waitpid", "print('main', os.getpid(), flush=True)\nos.waitpid"), str(left))
    assert done.returncode == -signal.SIGTERM
    assert runs.stopped() == "before node two"


def test_every_site_is_passed_somewhere() -> None:
    """A site that nothing passes would be a promise; one that isn't known can't be passed at all. Tasks are the callback's."""
    found = set()
    for path in PLUGINS.rglob("*.py"):
        if path.name != "failpoints.py":
            found.update(re.findall(r"\b(?:around|failpoint)\(f?\"((?:before |after )?[^\"]*)\"", path.read_text()))
        if "failpoints.within(" in path.read_text():
            found.add("action")
    sites = {site_of(each if each.startswith(("before ", "after ")) else f"before {each}")[1] for each in found}
    assert sites == set(failpoints.SITES) - {"task"}
