# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of the Cluster, made from its control plane's.

They are those that Cluster API's core sets.
Source: docs/reference/cluster_api.md, "Conditions".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from ....module_utils.common.values import clip, condition_in
from ...objects import kinds
from ...objects.conditions import (
    AVAILABLE,
    DELETING,
    INFRASTRUCTURE_READY,
    INITIALIZED,
    REMEDIATING,
    REMOTE_CONNECTION_PROBE,
    ROLLING_OUT,
    SCALING_DOWN,
    SCALING_UP,
)
from .. import terms
from ..removal.deleted_control_plane import CONTROL_PLANE_DELETED
from ..snapshot.typed_snapshot import View
from .control_plane import NOT_ESTABLISHED
from .machine import condition, paused_condition

Object = dict[str, Any]
# The Cluster's conditions that mirror the control plane's
# (the control plane contract, "ControlPlane: conditions").
_MIRRORED = {
    "ControlPlaneMachinesReady": "MachinesReady",
    "ControlPlaneMachinesUpToDate": "MachinesUpToDate",
    ROLLING_OUT: "RollingOut",
    SCALING_UP: "ScalingUp",
    SCALING_DOWN: "ScalingDown",
    REMEDIATING: "Remediating",
}
_NEEDED_FOR_AVAILABLE = (INFRASTRUCTURE_READY, "ControlPlaneAvailable", REMOTE_CONNECTION_PROBE)


def endpoint_is_unused(view: View) -> bool:
    """Return whether an endpoint that can't be asked counts as unused.

    Before the first machine: by the user's annotation, or by the role that makes it, which asks the hosts' network again before kubeadm runs.
    """
    status = (view.raw.get("infrastructureCluster") or {}).get("status") or {}
    return kinds.is_flagged(view.cluster, kinds.ANNOTATION_ENDPOINT_UNUSED) or status.get("endpointIsUnused") is True


def cluster_conditions(view: View, control_plane: list[Object]) -> list[Object]:
    """Return the conditions of the Cluster that follow from the control plane."""
    available = condition_in(control_plane, AVAILABLE)
    initial = condition_in(control_plane, INITIALIZED)
    infrastructure = (
        condition(INFRASTRUCTURE_READY, terms.TRUE, "Ready")
        if view.infrastructure_ready
        else condition(INFRASTRUCTURE_READY, terms.FALSE, "NotReady", "The cluster's infrastructure is not provisioned")
    )
    found = [
        infrastructure,
        _deleted(view, "ControlPlaneInitialized")
        or condition("ControlPlaneInitialized", initial["status"], initial["reason"], initial["message"]),
        _deleted(view, "ControlPlaneAvailable")
        or condition("ControlPlaneAvailable", available["status"], available["reason"], available["message"]),
        _probe(view),
        _endpoint(view),
        _deleting(view, condition_in(control_plane, DELETING)),
        paused_condition(view),
    ]
    for kind, source in _MIRRORED.items():
        each = condition_in(control_plane, source)
        found.append(condition(kind, each["status"], each["reason"], each["message"]))
    return [_cluster_available(view, found), *found]


def _goes(view: View) -> bool:
    """Return whether the Cluster itself is marked for deletion.

    A control plane may be deleted alone, and its Cluster stays.
    """
    return bool((view.cluster.get("metadata") or {}).get("deletionTimestamp"))


def _deleting(view: View, control_plane: Object) -> Object:
    """Return the condition Deleting, with the reasons of Cluster API's core.

    The control plane's own condition reports how far the deletion has come.
    """
    if not _goes(view):
        return condition(DELETING, terms.FALSE, "NotDeleting")
    reason, text = control_plane["reason"], control_plane["message"]
    if reason == "WaitingForMachineDeletion":
        reason = "WaitingForControlPlaneDeletion"
    elif reason == "DeletionCompleted" and view.raw.get("infrastructureCluster") is not None:
        reason, text = "WaitingForInfrastructureDeletion", "* The cluster's infrastructure still exists"
    return condition(DELETING, terms.TRUE, reason, text)


def _deleted(view: View, kind: str) -> Optional[Object]:
    """Return a Cluster's condition after its control plane alone was deleted.

    None where that isn't so.

    Already while the last object of the control plane still exists: it is not known whether another pass follows.
    """
    metadata = view.control_plane.get("metadata") or {}
    ended = view.deleting and not view.machines and not view.raw.get("preparedMachines") and view.latched
    if _goes(view) or view.raw.get("keepsItself"):
        return None
    if view.deleted is None and not ended:
        return None
    name = view.deleted.name if view.deleted is not None else metadata.get("name")
    text = f"KubeadmControlPlane {clip(name, 80)} has been deleted while the cluster still exists"
    return condition(kind, terms.FALSE, CONTROL_PLANE_DELETED, text)


def _cluster_available(view: View, found: Sequence[Object]) -> Object:
    """Return the condition Available, as Cluster API's core summarizes it.

    Workers are not counted.
    """
    kind = AVAILABLE
    if _goes(view):
        return condition(kind, terms.FALSE, "NotAvailable", "* Deleting: Cluster metadata.deletionTimestamp is set")
    failing = [
        each
        for each in (condition_in(found, needed) for needed in _NEEDED_FOR_AVAILABLE)
        if each["status"] != terms.TRUE
    ]
    text = "\n".join(f"* {each['type']}: {each['message'] or each['reason']}" for each in failing)
    if any(each["status"] == terms.FALSE for each in failing):
        return condition(kind, terms.FALSE, "NotAvailable", text)
    return condition(kind, terms.UNKNOWN, "AvailableUnknown", text) if failing else condition(kind, terms.TRUE, kind)


def _probe(view: View) -> Object:
    if view.reachable:
        return condition(REMOTE_CONNECTION_PROBE, terms.TRUE, "ProbeSucceeded")
    if not any(machine.joined for machine in view.known):
        return condition(REMOTE_CONNECTION_PROBE, terms.UNKNOWN, "NotEstablished", NOT_ESTABLISHED)
    # No detail: a text that differs between attempts would make every pass a change.
    return condition(REMOTE_CONNECTION_PROBE, terms.FALSE, "ProbeFailed", "No machine's API server answered")


def _endpoint(view: View) -> Object:
    kind = "ControlPlaneEndpointReachable"
    if view.endpoint_answers is None:
        return condition(kind, terms.UNKNOWN, "NotAsked", "The endpoint could not be asked")
    if view.endpoint_answers:
        return condition(kind, terms.TRUE, "Reachable")
    # Another cluster's API may answer there.
    text = f"{view.endpoint or 'An endpoint that is not set'} does not lead to this cluster's API"
    return condition(kind, terms.FALSE, "NotReachable", text)
