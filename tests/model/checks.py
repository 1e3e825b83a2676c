# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold in every world: the invariants, told from the world and never with the code under test.

What each number stands for: docs/reference/invariants.md, "What always holds".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

from model.configuration import Configuration
from model.endings import ending
from model.render import id_of, index_of, stray_id
from model.world import (
    ABSENT,
    ACTION,
    DUE,
    FAILED,
    JOINED,
    NEW,
    NODE,
    OPEN,
    RUNNING,
    UNSETTLED,
    UP,
    VOTERS,
    Host,
    World,
    api,
    figures,
    has_quorum,
    members,
    whole,
)

Object = dict[str, Any]
ENDINGS = ("wait", "postponed", "blocked", "none")
_POSTPONED = ("OutsideMaintenanceWindow", "ReplacementNotApproved", "RemediationDeferred")


def check(
    configuration: Configuration, world: World, decision: Object, lasting: bool, seen: Optional[str] = None
) -> Iterator[str]:
    """What is wrong with a decision in a world, each begun with the invariant's number.

    `world` is what may be believed of the true one: where something was not observed, its worst case. `seen` names what the
    observation lacked or contradicted, None where it was whole. `lasting`: everything has been like this for long.
    """
    action = decision["action"]
    if action in ENDINGS:
        yield from _shape(decision)
        if seen is None:
            yield from ending(configuration, world, decision, lasting)
        return
    if not decision["reasons"]:
        yield "I10: an action without a reason"
    if action == "applyResourceSets" and (world.sets != DUE or not world.initialized):
        yield f"I10: a resource set is applied that is {world.sets or 'not there'}, or to no control plane"
    if world.beside:
        yield from _beside(world, decision)
    if seen is not None and not _harmless(world, decision):
        yield from _contradicted(world, decision, seen)
    if action == "createCertificates" and (world.initialized or world.latched):
        yield "I8: certificates made anew where a control plane exists"
    if action in ("initialize", "join"):
        yield from _bootstrap(configuration, world, decision)
    elif action == "remove":
        yield from _remove(configuration, world, decision, lasting)
    elif action == "removeMember":
        yield from _remove_member(configuration, world, decision, lasting)
    elif action == "recoverSingleVoter":
        yield from _recover(configuration, world, decision)
    if action in ("join", "remove"):
        yield from _pace(configuration, world, decision, lasting)
    if action in ("join", "remove", "removeMember"):
        yield from _certificate(configuration, world, decision)


def _beside(world: World, decision: Object) -> Iterator[str]:
    """One change at a time, those in place included."""
    action = decision["action"]
    if world.beside == ACTION:
        yield f"I2: {action} beside an Action that has not ended"
        return
    if action in ("initialize", "join"):
        yield "I2: a machine is made with one authority of a rotation that is not over"
    if action == "remove":
        index = index_of(decision["target"]["machine"])
        host = world.hosts[index]
        ill = host.mark in ("marked", "remediate") or host.member == ABSENT or host.remedied
        if host.live and host.boot == JOINED and not ill:
            yield f"I2: m{index + 1} goes by choice, and no machine can be made until {world.beside} is over"


def _recover(configuration: Configuration, world: World, decision: Object) -> Iterator[str]:
    """The one exception to "Quorum stays": two voters, one of them lost, and a person who said so."""
    target = decision["target"]
    survivor, lost = index_of(target["machine"]), index_of(target["lost"])
    kept, gone = world.hosts[survivor], world.hosts[lost]
    if not configuration.consent:
        yield "I1: etcd forced to one member without consent"
    if has_quorum(world) or configuration.external:
        yield "I1: etcd forced to one member although it has its quorum"
    if [state for state in members(world) if state in VOTERS] != members(world) or len(members(world)) != 2:
        yield f"I1: etcd forced to one member of {members(world)}"
    if kept.boot != JOINED or kept.dead or kept.member not in VOTERS or target["memberID"] != id_of(lost):
        yield f"I5: etcd forced on m{survivor + 1} ({kept.boot}, member {kept.member}) without {target['memberID']}"
    if gone.member == UP or (gone.boot == JOINED and not gone.dead):
        yield f"I1: m{lost + 1} is given up, and it may come back"
    if any(each.boot != NEW for at, each in enumerate(world.hosts) if at not in (survivor, lost)):
        yield "I1: etcd forced to one member where a third machine was begun"


def _shape(decision: Object) -> Iterator[str]:
    action, blocked = decision["action"], decision["blockedOn"]
    if action == "none":
        return
    if not blocked or not all(each["reason"] and each["message"] for each in blocked):
        yield f"I10: {action} without a reason"
    if action == "blocked" and not any(each.get("fix") for each in blocked):
        yield f"I10: blocked without a fix: {blocked[0]['reason']}"
    if action == "postponed" and not any(each["reason"] in _POSTPONED for each in blocked):
        yield f"I10: postponed for {[each['reason'] for each in blocked]}"


def _harmless(world: World, decision: Object) -> bool:
    """Whether the act changes nothing that was not known: going on with what runs anyway, or taking away what never began."""
    target = decision["target"]
    if decision["action"] in ("createInfrastructure", "createCertificates", "applyResourceSets"):
        return True
    if not target or not target.get("machine"):
        return False
    host = world.hosts[index_of(target["machine"])]
    return host.boot == RUNNING if decision["action"] in ("initialize", "join") else host.empty


def _contradicted(world: World, decision: Object, seen: str) -> Iterator[str]:
    action = decision["action"]
    machine = (decision["target"] or {}).get("machine")
    # A machine whose bootstrap failed is no voter that works: to remove it no second witness is asked.
    healing = decision.get("remediation") is not None and world.hosts[index_of(machine)].boot == JOINED
    if seen in ("a member silent", "an alarm"):
        # Judged in the world in which that member is dead: what is right there is right.
        return
    if seen == "one-sided view" and action != "join" and not healing:
        # The same; and a person who deletes a machine needs no witness that it is ill.
        return
    if seen == "no witness" and ((not healing and action != "join") or all(state == UP for state in members(world))):
        return
    if seen == "endpoint unknown" and action in ("remove", "removeMember"):
        # The endpoint says nothing about the members: healing goes on. Nothing is added without it.
        return
    if seen == "no leader" and action == "remove" and not world.hosts[index_of(machine)].member:
        # Nothing is to be committed.
        return
    yield f"I7: {action} {machine or ''} although {seen}"


def _owed(world: World) -> bool:
    """Whether a machine was removed for a remediation and its replacement is not there yet."""
    return world.record == OPEN and not any(host.remedied for host in world.hosts)


def _unfinished(world: World, but: int = -1) -> list[int]:
    return [at for at, host in enumerate(world.hosts) if at != but and host.boot != JOINED]


def _bootstrap(configuration: Configuration, world: World, decision: Object) -> Iterator[str]:
    action, target = decision["action"], decision["target"]
    external = configuration.external
    index = index_of(target["machine"]) if target["machine"] else -1
    host = world.hosts[index] if index >= 0 else None
    if host is not None and host.boot == NEW and (host.dead or host.mark in ("marked", "remediate")):
        yield f"I10: {action} goes on with m{index + 1}, which {'is dead' if host.dead else 'is to be replaced'}"
    if host is not None and host.boot == RUNNING:
        if host.first != (action == "initialize"):
            yield f"I8: {action} goes on with a machine that was made for the other"
        return
    if host is not None and (host.boot != NEW or host.deleting or host.member):
        yield f"I2: {action} on m{index + 1}, which is {host.boot}{', deleting' if host.deleting else ''}, member {host.member or 'none'}"
    if action == "initialize":
        if world.latched or world.initialized or api(world, *configuration.api):
            yield "I8: initialize where a control plane exists"
        if any(
            each.boot in (RUNNING, JOINED) or each.member or each.parts
            for at, each in enumerate(world.hosts)
            if at != index
        ):
            yield "I8: initialize beside a machine that carries something"
        return
    others = [each for at, each in enumerate(world.hosts) if at != index]
    if _unfinished(world, index):
        yield "I2: a join beside an unfinished machine"
    if any(each.deleting for each in others):
        yield "I2: a join beside a machine that is being deleted"
    if not any(whole(each, external) for each in others):
        yield "I4: a join although no machine has all its components"
    if not external:
        yield from _add(world, index < 0)
    healing = _owed(world)
    if not healing and not all(whole(each, external) for each in others):
        yield "I6: a join beside a machine that is not proven healthy"
    if configuration.versions and not world.rising and index < 0 and any(each.old for each in others if each.live):
        yield "I10: a join of an older version than a machine has"
    live = sum(1 for each in world.hosts if each.live)
    surge = 1 if configuration.surge and any(each.old for each in world.hosts) else 0
    wanted = (world.rollout if any(each.old for each in world.hosts if each.live) else 0) or world.replicas
    most = wanted + surge
    if live + (0 if index >= 0 else 1) > most:
        yield f"I10: {live} machines and one more, {most} at most are wanted"
    yield from _asked(
        configuration,
        world,
        decision,
        any(each.old for each in others if each.live) and live - (1 if index >= 0 else 0) >= wanted,
    )


def _add(world: World, new: bool) -> Iterator[str]:
    states = members(world)
    if any(state in UNSETTLED for state in states):
        yield "I2: a join beside a member that is not settled"
    if world.strays and new:
        yield "I2: a join begun beside a stray member"
    now = figures(states)
    if not now.held:
        yield "I1: a membership change without quorum"
    if now.voters > 1 and now.up < (now.voters + 1) // 2 + 1:
        yield f"I1: a voter added to {now.voters}, of which {now.up} are up: no quorum if it fails"


def _asked(configuration: Configuration, world: World, decision: Object, begins: bool) -> Iterator[str]:
    if not begins:
        return
    if configuration.replace == "never" or (configuration.replace == "ask" and not configuration.approved):
        yield "policy: a machine is replaced without consent"
    if configuration.windows and not world.window and decision.get("remediation") is None:
        yield "policy: a replacement begins outside of the maintenance window"


def _remove(configuration: Configuration, world: World, decision: Object, lasting: bool) -> Iterator[str]:
    target = decision["target"]
    external = configuration.external
    index = index_of(target["machine"])
    host = world.hosts[index]
    others = [each for at, each in enumerate(world.hosts) if at != index]
    if host.empty:
        # Nothing of a control plane ever was on it.
        return
    if any(each.boot == RUNNING and not each.dead and not each.mute for each in others):
        yield "I2: a removal while another machine bootstraps"
    if not host.deleting and any(each.deleting and not each.empty for each in others):
        yield "I2: a removal begun beside another one"
    if host.boot == RUNNING and not host.dead and not (host.mute and lasting and (host.deleting or host.mark)):
        yield "I2: a machine removed while kubeadm may run there"
    formed = world.latched or (world.initialized and len(world.hosts) > 1)
    if not formed:
        # Where its API answers there is something to lose; a first machine that failed and is silent was never used.
        if (world.initialized and api(world, *configuration.api)) or any(each.boot == JOINED for each in world.hosts):
            yield "I8: an initialized control plane thrown away"
        return
    # A machine that never joined and has neither Node nor member any more: what still runs on it is of no use to anybody.
    gone = host.boot != JOINED and not host.member and not host.node
    if not gone and not any(whole(each, external) for each in others):
        yield "I4: no machine with all components would stay"
    if not external:
        expected = id_of(index) if host.member else None
        if target["memberID"] != expected:
            yield f"I5: removes member {target['memberID']} with m{index + 1}, whose member is {expected}"
        yield from _shrink(world, host.member, f"m{index + 1}")
    yield from _cause(configuration, world, decision, index, host, others)


def _shrink(world: World, state: str, who: str) -> Iterator[str]:
    states = members(world)
    if not state:
        # No change of membership; but a member that is not settled may well be this machine's or another's.
        if any(each in UNSETTLED for each in states):
            yield f"I2: {who} removed beside a member that is not settled"
        return
    if sum(1 for each in states if each in VOTERS) - (state in VOTERS) < 1:
        yield f"I3: {who} has the last voter"
    if not has_quorum(world):
        yield "I1: a membership change without quorum"
    left = list(states)
    left.remove(state)
    if any(each in UNSETTLED for each in left):
        yield f"I2: {who} removed beside another member that is not settled"
    if not figures(left).held:
        yield f"I1: without {who} etcd has {figures(left)}"


def _cause(
    configuration: Configuration, world: World, decision: Object, index: int, host: Host, others: list[Host]
) -> Iterator[str]:
    """Why a machine that carries something may go: each cause with what must hold for it."""
    external = configuration.external
    if host.deleting or host.boot == FAILED or (host.boot == RUNNING and (host.dead or host.mute)):
        return
    begun = world.record == OPEN and host.remedied
    if decision.get("remediation") is not None or begun:
        # Nobody needs to say it of a machine whose member was taken out: etcd takes back none with old data.
        lost = host.boot == JOINED and host.member == ABSENT and not external
        if host.mark not in ("marked", "remediate") and not (begun and host.dead) and not lost:
            yield f"I10: m{index + 1} remediated, and nobody found it unhealthy"
        # An etcd that adds nothing beside a silent voter has to lose that one first.
        owed = configuration.modern or host.member == UP or external
        # With as many machines as are wanted, the record only remembers how often a rollout's first new machine was tried.
        missing = sum(1 for each in world.hosts if each.live) < world.replicas
        if world.record == OPEN and not begun and owed and missing:
            yield "I10: a second remediation before the first has its replacement"
        if any(each.boot != JOINED and not each.empty for each in others):
            yield "I2: a remediation beside an unfinished machine"
        if (
            configuration.counts
            and not begun
            and host.retry >= 0
            and decision["remediation"]["retryCount"] > configuration.max_retry
        ):
            yield f"I10: tried {decision['remediation']['retryCount']} times again, {configuration.max_retry} are allowed"
        yield from _asked(configuration, world, decision, True)
        return
    live = [each for each in world.hosts if each.live]
    wanted = world.rollout or world.replicas
    if len(live) > wanted:
        held = [each for each in others if each.live]
        if not all(whole(each, external) and each.boot == JOINED for each in held):
            yield "I6: a machine removed by choice while another one is not proven healthy"
        if any(each.old for each in live) and not host.old and host.mark != "delete" and world.rollout:
            yield f"I10: m{index + 1} is up to date and goes, an old one stays"
        if not any(each.old for each in live):
            yield from _asked_window(configuration, world)
        return
    if host.old and configuration.surge == 0 and len(live) == wanted:
        if not all(whole(each, external) for each in others):
            yield "I6: a machine removed by choice while another one is not proven healthy"
        yield from _asked(configuration, world, decision, True)
        return
    yield f"I10: m{index + 1} removed without a cause"


def _asked_window(configuration: Configuration, world: World) -> Iterator[str]:
    if configuration.windows and not world.window:
        yield "policy: a scale-down begins outside of the maintenance window"


def _pace(configuration: Configuration, world: World, decision: Object, lasting: bool) -> Iterator[str]:
    """The user's own pace: time between steps, and gates. Healing is not held back by it."""
    said = {each["reason"] for each in decision["reasons"]}
    name = decision["target"]["machine"]
    if name and world.hosts[index_of(name)].boot == RUNNING:
        return
    by_choice = decision["action"] == "remove" and said & {"RollingOut", "ScalingDown"}
    adds = decision["action"] == "join" and not _owed(world) and not name
    if configuration.min_ready and not lasting and (by_choice or adds):
        yield "policy: a step before every machine was Ready for long enough"
    if configuration.gate not in ("", "True") and by_choice:
        yield "policy: a machine goes by choice although a readiness gate is not met"


def _remove_member(configuration: Configuration, world: World, decision: Object, lasting: bool) -> Iterator[str]:
    identity = decision["target"]["memberID"]
    found = [stray for at, stray in enumerate(world.strays) if stray_id(at) == identity]
    if not found:
        yield f"I5: removes member {identity}, which belongs to a machine or does not exist"
        return
    if found[0].endswith(NODE):
        yield "I5: removes the member of a Node that is still there"
    if any(world.hosts[at].live for at in _unfinished(world)):
        yield "I2: a stray member removed beside a machine that is still provisioning"
    if not lasting:
        yield "I7: a stray member removed on one sample"
    if found[0].rstrip(NODE) == UP and not any(whole(each, configuration.external) for each in world.hosts):
        yield "I4: a member removed although no machine has all its components"
    states = members(world)
    left = list(states)
    left.remove(found[0].rstrip(NODE))
    if not has_quorum(world):
        yield "I1: a membership change without quorum"
    if not figures(left).held:
        yield f"I1: without the stray member etcd has {figures(left)}"
    unsettled = [each for each in left if each in UNSETTLED]
    if unsettled and found[0] not in UNSETTLED:
        yield "I2: a voter removed beside a member that is not settled"


def _certificate(configuration: Configuration, world: World, decision: Object) -> Iterator[str]:
    shown = decision["quorum"]
    if shown is None or configuration.external:
        return
    now = figures(members(world))
    before = shown["before"]
    if (before["voters"], before["healthy"], before["quorum"]) != (now.voters, now.up, now.quorum):
        yield f"I14: the quorum certificate says {before}, etcd has {now}"
