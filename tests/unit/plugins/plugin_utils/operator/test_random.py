# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions with everything that can happen to them, at random: what must always hold, holds."""

from __future__ import annotations

import random
import typing as t

import pytest
from operator_cases import CLUSTER, action, facts, group, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import flow, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.matching import Execution
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import (
    TASK,
    Secrets,
    TaskRecord,
    next_command,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.overlay import OverlayStore

Object = dict[str, t.Any]
ENOUGH = 400


class Killed(Exception):
    """The run dies here."""


class Life:
    """One Action, a person who interferes, and runs that die."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        store = OverlayStore(None, "2026-01-01T00:00:00Z")
        self.where = Executions(store, "default", CLUSTER)
        nodes = [node(f"cp-{number}") for number in range(self.random.randint(1, 3))]
        nodes += [node(f"w-{number}", "") for number in range(self.random.randint(0, 4))]
        groups = [self._group(number) for number in range(self.random.randint(1, 3))]
        mode = {"executionMode": self.random.choice([actions.AUTO, actions.CONTROLLED])}
        root = hub(action(*groups, **mode))
        self.plan = freeze.freeze(root, facts(*nodes), "2026-01-01T00:00:00Z")
        self.root = self.where.begin(self.where.put(root), self.plan)
        self.done: list[tuple[str, int]] = []

    def _group(self, number: int) -> Object:
        commands = ["pass"] * self.random.randint(1, 3)
        if self.random.random() < 0.5:
            return group(f"g-{number}", *commands)
        most = self.random.randint(1, 3)
        return group(f"g-{number}", *commands, selector={}, policy="Parallel", maxUnavailable=most)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def live(self) -> str:
        """Until it has ended; returns how."""
        for _each in range(ENOUGH):
            try:
                execution, step = self.where.advance(self.root)
                self.check(execution)
                if step.kind in (flow.COMPLETED, flow.ABORTED):
                    return step.kind
                if step.kind == flow.RUN:
                    for name in step.tasks:
                        self.task(name)
                        self.person(execution, 0.1)
                else:
                    self.person(execution, 0.9)
            except Killed:
                continue
        raise AssertionError(f"no end after {ENOUGH} runs")

    def task(self, name: str) -> None:
        """A Task, which may fail or be killed after any write."""

        def written() -> None:
            if self.chance(0.1):
                raise Killed

        record = TaskRecord(self.where.store, "default", name, Secrets())
        task = record.begin()
        written()
        for index in range(next_command(task), len(task["spec"]["commands"])):
            assert (name, index) not in self.done, "a command that had ended is run again"
            record.begin_command(index, "pass")
            written()
            if self.chance(0.15):
                record.fail(index, "pass", "bad luck")
                return
            record.end_command(index)
            self.done.append((name, index))
            written()
        record.complete()
        written()

    def person(self, execution: Execution, eager: float) -> None:
        """Somebody says something, mostly what helps."""
        if not self.chance(eager):
            return
        tasks = list(self.where.load(self.root).tasks.values())
        failed = [each for each in tasks if (each.get("status") or {}).get("errorReason")]
        waiting = [each for each in tasks if not (each.get("status") or {}).get("startTime")]
        paused = self.where.load(self.root).root["spec"].get("paused")
        if paused:
            self.say(self.root, paused=False)
        elif failed:
            mode = self.random.choice([actions.RETRY, actions.SKIP])
            self.say(self.random.choice(failed), recoveryMode=mode)
        elif waiting and self.chance(0.9):
            self.say(self.random.choice(waiting), approved=True)
        elif self.chance(0.3):
            self.say(self.root, paused=True)
        elif self.chance(0.1):
            left = self.random.choice(self.plan["groups"][0]["nodes"])
            self.say(self.root, leftOut=sorted({*self.where.load(self.root).left_out, left}))
        elif self.chance(0.05):
            self.say(self.root, abort=True)

    def say(self, obj: Object, **spec: t.Any) -> None:
        kind = TASK if obj["kind"] == actions.TASK else actions.kind_ref(obj["kind"])
        self.where.store.modify(kind, "default", obj["metadata"]["name"], lambda each: each["spec"].update(spec))

    def check(self, execution: Execution) -> None:
        """What must hold whenever somebody looks."""
        before_is_done = True
        for planned in self.plan["groups"]:
            tasks = execution.tasks_of(planned)
            assert before_is_done or not tasks, "a group was begun before the one before it was complete"
            open_ones = [each for each in tasks if not (each.get("status") or {}).get("completionTime")]
            assert len(open_ones) <= int(planned["maxUnavailable"]), "more Tasks at a time than the budget lets"
            made = [each["spec"]["nodeName"] for each in tasks]
            last = max((planned["nodes"].index(each) for each in made), default=-1)
            earlier = set(planned["nodes"][: last + 1])
            assert earlier <= {*made, *execution.left_out}, "Tasks were made out of order"
            obj = execution.group_object(planned)
            before_is_done = bool(obj and (obj.get("status") or {}).get("completionTime"))
            if before_is_done:
                assert not open_ones and {*made, *execution.left_out} >= {*planned["nodes"]}
        status = execution.root["status"]
        if status["phase"] == "Succeeded":
            assert before_is_done and not status.get("errorReason") and not status["paused"]
        if status["phase"] == "Failed":
            assert status["errorMessage"] and status["paused"]


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_whatever_happens_the_rules_hold_and_it_ends(first: int) -> None:
    ends = {Life(seed).live() for seed in range(first, first + 25)}
    assert flow.COMPLETED in ends
