# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breadth-first search over the worlds of a configuration, with every check in every world, and what follows from the whole graph.

What each number stands for: docs/reference/invariants.md, "What always holds".
"""

from __future__ import annotations

import marshal
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from model import acts, checks, endings, render
from model.configuration import Configuration
from model.faults import faults
from model.partial import partial
from model.world import JOINED, UP, Host, World, canonical, describe

Object = dict[str, Any]
Step = tuple[str, Optional[Any]]


# How the words for a step's end go on where nothing went wrong: only then is the plan's next step to be the next step.
_GOOD = ("succeeds", "removed", "made")
# How many snapshots' decisions are kept. A third of all snapshots come a second time, nearly all of these that soon.
_KEPT = 4096
# What a decision writes to the store.
_WRITTEN = ("action", "conditions", "status", "annotations", "removedConditions")


@dataclass
class Failure:
    """A counter-example: what is wrong, the shortest way to it, and the snapshot in which it was decided."""

    problem: str
    trace: list[str]
    world: World
    snapshot: Object
    decision: Object

    def text(self) -> str:
        """The counter-example for people."""
        decided = f"{self.decision['action']} {self.decision['target'] or ''}".strip()
        said = (self.decision["blockedOn"] or self.decision["reasons"] or [{"reason": "", "message": ""}])[0]
        lines = [self.problem, f"  decided: {decided} ({said['reason']}: {said['message']})"]
        return "\n".join([*lines, *(f"  {step}" for step in self.trace)])


@dataclass
class Result:
    """What one exploration found, and how large it was."""

    name: str
    states: int = 0
    transitions: int = 0
    decisions: int = 0
    depth: int = 0
    seconds: float = 0.0
    complete: bool = True
    endings: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


class Explorer:
    """One exploration of one configuration."""

    def __init__(self, configuration: Configuration, most_failures: int = 1) -> None:
        self.configuration = configuration
        self.most_failures = most_failures
        self.result = Result(configuration.name)
        self.parents: dict[World, tuple[Optional[World], str]] = {}
        self.depths: dict[World, int] = {}
        self.good: dict[World, list[World]] = {}
        self.decided: dict[World, list[Step]] = {}
        self.planned: list[tuple[World, World, Step]] = []
        self.problems: set[str] = set()
        self.known: dict[bytes, Object] = {}

    def run(self) -> Result:
        """Explore every world that can be reached, up to the first failures."""
        begin = time.monotonic()
        todo: deque[World] = deque()
        for start in self.configuration.starts():
            self._reach(self._canonical(start), None, "start", todo)
        while todo and len(self.result.failures) < self.most_failures:
            if self.configuration.limit and len(self.parents) >= self.configuration.limit:
                self.result.complete = False
                break
            world = todo.popleft()
            for step, after in self._visit(world):
                self.result.transitions += 1
                self._reach(after, world, step, todo)
        self.result.states = len(self.parents)
        self.result.depth = max(self.depths.values())
        if len(self.result.failures) < self.most_failures and self.result.complete:
            self._loops()
            self._plans()
        self.result.seconds = time.monotonic() - begin
        return self.result

    def _observe(self, world: World) -> Object:
        return render.observe(self.configuration, world)

    def _described(self, world: World) -> str:
        return describe(world)

    def _canonical(self, world: World) -> World:
        return canonical(world, self.configuration.merged, self.configuration.counts)

    def _reach(self, world: World, parent: Optional[World], step: str, todo: deque[World]) -> None:
        if world not in self.parents:
            self.parents[world] = (parent, step)
            self.depths[world] = 0 if parent is None else self.depths[parent] + 1
            todo.append(world)

    def _decide(self, snapshot: Object) -> Object:
        self.result.decisions += 1
        # Equal bytes are equal snapshots: version 2 writes values and no references, in the order of the keys.
        key = marshal.dumps(snapshot, 2)
        decision = self.known.get(key)
        if decision is None:
            decision = self.known[key] = decide(snapshot)
            if len(self.known) > _KEPT:
                del self.known[next(iter(self.known))]
        return decision

    def _visit(self, world: World) -> Iterator[tuple[str, World]]:
        first_seen = self._observe(world)
        if self.configuration.validate:
            for problem in check_snapshot(first_seen):
                raise AssertionError(f"the model renders a snapshot that is none: {problem} of {describe(world)}")
        first = self._decide(first_seen)
        after = acts.written(world, first)
        self._check(world, after, first, first_seen, lasting=False)
        if after != world:
            # What was written is a world of its own: a run that was killed right then leaves it.
            yield "status written", self._canonical(after)
        yield from self._follow(world, after, first, first_seen, render.FRESH)
        if after == world:
            last = first
            seen = render.observe(self.configuration, world, render.LASTING, stored=first)
            last = self._decide(seen)
            later = acts.written(world, last)
            self._check(world, later, last, seen, lasting=True)
            if later != world:
                yield "status written", self._canonical(later)
            yield from self._follow(world, later, last, seen, render.LASTING)
            self._settled(world, later, last)
            yield from self._partial(world, first)
        for step, broken in faults(self.configuration, world):
            yield step, self._canonical(broken)

    def _follow(
        self, world: World, after: World, decision: Object, snapshot: Object, age: int
    ) -> Iterator[tuple[str, World]]:
        """Where a decision leads, with all that its act may leave behind."""
        if decision["action"] in checks.ENDINGS:
            self.decided.setdefault(world, []).append((decision["action"], None))
            if after != world:
                self.good.setdefault(world, []).append(self._canonical(after))
            return
        self._leader(world, decision, age)
        self.decided.setdefault(world, []).append(_step(world, decision))
        for number, (step, end) in enumerate(acts.ends(self.configuration, after, decision)):
            reached = self._canonical(end)
            if number == 0:
                self.good.setdefault(world, []).append(reached)
                # Where no API answered, a plan knows nothing of what is behind it.
                seen = snapshot["workload"]["reachable"] or not world.latched
                if self.configuration.plan and seen and step.endswith(_GOOD) and self._ordered(world):
                    self._plan(world, end, reached, decision, snapshot)
            yield f"{decision['action']} {_target(decision)}: {step}", reached

    def _leader(self, world: World, decision: Object, age: int) -> None:
        target = decision["target"] or {}
        if decision["action"] != "remove" or not target.get("memberID") or self.configuration.external:
            return
        index = render.index_of(target["machine"])
        if world.hosts[index].member != UP or world.hosts[index].boot != JOINED:
            return
        other = next((at for at in reversed(render.leaders(world)) if at != index), None)
        if other is None:
            return
        pair = []
        for leader in (other, index):
            stored = decision if age == render.LASTING else None
            snapshot = render.observe(self.configuration, world, age, leader, stored)
            pair.append(self._decide(snapshot))
        for problem in endings.leadership(world, index, *pair):
            self._fail(problem, world, snapshot, pair[1])

    def _ordered(self, world: World) -> bool:
        """Whether names and ages decide nothing: where worlds of other ages are merged, two candidates may change places."""
        return not self.configuration.merged or sum(1 for host in world.hosts if host.mark) <= 1

    def _plan(self, world: World, end: World, reached: World, decision: Object, snapshot: Object) -> None:
        """Remember what the plan says comes after this step; once all is explored, it is compared with what does."""
        predicted = predict(snapshot, decision)
        following = self._decide(predicted)
        self.planned.append((world, reached, _step(end, following, decision)))

    def _settled(self, world: World, later: World, decision: Object) -> None:
        """I9: where nothing is left to do, a second run changes nothing, neither now nor in the store."""
        action = decision["action"]
        self.result.endings[action] = self.result.endings.get(action, 0) + (action in checks.ENDINGS)
        if action not in checks.ENDINGS or later != world or not (self.configuration.validate or action == "none"):
            return
        # What a text says of how long something has lasted may follow once more; then nothing may move.
        for _look in range(2):
            before, seen = decision, render.observe(self.configuration, world, render.LASTING, stored=decision)
            decision = self._decide(seen)
            moved = [key for key in _WRITTEN if decision[key] != before[key]]
            if not moved:
                return
        self._fail(f"I9: a second run without a change says another {', '.join(moved)}", world, seen, decision)

    def _partial(self, world: World, before: Object) -> Iterator[tuple[str, World]]:
        if not self.configuration.partial:
            return
        whole = render.observe(self.configuration, world, render.LASTING, stored=before)
        for kind in self.configuration.partial:
            found = partial(self.configuration, world, kind, whole)
            if found is None:
                continue
            snapshot, believed = found
            decision = self._decide(snapshot)
            self._check(world, acts.written(believed, decision), decision, snapshot, lasting=True, seen=kind)
            if decision["action"] not in checks.ENDINGS:
                for step, end in acts.ends(self.configuration, acts.written(world, decision), decision):
                    yield f"({kind}) {decision['action']} {_target(decision)}: {step}", self._canonical(end)

    def _check(
        self,
        world: World,
        believed: World,
        decision: Object,
        snapshot: Object,
        lasting: bool,
        seen: Optional[str] = None,
    ) -> None:
        for problem in checks.check(self.configuration, believed, decision, lasting, seen):
            self._fail(problem if seen is None else f"{problem} (observed: {seen})", world, snapshot, decision)

    def _fail(self, problem: str, world: World, snapshot: Object, decision: Object) -> None:
        # One counter-example of each kind is enough: the shortest one is found first.
        said = (decision["blockedOn"] or decision["reasons"] or [{"reason": ""}])[0]["reason"]
        kind = f"{problem.split(':')[0]} {said} {problem.split('(observed')[-1] if 'observed' in problem else ''}{problem[-24:]}"
        if kind in self.problems or len(self.result.failures) >= self.most_failures:
            return
        self.problems.add(kind)
        self.result.failures.append(Failure(problem, self._trace(world), world, snapshot, decision))

    def _trace(self, world: World) -> list[str]:
        lines: list[str] = []
        at: Optional[World] = world
        while at is not None:
            parent, step = self.parents[at]
            lines.append(f"{step} -> {self._described(at)}")
            at = parent
        return lines[::-1]

    def _loops(self) -> None:
        """I10: when nothing more goes wrong, no sequence of good steps comes back to where it was."""
        waiting = dict.fromkeys(self.good, 0)
        for afters in self.good.values():
            for after in afters:
                if after in waiting:
                    waiting[after] += 1
        ready = [world for world, count in waiting.items() if count == 0]
        seen = 0
        while ready:
            world = ready.pop()
            seen += 1
            for after in self.good[world]:
                if after in waiting:
                    waiting[after] -= 1
                    if waiting[after] == 0:
                        ready.append(after)
        if seen == len(waiting):
            return
        circle = min((world for world, count in waiting.items() if count), key=lambda each: self.depths[each])
        snapshot = self._observe(circle)
        trace = self._trace(circle)
        self.result.failures.append(
            Failure("I10: good steps lead in a circle", trace, circle, snapshot, decide(snapshot))
        )

    def _plans(self) -> None:
        """I14: what the plan said would come after a step is what is decided there, at once or after things have settled."""
        for world, reached, step in self.planned:
            if reached not in self.decided:
                continue
            decided = self._decided_from(reached)
            ends = step[0] in checks.ENDINGS and any(each[0] in checks.ENDINGS for each in decided)
            if not ends and not self._comes_true(world, reached, step, decided):
                snapshot = self._observe(world)
                self._fail(f"I14: planned next: {step}; decided next: {decided}", world, snapshot, decide(snapshot))

    def _comes_true(self, world: World, reached: World, step: Step, decided: list[Step]) -> bool:
        del world, reached
        # Where ages are not told apart, which of two machines is the older one may differ from step to step.
        return any(each[0] == step[0] for each in decided) if self.configuration.merged else step in decided

    def _decided_from(self, world: World) -> list[Step]:
        """What is decided in a world, at once and after things have settled and the status was written."""
        found = list(self.decided[world])
        for after in self.good.get(world, []):
            if found[0][0] in checks.ENDINGS and after in self.decided:
                found += self.decided[after]
        return found


def _target(decision: Object) -> str:
    target = decision["target"] or {}
    return str(target.get("machine") or target.get("memberID") or "new")


def _step(world: World, decision: Object, before: Optional[Object] = None) -> Step:
    """A decision without names: the action, and the state of the machine that it is about.

    `before`: the decision whose predicted outcome this one was made for; where that removed a machine, names have moved up.
    """
    target = decision["target"] or {}
    name = target.get("machine")
    if decision["action"] in checks.ENDINGS or not name:
        return (decision["action"], None)
    if not name.startswith("m") or not name[1:].isdigit():
        return (decision["action"], _plain(world.hosts[-1]))
    index = render.index_of(name)
    if before is not None and before["action"] == "remove" and index > render.index_of(before["target"]["machine"]):
        index -= 1
    return (decision["action"], _plain(world.hosts[index]) if index < len(world.hosts) else None)


def _plain(host: Host) -> Host:
    return host._replace(remedied=False, retry=-1)
