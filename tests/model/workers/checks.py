# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold in every world of a deployment, counted from the world and never with the code under test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from model.checks import ENDINGS
from model.workers.fleet import (
    BEHIND,
    BETWEEN,
    DARK,
    ENDED,
    FAILED,
    ILL,
    JOINED,
    NEW,
    RUNNING,
    SPOILT,
    WELL,
    Fleet,
    Rollout,
    Worker,
)
from model.workers.render import index_of, made_of, version_of

Object = dict[str, Any]
STEPS = ("joinWorkers", "removeWorkers")


def check(rollout: Rollout, fleet: Fleet, decision: Object, lasting: bool) -> Iterator[str]:
    """Everything that is wrong with a decision in a world."""
    action = decision["action"]
    if action in STEPS:
        yield from _when(fleet)
        entries = decision["target"]["workers"]
        names = [each["machine"] for each in entries if each["machine"] is not None]
        if len(set(names)) != len(names) or any(each["deployment"] != "workers" for each in entries):
            yield f"W3: a target that names workers twice, or none of them: {entries}"
        if any(fleet.workers[index_of(name)].stuck for name in names):
            yield "W8: a worker is tried again that this run could not remove"
        yield from (_join if action == "joinWorkers" else _removal)(rollout, fleet, entries)
    elif action in ENDINGS:
        yield from _ending(rollout, fleet, decision, lasting)


def _when(fleet: Fleet) -> Iterator[str]:
    if fleet.control in (ILL, DARK):
        yield f"W1: a step about workers while the control plane is {fleet.control}"
    if fleet.control in (BEHIND, BETWEEN) and fleet.window:
        yield "W1: a step about workers before the control plane's"
    if fleet.beside or fleet.paused:
        yield "W1: a step about workers beside an Action, or of a paused deployment"


def _join(rollout: Rollout, fleet: Fleet, entries: list[Object]) -> Iterator[str]:
    made = [made_of(fleet, each) for each in entries if each["machine"] is None]
    named = [fleet.workers[index_of(each["machine"])] for each in entries if each["machine"] is not None]
    surge, _unavailable = rollout.most
    # What is to be replaced may be replaced before it goes.
    staying = [each for each in fleet.live if not each.mark]
    current = [each for each in staying if each.template == fleet.template]
    if made:
        if set(made) != {fleet.template}:
            yield "W2: a worker is made from a template that isn't the deployment's"
        if len(fleet.workers) + len(made) > fleet.wanted + surge:
            yield f"W2: {len(fleet.workers) + len(made)} workers, and {fleet.wanted} and {surge} may be"
        if len(current) + len(made) > fleet.wanted:
            yield "W2: more current workers than are wanted"
        # Without consent one that has joined isn't.
        kept = [each for each in fleet.live if not each.mark or each.boot == JOINED]
        if rollout.ask and not fleet.window and len(kept) + len(made) > fleet.wanted:
            yield "W6: a worker is made to replace another one, without consent"
    begun = made + [each.template for each in named if each.boot == NEW]
    if begun and (
        fleet.control in (BEHIND, BETWEEN) or any(version_of(rollout, each) > fleet.lowest for each in begun)
    ):
        yield "W4: a worker joins that is newer than the control plane, or before it is done"
    for each in named:
        if each.deleting or each.boot not in (NEW, ENDED, SPOILT) or (each.boot == NEW and each.mark):
            yield f"W3: a join goes on with {each}"


def _removal(rollout: Rollout, fleet: Fleet, entries: list[Object]) -> Iterator[str]:
    going = [index_of(each["machine"]) for each in entries]
    taken = [fleet.workers[index] for index in going]
    left = [each for index, each in enumerate(fleet.workers) if index not in going and not each.deleting]
    asked = [each for each in taken if each.deleting or each.mark]
    chosen = [each for each in taken if not (each.deleting or each.mark)]
    old = [each for each in chosen if each.template != fleet.template]
    new = [each for each in chosen if each.template == fleet.template]
    yield from _remediated(rollout, fleet, asked, left)
    staying = [each for each in left if each.template == fleet.template]
    if new and len(staying) < fleet.wanted:
        yield f"W3: current workers go without a cause, and {len(staying)} of {fleet.wanted} stay"
    if rollout.strategy == "OnDelete":
        if old and len(left) < fleet.wanted:
            yield "W3: OnDelete, and outdated workers go that are wanted"
        return
    if not old:
        return
    least = fleet.wanted - min(rollout.unavailable, fleet.wanted)
    if any(each.available for each in old) and sum(each.available for each in left) < least:
        yield f"W5: available workers go, and fewer than {least} stay available"
    waiting = sum(1 for each in staying if not each.available)
    if len(left) - waiting < least:
        yield f"W5: outdated workers go while {waiting} new ones don't work yet"
    # Where as many outdated ones as are wanted stay, nothing has to come in their place.
    if len(left) - len(staying) >= fleet.wanted:
        return
    if rollout.ask and not fleet.window:
        yield "W6: an outdated worker goes without consent"
    if fleet.control in (BEHIND, BETWEEN) or version_of(rollout, fleet.template) > fleet.lowest:
        yield "W4: an outdated worker goes, and nothing may come in its place"


def _remediated(rollout: Rollout, fleet: Fleet, asked: list[Worker], left: list[Worker]) -> Iterator[str]:
    """A marked worker of the current template goes as one too many, or as one that is replaced."""
    begun = sum(1 for each in fleet.workers if each.deleting and each.mark)
    replaced = [each for each in asked if not each.deleting and each.template == fleet.template]
    surplus = len([each for each in fleet.live if each.template == fleet.template]) - fleet.wanted
    if rollout.ask and not fleet.window and sum(each.boot == JOINED for each in replaced) > max(0, surplus):
        yield "W6: a worker is remediated without consent"
    replaced = replaced[max(0, surplus) :]
    if replaced and fleet.control in (BEHIND, BETWEEN):
        yield "W4: a worker is replaced before the control plane has its version"
    if 0 <= rollout.flight < begun + len(replaced) and replaced:
        yield f"W7: {begun + len(replaced)} are remediated at once, and {rollout.flight} may be"


def _ending(rollout: Rollout, fleet: Fleet, decision: Object, lasting: bool) -> Iterator[str]:
    action = decision["action"]
    if action == "blocked" and not all(each["fix"] for each in decision["blockedOn"][:1]):
        yield "I10: blocked, and nothing is said of what to do"
    if fleet.beside or fleet.paused or fleet.control == DARK:
        return
    if action == "wait" and lasting and not any(each.boot == RUNNING and not each.mute for each in fleet.workers):
        yield f"I10: waits for ever: {decision['blockedOn'][0]['reason']}"
    free = (
        fleet.control == WELL
        and (fleet.window or not rollout.ask)
        and version_of(rollout, fleet.template) <= fleet.lowest
    )
    if not free:
        return
    stuck = [each for each in fleet.workers if each.stuck]
    if stuck and action not in ("blocked", "wait"):
        yield f"W8: {action}, and a worker could not be removed"
    if any(not each.stuck and (each.deleting or each.boot in (ENDED, SPOILT)) for each in fleet.workers):
        yield f"I10: {action}, and what was begun isn't finished"
    # One that can't go keeps its place among those that may exist.
    room = not stuck or len(fleet.workers) < fleet.wanted + rollout.most[0]
    if room and len(fleet.live) < fleet.wanted:
        yield f"I10: {action} with {len(fleet.live)} of {fleet.wanted} workers"
    if any(each.boot == NEW and each.template == fleet.template and not each.mark for each in fleet.live):
        yield f"I10: {action}, and a worker was never started"
    replaced = [each for each in fleet.live if each.template == fleet.template and each.mark]
    if replaced and rollout.flight != 0:
        yield f"I10: {action}, and a worker is to be remediated"
    if len([each for each in fleet.live if each.template == fleet.template]) > fleet.wanted:
        yield f"I10: {action}, and there are too many workers"
    rolls = rollout.strategy != "OnDelete"
    if action == "none" and rolls and any(each.template != fleet.template for each in fleet.live):
        yield "I10: nothing to do, and a worker is outdated"
    if action == "none" and any(each.boot in (RUNNING, FAILED) for each in fleet.live):
        yield "I10: nothing to do, and a worker has not joined"
    left = [each for each in fleet.live if not rolls and each.template != fleet.template and each.mark]
    if left and action not in ("blocked", "wait"):
        yield f"I10: {action}, and a worker that is to be remediated is left to a rollout that there is none of"
    if lasting and action != "none" and not left and all(each.available for each in fleet.workers):
        yield f"I10: {action}, and nothing is wrong"
    new = [each for each in fleet.live if each.template == fleet.template]
    spare = sum(each.available for each in fleet.live) > fleet.wanted - rollout.most[1]
    if rolls and (room or spare) and all(each.available for each in new) and len(new) < len(fleet.live):
        yield f"I10: {action}, and the rollout could go on"
