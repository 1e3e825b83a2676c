# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollout and scaling: one machine more or one machine less.

Source: docs/reference/cluster_api.md, "Rollout", "Selection of a machine".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import parse
from ....module_utils.common.values import clip
from ...objects import advice, kinds
from ...objects.conditions import ROLLING_OUT, SCALING_DOWN
from .. import terms
from ..checks.preflight import preflight
from ..creation.growth import join, template_missing
from ..outcome import Context, Outcome, block, held, max_surge, reason, target
from ..removal.leadership import hand_over
from ..snapshot.typed_snapshot import MachineView, View
from .gates import Step
from .selection import behind_endpoint, select

Object = dict[str, Any]
ENDPOINT_ON_MACHINE = "EndpointOnMachine"
_IN_PLACE = (
    "Bring the machines up to date where they are: the Action upgrade for a version (docs/upgrade_in_place.md), changeConfiguration for the configuration "
    "(docs/change_configuration.md), renewCertificates for certificates. Or take the change back. An endpoint can't be moved later: a new cluster is best "
    "given a load balancer's or a virtual address."
)
_SURGELESS_REPLICAS = 3
_SHOWN = 3


def roll_or_scale(context: Context) -> Optional[Outcome]:
    """Return the next step of the rollout or of the scaling.

    None where the desired number of machines exists, all of them up to date.

    Scaling comes before a rollout that has not started, and waits for one that has: they never mix. Each replacement
    has two halves, more then less with maxSurge 1, less then more with maxSurge 0.
    """
    outcome = _roll(context) if context.rollout is not None else _scale(context)
    if outcome is not None and context.rollout is not None and context.rollout != context.view.replicas:
        text = f"spec.replicas is {context.view.replicas} now: that takes effect after the rollout, which began with {context.rollout}"
        outcome.reasons.append(reason("ScalingDeferred", text))
    return outcome


def join_begun(context: Context, machine: MachineView) -> Outcome:
    """Start kubeadm on a machine that was made for a join.

    The same step as making it, with the same gates.
    """
    count = len(context.view.live) - 1
    if context.rollout is None or count < context.replicas:
        return _prepared(context, join(context, machine))
    step = Step(begins=True, replaces=True)
    return _prepared(context, join(context, machine, ROLLING_OUT, _old(context), step))


def _roll(context: Context) -> Optional[Outcome]:
    view, size, count = context.view, context.replicas, len(context.view.live)
    surge = max_surge(view)
    if not surge and size < _SURGELESS_REPLICAS:
        text = f"a rollout with maxSurge 0 removes before it adds, and {size} replicas are too few for that"
        return block("RolloutStrategyInvalid", text, "Set maxSurge to 1, or have at least three replicas.")
    endpoint = behind_endpoint(view)
    # Before the first machine is replaced: nothing is left halfway. A machine that was lost is made again all the same.
    if endpoint is not None and endpoint in context.old and count >= size:
        return _endpoint_lost(view, endpoint, "a rollout would replace", _IN_PLACE)
    if count < size + surge:
        # Below its size the control plane lacks a machine, by the first half of a replacement or by a loss: make it first.
        first = count >= size
        step = Step(begins=first, replaces=first, heals=not first)
        return _prepared(context, join(context, None, ROLLING_OUT, _old(context), step))
    # Above its size a replacement is ended, also one that was begun with a surge that the spec does not have any more.
    return _remove(context, ROLLING_OUT, _old(context), Step(begins=count <= size, replaces=True))


def _scale(context: Context) -> Optional[Outcome]:
    view, count = context.view, len(context.view.live)
    if count < view.replicas:
        return _prepared(context, join(context, None, step=Step(heals=True)))
    if count > view.replicas:
        text = f"{count} machines exist and {view.replicas} are wanted"
        return _remove(context, SCALING_DOWN, text, Step(begins=True))
    return None


def _old(context: Context) -> str:
    """Return a text of the machines that are not up to date.

    Equal reasons are listed once.
    """
    owners: dict[str, list[str]] = {}
    for machine in context.old:
        owners.setdefault(", ".join(why.message for why in context.outdated[machine.name]), []).append(machine.name)
    told = [f"{text} ({', '.join(each)})" for text, each in owners.items()]
    more = f"; and {len(told) - _SHOWN} reasons more" if len(told) > _SHOWN else ""
    return f"{len(context.old)} not up to date: {'; '.join(told[:_SHOWN])}{more}"


def _remove(context: Context, name: str, why: str, step: Step) -> Outcome:
    """Remove one working machine, if every check passes without it."""
    view = context.view
    old = {each.name for each in context.old}
    victim = select(view, context.machines, old)
    if victim is behind_endpoint(view):
        unmarked = f"{kinds.ANNOTATION_DELETE_MACHINE} off the Machine ({advice.edit(kinds.MACHINE, victim.machine['metadata'])})"
        fix = f"For another machine to go, take the annotation {unmarked}."
        return _endpoint_lost(view, victim, "a scale-down would remove", fix)
    # A rollback that removes newer machines makes no older machine; a removal before an addition makes one.
    before = step.replaces and step.begins
    result = preflight(context, adding=False, step=step, machine=victim, fresh=before)
    missing = template_missing(context, None) if before else None
    if result.failed:
        outcome = held(result.failed)
    elif missing is not None:
        return missing
    else:
        identity = victim.member.id if victim.member is not None else None
        outcome = Outcome(terms.REMOVE, [reason(name, why)], target(victim, member=identity))
        outcome.leadership = hand_over(view, victim, context.machines, old)
    outcome.preflight = result.checks
    if result.verdict is not None:
        outcome.quorum = result.verdict.document(view.leader_title, _order(view, victim, name, bool(old)))
    return outcome


def _endpoint_lost(view: View, machine: MachineView, what: str, fix: str) -> Outcome:
    text = f"the control plane endpoint {view.endpoint} is machine {machine.name}'s own address, and {what}"
    return block(
        ENDPOINT_ON_MACHINE, f"{text} it: kubelets and users would lose the API, which no later step gives back", fix
    )


def _order(view: View, victim: MachineView, name: str, old: bool) -> str:
    domain = f" in failure domain {clip(victim.failure_domain, 60)}" if victim.failure_domain else ""
    if name == ROLLING_OUT:
        text = f"{victim.name} is removed: it is not up to date, and comes first by annotation, health, failure domain and age{domain}."
    else:
        text = f"{victim.name} is removed: it comes first by annotation, {'being not up to date, ' if old else ''}health, failure domain and age{domain}."
    if view.leader is not None and victim.member is not None and view.leader.id == victim.member.id:
        text += " It leads etcd: leadership is moved first, so that no election is needed."
    return text


def _prepared(context: Context, outcome: Outcome) -> Outcome:
    outcome.prerequisites += _prerequisites(context) if outcome.acts else []
    return outcome


def _prerequisites(context: Context) -> list[Object]:
    """Return the prerequisites before a machine of another version or spec joins.

    Sources: docs/reference/cluster_api.md, "Rollout"; docs/reference/kubeadm.md, "Stored objects", "RBAC".
    """
    view = context.view
    latest = max((machine.created for machine in view.live if machine.joined), default=None)
    newest = [machine for machine in view.live if machine.joined and machine.created == latest]
    text = f"ConfigMap kube-system/kubeadm-config says what the spec says, {view.version} included"
    config = {"name": "kubeadmConfig", "message": text}
    if not context.old or (newest and not any(machine in context.old for machine in newest)):
        # Either no machine is outdated, or the newest one joined as the next one will: what a version needs was there.
        # Not so kubeadm-config: a spec that was taken back may have been written since, for a machine that failed, was
        # never made or has gone. And another timeout of joins starts no rollout, as in Cluster API.
        known = view.workload.get("kubeadmConfig") or {}
        return [config] if known.get("asWanted") is False else []
    wanted = parse(view.version)
    found = []
    if not kubernetes_facts.makes_kubelet_client_binding(view.version):
        binding = "ClusterRoleBinding kubeadm:apiserver-kubelet-client exists"
        found.append({"name": "kubeletClientBinding", "message": binding})
    if kubernetes_facts.has_super_admin(view.version):
        # Of kubeadm's commands only init and `upgrade apply` make it, and a rollout from before 1.29 runs neither.
        admins = "ClusterRoleBinding kubeadm:cluster-admins exists, which gives the new machine's admin.conf its rights"
        found.append({"name": "clusterAdminsBinding", "message": admins})
    found.append(config)
    new = [parse(machine.version) for machine in view.live if machine.version and machine not in context.old]
    if not any(wanted.same_minor(each) for each in new) and any(each.version != view.version for each in context.old):
        name = kubernetes_facts.kubelet_config_map_name(view.version)
        readable = f"ConfigMap kube-system/{name} and the RBAC that lets Nodes read it exist"
        found.append({"name": "kubeletConfigMap", "message": readable})
    return found
