# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of etcd members and Nodes that belong to no machine.

Source: docs/reference/cluster_api.md, "Unexpected members".

The faults: docs/faults.md, "Node deleted, member still there", "killed after a learner was added, before its etcd
starts", "a member was added and never started (no name)".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import quorum, settings
from ....module_utils.common.values import clip
from ...documents.names import is_dns_subdomain
from .. import terms
from ..checks.nodes_without_machine import control_plane_nodes, labelled_workers, silent_since, unmanaged_nodes
from ..checks.trouble import claim_member
from ..conditions.control_plane import strangers, stray_lasts
from ..conditions.machine import health_conditions, is_true
from ..creation.bootstrap import possible_owner
from ..outcome import Context, Outcome, block, first_that_acts, reason, target
from ..snapshot.typed_snapshot import View
from .leadership import candidates

Object = dict[str, Any]


def remove_stray(context: Context) -> Optional[Outcome]:
    """Remove one etcd member that belongs to no machine, or refuse that.

    None where every member has its machine.

    Never while a machine is being provisioned (the stray may be its own), nor one that has a control plane Node: that
    is a machine which the store does not know. It must have been observed for a while; members that never started are
    removed first.
    """
    view = context.view
    if not view.managed_etcd or not view.machines:
        return None
    nodes = control_plane_nodes(view)
    found = sorted(strangers(view), key=lambda each: (each.name in nodes, each.name != "", each.name, each.id))
    # A refused removal must not hold up another one: without that one it may stay refused for ever.
    return first_that_acts(_remove(context, member, member.name in nodes) for member in found)


def _remove(context: Context, member: quorum.MemberState, has_node: bool) -> Outcome:
    view = context.view
    if has_node:
        text = f"control plane Node {clip(member.name, 80)} belongs to no machine of this cluster"
        fix = (
            "Adopt that machine, or give the store that knows it. If its host is gone, delete the Node: then its etcd "
            f"{member.describe()} is removed."
        )
        return block("UnmanagedNode", text, fix)
    text = f"etcd {member.describe()} belongs to no machine"
    owner = possible_owner(view, member)
    if owner is not None:
        text += f", and removing it is refused: machine {owner.name} has no member of its Node's name, and this may be its own"
        return block("CannotBeRemediated", text, claim_member(owner))
    if not stray_lasts(view, member):
        outcome = block(
            "StrayMember", text, f"It is removed when it is still there {settings.PATIENCE} s after it was first seen."
        )
        outcome.action = terms.WAIT
        return outcome
    verdict = quorum.check_remove(view.members, member.id, view.leader.id if view.leader else None)
    why = _refusal(context, member, verdict)
    if why:
        fix = "Bring the other members back to health first; without a majority only a snapshot helps."
        outcome = block("CannotBeRemediated", f"{text}, and removing it is refused: {why}", fix)
    else:
        # A name that no Node can have is in none of kubeadm's records either.
        node = {"node": member.name} if is_dns_subdomain(member.name) else {}
        outcome = Outcome(
            terms.REMOVE_MEMBER,
            [reason("StrayMember", text)],
            {**target(None, member=member.id), **node},
        )
        outcome.leadership = _hand_over(view, context, member)
    order = "A member without a machine gives no vote that can be counted on, and raises the number of votes needed."
    outcome.quorum = verdict.document(view.leader_title, order)
    return outcome


def remove_stray_node(context: Context) -> Optional[Outcome]:
    """Delete the Node of a control plane machine that is gone.

    It has no machine and no etcd member, and its kubelet has been silent for CONNECTION_GRACE.
    None where there is no such Node; a Node whose kubelet still reports belongs to a running host and is left, and so
    is a worker's that has got the control plane's label.
    """
    view = context.view
    if view.managed_etcd and (not view.etcd_known or view.etcd.get("memberListAgrees") is not True):
        return None
    members = {member.name for member in view.members}
    nodes = [node for node in unmanaged_nodes(view) if node["name"] not in members]
    workers = labelled_workers(view) if nodes else {}
    found = (node for node in nodes if node["name"] not in workers)
    removals = (removal(view, node, "belongs to no machine and to no etcd member") for node in found)
    return next(filter(None, removals), None)


def removal(view: View, node: Object, whose: str) -> Optional[Outcome]:
    """Return the deletion of a Node whose machine is gone.

    Once its kubelet has been silent for CONNECTION_GRACE; None before, and where the kubelet still reports: its host
    runs.

    Args:
        view: the snapshot.
        node: the Node.
        whose: what is known of its machine, for the reason: "belongs to no machine".
    """
    since = silent_since(node)
    if since is None or view.now - since < settings.CONNECTION_GRACE:
        return None
    text = f"Node {clip(node['name'], 80)} {whose}, and its kubelet has been silent for {view.now - since} s"
    return Outcome(terms.REMOVE_NODE, [reason("StrayNode", text)], {**target(None), "node": node["name"]})


def _refusal(context: Context, member: quorum.MemberState, verdict: quorum.Verdict) -> str:
    view = context.view
    if not verdict.allowed:
        return verdict.why
    if view.etcd.get("memberListAgrees") is not True:
        return "the members do not all report the same list"
    needed = health_conditions(view)
    if member.name and not any(is_true(context.machines[each.name], *needed) for each in view.live):
        # The host of a member that started may carry the only control plane that works
        # (docs/reference/invariants.md, "One complete machine stays").
        return "no machine of this cluster has all control plane components healthy"
    return ""


def _hand_over(view: View, context: Context, member: quorum.MemberState) -> Optional[Object]:
    if view.leader is None or view.leader.id != member.id:
        return None
    able = candidates(view, None, context.machines, {each.name for each in context.old})
    return {"from": member.title, "to": able}
