# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of the control plane, made from those of its machines.

Source: docs/reference/cluster_api.md, "Conditions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common import quorum, settings
from ....module_utils.common.values import clip, parse_time, shortened
from ...objects import conditions as types
from ...objects.etcd_member import another_cluster
from .. import terms
from ..checks.nodes_without_machine import unmanaged_nodes
from ..creation.bootstrap import may_own
from ..removal.deleted_control_plane import latched
from ..rollout.uptodate import Outdated
from ..snapshot.typed_snapshot import MachineView, View, condition_of
from .aggregate import aggregate, bullets
from .machine import INSPECTION_FAILED, condition, health_conditions, is_true, kept, paused_condition

Object = dict[str, Any]
# The control plane's status: since when each etcd member that belongs to no machine has been seen.
STRAY_MEMBERS = "strayMembers"
_UNDER_WAY = (types.ROLLING_OUT, types.SCALING_UP, types.SCALING_DOWN, types.REMEDIATING, types.DELETING, types.PAUSED)
ALARMED = "Enough voters answer, and an alarm keeps etcd from taking writes"
NOT_ESTABLISHED = "Remote connection not established yet"


@dataclass(frozen=True)
class Facts:
    """Computed facts of each machine, by name, and what blocks scaling."""

    machines: Mapping[str, list[Object]]
    outdated: Mapping[str, list[Outdated]]
    missing_certificates: Sequence[str]
    scaling_blocked: Sequence[str] = ()
    deletion: tuple[str, str] = ("", "")
    rollout: Optional[int] = None
    healthy_again: tuple[str, ...] = ()


def initialized(view: View) -> bool:
    """Return whether the control plane counts as initialized.

    Observed now, or ever: it latches. It does not while the only machine's bootstrap failed, or that machine is deleted before its
    bootstrap succeeded: the machine may still be removed without a loss then (docs/reference/cluster_api.md, "Creating a machine").
    A machine that has joined is a control plane, also when it is being deleted.
    """
    if view.others and not view.machines:
        # The running machines are another control plane's, and so is the Cluster's latch.
        return latched(view.control_plane)
    if view.latched:
        return True
    only = view.machines[0] if len(view.machines) == 1 else None
    if only is not None and not only.joined and (only.deleting or only.bootstrap == terms.FAILED):
        return False
    return view.initialized is True


def control_plane_conditions(view: View, facts: Facts) -> list[Object]:
    """Return all conditions of the KubeadmControlPlane, in a fixed order."""
    is_initialized = initialized(view)
    conditions = [
        condition(types.INITIALIZED, terms.TRUE, "Initialized")
        if is_initialized
        else condition(types.INITIALIZED, terms.FALSE, "NotInitialized", "kubeadm init has not completed"),
        condition(
            "CertificatesAvailable", terms.FALSE, "NotAvailable", f"Missing: {', '.join(facts.missing_certificates)}"
        )
        if facts.missing_certificates
        else condition("CertificatesAvailable", terms.TRUE, "Available"),
    ]
    if view.managed_etcd:
        conditions += [_etcd_cluster(view, facts, is_initialized), _etcd_available(view, is_initialized)]
    conditions.append(_components(view, facts, is_initialized))
    conditions.insert(0, _available(view, facts, conditions))
    conditions += [
        aggregate("MachinesReady", "Ready", view.machines, facts.machines),
        aggregate(
            "MachinesUpToDate",
            "UpToDate",
            [each for each in view.machines if view.now - each.created >= settings.SURFACING_DELAY],
            facts.machines,
        ),
        _rolling_out(view, facts),
        *_scaling(view, facts),
        _remediating(view, facts),
        _deleting(view, facts),
        paused_condition(view),
    ]
    return conditions


def settled(conditions: Sequence[Object]) -> bool:
    """Return whether a KubeadmControlPlane's conditions report convergence.

    No change is under way and every machine is healthy.
    """
    found = {each["type"]: each["status"] for each in conditions}
    well = found.get(types.ETCD_CLUSTER_HEALTHY, terms.TRUE) == found.get("MachinesReady") == terms.TRUE
    return (
        well
        and found.get("MachinesUpToDate") == terms.TRUE
        and {found.get(each) for each in _UNDER_WAY} == {terms.FALSE}
    )


def _merge(view: View, facts: Facts, kinds: Sequence[str]) -> tuple[str, str]:
    """Return the worst status of conditions over the machines, and a message.

    The message merges equal texts. Source: docs/reference/cluster_api.md, "Conditions".
    """
    texts: dict[str, list[str]] = {}
    worst = terms.TRUE
    for machine in view.machines:
        failing = [
            each for each in facts.machines[machine.name] if each["type"] in kinds and each["status"] != terms.TRUE
        ]
        if machine.machine["spec"].get("providerID") is None and machine.node is None:
            failing = [each for each in failing if each["status"] == terms.FALSE]
        for each in failing:
            worst = terms.FALSE if each["status"] == terms.FALSE else (worst if worst == terms.FALSE else terms.UNKNOWN)
        same = {each["message"] for each in failing}
        if len(failing) >= 3 and len(same) == 1:
            texts.setdefault(f"Control plane components: {same.pop()}", []).append(machine.name)
            continue
        for each in failing:
            texts.setdefault(f"{each['type']}: {each['message'] or each['reason']}", []).append(machine.name)
    return worst, bullets(texts)


def _etcd_unknown(view: View, kind: str, is_initialized: bool) -> Optional[Object]:
    """Return the condition where this cluster's etcd is unknown, else None."""
    other = another_cluster(view.control_plane, view.etcd)
    if not other and view.etcd_known:
        return None
    if other:
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, f"etcd {other}")
    text = f"etcd gave no member list: {clip(view.etcd.get('message')) or 'no reason given'}"
    return _connection(view, kind, is_initialized) or condition(kind, terms.UNKNOWN, INSPECTION_FAILED, text)


def _connection(view: View, kind: str, is_initialized: bool) -> Optional[Object]:
    if not is_initialized and not view.reachable:
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, "Waiting for the control plane to be initialized")
    if view.reachable:
        return None
    return kept(view, view.control_plane, kind, NOT_ESTABLISHED)


def _etcd_cluster(view: View, facts: Facts, is_initialized: bool) -> Object:
    kind = types.ETCD_CLUSTER_HEALTHY
    if unknown := _etcd_unknown(view, kind, is_initialized):
        return unknown
    worst, text = _merge(view, facts, types.ETCD_CONDITIONS)
    lines = [text] if text else []
    for member in strangers(view):
        worst = terms.FALSE
        lines.append(f"* Etcd {member.describe()} has no corresponding Machine")
    known = {machine.member.id for machine in view.known if machine.member is not None}
    alarms = [each for each in view.etcd.get("alarms") or () if each.get("memberID") not in known]
    if alarms:
        worst = terms.FALSE
        named = [f"{clip(str(each.get('alarm')), 40)} ({each.get('memberID')})" for each in alarms]
        lines.append(f"* Etcd has alarms that name no machine's member: {shortened(named, 3)}")
    if view.etcd.get("memberListAgrees") is False:
        worst = terms.FALSE
        lines.append("* Etcd members do not report the same list of members")
    reason = {terms.TRUE: "Healthy", terms.FALSE: "NotHealthy"}.get(worst, "HealthUnknown")
    return condition(kind, worst, reason, "\n".join(lines))


def _etcd_available(view: View, is_initialized: bool) -> Object:
    """Return the condition EtcdClusterAvailable: etcd can be written to.

    That is: enough of its voters are healthy, whatever the others are, and no alarm is raised.
    Source of the name: the control plane contract (docs/contract.md, "EtcdClusterAvailable").
    """
    kind = "EtcdClusterAvailable"
    if unknown := _etcd_unknown(view, kind, is_initialized):
        return unknown
    figures = quorum.figures(view.members)
    text = f"{figures.healthy} of {figures.voters} voters are healthy, {figures.quorum} are needed"
    if _alarmed(view):
        return condition(kind, terms.FALSE, "NotAvailable", ALARMED)
    if figures.has_quorum:
        return condition(kind, terms.TRUE, "Available", "" if figures.healthy == figures.voters else text)
    return condition(kind, terms.FALSE, "NotAvailable", text)


def _alarmed(view: View) -> bool:
    """Return whether an alarm, of any member, alone stops writes."""
    return bool(view.etcd.get("alarms")) and answers_with_quorum(view)


def answers_with_quorum(view: View) -> bool:
    """Return whether enough voters answer for a quorum, alarms left aside."""
    return quorum.figures(members_without_alarms(view)).has_quorum


def members_without_alarms(view: View, kind: str = "") -> list[quorum.MemberState]:
    """Return the etcd members' states without alarms of a kind.

    "" is for all kinds. By its own status a member with an alarm is not healthy, whatever else it does; where it knows a leader, it serves.
    """
    alarms = view.etcd.get("alarms") or ()
    kept = [each for each in alarms if kind and each.get("alarm") != kind]
    alarmed = {each.get("memberID") for each in alarms}
    statuses = {
        identity: {**status, "healthy": True} if identity in alarmed and status.get("leader") else status
        for identity, status in (view.etcd.get("statuses") or {}).items()
    }
    return quorum.member_states({**view.etcd, "alarms": kept, "statuses": statuses})


def strangers(view: View) -> list[quorum.MemberState]:
    """Return the etcd members that belong to no machine.

    [] while one may still be a machine's (docs/reference/bootstrap.md).
    """
    if any(may_own(view, machine) for machine in view.known):
        return []
    known = {machine.member.id for machine in view.known if machine.member is not None}
    return [member for member in view.members if member.id not in known]


def stray_since(view: View, member: quorum.MemberState) -> int:
    """Return since when a member was observed without a machine.

    In seconds since the epoch: the stored time, else now.
    """
    stored = (view.control_plane.get("status") or {}).get(STRAY_MEMBERS) or ()
    found = next((parse_time(each.get("since")) for each in stored if each.get("id") == member.id), None)
    return view.now if found is None else min(found, view.now)


def stray_lasts(view: View, member: quorum.MemberState) -> bool:
    """Return whether a member was observed without a machine for PATIENCE seconds.

    That is more than one sample of this very member.
    """
    return view.now - stray_since(view, member) >= settings.PATIENCE


def _components(view: View, facts: Facts, is_initialized: bool) -> Object:
    kind = types.CONTROL_PLANE_COMPONENTS_HEALTHY
    found = _connection(view, kind, is_initialized)
    if found is not None:
        return found
    kinds = types.COMPONENT_CONDITIONS + ((types.ETCD_POD_HEALTHY,) if view.managed_etcd else ())
    worst, text = _merge(view, facts, kinds)
    lines = [text] if text else []
    for node in unmanaged_nodes(view):
        worst = terms.FALSE
        lines.append(f"* Control plane Node {clip(node['name'], 80)} has no corresponding Machine")
    reason = {terms.TRUE: "Healthy", terms.FALSE: "NotHealthy"}.get(worst, "HealthUnknown")
    return condition(kind, worst, reason, "\n".join(lines))


def _available(view: View, facts: Facts, conditions: list[Object]) -> Object:
    kind = types.AVAILABLE

    def no(text: str) -> Object:
        return condition(kind, terms.FALSE, "NotAvailable", text)

    if view.deleting:
        return no("Control plane metadata.deletionTimestamp is set")
    if not is_true(conditions, types.INITIALIZED):
        return no("Control plane not yet initialized")
    if not is_true(conditions, "CertificatesAvailable"):
        return no("Control plane certificates are not available")
    if view.managed_etcd and not view.etcd_known:
        held = view.held(view.control_plane, types.INITIALIZED, terms.TRUE)
        if held is None or held < settings.ETCD_LIST_GRACE:
            return no("Waiting for etcd to report the list of members")
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, "Failed to get etcd members")
    if view.managed_etcd:
        if other := another_cluster(view.control_plane, view.etcd):
            return no(f"etcd {other}")
        figures = quorum.figures(view.members)
        if _alarmed(view):
            return no(ALARMED)
        if not figures.has_quorum:
            return no(
                f"There are {figures.healthy} healthy etcd members of {figures.voters}, at least {figures.quorum} required for etcd quorum"
            )
    needed = types.COMPONENT_CONDITIONS + ((types.ETCD_POD_HEALTHY,) if view.managed_etcd else ())
    healthy = [machine for machine in view.machines if is_true(facts.machines[machine.name], *needed)]
    if not healthy:
        return no("There are no Machines with healthy control plane components, at least 1 required")
    kinds = health_conditions(view)
    lasting = [
        machine.name
        for machine in view.machines
        if not is_true(facts.machines[machine.name], *kinds)
        and any(_older(view, machine, each) for each in facts.machines[machine.name] if each["type"] in kinds)
    ]
    text = f"* {len(healthy)} of {len(view.machines)} Machines have healthy control plane components; not healthy: {', '.join(lasting)}"
    return condition(kind, terms.TRUE, "Available", text if lasting else "")


def _older(view: View, machine: MachineView, computed: Object) -> bool:
    held = view.held(machine.machine, computed["type"], computed["status"])
    return computed["status"] != terms.TRUE and held is not None and held >= settings.SURFACING_DELAY


def _rolling_out(view: View, facts: Facts) -> Object:
    old = [machine for machine in view.live if facts.outdated[machine.name]]
    if not old:
        return condition(types.ROLLING_OUT, terms.FALSE, "NotRollingOut")
    texts = sorted(
        {(each.reason != "VersionDiffers", each.message) for machine in old for each in facts.outdated[machine.name]}
    )
    lines = [f"Rolling out {len(old)} not up-to-date replicas", *(f"* {text}" for _order, text in texts)]
    return condition(types.ROLLING_OUT, terms.TRUE, "RollingOut", "\n".join(lines))


def _scaling(view: View, facts: Facts) -> list[Object]:
    if view.spec.get("replicas") is None:
        text = "Waiting for spec.replicas set"
        return [
            condition(kind, terms.UNKNOWN, "WaitingForReplicasSet", text)
            for kind in (types.SCALING_UP, types.SCALING_DOWN)
        ]
    desired, existing = (0 if view.deleting else view.replicas), len(view.machines)
    missing = _missing_template(view)
    said = f"Scaling up would be blocked because {missing}" if missing and not view.deleting else ""
    up = condition(types.SCALING_UP, terms.FALSE, "NotScalingUp", said)
    if existing < desired and not view.deleting:
        first = f"Scaling up from {existing} to {desired} replicas"
        up = condition(
            types.SCALING_UP, terms.TRUE, "ScalingUp", _blocked(first, [missing] if missing else facts.scaling_blocked)
        )
    down = condition(types.SCALING_DOWN, terms.FALSE, "NotScalingDown")
    if existing > desired:
        lines = [_blocked(f"Scaling down from {existing} to {desired} replicas", facts.scaling_blocked)]
        stale = [
            machine.name
            for machine in view.machines
            if machine.deleting
            and view.now - (parse_time(machine.machine["metadata"]["deletionTimestamp"]) or view.now)
            > settings.STALE_DELETION
        ]
        if stale:
            lines.append(f"* Machine{'s' if len(stale) > 1 else ''} {', '.join(stale)} in deletion since more than 15m")
        down = condition(types.SCALING_DOWN, terms.TRUE, "ScalingDown", "\n".join(lines))
    return [up, down]


def _blocked(first: str, because: Sequence[str]) -> str:
    """Return a scaling's message, with the reasons that block it."""
    return "\n".join([f"{first} is blocked because:", *(f"* {text}" for text in because)]) if because else first


def _missing_template(view: View) -> str:
    """Return a text about the missing machine template, "" without one."""
    if not view.control_plane or view.raw.get("machineTemplate") is not None:
        return ""
    reference = ((view.spec.get("machineTemplate") or {}).get("spec") or {}).get("infrastructureRef") or {}
    return (
        f"{clip(reference.get('kind'), 80) or 'the machine template'} {clip(reference.get('name'), 80)} does not exist"
    )


def _remediating(view: View, facts: Facts) -> Object:
    marked = [
        each.name
        for each in view.machines
        if condition_of(each.machine, types.OWNER_REMEDIATED).get("status") == terms.FALSE
        and each.name not in facts.healthy_again
    ]
    if marked:
        text = f"* Machine{'s' if len(marked) > 1 else ''} {', '.join(marked)}: to be remediated"
        return condition(types.REMEDIATING, terms.TRUE, "Remediating", text)
    sick = [
        each.name
        for each in view.machines
        if condition_of(each.machine, types.HEALTH_CHECK_SUCCEEDED).get("status") == terms.FALSE
    ]
    text = (
        f"Machine{'s' if len(sick) > 1 else ''} {', '.join(sick)} not healthy (not to be remediated by KubeadmControlPlane)"
        if sick
        else ""
    )
    return condition(types.REMEDIATING, terms.FALSE, "NotRemediating", text)


def _deleting(view: View, facts: Facts) -> Object:
    if not view.deleting:
        return condition(types.DELETING, terms.FALSE, "NotDeleting")
    reason, text = facts.deletion
    return condition(types.DELETING, terms.TRUE, reason or "WaitingForMachineDeletion", text)
