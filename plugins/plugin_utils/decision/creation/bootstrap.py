# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of a machine's bootstrap that has not succeeded.

It tells which bootstrap comes first and which counts as failed; the table is in docs/reference/bootstrap.md.

kubeadm join may add the machine's etcd member at any moment while it runs, so no machine is removed while it may run.
That it doesn't run is reported by the machine itself, by its provider or by the user, or follows from the time at which
the machine ends it by itself.
"""

from __future__ import annotations

from typing import Optional

from ....module_utils.common.quorum import MemberState
from ...objects import kinds
from ...objects.conditions import DELETING, HEALTH_MARKS
from ...objects.instance_data.node_names import is_certain_name
from .. import terms
from ..checks.nodes_without_machine import unmanaged_nodes
from ..snapshot.typed_snapshot import MachineView, View, condition_of


def marked(machine: MachineView) -> bool:
    """Return whether a machine is marked for remediation.

    By a health check, or by the user with an annotation.
    """
    if kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE):
        return True
    return all(condition_of(machine.machine, kind).get("status") == terms.FALSE for kind in HEALTH_MARKS)


def asked_to_go(machine: MachineView) -> bool:
    """Return whether a machine is marked for deletion or for remediation."""
    return machine.deleting or marked(machine)


def consent(machine: str) -> str:
    """Return the consent that a machine is off for good.

    The user gives it where the end of the machine's kubeadm was not observed.
    """
    return f"{terms.GIVE_UP_BOOTSTRAP}:{machine}"


def may_run(view: View, machine: MachineView) -> bool:
    """Return whether kubeadm may still run on a machine.

    True where it was started there and no evidence says that it has ended.
    """
    if machine.bootstrap != terms.RUNNING or _is_off(view, machine):
        return False
    # Its end was recorded by a controller's clock: it is over where both clocks say so.
    return not (machine.silent and view.now - clock_difference(view) >= machine.ends_at)


def clock_difference(view: View) -> float:
    """Return the seconds by which controller's and cluster's clocks differ.

    0 where they were not compared.
    """
    found = view.workload.get("clockSkewSeconds")
    return abs(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else 0.0


def under_way(view: View, machine: MachineView) -> bool:
    """Return whether a machine's bootstrap comes before everything else.

    True also where kubeadm can't run any more, and the machine neither answers nor is to be removed: each run asks the
    machine until it reports its result. One whose learner got no vote is asked until then, too.
    """
    if machine.bootstrap != terms.RUNNING or _is_off(view, machine):
        return False
    return not asked_to_go(machine) or (may_run(view, machine) and not _has_no_vote(view, machine))


def has_failed(view: View, machine: MachineView) -> bool:
    """Return whether a machine's bootstrap failed, or counts as failed.

    It counts as failed where kubeadm can't run there any more and the machine is to be removed.
    """
    return machine.bootstrap == terms.FAILED or (machine.bootstrap == terms.RUNNING and not under_way(view, machine))


def _has_no_vote(view: View, machine: MachineView) -> bool:
    """Return whether kubeadm has ended and left a learner.

    It ended well on the machine; nothing is added there any more, and no vote is lost with it. True also where a removal
    has taken the learner already.
    """
    if machine.unit.get("state") != terms.SUCCEEDED:
        return False
    if machine.member is None:
        # The run that removed the member was cut off before the machine's end.
        stage = condition_of(machine.machine, DELETING).get("reason")
        return view.etcd_known and stage in terms.DELETION_AFTER_DRAIN
    return machine.member.learner


def how_it_ended(view: View, machine: MachineView) -> str:
    """Return how a failed bootstrap without a recorded reason ended."""
    if machine.bootstrap == terms.FAILED:
        return "no reason recorded"
    if _has_no_vote(view, machine):
        return "kubeadm has ended there, and its etcd member got no vote"
    return "its end was not observed, and it does not answer"


def ended_unseen(view: View, machine: MachineView) -> bool:
    """Return whether it is unknown how a machine's kubeadm ended.

    The machine may have succeeded: it does not answer, and neither its provider nor the user reported it as off.
    """
    return machine.bootstrap == terms.RUNNING and machine.silent and not _is_off(view, machine)


def may_own(view: View, machine: MachineView) -> bool:
    """Return whether an unmatched etcd member may be this machine's.

    True in three cases:
    - the machine has not joined yet and is to stay
    - kubeadm may run there
    - the machine has joined, and the name of its Node is not known
    """
    if machine.joined:
        return machine.member is None and not machine.node_known
    return not machine.deleting or may_run(view, machine)


def voters_of_nobody(view: View, machine: MachineView) -> list[MemberState]:
    """Return the voters that may be a machine's unknown member.

    Of a machine that has joined, since etcd keeps its name where a host is renamed; of any other only where its Node's
    name, and so its member's name, is not known.
    """
    known = not machine.joined and (machine.node_known or is_certain_name(machine.config))
    if machine.member is not None or known:
        return []
    matched = {each.member.id for each in view.known if each.member is not None}
    # A control plane Node without a machine has a member of its own.
    others = {each["name"] for each in unmanaged_nodes(view)} if machine.node_known else set()
    return [each for each in view.members if each.settled and each.id not in matched and each.name not in others]


def possible_owner(view: View, member: MemberState) -> Optional[MachineView]:
    """Return a joined machine whose member this may be, else None."""
    return next((each for each in view.known if each.joined and member in voters_of_nobody(view, each)), None)


def _is_off(view: View, machine: MachineView) -> bool:
    """Return whether the provider or the user reported the machine as off."""
    given = (view.raw.get("policy") or {}).get("consent") or ()
    return bool(machine.infrastructure_gone) or consent(machine.name) in given
