# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines beyond repair, which are remediated without a mark.

Source: docs/reference/cluster_api.md, "Remediation".
"""

from __future__ import annotations

from ....module_utils.common import settings
from ....module_utils.common.values import clip
from ...objects.conditions import ETCD_MEMBER_HEALTHY
from ..creation.bootstrap import may_run
from ..snapshot.typed_snapshot import MachineView, View


def beyond_repair(view: View, machine: MachineView) -> str:
    """Return why a joined machine can't come back, "" where it may.

    There are two reasons:
    - Its infrastructure does not exist any more; a machine that is only dead may be started again.
    - Its etcd member was removed, as every member that answered has reported for a while: etcd never takes back a
      member with the data of one
      that was removed.
    """
    if not machine.joined:
        return ""
    if machine.infrastructure_lost:
        return (
            f"its infrastructure does not exist any more (the provider says: {clip(machine.infrastructure_gone, 80)})"
        )
    if not view.managed_etcd or machine.member is not None or machine.node is None:
        return ""
    # Another machine's recent join is no evidence about this one, whose join was completed before.
    began = machine.started is not None and view.now - machine.started < settings.SETTLING
    joining = began or any(may_run(view, each) for each in view.known)
    unfinished = joining or any(not each.settled for each in view.members)
    known = view.etcd_known and view.etcd.get("memberListAgrees") is True and not unfinished
    if known and view.lasting(machine.machine, ETCD_MEMBER_HEALTHY):
        return "its etcd member was removed, and etcd never takes back a member with the data of one that was removed"
    return ""
