# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies for etcd's alarms, as commands that a user types.

NOSPACE by the number of voters that serve: a member serves nothing while it is defragmented (the module etcd_alarm, which refuses what
costs the quorum). CORRUPT by hand alone: etcd then refuses every write, so a run can neither raise its Lease nor cordon a Node.

The faults: docs/faults.md, "alarm NOSPACE" and "alarm CORRUPT".
"""

from __future__ import annotations

from ....module_utils.common import quorum
from ....module_utils.common.values import shortened
from ...documents.names import typed_name
from ...objects import advice
from ..conditions.control_plane import members_without_alarms
from ..snapshot.typed_snapshot import View

_SHOWN = 7


def corrupt(view: View) -> str:
    """Return the remedy for the alarm CORRUPT.

    The member goes first: disarmed beside it, etcd would serve what is wrong. The alarm names it, another one or none, and
    stays when its member goes.
    """
    ansible = f"{_ansible(view, 'HOST')} -m kubeadm.control_plane"
    return (
        "No run can take a step while it is raised. Find the member whose data differs (etcdctl endpoint hashkv --cluster): the alarm may name another "
        f'one, or none. On a HOST that stays remove it: {ansible}.etcd_member -a "state=absent name=MEMBER". There disarm the alarm, by the ID that it names: '
        f'{ansible}.etcd_alarm -a "state=disarmed alarm=CORRUPT corrupt_member=ID". Where the differing member is gone already, only disarm. Then have its '
        f'machine replaced {advice.replace("NAME")}. Each step: docs/standalone_modules.md, "The alarm CORRUPT".{_key(view)}'
    )


def no_space(view: View) -> str:
    """Return the remedy for the alarm NOSPACE."""
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
        f"{first} room in every member's database, one after another, and disarm the alarm: {_ansible(view)} -f 1 "
        f'-m kubeadm.control_plane.etcd_alarm -a "state=disarmed compact=true defragment=true{consent}" (docs/standalone_modules.md)'
    )
    if pauses:
        text += "; etcd, and so the API, serves nothing while a member is defragmented"
    if figures.voters > 1:
        text += "; all but the last may say that another one is still full"
    return f"{text}. By hand, in the etcd pods: etcdctl compact, etcdctl defrag, etcdctl alarm disarm.{_key(view)}"


def _existing(view: View) -> list[str]:
    """Return the machines' names as existing hosts, "" for others."""
    status = [(each.infrastructure or {}).get("status") or {} for each in view.machines]
    return [str((each.get("claim") or each.get("connection") or {}).get("inventoryHost") or "") for each in status]


def _ansible(view: View, host: str = "") -> str:
    """Return the command `ansible` for one host or all machines.

    No group: its name depends on the clusters of other namespaces, and an existing host's user, become and bastion are no variables of it.
    """
    existing = _existing(view)
    names = host or ",".join(typed_name(known or each.name, "HOST") for known, each in zip(existing, view.machines))
    return f"ansible -i INVENTORY {names} -b{'' if all(existing) else ' --private-key FILE'}"


def _key(view: View) -> str:
    """Return what FILE is in :func:`_ansible`."""
    # No inventory has the key of machines that are no existing hosts.
    return "" if all(_existing(view)) else f" FILE is the SSH key of {typed_name(view.name)}-ssh (docs/store.md)."
