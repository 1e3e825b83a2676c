# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Next step about workers, taken only where the control plane has none.

Source: docs/reference/cluster_api.md, "MachineDeployments"; docs/machine_deployments.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import clip, shortened
from ...objects import advice, kinds
from ...objects import conditions as types
from .. import terms
from ..checks.trouble import Trouble
from ..conditions.control_plane import initialized
from ..conditions.machine import is_true
from ..conditions.node_network import NO_NETWORK_PLUGIN, WAY_OUT, lacks_plugin
from ..creation.bootstrap import marked
from ..outcome import Outcome, held, reason, target
from ..remediation.replacement import CANNOT
from ..removal.hooks import held_by_hooks
from ..rollout.gates import replacement_policy
from ..snapshot.typed_snapshot import MachineView, View
from . import numbers, unfinished_bootstraps
from .conditions import Conditions
from .held_back import CHECK, held_back, never_joins, not_removed, title
from .remediation import is_left_alone, to_remediate, unhealthy
from .worker_view import DeploymentView, Workers

Object = dict[str, Any]
SCALING_UP, REMEDIATING, DELETING = "WorkersScalingUp", "WorkersRemediating", "WorkersDeleting"
RESUMED, NOT_AVAILABLE, UP_TO_DATE, OF_EARLIER_TEMPLATE, DEFERRED = (
    "WorkersResumed",
    "WorkersNotAvailable",
    "WorkersUpToDate",
    "WorkersOfEarlierTemplate",
    "RemediationDeferred",
)
_SHOWN = 10


@dataclass
class _Step:
    """Step of one deployment: entries of the target, and reasons."""

    join: list[Object] = field(default_factory=list)
    remove: list[Object] = field(default_factory=list)
    reasons: list[Object] = field(default_factory=list)
    removal_reasons: list[Object] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    told: list[Object] = field(default_factory=list)


def decide_workers(workers: Workers, conditions: Conditions) -> Optional[Outcome]:
    """Return the step about workers, or how they end; None without MachineDeployments.

    Workers join before others go: a join only begins, and a removal may wait for a drain. Where no API answers, nothing is done.

    Args:
        workers: the deployments of a snapshot.
        conditions: the computed conditions of their machines, by name.
    """
    view = workers.view
    if not workers.deployments or not initialized(view) or not view.reachable:
        return None
    outcome = _decided(view, workers, conditions)
    policy = view.raw.get("policy") or {}
    if outcome.acts and policy.get("replace") == terms.REPLACE_ASK and policy.get("approved"):
        # What needs no consent is a step of its own, so that a plan says of each step whether it waits for that.
        unapproved = replace(view, raw={**view.raw, "policy": {**policy, "approved": False}})
        free = _decided(unapproved, workers, conditions)
        return free if free.action == outcome.action else outcome
    return outcome


def _decided(view: View, workers: Workers, conditions: Conditions) -> Outcome:
    steps = [_deployment(view, each, conditions) for each in workers.deployments if not each.paused]
    joins = [entry for step in steps for entry in step.join][: settings.WORKERS_AT_ONCE]
    if joins:
        return _outcome(terms.JOIN_WORKERS, joins, (step.reasons for step in steps))
    removals = [entry for step in steps for entry in step.remove][: settings.WORKERS_AT_ONCE]
    ended = [each.name for each in workers.deployments if each.deleting and not each.machines and not each.paused]
    if removals or ended:
        outcome = _outcome(terms.REMOVE_WORKERS, removals, (step.removal_reasons for step in steps))
        outcome.target = {**(outcome.target or {}), "deployments": ended}
        outcome.reasons += [reason(DELETING, f"MachineDeployment {clip(name, 80)} is deleted") for name in ended]
        return outcome
    troubles = [each for step in steps for each in step.troubles]
    # What ends by itself is waited for before the run fails with the rest.
    passing = [
        each for each in troubles if each.waits and each.reason in (unfinished_bootstraps.AT_WORK, NOT_AVAILABLE)
    ]
    outcome = held(passing or troubles) if troubles else Outcome(terms.NONE)
    if passing:
        outcome.blocked_on += [each.document() for each in troubles if each not in passing]
    outcome.reasons += [told for step in steps for told in step.told]
    outcome.reasons += [_held_deletion(each) for each in workers.deployments if each.paused and each.deleting]
    outcome.reasons += [
        _held_by_adoption(each)
        for each in workers.deployments
        if kinds.is_paused_by_adoption(each.document) and not each.deleting
    ]
    return outcome


def _held_by_adoption(deployment: DeploymentView) -> Object:
    return reason(types.PAUSED, f"{title(deployment)} is left alone: {kinds.pause_of(deployment.document)}")


def _held_deletion(deployment: DeploymentView) -> Object:
    text = f"{title(deployment)} is marked for deletion, and its workers stay while it is paused: {kinds.pause_of(deployment.document)}"
    if not kinds.is_paused_by_adoption(deployment.document):
        text += f". Remove it ({advice.edit(kinds.MACHINE_DEPLOYMENT, deployment.document['metadata'])})"
    return reason(DELETING, text)


def _outcome(action: str, entries: list[Object], reasons: Iterable[list[Object]]) -> Outcome:
    outcome = Outcome(action, [each for listed in reasons for each in listed])
    outcome.target = {**target(None), "workers": entries}
    return outcome


def _deployment(view: View, deployment: DeploymentView, conditions: Conditions) -> _Step:
    step = _Step()
    for machine in deployment.machines:
        found = unfinished_bootstraps.trouble(view, deployment, machine)
        step.troubles += [found] if found is not None else []
    going = _going(step, deployment)
    _remove(step, deployment, going, DELETING, "marked for deletion")
    sick, deferred = _remediation(step, view, deployment)
    change = numbers.change(deployment, conditions, sick)
    _remove(step, deployment, sick, REMEDIATING, "unhealthy, to be replaced")
    _remove(step, deployment, change.too_many, numbers.TOO_MANY, f"{deployment.replicas} are wanted")
    holds = held_back(view, deployment)
    resumed = [each for each in deployment.live if each not in sick and each not in change.too_many]
    resumed = [each for each in resumed if unfinished_bootstraps.resumes(view, deployment, each)]
    _make(step, view, deployment, change, resumed, holds)
    _replace(step, view, deployment, change, holds)
    if deferred:
        text = f"{title(deployment)}: {_listed(deferred)} not replaced yet, remediation.maxInFlight others are"
        step.told.append(reason(DEFERRED, text))
    stays = [each for each in deployment.live if marked(each) and each not in change.too_many]
    _left_alone(step, deployment, [each for each in stays if is_left_alone(deployment, each)])
    _unavailable(step, view, deployment, conditions, bool(change.outdated or change.make))
    return step


def _going(step: _Step, deployment: DeploymentView) -> list[MachineView]:
    """Return the machines marked for deletion that may be removed now.

    Without those that a hook holds, and those that this run could not remove.
    """
    going = []
    for machine in (each for each in deployment.machines if each.deleting):
        failed = not_removed(deployment, machine)
        if failed is not None:
            step.troubles.append(failed)
            continue
        waiting = held_by_hooks(machine)
        if waiting is None:
            going.append(machine)
            continue
        for said in waiting.blocked_on:
            step.troubles.append(Trouble(CHECK, said["reason"], said["message"], said["fix"], True))
    return going


def _remediation(step: _Step, view: View, deployment: DeploymentView) -> tuple[list[MachineView], list[MachineView]]:
    """Return the unhealthy machines that go now, and those that are deferred.

    None goes where it is known that no other one could join, as in Cluster API. As of control plane machines, one that has joined goes only where the
    policy allows a replacement; one that never worked is none.
    """
    found = unhealthy(deployment)
    sick, deferred = to_remediate(deployment, found)
    if sick and (stops := never_joins(view, deployment)):
        for each in stops:
            text = f"unhealthy {_listed(sick)} not replaced, since no other one could be made: {each.message}"
            step.troubles.append(replace(each, reason=DEFERRED, message=text))
        return [], []
    joined = [each for each in sick if each.joined]
    policy = replacement_policy(view)[0] if joined else []
    if not policy:
        return sick, deferred
    for each in policy:
        step.troubles.append(replace(each, message=f"{title(deployment)}: unhealthy {_listed(joined)}: {each.message}"))
    return to_remediate(deployment, [each for each in found if not each.joined])


def _make(
    step: _Step,
    view: View,
    deployment: DeploymentView,
    change: numbers.Change,
    resumed: list[MachineView],
    holds: list[Trouble],
) -> None:
    # What runs already is recorded whatever else is held back.
    begun = [machine for machine in resumed if machine.bootstrap == terms.RUNNING]
    may_join = [] if holds else [machine for machine in resumed if machine not in begun]
    for machine in [*begun, *may_join]:
        step.join.append(_entry(deployment, deployment.set_of(machine).name, machine))
    if begun or may_join:
        step.reasons.append(reason(RESUMED, f"{title(deployment)}: resume {_listed([*begun, *may_join])}"))
    # Where consent is asked for, those that need none are a step of their own.
    asks = (view.raw.get("policy") or {}).get("replace") in (terms.REPLACE_ASK, terms.REPLACE_NEVER)
    make = change.fill if asks and change.fill else change.make
    policy = replacement_policy(view)[0] if make > change.fill else []
    if holds and (change.make or len(resumed) > len(begun)):
        step.troubles += holds
        return
    step.troubles += policy
    if make and not policy:
        step.join += [_entry(deployment, change.make_as, None) for _number in range(make)]
        why = SCALING_UP if change.fill else numbers.OUTDATED
        joined = sum(1 for machine in deployment.live if machine.joined)
        step.reasons.append(
            reason(why, f"{title(deployment)}: {joined} of {deployment.replicas} replicas, {make} more")
        )


def _replace(step: _Step, view: View, deployment: DeploymentView, change: numbers.Change, holds: list[Trouble]) -> None:
    """Remove outdated machines, unless nothing could come in their place.

    Of those that are too many nothing has to, so that they wait neither for that nor for consent.
    """
    if not change.outdated:
        return
    troubles = holds or replacement_policy(view)[0]
    if troubles:
        fewer = change.outdated[: change.surplus]
        _remove(step, deployment, fewer, numbers.TOO_MANY, f"{deployment.replicas} are wanted")
        step.troubles += [each for each in troubles if each not in step.troubles]
        return
    why = sorted({each.message for found in deployment.outdated.values() for each in found})
    _remove(step, deployment, change.outdated, numbers.OUTDATED, "; ".join(why))


def _remove(step: _Step, deployment: DeploymentView, machines: Sequence[MachineView], name: str, why: str) -> None:
    if not machines:
        return
    step.remove += [_entry(deployment, deployment.set_of(machine).name, machine) for machine in machines]
    step.removal_reasons.append(reason(name, f"{title(deployment)}: {_listed(machines)}: {why}"))


def _entry(deployment: DeploymentView, owner: str, machine: Optional[MachineView]) -> Object:
    domain = deployment.failure_domain if machine is None else machine.failure_domain
    return {
        "deployment": deployment.name,
        "machineSet": owner,
        "machine": machine.name if machine is not None else None,
        "failureDomain": domain or None,
        "name": None,
    }


def _left_alone(step: _Step, deployment: DeploymentView, machines: Sequence[MachineView]) -> None:
    """Tell which marked machines are not remediated.

    Those of an earlier template are left to the rollout, as in Cluster API, and there is none.
    """
    if not machines:
        return
    text = (
        f"{title(deployment)}: {_listed(machines)} of an earlier template not remediated: {_stops_rollout(deployment)}"
    )
    fix = f"To have another one in its place, delete the Machine ({advice.delete(*(each.machine['metadata'] for each in machines[:_SHOWN]))})."
    step.troubles.append(Trouble(CHECK, CANNOT, text, fix, False))


def _unavailable(step: _Step, view: View, deployment: DeploymentView, conditions: Conditions, unfinished: bool) -> None:
    """Tell which workers are not available.

    A worker that has only just joined is waited for. Later it is a fault only where a rollout stands still for it.
    """
    late = [each for each in deployment.live if each.joined and not numbers.is_available(each, conditions)]
    without = [each for each in late if each.node is not None and lacks_plugin(each.node)]
    # Where other Nodes have a network, that of a new worker is on its way to it.
    others = [*view.machines, *deployment.machines]
    coming = any(each.node is not None and each.node.get("ready") == terms.TRUE for each in others)
    bare = [each for each in without if not (coming and _settles(view, each))]
    if bare:
        step.told.append(
            reason(NO_NETWORK_PLUGIN, f"{title(deployment)}: NO NETWORK PLUGIN on {_listed(bare)}. {WAY_OUT}")
        )
    # One that is Ready has its minReadySeconds to wait for.
    new = [
        each for each in late if each not in bare and (_settles(view, each) or is_true(conditions[each.name], "Ready"))
    ]
    outdated = [each for each in deployment.live if deployment.outdates(each)]
    rolls = outdated and numbers.rolls_out(deployment) and not unfinished
    if new:
        step.troubles.append(
            Trouble(CHECK, NOT_AVAILABLE, f"{title(deployment)}: {_listed(new)} not available yet", "", True)
        )
    elif late and rolls:
        text = f"{title(deployment)}: its rollout stands still, since {_listed(late)} not available"
        fix = "Look at these Nodes (kubectl describe node), or have them replaced: a MachineHealthCheck, or the annotation remediate-machine."
        step.troubles.append(Trouble(CHECK, NOT_AVAILABLE, text, fix, False))
    elif late and not bare:
        step.told.append(reason(NOT_AVAILABLE, f"{title(deployment)}: {_listed(late)} not available"))
    if late or step.troubles or step.told or step.join or step.remove:
        return
    name, text = UP_TO_DATE, "all up to date"
    if outdated:
        name, text = OF_EARLIER_TEMPLATE, f"{_listed(outdated)} of an earlier template: {_stops_rollout(deployment)}"
    size = f"{len(deployment.live)} of {deployment.replicas} replicas"
    step.told.append(reason(name, f"{title(deployment)}: {size}, {text}"))


def _stops_rollout(deployment: DeploymentView) -> str:
    return "spec.paused stops its rollout" if deployment.spec.get("paused") else "its strategy is OnDelete"


def _settles(view: View, machine: MachineView) -> bool:
    return machine.started is not None and view.now - machine.started < settings.SETTLING


def _listed(machines: Sequence[MachineView]) -> str:
    names = shortened([each.name for each in machines], _SHOWN)
    return f"machine {names}" if len(machines) == 1 else f"machines {names}"
