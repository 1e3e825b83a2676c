# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of a cluster's runs, from its journal alone. Pure.

Times are seconds since the epoch, whole as the journal has them. All texts are one legible line of bounded length.
"""

from __future__ import annotations

import difflib
import typing as t
from dataclasses import dataclass, field

from ...module_utils.common.quorum import Figures

Span = tuple[float, float]

# How a step ended, beside what the journal says: it is under way, or its run was killed in it.
SUCCEEDED, FAILED, INTERRUPTED, OPEN = "succeeded", "failed", "interrupted", ""
# How a run ended, beside reconcile/run_outcomes.py: without a word, before another one began or as the last one.
KILLED, NO_END = "killed", "no end"


@dataclass(frozen=True)
class Phase:
    """Phase of kubeadm on a machine.

    From its first line until another one's.
    """

    name: str
    began: float
    ended: float


@dataclass
class Step:
    """Step of a run. ``ended`` is None without an outcome."""

    action: str
    target: str
    began: float
    said: str
    ended: t.Optional[float] = None
    result: str = OPEN
    message: str = ""
    voters: t.Optional[tuple[int, int]] = None
    phases: list[Phase] = field(default_factory=list)


@dataclass
class Wait:
    """Wait between two steps, with its reason."""

    reason: str
    message: str
    began: float
    ended: t.Optional[float] = None


@dataclass(frozen=True)
class State:
    """Observation of a cluster, with None for what is unknown."""

    time: float
    voters: t.Optional[int] = None
    healthy: t.Optional[int] = None
    quorum: t.Optional[int] = None
    leader: str = ""
    endpoint: t.Optional[bool] = None
    replicas: t.Optional[int] = None
    wanted: t.Optional[int] = None


@dataclass
class Run:
    """Run of a playbook.

    ``planned`` are its plan's actions, [] where none was recorded.
    """

    identifier: str
    began: float
    last: float
    playbook: str = ""
    result: str = NO_END
    message: str = ""
    planned: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    notes: list[tuple[float, str]] = field(default_factory=list)
    watched_gaps: t.Optional[list[Span]] = None
    left_out: int = 0

    @property
    def machines(self) -> list[str]:
        """Machines that steps were about, in their order."""
        return list(dict.fromkeys(each.target for each in self.steps if each.target))

    @property
    def done(self) -> int:
        """Steps that succeeded."""
        return sum(each.result == SUCCEEDED for each in self.steps)

    @property
    def waited(self) -> float:
        """Seconds between steps that were waited for something."""
        return sum((self.last if each.ended is None else each.ended) - each.began for each in self.waits)

    def end_of(self, step: Step) -> float:
        """Return until when a step is known to have been under way."""
        return max(step.began, self.last if step.ended is None else min(step.ended, self.last))

    def votes(self) -> list[tuple[float, int, int]]:
        """Return (time, voters, quorum) at each change, oldest first."""
        found = [(each.time, each.voters) for each in self.states if each.voters is not None]
        found += [
            (each.ended, each.voters[1])
            for each in self.steps
            if each.voters and each.result == SUCCEEDED and each.ended is not None
        ]
        changes: list[tuple[float, int, int]] = []
        for time, voters in sorted(found, key=lambda each: each[0]):
            if not changes or changes[-1][1] != voters:
                changes.append((time, voters, Figures(voters, voters).quorum if voters else 0))
        return changes

    def votes_known_until(self) -> float:
        """Return up to when etcd's voters are known.

        A step that changed them tells of them, too.
        """
        return max(
            [self._seen_until(lambda each: each.voters is not None), *(time for time, *_figures in self.votes())]
        )

    def leader_known_until(self) -> float:
        """Return up to when etcd's leader is known."""
        return self._seen_until(lambda each: bool(each.leader))

    def endpoint_known_until(self) -> float:
        """Return up to when it is known whether the endpoint answers.

        Where there was a watcher, to the run's end.
        """
        return self.last if self.watched_gaps is not None else self._seen_until(lambda each: each.endpoint is not None)

    def _seen_until(self, seen: t.Callable[[State], bool]) -> float:
        """Return when something was last seen.

        The run's end, where its last observation saw it.
        """
        times = [each.time for each in self.states if seen(each)]
        return self.last if self.states and seen(self.states[-1]) else max(times, default=self.began)

    def leaders(self) -> list[tuple[float, str]]:
        """Return (time, name of etcd's leader) at each change that was seen."""
        changes: list[tuple[float, str]] = []
        for each in self.states:
            if each.leader and (not changes or changes[-1][1] != each.leader):
                changes.append((each.time, each.leader))
        return changes

    def endpoint_gaps(self) -> list[Span]:
        """Return the spans without an answer of the endpoint.

        A watcher's where there is its record; else from an observation that it did not answer to the next that it did, once it had answered.
        """
        if self.watched_gaps is not None:
            return self.watched_gaps
        gaps: list[Span] = []
        answered, since = False, None
        for each in self.states:
            if each.endpoint and since is not None:
                gaps.append((since, each.time))
                since = None
            elif each.endpoint is False and answered and since is None:
                since = each.time
            answered = answered or bool(each.endpoint)
        return [*gaps, (since, self.last)] if since is not None else gaps

    def compared(self) -> list[tuple[t.Optional[str], t.Optional[Step]]]:
        """Return the plan against what was done.

        Pairs of planned action and step, with None where one has no other.
        """
        done = [each.action for each in self.steps]
        if not self.planned:
            return [(None, each) for each in self.steps]
        rows: list[tuple[t.Optional[str], t.Optional[Step]]] = []
        for tag, a, b, c, d in difflib.SequenceMatcher(None, self.planned, done, autojunk=False).get_opcodes():
            if tag == "equal":
                rows += list(zip(self.planned[a:b], self.steps[c:d]))
            else:
                rows += [(None, each) for each in self.steps[c:d]]
                rows += [(each, None) for each in self.planned[a:b]]
        return rows


@dataclass
class ClusterReport:
    """Report of a cluster: its runs, newest first, and its state.

    ``runs`` are those that were asked for; ``newest`` is the newest one of all that observed the cluster.
    ``unread`` is why its journal could not be read, beside those of other clusters.
    """

    namespace: str
    name: str
    runs: list[Run]
    older: int = 0
    until: t.Optional[float] = None
    newest: t.Optional[Run] = None
    certificates: list[tuple[str, float]] = field(default_factory=list)
    unread: str = ""

    @property
    def state(self) -> t.Optional[State]:
        """The newest observation."""
        return self.newest.states[-1] if self.newest else None

    @property
    def title(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"
