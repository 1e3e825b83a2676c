# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failpoints: points at which a test stops a run (docs/development.md, "Failpoints").

The tests check that nothing is lost.

Every write of the store, journal entry, taking and release of the lock, call of a module on a node, and action passes here. Off, a point
costs one look at the environment. ``KUBEADM_CONTROL_PLANE_FAILPOINTS`` names a JSON file that switches them on::

    {"trace": FILE, "stop": {"how": "kill" | "kill-main" | "terminate" | "stop", "at": NUMBER | NAME | null,
                             "only": REGEX, "except": [NAME, …], "cgroup": FOLDER, "spare": [COMMAND, …]}}

Each point's name is added to the trace. With ``stop`` the run ends at the NUMBER-th point of the trace, at the point of that NAME, or at
the first one that ``only`` matches and ``except`` doesn't have; once for each trace, whose point is then in ``FILE.stopped``.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import time
import typing as t

from ...module_utils.common import settings
from . import identity

VARIABLE = "KUBEADM_CONTROL_PLANE_FAILPOINTS"
# What a point is about. Its name in a trace is "STEP > ACTION: before|after SITE DETAIL", with the journal's open step and the action if any.
SITES = (
    "action",
    "journal intent",
    "journal note",
    "journal outcome",
    "lock mark",
    "lock release",
    "lock take",
    "node",
    "store remove",
    "store write",
    "task",
)
# The same call again within one action is another point. The third and all after it are one: calls that wait are repeated.
REPEATS_TOLD = 3
KILL_PAUSE_SECONDS = 0.01

Setting = t.Mapping[str, t.Any]

_NAME = re.compile(r"(\w+ > )?(\w+: )?(?P<when>before|after) (?P<rest>.+)\Z", re.DOTALL)
_STEP = re.compile(rb" after journal (intent|outcome) (\w*)")


class _Place:
    """Place of this process in a run: its action and passed points.

    Passed points are counted by name.
    """

    def __init__(self) -> None:
        self.action = ""
        self.passed: dict[str, int] = {}


_place = _Place()


def failpoint(name: str) -> None:
    """Pass a point; where the tests say so, the run ends here.

    Args:
        name: ``before`` or ``after``, one of ``SITES``, and a detail such as an object's kind or a module's name.

    Raises:
        ValueError: only with failpoints on: the name is of no known site, or the setting can't be read.
    """
    path = os.environ.get(VARIABLE)
    if path:
        _pass(path, name)


@contextlib.contextmanager
def around(what: str) -> t.Iterator[None]:
    """Pass the points before and after an operation, also where it failed."""
    failpoint(f"before {what}")
    try:
        yield
    finally:
        failpoint(f"after {what}")


@contextlib.contextmanager
def within(action: str) -> t.Iterator[None]:
    """Pass the points before and after an action.

    The action's name is part of its points' names.
    """
    outer, outer_passed = _place.action, _place.passed
    _place.action, _place.passed = action, {}
    try:
        with around("action"):
            yield
    finally:
        _place.action, _place.passed = outer, outer_passed


def site_of(name: str) -> tuple[str, str]:
    """Return (``before`` or ``after``, site) of a point's name.

    The name is as it is passed or as a trace has it; ValueError where it is no point's.
    """
    found = _NAME.match(name)
    rest = found.group("rest") if found else ""
    site = next((each for each in SITES if rest == each or rest.startswith(f"{each} ")), None)
    if found is None or site is None:
        raise ValueError(f"{name!r} is no failpoint: before or after, then one of {', '.join(SITES)}")
    return found.group("when"), site


def _pass(path: str, name: str) -> None:
    site_of(name)
    setting = _read(path)
    # One process at a time: the number of a point is its line in the trace.
    descriptor = os.open(str(setting["trace"]), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        passed = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        number, full = passed.count(b"\n") + 1, _full_name(name, passed)
        os.write(descriptor, f"{time.time():.3f} {os.getpid()} {full}\n".encode())
        stop = setting.get("stop")
        if not stop or not _is_meant(stop, number, full) or not _is_first(str(setting["trace"]), full):
            return
    finally:
        os.close(descriptor)
    _stop(stop)


def _read(path: str) -> Setting:
    try:
        with open(path, encoding="utf-8") as stream:
            setting: Setting = json.load(stream)
        if not isinstance(setting["trace"], str) or not isinstance(setting.get("stop", {}), dict):
            raise ValueError("trace is a text and stop a mapping")
        return setting
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{VARIABLE}={path} is no setting for failpoints: {error!r}") from error


def _full_name(name: str, trace: bytes) -> str:
    steps = _STEP.findall(trace)
    step = f"{steps[-1][1].decode()} > " if steps and steps[-1][0] == b"intent" else ""
    count = _place.passed[step + name] = _place.passed.get(step + name, 0) + 1
    again = "" if count == 1 else f" ({count})" if count < REPEATS_TOLD else f" ({REPEATS_TOLD}+)"
    return f"{step}{_place.action}{': ' if _place.action else ''}{name}{again}"


def _is_meant(stop: Setting, number: int, name: str) -> bool:
    at = stop.get("at")
    if isinstance(at, int):
        return number == at
    if isinstance(at, str):
        return name == at
    return name not in stop.get("except", ()) and re.search(stop.get("only", ""), name) is not None


def _is_first(trace: str, name: str) -> bool:
    """Return whether this is a run's first stop, and record it.

    What continues after a stop is not stopped again.
    """
    try:
        descriptor = os.open(f"{trace}.stopped", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    try:
        os.write(descriptor, name.encode("utf-8"))
    finally:
        os.close(descriptor)
    return True


def _stop(stop: Setting) -> None:
    how = stop["how"]
    main = identity.find_run_process().pid
    if how == "terminate":
        os.kill(main, signal.SIGTERM)
    elif how == "kill-main":
        os.kill(main, signal.SIGKILL)
    elif how == "kill" and stop.get("cgroup"):
        kill_group(str(stop["cgroup"]), stop.get("spare", ()))
    elif how == "stop":
        _stop_all(lambda: _members(str(stop["cgroup"])) if stop.get("cgroup") else set(identity.descendants(main)))
    elif how == "kill":
        for pid in identity.descendants(main):
            if pid != os.getpid():
                _kill(pid)
        _kill(os.getpid())
    else:
        raise ValueError(f"how to stop a run is kill, kill-main, terminate or stop, not {how!r}")


def _stop_all(members: t.Callable[[], set[int]]) -> None:
    """Stop processes (SIGSTOP), this one as the last.

    A machine that is suspended does so, too. The processes continue where they are when they are woken.
    """
    own = os.getpid()
    # Again until nobody runs: a process may have forked between the reading and the stopping.
    while others := {pid for pid in members() if pid != own and not identity.is_stopped(pid)}:
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(KILL_PAUSE_SECONDS)
    os.kill(own, signal.SIGSTOP)


def kill_group(folder: str, spare: t.Collection[str] = ()) -> None:
    """Kill every process of a control group (v2 or v1).

    This process, where it is in the group, is the last.

    ``spare`` names commands that are moved to the group above instead: what the host would run as services of its own.
    Raises OSError where the group can't be read or written.
    """
    for pid in _members(folder):
        if identity.name_of(pid) in spare:
            with (
                contextlib.suppress(ProcessLookupError),
                open(os.path.join(folder, "..", "cgroup.procs"), "w") as stream,
            ):
                stream.write(str(pid))
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(os.path.join(folder, "cgroup.kill"), os.O_WRONLY)
        try:
            os.write(descriptor, b"1")
        finally:
            os.close(descriptor)
    own = os.getpid()
    deadline = time.monotonic() + settings.END_SECONDS
    # Again until nobody is left: a process may have forked between the reading and the killing.
    while time.monotonic() < deadline:
        members = _members(folder)
        for pid in members:
            if pid != own:
                _kill(pid)
        if members <= {own}:
            break
        time.sleep(KILL_PAUSE_SECONDS)
    if own in _members(folder):
        _kill(own)


def _members(folder: str) -> set[int]:
    with open(os.path.join(folder, "cgroup.procs"), encoding="utf-8") as stream:
        # 0 stands for a process outside this process namespace.
        return {int(line) for line in stream.read().split()} - {0}


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
