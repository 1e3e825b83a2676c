# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Troubles of a control plane that should work.

Each changes by itself, or a person must act. Trouble is waited for while a machine settles in and until it has lasted
(one failed sample proves nothing); then it blocks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ....module_utils.common import kubernetes_facts as kubeadm_facts
from ....module_utils.common import quorum, settings
from ....module_utils.common.values import clip, condition_in, parse_time
from ...documents.names import typed_name
from ...objects import advice
from ...objects.conditions import (
    COMPONENT_CONDITIONS,
    CONTROL_PLANE_COMPONENTS_HEALTHY,
    ETCD_CLUSTER_HEALTHY,
    ETCD_MEMBER_HEALTHY,
    ETCD_POD_HEALTHY,
    REMOTE_CONNECTION_PROBE,
)
from ...objects.etcd_member import another_cluster, remedy_of_another
from .. import terms
from ..conditions.control_plane import answers_with_quorum, strangers, stray_lasts
from ..conditions.node_network import NO_NETWORK_PLUGIN, WAY_OUT, lacks_plugin, why_not_ready
from ..conditions.node_registration import configuration, registered_taints, taint_title
from ..creation.bootstrap import possible_owner
from ..snapshot.typed_snapshot import MachineView, View
from . import etcd_alarms
from . import expired_certificates as on_disk
from .nodes_without_machine import control_plane_nodes, labelled_workers, silent_since, unmanaged_nodes
from .outage import votes, way_out

Object = dict[str, Any]
_TYPED = re.compile(r"[A-Za-z0-9._/=:-]+")

CERTIFICATES_AVAILABLE = "CertificatesAvailable"
ENDPOINT_REACHABLE = "EndpointReachable"
WORKLOAD_REACHABLE = "WorkloadReachable"
CLOCK_SKEW = "ClockSkew"
MACHINES_HAVE_NODES = "MachinesHaveNodes"
COMPONENTS_HEALTHY = CONTROL_PLANE_COMPONENTS_HEALTHY
ETCD_HEALTHY = ETCD_CLUSTER_HEALTHY
MEMBER_LIST_AGREES = "MemberListAgrees"
# The user's own gates, which hold back what nothing is wrong with.
MIN_READY_SECONDS = "MinReadySeconds"
READINESS_GATES = "ReadinessGates"
PACE_CHECKS = (MIN_READY_SECONDS, READINESS_GATES)
MEMBERS_MATCH = "MembersMatchMachines"
NODES_READY = "NodesReady"
MACHINE_CERTIFICATES_EXPIRED = "MachineCertificatesExpired"

OTHER_NAME = (
    "Where its Node has another name than the machine (kubectl get nodes), say that it is this machine's: its provider records status.machineID "
    "(docs/provider_contract.md), or a cloud controller gives both the same providerID."
)
_TRIED_AT_START = "kubelet tries a static Pod that it refused again only when it starts (docs/faults.md)."
_EARLIER_NAME = "If it is, put the Node's name into /etc/kubernetes/manifests/etcd.yaml there (--name, --initial-cluster). If not, remove it (etcd_member)."


@dataclass(frozen=True)
class Trouble:
    """One problem with a control plane.

    `check` is the preflight check that it fails, `waits` says that it changes by itself.
    `gates`: no step may be taken beside it. `postpones`: it is the user's own setting that nothing starts now.
    """

    check: str
    reason: str
    message: str
    fix: str
    waits: bool
    gates: bool = True
    postpones: bool = False

    def document(self) -> Object:
        """Return the trouble in the form of the decision's `blockedOn`."""
        return {"reason": self.reason, "message": self.message, "fix": self.fix}


def find_troubles(view: View, machines: Mapping[str, list[Object]], excluding: Collection[str] = ()) -> list[Trouble]:
    """Return all troubles, in the order of the preflight checks.

    `machines` are the computed machine conditions; machines named in `excluding` (the one that is to be removed) are
    left out, and so are the alarms of their members
    (docs/reference/cluster_api.md, "Preflight checks", "Quorum arithmetic").
    """
    if not view.reachable:
        return [unreachable(view)]
    judged = [machine for machine in view.machines if machine.name not in excluding and not machine.deleting]
    found = [*_endpoint(view), *_clock(view), *_certificates(view, excluding)]
    for machine in judged:
        found += _node(view, machine)
    for machine in judged:
        if machine.node is not None:
            found += _components(view, machine, machines[machine.name])
    found += _etcd(view, judged, machines, excluding) if view.managed_etcd else _external_etcd(view)
    found += _unmanaged_nodes(view)
    for machine in judged:
        found += _node_ready(view, machine)
    return found


def unreachable(view: View) -> Trouble:
    """Return the trouble of a workload API that answers on no machine."""
    ended = on_disk.ended_certificates(view)
    if ended:
        text = f"{on_disk.said_of(ended)}, so that no machine's API server answers, and nothing is known and nothing changed"
        return Trouble(
            WORKLOAD_REACHABLE, MACHINE_CERTIFICATES_EXPIRED, text, on_disk.way_out(view, ended, False), False
        )
    # Unknown where no machine has joined: a control plane that was, and of which nobody can be asked any more.
    held = [view.held(view.cluster, REMOTE_CONNECTION_PROBE, status) for status in (terms.FALSE, terms.UNKNOWN)]
    waits = view.settling or max((each for each in held if each is not None), default=0) < settings.PATIENCE
    said = clip(view.workload.get("message")) or "no machine answered"
    etcd = votes(view)
    fix = (
        "Look at a machine: does it run, does sshd answer, do the static pods run (crictl ps -a, journalctl -u kubelet)? "
        "Nothing is removed or initialized while it is unknown."
    )
    text = f"no machine's API server answers, so nothing is known and nothing is changed: {said}"
    if etcd is not None and etcd.lost:
        text = f"etcd has lost its quorum: {etcd}. So no API server answers, and nothing is or can be changed: {said}"
        fix = way_out(etcd)
    elif alarms := _alarms(view, ()):
        # A full database refuses the run's own Lease, too: the API servers are not what has to be repaired.
        text = f"{'; '.join(each.message for each in alarms)}. Nothing is changed: {said}"
        fix, waits = " ".join(dict.fromkeys(each.fix for each in alarms)), False
    elif etcd is not None:
        text += f". etcd answers: {etcd}; what it holds is not in danger"
    return Trouble(WORKLOAD_REACHABLE, "APIUnreachable", text, fix, waits)


def _endpoint(view: View) -> list[Trouble]:
    if view.endpoint_answers is True:
        return []
    kind = "ControlPlaneEndpointReachable"
    status = terms.FALSE if view.endpoint_answers is False else terms.UNKNOWN
    held = view.held(view.cluster, kind, status)
    said = clip((view.workload.get("endpoint") or {}).get("message")) or "no reason given"
    return [
        Trouble(
            ENDPOINT_REACHABLE,
            "EndpointNotReachable" if view.endpoint_answers is False else "EndpointUnknown",
            f"the control plane endpoint {view.endpoint or '(not set)'} does not lead to this cluster's API, though machines answer: {said}",
            "Look at the load balancer or virtual address: is it up, and are healthy machines behind it?",
            view.settling or held is None or held < settings.PATIENCE,
        )
    ]


def _certificates(view: View, excluding: Collection[str]) -> list[Trouble]:
    ended = on_disk.ended_certificates(view, excluding)
    if not ended:
        return []
    # No machine may join beside one: the endpoint may lead the join to it.
    text = f"{on_disk.said_of(ended)}: its API server and its etcd member are refused by whoever verifies them"
    return [
        Trouble(COMPONENTS_HEALTHY, MACHINE_CERTIFICATES_EXPIRED, text, on_disk.way_out(view, ended, True), False),
    ]


def _clock(view: View) -> list[Trouble]:
    skew = view.workload.get("clockSkewSeconds")
    if isinstance(skew, bool) or not isinstance(skew, (int, float)) or abs(skew) <= settings.CLOCK_SKEW_SECONDS:
        return []
    text = f"clocks differ by {abs(skew):.0f} s, more than {settings.CLOCK_SKEW_SECONDS} s"
    return [
        Trouble(
            CLOCK_SKEW, "ClockSkew", text, "Set up time synchronisation on the controller and on every machine.", False
        )
    ]


def _node(view: View, machine: MachineView) -> list[Trouble]:
    name = clip(machine.node_name, 80)
    if machine.joined and machine.infrastructure_gone:
        text = f"machine {machine.name} has joined, and its provider says: {machine.infrastructure_gone}"
        fix = f"Start the machine again, or have it replaced {advice.replace(machine.name)}."
        return [Trouble(MACHINES_HAVE_NODES, "InfrastructureGone", text, fix, False)]
    if machine.impostor:
        text = f"Node {clip(machine.impostor, 80)} has another machine ID than machine {machine.name}: the host was reinstalled or replaced"
        fix = "Bring the right host back under this name; where it is the same one, the machine-id that its Machine has (status.machineID)."
        return [Trouble(MACHINES_HAVE_NODES, "NodeIdentityDiffers", text, fix, False)]
    if machine.node is not None:
        return []
    if machine.node_unlabelled:
        text = f"Node {name} of machine {machine.name} has no longer kubeadm's label for control planes"
        fix = f"Put back what kubeadm had put there: {_as_kubeadm(view, machine, machine.node_name)}"
        return [Trouble(MACHINES_HAVE_NODES, "NodeNotLabelled", text, fix, False)]
    if machine.node_lost:
        text = f"Node {name} of machine {machine.name} does not exist any more"
        fix = (
            "Restart kubelet on the machine: it registers its Node again. Do that again where a static Pod does not come back: "
            f"{_TRIED_AT_START} Nothing is removed because a Node object is missing."
        )
        waits = view.settling or not view.lasting(machine.machine, "NodeReady")
        return [Trouble(MACHINES_HAVE_NODES, "NodeNotFound", text, fix, waits)]
    began = machine.started if machine.started is not None else machine.created
    waits = view.now - began < settings.NODE_STARTUP_SECONDS
    text, fix = f"machine {machine.name} has no Node yet", "Look at kubelet on the machine (journalctl -u kubelet)."
    if machine.joined:
        fix += f" {OTHER_NAME} Where kubeadm never ran there, have it replaced {advice.replace(machine.name)}."
    return [Trouble(MACHINES_HAVE_NODES, "NodeNotFound", text, fix, waits)]


def _typed_taint(taint: Object) -> str:
    title = taint_title(taint)
    return title if _TYPED.fullmatch(title) else "TAINT:EFFECT"


def _as_kubeadm(view: View, machine: MachineView, name: str) -> str:
    """Return the commands that restore a Node's labels and taints.

    They are kubeadm's labels and, where the spec names no others, its taints: the Node's kubelet sets neither again.
    """
    try:
        labels = kubeadm_facts.role_labels(machine.version)
        taints = registered_taints(configuration(view, machine), machine.version)
    except ValueError:
        labels, taints = (kubeadm_facts.LABEL_CONTROL_PLANE,), []
    name = typed_name(name)
    said = f"kubectl label node {name} {' '.join(f'{label}=' for label in labels)}"
    titles = [_typed_taint(each) for each in taints]
    if titles:
        said += f" and kubectl taint node {name} {' '.join(titles)}"
    return said


def _components(view: View, machine: MachineView, conditions: list[Object]) -> list[Trouble]:
    found = []
    judged = COMPONENT_CONDITIONS + ((ETCD_POD_HEALTHY,) if view.managed_etcd else ())
    for kind in judged:
        each = condition_in(conditions, kind)
        if each["status"] == terms.TRUE:
            continue
        component = next(name for name, condition, _title in terms.COMPONENTS if condition == kind)
        if each["reason"] == "Provisioning":
            held = view.held(machine.machine, kind, terms.FALSE)
            waits = held is None or held < settings.NODE_STARTUP_SECONDS
        else:
            waits = view.settling or not view.lasting(machine.machine, kind)
        reason = {
            "Provisioning": "ComponentProvisioning",
            "Failed": "ComponentFailed",
            "DoesNotExist": "ComponentMissing",
        }
        # Where nothing is known of any of them, one look is enough.
        named = f" --name {component}" if each["status"] == terms.FALSE else ""
        again = f" Then restart kubelet: {_TRIED_AT_START}" if each["reason"] == "DoesNotExist" else ""
        text = f"{component} on machine {machine.name}: {each['message'] or each['reason']}"
        fix = (
            f"On {typed_name(machine.name)} look at crictl ps -a{named}, crictl logs and journalctl -u kubelet.{again}"
        )
        of = ETCD_HEALTHY if component == "etcd" else COMPONENTS_HEALTHY
        found.append(Trouble(of, reason.get(each["reason"], "ComponentUnknown"), text, fix, waits))
    return found


def _etcd(
    view: View, judged: list[MachineView], machines: Mapping[str, list[Object]], excluding: Collection[str]
) -> list[Trouble]:
    lasting = view.lasting(view.control_plane, ETCD_CLUSTER_HEALTHY)
    waits = view.settling or not lasting
    if not view.etcd_known:
        text = f"etcd gave no member list: {clip(view.etcd.get('message')) or 'no reason given'}"
        fix = "Look at etcd on the machines (crictl logs, journalctl -u kubelet). Without a majority only a snapshot brings it back."
        return [Trouble(ETCD_HEALTHY, "EtcdUnreachable", text, fix, waits)]
    found = _alarms(view, {each.member.id for each in view.machines if each.member and each.name in excluding})
    found += other_etcd(view)
    figures = quorum.figures(view.members)
    if not answers_with_quorum(view):
        text = f"etcd has lost its quorum: {figures}"
        fix = "Bring the members' machines back; nothing can be added or removed meanwhile. Without them only a snapshot helps."
        found.append(Trouble(ETCD_HEALTHY, "EtcdQuorumLost", text, fix, waits))
    elif view.leader is None:
        found.append(
            Trouble(ETCD_HEALTHY, "EtcdNoLeader", "the etcd members agree on no leader", "Look at etcd's logs.", waits)
        )
    for machine in judged:
        each = condition_in(machines[machine.name], ETCD_MEMBER_HEALTHY)
        alarmed = machine.member is not None and machine.member.id in {
            alarm.get("memberID") for alarm in view.etcd.get("alarms") or ()
        }
        if each["status"] != terms.TRUE and machine.node is not None and not alarmed:
            own = view.settling or not view.lasting(machine.machine, ETCD_MEMBER_HEALTHY)
            text = f"etcd member of machine {machine.name}: {each['message'] or each['reason']}"
            fix = (
                f"Look at etcd on {typed_name(machine.name)} (crictl logs). Where its host was lost or installed again, have it replaced "
                f"{advice.replace(machine.name)}."
            )
            found.append(Trouble(ETCD_HEALTHY, "EtcdMemberUnhealthy", text, fix, own))
    agrees = view.etcd.get("memberListAgrees")
    if agrees is not True:
        said = clip(view.etcd.get("message")) or (
            "fewer than two members could be asked" if agrees is None else "their lists differ"
        )
        text = f"the etcd members do not all report the same member list: {said}"
        fix = "Look at the network between the members. Nothing is changed while views disagree."
        found.append(Trouble(MEMBER_LIST_AGREES, "ViewsDisagree", text, fix, agrees is None and waits))
    for member in strangers(view):
        text = f"etcd {member.describe()} belongs to no machine"
        waits = view.settling or not stray_lasts(view, member)
        found.append(Trouble(MEMBERS_MATCH, "StrayMember", text, _way_of_stray(view, member), waits))
    return found


def _way_of_stray(view: View, member: quorum.MemberState) -> str:
    # What is refused to a run (removal/stray.py) is not for a person to do either.
    if member.name in control_plane_nodes(view):
        return "Adopt its machine, or give the store that knows it. It is removed once the Node of its name is gone with its host."
    if owner := possible_owner(view, member):
        return claim_member(owner)
    return f"It is removed as soon as that is safe; by hand, the module etcd_member with its ID {member.id} checks the quorum first."


def claim_member(machine: MachineView) -> str:
    """Return the remedy for a member that may be a machine's."""
    return _EARLIER_NAME if machine.node_known else OTHER_NAME


def other_etcd(view: View) -> list[Trouble]:
    """Return the trouble of an etcd cluster that isn't the recorded one."""
    said = another_cluster(view.control_plane, view.etcd)
    if not view.managed_etcd or not said:
        return []
    via = typed_name(view.workload.get("via") or "")
    text = f"etcd on machine {via} {said}"
    return [Trouble(ETCD_HEALTHY, "EtcdClusterIDDiffers", text, remedy_of_another(via), False)]


def _alarms(view: View, ignored: Collection[str]) -> list[Trouble]:
    titles = {member.id: member.describe() for member in view.members}
    found = []
    for alarm in view.etcd.get("alarms") or ():
        if alarm.get("memberID") in ignored:
            continue
        kind, member = clip(str(alarm.get("alarm")), 40), str(alarm.get("memberID"))
        text = f"etcd alarm {kind} on {titles.get(member, f'a member that is not listed ({member})')}"
        fix = etcd_alarms.corrupt(view) if kind == "CORRUPT" else etcd_alarms.no_space(view)
        found.append(Trouble(ETCD_HEALTHY, "EtcdAlarm", text, fix, False))
    return found


def _external_etcd(view: View) -> list[Trouble]:
    if not view.etcd or view.etcd.get("reachable") is True:
        return []
    text = f"the external etcd does not answer: {clip(view.etcd.get('message')) or 'no reason given'}"
    waits = view.settling or not view.lasting(view.control_plane, CONTROL_PLANE_COMPONENTS_HEALTHY)
    return [
        Trouble(
            ETCD_HEALTHY,
            "EtcdUnreachable",
            text,
            "Look at the external etcd and at the client certificate for it.",
            waits,
        )
    ]


def _unmanaged_nodes(view: View) -> list[Trouble]:
    found, nodes = [], unmanaged_nodes(view)
    workers = labelled_workers(view) if nodes else {}
    for node in nodes:
        text = f"control plane Node {clip(node['name'], 80)} belongs to no machine of this cluster"
        fix = "Remove the Node if its host is gone, or give the store that knows its machine."
        silent, worker = silent_since(node) is not None, workers.get(node["name"])
        if worker:
            text = f"Node {clip(node['name'], 80)} of worker {clip(worker, 80)} has the control plane's label"
            roles = f"{kubeadm_facts.LABEL_CONTROL_PLANE}- {kubeadm_facts.LABEL_MASTER}-"
            fix, silent = f"Take it off: kubectl label node {typed_name(node['name'])} {roles}", False
        found.append(Trouble(MEMBERS_MATCH, "UnmanagedNode", text, "" if silent else fix, silent))
    return found


def _node_ready(view: View, machine: MachineView) -> list[Trouble]:
    node = machine.node
    if node is None or node.get("ready") == terms.TRUE:
        return []
    created = parse_time(node.get("creationTimestamp"))
    waits = created is not None and view.now - created < settings.NODE_READY_PATIENCE
    text = f"Node {clip(node['name'], 80)} is not Ready ({why_not_ready(node)})"
    if lacks_plugin(node):
        return [Trouble(NODES_READY, NO_NETWORK_PLUGIN, text, WAY_OUT, waits, gates=False)]
    return [
        Trouble(NODES_READY, "NodeNotReady", text, "Look at the kubelet: journalctl -u kubelet.", waits, gates=False)
    ]
