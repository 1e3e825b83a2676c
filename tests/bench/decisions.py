# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What decisions and plans cost, and how that grows with the machines; prints a table, and JSON with --json.

Every figure is the best of several rounds: the code is pure, so whatever takes longer is the machine's other work.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from builders import Builder, cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

Object = dict[str, t.Any]
ROUNDS = 7
# What is asked of the code on two cores of a usual machine, in milliseconds.
BOUNDS = {"decide_5_machines": 1.0, "decide_9_machines_500_nodes": 10.0, "plan_30_steps": 50.0}


def milliseconds(work: t.Callable[[], t.Any], least: float = 0.05) -> float:
    """The milliseconds that one call takes: the best round of many calls."""
    begin = time.perf_counter()
    work()
    times = max(1, int(least / max(time.perf_counter() - begin, 1e-6)))
    best = float("inf")
    for _round in range(ROUNDS):
        begin = time.perf_counter()
        for _time in range(times):
            work()
        best = min(best, (time.perf_counter() - begin) / times)
    return round(best * 1000, 3)


def machines(count: int, nodes: int = 0) -> Object:
    """The snapshot of a control plane that works, with so many worker Nodes."""
    builder = cluster(count)
    builder.domains("a", "b", "c")
    for number in range(count):
        builder.machine(f"m{number}", domain="abc"[number % 3])
    return _with_workers(builder, nodes).build()


def _with_workers(builder: Builder, nodes: int) -> Builder:
    if nodes:
        for number in range(nodes):
            node = dict(builder.node(f"w{number}").workload["nodes"].pop())
            node["labels"] = {"kubernetes.io/hostname": f"w{number}"}
            builder.workload["nodes"].append(node)
        builder.workload["workerNodes"] = [f"w{number}" for number in range(nodes)]
        builder.workload["workerVersions"] = {builder.spec["version"]: nodes}
    return builder


def rollout(count: int) -> Object:
    """A control plane of so many machines, all of which are to be replaced: two steps each."""
    snapshot = machines(count)
    for entry in snapshot["machines"]:
        entry["infrastructureMachine"]["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] = "before"
    return snapshot


def figures() -> Object:
    """All figures, in milliseconds."""
    five, large, many = machines(5), machines(9, 500), rollout(15)
    steps = len(plan(many)) - 1
    found: Object = {
        "decide_5_machines": milliseconds(lambda: decide(five)),
        "decide_9_machines_500_nodes": milliseconds(lambda: decide(large)),
        f"plan_{steps}_steps": milliseconds(lambda: plan(many)),
        "check_5_machines": milliseconds(lambda: check_snapshot(five)),
        "check_9_machines_500_nodes": milliseconds(lambda: check_snapshot(large)),
        "decide_by_machines": {},
        "check_by_machines": {},
        "decide_9_machines_by_nodes": {},
    }
    for count in (1, 3, 5, 7, 9, 15, 31, 63):
        snapshot = machines(count)
        found["decide_by_machines"][count] = milliseconds(lambda it=snapshot: decide(it))
        found["check_by_machines"][count] = milliseconds(lambda it=snapshot: check_snapshot(it))
    for nodes in (0, 125, 250, 500, 1000):
        snapshot = machines(9, nodes)
        found["decide_9_machines_by_nodes"][nodes] = milliseconds(lambda it=snapshot: decide(it))
    return found


def table(found: Object) -> str:
    """The figures for people."""
    lines = []
    for key, value in found.items():
        if isinstance(value, float):
            bound = f"  (asked for: under {BOUNDS[key]:g} ms)" if key in BOUNDS else ""
            lines.append(f"{key.replace('_', ' '):<32}{value:>9.3f} ms{bound}")
    lines += ["", "machines  decide ms   of that for each   check ms   of that for each"]
    for count, cost in found["decide_by_machines"].items():
        check = found["check_by_machines"][count]
        lines.append(f"{count:>8}{cost:>11.3f}{cost / count:>19.3f}{check:>11.3f}{check / count:>19.3f}")
    lines += ["", "9 machines with worker Nodes   decide ms"]
    lines += [f"{nodes:>30}{cost:>12.3f}" for nodes, cost in found["decide_9_machines_by_nodes"].items()]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = figures()
    print(json.dumps(found, indent=2) if options.json else table(found))


if __name__ == "__main__":
    main()
