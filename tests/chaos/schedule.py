# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wished for and what goes wrong meanwhile, drawn from a seed. Pure: the same seed and number give the same schedule."""

from __future__ import annotations

import dataclasses
import random
import typing as t

WISHES = ("grow", "shrink", "replace", "rollout")
HOWS = ("kill", "kill-main", "terminate")
SMALL, LARGE = 3, 5
# A run passes about so many points for one step.
POINTS_OF_A_STEP = 60
MOST_FAULTS = 3
PARTITION_SECONDS = (2, 45)


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that goes wrong in one run, when that run has passed so many points.

    ``kind``: ``kill`` (``how`` says what of the run ends), ``power`` (the target machine's first process is killed; ``back``: it is
    started again when the run has ended) or ``partition`` (its link is down for ``seconds``). ``draw`` picks the machine where no step
    is under way, by its place among the machines.
    """

    kind: str
    after: int
    how: str = ""
    back: bool = False
    seconds: int = 0
    draw: float = 0.0


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A wish, the size of the control plane before and after it, and the faults of the runs that carry it out, one a run."""

    seed: int
    number: int
    wish: str
    before: int
    after: int
    faults: tuple[Fault, ...]
    draw: float

    def told(self) -> dict[str, t.Any]:
        """As it is written into the record."""
        return dataclasses.asdict(self)


def schedule(seed: int, number: int) -> Schedule:
    """The schedule of that number, counted from 0. Only its size at the beginning depends on those before it."""
    size = SMALL
    for each in range(number):
        size = _wish(_generator(seed, each), size)[1]
    generator = _generator(seed, number)
    wish, after = _wish(generator, size)
    steps = {"replace": 2, "grow": 2, "shrink": 2, "rollout": 2 * size}[wish]
    faults: list[Fault] = []
    for _fault in range(generator.randint(1, MOST_FAULTS)):
        # What would take the quorum with it, whatever anybody does: a second machine that is taken away, and one of the two voters
        # that are left while a machine of three is replaced (it is removed before its successor joins).
        may_take = all(each.kind == "kill" for each in faults) and (wish, size) != ("replace", SMALL)
        kinds = ("kill", "power", "partition") if may_take else ("kill",)
        faults.append(_fault_of(generator, generator.choice(kinds), steps * POINTS_OF_A_STEP))
    return Schedule(seed, number, wish, size, after, tuple(faults), generator.random())


def _generator(seed: int, number: int) -> random.Random:
    return random.Random(f"{seed}/{number}")


def _wish(generator: random.Random, size: int) -> tuple[str, int]:
    # A rollout is many steps of the kinds that the others are made of: only the small one, and not often.
    small, large = ("replace", "grow", "grow", "rollout"), ("replace", "replace", "replace", "shrink", "shrink")
    wish = generator.choice(small if size == SMALL else large)
    return wish, {"grow": LARGE, "shrink": SMALL}.get(wish, size)


def _fault_of(generator: random.Random, kind: str, points: int) -> Fault:
    after, draw = generator.randint(1, points), generator.random()
    if kind == "kill":
        return Fault(kind, after, how=generator.choice(("kill", *HOWS)), draw=draw)
    if kind == "power":
        return Fault(kind, after, back=generator.random() < 0.5, draw=draw)
    return Fault(kind, after, seconds=generator.randint(*PARTITION_SECONDS), draw=draw)
