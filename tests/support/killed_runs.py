# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a playbook that are stopped dead at their points, one after another, until one comes through (docs/development.md, "Failpoints").

A run is killed as a whole: it is a control group of its own where this user may make one, else its process tree.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import recovery
from workspace import Run, Workspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import failpoints
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.identity import (
    is_stopped as process_is_stopped,
)

# What an entry of the journal, a call of a machine, and a provider's task leave behind them.
OUTWARD = r"after (journal|node|task)"
CALLBACKS = Path(__file__).resolve().parent / "callbacks"
MOUNT = Path("/sys/fs/cgroup")
END_SECONDS = 30.0
# No run on any lab takes as long: it hangs.
BOUND_SECONDS = 1800
# On a real host these are services of the system, which no run takes with it.
SPARED = ("haproxy",)


@dataclasses.dataclass(frozen=True)
class Stop:
    """One run: where it was stopped (empty: it came to its end), how it ended, when it began, how long it took, how many points it passed."""

    number: int
    how: str
    point: str
    returncode: int
    begun: float
    seconds: float
    passed: int


@dataclasses.dataclass
class Record:
    """All runs until one came through, and what every one of them met."""

    stops: list[Stop]
    last: Run
    met: list[str]
    folder: Path

    @property
    def points(self) -> list[str]:
        """The points at which a run was stopped, in their order."""
        return [each.point for each in self.stops if each.point]

    def missed(self, only: str) -> list[str]:
        """The points that any run met, at which one may be stopped and none was."""
        return [point for point in self.met if re.search(only, point) and point not in self.points]

    @property
    def failures(self) -> list[str]:
        """What runs met that failed by themselves, before they were stopped or in the end."""
        return [point for point in self.met if "failure_report:" in point]

    @property
    def seconds(self) -> float:
        """How long all runs took together."""
        return sum(each.seconds for each in self.stops)

    def costs(self, usual: t.Mapping[str, float]) -> list[tuple[float, str]]:
        """What each kill cost in seconds, and where it was, the dearest first; ``usual`` is an undisturbed run's (recovery.py)."""
        found = []
        for one, two in zip(self.stops, self.stops[1:]):
            passed = recovery.parse(_read(self.folder / f"trace-{two.number}"))
            found.append((recovery.cost(one.point, two.begun, passed, two.begun + two.seconds, usual), one.point))
        return sorted(found, reverse=True)


class Group:
    """A control group for one run, in the first of ``parents`` that takes one; ``path`` is None where none does."""

    def __init__(self, name: str, parents: t.Optional[t.Sequence[Path]] = None) -> None:
        self.path: t.Optional[Path] = None
        for parent in parents if parents is not None else hierarchies():
            with contextlib.suppress(OSError):
                (parent / name).mkdir()
                self.path = parent / name
                return

    def command(self, command: t.Sequence[str]) -> list[str]:
        """The command line that joins the group first."""
        if self.path is None:
            return list(command)
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs"), *command]

    def members(self) -> list[int]:
        """The processes in it."""
        if self.path is None or not self.path.is_dir():
            return []
        return [int(line) for line in (self.path / "cgroup.procs").read_text().split()]

    def kill(self) -> None:
        """End whatever is in it."""
        if self.path is not None and self.path.is_dir():
            failpoints.kill_group(str(self.path), SPARED)

    def wait_empty(self) -> None:
        """Wait until the last process has ended; a killed one takes a moment to go."""
        end = time.monotonic() + END_SECONDS
        while self.members():
            assert time.monotonic() < end, f"processes {self.members()} of the run outlive it"
            time.sleep(0.02)

    def remove(self) -> None:
        """Kill what is left, and remove it."""
        self.kill()
        self.wait_empty()
        end = time.monotonic() + END_SECONDS
        while self.path is not None and self.path.is_dir():
            try:
                self.path.rmdir()
            except OSError:
                # Busy until the last process has been reaped by whoever started it.
                assert time.monotonic() < end, f"{self.path} can't be removed"
                time.sleep(0.02)


def hierarchies() -> list[Path]:
    """Where groups can be: cgroup v2, the v2 part of a hybrid, or a controller of v1."""
    if (MOUNT / "cgroup.controllers").exists():
        return [MOUNT]
    return [path for path in (MOUNT / "unified", MOUNT / "freezer", MOUNT / "pids") if (path / "cgroup.procs").exists()]


class KilledRuns:
    """Runs one playbook of a workspace again and again.

    Args:
        workspace: the user's folder.
        command: what is run there, as ``Workspace.command`` makes it.
        folder: where traces, outputs and the record (``record.jsonl``) are kept.
        how: ``kill``, ``kill-main`` (the rest of the run goes on), ``terminate``, or ``stop`` (stopped_runs.py).
        only: a regular expression: at which points a run may be stopped.
        on_stop: called after each run that was stopped, with it.
    """

    def __init__(
        self,
        workspace: Workspace,
        command: t.Sequence[str],
        folder: Path,
        how: str = "kill",
        only: str = "",
        on_stop: t.Optional[t.Callable[[Stop], None]] = None,
    ) -> None:
        self._workspace = workspace
        self._command = list(command)
        self._folder = folder
        self._how = how
        self._only = only
        self._on_stop = on_stop
        self._groups: list[Group] = []
        self._number = 0
        self._met: dict[str, None] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def until_converged(
        self, converged: t.Callable[[Run], bool] = lambda run: run.returncode == 0, most: int = 400
    ) -> Record:
        """Stop every run at its first point at which none was stopped before, until one isn't stopped; that one must have converged."""
        stops: list[Stop] = []
        try:
            while len(stops) < most:
                stop, run = self._run({"at": None, "only": self._only, "except": [each.point for each in stops]})
                stops.append(stop)
                if not stop.point:
                    assert converged(run), (
                        f"run {stop.number} was not stopped and did not converge:\n{run.output[-6000:]}"
                    )
                    return Record(stops, run, list(self._met), self._folder)
            raise AssertionError(f"not converged after {most} runs: {[each.point for each in stops][-10:]}")
        finally:
            self.end()

    def stopped_at(self, at: t.Union[int, str]) -> tuple[Stop, Run]:
        """One run that is stopped at the point of that number or name, if it meets it."""
        return self._run({"at": at})

    def stopped_at_first(self) -> tuple[Stop, Run]:
        """One run that is stopped at the first point that it may be stopped at."""
        try:
            return self._run({"at": None, "only": self._only})
        finally:
            self.end()

    def undisturbed(self) -> tuple[list[str], float, Run]:
        """One run that isn't stopped; return the points that it met in their order, its seconds, and what it printed."""
        try:
            stop, run = self._run(None)
        finally:
            self.end()
        return trace(self._folder / f"trace-{self._number}"), stop.seconds, run

    @property
    def coming_trace(self) -> Path:
        """The trace of the next run, which may be read while that goes on."""
        return self._folder / f"trace-{self._number + 1}"

    def end(self) -> None:
        """End what stopped runs left running, and remove their groups."""
        with contextlib.ExitStack() as stack:
            # One that can't be removed keeps no other from it.
            for group in self._groups:
                stack.callback(group.remove)
            self._groups = []

    def _run(self, stop: t.Optional[dict[str, t.Any]]) -> tuple[Stop, Run]:
        begun = self._begin(stop)
        try:
            begun.process.wait(timeout=BOUND_SECONDS)
        except BaseException:
            # It hangs, or whoever waits for it was interrupted.
            begun.kill()
            raise
        return self._ended(begun)

    def _begin(self, stop: t.Optional[dict[str, t.Any]]) -> Begun:
        self._number += 1
        group = Group(f"kubeadm-control-plane-run-{os.getpid()}-{id(self)}-{self._number}")
        self._groups.append(group)
        trace_file = self._folder / f"trace-{self._number}"
        setting: dict[str, t.Any] = {"trace": str(trace_file)}
        if stop is not None:
            setting["stop"] = {"how": self._how, **stop, **_group_setting(group)}
        setting_file = self._folder / f"setting-{self._number}.json"
        setting_file.write_text(json.dumps(setting))
        began, begun = time.time(), time.monotonic()
        output = self._folder / f"output-{self._number}"
        with output.open("w") as stream:
            process = subprocess.Popen(
                group.command(self._command),
                cwd=self._workspace.folder,
                env={**os.environ, **environment(setting_file)},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Begun(self._number, group, process, trace_file, output, began, begun)

    def _ended(self, begun: Begun) -> tuple[Stop, Run]:
        returncode = begun.process.returncode
        seconds = round(time.monotonic() - begun.begun, 2)
        if begun.point and self._how == "kill":
            # Killed as a whole: nothing of it may still be at work when the next one begins.
            begun.group.wait_empty()
            begun.group.remove()
        passed = trace(begun.trace)
        # Of a run whose main process alone is killed, and of one that ends in an orderly way, what comes after is stopped nowhere.
        self._met.update(dict.fromkeys(passed[: passed.index(begun.point) + 1] if begun.point in passed else passed))
        done = Stop(begun.number, self._how, begun.point, returncode, round(begun.began, 3), seconds, len(passed))
        with (self._folder / "record.jsonl").open("a") as record:
            record.write(json.dumps(dataclasses.asdict(done)) + "\n")
        run = Run(returncode, _read(begun.output))
        if begun.point and self._how != "stop":
            assert returncode != 0, f"the run was stopped at {begun.point!r} and ended well:\n{run.output[-3000:]}"
            if self._on_stop is not None:
                self._on_stop(done)
        return done, run


@dataclasses.dataclass
class Begun:
    """A run under way."""

    number: int
    group: Group
    process: subprocess.Popen[bytes]
    trace: Path
    output: Path
    began: float
    begun: float

    @property
    def point(self) -> str:
        """Where it was stopped, empty where it wasn't."""
        return _read(Path(f"{self.trace}.stopped"))

    def until_stopped(self) -> bool:
        """Wait until nothing of it runs any more; tell whether it was stopped, and did not come to its end."""
        end = time.monotonic() + BOUND_SECONDS
        while self.process.poll() is None:
            if self.point and all(map(process_is_stopped, self.group.members())):
                return True
            assert time.monotonic() < end, _read(self.output)[-3000:]
            time.sleep(0.05)
        return False

    def wake(self) -> None:
        """Have it go on where it stands, to its end."""
        for pid in self.group.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.wait(timeout=BOUND_SECONDS)

    def kill(self) -> None:
        """End it."""
        self.group.kill()
        self.process.kill()
        self.process.wait()


def _group_setting(group: Group) -> dict[str, t.Any]:
    return {"cgroup": str(group.path), "spare": list(SPARED)} if group.path is not None else {}


def environment(setting: Path) -> dict[str, str]:
    """What switches failpoints on for a command: the setting, and the callback that makes points of tasks."""
    return {
        failpoints.VARIABLE: str(setting),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "passed_tasks",
    }


def trace(path: Path) -> list[str]:
    """The names of the points in a trace, in their order."""
    return [line.split(" ", 2)[2] for line in _read(path).splitlines()]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def locks_held(store: Path) -> list[str]:
    """The clusters of a store whose lock is not released, by the lock's own files."""
    held = []
    for folder in sorted(store.glob("*/locks/*")):
        numbers = [path for path in folder.iterdir() if path.suffix in (".json", ".released") and path.stem.isdigit()]
        newest = max(numbers, key=lambda path: (int(path.stem), path.suffix == ".released"), default=None)
        if newest is not None and newest.suffix == ".json":
            held.append(f"{folder.parent.parent.name}/{folder.name}")
    return held


def orphans(workspace: Workspace, infrastructure_kind: str) -> list[str]:
    """Objects of machines that lack a part: a Machine without infrastructure or KubeadmConfig, or either without a Machine.

    An infrastructure machine that was made ahead of its turn counts: when a run has converged none is left.
    """
    kinds = ("Machine", "KubeadmConfig", infrastructure_kind)
    names = {kind: {each["metadata"]["name"] for each in workspace.objects(kind)} for kind in kinds}
    everyone = set().union(*names.values())
    return sorted(f"{name} without {kind}" for name in everyone for kind in kinds if name not in names[kind])


def under_way(store: Path, cluster: str, namespace: str = "default") -> list[str]:
    """The journal's steps that have no outcome."""
    entries = [json.loads(line) for line in _read(store / namespace / "journal" / f"{cluster}.jsonl").splitlines()]
    ended = {each["id"] for each in entries if each["event"] == "outcome"}
    return [each["action"] for each in entries if each["event"] == "intent" and each["id"] not in ended]
