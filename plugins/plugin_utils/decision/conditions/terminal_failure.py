# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminal failures, in the contract's two fields.

Source: docs/reference/cluster_api.md, "Proposals and contract".

Only a blocked decision can be terminal: a state that changes by itself, or that a later run tries again, is not.
Cluster API's core never removes the fields; here they are removed when the failure is repaired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .. import terms
from ..snapshot.typed_snapshot import View
from .control_plane import initialized

Object = dict[str, Any]

INVALID_CONFIGURATION = "InvalidConfiguration"
UNSUPPORTED_CHANGE = "UnsupportedChange"
CREATE_ERROR = "CreateError"
UPDATE_ERROR = "UpdateError"
DELETE_ERROR = "DeleteError"
REASON, MESSAGE = "failureReason", "failureMessage"

_INVALID = frozenset(
    {
        "ReplicasInvalid",
        "RolloutStrategyInvalid",
        "MinReadySecondsInvalid",
        "MaintenanceWindowInvalid",
        "InfrastructureClusterNotFound",
    }
)
_UNSUPPORTED = frozenset({"VersionDowngrade", "VersionSkew", "EtcdTooOld", "EtcdLeftBehind"})
# The retries that the spec allows are used up, or the control plane is lost: the user decides about the cluster.
_LOST = frozenset({"CannotBeRemediated", "ControlPlaneLost", "ControlPlaneDeleted", "EtcdQuorumLost"})


def failure(view: View, action: str, blocked_on: Sequence[Mapping[str, Any]]) -> Optional[tuple[str, str]]:
    """Return the contract's reason and message of a terminal failure.

    None unless a decision is blocked for such a reason.
    """
    if action != terms.BLOCKED:
        return None
    for each in blocked_on:
        found, message = str(each.get("reason", "")), str(each.get("message", ""))
        if view.deleting:
            return DELETE_ERROR, message
        if found in _INVALID:
            return INVALID_CONFIGURATION, message
        if found in _UNSUPPORTED:
            return UNSUPPORTED_CHANGE, message
        if found in _LOST:
            return UPDATE_ERROR if initialized(view) else CREATE_ERROR, message
    return None


def note(found: Optional[tuple[str, str]], status: Object, stored: Mapping[str, Any]) -> None:
    """Write a failure, or its absence, into a status.

    The status has the older contract's part; a field with None is removed from the stored object.
    """
    fields = dict(zip((REASON, MESSAGE), found)) if found is not None else {}
    status["deprecated"]["v1beta1"].update(fields)
    gone = {key: None for key in (REASON, MESSAGE) if key in ((stored or {}).get("status") or {})}
    status.update({**gone, **fields})
