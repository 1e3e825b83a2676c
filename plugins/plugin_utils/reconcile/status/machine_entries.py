# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines and MachineDeployments in a status. Pure."""

from __future__ import annotations

import typing as t

from ...decision.snapshot.typed_snapshot import View
from ...decision.workers.worker_view import read_workers
from ...objects import kinds
from ...objects.conditions import HEALTH_MARKS

Object = dict[str, t.Any]
_COUNTED = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")


def machine_status(
    entry: Object, conditions: t.Mapping[str, list[Object]], certificates: t.Mapping[str, t.Mapping[str, str]]
) -> Object:
    """Return what the status has of a machine or worker.

    Args:
        entry: its entry in the snapshot.
        conditions: those that a decision found, by machine.
        certificates: when certificates end, by machine and file.
    """
    machine = entry["machine"]
    name = machine["metadata"]["name"]
    stored = machine.get("status", {}).get("conditions", [])
    found = conditions.get(name) or stored
    # A decision does not compute what health checks found; it is as they stored it.
    known = {each["type"] for each in found}
    found = [*found, *(each for each in stored if each["type"] in HEALTH_MARKS and each["type"] not in known)]
    infrastructure = entry.get("infrastructureMachine") or {}
    addresses = infrastructure.get("status", {}).get("addresses") or []
    return {
        "name": name,
        "version": machine["spec"].get("version", ""),
        "failureDomain": machine["spec"].get("failureDomain", ""),
        "address": addresses[0].get("address", "") if addresses else "",
        "node": machine.get("status", {}).get("nodeRef", {}).get("name", ""),
        "deleting": bool(machine["metadata"].get("deletionTimestamp")),
        "bootstrap": machine.get("status", {}).get("bootstrap", {}).get("state", ""),
        "conditions": found,
        "certificates": certificates.get(name) or {},
    }


def deployment_statuses(view: View, snapshot: Object, decision: Object) -> list[Object]:
    """Return what the status has of each MachineDeployment, by name."""
    entries = {
        each["machine"]["metadata"]["name"]: each for each in (snapshot.get("workers") or {}).get("machines", [])
    }
    conditions = (decision.get("conditions") or {}).get("workers") or {}
    statuses = (decision.get("status") or {}).get("machineDeployments") or {}
    found = []
    for deployment in read_workers(view).deployments:
        counted = statuses.get(deployment.name) or {}
        existing, ready, available, recent = (int(counted.get(key) or 0) for key in _COUNTED)
        found.append(
            {
                "name": deployment.name,
                "version": deployment.version,
                "paused": deployment.paused,
                "pausedBecause": kinds.pause_of(deployment.document, view.deleting),
                "deleting": deployment.deleting,
                "replicas": {
                    "desired": deployment.replicas,
                    "existing": existing,
                    "ready": ready,
                    "available": available,
                    "upToDate": recent,
                },
                "machines": [machine_status(entries[each.name], conditions, {}) for each in deployment.machines],
            }
        )
    return found
