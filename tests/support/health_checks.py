# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineHealthChecks for tests of their rules, and what they find on a built snapshot."""

from __future__ import annotations

from typing import Any, Optional, Union

from builders import Builder, at

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.remediation.health_marks import (
    Evaluation,
    evaluate,
)

Object = dict[str, Any]
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
SKIP = "cluster.x-k8s.io/skip-remediation"
PAUSED = "cluster.x-k8s.io/paused"
REMEDIATE = "cluster.x-k8s.io/remediate-machine"
UNREADY = [{"type": "Ready", "status": status, "timeoutSeconds": 300} for status in ("Unknown", "False")]


def mhc(
    name: str = "prod",
    nodes: Optional[list[Object]] = None,
    machines: Optional[list[Object]] = None,
    startup: int = 600,
    limit: Union[int, str, None] = None,
    span: str = "",
    status: Optional[Object] = None,
    selector: Optional[Object] = None,
) -> Object:
    """A MachineHealthCheck of all control plane machines, defaulted."""
    trigger: Object = {"unhealthyLessThanOrEqualTo": limit} if limit is not None else {}
    if span:
        trigger["unhealthyInRange"] = span
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": "default", "generation": 1, "annotations": {}},
        "spec": {
            "clusterName": "prod",
            "selector": selector or {"matchLabels": {CONTROL_PLANE: ""}},
            "checks": {
                "nodeStartupTimeoutSeconds": startup,
                "unhealthyNodeConditions": UNREADY if nodes is None else nodes,
                "unhealthyMachineConditions": machines or [],
            },
            "remediation": {"triggerIf": trigger},
        },
        "status": status or {},
    }


def checked(builder: Builder, *documents: Object) -> Evaluation:
    """What these MachineHealthChecks (one with defaults where none is given) find."""
    for entry in builder.snapshot["machines"]:
        entry["machine"]["metadata"].setdefault("labels", {})[CONTROL_PLANE] = ""
    for node in builder.workload["nodes"]:
        node.setdefault("conditions", [{"type": "Ready", "status": node["ready"], "lastTransitionTime": at(3000)}])
    return evaluate(list(documents) or [mhc()], builder.build())


def node_condition(builder: Builder, name: str, kind: str, status: str, seconds: Optional[float]) -> Builder:
    """The Node's condition has had that status for so many seconds."""
    node = next(each for each in builder.workload["nodes"] if each["name"] == name)
    known = [each for each in node.get("conditions") or [] if each["type"] != kind]
    moment = None if seconds is None else at(seconds)
    node["conditions"] = [*known, {"type": kind, "status": status, "lastTransitionTime": moment}]
    return builder


def states(found: Evaluation) -> dict[str, str]:
    """Each machine's state."""
    return {name: verdict.finding.state for name, verdict in found.verdicts.items()}


def set_on(found: Evaluation, name: str) -> dict[str, tuple[str, str]]:
    """The conditions that are set on a machine: status and reason by type."""
    marks = found.marks.get(name)
    return {each["type"]: (each["status"], each["reason"]) for each in marks.set} if marks else {}
