# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program on the controller that never outlives who runs it, nor its right to: real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import bound

# Says who it is and whom it started, in a file and on its output, then lasts; what it started heeds no SIGTERM and is no part of its session.
LASTING = """
import os, subprocess, sys, time
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
print("begun", sys.argv[1:], flush=True)
with open(sys.argv[1] + ".new", "w") as stream:
    stream.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""
SHORT = "import sys; print('said', sys.argv[1:]); print('wrong', file=sys.stderr); sys.exit(3)"
BOUND_SECONDS = 60.0


class Lost(Exception):
    """The right to go on is lost."""


@pytest.fixture(name="environment")
def _environment(tmp_path: Path) -> dict[str, str]:
    """One that finds the programs."""
    (tmp_path / "lasting.py").write_text(LASTING)
    (tmp_path / "short.py").write_text(SHORT)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def always() -> None:
    """It may go on."""


def until(true: t.Callable[[], bool]) -> None:
    """Wait for something that comes true by itself."""
    end = time.monotonic() + BOUND_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def running(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not fetched does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pids(note: Path) -> list[int]:
    """The program's number, and that of what it started."""
    return [int(each) for each in note.read_text().split()]


def test_its_status_and_all_of_its_output(environment: dict[str, str]) -> None:
    status, output = bound.run("short", ["a", "-b"], environment, 60, always)
    assert status == 3 and sorted(output.decode().splitlines()) == ["said ['a', '-b']", "wrong"]


def test_what_lasts_too_long_is_ended(environment: dict[str, str], tmp_path: Path) -> None:
    assert bound.run("lasting", [str(tmp_path / "note")], environment, 0.01, always)[0] == 124


def test_it_ends_with_all_that_it_started_once_it_may_not_go_on(environment: dict[str, str], tmp_path: Path) -> None:
    note = tmp_path / "note"

    def may_go_on() -> None:
        if note.exists():
            raise Lost

    with pytest.raises(Lost):
        bound.run("lasting", [str(note)], environment, BOUND_SECONDS, may_go_on)
    assert not any(running(pid) for pid in pids(note))


def test_it_ends_with_who_runs_it(environment: dict[str, str], tmp_path: Path) -> None:
    """Killed outright, so that nobody is left who could end it."""
    note = tmp_path / "note"
    module = bound.__name__
    text = f"import sys, os\nfrom {module} import run\nrun('lasting', [sys.argv[1]], os.environ, 600, lambda: None)"
    parent = subprocess.Popen([sys.executable, "-c", text, str(note)], env=environment)
    try:
        until(lambda: note.exists() or parent.poll() is not None)
        program, child = pids(note)
        assert running(program)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        until(lambda: not running(program))
        os.kill(child, signal.SIGKILL)
    finally:
        parent.kill()
        parent.wait()
