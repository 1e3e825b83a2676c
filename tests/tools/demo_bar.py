# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bar of the demo's phases below what its commands print.

    COMMANDS | demo_bar.py FILE

FILE keeps how long the phases took the last time, as JSON. A line "@N" on standard input begins phase N; a step of
reconcile that ends a phase begins the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import sys
import time
import typing as t
from pathlib import Path

PHASES = (
    "the machine image: Debian, containerd, kubeadm, kubelet",
    "the first machine: kubeadm init",
    "the second machine: kubeadm join",
    "the third machine: kubeadm join",
    "a look at what is there",
)
# The line of a step that ended: "prod: join machine prod-b; etcd 1 → 2 voters; 38 s (expected 35 s)".
ENDED = re.compile(r": (?:initialize the control plane on|join machine) [^;]*;.* s \(expected ")
WIDTH = 20
TICK_SECONDS = 0.5


def words(seconds: float) -> str:
    """Return a duration in words."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Bar:
    """Phases that are done, under way and to come.

    Args:
        last: how long each phase took the last time, in seconds; [] where that is not known.
        now: the time of the clock.
    """

    def __init__(self, last: t.Sequence[float], now: float) -> None:
        self._last = list(last) if len(last) == len(PHASES) else []
        self._took: dict[int, float] = {}
        self._phase = 0
        self._began = now

    def begin(self, phase: int, now: float) -> str:
        """Begin a phase, counted from 1; return the line that says so, or "" where it is under way."""
        if phase == self._phase:
            return ""
        self._end(now)
        self._phase = phase
        return self.text(now)

    def read(self, line: str, now: float) -> str:
        """Return the line of the phase that a line of output begins, else ""."""
        if ENDED.search(line) and 2 <= self._phase < len(PHASES) - 1:
            return self.begin(self._phase + 1, now)
        return ""

    def took(self, now: float) -> list[float]:
        """Return how long each phase took; [] where not all of them were passed."""
        self._end(now)
        return [self._took[each] for each in sorted(self._took)] if len(self._took) == len(PHASES) else []

    def text(self, now: float) -> str:
        """Return the bar, the phase and the time left."""
        if not self._phase:
            return ""
        left, share = "", (self._phase - 1) / len(PHASES)
        if self._last:
            here = min(now - self._began, self._last[self._phase - 1])
            passed = sum(self._last[: self._phase - 1]) + here
            share = passed / (sum(self._last) or 1)
            left = f"; about {words(sum(self._last) - passed)} left, as the last time"
        full = round(share * WIDTH)
        return f"[{'#' * full}{'-' * (WIDTH - full)}] {self._phase} of {len(PHASES)}, {PHASES[self._phase - 1]}{left}"

    def _end(self, now: float) -> None:
        if self._phase:
            self._took[self._phase] = now - self._began
        self._phase, self._began = 0, now


def main() -> None:
    """Show standard input with the bar below it."""
    # Ctrl-C is for the commands: what they say last is shown too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    path = Path(sys.argv[1])
    last: list[float] = []
    with contextlib.suppress(OSError, ValueError):
        last = [float(each) for each in json.loads(path.read_text())]
    bar = Bar(last, time.monotonic())
    terminal = sys.stdout.isatty()

    def show(text: str) -> None:
        print(f"\r\x1b[K{text}" if terminal else text, flush=True)

    pending = b""
    while True:
        if terminal:
            columns = os.get_terminal_size().columns or 80
            print(f"\r\x1b[K{bar.text(time.monotonic())[: columns - 1]}", end="", flush=True)
        if not select.select([0], [], [], TICK_SECONDS)[0]:
            continue
        found = os.read(0, 65536)
        *lines, pending = (pending + found).split(b"\n")
        for each in lines + ([pending] if not found and pending else []):
            line = each.decode("utf-8", "replace")
            begins = re.fullmatch(r"@([1-5])", line)
            if not begins:
                show(line)
            said = bar.begin(int(begins[1]), time.monotonic()) if begins else bar.read(line, time.monotonic())
            if said:
                show(said)
        if not found:
            break
    if terminal:
        print("\r\x1b[K", end="", flush=True)
    took = bar.took(time.monotonic())
    if took:
        path.write_text(json.dumps(took))


if __name__ == "__main__":
    main()
