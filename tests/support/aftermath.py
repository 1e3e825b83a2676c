# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be true of a control plane on local machines when a run has reached its end, whatever was done to the runs before it."""

from __future__ import annotations

import json
import re

from killed_runs import locks_held, orphans, under_way
from machines import Machines
from traces import processes
from workspace import Workspace


def problems(workspace: Workspace, machines: Machines, cluster: str, count: int) -> list[str]:
    """In words, what isn't as it must be; nothing where all is well.

    As many machines as wanted, each whole, each a voter and a Node that is Ready; nobody else's; no lock, no step left open.
    """
    names = machines.names()
    found = [] if len(names) == count else [f"{len(names)} machines instead of {count}: {names}"]
    found += orphans(workspace, "NspawnMachine")
    members = machines.etcd_members()
    if [each.get("name") for each in members] != names:
        found.append(f"etcd's members are {[each.get('name') or '(unstarted)' for each in members]} and not {names}")
    found += [f"{each.get('name')} is a learner" for each in members if each.get("isLearner")]
    listed = json.loads(machines.kubectl("get", "nodes", "-o", "json"))["items"]
    nodes = sorted(each["metadata"]["name"] for each in listed)
    if nodes != names:
        found.append(f"the Nodes are {nodes} and not {names}")
    if machines.ready_nodes() != names:
        found.append(f"ready are {machines.ready_nodes()} and not {names}")
    text = "\n".join(processes(f"--machine={cluster}-"))
    running = sorted(set(re.findall(rf"--machine=({re.escape(cluster)}-\S+)", text)))
    if running != names:
        found.append(f"on this host run {running} and not {names}")
    found += [f"the lock of {each} is held" for each in locks_held(workspace.store)]
    found += [f"the journal has an open step {each}" for each in under_way(workspace.store, cluster)]
    return found + overlaps(workspace, cluster)


def overlaps(workspace: Workspace, cluster: str) -> list[str]:
    """Steps that began before the one before them was closed, by its own run or as interrupted."""
    entries = [json.loads(line) for line in (workspace.store / f"default/journal/{cluster}.jsonl").open()]
    open_steps: list[str] = []
    found = []
    for entry in entries:
        if entry["event"] == "intent":
            found += [f"{entry['action']} at {entry['time']} began beside another step"] if open_steps else []
            open_steps.append(entry["id"])
        elif entry["id"] in open_steps:
            open_steps.remove(entry["id"])
    return found
