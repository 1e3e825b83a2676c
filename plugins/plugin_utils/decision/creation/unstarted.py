# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines on which nothing was started yet (docs/reference/bootstrap.md).

Each is either resumed or removed.
"""

from __future__ import annotations

from typing import Optional

from ....module_utils.common.values import clip
from ...objects.instance_data import rendering
from ..conditions.control_plane import initialized
from ..outcome import Context, Outcome
from ..remediation.replacement import retried
from ..removal.one_machine import proven_uninitialized, remove_joiner, remove_unstarted
from ..snapshot.typed_snapshot import MachineView
from .bootstrap import marked


def unstarted(context: Context, machine: MachineView) -> Optional[Outcome]:
    """Remove a never started machine that would be made differently now.

    None where the machine is to be resumed.
    """
    why = _made_differently(context, machine)
    if why:
        return _removal(context, machine, why)
    # It may have died before anything was started on it, or never existed: resuming it would never end.
    if marked(machine):
        return retried(context, machine, _removal(context, machine, "is marked for remediation"))
    if machine.provisioned and machine.infrastructure_gone:
        why = f"its provider says: {clip(machine.infrastructure_gone, 80)}"
        return retried(context, machine, _removal(context, machine, why))
    return None


def _removal(context: Context, machine: MachineView, why: str) -> Outcome:
    if not machine.node_known and machine.member is None:
        return remove_unstarted(machine, why)
    found = "a recorded Node" if machine.member is None else "an etcd member"
    text = f"it {why}; the start of its bootstrap is not recorded, and it has {found} all the same"
    return remove_joiner(context, machine, "BootstrapFailed", text)


def _made_differently(context: Context, machine: MachineView) -> str:
    """Return why a machine would be made differently now, else ""."""
    view, domain = context.view, machine.failure_domain
    if context.outdated[machine.name]:
        return "is not up to date: " + "; ".join(each.message for each in context.outdated[machine.name])
    if _is_unreadable(context, machine):
        return "keeps templates that are refused, which the KubeadmControlPlane does not have any more"
    if machine.is_join and not initialized(view) and proven_uninitialized(view):
        return "was made to join a control plane that does not exist"
    if len(view.live) > context.most and initialized(view):
        return f"only {context.most} machines are wanted"
    if domain and not machine.provisioned and domain not in view.failure_domains:
        return f"was made for the failure domain {domain}, which the cluster does not have any more"
    return ""


def _is_unreadable(context: Context, machine: MachineView) -> bool:
    """Return whether a machine's KubeadmConfig has refused templates, the spec none.

    Escaping what an earlier release kept with braces is no change, so it is not outdated for that.
    """
    own = (machine.config or {}).get("spec")
    return not rendering.is_rendered(own) and rendering.is_rendered(context.desired.config)
