# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletion hooks of Cluster API on Machines.

They are annotations with which another controller, or a user, holds a Machine's deletion.
Source: docs/reference/cluster_api.md, "Removing a machine".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common.values import clip
from ...objects import advice, kinds
from ...objects.conditions import DELETING
from .. import terms
from ..outcome import Outcome, block
from ..snapshot.typed_snapshot import MachineView, annotations_of, condition_of

Object = dict[str, Any]
WAITING = {kinds.HOOK_PRE_DRAIN: "WaitingForPreDrainHook", kinds.HOOK_PRE_TERMINATE: "WaitingForPreTerminateHook"}


def hooks(machine: Object, prefix: str) -> list[str]:
    """Return a Machine's annotations that are hooks of a kind, sorted.

    `prefix` is the kind (kinds.HOOK_...); this collection's own hook is left out.
    """
    found = (key for key in annotations_of(machine) if key == prefix or key.startswith(f"{prefix}/"))
    return sorted(key for key in found if key != kinds.ANNOTATION_PRE_TERMINATE_HOOK)


def drained(machine: Object) -> bool:
    """Return whether a Machine's deletion is past its drain.

    A run records that in the condition Deleting.
    """
    return condition_of(machine, DELETING).get("reason") in terms.DELETION_AFTER_DRAIN


def held_by_hooks(machine: MachineView) -> Optional[Outcome]:
    """Return the wait for the hooks of a machine's deletion.

    Only for the hooks of the phase that the deletion has reached; None without any.
    """
    prefix = kinds.HOOK_PRE_TERMINATE if drained(machine.machine) else kinds.HOOK_PRE_DRAIN
    found = hooks(machine.machine, prefix)
    if not found or condition_of(machine.machine, DELETING).get("reason") == terms.WAITING_FOR_INFRASTRUCTURE:
        return None
    return _waiting(machine, found, WAITING[prefix])


def deletion_held_by_hooks(machines: list[MachineView]) -> Optional[Outcome]:
    """Return the wait for the hooks of any machine.

    For a control plane that is deleted as a whole; None without any.
    """
    for machine in machines:
        for prefix, name in WAITING.items():
            found = hooks(machine.machine, prefix)
            if found:
                return _waiting(machine, found, name)
    return None


def _waiting(machine: MachineView, found: list[str], name: str) -> Outcome:
    listed = ", ".join(clip(each, 120) for each in found)
    text = f"the deletion of machine {machine.name} is held by {'hooks' if len(found) > 1 else 'a hook'}: {listed}"
    fix = (
        "The controller that set it removes the annotation from the Machine when its task is completed; if it never will, remove the annotation yourself "
        f"({advice.edit(kinds.MACHINE, machine.machine['metadata'])})."
    )
    outcome = block(name, text, fix)
    outcome.action = terms.WAIT
    return outcome
