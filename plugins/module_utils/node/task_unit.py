# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command of a Task, run once as a transient systemd unit.

It runs to its end and is never started twice.

Why: docs/architecture.md, "Commands that outlive a run".
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import time
import typing as t
from dataclasses import dataclass

from ..common import systemd_units
from ..common.guard import STATE_DIRECTORY, NodeError, exclusive, read_text, sync_directory, write_atomically
from ..common.redact import redact

DIRECTORY = os.path.join(STATE_DIRECTORY, "commands")
KEPT_BYTES = 16 * 1024
POLL_SECONDS = 0.2
ABSENT, RUNNING, ENDED, INTERRUPTED = "Absent", "Running", "Ended", "Interrupted"
# Of a name; systemd takes 255 characters for all of a unit's.
_LONGEST_NAME = 180
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
# A larger output is redacted at its two ends only, with a margin in which a secret that is cut off can be recognised.
_WHOLE_BYTES = 8 * 1024 * 1024
_WINDOW_BYTES = 1024 * 1024

_SCRIPT = """\
#!/bin/sh
# Made by kubeadm.control_plane.
umask 077
cd {work} || exit 1
date -u +%Y-%m-%dT%H:%M:%SZ > started.partial || exit 1
sync started.partial 2>/dev/null
mv -f started.partial started
sync . 2>/dev/null
( cd / && umask 022 && exec timeout --kill-after=10 {seconds} {command} ) > output 2>&1 < /dev/null
kcp_rc=$?
echo "$kcp_rc $(date -u +%Y-%m-%dT%H:%M:%SZ)" > result.partial
sync result.partial 2>/dev/null
mv -f result.partial result
exit "$kcp_rc"
"""


@dataclass(frozen=True)
class Report:
    """State and output of a Task's command.

    ``exit_status`` is None until it ended; ``head`` and ``tail`` are without secrets, at most 16 KiB each.

    ``said`` is what systemd says of one that was interrupted. No field is called path: where a module returns a
    path of a file that is there, Ansible writes that file's own ``state`` and ``size`` over the module's.
    """

    state: str
    changed: bool = False
    exit_status: t.Optional[int] = None
    started_at: str = ""
    ended_at: str = ""
    head: str = ""
    tail: str = ""
    size: int = 0
    sha256: str = ""
    log_path: str = ""
    said: str = ""


class TaskUnit:
    """Transient systemd unit that runs one command under a name.

    Args:
        name: what nothing else on this machine is named; letters, digits, "-", "_" and ".".
        directory: where what it leaves is kept.
        runner: runs systemctl and systemd-run.
    """

    def __init__(self, name: str, directory: str = DIRECTORY, runner: systemd_units.Runner = systemd_units.run) -> None:
        if not _NAME.fullmatch(name):
            raise NodeError(f"{name!r} is no name of a command.", "Use letters, digits, '-', '_' and '.'.")
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        self.unit = systemd_units.TASK + name
        self._directory = directory
        self._work = os.path.join(directory, name)
        self._runner = runner

    def look(self) -> Report:
        """Return the command's state and output."""
        result = read_text(os.path.join(self._work, "result")).split()
        started = read_text(os.path.join(self._work, "started"))
        if len(result) == 2:
            return self._told(ENDED, started, int(result[0]), result[1])
        state = systemd_units.state(self.unit, self._runner)
        if state.running:
            return Report(RUNNING, started_at=started, log_path=self._output)
        # It may have ended between the two looks.
        result = read_text(os.path.join(self._work, "result")).split()
        if len(result) == 2:
            return self._told(ENDED, started, int(result[0]), result[1])
        if not started:
            return Report(ABSENT)
        gone = "its unit is gone, as after a boot of the machine"
        ended = f"its unit ended without its exit status (systemd says: {state.result}, {state.exit_status})"
        return self._told(INTERRUPTED, started, said=ended if state.loaded else gone)

    def run(self, argv: t.Sequence[str], *, timeout: int, wait: float, alone: bool = False) -> Report:
        """Start the command if it never was, and wait for its end.

        It waits at most ``wait`` seconds. With ``alone`` it is not started beside another one.

        Raises:
            NodeError: there is no such program, another one runs, or systemd refused.
        """
        changed = False
        with exclusive(self._directory):
            if self.look().state == ABSENT:
                if alone:
                    self._refuse_second()
                self._start(argv, timeout)
                changed = True
        end = time.monotonic() + wait
        report = self.look()
        # Where the unit is young it may not have got as far as noting that it has begun.
        while report.state in (RUNNING, ABSENT) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            report = self.look()
        if report.state == ABSENT:
            raise NodeError(f"{self.unit}.service was started and left nothing.", "See: journalctl -u " + self.unit)
        return Report(**{**report.__dict__, "changed": changed})

    def forget(self) -> bool:
        """Stop the unit and delete its files; return whether there were any."""
        found = os.path.isdir(self._work)
        if systemd_units.state(self.unit, self._runner).loaded:
            systemd_units.stop(self.unit, self._runner)
        shutil.rmtree(self._work, ignore_errors=True)
        return found

    @property
    def _output(self) -> str:
        return os.path.join(self._work, "output")

    def _refuse_second(self) -> None:
        for name in sorted(os.listdir(self._directory)):
            work = os.path.join(self._directory, name)
            # One with a result has done its work; its unit may take a moment more to end.
            if work == self._work or not os.path.isdir(work) or os.path.exists(os.path.join(work, "result")):
                continue
            unit = systemd_units.TASK + name
            if systemd_units.state(unit, self._runner).running:
                raise NodeError(
                    f"{unit}.service still runs on this machine, and the two could undo each other's work.",
                    f"Nothing was started. Wait for its end (systemctl status {unit}), then retry.",
                )

    def _start(self, argv: t.Sequence[str], timeout: int) -> None:
        program = argv[0] if argv else ""
        if not program or shutil.which(program, path=systemd_units.SEARCH_PATH) is None:
            raise NodeError(f"there is no program {program!r} on this machine.", "Nothing was started. Install it.")
        shutil.rmtree(self._work, ignore_errors=True)
        os.makedirs(self._work, mode=0o700)
        path = os.path.join(self._work, "run.sh")
        script = _SCRIPT.format(work=shlex.quote(self._work), seconds=max(1, timeout), command=shlex.join(argv))
        write_atomically(path, script.encode(), 0o600)
        sync_directory(self._directory)
        # A unit that failed keeps its name until it is forgotten.
        if systemd_units.state(self.unit, self._runner).loaded:
            systemd_units.stop(self.unit, self._runner)
        systemd_units.start(
            self.unit, f"kubeadm.control_plane: {os.path.basename(program)}", ["/bin/sh", path], self._runner
        )

    def _told(
        self, state: str, started: str, exit_status: t.Optional[int] = None, ended: str = "", said: str = ""
    ) -> Report:
        head, tail, size, digest = read_output(self._output)
        return Report(
            state,
            exit_status=exit_status,
            started_at=started,
            ended_at=ended,
            head=head,
            tail=tail,
            size=size,
            sha256=digest,
            log_path=self._output,
            said=said,
        )


def read_output(path: str) -> tuple[str, str, int, str]:
    """Return a file's head and tail without secrets, size and SHA-256.

    Head and tail are its first and last 16 KiB; the tail is "" where the head has it all.
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            for block in iter(lambda: stream.read(_WINDOW_BYTES), b""):
                digest.update(block)
            if size <= _WHOLE_BYTES:
                stream.seek(0)
                text = redact(stream.read(size).decode("utf-8", "replace"))
                return _head(text), _tail(text), size, digest.hexdigest()
            stream.seek(0)
            first = redact(stream.read(_WINDOW_BYTES).decode("utf-8", "replace"))
            stream.seek(size - _WINDOW_BYTES)
            last = redact(stream.read(_WINDOW_BYTES).decode("utf-8", "replace"))
            return _head(first), _tail(last), size, digest.hexdigest()
    except OSError:
        return "", "", 0, digest.hexdigest()


def _head(text: str) -> str:
    return text.encode()[:KEPT_BYTES].decode("utf-8", "ignore")


def _tail(text: str) -> str:
    content = text.encode()
    return content[max(KEPT_BYTES, len(content) - KEPT_BYTES) :].decode("utf-8", "ignore")
