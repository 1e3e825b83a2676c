# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What our own steps do to a world: the good end first, then every point at which a step can break off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from model.configuration import Configuration
from model.render import id_of, index_of, stray_id
from model.world import (
    ABSENT,
    APPLIED,
    BROKEN,
    DOWN,
    FAILED,
    HEALED,
    JOINED,
    JOINING,
    LEARNER,
    NEW,
    NOTHING,
    OPEN,
    REFUSED,
    REMEDIATE,
    RUNNING,
    STALE,
    UNNAMED,
    UNSETTLED,
    UP,
    WORKS,
    Host,
    World,
    api,
    changed,
    grants_add,
    grants_remove,
    has_quorum,
    members,
    without,
)

Object = dict[str, Any]
Ends = list[tuple[str, World]]


def written(world: World, decision: Object) -> World:
    """The world after a decision's status was written to the store; that happens on every pass, before anything is done."""
    status = decision["status"]["controlPlane"]
    annotations = decision.get("annotations", {}).get("controlPlane", {})
    record = world.record
    if any(key.endswith("/remediation-in-progress") and value is None for key, value in annotations.items()):
        record = ""
    hosts = list(world.hosts)
    for name in decision["removedConditions"].get("machines", {}):
        if hosts[index_of(name)].mark == HEALED:
            hosts[index_of(name)] = hosts[index_of(name)]._replace(mark="")
    return world._replace(
        hosts=tuple(hosts),
        latched=world.latched or bool(status.get("initialized")),
        rollout=int((status.get("rollout") or {}).get("replicas") or 0),
        record=record,
        retries=world.retries if record else 0,
    )


def ends(configuration: Configuration, world: World, decision: Object) -> Ends:
    """The worlds that carrying out a decision can lead to, in words; the first is the good end."""
    action, target = decision["action"], decision["target"]
    if action == "createInfrastructure":
        return [("infrastructure made", world._replace(infrastructure=True))]
    if action == "createCertificates":
        return [("certificates made", world._replace(certificates=True))]
    if action in ("initialize", "join"):
        return list(_bootstrap(configuration, world, action, target))
    if action == "remove":
        return list(_remove(configuration, world, decision))
    if action == "removeMember":
        return list(_remove_member(world, target["memberID"]))
    if action == "recoverSingleVoter":
        return list(_recover(world, index_of(target["machine"]), index_of(target["lost"])))
    if action == "applyResourceSets":
        return [
            ("everything was taken", world._replace(sets=APPLIED)),
            ("something was refused", world._replace(sets=REFUSED)),
            ("killed before it was recorded", world),
        ]
    raise AssertionError(f"the model knows no action {action}")


def _bootstrap(configuration: Configuration, world: World, action: str, target: Object) -> Iterator[tuple[str, World]]:
    if target["machine"] is None:
        retry, record = (world.retries, "") if world.record == OPEN else (-1, world.record)
        host = Host(first=action == "initialize", retry=retry)
        begun = world._replace(hosts=(*world.hosts, host))
        index = len(world.hosts)
        made = begun._replace(record=record, retries=0 if not record else world.retries)
    else:
        index = index_of(target["machine"])
        host, begun, made = world.hosts[index], world, world
    if host.mute:
        yield "it has its power again", changed(world, index, mute=False)
        yield "it does not answer", world
        return
    started = made if host.boot == RUNNING else changed(made, index, boot=RUNNING)
    yield from _results(configuration, started, index)
    yield "killed while kubeadm runs", started
    if host.boot != RUNNING:
        yield "killed before kubeadm was started", made
        if world.record == OPEN and target["machine"] is None:
            yield "killed before the record was cleared", begun._replace(record=STALE)


def _results(configuration: Configuration, world: World, index: int) -> Iterator[tuple[str, World]]:
    host = world.hosts[index]
    good: Object = {"boot": JOINED, "member": UP, "parts": WORKS, "node": True}
    if configuration.external:
        good["member"] = ABSENT
    if host.first:
        yield "kubeadm init succeeds", changed(world, index, **good)._replace(initialized=True)
        bad = {**good, "boot": FAILED}
        yield "kubeadm init fails", changed(world, index, boot=FAILED)
        if not configuration.external:
            yield "kubeadm init fails with etcd up", changed(world, index, boot=FAILED, member=UP)
            yield "kubeadm init fails with the API up", changed(world, index, boot=FAILED, member=UP, parts=WORKS)
        yield "kubeadm init fails at its end", changed(world, index, **bad)._replace(initialized=True)
        return
    standing = api(world, *configuration.api) or host.member in (UNNAMED, UP)
    states = [each for each in members(world) if each]
    if host.member:
        states.remove(host.member)
    can_add = host.member or configuration.external or grants_add(states, configuration.learners, configuration.modern)
    if standing and can_add and (configuration.external or not any(each in UNSETTLED for each in states)):
        yield "kubeadm join succeeds", changed(world, index, **good)
    elif not standing or not can_add:
        # Nothing to join: kubeadm gives up, and says so.
        yield "kubeadm join fails", changed(world, index, boot=FAILED)
        return
    yield "kubeadm join fails", changed(world, index, boot=FAILED)
    yield "kubeadm join fails at its end", changed(world, index, **{**good, "boot": FAILED})
    if configuration.external:
        return
    begun, started = (JOINING, LEARNER) if configuration.learners else (UNNAMED, DOWN)
    if configuration.learners:
        yield from _learner(world, index)
    if host.member not in (UP, DOWN, LEARNER):
        yield f"kubeadm join fails with a member {begun}", changed(world, index, boot=FAILED, member=begun)
        yield f"killed with a member {begun}", changed(world, index, member=begun)
    yield f"kubeadm join fails with a member {started}", changed(world, index, boot=FAILED, member=started)
    yield "kubeadm join fails with a voter that died", changed(world, index, boot=FAILED, member=DOWN)
    yield "kubeadm join fails with a voter that works", changed(world, index, boot=FAILED, member=UP)


def _learner(world: World, index: int) -> Iterator[tuple[str, World]]:
    """What comes of a learner that was added before kubeadm was started, where no run is there to promote it."""
    member = world.hosts[index].member
    if member == JOINING and grants_remove(members(world), JOINING):
        yield "kubeadm was never started: its learner is taken back", changed(world, index, boot=NEW, member=ABSENT)
    if member in (ABSENT, JOINING, LEARNER):
        joined: Object = {"member": LEARNER, "node": True}
        yield "killed when kubeadm has ended, before its learner votes", changed(world, index, **joined)


def _remove(configuration: Configuration, world: World, decision: Object) -> Iterator[tuple[str, World]]:
    target = decision["target"]
    index = index_of(target["machine"])
    remediation = decision.get("remediation")
    steps = []
    if remediation:
        kept = tuple(host._replace(remedied=at == index) for at, host in enumerate(world.hosts))
        flagged = world._replace(hosts=kept, record=OPEN, retries=remediation["retryCount"])
        steps.append(("killed after the record was written", flagged))
        world = flagged
    world = changed(world, index, deleting=True, mark="")
    steps.append(("killed after the mark", world))
    host = world.hosts[index]
    refused = ""
    if target["memberID"]:
        listed = {id_of(at): each.member for at, each in enumerate(world.hosts)}
        state = listed.get(target["memberID"], "")
        if state and not grants_remove(members(world), state):
            refused = "etcd refuses the removal"
        elif state:
            for at, each in enumerate(world.hosts):
                if id_of(at) == target["memberID"]:
                    parts = BROKEN if each.parts == WORKS else each.parts
                    world = changed(world, at, member=ABSENT, parts=parts)
            steps.append(("killed after its member went", world))
    if refused:
        yield refused, world
        return
    host = world.hosts[index]
    if host.node and has_quorum(world) | configuration.external:
        world = changed(world, index, node=False)
        steps.append(("killed after its Node went", world))
    left = DOWN if world.hosts[index].member == UP else world.hosts[index].member
    world = changed(world, index, dead=True, parts=NOTHING, member=left)
    steps.append(("killed after its infrastructure went", world))
    gone = without(world, index)
    if not gone.hosts and not world.latched:
        gone = gone._replace(strays=())
    yield "removed", gone
    yield from steps


def _remove_member(world: World, identity: str) -> Iterator[tuple[str, World]]:
    for at, state in enumerate(world.strays):
        if stray_id(at) == identity:
            if not grants_remove(members(world), state):
                yield "etcd refuses the removal", world
            else:
                yield "member removed", world._replace(strays=world.strays[:at] + world.strays[at + 1 :])
            return
    yield "no such member", world


def _recover(world: World, survivor: int, lost: int) -> Iterator[tuple[str, World]]:
    host = world.hosts[lost]
    given_up = {"mark": REMEDIATE} if host.boot == JOINED else {"boot": FAILED}
    noted = changed(world, lost, **given_up)
    alone = changed(changed(noted, lost, member=ABSENT), survivor, member=UP)
    yield "etcd goes on alone", alone
    yield "killed before anything was done", world
    yield "killed after the lost machine was given up", noted


__all__ = ["BROKEN", "NEW", "ends", "written"]
