# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedy for etcd's alarm NOSPACE, by the number of voters that serve.

A member serves nothing while it is defragmented (the module etcd_alarm, which refuses what costs the quorum).

The fault: docs/faults.md, "alarm NOSPACE".
"""

from __future__ import annotations

import re

from ....module_utils.common import quorum
from ....module_utils.common.values import shortened
from ...documents.names import typed_name
from ..conditions.control_plane import members_without_alarms
from ..snapshot.typed_snapshot import View

_SHOWN = 7


def way_out(view: View) -> str:
    """Return the remedy: a command, and what has to come before it."""
    members = members_without_alarms(view, "NOSPACE")
    figures = quorum.figures(members)
    if figures.healthy < figures.voters and not figures.tolerance:
        silent = shortened([each.title for each in members if not each.learner and not each.counts], _SHOWN)
        first = f"Bring etcd back on {silent} first: without it no other member can pause. Then make"
    else:
        first = "Make"
    # Of one or two voters each pause is one of etcd.
    pauses = figures.voters <= 2
    consent = " allow_interruption=true" if pauses else ""
    text = (
        f"{first} room in every member's database, one after another, and disarm the alarm: ansible -i INVENTORY {_ansible_hosts(view)} -b -f 1 "
        f'-m kubeadm.control_plane.etcd_alarm -a "state=disarmed compact=true defragment=true{consent}" (docs/standalone_modules.md)'
    )
    if pauses:
        text += "; etcd, and so the API, serves nothing while a member is defragmented"
    if figures.voters > 1:
        text += "; all but the last may say that another one is still full"
    return f"{text}. By hand, in the etcd pods: etcdctl compact, etcdctl defrag, etcdctl alarm disarm."


def _ansible_hosts(view: View) -> str:
    """Return the machines as the command `ansible` takes them.

    Existing hosts by their own names: user, become and bastion are variables of theirs, not of the inventory plugin's group.
    """
    status = [(each.infrastructure or {}).get("status") or {} for each in view.machines]
    hosts = [(each.get("claim") or each.get("connection") or {}).get("inventoryHost") for each in status]
    if hosts and all(hosts):
        return ",".join(typed_name(str(each), "HOST") for each in hosts)
    return re.sub(r"[^A-Za-z0-9_]", "_", view.name) + "_machines"
