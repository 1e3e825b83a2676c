# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way a create can go, walked: our own steps, each ending well, badly, half-way or unseen, up to 3 machines.

The world here is not the planner's prediction: it has its own etcd, and its own idea of what a killed run leaves behind.
Proved in each reachable state: no two joins in flight, no initialize where a control plane exists, no membership change that
costs the quorum, never the last voter removed; and from each state the steps come to an end when nothing more goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Optional

import pytest
from builders import Builder, at, cluster, member_id

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


@dataclass(frozen=True)
class Host:
    """One machine: what the store knows (bootstrap, deleting) and what is really on it."""

    number: int
    bootstrap: str = ""
    deleting: bool = False
    voter: str = ""  # "": no member, "up", "dead", "learner": added and never started
    serves: bool = False
    node: bool = False
    init: bool = False

    @property
    def name(self) -> str:
        return f"m{self.number}"


@dataclass(frozen=True)
class World:
    """A cluster as it is. `initialized`: kubeadm-config is in etcd; `latched`: the store has seen that once."""

    infrastructure: bool = False
    certificates: bool = False
    hosts: tuple[Host, ...] = ()
    initialized: bool = False
    latched: bool = False
    seen: bool = True

    @property
    def voters(self) -> list[Host]:
        return [host for host in self.hosts if host.voter in ("up", "dead")]

    @property
    def has_quorum(self) -> bool:
        up = [host for host in self.voters if host.voter == "up"]
        return bool(self.voters) and len(up) >= len(self.voters) // 2 + 1

    @property
    def api(self) -> bool:
        return self.has_quorum and any(host.serves for host in self.hosts)

    def change(self, number: int, **fields: Any) -> World:
        return replace(
            self, hosts=tuple(replace(host, **fields) if host.number == number else host for host in self.hosts)
        )


def observe(world: World, replicas: int, lasting: bool) -> dict[str, Any]:
    """The snapshot of a world, as the collection observes it: only machines whose bootstrap succeeded are asked."""
    builder = cluster(replicas)
    if not world.infrastructure:
        builder.bare()
    for facts in builder.snapshot["certificates"].values():
        facts["present"] = world.certificates
    for host in sorted(world.hosts, key=lambda each: each.number):
        builder.machine(
            host.name, host.bootstrap if host.bootstrap != "Succeeded" else "", age=10000 - host.number, init=host.init
        )
        if host.bootstrap:
            builder.entry(host.name)["machine"]["status"]["bootstrap"] = {
                "state": host.bootstrap,
                "message": "",
                "startedAt": at(9000 if lasting else 10),
            }
        if host.deleting:
            builder.deleting(host.name)
    _answers(builder, world)
    if world.latched:
        for owner in ("cluster", "controlPlane"):
            builder.snapshot[owner]["status"]["initialization"] = {"controlPlaneInitialized": True}
    if lasting:
        for kind in ("EtcdClusterHealthy", "ControlPlaneComponentsHealthy"):
            builder.stored(kind, "False", 500)
        builder.stored("RemoteConnectionProbe", "False", 500, "cluster")
        builder.stored("ControlPlaneEndpointReachable", "Unknown", 500, "cluster")
    return builder.build()


def _answers(builder: Builder, world: World) -> None:
    asked = [host for host in world.hosts if host.bootstrap == "Succeeded"]
    if not world.infrastructure:
        return
    if not world.seen:
        builder.unreachable()
        return
    builder.endpoint(world.api)
    if not world.api or not any(host.serves for host in asked):
        return
    builder.workload.update(reachable=True, via=asked[0].name, initialized=world.initialized)
    builder.etcd()
    for host in world.hosts:
        if host.node:
            builder.node(host.name)
            state = {"phase": "Running", "ready": host.serves}
            builder.workload["pods"][host.name] = {
                component: dict(state)
                for component in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
            }
        if host.voter:
            learner = host.voter == "learner"
            builder.member(
                host.name,
                healthy=host.voter == "up",
                learner=learner,
                unnamed=learner,
                address=f"10.0.0.{_place(world, host)}",
            )
    leader = next(host for host in world.voters if host.voter == "up")
    builder.workload["etcd"]["leader"] = member_id(leader.name)


def _place(world: World, host: Host) -> int:
    return [each.number for each in sorted(world.hosts, key=lambda each: each.number)].index(host.number) + 1


def bootstrap_ends(world: World, host: Host) -> Iterator[World]:
    """How kubeadm can end on a machine; the first is the good end."""
    working = {"voter": "up", "serves": True, "node": True}
    if host.init:
        yield replace(world.change(host.number, bootstrap="Succeeded", **working), initialized=True)
        yield world.change(host.number, bootstrap="Failed")
        yield world.change(host.number, bootstrap="Failed", voter="up")
        yield replace(world.change(host.number, bootstrap="Failed", voter="up", serves=True), initialized=False)
        yield replace(world.change(host.number, bootstrap="Failed", **working), initialized=True)
        return
    yield world.change(host.number, bootstrap="Succeeded", **working)
    yield world.change(host.number, bootstrap="Failed")
    if world.has_quorum:
        yield world.change(host.number, bootstrap="Failed", voter="dead")
        yield world.change(host.number, bootstrap="Failed", voter="learner")
        yield world.change(host.number, bootstrap="Failed", voter="dead", node=True)
        yield world.change(host.number, bootstrap="Failed", **working)


def act(world: World, decision: dict[str, Any]) -> list[World]:
    """The worlds an action can lead to, killed runs included; the first is the good end. Checks that the action is safe."""
    action, target = decision["action"], decision["target"]
    if action == "createInfrastructure":
        return [replace(world, infrastructure=True), world]
    if action == "createCertificates":
        assert not world.initialized
        return [replace(world, certificates=True), world]
    if action in ("initialize", "join"):
        return _bootstrap(world, action, target["machine"])
    assert action == "remove"
    return _remove(world, target["machine"], target["memberID"])


def _bootstrap(world: World, action: str, name: Optional[str]) -> list[World]:
    host = next((each for each in world.hosts if each.name == name), None)
    running = [each for each in world.hosts if each.bootstrap == "Running"]
    if host is None:
        number = max((each.number for each in world.hosts), default=0) + 1
        host = Host(number, init=action == "initialize")
        world = replace(world, hosts=(*world.hosts, host))
    if host.bootstrap != "Running":
        assert not running, "two bootstraps in flight"
        if action == "initialize":
            assert not world.api, "initialize where an API answers"
            assert not world.initialized, "initialize where a control plane exists"
        else:
            assert world.has_quorum, "join without quorum"
            assert all(each.voter == "up" for each in world.hosts if each.voter), (
                "join beside an unfinished or dead member"
            )
            assert not any(each.deleting for each in world.hosts)
    assert host.init == (action == "initialize")
    started = world.change(host.number, bootstrap="Running")
    ends = list(bootstrap_ends(started, replace(host, bootstrap="Running")))
    return [ends[0], *ends[1:], world, started]


def _remove(world: World, name: str, member: Optional[str]) -> list[World]:
    host = next(each for each in world.hosts if each.name == name)
    rest = replace(world, hosts=tuple(each for each in world.hosts if each != host))
    if world.latched or (world.initialized and len(world.hosts) > 1):
        assert rest.voters, "the last voter removed"
        if host.voter:
            assert world.has_quorum, "a membership change without quorum"
            assert member == member_id(name)
            assert rest.has_quorum, "the quorum lost"
            assert rest.api
    else:
        assert not world.initialized, "an initialized control plane thrown away"
    if not rest.hosts:
        rest = replace(rest, initialized=False)
    marked = world.change(host.number, deleting=True)
    left = marked.change(host.number, voter="", serves=False)
    return [rest, marked, left if not host.init or world.initialized else marked]


def canonical(world: World) -> World:
    """Machines renumbered in order, so that a world that only counted on is the same world."""
    hosts = sorted(world.hosts, key=lambda each: each.number)
    return replace(world, hosts=tuple(replace(host, number=number) for number, host in enumerate(hosts, start=1)))


def step(world: World, replicas: int, lasting: bool) -> tuple[dict[str, Any], World]:
    """Observe and decide; the store remembers what was seen (the latch), as the status writer does."""
    decision = decide(observe(world, replicas, lasting))
    latched = decision["status"]["controlPlane"]["initialized"]
    return decision, replace(world, latched=world.latched or latched)


def faults(world: World) -> Iterator[World]:
    """A machine that had joined dies (at most one at a time), or comes back."""
    joined = [host for host in world.hosts if host.bootstrap == "Succeeded"]
    for host in joined:
        if host.voter == "dead":
            yield world.change(host.number, voter="up", serves=True)
        elif host.voter == "up" and not any(each.voter == "dead" for each in joined):
            yield world.change(host.number, voter="dead", serves=False)


def walk(replicas: int, lasting: bool) -> dict[World, dict[str, Any]]:
    """Every world that can be reached, with its decision."""
    decisions: dict[World, dict[str, Any]] = {}
    todo = [World()]
    while todo:
        world = todo.pop()
        if world in decisions:
            continue
        decision, after = step(world, replicas, lasting)
        decisions[world] = decision
        todo += faults(world)
        if decision["action"] not in ("wait", "blocked", "none"):
            for reached in act(after, decision):
                todo += [canonical(replace(reached, seen=seen)) for seen in (True, False)]
        elif after != world or not world.seen:
            todo.append(replace(after, seen=True))
    return decisions


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("lasting", [False, True])
def test_every_way_a_create_can_go(replicas: int, lasting: bool) -> None:
    decisions = walk(replicas, lasting)
    assert len(decisions) > (20 if replicas == 1 else 120)
    for world, decision in decisions.items():
        assert sum(1 for host in world.hosts if host.bootstrap == "Running") <= 1
        if decision["action"] == "none":
            assert len(world.hosts) == replicas
            assert all(host.voter == "up" and host.serves and not host.deleting for host in world.hosts)
        if decision["action"] == "blocked":
            assert decision["blockedOn"][0]["fix"]
        if not lasting and decision["action"] == "blocked":
            # What blocks at once is never something that another look could clear up.
            assert decision["blockedOn"][0]["reason"] in (
                "CannotBeRemediated",
                "ForeignControlPlane",
                "ControlPlaneLost",
            )
    assert {decision["action"] for decision in decisions.values()} >= {
        "initialize",
        "remove",
        "none",
        "createCertificates",
    }


@pytest.mark.parametrize("replicas", [1, 3])
def test_from_everywhere_it_ends_when_nothing_more_goes_wrong(replicas: int) -> None:
    for start in walk(replicas, True):
        world = replace(start, seen=True)
        for _step in range(20):
            decision, world = step(world, replicas, True)
            if decision["action"] in ("wait", "blocked", "none"):
                break
            world = canonical(act(world, decision)[0])
        else:
            pytest.fail(f"no end after 20 good steps from {start}")
