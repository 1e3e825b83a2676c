# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines whose bootstrap has not succeeded: which comes first, which counts as failed (docs/reference/bootstrap.md has the table).

kubeadm join may add the machine's etcd member at any moment while it runs, so nothing is removed while it may run. What tells that it
does not: the machine itself, its provider, a user, or the time at which the machine ends it by itself.
"""

from __future__ import annotations

from ....module_utils.common.quorum import MemberState
from ...objects import kinds
from ...objects.conditions import HEALTH_MARKS
from .. import terms
from ..snapshot.typed_snapshot import MachineView, View, condition_of


def marked(machine: MachineView) -> bool:
    """Whether somebody marked a machine to be remediated: a health check, or a user."""
    if kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE):
        return True
    return all(condition_of(machine.machine, kind).get("status") == terms.FALSE for kind in HEALTH_MARKS)


def asked_to_go(machine: MachineView) -> bool:
    """Whether a health check or a user wants a machine gone."""
    return machine.deleting or marked(machine)


def consent(machine: str) -> str:
    """Return the consent by which a user says that a machine is off for good, though nobody saw its kubeadm end."""
    return f"{terms.GIVE_UP_BOOTSTRAP}:{machine}"


def may_run(view: View, machine: MachineView) -> bool:
    """Whether kubeadm may still run on a machine on which it was started: nothing tells that it does not."""
    if machine.bootstrap != terms.RUNNING or _is_off(view, machine):
        return False
    return not (machine.silent and view.now >= machine.ends_at)


def under_way(view: View, machine: MachineView) -> bool:
    """Whether a machine's bootstrap comes before everything else.

    Also where kubeadm can't run any more, and the machine neither answers nor is to go: each run asks it, until it tells its result.
    """
    if machine.bootstrap != terms.RUNNING or _is_off(view, machine):
        return False
    return may_run(view, machine) or not asked_to_go(machine)


def has_failed(view: View, machine: MachineView) -> bool:
    """Whether a machine's bootstrap failed, or counts as failed because kubeadm can't run there any more and it is to go."""
    return machine.bootstrap == terms.FAILED or (machine.bootstrap == terms.RUNNING and not under_way(view, machine))


def may_own(view: View, machine: MachineView) -> bool:
    """Whether an etcd member that no machine is known to have may be this one's.

    It is not joined yet and is to stay, kubeadm may run there, or it has joined and nobody knows what its Node is called.
    """
    if machine.joined:
        return machine.member is None and not machine.node_known
    return not machine.deleting or may_run(view, machine)


def voters_of_nobody(view: View, machine: MachineView) -> list[MemberState]:
    """Return the voters that may be the member of a machine that has joined while nobody knows what its Node, and so its member, is called."""
    if machine.member is not None or not machine.joined or machine.node_known:
        return []
    known = {each.member.id for each in view.known if each.member is not None}
    return [member for member in view.members if member.settled and member.id not in known]


def _is_off(view: View, machine: MachineView) -> bool:
    """Whether the provider or a user says that the machine does not run."""
    given = (view.raw.get("policy") or {}).get("consent") or ()
    return bool(machine.infrastructure_gone) or consent(machine.name) in given
