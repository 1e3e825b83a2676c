# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status fields of KubeadmControlPlane, Cluster and Machines, of both contracts.

Source: docs/reference/cluster_api.md, "Conditions", "Fields of older versions".

Each top-level field is whole: a writer that replaces fields one by one loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....module_utils.common.kubernetes_versions import parse
from ....module_utils.common.values import format_time
from ...objects import kinds
from ...objects.conditions import API_SERVER_POD_HEALTHY, AVAILABLE, READY, UP_TO_DATE
from ...objects.etcd_member import recorded_cluster
from .. import terms
from ..checks.api_connection import LAST_PROBE_SUCCESS, last_probe_success
from ..remediation.retry import last_remediation
from ..rollout.uptodate import expiry_of
from ..snapshot.typed_snapshot import MachineView, View
from . import older_contract
from .control_plane import STRAY_MEMBERS, Facts, initialized, strangers, stray_since
from .machine import is_true

Object = dict[str, Any]


def control_plane_status(view: View, facts: Facts, conditions: Sequence[Object]) -> Object:
    """Return the KubeadmControlPlane's status.

    It has the v1beta2 fields and the v1beta1 contract's beside them.
    """
    replicas = len(view.machines)
    ready = sum(1 for machine in view.machines if is_true(facts.machines[machine.name], READY))
    available = sum(1 for machine in view.machines if is_true(facts.machines[machine.name], AVAILABLE))
    current = sum(1 for machine in view.machines if is_true(facts.machines[machine.name], UP_TO_DATE))
    nodes_ready = sum(1 for machine in view.machines if is_true(facts.machines[machine.name], "NodeReady"))
    serving = any(is_true(facts.machines[machine.name], API_SERVER_POD_HEALTHY) for machine in view.machines)
    is_initialized = initialized(view)
    # Those that are missing altogether are unavailable, too (the control plane contract, "ControlPlane: replicas").
    unavailable = max(replicas, 0 if view.deleting else view.replicas) - nodes_ready
    status: Object = {
        "selector": f"{kinds.LABEL_CLUSTER_NAME}={view.name},{kinds.LABEL_CONTROL_PLANE}=",
        "replicas": replicas,
        "readyReplicas": ready,
        "availableReplicas": available,
        "upToDateReplicas": current,
        "initialization": {"controlPlaneInitialized": is_initialized},
        "initialized": is_initialized,
        "ready": is_initialized and serving,
        "updatedReplicas": current,
        "unavailableReplicas": unavailable,
        "deprecated": {
            "v1beta1": {
                "conditions": older_contract.control_plane(view.control_plane, conditions, view.now),
                "readyReplicas": nodes_ready,
                "updatedReplicas": current,
                "unavailableReplicas": unavailable,
            }
        },
        # What was never started runs nothing, and its version may be taken back.
        "versions": versions([each for each in view.machines if not each.without_trace]),
    }
    if status["versions"]:
        status["version"] = status["versions"][0]["version"]
    # The size at which a rollout under way started: it is finished at that size, even if spec.replicas changes.
    status["rollout"] = {} if facts.rollout is None else {"replicas": facts.rollout}
    remediated = last_remediation(view)
    # Cluster API's schema takes no empty one; None removes the stored one.
    if remediated or "lastRemediation" in (view.control_plane.get("status") or {}):
        status["lastRemediation"] = remediated or None
    strays = [{"id": each.id, "since": format_time(stray_since(view, each))} for each in strangers(view)]
    if strays or STRAY_MEMBERS in (view.control_plane.get("status") or {}):
        status[STRAY_MEMBERS] = strays or None
    identity = _etcd_cluster_id(view)
    if identity:
        status["etcdClusterID"] = identity
    # Whoever restarts all machines but the leader's goes by it: where none is known, the last one is none.
    leader = view.leader.title if view.leader is not None and view.leader.name else None
    if leader or "etcdLeader" in (view.control_plane.get("status") or {}):
        status["etcdLeader"] = leader
    return {**status, **observed_generation(view.control_plane)}


def cluster_status(view: View, control_plane: Object, conditions: Sequence[Object]) -> Object:
    """Return the Cluster's status.

    It has the phase, the initialization, and the control plane's counts.
    """
    summary = older_contract.ready(control_plane["deprecated"]["v1beta1"]["conditions"])
    stored = (view.cluster.get("status") or {}).get("initialization") or {}
    spec = view.cluster.get("spec") or {}
    if (view.cluster.get("metadata") or {}).get("deletionTimestamp"):
        phase = "Deleting"
    elif view.infrastructure_ready and view.endpoint:
        phase = "Provisioned"
    else:
        phase = "Provisioning" if spec.get("infrastructureRef") or spec.get("controlPlaneRef") else "Pending"
    latched = bool(stored.get("controlPlaneInitialized")) or control_plane["initialized"]
    probed = last_probe_success(view)
    counters = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
    return {
        "phase": phase,
        "initialization": {
            "infrastructureProvisioned": bool(stored.get("infrastructureProvisioned")) or view.infrastructure_ready,
            "controlPlaneInitialized": latched,
        },
        "controlPlaneReady": control_plane["ready"],
        **({LAST_PROBE_SUCCESS: probed} if probed is not None else {}),
        "controlPlane": {"desiredReplicas": view.replicas, **{key: control_plane[key] for key in counters}},
        "deprecated": {"v1beta1": {"conditions": older_contract.cluster(view.cluster, conditions, summary, view.now)}},
        **observed_generation(view.cluster),
    }


def machine_status(
    view: View, machine: MachineView, conditions: Sequence[Object], removed: Sequence[str] = ()
) -> Object:
    """Return a Machine's status: phase, nodeRef, nodeInfo and the others.

    nodeRef and nodeInfo are set once its Node exists, and stay when the Node is gone, as in Cluster API.

    Args:
        view: the snapshot.
        machine: the machine.
        conditions: those that were computed for it.
        removed: types of conditions that this decision removes from it.
    """
    before = machine.machine.get("status") or {}
    stored = before.get("initialization") or {}
    older = older_contract.machine(machine.machine, conditions, view.now, removed)
    provisioned = bool(stored.get("infrastructureProvisioned")) or machine.provisioned
    status: Object = {
        "phase": _phase(machine, provisioned),
        "initialization": {
            **stored,
            "infrastructureProvisioned": provisioned,
            # Where kubeadm was started, its bootstrap data had been made.
            "bootstrapDataSecretCreated": bool(stored.get("bootstrapDataSecretCreated")) or bool(machine.bootstrap),
        },
        "deprecated": {"v1beta1": {"conditions": older}},
        **observed_generation(machine.machine),
    }
    if status["phase"] != before.get("phase"):
        status["lastUpdated"] = format_time(view.now)
    if machine.node is not None:
        status["nodeRef"] = {"name": machine.node["name"]}
        if machine.node.get("nodeInfo"):
            status["nodeInfo"] = dict(machine.node["nodeInfo"])
    expiry = expiry_of(machine)
    if expiry is not None or "certificatesExpiryDate" in before:
        # None removes the stored one, which may be of certificates that have been renewed since.
        status["certificatesExpiryDate"] = None if expiry is None else format_time(expiry)
    return status


def observed_generation(obj: Object) -> Object:
    """Return observedGeneration of an object as a field, {} without one."""
    generation = (obj.get("metadata") or {}).get("generation")
    return {"observedGeneration": generation} if isinstance(generation, int) else {}


def _phase(machine: MachineView, infrastructure_provisioned: bool) -> str:
    """Return the Machine's phase, as Cluster API's core determines it.

    A machine that had its Node once is Running, also while no API server answers.
    """
    if machine.deleting:
        return "Deleting"
    if machine.bootstrap == terms.FAILED:
        return "Failed"
    recorded = ((machine.machine.get("status") or {}).get("nodeRef") or {}).get("name")
    if infrastructure_provisioned and (machine.node is not None or recorded):
        return "Running"
    if infrastructure_provisioned:
        return "Provisioned"
    return "Provisioning" if machine.infrastructure is not None else "Pending"


def versions(machines: Sequence[MachineView]) -> list[Object]:
    """Return the Kubernetes versions with their number of machines.

    The lowest comes first; a text that is no version counts as lowest.
    """
    counts: dict[str, int] = {}
    for machine in machines:
        if machine.version:
            counts[machine.version] = counts.get(machine.version, 0) + 1
    return [{"version": version, "replicas": counts[version]} for version in sorted(counts, key=_version_key)]


def _version_key(text: str) -> tuple[Any, ...]:
    try:
        parsed = parse(text)
    except ValueError:
        return (0, text)
    # A pre-release is lower than its release.
    return (1, parsed.major, parsed.minor, parsed.patch, not parsed.pre, text)


def _etcd_cluster_id(view: View) -> Any:
    # Recorded once, then only compared: a member list of another etcd cluster must never be taken for this one's
    # (docs/reference/invariants.md, "Members are known by ID").
    recorded = recorded_cluster(view.control_plane)
    if recorded:
        return recorded
    return view.etcd.get("clusterID") if view.managed_etcd and view.etcd_known and initialized(view) else None
