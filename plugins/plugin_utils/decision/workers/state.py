# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of workers as decisions read it, for a plan's fingerprint.

What a prediction can't know is left out, as in snapshot/state_fingerprint.py.
"""

from __future__ import annotations

from typing import Any

from ...objects import kinds
from ...objects.conditions import HEALTH_MARKS
from .. import terms
from ..snapshot.typed_snapshot import MachineView, View, annotations_of, condition_of
from .conditions import Conditions, machine_conditions
from .held_back import not_removed
from .numbers import is_available
from .worker_view import DeploymentView, Workers, read_workers

Object = dict[str, Any]
_ANNOTATIONS = (
    kinds.ANNOTATION_DELETE_MACHINE,
    kinds.ANNOTATION_REMEDIATE_MACHINE,
    kinds.ANNOTATION_SKIP_REMEDIATION,
)


def states(view: View) -> Object:
    """Return the state of each MachineDeployment, by name."""
    workers = read_workers(view)
    conditions = machine_conditions(workers)
    return {each.name: _deployment(each, conditions) for each in workers.deployments}


def managed_nodes(view: View) -> dict[str, str]:
    """Return the kubelet versions of a deployment's Nodes, by name."""
    found: Workers = read_workers(view)
    nodes = [machine.node for machine in found.machines if machine.node is not None]
    return {str(node["name"]): str(node.get("kubeletVersion") or "") for node in nodes}


def _deployment(deployment: DeploymentView, conditions: Conditions) -> Object:
    return {
        "replicas": deployment.replicas,
        "paused": deployment.paused or bool(deployment.spec.get("paused")),
        "deleting": deployment.deleting,
        "templates": "present" if deployment.has_config and deployment.has_template else "missing",
        "current": deployment.set_name(),
        # One that this run could not remove counts as gone, so that a plan's later steps are found; it is told at the end.
        "machines": {
            machine.name: _machine(deployment, machine, conditions)
            for machine in deployment.machines
            if not_removed(deployment, machine) is None
        },
    }


def _machine(deployment: DeploymentView, machine: MachineView, conditions: Conditions) -> Object:
    marks = [kind for kind in HEALTH_MARKS if condition_of(machine.machine, kind).get("status") == terms.FALSE]
    return {
        "machineSet": deployment.set_of(machine).name,
        "version": machine.version,
        "failureDomain": machine.failure_domain,
        "deleting": machine.deleting,
        "bootstrap": machine.bootstrap,
        "infrastructure": "gone" if machine.infrastructure_gone else "ready" if machine.provisioned else "notReady",
        "available": is_available(machine, conditions),
        "marks": marks + [key for key in _ANNOTATIONS if key in annotations_of(machine.machine)],
    }
