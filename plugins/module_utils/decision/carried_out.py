# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reconcile carries out in this release. Decisions and plans are always complete; the limit stands here alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names

Object = dict[str, Any]

# Action -> the reasons for which it is carried out; None: whatever the reason.
CARRIED_OUT: Mapping[str, Optional[frozenset[str]]] = {
    names.CREATE_INFRASTRUCTURE: None,
    names.CREATE_CERTIFICATES: None,
    names.INITIALIZE: None,
    names.JOIN: frozenset({"ScalingUp"}),
    names.REMOVE: frozenset({"BootstrapFailed", "NeverBootstrapped", "MachineDeleting"}),
    names.DELETE_MACHINES: None,
    names.DELETE_INFRASTRUCTURE: None,
}

NOT_CARRIED_OUT = "NotCarriedOut"


def carried_out(decision: Object) -> bool:
    """Whether reconcile carries this decision out in this release; what does nothing (wait, postponed, blocked, none) counts as such."""
    action = decision["action"]
    if action in names.ENDINGS:
        return True
    if action not in CARRIED_OUT:
        return False
    if decision.get("prerequisites"):
        # A machine of a newer spec or version: nothing prepares the cluster for it yet.
        return False
    reasons = CARRIED_OUT[action]
    return reasons is None or any(each["reason"] in reasons for each in decision["reasons"][:1])


def limit_text() -> str:
    """What this release does, in one sentence."""
    return "This release creates, resumes and deletes control planes; it plans everything else, but does not carry it out yet."
