# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watch of clusters' statuses, until a state or a bound."""

from __future__ import annotations

import time
import typing as t

from ....module_utils.common.values import now_rfc3339
from ...progress.progress_lines import Line
from .fleet import changed_lines, failing, fleet_lines
from .verdict import TROUBLES, UNHEALTHY

Object = dict[str, t.Any]

# What may be waited for -> the trouble that no cluster has then.
UNTIL: dict[str, tuple[str, ...]] = {"healthy": (UNHEALTHY,), "settled": TROUBLES}


class Screen(t.Protocol):
    """Interface of the screen that a watch needs."""

    def redraw(self, page: t.Sequence[Line], changes: t.Sequence[Line]) -> None:
        """Show the page in a terminal, else the changes."""


class Clock:
    """Clock of a watch."""

    def seconds(self) -> float:
        """Return the seconds of a clock that only goes forward."""
        return time.monotonic()

    def now(self) -> str:
        """Return the time, RFC 3339."""
        return now_rfc3339()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def watch(
    observe: t.Callable[[], list[Object]],
    screen: Screen,
    every: int,
    bound: int,
    until: str = "",
    clock: t.Optional[Clock] = None,
) -> Object:
    """Observe and show clusters until they are as wanted, or a bound.

    A terminal shows the newest status in place of the one before. Elsewhere a cluster has a line only when its verdict, or what comes
    next, has changed.

    Args:
        observe: returns the statuses of all clusters.
        screen: shows them.
        every: seconds between two observations.
        bound: seconds after which the watch ends.
        until: one of UNTIL; "" for the bound alone.
        clock: gives the time.

    Returns:
        The task's result: ``msg``, and ``failed`` where what was waited for did not come.
    """
    clock = clock or Clock()
    began, shown = clock.seconds(), t.cast("dict[str, str]", {})
    while True:
        found = observe()
        now = clock.now()
        ends = f", until {until}" if until else ""
        head = f"{now}   every {every} s{ends}, for at most {bound} s; Ctrl-C ends it"
        screen.redraw([Line(head), Line(""), *fleet_lines(found)], changed_lines(found, shown, now))
        # What can't be observed is never as wanted.
        left = failing(found, UNTIL[until]) if until else []
        took = round(clock.seconds() - began)
        if until and not left:
            return {"msg": f"{until} after {took} s"}
        if took + every > bound:
            said = f"watched for {took} s"
            return (
                {"failed": True, "msg": "\n".join([f"not {until} within {bound} s:", *left])} if left else {"msg": said}
            )
        clock.sleep(every)
