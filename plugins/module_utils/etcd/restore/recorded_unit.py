# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Task on this machine's etcd: a durable record and a systemd unit.

The state of both together, and the start of the transient unit.
The recovery from a lost second voter and the restore of a snapshot are such tasks: started once, they outlive the call and the run
that started them, and every later call finds them again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import typing as t
from dataclasses import dataclass, field

from ...common import carried, guard, systemd_units
from .single_voter import SETTLED, STARTED, SUCCEEDED, Recovery

ABSENT, RUNNING, INTERRUPTED = "Absent", "Running", "Interrupted"
CONTINUES = "The next run continues it."
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Report:
    """State and record of a task.

    ``state`` is Absent, Running, Interrupted, Succeeded or Failed.
    """

    state: str
    record: t.Mapping[str, t.Any] = field(default_factory=dict)

    def texts(self, *names: str) -> dict[str, str]:
        """Return the state and these entries of the record.

        "" for an entry that it does not have.
        """
        return {"state": self.state, **{name: str(self.record.get(name) or "") for name in names}}


@contextlib.contextmanager
def files_in_words(state: str = "Nothing was begun.") -> t.Iterator[None]:
    """Raise NodeError with the remedy for an OSError.

    ``state`` says how far the task is.
    """
    try:
        yield
    except OSError as error:
        path = str(error.filename or guard.STATE_DIRECTORY)
        raise guard.NodeError(
            f"{path} can't be used: {error.strerror or error}.", f"{state} {guard.remedy(path, error)}"
        ) from error


class RecordedUnit:
    """Task with a record, carried out by a systemd unit.

    What differs from task to task is given by its class.
    """

    # The module of module_utils whose function ``perform`` the unit runs, and what systemd shows as its description.
    PROGRAM: t.ClassVar[str]
    DESCRIPTION: t.ClassVar[str]

    @property
    def work(self) -> Recovery:
        """The task."""
        raise NotImplementedError

    def unit_name(self, record: t.Mapping[str, t.Any]) -> str:
        """Return the name of the unit that carries out a record's task."""
        raise NotImplementedError

    def look(self) -> Report:
        """Return the task's report, changing nothing."""
        record = self.work.read()
        state = record.get("state")
        if not record or state == SETTLED:
            return Report(ABSENT, record)
        if state != STARTED:
            return Report(str(state), record)
        if systemd_units.state(self.unit_name(record), self.work.runner).running:
            return Report(RUNNING, record)
        # A unit that ends between the two questions has left its outcome by then.
        again = self.work.read()
        return Report(str(again["state"]) if again.get("state") != STARTED else INTERRUPTED, again)

    def settle(self) -> None:
        """Record that a success was noted.

        From then on there is nothing to resume.
        """
        with guard.exclusive(self.work.places.state):
            record = self.work.read()
            if record.get("state") == SUCCEEDED:
                self.work.write({**record, "state": SETTLED})
                shutil.rmtree(os.path.join(str(record["folder"]), "code"), ignore_errors=True)

    def wait(self, seconds: float, clock: t.Callable[[], float] = time.monotonic) -> Report:
        """Wait until the task has ended, at most ``seconds``; return its report."""
        deadline = clock() + seconds
        while True:
            report = self.look()
            if report.state != RUNNING or clock() >= deadline:
                return report
            time.sleep(_POLL_SECONDS)

    def run(self, record: t.Mapping[str, t.Any], check: bool) -> Report:
        """Start the unit for a record that says Started.

        With ``check`` nothing is started; the report is the same.
        """
        if check:
            return Report(RUNNING, record)
        with files_in_words(CONTINUES):
            code = os.path.join(str(record["folder"]), "code")
            program = carried.carry(code, self.PROGRAM, "perform", self.work.places.text())
            unit = self.unit_name(record)
            # One that failed is still known by its name.
            self.work.runner(["systemctl", "reset-failed", f"{unit}.service"])
            systemd_units.start(unit, self.DESCRIPTION, [sys.executable, "-I", program], self.work.runner)
        return Report(RUNNING, record)
