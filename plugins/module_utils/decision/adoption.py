# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that carry this control plane's labels and have no controller (kcp-behaviour.md §1.15)."""

from __future__ import annotations

from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.outcome import (
    Context,
    Outcome,
    block,
    reason,
    target,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import MachineView
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.values import clip
from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.versions import read_version
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds

Object = dict[str, Any]


def adopt(context: Context) -> Optional[Outcome]:
    """Take over all machines without a controller at once, or nobody; None where every machine has this one.

    Blocked where a machine is controlled by something else: two must never manage one control plane.
    """
    view = context.view
    foreign = [(machine, owner) for machine in view.machines for owner in [_controller(machine)] if owner]
    own = (view.control_plane.get("metadata") or {}).get("name")
    for machine, owner in foreign:
        if owner.get("kind") != kinds.KUBEADM_CONTROL_PLANE or owner.get("name") != own:
            text = f"machine {machine.name} is controlled by {_title(owner)}: two must never manage one control plane"
            fix = "Let go of it there (remove the controller reference), or take it out of this cluster's labels."
            return block("MixedManagement", text, fix)
    free = [machine for machine in view.live if _controller(machine) is None]
    if not free:
        return None
    wanted = read_version(view.version)
    for machine in free:
        if machine.config is None:
            text = (
                f"machine {machine.name} has no KubeadmConfig, so nothing says how it was made; no machine is adopted"
            )
            return block("AdoptionFailed", text, "Put its KubeadmConfig into the store, or take the Machine out.")
        version = read_version(machine.version)
        if version is None or wanted is None:
            continue
        if not version.within_one_minor(wanted):
            text = f"machine {machine.name} has version {version} and {wanted} is wanted: more than one minor version apart; no machine is adopted"
            return block("AdoptionFailed", text, "Set spec.version to what runs, adopt, then upgrade.")
    listed = [machine.name for machine in free]
    outcome = Outcome(
        names.ADOPT, [reason("Adopting", f"machines without a controller are taken over: {', '.join(listed)}")]
    )
    outcome.target = {**target(None), "machines": listed}
    return outcome


def _title(owner: Object) -> str:
    return f"{clip(str(owner.get('kind')), 80)} {clip(str(owner.get('name')), 80)}"


def _controller(machine: MachineView) -> Optional[Object]:
    owners = machine.machine["metadata"].get("ownerReferences") or ()
    found: Optional[Object] = next((each for each in owners if each.get("controller")), None)
    return found
