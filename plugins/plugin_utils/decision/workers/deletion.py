# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletion of all workers before their control plane.

Source: docs/reference/cluster_api.md, "MachineDeployments", "Deletion".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common.values import shortened
from .. import ownership, terms
from ..outcome import Outcome, held, reason, target
from ..removal.hooks import deletion_held_by_hooks
from ..removal.whole_control_plane import WAITING_FOR_WORKERS, refused
from ..snapshot.typed_snapshot import View
from .held_back import not_removed
from .worker_view import read_workers

Object = dict[str, Any]
_SHOWN = 10


def delete_workers(view: View) -> Optional[Outcome]:
    """Return the step that deletes all workers with their cluster.

    None where there are none left; where only the KubeadmControlPlane is deleted, workers stay, and hold it up as Nodes. No worker is
    drained: nothing is left that its Pods could go to. So what would refuse the control plane's deletion afterwards refuses theirs: other
    workers, say, whose Nodes stay.
    """
    if view.raw.get("keepsItself") or ownership.deleted_alone(view.cluster, view.control_plane or None):
        return None
    workers = read_workers(view)
    if not workers.machines:
        return None
    # Another host's Node under a worker's name stays, and is no worker's of this cluster.
    stop = refused(view, {each.node_name for each in workers.machines if not each.impostor})
    if stop is not None:
        return stop
    waiting = deletion_held_by_hooks(workers.machines)
    failed = {
        machine.name: found
        for deployment, machine in workers.each_machine()
        if (found := not_removed(deployment, machine)) is not None
    }
    names = [machine.name for machine in workers.machines if machine.name not in failed]
    listed = shortened(names, _SHOWN)
    if waiting is not None:
        waiting.deletion = (WAITING_FOR_WORKERS, waiting.reasons[0]["message"])
        return waiting
    if not names:
        outcome = held([*failed.values()])
        outcome.deletion = (WAITING_FOR_WORKERS, outcome.reasons[0]["message"])
        return outcome
    outcome = Outcome(terms.DELETE_WORKERS, [reason(WAITING_FOR_WORKERS, f"delete all workers, in parallel: {listed}")])
    outcome.target = {**target(None), "machines": names}
    outcome.deletion = (WAITING_FOR_WORKERS, f"* Worker Machines: {listed}")
    return outcome
