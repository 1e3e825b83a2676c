# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers whose bootstrap has not succeeded: what becomes of each.

The table for control plane machines is docs/reference/bootstrap.md. A worker has no etcd member: it may go at any time.
"""

from __future__ import annotations

from typing import Optional

from ....module_utils.common.values import clip, format_time
from ...documents.names import typed_name
from ...objects import advice
from .. import terms
from ..checks.trouble import Trouble
from ..creation.bootstrap import marked, may_run
from ..snapshot.typed_snapshot import MachineView, View
from .held_back import CHECK, not_made, title
from .remediation import is_left_alone
from .worker_view import DeploymentView

BOOTSTRAP_FAILED, AT_WORK, SILENT = "WorkerBootstrapFailed", "WorkerBootstrapUnderWay", "WorkerBootstrapUnknown"


def resumes(view: View, deployment: DeploymentView, machine: MachineView) -> bool:
    """Return whether a bootstrap is to be started, or its end recorded.

    One that was never started is resumed only where it is as new ones are, and stays. An end is recorded of one that is to be replaced, too: it may wait
    long for its turn.
    """
    if machine.deleting or machine.infrastructure_gone or not_made(deployment, machine):
        return False
    if machine.bootstrap == terms.RUNNING:
        return bool(machine.unit.get("answers")) and machine.unit.get("state") != terms.RUNNING
    return machine.bootstrap == "" and not marked(machine) and deployment.is_as_new(machine)


def trouble(view: View, deployment: DeploymentView, machine: MachineView) -> Optional[Trouble]:
    """Return what is waited for or wrong with a bootstrap, or None.

    A bootstrap that failed is not repeated by itself, as in Cluster API: a health check may ask for another machine.
    """
    if machine.deleting or machine.joined:
        return None
    found = not_made(deployment, machine)
    if found is not None:
        return found
    who = f"{title(deployment)}: machine {machine.name}"
    if machine.bootstrap == terms.RUNNING and may_run(view, machine):
        if not machine.silent:
            return Trouble(CHECK, AT_WORK, f"{who}: kubeadm join is under way", "", True)
        said = clip(machine.unit.get("message")) or "no reason given"
        text = f"{who} does not answer ({said}); kubeadm may run there until {format_time(machine.ends_at)}"
        return Trouble(CHECK, SILENT, text, _fix(deployment, machine), True)
    if machine.bootstrap in (terms.RUNNING, terms.FAILED):
        said = machine.bootstrap_message or machine.infrastructure_gone or "its end was not observed"
        text = f"{who}: its bootstrap failed ({said})"
        return Trouble(CHECK, BOOTSTRAP_FAILED, text, _fix(deployment, machine), False)
    left_alone = is_left_alone(deployment, machine)
    if not left_alone and (marked(machine) or deployment.outdates(machine)):
        # Another one is made in its place.
        return None
    if machine.infrastructure_gone:
        why = f"its provider says: {clip(machine.infrastructure_gone, 80)}"
    elif left_alone and (marked(machine) or not deployment.is_as_new(machine)):
        why = "it is of an earlier template, and no rollout replaces it"
    else:
        # It is resumed.
        return None
    text = f"{who}: kubeadm was never started there ({why})"
    return Trouble(CHECK, BOOTSTRAP_FAILED, text, _fix(deployment, machine), False)


def _fix(deployment: DeploymentView, machine: MachineView) -> str:
    look = f"Look at {typed_name(machine.name)} (journalctl -u kubelet). " if machine.bootstrap else ""
    first = f"{look}To have another one in its place"
    if is_left_alone(deployment, machine):
        return f"{first}, delete its Machine ({advice.delete(machine.machine['metadata'])})."
    return f"{first}, ask for it {advice.replace(machine.name)}; a MachineHealthCheck asks by itself."
