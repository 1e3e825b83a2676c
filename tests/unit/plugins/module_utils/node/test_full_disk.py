# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that can't keep a run's number, on small file systems that are really full or read-only."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from bootstrap_places import places_with_kubeadm
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import guard
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import Fenced, NodeError, Unwritable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd import certificates_dir
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import (
    Bootstrap,
    Places,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import claim
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.claim import Claim, Release, Run
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.fitness import Wanted
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.task_unit import TaskUnit

MINE = Claim("id-1", "prod", "default", "prod-1", "aaaa", "2026-01-01T00:00:00Z")
UNIT = "kubeadm-control-plane-step-1.service"
# A module that writes a file of its own, as those do that have no words for it themselves.
WRITES = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError, write_atomically
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.module import NodeModule
module = NodeModule({"path": {"type": "str"}})
with module.failing(NodeError):
    write_atomically(module.params["path"], b"x" * 100)
"""


class Disk:
    """A file system of its own in a folder, whose state folder is there already."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self._folder = folder
        self._mount("size=64k")
        self.state.mkdir()

    def _mount(self, options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self._folder)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("mounting a file system of its own needs root")

    def fill(self) -> None:
        """Leave no room on it."""
        with pytest.raises(OSError, match="No space left"), (self._folder / "logs").open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass

    def free(self) -> None:
        """Delete what has filled it."""
        (self._folder / "logs").unlink()

    def lock(self) -> None:
        """Let nothing be written any more."""
        self._mount("remount,ro")

    def end(self) -> None:
        """Take it away."""
        subprocess.run(["umount", str(self._folder)], check=True)

    def number(self, name: str = "fencing") -> str:
        """Number that is kept in a file."""
        path = self.state / name
        return path.read_text().strip() if path.exists() else ""


@pytest.fixture
def disk(tmp_path: Path) -> t.Iterator[Disk]:
    """One with a number, a claim and room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = Disk(folder)
    guard.require_fencing(5, str(made.state))
    (made.state / "claim.json").write_text(json.dumps(MINE.document()))
    (made.state / "clusters").mkdir()
    (made.state / "clusters" / "uid-1").write_text("5\n")
    yield made
    made.end()


@pytest.mark.parametrize(("how", "said"), [("fill", "No space left on device.*df -h"), ("lock", "Read-only.*findmnt")])
def test_a_higher_number_is_refused_in_words_and_a_lower_one_all_the_same(disk: Disk, how: str, said: str) -> None:
    state = str(disk.state)
    getattr(disk, how)()
    with pytest.raises(Unwritable, match=said):
        guard.require_fencing(6, state)
    with pytest.raises(Fenced, match="number is 4, but this machine has seen a run with number 5"):
        guard.require_fencing(4, state)
    guard.require_fencing(6, state, keep=False)
    with pytest.raises(Fenced):
        guard.require_fencing(4, state, keep=False)
    assert disk.number() == "5"


class Undo:
    """Stands in for kubeadm reset: makes room, or makes none."""

    def __init__(self, *steps: t.Callable[[], None]) -> None:
        self.steps = steps
        self.calls = 0

    def __call__(self, **_options: t.Any) -> bool:
        self.calls += 1
        for step in self.steps:
            step()
        return True


def release(disk: Disk, undo: Undo, number: int) -> tuple[bool, str]:
    """Release the host from its machine, as the run of that number."""
    run = Run("uid-1", number)
    return claim.release(
        Release("id-1", "prod-1"), check=False, places=places(disk), undo=undo, leave=lambda check: not check, run=run
    )


def places(disk: Disk) -> HostPlaces:
    """A host with its state on that disk, and nothing that runs."""
    base = disk.state.parent.parent
    (base / "proc").mkdir(exist_ok=True)
    node = Places(state=str(disk.state), kubernetes=str(base / "kubernetes"), etcd_data=str(base / "etcd"))
    return HostPlaces(node=node, proc=str(base / "proc"), kubelet_state=str(base / "kubelet"))


def test_a_full_host_is_released_and_the_number_kept_once_there_is_room(disk: Disk) -> None:
    """An older run that wakes after that claims it for nothing."""
    disk.fill()
    undo = Undo(disk.free)
    with pytest.raises(Fenced):
        release(disk, undo, 4)
    assert undo.calls == 0
    assert release(disk, undo, 6) == (True, "the host was reset and released")
    assert (disk.number("clusters/uid-1"), disk.number(), (disk.state / "claim.json").exists()) == ("6", "", False)
    with pytest.raises(Fenced):
        claim.claim(MINE, Wanted("v1.20.2"), check=False, places=places(disk), run=Run("uid-1", 5))


def test_a_host_that_stays_full_keeps_its_claim(disk: Disk) -> None:
    """Without the number an older run could claim it again; also where nothing is there to be reset."""
    disk.fill()
    undo = Undo()
    with pytest.raises(Unwritable, match=r"clusters/uid-1 can't be written: No space left.*df -h"):
        release(disk, undo, 6)
    assert undo.calls == 1 and (disk.state / "claim.json").exists() and disk.number("clusters/uid-1") == "5"
    (disk.state / "claim.json").unlink()
    disk.fill()
    with pytest.raises(Unwritable):
        release(disk, undo, 6)
    disk.free()
    assert release(disk, undo, 6) == (False, "nothing of the machine was left on the host")
    assert disk.number("clusters/uid-1") == "6"


def test_nothing_is_done_on_a_host_that_is_read_only(disk: Disk) -> None:
    """A reset could delete nothing there."""
    disk.lock()
    undo = Undo()
    with pytest.raises(Unwritable, match=r"lock can't be written: Read-only file system.*findmnt"):
        release(disk, undo, 6)
    assert undo.calls == 0


def test_a_note_of_the_bootstrap_needs_no_room_when_the_host_is_reset(disk: Disk) -> None:
    state = str(disk.state)
    certificates_dir.keep_note("/etc/kubernetes", state, "/srv/pki")
    disk.fill()
    certificates_dir.keep_note("/etc/kubernetes", state, "/srv/pki")
    assert disk.number("certificates-dir") == "/srv/pki"
    with pytest.raises(OSError, match="No space left"):
        certificates_dir.keep_note("/etc/kubernetes", state, "/srv/other")


def started(disk: Disk, systemd: StandInSystemd, body: str, *before: str) -> Bootstrap:
    """Start a bootstrap whose kubeadm does that, after such commands, and wait for its end."""
    base = disk.state.parent.parent
    where = replace(places_with_kubeadm(base), state=str(disk.state))
    Path(where.kubeadm).write_text(f"#!/bin/sh\n[ $1 != version ] || exec echo v1.20.2\n{body}\n")
    config = f"{where.kubeadm_run}/kubeadm.yaml"
    given = {
        "kind": "init",
        "kubeadmVersion": "v1.20.2",
        "config": "a: b\n",
        "kubeadmArgs": ["init", "--config", config],
    }
    bootstrap = Bootstrap(where, systemd)
    bootstrap.start("step-1", {**given, "preKubeadmCommands": list(before)})
    systemd.processes[UNIT].wait()
    return bootstrap


def test_the_success_of_a_bootstrap_needs_no_room(disk: Disk, systemd: StandInSystemd) -> None:
    """It is stored by the first call that can."""
    bootstrap = started(disk, systemd, "exit 0")
    disk.fill()
    assert bootstrap.wait(0).state == "Succeeded"
    assert json.loads(Path(bootstrap.places.record).read_text())["state"] == "Started"
    disk.free()
    assert bootstrap.wait(0).finished_at
    assert json.loads(Path(bootstrap.places.record).read_text())["state"] == "Succeeded"


@pytest.mark.parametrize(("code", "ends"), [(0, "Succeeded"), (3, "Failed")])
def test_how_kubeadm_ended_is_known_where_it_left_no_room(
    disk: Disk, systemd: StandInSystemd, code: int, ends: str
) -> None:
    """Others take at once whatever becomes free. That it has begun is known, whatever was lost."""
    bootstrap = started(disk, systemd, f"exit {code}", f"sync() {{ cat /dev/zero >> {disk.state.parent}/logs; }}")
    if not code:
        # As systemd unloads a unit that has succeeded.
        del systemd.processes[UNIT]
    assert bootstrap.wait(0).state == ends
    Path(bootstrap.places.work, "stage").write_text("")
    assert bootstrap.look().state == "Failed"


def test_a_command_whose_start_can_not_be_noted_is_not_run(disk: Disk, systemd: StandInSystemd) -> None:
    """The next call would run it a second time."""

    def fills(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if words[0] == "systemd-run":
            disk.fill()
        return systemd(words)

    mark = disk.state.parent.parent / "mark"
    argv = ["sh", "-c", f"echo x >> {mark}"]
    task = TaskUnit("one", str(disk.state), fills)
    with pytest.raises(NodeError, match="left nothing"):
        task.run(argv, timeout=30, wait=2)
    assert not mark.exists()


def test_a_module_says_what_it_had_no_room_for(disk: Disk) -> None:
    disk.fill()
    path = disk.state / "new"
    done = subprocess.run(
        [sys.executable, "-c", WRITES],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": {"path": str(path)}}),
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(done.stdout)["msg"]
    assert said.startswith(f"{path}: No space left on device.") and f"df -h {disk.state}" in said, said
