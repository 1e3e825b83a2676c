# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen to a world without us: machines, members and components fail and come back, users and health checks act."""

from __future__ import annotations

from collections.abc import Iterator

from model.configuration import Configuration
from model.world import (
    ABSENT,
    ACTION,
    BROKEN,
    DELETE,
    DOWN,
    DUE,
    HEALED,
    JOINED,
    MARKED,
    NEW,
    NODE,
    NOTHING,
    REFUSED,
    REMEDIATE,
    ROTATION,
    RUNNING,
    UNKNOWN,
    UP,
    WORKS,
    Host,
    World,
    changed,
    without,
)


def faults(configuration: Configuration, world: World) -> Iterator[tuple[str, World]]:
    """Every world that one fault leads to, with the fault in words."""
    if world.faults == 0:
        return
    left = world.faults - 1 if world.faults > 0 else world.faults
    wanted = set(configuration.faults)
    for index, host in enumerate(world.hosts):
        for kind, fields in _of_host(configuration, world, host):
            if kind in wanted:
                yield f"{kind}: m{index + 1}", changed(world, index, **fields)._replace(faults=left)
        if (
            "Machine is lost from the store" in wanted
            and len(world.strays) < configuration.strays
            and len(world.hosts) > 1
        ):
            # Its host runs on, and so does its member; whether its Node is there depends on what a person did to it.
            lost = without(changed(world, index, node=False), index)
            for node in ("", NODE) if host.node else ("",):
                strays = (*world.strays, host.member + node) if host.member else world.strays
                yield f"Machine is lost from the store: m{index + 1}{node}", lost._replace(strays=strays, faults=left)
    for kind, after in _of_user(configuration, world):
        if kind in wanted:
            yield kind, after._replace(faults=left)


def _of_host(configuration: Configuration, world: World, host: Host) -> Iterator[tuple[str, dict[str, object]]]:
    if host.member == UP:
        yield "member dies", {"member": DOWN}
    if host.member == DOWN and host.parts != NOTHING and not host.dead:
        yield "member comes back", {"member": UP}
    if host.parts == WORKS:
        yield "component breaks", {"parts": BROKEN}
        yield "component goes silent", {"parts": UNKNOWN}
    if host.parts in (BROKEN, UNKNOWN) and not host.dead:
        yield "component comes back", {"parts": WORKS}
    if host.boot == JOINED:
        if not host.dead:
            yield "machine dies", {"dead": True, "parts": UNKNOWN, "member": DOWN if host.member == UP else host.member}
        elif host.parts != NOTHING:
            yield (
                "machine comes back",
                {"dead": False, "parts": WORKS, "member": UP if host.member == DOWN else host.member},
            )
    if host.boot in (NEW, RUNNING) and not host.dead:
        yield "unfinished machine dies", {"dead": True, "member": DOWN if host.member == UP else host.member}
    if host.boot == RUNNING and not host.dead and not host.mute:
        yield "joining machine falls silent", {"mute": True, "member": DOWN if host.member == UP else host.member}
    if host.live and not host.mark:
        yield "health check marks", {"mark": MARKED}
        yield "user asks to remediate", {"mark": REMEDIATE}
        yield "user asks to delete first", {"mark": DELETE}
    if host.live and host.mark == MARKED:
        yield "health check unmarks", {"mark": HEALED}
    if host.live and (host.boot != RUNNING or host.mute):
        yield "user deletes a Machine", {"deleting": True, "mark": ""}
    if host.boot == JOINED and host.member:
        yield "user takes a member out", {"member": ABSENT, "parts": BROKEN if host.parts == WORKS else host.parts}
    if host.boot == JOINED and host.node:
        yield "user deletes a Node", {"node": False}


def _of_user(configuration: Configuration, world: World) -> Iterator[tuple[str, World]]:
    if world.hosts:
        flipped = tuple(host if host.deleting else host._replace(old=not host.old) for host in world.hosts)
        if configuration.versions:
            yield "spec flips", world._replace(hosts=flipped, rising=not world.rising)
        else:
            yield "spec flips", world._replace(hosts=flipped)
    for replicas in configuration.replicas:
        if replicas != world.replicas:
            yield "replicas change", world._replace(replicas=replicas)
    if world.sets == REFUSED:
        yield "a refusal is a minute old", world._replace(sets=DUE)
    yield "window turns", world._replace(window=not world.window)
    if world.beside == ACTION:
        yield "a rotation is given up", world._replace(beside=ROTATION)
    elif _quiet(world):
        yield "an Action begins", world._replace(beside=ACTION)
    if world.beside:
        yield "an Action ends", world._replace(beside="")


def _quiet(world: World) -> bool:
    """Whether an Action would begin: nothing is under way, or what waits for the rotation that it completes."""
    waits = world.beside == ROTATION or not (world.rollout or world.record)
    return world.latched and waits and all(host.boot == JOINED and host.live for host in world.hosts)
