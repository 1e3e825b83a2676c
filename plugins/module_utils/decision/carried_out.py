# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reconcile carries out in this release. Decisions and plans are always complete; the limit stands here alone."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names

Object = dict[str, Any]

# Listed one by one: a new action is not carried out until somebody says so.
CARRIED_OUT: frozenset[str] = frozenset(
    {
        names.CREATE_INFRASTRUCTURE,
        names.CREATE_CERTIFICATES,
        names.INITIALIZE,
        names.ADOPT,
        names.JOIN,
        names.REMOVE,
        names.REMOVE_MEMBER,
        names.REMOVE_NODE,
        names.UPDATE_ADDONS,
        names.RECOVER_SINGLE_VOTER,
        names.DELETE_MACHINES,
        names.DELETE_INFRASTRUCTURE,
    }
)

NOT_CARRIED_OUT = "NotCarriedOut"


def carried_out(decision: Object) -> bool:
    """Whether reconcile carries this decision out in this release; what does nothing (wait, postponed, blocked, none) counts as such."""
    return decision["action"] in names.ENDINGS or decision["action"] in CARRIED_OUT


def limit_text() -> str:
    """What this release does, in one sentence."""
    return "This release takes over no machines that were made otherwise; it plans that, but does not carry it out yet."
