# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second machine's view of etcd, before something is removed.

Needed where what is to be removed looks dead.

Why: docs/architecture.md, "Two witnesses". The fault: docs/faults.md, "we reach every member, they don't reach each other".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common.quorum import MemberState, member_states
from ....module_utils.common.values import clip
from ...objects.conditions import ETCD_CLUSTER_HEALTHY
from .. import terms
from ..snapshot.typed_snapshot import MachineView, View
from .trouble import Trouble

Object = dict[str, Any]
VIEWS_AGREE = "ViewsAgree"


def views_trouble(view: View, machine: Optional[MachineView]) -> Optional[Trouble]:
    """Return the trouble with the second machine's view of etcd.

    None where two machines agree, or where no second one is needed.
    It is needed where a member looks unhealthy and at least two machines other than `machine` have joined: then one
    machine's view of the other members is no proof.
    """
    others = [each for each in view.live if each is not machine and each.joined]
    if not view.managed_etcd or all(member.counts for member in view.members) or len(others) < 2:
        return None
    second = [each for each in view.workload.get("witnesses") or () if each.get("machine") != view.workload.get("via")]
    heard = [each for each in second if each.get("reachable") is True]
    if not heard:
        asked = "; ".join(f"{each.get('machine')}: {clip(each.get('message'), 120)}" for each in second)
        text = f"an etcd member is unhealthy for {view.workload.get('via')}, and no second machine could be asked ({asked or 'none was'})"
        waits = view.settling or not view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
        return Trouble(
            VIEWS_AGREE, "ViewsUnknown", text, "Make a second machine reachable; one view proves nothing.", waits
        )
    own = _states(view.members)
    for each in heard:
        theirs = _states(member_states(each.get("etcd") or {}))
        if theirs != own:
            text = (
                f"{view.workload.get('via')} and {each.get('machine')} see etcd differently: {_difference(own, theirs)}"
            )
            fix = "Look at the network between the machines. Nothing is removed while views disagree."
            return Trouble(VIEWS_AGREE, "ViewsDisagree", text, fix, False)
    return None


def _states(members: list[MemberState]) -> dict[str, str]:
    return {member.id: terms.TRUE if member.counts else terms.FALSE for member in members}


def _difference(own: dict[str, str], theirs: dict[str, str]) -> str:
    said = {None: "not listed", terms.TRUE: "healthy", terms.FALSE: "not healthy"}
    parts = [
        f"member {identity} is {said[own.get(identity)]} to one and {said[theirs.get(identity)]} to the other"
        for identity in sorted(set(own) | set(theirs))
        if own.get(identity) != theirs.get(identity)
    ]
    return ", ".join(parts)
