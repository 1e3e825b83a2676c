# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a playbook that are stopped as a whole (SIGSTOP), as on a host that is suspended, and woken when another one has taken over."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from killed_runs import Begun, KilledRuns
from workspace import Run, Workspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock

LOST = "does not hold the lock of cluster default/{cluster} any more"
# For how long a lock that is taken over must have stood still.
SECONDS = 0.6


class StoppedRuns(KilledRuns):
    """Runs one playbook of a workspace again and again; arguments as of :class:`KilledRuns`."""

    def __init__(self, workspace: Workspace, command: t.Sequence[str], folder: Path, only: str = "") -> None:
        super().__init__(workspace, command, folder, "stop", only)

    def until_taken_over(
        self, take_over: t.Callable[[], None], look: t.Callable[[], t.Any], most: int = 400, asleep_at_once: int = 12
    ) -> list[tuple[str, Run]]:
        """Have every run stopped (SIGSTOP) at its next point and the next one take over, until one isn't stopped; they sleep, and are woken later.

        Args:
            take_over: takes the lock from a run that is stopped.
            look: what no run may change that was taken over from.
            most: so many runs at most.
            asleep_at_once: when more are asleep, the one that sleeps longest is woken; all others when the last run has come to its end.

        Returns:
            each point at which a run was stopped, and how that run ended; "" for the last one, which came to its end undisturbed.
        """
        asleep: list[Begun] = []
        ends: list[tuple[str, Run]] = []
        points: list[str] = []

        def wake() -> None:
            sleeper, before = asleep.pop(0), look()
            point = sleeper.point
            sleeper.wake()
            ends.append((point, self._ended(sleeper)[1]))
            assert look() == before, f"woken at {point!r}, it changed something:\n{ends[-1][1].output[-3000:]}"

        try:
            while len(points) < most:
                begun = self._begin({"at": None, "only": self._only, "except": points})
                if not begun.until_stopped():
                    last = self._ended(begun)[1]
                    while asleep:
                        wake()
                    return [*ends, ("", last)]
                take_over()
                points.append(begun.point)
                asleep.append(begun)
                if len(asleep) > asleep_at_once:
                    wake()
            raise AssertionError(f"not converged after {most} runs: {points[-10:]}")
        finally:
            self.end()

    def stopped_and_woken(self, meanwhile: t.Callable[[], t.Any]) -> Run:
        """One run that is stopped (SIGSTOP) at the first point that it may be stopped at, and woken after ``meanwhile``."""
        try:
            begun = self._begin({"at": None, "only": self._only})
            assert begun.until_stopped(), f"it was not stopped:\n{begun.output.read_text()[-3000:]}"
            meanwhile()
            begun.wake()
            return self._ended(begun)[1]
        finally:
            self.end()


def take_over_files(store: Path, cluster: str) -> None:
    """Take a file store's lock from a run that is stopped, as a run elsewhere does that sees no sign of life, and has ended since."""
    for path in (store / "default" / "locks" / cluster).glob("*.json"):
        if path.stem.isdigit():
            path.write_text(json.dumps({**json.loads(path.read_text()), "pid_namespace": "pid:[1]"}))
    file_lock.release(file_lock.acquire(str(store), "default", cluster, observe_seconds=SECONDS))
