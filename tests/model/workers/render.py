# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment's world as a snapshot."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from builders import at, healthy
from worker_snapshots import NAME, SETS, WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.worker_obstacles import add_failed
from model.render import FRESH, LASTING
from model.workers.fleet import (
    BEHIND,
    BETWEEN,
    DARK,
    ENDED,
    FAILED,
    ILL,
    JOINED,
    MARKED,
    NEW,
    REMEDIATE,
    RUNNING,
    SPOILT,
    WELL,
    Fleet,
    Rollout,
    Worker,
)

Object = dict[str, Any]
VERSIONS = ("v1.20.1", "v1.20.2")
_STATES = {NEW: "", RUNNING: "Running", ENDED: "Running", SPOILT: "Running", FAILED: "Failed", JOINED: "Succeeded"}
_REPORTS = {RUNNING: "Running", ENDED: "Succeeded", SPOILT: "Failed"}


def name_of(index: int) -> str:
    """The name of the worker at that place."""
    return f"w{index + 1}"


def index_of(name: str) -> int:
    """The place of the worker of that name."""
    return int(name[1:]) - 1


def version_of(rollout: Rollout, template: int) -> int:
    """The place of a template's Kubernetes version among VERSIONS."""
    return template if rollout.versions else 0


@cache
def _beside(rollout: Rollout, fleet: Fleet) -> Object:
    """A snapshot with its control plane and without workers; `fleet` has none either."""
    builder = healthy(1 if fleet.control in (WELL, DARK) else 3)
    machines = {BEHIND: 0, BETWEEN: 1}.get(fleet.control, 3 if fleet.version else 0)
    builder.wants(version=VERSIONS[fleet.version])
    for number, (entry, node) in enumerate(zip(builder.snapshot["machines"], builder.workload["nodes"])):
        entry["machine"]["spec"]["version"] = node["kubeletVersion"] = VERSIONS[number < machines]
    if fleet.control == ILL:
        builder.marked("m3")
    if fleet.control == DARK:
        builder.unreachable()
    builder.snapshot["policy"] = {"replace": "ask" if rollout.ask else "allow", "approved": fleet.window}
    if not (fleet.window or rollout.ask):
        builder.snapshot["maintenance"] = {"open": False, "message": "", "opensAt": at(-9000), "closesAt": None}
    if fleet.beside:
        builder.snapshot["unfinishedAction"] = {"name": "x"}
    spec: Object = {} if rollout.flight < 0 else {"remediation": {"maxInFlight": rollout.flight}}
    version = VERSIONS[version_of(rollout, fleet.template)]
    workers = deployment(builder, fleet.wanted, version, **spec).strategy(
        rollout.surge, rollout.unavailable, rollout.strategy
    )
    if fleet.paused:
        workers.annotated(paused="true")
    return workers.build()


@cache
def _worker(
    rollout: Rollout, worker: Worker, current: bool, index: int, lasting: bool
) -> tuple[Object, list[Object], Object]:
    """A worker's entry, its Node in a list, and its MachineSet."""
    version = VERSIONS[version_of(rollout, worker.template)]
    builder: WorkerBuilder = deployment(healthy(1), version=version)
    name, age = name_of(index), LASTING if lasting else FRESH
    builder.worker(
        name,
        "new" if current else "old",
        _STATES[worker.boot],
        ready="True" if worker.ready else "False",
        age=age,
        deleting=worker.deleting,
        marked=worker.mark == MARKED,
    )
    entry = builder.machine(name)
    if worker.boot in _REPORTS:
        entry["machine"]["status"]["bootstrap"]["endsAt"] = at(1 if lasting else -100)
        entry["bootstrapUnit"] = {
            "answers": not worker.mute,
            "state": "" if worker.mute else _REPORTS[worker.boot],
            "message": "",
        }
    if worker.mark == REMEDIATE:
        entry["machine"]["metadata"]["annotations"]["cluster.x-k8s.io/remediate-machine"] = ""
    return entry, builder.builder.workload["workers"], builder.entry["machineSets"][0]


def observe(rollout: Rollout, fleet: Fleet, lasting: bool = False) -> Object:
    """The snapshot of a world, as if all had changed a moment ago, or as if it had been so for long."""
    snapshot = dict(_beside(rollout, fleet._replace(workers=(), faults=0)))
    found = [
        _worker(rollout, each, each.template == fleet.template, index, lasting)
        for index, each in enumerate(fleet.workers)
    ]
    sets = {owned["metadata"]["name"]: owned for _entry, _nodes, owned in found}
    [entry] = snapshot["workers"]["deployments"]
    snapshot["workers"] = {
        "deployments": [{**entry, "machineSets": [sets[name] for name in sorted(sets)]}],
        "machines": [copy.deepcopy(each) for each, _nodes, _owned in found],
    }
    failed = [
        {"name": name_of(index), "message": "", "removal": True}
        for index, each in enumerate(fleet.workers)
        if each.stuck
    ]
    add_failed(snapshot, failed)
    if snapshot["workload"]["reachable"]:
        nodes = [node for _entry, nodes, _owned in found for node in nodes]
        snapshot["workload"] = {
            **snapshot["workload"],
            "workers": nodes,
            "workerNodes": [node["name"] for node in nodes],
        }
    return snapshot


def made_of(fleet: Fleet, entry: Object) -> int:
    """The template that a target's entry is made from, -1 for one that isn't known."""
    if entry["machineSet"] == SETS["old"]:
        return 1 - fleet.template
    known = any(each.template == fleet.template for each in fleet.workers)
    right = entry["machineSet"] == SETS["new"] if known else entry["machineSet"].startswith(f"{NAME}-")
    return fleet.template if right else -1
