# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks before a machine joins, each with result and evidence (kcp-behaviour.md §1.7, and ours)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import quorum, trouble
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import View
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.trouble import Trouble

Object = dict[str, Any]
PASS, FAIL, SKIP = "pass", "fail", "skip"
_ETCD_CHECKS = (trouble.MEMBER_LIST_AGREES, "EtcdQuorum")


@dataclass
class Preflight:
    """The checks' results in the decision's form, what failed, and the quorum verdict where a voter would be added."""

    checks: list[Object] = field(default_factory=list)
    failed: list[Trouble] = field(default_factory=list)
    verdict: Optional[quorum.Verdict] = None


def check(name: str, result: str, message: str) -> Object:
    """One result in the decision's form."""
    return {"check": name, "result": result, "message": message}


def preflight(
    view: View,
    machines: Mapping[str, list[Object]],
    certificates: Sequence[Trouble],
    adding: bool,
    excluding: Collection[str] = (),
) -> Preflight:
    """Run every check; nothing is cut short, so that all that fails is seen at once.

    `machines` are the computed machine conditions, `certificates` what is wrong with the cluster's certificates. `adding` is
    True before a join; machines in `excluding` (the one that is to join or to go) are not judged.
    """
    result = Preflight()
    found = [each for each in trouble.find_troubles(view, machines, excluding) if each.gates]
    known = not any(each.check == trouble.WORKLOAD_REACHABLE for each in found)
    result.failed += _topology(view, result) + _deleting(view, result, excluding)
    if adding:
        _record(result, trouble.CERTIFICATES_AVAILABLE, certificates, "all certificate authorities and keys are there")
    else:
        result.checks.append(check(trouble.CERTIFICATES_AVAILABLE, SKIP, "needed only before a join"))
    others = [name for name in (machine.name for machine in view.live) if name not in excluding]
    texts = {
        trouble.WORKLOAD_REACHABLE: f"the API answers on {view.workload.get('via')}",
        trouble.ENDPOINT_REACHABLE: f"{view.endpoint} leads to this cluster's API",
        trouble.CLOCK_SKEW: "clocks agree",
        trouble.MACHINES_HAVE_NODES: f"every machine has its Node: {', '.join(others)}",
        trouble.COMPONENTS_HEALTHY: f"API server, controller manager and scheduler run on {', '.join(others)}",
        trouble.ETCD_HEALTHY: "every member is healthy, no alarm" if view.managed_etcd else "external etcd",
        trouble.MEMBERS_MATCH: "every member and every control plane Node belongs to a machine",
        trouble.MEMBER_LIST_AGREES: "every member reports the same list",
    }
    for name, text in texts.items():
        if not view.managed_etcd and name in _ETCD_CHECKS:
            result.checks.append(check(name, SKIP, "external etcd"))
        elif name == trouble.CLOCK_SKEW and "clockSkewSeconds" not in view.workload:
            result.checks.append(check(name, SKIP, "the observation gives no clock difference"))
        elif not known and name != trouble.WORKLOAD_REACHABLE:
            result.checks.append(check(name, FAIL, "not known: no API server answers"))
        else:
            _record(result, name, [each for each in found if each.check == name], text)
    _quorum(view, result, adding)
    return result


def _record(result: Preflight, name: str, troubles: Sequence[Trouble], text: str) -> None:
    result.failed += troubles
    message = "; ".join(each.message for each in troubles)
    result.checks.append(check(name, FAIL if troubles else PASS, message or text))


def _topology(view: View, result: Preflight) -> list[Trouble]:
    wanted = ((view.cluster.get("spec") or {}).get("topology") or {}).get("version")
    if not wanted:
        result.checks.append(check("TopologyVersion", SKIP, "the cluster has no topology"))
        return []
    if wanted == view.version:
        result.checks.append(check("TopologyVersion", PASS, f"both are {wanted}"))
        return []
    text = f"waiting for a version upgrade to {wanted} to be propagated"
    result.checks.append(check("TopologyVersion", FAIL, text))
    fix = "Set the KubeadmControlPlane's spec.version to the topology's."
    return [Trouble("TopologyVersion", "TopologyVersionMismatch", text, fix, False)]


def _deleting(view: View, result: Preflight, excluding: Collection[str]) -> list[Trouble]:
    going = [machine.name for machine in view.machines if machine.deleting and machine.name not in excluding]
    if not going:
        result.checks.append(check("NoDeletingMachine", PASS, "no machine is being deleted"))
        return []
    text = f"waiting for a control plane Machine to complete deletion: {', '.join(going)}"
    result.checks.append(check("NoDeletingMachine", FAIL, text))
    return [Trouble("NoDeletingMachine", "HasDeletingMachine", text, "", True)]


def _quorum(view: View, result: Preflight, adding: bool) -> None:
    if not view.managed_etcd:
        result.checks.append(check("EtcdQuorum", SKIP, "external etcd"))
        return
    if not adding:
        result.checks.append(check("EtcdQuorum", SKIP, "no voter is added"))
        return
    result.verdict = quorum.check_add(view.members)
    if not view.etcd_known:
        result.checks.append(check("EtcdQuorum", FAIL, "not known: etcd gave no member list"))
        return
    result.checks.append(check("EtcdQuorum", PASS if result.verdict.allowed else FAIL, result.verdict.why))
    if not result.verdict.allowed:
        text = f"adding a voter is refused: {result.verdict.why}"
        waits = view.settling or not view.lasting(view.control_plane, "EtcdClusterHealthy")
        fix = "Bring the unhealthy members back first; a member that is gone for good must be removed before another is added."
        result.failed.append(Trouble("EtcdQuorum", "QuorumAtRisk", text, fix, waits))
