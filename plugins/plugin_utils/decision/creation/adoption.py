# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adoption of Machines that have no controller.

They carry this control plane's labels.
Source: docs/reference/cluster_api.md, "Adoption".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common.kubernetes_versions import read_version
from ....module_utils.common.values import controller_of
from ...objects import advice, kinds
from .. import ownership, terms
from ..outcome import Context, Outcome, block, reason, target
from ..snapshot.typed_snapshot import View

Object = dict[str, Any]
MIXED_MANAGEMENT = "MixedManagement"


def one_controller(view: View) -> str:
    """Return the remedy for Machines that another controller has."""
    return (
        "Where that one is to manage them, name it in the Cluster's spec.controlPlaneRef again "
        f"({advice.edit(kinds.CLUSTER, view.cluster['metadata'])}). Where this one is, remove the other's controller reference from "
        "metadata.ownerReferences of each Machine "
        f"({advice.edit(kinds.MACHINE, view.others[0].machine['metadata'])}), or this cluster's labels from the Machine."
    )


def adopt(context: Context) -> Optional[Outcome]:
    """Adopt all Machines without a controller at once, or none.

    None where every Machine has this control plane as its controller.
    Blocked where another controller has a Machine: two must never manage one control plane.
    """
    view = context.view
    if view.others:
        text = f"{ownership.controlled(each.machine for each in view.others)}: two must never manage one control plane"
        return block(MIXED_MANAGEMENT, text, one_controller(view))
    free = [machine for machine in view.live if controller_of(machine.machine) is None]
    if not free:
        return None
    wanted = read_version(view.version)
    for machine in free:
        if machine.config is None:
            text = (
                f"machine {machine.name} has no KubeadmConfig, so nothing says how it was made; no machine is adopted"
            )
            return block(
                "AdoptionFailed",
                text,
                "Put its KubeadmConfig into the store, or remove this cluster's labels from the Machine.",
            )
        version = read_version(machine.version)
        if version is None or wanted is None:
            continue
        if not version.within_one_minor(wanted):
            text = f"machine {machine.name} has version {version} and {wanted} is wanted: more than one minor version apart; no machine is adopted"
            return block("AdoptionFailed", text, "Set spec.version to what runs, adopt, then upgrade.")
    listed = [machine.name for machine in free]
    outcome = Outcome(
        terms.ADOPT, [reason("Adopting", f"machines without a controller are taken over: {', '.join(listed)}")]
    )
    outcome.target = {**target(None), "machines": listed}
    return outcome
