# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold where a decision ends a pass, and of the leader: the second half of what is checked in every world.

What each number stands for: docs/reference/invariants.md, "What always holds".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from model.configuration import Configuration
from model.render import name_of
from model.world import (
    ACTION,
    DUE,
    FAILED,
    JOINED,
    NEW,
    REFUSED,
    ROTATION,
    UP,
    World,
    figures,
    has_quorum,
    members,
    sound,
    whole,
)

Object = dict[str, Any]
# What a wait may go on for although nothing in the world changes by itself: the user's own gate decides when it ends.
_USERS_WAITS = ("ReadinessGateNotMet",)
# What is held back while the machines are changed in place.
_HELD = {"ActionUnfinished": ACTION, "RotationUnfinished": ROTATION}


def ending(configuration: Configuration, world: World, decision: Object, lasting: bool) -> Iterator[str]:
    """What is wrong with an ending in a world that was wholly seen: nothing left undone, no wait without an end, no needless block."""
    action = decision["action"]
    external = configuration.external
    live = [host for host in world.hosts if host.live]
    if action == "none":
        if len(live) != len(world.hosts):
            yield "I10: nothing to do, and a machine is still being deleted"
        if len(live) != world.replicas:
            yield f"I10: nothing to do with {len(live)} of {world.replicas} machines"
        if world.sets in (DUE, REFUSED):
            yield "I10: nothing to do, and a resource set is not applied"
        if any(host.old for host in live):
            yield "I10: nothing to do, and a machine is not up to date"
        if not all(host.boot == JOINED and whole(host, external) for host in live) or world.strays:
            yield "I6: nothing to do, and not everything is proven healthy"
        if any(host.mark in ("marked", "remediate") for host in live):
            yield "I10: nothing to do, and a machine is to be remediated"
        if not external and figures(members(world)).up != world.replicas:
            yield "I10: nothing to do, and etcd has not one voter for each machine"
    if action == "wait" and lasting and not any(each["reason"] in _USERS_WAITS for each in decision["blockedOn"]):
        yield f"I10: waits for ever: {decision['blockedOn'][0]['reason']}"
    if lasting and action in ("blocked", "wait"):
        yield from _needless(configuration, world, decision)


def _needless(configuration: Configuration, world: World, decision: Object) -> Iterator[str]:
    """What can be done safely is done: a rule that blocks everything would pass every other check."""
    external = configuration.external
    said = decision["blockedOn"][0]["reason"]
    if said in _HELD and _HELD[said] != world.beside:
        yield f"I10: {said}, and there is none"
    if said == "ResourceRefused" and world.sets != REFUSED:
        yield "I10: ResourceRefused, and nothing was refused"
    if world.beside == ACTION:
        # Whatever is to be done waits for its end.
        return
    free = configuration.replace == "allow" and configuration.gate in ("", "True") and not configuration.versions
    if not free or world.strays or not world.hosts or not world.latched:
        return
    if all(sound(host, external) for host in world.hosts) and said not in (*_HELD, "ResourceRefused"):
        yield f"I10: {said}, and nothing is wrong"
    ill = [host for host in world.hosts if not sound(host, external)]
    if len(ill) != 1 or len(world.hosts) < 2:
        return
    host = ill[0]
    rest = members(world)
    if host.member:
        rest.remove(host.member)
    left = figures(rest)
    safe = external or (left.held and has_quorum(world))
    gone = host.deleting or host.boot == FAILED or (host.boot == NEW and host.old)
    broken = host.boot == JOINED and host.mark in ("marked", "remediate") and not world.record
    known = bool(host.node or host.member or external or host.boot == FAILED or host.deleting)
    limited = configuration.counts and not host.deleting and host.boot != NEW
    if safe and known and not limited and (gone or broken):
        yield f"I10: {said}, and the one machine that is ill could go safely"


def leadership(world: World, index: int, first: Object, second: Object) -> Iterator[str]:
    """The leader is not what a decision depends on, and it is handed over before its machine goes.

    `first` was decided with another leader, `second` with the machine's own member leading.
    """
    for key in ("action", "target"):
        if first[key] != second[key]:
            yield f"I14: with another leader {key} is {first[key]}, not {second[key]}"
    moved = second.get("leadership")
    able = [
        name_of(at)
        for at, host in enumerate(world.hosts)
        if at != index and host.live and host.member == UP and host.node and not host.dead
    ]
    if moved is None:
        yield f"I1: m{index + 1} leads etcd and goes, and nobody is to lead instead"
        return
    # A member has its Node's name, which may have more than the machine's.
    if moved["from"].partition(".")[0] != name_of(index) or not moved["to"]:
        yield f"I1: leadership goes from {moved['from']} to {moved['to']}"
    if any(name not in able for name in moved["to"]):
        yield f"I6: leadership may go to {moved['to']}, able are {able}"
