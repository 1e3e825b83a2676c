# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates for etcd's leadership when the leader's machine is removed.

Source: docs/reference/cluster_api.md, "Removing etcd members".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Optional

from ...objects.conditions import ETCD_MEMBER_HEALTHY, HEALTH_CHECK_SUCCEEDED
from .. import terms
from ..conditions.machine import is_true
from ..snapshot.typed_snapshot import MachineView, View, condition_of

Object = dict[str, Any]


def leads(view: View, machine: MachineView) -> bool:
    """Return whether the machine's etcd member is the leader."""
    return view.leader is not None and machine.member is not None and view.leader.id == machine.member.id


def candidates(
    view: View, machine: Optional[MachineView], machines: Mapping[str, list[Object]], outdated: Collection[str]
) -> list[str]:
    """Return who may take over the leadership, best first.

    By machine, or by member where its name is not its Node's. `machine` is the one that gives it up (None: a member without a machine does).

    A healthy member comes first, then a machine that no health check found unhealthy, that is up to date, and that is
    newest.
    A member that is not proven healthy is never a candidate: unknown is not healthy (docs/reference/invariants.md,
    "Unknown is unhealthy").
    """
    others = [
        each
        for each in view.live
        if each is not machine and each.node is not None and each.member is not None and each.member.counts
    ]

    def rank(each: MachineView) -> tuple[bool, bool, bool, int, str]:
        return (
            not is_true(machines[each.name], ETCD_MEMBER_HEALTHY),
            condition_of(each.machine, HEALTH_CHECK_SUCCEEDED).get("status") == terms.FALSE,
            each.name in outdated,
            -each.created,
            each.name,
        )

    return [_name(each) for each in sorted(others, key=rank)]


def _name(machine: MachineView) -> str:
    """Return the name by which etcd_leader finds a machine's member.

    Where a host was renamed beneath its etcd that is the member's own.
    """
    member = machine.member
    return machine.name if member is None or member.name == machine.node_name else member.name


def hand_over(
    view: View, machine: MachineView, machines: Mapping[str, list[Object]], outdated: Collection[str]
) -> Optional[Object]:
    """Return the decision's `leadership` for the removal of `machine`.

    None where its member does not lead.
    """
    if not leads(view, machine) or machine.member is None:
        return None
    return {"from": machine.member.title, "to": candidates(view, machine, machines, outdated)}
