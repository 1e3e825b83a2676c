# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events that explain a decision and its end.

Reasons are Cluster API's, where it has one.

Source: docs/reference/cluster_api.md, "Names and markers".
"""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import condition_in
from ...decision import terms
from ...objects.conditions import REMEDIATING, ROLLING_OUT
from ..cluster_objects import ClusterObjects, Object

CONTROL_PLANE_UNHEALTHY = "ControlPlaneUnhealthy"
# What begins, in the words of Cluster API's conditions where it has them.
_BEGUN: t.Mapping[str, str] = {
    terms.CREATE_INFRASTRUCTURE: "Provisioning",
    terms.CREATE_CERTIFICATES: "CreatingCertificates",
    terms.INITIALIZE: "Initializing",
    terms.ADOPT: "Adopting",
    terms.JOIN: "ScalingUp",
    terms.REMOVE: "ScalingDown",
    terms.REMOVE_MEMBER: "RemovingEtcdMember",
    terms.REMOVE_NODE: "DeletingNode",
    terms.UPDATE_ADDONS: "UpdatingAddons",
    terms.APPLY_RESOURCE_SETS: "ApplyingResourceSets",
    terms.RECOVER_SINGLE_VOTER: "RecoveringEtcd",
    terms.DELETE_MACHINES: "Deleting",
    terms.DELETE_INFRASTRUCTURE: "Deleting",
}
_FAILED: t.Mapping[str, str] = {
    terms.INITIALIZE: "FailedInitialization",
    terms.ADOPT: "AdoptionFailed",
    terms.JOIN: "FailedScaleUp",
    terms.REMOVE: "FailedScaleDown",
    terms.REMOVE_MEMBER: "FailedScaleDown",
    terms.REMOVE_NODE: "FailedScaleDown",
    terms.DELETE_MACHINES: "FailedDelete",
    terms.DELETE_INFRASTRUCTURE: "FailedDelete",
}
# Why machines come and go, the strongest first.
_REPLACES = (REMEDIATING, ROLLING_OUT)


def record_decision(objects: ClusterObjects, decision: Object, said: str) -> None:
    """Record Events for a started step or for what blocks the cluster.

    A cluster with nothing to do needs no explanation.
    """
    action = decision["action"]
    if action in (terms.NONE, terms.WAIT):
        return
    reason = _BEGUN.get(action) or _why_held(decision)
    if action in (terms.JOIN, terms.REMOVE):
        found = (decision.get("conditions") or {}).get("controlPlane") or []
        reason = next((each for each in _REPLACES if condition_in(found, each).get("status") == terms.TRUE), reason)
    for obj in _about(objects, (decision.get("target") or {}).get("machine")):
        objects.store.record(obj, reason, said, warning=action == terms.BLOCKED)


def record_failure(objects: ClusterObjects, intent: t.Mapping[str, t.Any], error: str) -> None:
    """Record Events for a failed step.

    Args:
        objects: the cluster's objects.
        intent: the journal's entry of the step.
        error: what went wrong, in one line.
    """
    action = str(intent.get("action"))
    reason = _FAILED.get(action, f"Failed{action[:1].upper()}{action[1:]}")
    for obj in _about(objects, intent.get("target")):
        objects.store.record(obj, reason, error, warning=True)


def _why_held(decision: Object) -> str:
    if any(each.get("result") == "fail" for each in decision.get("preflight") or ()):
        return CONTROL_PLANE_UNHEALTHY
    return str((decision.get("blockedOn") or [{}])[0].get("reason") or CONTROL_PLANE_UNHEALTHY)


def _about(objects: ClusterObjects, machine: t.Optional[str]) -> list[Object]:
    found = [objects.control_plane or objects.cluster]
    named = objects.machine(machine) if machine else None
    return [*found, named] if named is not None else found
