# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight checks before a machine joins or a working one is removed.

Each has a result and evidence.

Source: docs/reference/cluster_api.md, "Preflight checks"; docs/reference/decision.md, "Preflight checks".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ....module_utils.common import quorum
from ...documents.names import typed_name
from ...objects import advice
from ...objects.conditions import CONTROL_PLANE_COMPONENTS_HEALTHY, ETCD_CLUSTER_HEALTHY
from ..conditions.machine import health_conditions, is_true
from ..creation import existing_hosts
from ..outcome import Context
from ..remediation.retry import replacement_owed
from ..removal.leadership import candidates, leads
from ..rollout import gates
from ..rollout.skew import VERSION_SKEW, brought_etcd, version_troubles
from ..snapshot.typed_snapshot import MachineView, View
from . import trouble
from .second_witness import VIEWS_AGREE, views_trouble
from .trouble import Trouble

Object = dict[str, Any]
PASS, FAIL, SKIP = "pass", "fail", "skip"
QUORUM = "EtcdQuorum"
ANOTHER_MACHINE = "AnotherMachineHealthy"
LEADERSHIP = "LeadershipCandidate"
RELAXED = "RelaxedAfterRemediation"
ETCD_VERSIONS = "EtcdVersionsAgree"
# What may be wrong with machines beside the one that replaces a removed one, as long as the target has its quorum
# (docs/reference/cluster_api.md, "Preflight checks", row 7).
_RELAXABLE = (
    "NodeNotFound",
    "NodeIdentityDiffers",
    "InfrastructureGone",
    "ComponentProvisioning",
    "ComponentFailed",
    "ComponentMissing",
    "ComponentUnknown",
    "EtcdMemberUnhealthy",
)


@dataclass
class Preflight:
    """Results of the checks, their failures and the quorum's verdict.

    ``checks`` are in the decision's form; ``verdict`` is there where the membership would change.
    """

    checks: list[Object] = field(default_factory=list)
    failed: list[Trouble] = field(default_factory=list)
    verdict: Optional[quorum.Verdict] = None

    def record(self, name: str, troubles: Sequence[Trouble], text: str) -> None:
        """Record a check's result: its troubles, or ``text`` without any."""
        self.failed += troubles
        message = "; ".join(each.message for each in troubles)
        self.checks.append(check(name, FAIL if troubles else PASS, message or text))

    def skip(self, name: str, text: str) -> None:
        """Record a check that does not apply."""
        self.checks.append(check(name, SKIP, text))


def check(name: str, result: str, message: str) -> Object:
    """Return one result in the decision's form."""
    return {"check": name, "result": result, "message": message}


def preflight(
    context: Context, adding: bool, step: gates.Step, machine: Optional[MachineView] = None, fresh: bool = False
) -> Preflight:
    """Return the results of all preflight checks.

    An API server must answer. None is cut short, so that all that fails is seen at once. `adding` is True before a join, False before a working
    machine is removed; `machine` is the one that joins or is removed, and is not evaluated. `fresh`: the step starts a
    machine of the wanted version, or leads to one. `step` is what the gates read.
    """
    view, result = context.view, Preflight()
    excluding = {machine.name} if machine is not None else set()
    _topology(view, result)
    _deleting(view, result, machine)
    if adding or fresh:
        text = "all certificate authorities are there"
        result.record(trouble.CERTIFICATES_AVAILABLE, context.certificate_troubles(), text)
    else:
        result.skip(trouble.CERTIFICATES_AVAILABLE, "needed only where a machine is to be made")
    _health(context, result, excluding)
    if fresh:
        result.record(VERSION_SKEW, version_troubles(view), f"{view.version} fits what is there")
    else:
        result.skip(VERSION_SKEW, "no machine of another version is made")
    _etcd_versions(context, result)
    _hosts(context, result, adding, step, machine)
    if adding:
        _quorum_of_add(view, result)
        _relax(context, result)
    else:
        _removal(context, result, machine)
    for name, found, text in gates.gate_results(view, step, None if adding else machine):
        if found or text:
            result.record(name, found, text)
        else:
            result.skip(name, "not asked for here")
    return result


def _health(context: Context, result: Preflight, excluding: set[str]) -> None:
    view = context.view
    found = [each for each in trouble.find_troubles(view, context.machines, excluding) if each.gates]
    others = ", ".join(machine.name for machine in view.live if machine.name not in excluding)
    texts = {
        trouble.WORKLOAD_REACHABLE: f"the API answers on {view.workload.get('via')}",
        trouble.ENDPOINT_REACHABLE: f"{view.endpoint} leads to this cluster's API",
        trouble.CLOCK_SKEW: "clocks agree",
        trouble.MACHINES_HAVE_NODES: f"every machine has its Node: {others}",
        trouble.COMPONENTS_HEALTHY: f"API server, controller manager and scheduler run on {others}",
        trouble.ETCD_HEALTHY: "every member is healthy, no alarm" if view.managed_etcd else "the external etcd answers",
        trouble.MEMBERS_MATCH: "every member and every control plane Node belongs to a machine",
        trouble.MEMBER_LIST_AGREES: "every member reports the same list",
    }
    for name, text in texts.items():
        if not view.managed_etcd and name == trouble.MEMBER_LIST_AGREES:
            result.skip(name, "external etcd")
        elif not view.managed_etcd and name == trouble.ETCD_HEALTHY and not view.etcd:
            result.skip(name, "external etcd, not observed")
        elif name == trouble.CLOCK_SKEW and "clockSkewSeconds" not in view.workload:
            result.skip(name, "the observation gives no clock difference")
        else:
            result.record(name, [each for each in found if each.check == name], text)


def topology_trouble(view: View) -> Optional[Trouble]:
    """Return the trouble of a topology's version not yet propagated.

    The cluster's topology has that version and the control plane does not yet; None where there is no such difference.
    """
    wanted = ((view.cluster.get("spec") or {}).get("topology") or {}).get("version")
    if not wanted or wanted == view.version:
        return None
    text = f"waiting for a version upgrade to {wanted} to be propagated"
    fix = "Set the KubeadmControlPlane's spec.version to the topology's."
    return Trouble("TopologyVersion", "TopologyVersionMismatch", text, fix, False)


def _topology(view: View, result: Preflight) -> None:
    if not ((view.cluster.get("spec") or {}).get("topology") or {}).get("version"):
        result.skip("TopologyVersion", "the cluster has no topology")
        return
    found = topology_trouble(view)
    result.record("TopologyVersion", [found] if found is not None else [], f"both are {view.version}")


def _deleting(view: View, result: Preflight, machine: Optional[MachineView]) -> None:
    going = [each.name for each in view.machines if each.deleting and each is not machine]
    text = f"waiting for a control plane Machine to complete deletion: {', '.join(going)}"
    found = [Trouble("NoDeletingMachine", "HasDeletingMachine", text, "", True)] if going else []
    result.record("NoDeletingMachine", found, "no machine is being deleted")


def _etcd_versions(context: Context, result: Preflight) -> None:
    """Check that all of etcd's members have one version.

    Nothing is scaled beside an upgrade of etcd that was interrupted; a rollout is that upgrade, and resumes.

    The fault: docs/faults.md, "etcd of several versions after an interrupted upgrade".
    """
    view = context.view
    if not view.managed_etcd or context.rollout is not None or replacement_owed(view):
        text = "external etcd" if not view.managed_etcd else "what replaces a machine may meet another version"
        result.skip(ETCD_VERSIONS, text)
        return
    titles = {member.id: member.title for member in view.members}
    versions = quorum.minor_versions(view.etcd)
    told = [f"{version} ({', '.join(titles[each] for each in who)})" for version, who in versions.items()]
    found = []
    if len(versions) > 1:
        oldest = [typed_name(titles[each]) for each in versions[next(iter(versions))]]
        owners = {each.member.id: each.name for each in view.machines if each.member is not None}
        machines = [owners[each] for each in versions[next(iter(versions))] if each in owners]
        text = f"etcd runs in several versions, as after an upgrade that was interrupted: {' and '.join(told)}; nothing is scaled meanwhile"
        newest = list(versions)[-1]
        brought = brought_etcd(view)
        if brought is not None and brought[:2] < tuple(map(int, newest.split("."))):
            # A replacement would bring the older one again.
            fix = (
                "Finish that upgrade first: set spec.version to the Kubernetes version of "
                f"{', '.join(typed_name(titles[each]) for each in versions[newest])}. Where it is that already, or "
                "clusterConfiguration.etcd.local.imageTag is set, set this imageTag to the tag of the etcd image there "
                "(/etc/kubernetes/manifests/etcd.yaml). The rollout that follows brings the others to it; then scale."
            )
        else:
            fix = (
                f"Finish that upgrade first: have {', '.join(oldest)} replaced {advice.replace(*(machines or oldest))} or upgraded as the others "
                "were (kubeadm upgrade), one machine at a time; then scale."
            )
        found = [Trouble(ETCD_VERSIONS, "EtcdVersionsDiffer", text, fix, False)]
    result.record(
        ETCD_VERSIONS,
        found,
        f"etcd is {told[0].partition(' ')[0]} everywhere" if told else "no member told its version",
    )


def _hosts(context: Context, result: Preflight, adding: bool, step: gates.Step, machine: Optional[MachineView]) -> None:
    """Check for a host for the new machine.

    Where a machine is made now, or removed so that one can be made in its place.
    """
    asked = None
    if adding:
        asked = existing_hosts.hosts_checked(context, machine)
    elif machine is not None and step.replaces and step.begins:
        asked = existing_hosts.host_of_next(context, machine)
    if asked is None:
        result.skip(existing_hosts.HOSTS_AVAILABLE, "no host was asked: the provider makes machines, or none is made")
    else:
        result.record(existing_hosts.HOSTS_AVAILABLE, *asked)


def _quorum_of_add(view: View, result: Preflight) -> None:
    if not view.managed_etcd:
        result.skip(QUORUM, "external etcd")
        return
    result.verdict = quorum.check_add(view.members)
    if not view.etcd_known:
        result.checks.append(check(QUORUM, FAIL, "not known: etcd gave no member list"))
        return
    fix = "Bring the unhealthy members back first; a member that is gone for good must be removed before another is added."
    _record_verdict(view, result, f"adding a voter is refused: {result.verdict.why}", fix)


def _record_verdict(view: View, result: Preflight, text: str, fix: str) -> None:
    verdict = result.verdict
    if verdict is None or verdict.allowed:
        result.record(QUORUM, [], verdict.why if verdict is not None else "")
        return
    waits = view.settling or not view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
    result.checks.append(check(QUORUM, FAIL, verdict.why))
    result.failed.append(Trouble(QUORUM, "QuorumAtRisk", text, fix, waits))


def _removal(context: Context, result: Preflight, machine: Optional[MachineView]) -> None:
    view = context.view
    if machine is None:
        return
    needed = health_conditions(view)
    others = [each for each in view.live if each is not machine and each.joined]
    healthy = [each.name for each in others if is_true(context.machines[each.name], *needed)]
    text = f"without machine {machine.name} no machine has all control plane components healthy"
    fix = "Bring the other machines back to health first."
    waits = view.settling or not view.lasting(view.control_plane, CONTROL_PLANE_COMPONENTS_HEALTHY)
    found = [] if healthy else [Trouble(ANOTHER_MACHINE, "NoOtherHealthyMachine", text, fix, bool(others) and waits)]
    result.record(ANOTHER_MACHINE, found, f"{', '.join(healthy)} {'stays' if len(healthy) == 1 else 'stay'}")
    if not view.managed_etcd:
        result.skip(QUORUM, "external etcd")
        result.skip(LEADERSHIP, "external etcd")
        return
    if not view.etcd_known:
        result.checks.append(check(QUORUM, FAIL, "not known: etcd gave no member list"))
        return
    identity = machine.member.id if machine.member is not None else ""
    result.verdict = quorum.check_remove(view.members, identity, view.leader.id if view.leader else None)
    _record_verdict(view, result, f"removing machine {machine.name} is refused: {result.verdict.why}", fix)
    if not leads(view, machine):
        result.skip(LEADERSHIP, "its member does not lead")
        return
    able = candidates(view, machine, context.machines, {each.name for each in context.old})
    text = f"machine {machine.name} leads etcd and no other machine can take the leadership over"
    waits = view.settling or not view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
    found = [] if able else [Trouble(LEADERSHIP, "NoLeadershipCandidate", text, fix, waits)]
    result.record(LEADERSHIP, found, f"leadership goes to {', '.join(able)}, the first that takes it")


def _relax(context: Context, result: Preflight) -> None:
    """Allow a remediated machine's replacement beside other sick machines.

    It may join after the remediation if the target keeps its quorum.

    Source: docs/reference/cluster_api.md, "Preflight checks", row 7.
    """
    view = context.view
    if not replacement_owed(view) or not result.failed:
        return
    if any(each.reason not in _RELAXABLE for each in result.failed):
        return
    healthy = [m.name for m in view.live if m.joined and is_true(context.machines[m.name], *health_conditions(view))]
    differing = views_trouble(view, None)
    silent = [member.describe() for member in view.members if not member.learner and not member.counts]
    if differing is not None:
        result.record(VIEWS_AGREE, [differing], "")
    elif silent and not quorum.adds_beside_silent_voter(view.etcd):
        text = f"this etcd adds no member while a voter does not answer: {', '.join(silent)}"
        fix = "Bring it back, or let it be remediated: it must be gone before its replacement can be added."
        result.record(RELAXED, [Trouble(RELAXED, "QuorumAtRisk", text, fix, False)], "")
    elif healthy and (result.verdict is None or result.verdict.allowed):
        sick = "; ".join(each.message for each in result.failed)
        text = f"it replaces a machine that was remediated, {', '.join(healthy)} work, and the quorum holds; meanwhile: {sick}"
        result.failed = []
        result.checks.append(check(RELAXED, PASS, text))
