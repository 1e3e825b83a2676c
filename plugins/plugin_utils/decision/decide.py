# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decision: the one next step of a control plane, with reasons.

Snapshot in, decision out; pure and deterministic.
Source: docs/reference/cluster_api.md, "Order of one pass".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

from ...module_utils.common.values import clip
from ..objects import advice, kinds, restore_note
from ..objects.etcd_member import recorded_cluster
from . import ownership, terms
from .checks.drift import static_pod_drift
from .checks.trouble import find_troubles, other_etcd, unreachable
from .conditions import terminal_failure
from .conditions.cluster import cluster_conditions
from .conditions.control_plane import control_plane_conditions, initialized
from .conditions.status_fields import cluster_status, control_plane_status, machine_status
from .creation.adoption import adopt
from .creation.bootstrap import has_failed, how_it_ended, under_way
from .creation.foundation import foundation, kubeconfig_told
from .creation.growth import foreign_control_plane, go_on, initialize
from .creation.unstarted import unstarted
from .outcome import Context, Outcome, block, first_that_acts, held, reason
from .remediation.replacement import deferred, remediate, retried
from .remediation.retry import is_stale
from .remediation.second_voter import recover
from .removal import deleted_control_plane
from .removal.left_behind import left_behind, remove_left_behind
from .removal.one_machine import remove_deleting, remove_failed_first, remove_joiner
from .removal.stray import remove_stray, remove_stray_node
from .removal.whole_control_plane import decide_deletion
from .rollout.addons import left_alone, outdated_addons, update_addons
from .rollout.in_place import beside_actions
from .rollout.resource_sets import apply_resource_sets, not_applied
from .rollout.resource_sets import conditions as resource_set_conditions
from .rollout.scaling import join_begun, roll_or_scale
from .rollout.uptodate import short_lived_told
from .snapshot.typed_snapshot import MachineView, View, read_snapshot
from .workers.decide_workers import decide_workers
from .workers.deletion import delete_workers
from .workers.report import Report, report_on

Object = dict[str, Any]


def decide(snapshot: Object) -> Object:
    """Return the decision for a snapshot.

    The pages: docs/reference/snapshot.md, docs/reference/decision.md.
    The snapshot must have passed check_snapshot; it is not changed. The same snapshot always gives the same decision.
    """
    return decide_on(read_snapshot(snapshot))


def decide_on(view: View) -> Object:
    """Return the decision for a snapshot that has been read already.

    As decide(); the view is not changed.
    """
    context = Context(view)
    report = report_on(view)
    chosen = _choose(context)
    outcome = beside_actions(view, _then_workers(view, chosen, report))
    facts = context.facts(outcome)
    removed = context.removed_conditions()
    control_plane = control_plane_conditions(view, facts)
    status = control_plane_status(view, facts, control_plane)
    cluster = cluster_conditions(view, control_plane) + report.cluster_conditions
    own_status = {**cluster_status(view, status, cluster), **report.cluster_status}
    # What holds back a worker is no failure of the control plane, which a person would be called for.
    found = terminal_failure.failure(view, chosen.action, chosen.blocked_on)
    terminal_failure.note(found, status, view.control_plane)
    terminal_failure.note(found, own_status, view.cluster)
    annotations = _annotations(view)
    if outcome.acts and (view.deleted is not None or deleted_control_plane.is_begun_anew(view.cluster)):
        annotations["cluster"] = deleted_control_plane.begin_anew(own_status)
    if not (outcome.acts or view.paused or view.deleting):
        outcome.reasons += left_behind(view)
    if outcome.acts and view.deleted is not None:
        text = f"a new control plane is made, as was consented to: {view.deleted.title}"
        outcome.reasons.append(reason(deleted_control_plane.CONTROL_PLANE_DELETED, text))
    return {
        "decisionVersion": terms.DECISION_VERSION,
        "action": outcome.action,
        "target": outcome.target,
        "reasons": outcome.reasons,
        "blockedOn": outcome.blocked_on,
        "preflight": outcome.preflight,
        "quorum": outcome.quorum,
        "leadership": outcome.leadership,
        "remediation": outcome.remediation,
        "prerequisites": outcome.prerequisites,
        "prepare": outcome.prepare,
        "annotations": annotations,
        "removedConditions": {"machines": removed} if removed else {},
        "conditions": {
            "controlPlane": control_plane,
            "machines": context.machines,
            "cluster": cluster,
            **_of_resource_sets(view),
            **report.conditions,
        },
        "status": {
            "controlPlane": status,
            "cluster": own_status,
            "machines": {
                each.name: machine_status(view, each, context.machines[each.name], removed.get(each.name, ()))
                for each in view.machines
            },
            **report.status,
        },
    }


def _of_resource_sets(view: View) -> Object:
    found = {} if view.paused or view.deleting else resource_set_conditions(view)
    return {"resourceSets": found} if found else {}


def _annotations(view: View) -> Object:
    return {"controlPlane": {kinds.ANNOTATION_REMEDIATION_IN_PROGRESS: None}} if is_stale(view) else {}


def _then_workers(view: View, outcome: Outcome, report: Report) -> Outcome:
    """Return the workers' step where the control plane has none.

    What it waits for passes by itself, and may end in a step of its own: nothing is begun beside it. Neither is it beside a restore, which
    would take it back, nor on the word of another cluster, which has other Nodes.
    """
    if outcome.acts or outcome.action == terms.WAIT or view.paused or view.deleting or not view.control_plane:
        return outcome
    if _restore_started(view) is not None or other_etcd(view):
        return outcome
    found = decide_workers(report.workers, report.machines)
    if found is None or found.acts:
        return found or outcome
    if found.action == terms.NONE:
        return replace(outcome, reasons=[*outcome.reasons, *found.reasons])
    return _with_refusals(outcome, [found])


def _choose(context: Context) -> Outcome:
    view = context.view
    if view.paused:
        return Outcome(terms.NONE, [reason("Paused", f"paused: {', '.join(view.paused)}")])
    if view.deleting:
        return delete_workers(view) or decide_deletion(context)
    if not view.control_plane:
        text = f"the Cluster {view.name} has no KubeadmControlPlane in the store"
        if view.deleted is not None:
            text += f": {view.deleted.title}"
        elif view.others:
            text += f"; {ownership.controlled(each.machine for each in view.others)}"
        return block("ControlPlaneNotFound", text, deleted_control_plane.MISSING_FIX)
    return (
        _replicas(view)
        or _etcd_left_behind(view)
        or _restore_started(view)
        or adopt(context)
        or foreign_control_plane(view)
        or foundation(context)
        or _machines(context)
    )


def _replicas(view: View) -> Optional[Outcome]:
    """Refuse a number of replicas that no manifest may have.

    Also where the object was not written from a manifest.
    Source: docs/reference/cluster_api.md, "Admission rules".
    """
    wanted = view.spec.get("replicas", 1)
    if isinstance(wanted, int) and wanted >= 1 and (wanted % 2 or not view.managed_etcd):
        return None
    what = (
        "an even number of etcd members survives no more failures than one less"
        if wanted
        else "a control plane is not scaled to 0"
    )
    text = f"spec.replicas is {wanted}: {what if isinstance(wanted, int) and wanted >= 0 else 'it must be a number above 0'}"
    return block(
        "ReplicasInvalid", text, "Set spec.replicas to an odd number; to end the cluster, run the playbook delete."
    )


def _etcd_left_behind(view: View) -> Optional[Outcome]:
    """Refuse an external etcd where etcd runs on the machines.

    However the spec was changed to it.
    Source: docs/reference/cluster_api.md, "Admission rules".

    A rollout to an external etcd checks no quorum, and would remove the members with all of their data.
    """
    recorded = recorded_cluster(view.control_plane)
    if view.managed_etcd or not recorded:
        return None
    text = f"the spec names an external etcd, and this control plane's data are in etcd on its machines (cluster {recorded})"
    fix = (
        "Remove spec.kubeadmConfigSpec.clusterConfiguration.etcd.external. To have an external etcd, make a new cluster "
        "from a snapshot."
    )
    return block("EtcdLeftBehind", text, fix)


def _restore_started(view: View) -> Optional[Outcome]:
    """Refuse any step beside a restore of etcd that is not done.

    It may be at work on its machine, and it stops the others. The page: docs/backup_and_restore.md.
    """
    note = restore_note.started(view.control_plane)
    try:
        where = f"on machine {clip(note['choice']['machine'])} to revision {clip(str(note['choice']['source']['revision']), 40)}"
    except (KeyError, TypeError):
        # No restore, or a note that the playbook restore reports as unreadable.
        return None
    text = f"a restore of etcd {where} was started and is not done"
    fix = (
        "Run the playbook kubeadm.control_plane.restore again: it resumes it, or ends it where etcd works without it. It says which, and what to consent to "
        f"(given was {clip(note.get('consent'), 1000)})."
    )
    return block("RestoreUnfinished", text, fix)


def _machines(context: Context) -> Outcome:
    view = context.view
    recovery = recover(context)
    if recovery is not None:
        return recovery
    running = [machine for machine in view.machines if under_way(view, machine)]
    if running:
        return first_that_acts(go_on(context, machine) for machine in running) or go_on(context, running[0])
    never_started = [each for each in view.machines if each.deleting and not (each.bootstrap or each.node_known)]
    removal = first_that_acts(remove_deleting(context, machine) for machine in never_started)
    if removal is not None and removal.acts:
        return removal
    if not initialized(view):
        return _forming(context)
    if not view.reachable:
        return held([unreachable(view)])
    if view.initialized is False:
        return _config_missing(view)
    return _living(context)


def _forming(context: Context) -> Outcome:
    """Return the step where no control plane is known yet."""
    view = context.view
    if not view.machines:
        return initialize(context, None)
    if any(machine.joined for machine in view.machines):
        return _config_missing(view) if view.reachable and view.initialized is False else held([unreachable(view)])
    going = [machine for machine in view.machines if machine.deleting]
    removal = first_that_acts(remove_deleting(context, machine) for machine in going)
    failed = (machine for machine in view.live if has_failed(view, machine))
    removal = removal or first_that_acts(retried(context, each, remove_failed_first(context, each)) for each in failed)
    if removal is not None:
        return removal
    return unstarted(context, view.live[0]) or initialize(context, view.live[0])


def _config_missing(view: View) -> Outcome:
    text = "a machine carries a control plane, but ConfigMap kube-system/kubeadm-config does not exist in the workload cluster"
    return block("KubeadmConfigNotFound", text, advice.RESTORE_KUBEADM_CONFIG)


def _living(context: Context) -> Outcome:
    """Return the step of an initialized control plane that answers.

    In this order: resource sets, repair, removals, remediation, started joins, rollout, scaling, what an API server has refused of resource sets.
    """
    view = context.view
    if other_etcd(view):
        # No step follows from its member list (docs/reference/invariants.md, "Members are known by ID"), and what is applied to it isn't applied here.
        return _settled(context)
    first = apply_resource_sets(view) or remove_stray(context) or remove_stray_node(context) or remove_left_behind(view)
    if first is not None and first.acts:
        return first
    going = sorted(
        (machine for machine in view.machines if machine.deleting),
        key=lambda each: (each.machine["metadata"]["deletionTimestamp"], each.name),
    )
    # Where the first one's removal is refused, another one may have to be removed before it.
    removal = first_that_acts(remove_deleting(context, machine) for machine in going)
    failed = [machine for machine in view.live if has_failed(view, machine)]
    removal = removal or first_that_acts(_failed(context, machine) for machine in failed)
    if removal is not None and removal.acts:
        return removal
    remedy = remediate(context) if removal is None else None
    if remedy is not None and remedy.acts:
        return remedy
    outcome = removal or _begun(context) or roll_or_scale(context) or _settled(context)
    # A step restarts the bound of the wait: beside a removal that waits, refused resource sets would be tried without end.
    if not outcome.acts and not (removal is not None and removal.action == terms.WAIT):
        outcome = apply_resource_sets(view, again=True) or outcome
    refused = [each for each in (first, remedy, not_applied(view)) if each is not None]
    if removal is not None and not outcome.acts:
        return _with_what_is_wrong(context, removal, failed, refused)
    return _with_refusals(outcome, refused)


def _with_what_is_wrong(
    context: Context, removal: Outcome, failed: list[MachineView], refused: list[Outcome]
) -> Outcome:
    """Return a removal that is held up, with what else is wrong.

    It is refused, postponed or waits, and with it every other step, whose checks would tell that. Where it only waits,
    its end may mend that: no trouble breaks the wait off.
    """
    told = [removal, *deferred(context, removal.action)]
    if removal.action != terms.WAIT:
        troubles = find_troubles(context.view, context.machines, [each.name for each in failed])
        gating = [each for each in (*context.certificate_troubles(), *troubles) if each.gates]
        told += [*refused, *([held(gating)] if gating else [])]
    return _with_refusals(told[-1], told[:-1])


def _failed(context: Context, machine: MachineView) -> Outcome:
    said = machine.bootstrap_message or machine.infrastructure_gone or how_it_ended(context.view, machine)
    removal = remove_joiner(context, machine, "BootstrapFailed", f"its bootstrap failed ({said})")
    return retried(context, machine, removal)


def _begun(context: Context) -> Optional[Outcome]:
    begun = [machine for machine in context.view.live if not machine.bootstrap]
    removals = (unstarted(context, machine) for machine in begun)
    removal = first_that_acts(each for each in removals if each is not None)
    return removal or (join_begun(context, begun[0]) if begun else None)


def _with_refusals(outcome: Outcome, refusals: list[Outcome]) -> Outcome:
    """Return the outcome with the refusals before it.

    Only an ending lists them; a step that can be taken is taken all the same.
    Source: docs/reference/cluster_api.md, "Remediation".

    The reason that decides the ending comes first: what needs the user, then what is waited for, then what is
    postponed.
    """
    if outcome.acts or not refusals:
        return outcome
    severity = (terms.NONE, terms.POSTPONED, terms.WAIT, terms.BLOCKED)
    ordered = sorted([*refusals, outcome], key=lambda each: -severity.index(each.action))
    first = ordered[0]
    told = _once([entry for each in ordered for entry in each.blocked_on])
    reasons = _once([why for each in ordered for why in each.reasons])
    preflight = outcome.preflight or next((each.preflight for each in ordered if each.preflight), [])
    quorum = outcome.quorum or next((each.quorum for each in ordered if each.quorum), None)
    return replace(outcome, action=first.action, reasons=reasons, blocked_on=told, preflight=preflight, quorum=quorum)


def _once(entries: list[Object]) -> list[Object]:
    """Return the entries without those that another one repeats.

    Of two that begin alike it is the longer one that is kept.
    """
    found: list[Object] = []
    for each in entries:
        known = {(entry["reason"], entry["message"]) for entry in found}
        more = any(entry["message"].startswith(f"{each['message']}, ") for entry in entries)
        if not more and (each["reason"], each["message"]) not in known:
            found.append(each)
    return found


def _settled(context: Context) -> Outcome:
    view = context.view
    troubles = [*context.certificate_troubles(), *find_troubles(view, context.machines)]
    serious = [each for each in troubles if each.gates or each.waits]
    if serious:
        return held(serious)
    addons = update_addons(view)
    if addons is not None:
        return addons
    reasons = [reason("UpToDate", f"{len(view.live)} of {view.replicas} replicas, all up to date")]
    reasons += left_alone(outdated_addons(view))
    reasons += [reason(each.reason, each.message) for each in troubles]
    reasons += short_lived_told(view.live, context.desired, view.now)
    reasons += static_pod_drift(view)
    reasons += kubeconfig_told(context)
    return Outcome(terms.NONE, reasons)
