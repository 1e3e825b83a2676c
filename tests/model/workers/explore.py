# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breadth-first search over a deployment's worlds, with every check in every world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worker_snapshots import SETS

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from model.checks import ENDINGS
from model.explore import Explorer, Step
from model.workers import checks
from model.workers.fleet import Fleet, canonical, describe
from model.workers.happenings import ended, ends, happenings
from model.workers.render import observe

Object = dict[str, Any]


class WorkersExplorer(Explorer):
    """One exploration of one Rollout."""

    configuration: Any
    decided: dict[Any, list[Step]]

    def __init__(self, configuration: Any, most_failures: int = 1) -> None:
        super().__init__(configuration, most_failures)
        # What a step that ended well led to, with the names that the workers had before.
        self.named: dict[tuple[Any, Any], Any] = {}

    def _observe(self, world: Any) -> Object:
        return observe(self.configuration, world)

    def _described(self, world: Any) -> str:
        return describe(world)

    def _canonical(self, world: Any) -> Any:
        return canonical(world)

    def _visit(self, world: Any) -> Iterator[tuple[str, Any]]:
        for lasting in (False, True):
            snapshot = observe(self.configuration, world, lasting)
            for problem in check_snapshot(snapshot):
                raise AssertionError(f"the model renders a snapshot that is none: {problem} of {describe(world)}")
            decision = self._decide(snapshot)
            for problem in checks.check(self.configuration, world, decision, lasting):
                self._fail(problem, world, snapshot, decision)
            yield from self._followed(world, decision, snapshot)
        self.result.endings[decision["action"]] = self.result.endings.get(decision["action"], 0) + (
            decision["action"] in ENDINGS
        )
        for step, after in happenings(self.configuration, world):
            yield step, canonical(after)

    def _followed(self, world: Fleet, decision: Object, snapshot: Object) -> Iterator[tuple[str, Any]]:
        self.decided.setdefault(world, []).append(_step(snapshot, decision))
        if decision["action"] in ENDINGS:
            if decision["action"] == "wait" and ended(world) != world:
                self.good.setdefault(world, []).append(canonical(ended(world)))
            return
        for number, (step, end) in enumerate(ends(world, decision)):
            if number == 0:
                self.good.setdefault(world, []).append(canonical(end))
                if decision["action"] in checks.STEPS and all(each.boot != "spoilt" for each in world.workers):
                    predicted = predict(snapshot, decision)
                    self.planned.append((world, canonical(end), _step(predicted, self._decide(predicted))))
                    self.named[world, canonical(end)] = end
            yield f"{decision['action']}: {step}", canonical(end)

    def _comes_true(self, world: Any, reached: Any, step: Step, decided: list[Step]) -> bool:
        # Names decide between two that are equal: in the world that stands for this one they are others.
        end = self.named[world, reached]
        same = [observe(self.configuration, end, lasting) for lasting in (False, True)]
        return step in [*decided, *(_step(each, self._decide(each)) for each in same)]


def _step(snapshot: Object, decision: Object) -> Step:
    """A decision without names: its action, and what its target's workers are."""
    action = decision["action"]
    if action not in checks.STEPS:
        return (action if action in ENDINGS else "a control plane's", None)
    known = {each["machine"]["metadata"]["name"]: each["machine"] for each in snapshot["workers"]["machines"]}
    return (action, tuple(sorted(_plain(known.get(each["machine"])) for each in decision["target"]["workers"])))


def _plain(machine: Any) -> tuple[str, ...]:
    if machine is None:
        return ("made",)
    [owner], state = machine["metadata"]["ownerReferences"], (machine["status"].get("bootstrap") or {}).get("state", "")
    return ("outdated" if owner["name"] == SETS["old"] else "current", state)
