# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status fields of MachineDeployments, MachineSets and workers, of both contracts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...objects import kinds
from .. import terms
from ..conditions import older_contract
from ..conditions.machine import is_true
from ..conditions.status_fields import observed_generation, versions
from ..snapshot.typed_snapshot import MachineView
from .conditions import Conditions
from .worker_view import DeploymentView, SetView, Workers

Object = dict[str, Any]


def deployment_status(deployment: DeploymentView, machines: Conditions, found: Sequence[Object], now: int) -> Object:
    """Return a MachineDeployment's status; `found` are its conditions."""
    own = deployment.machines
    counted = _counters(own, machines)
    missing = max(0, deployment.replicas - counted["availableReplicas"])
    older = {
        "conditions": older_contract.machine_deployment(deployment.document, found, now),
        "readyReplicas": counted["readyReplicas"],
        "availableReplicas": counted["availableReplicas"],
        "updatedReplicas": counted["upToDateReplicas"],
        "unavailableReplicas": missing,
    }
    states = {each["type"]: each["status"] for each in found}
    growing, shrinking = (states.get(kind) == terms.TRUE for kind in ("ScalingUp", "ScalingDown"))
    return {
        "selector": _selector(deployment.document),
        **counted,
        "versions": versions(own),
        "phase": "ScalingUp" if growing else "ScalingDown" if shrinking else "Running",
        "deprecated": {"v1beta1": older},
        **observed_generation(deployment.document),
    }


def set_status(owned: SetView, machines: Conditions, found: Sequence[Object], now: int) -> Object:
    """Return a MachineSet's status; `found` are its conditions."""
    counted = _counters(owned.machines, machines)
    older = {
        "conditions": older_contract.machine_set(owned.document, found, now),
        "fullyLabeledReplicas": counted["replicas"],
        **{key: counted[key] for key in ("readyReplicas", "availableReplicas")},
    }
    return {
        "selector": _selector(owned.document),
        **counted,
        "deprecated": {"v1beta1": older},
        **observed_generation(owned.document),
    }


def cluster_workers(workers: Workers, machines: Conditions) -> Object:
    """Return `workers` of the Cluster's status, {} without MachineDeployments."""
    if not workers.deployments:
        return {}
    desired = sum(each.replicas for each in workers.deployments)
    return {"workers": {"desiredReplicas": desired, **_counters(workers.machines, machines)}}


def _counters(own: Sequence[MachineView], machines: Conditions) -> dict[str, int]:
    kinds_of = {"readyReplicas": "Ready", "availableReplicas": "Available", "upToDateReplicas": "UpToDate"}
    counted = {field: sum(1 for each in own if is_true(machines[each.name], kind)) for field, kind in kinds_of.items()}
    return {"replicas": len(own), **counted}


def _selector(document: Object) -> str:
    """Return the selector of a document's machines as a text."""
    labels = ((document["spec"].get("selector") or {}).get("matchLabels")) or {}
    wanted = {key: value for key, value in labels.items() if isinstance(value, str)}
    return ",".join(f"{key}={wanted[key]}" for key in sorted(wanted)) or f"{kinds.LABEL_CLUSTER_NAME}"
