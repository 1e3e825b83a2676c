# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world that decisions are tried in: machines, what really runs on them, etcd's members, and what the store remembers.

Nothing of the collection is imported here: the world has its own arithmetic, and it is not the planner's prediction.
"""

from __future__ import annotations

from typing import NamedTuple

# How far a machine's bootstrap came, as the store knows it.
NEW, RUNNING, FAILED, JOINED = "new", "running", "failed", "joined"
# What etcd lists for a machine. UNNAMED and JOINING were added and never started, as a voter and as a learner.
ABSENT, UNNAMED, JOINING, LEARNER, UP, DOWN = "", "unnamed", "joining", "learner", "up", "down"
# Its static pods: nothing there, all work, one does not, or nobody knows (the kubelet is silent, the pods may well run).
NOTHING, WORKS, BROKEN, UNKNOWN = "", "works", "broken", "unknown"
# What a person or a health check asks for; healed: the health check is content again, the owner's condition is still there.
MARKED, REMEDIATE, DELETE, HEALED = "marked", "remediate", "delete", "healed"
# The record of a remediation on the control plane.
OPEN, STALE = "open", "stale"
# What changes the running machines in place: an Action that has not ended, a rotation of authorities that one left half done.
ACTION, ROTATION = "an Action", "a rotation"

# Ends the state of a stray member whose control plane Node is still there.
NODE = "*"

VOTERS = (UNNAMED, UP, DOWN)
UNSETTLED = (UNNAMED, JOINING, LEARNER)


class Host(NamedTuple):
    """One control plane machine: what the store holds of it, and what is really there. `mute`: it lost its power while kubeadm ran, and nobody knows."""

    boot: str = NEW
    member: str = ABSENT
    parts: str = NOTHING
    node: bool = False
    deleting: bool = False
    old: bool = False
    mark: str = ""
    dead: bool = False
    first: bool = False
    remedied: bool = False
    retry: int = -1
    mute: bool = False

    @property
    def live(self) -> bool:
        """Whether it is not marked for deletion."""
        return not self.deleting

    @property
    def empty(self) -> bool:
        """Whether nothing of a control plane ever was on it."""
        return self.boot == NEW and not self.member and not self.parts and not self.node


# Of a ClusterResourceSet: to be applied, refused just now, applied.
DUE, REFUSED, APPLIED = "due", "refused", "applied"


class World(NamedTuple):
    """A cluster as it is.

    Hosts come oldest first and are called m1, m2, …; `strays` are members without a machine. `initialized`: kubeadm-config
    is in etcd; `latched`: the store has recorded that once. `rollout`: the recorded size of a rollout under way, 0 for none.
    `record` and `retries`: the remediation that waits for its replacement. `window`: the maintenance window is open. `rising`: the newer of two versions is
    wanted. `beside`: what changes the machines in place meanwhile.
    `sets`: what became of a ClusterResourceSet. `faults`: how many more may happen (-1: no bound).
    """

    hosts: tuple[Host, ...] = ()
    strays: tuple[str, ...] = ()
    replicas: int = 3
    infrastructure: bool = True
    certificates: bool = True
    initialized: bool = True
    latched: bool = True
    rollout: int = 0
    record: str = ""
    retries: int = 0
    window: bool = True
    rising: bool = True
    beside: str = ""
    sets: str = ""
    faults: int = -1


class Figures(NamedTuple):
    """etcd's own count of a member list."""

    voters: int
    up: int

    @property
    def quorum(self) -> int:
        """A majority of the voters."""
        return self.voters // 2 + 1

    @property
    def held(self) -> bool:
        """Whether a majority of them is up."""
        return self.voters > 0 and self.up >= self.quorum


def members(world: World) -> list[str]:
    """The state of every member that etcd lists."""
    return [host.member for host in world.hosts if host.member] + [stray.rstrip(NODE) for stray in world.strays]


def figures(states: list[str]) -> Figures:
    """The count of members in these states."""
    voters = [state for state in states if state in VOTERS]
    return Figures(len(voters), voters.count(UP))


def has_quorum(world: World) -> bool:
    """Whether etcd can commit a change."""
    return figures(members(world)).held


def grants_add(states: list[str], learner: bool, modern: bool = True) -> bool:
    """Whether etcd itself lets a member be added (docs/reference/invariants.md, "What etcd itself refuses").

    `modern`: releases since 3.5.30 and 3.6.11, which ask for a majority of the enlarged cluster; older ones refuse while any
    voter is not connected.
    """
    now = figures(states)
    if not now.held or (learner and any(state in (JOINING, LEARNER) for state in states)):
        return False
    if not modern:
        # A voter that was added and never started is not connected either.
        return now.up == now.voters
    return now.up >= (now.voters + 1) // 2 + 1 or now.voters == 1


def grants_remove(states: list[str], state: str) -> bool:
    """Whether etcd itself lets a member in that state be removed (docs/reference/invariants.md, "What etcd itself refuses")."""
    now = figures(states)
    if not now.held:
        return False
    if state not in VOTERS:
        return True
    if now.voters == 1:
        return False
    if state != UP:
        # It is no part of the majority that commits this, so the rest has one too.
        return True
    return now.up - 1 >= (now.voters - 1) // 2 + 1


def grants_promote(states: list[str], state: str) -> bool:
    """Whether etcd itself makes a voter of a learner: one that started and holds what the leader holds."""
    return state == LEARNER and figures(states).held


def serves(world: World, host: Host, external: bool, broken: bool) -> bool:
    """Whether the host's API server answers: it needs its own etcd member, or an external etcd.

    `broken`: it answers beside a component that is broken, which then is another one.
    """
    parts = (WORKS, UNKNOWN, BROKEN) if broken else (WORKS, UNKNOWN)
    return host.parts in parts and not host.dead and (external or (host.member == UP and has_quorum(world)))


def api(world: World, external: bool, broken: bool) -> bool:
    """Whether any API server answers."""
    return any(serves(world, host, external, broken) for host in world.hosts)


def whole(host: Host, external: bool) -> bool:
    """Whether the host carries a control plane of which everything is known to work."""
    return host.parts == WORKS and host.node and not host.dead and (external or host.member == UP)


def sound(host: Host, external: bool) -> bool:
    """Whether nothing at all is wrong with the host or asked of it."""
    return host.boot == JOINED and host.live and whole(host, external) and host.mark in ("", DELETE, HEALED)


def canonical(world: World, merged: bool, counts: bool) -> World:
    """The one world that stands for all that differ in names only.

    `merged`: also for those that differ in the machines' ages. `counts`: retries are counted (remediation.maxRetry is set).
    """
    hosts = []
    for host in world.hosts:
        if host.deleting:
            host = host._replace(old=False, mark="", retry=-1)
        if host.boot == JOINED and host.first:
            host = host._replace(first=False)
        if not counts and host.retry != -1:
            host = host._replace(retry=-1)
        if host.mute and (host.boot != RUNNING or host.dead):
            host = host._replace(mute=False)
        if host.remedied and not world.record:
            host = host._replace(remedied=False)
        hosts.append(host)
    if merged:
        hosts.sort()
    return world._replace(
        hosts=tuple(hosts), strays=tuple(sorted(world.strays)), retries=world.retries if counts and world.record else 0
    )


def changed(world: World, index: int, **fields: object) -> World:
    """The world with one host changed."""
    hosts = list(world.hosts)
    hosts[index] = hosts[index]._replace(**fields)  # type: ignore[arg-type]
    return world._replace(hosts=tuple(hosts))


def without(world: World, index: int) -> World:
    """The world without a host; its member, if etcd still lists it, stays behind as a stray one."""
    host = world.hosts[index]
    hosts = world.hosts[:index] + world.hosts[index + 1 :]
    left = {UP: DOWN}.get(host.member, host.member)
    strays = (*world.strays, left) if host.member else world.strays
    world = world._replace(hosts=hosts, strays=strays)
    return world if hosts else world._replace(initialized=False, strays=())


def describe(world: World) -> str:
    """A world in one line for people."""
    parts = []
    for number, host in enumerate(world.hosts, 1):
        words = [host.boot]
        words += [f"member {host.member}" if host.member else "no member", host.parts or "nothing runs"]
        words += [] if host.node else ["no Node"]
        words += ["deleting"] if host.deleting else []
        words += ["old"] if host.old else []
        words += [host.mark] if host.mark else []
        words += ["dead"] if host.dead else []
        words += ["mute"] if host.mute else []
        words += ["first"] if host.first else []
        words += ["remedied"] if host.remedied else []
        words += [f"retry {host.retry}"] if host.retry >= 0 else []
        parts.append(f"m{number}({', '.join(words)})")
    text = " ".join(parts) or "no machine"
    said = [f"wanted {world.replicas}"]
    said += [f"strays {', '.join(world.strays)}"] if world.strays else []
    said += [] if world.latched else ["not latched"]
    said += [] if world.initialized else ["not initialized"]
    said += [] if world.infrastructure else ["no infrastructure"]
    said += [] if world.certificates else ["no certificates"]
    said += [f"rollout of {world.rollout}"] if world.rollout else []
    said += [f"remediation {world.record} {world.retries}"] if world.record else []
    said += [] if world.window else ["window closed"]
    said += [f"beside {world.beside}"] if world.beside else []
    return f"{text} | {', '.join(said)}"
