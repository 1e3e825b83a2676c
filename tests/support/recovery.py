# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kill costs: how long the next run takes until it is again where its predecessor was stopped. Pure: traces in, seconds out.

The next run is there when it passes the same point again, when it has ended a step (the point lay in it, or before it), or when it is
stopped itself. What an undisturbed run takes from the step's beginning to the same place is the step itself; the rest is the cost.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

STEP_ENDS = "after journal outcome succeeded"
STEP_BEGINS = "after journal intent "


@dataclass(frozen=True)
class Passed:
    """A point that a run passed, in seconds since the epoch."""

    time: float
    name: str


def parse(text: str) -> list[Passed]:
    """A trace's lines (docs/development.md, "Failpoints")."""
    return [Passed(float(line.split(" ", 2)[0]), line.split(" ", 2)[2]) for line in text.splitlines()]


def offsets(trace: t.Sequence[Passed]) -> dict[str, float]:
    """The points of an undisturbed run's steps → the fewest seconds that lay between the step's beginning and the point."""
    found: dict[str, float] = {}
    begun = None
    for each in trace:
        if STEP_BEGINS in each.name:
            begun = each.time
        elif begun is not None and " > " in each.name:
            found[each.name] = min(found.get(each.name, float("inf")), each.time - begun)
        if STEP_ENDS in each.name:
            begun = None
    return found


def cost(point: str, begun: float, trace: t.Sequence[Passed], ended: float, usual: t.Mapping[str, float]) -> float:
    """The seconds that the kill at ``point`` costs the run that comes after it.

    Args:
        point: where the run before was stopped.
        begun: when the next one was started.
        trace: what that passed.
        ended: when it was stopped, or came to its end.
        usual: what :func:`offsets` says of an undisturbed run.
    """
    there = next((each for each in trace if each.name == point or each.name.endswith(STEP_ENDS)), None)
    if there is None:
        there = Passed(ended, trace[-1].name if trace else "")
    return round(there.time - begun - usual.get(there.name, 0.0), 2)
