# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of one machine.

Of its static pods, etcd member and Node, and whether it is up to date.
Source: docs/reference/cluster_api.md, "Conditions".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Optional

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.values import clip
from ...objects import conditions as types
from ...objects import kinds
from .. import terms
from ..checks.api_connection import connection_down
from ..rollout.uptodate import Outdated
from ..snapshot.typed_snapshot import MachineView, View, annotations_of, condition_of
from .node_network import why_not_ready
from .node_registration import configuration, registered_taints, same_taint, taint_title

Object = dict[str, Any]
INSPECTION_FAILED = "InspectionFailed"
_SECONDS = re.compile(r"[0-9]{1,6}")
_NODE_REASONS = {
    "NodeHealthy": {
        terms.TRUE: "NodeHealthy",
        terms.FALSE: "NodeNotHealthy",
        terms.UNKNOWN: "NodeHealthyUnknown",
    },
    "NodeReady": {terms.TRUE: "NodeReady", terms.FALSE: "NodeNotReady", terms.UNKNOWN: "NodeReadyUnknown"},
}
# The pressures with which a Node is unhealthy, Ready or not (Cluster API's NodeHealthy; NodeReady leaves them out).
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_UNREACHABLE_TAINT = "node.kubernetes.io/unreachable"


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    """Return a condition in the decision's form.

    The writer adds lastTransitionTime where the status changes.
    """
    return {"type": kind, "status": status, "reason": reason, "message": message}


def is_true(conditions: Iterable[Object], *kinds: str) -> bool:
    """Return whether all of these condition types are exactly True.

    False, Unknown and missing all fail.
    """
    states = {each["type"]: each["status"] for each in conditions}
    return all(states.get(kind) == terms.TRUE for kind in kinds)


def health_conditions(view: View) -> tuple[str, ...]:
    """Return the condition types of a healthy control plane machine.

    etcd's only where it is managed.
    """
    return types.COMPONENT_CONDITIONS + (types.ETCD_CONDITIONS if view.managed_etcd else ())


def machine_conditions(view: View, machine: MachineView, outdated: Sequence[Outdated]) -> list[Object]:
    """Return all conditions of one machine, in a fixed order."""
    found: list[Object] = []
    for component, kind, title in terms.COMPONENTS:
        if component != "etcd" or view.managed_etcd:
            found.append(_judge(view, machine, kind) or _pod(machine, component, kind, title))
    if view.managed_etcd:
        found.append(_member(view, machine))
    found.append(_judge(view, machine, "NodeKubeadmLabelsAndTaintsSet") or _labels_and_taints(view, machine))
    found.append(up_to_date(machine, outdated))
    found += api_conditions(view, machine)
    found += [deleting_condition(machine), paused_condition(view)]
    gates = [
        types.INFRASTRUCTURE_READY,
        "BootstrapConfigReady",
        "NodeHealthy",
        "NodeKubeadmLabelsAndTaintsSet",
        *health_conditions(view),
    ]
    own = [*health_check_condition(machine), *gates_of_others(machine, found)]
    found.append(ready_condition(machine, [*found, *own], [*gates, *(each["type"] for each in own)]))
    found.append(_available(view, machine, found[-1]))
    return found


def health_check_condition(machine: MachineView) -> list[Object]:
    """Return a MachineHealthCheck's condition, which counts for Ready where there is one."""
    stored = condition_of(machine.machine, types.HEALTH_CHECK_SUCCEEDED)
    if not stored:
        return []
    return [
        condition(
            types.HEALTH_CHECK_SUCCEEDED, stored["status"], clip(stored.get("reason")), clip(stored.get("message"))
        )
    ]


def gates_of_others(machine: MachineView, computed: Sequence[Object]) -> list[Object]:
    """Return the conditions of readiness gates that others set.

    Unknown where they have not set it yet. Source: the control plane contract, "ControlPlane: machines".
    """
    # A summary can't wait for itself.
    known = {types.READY, types.AVAILABLE, types.HEALTH_CHECK_SUCCEEDED, *(each["type"] for each in computed)}
    found = []
    for gate in machine.machine["spec"].get("readinessGates") or ():
        kind = str(gate.get("conditionType", ""))
        if not kind or kind in known:
            continue
        stored = condition_of(machine.machine, kind)
        status = stored.get("status", terms.UNKNOWN)
        if gate.get("polarity") == "Negative":
            status = {terms.TRUE: terms.FALSE, terms.FALSE: terms.TRUE}.get(status, terms.UNKNOWN)
        text = clip(stored.get("message")) if stored else f"Condition {clip(kind, 80)} not yet reported"
        found.append(condition(kind, status, str(stored.get("reason", "NotYetReported")), text))
    return found


def _judge(view: View, machine: MachineView, kind: str) -> Optional[Object]:
    """Return a condition that is known without inspection, else None.

    For a machine that is deleted, or that has no Node or no connection. Source: docs/reference/cluster_api.md,
    "Conditions".
    """
    if machine.deleting:
        return condition(kind, terms.FALSE, "Deleting", "Machine is deleting")
    if not view.reachable:
        return _kept(view, machine, kind)
    if machine.impostor:
        text = f"Node {clip(machine.impostor)} has another machine ID than this machine: it is another host"
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, text)
    if machine.node is None:
        text = (
            f"Node {clip(machine.node_name)} does not exist" if machine.node_lost else "Waiting for the machine's Node"
        )
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, text)
    for taint in machine.node.get("taints") or ():
        if taint.get("key") == _UNREACHABLE_TAINT and taint.get("effect") == "NoExecute":
            return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, f"Node {clip(machine.node_name)} is unreachable")
    if machine.node.get("ready") == terms.UNKNOWN:
        return condition(
            kind,
            terms.UNKNOWN,
            INSPECTION_FAILED,
            "Node's Ready condition is Unknown: what is known of its Pods is stale",
        )
    return None


def kept(view: View, obj: Object, kind: str, without: str) -> Object:
    """Return the condition of an object while no API server answers.

    It stays as it is stored until the connection counts as lost; ``without`` is the message where nothing is stored.
    """
    down = connection_down(view)
    if down is not None:
        return condition(kind, terms.UNKNOWN, down["reason"], down["message"])
    stored = condition_of(obj, kind)
    if stored:
        return condition(kind, stored["status"], str(stored.get("reason", "")), str(stored.get("message", "")))
    return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, without)


def _kept(view: View, machine: MachineView, kind: str) -> Object:
    text = "The workload cluster does not answer yet" if machine.joined else "Waiting for the machine's Node"
    return kept(view, machine.machine, kind, text)


def _pod(machine: MachineView, component: str, kind: str, title: str) -> Object:
    pod = machine.pods.get(component)
    if not pod:
        return condition(kind, terms.FALSE, "DoesNotExist", f"Pod {component}-{clip(machine.node_name)} does not exist")
    # The component's own answer is better evidence than the pod's status, which the kubelet writes later.
    if pod.get("answers") is True:
        return condition(kind, terms.TRUE, "Running")
    phase, waiting = pod.get("phase"), clip(pod.get("waitingReason"), 80)
    if phase == "Pending":
        return condition(
            kind,
            terms.FALSE,
            "Provisioning",
            "Waiting to be scheduled or to start" + (f": {waiting}" if waiting else ""),
        )
    if phase in ("Succeeded", "Failed"):
        return condition(kind, terms.FALSE, "Failed", f"The {title}'s Pod ended ({phase})")
    if phase != "Running":
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, "The Pod's phase is unknown")
    if pod.get("ready") is True:
        return condition(kind, terms.TRUE, "Running")
    code = pod.get("lastExitCode")
    if waiting:
        if code:
            return condition(kind, terms.FALSE, "Failed", f"The {title} exited with {code} and waits: {waiting}")
        return condition(kind, terms.FALSE, "Provisioning", f"Waiting: {waiting}")
    if pod.get("terminated"):
        return condition(kind, terms.FALSE, "Failed", f"The {title} exited with {code}")
    return condition(kind, terms.FALSE, "Provisioning", "Waiting for startup or readiness probes")


def _member(view: View, machine: MachineView) -> Object:
    kind = types.ETCD_MEMBER_HEALTHY
    if machine.deleting:
        return condition(kind, terms.FALSE, "Deleting", "Machine is deleting")
    if not view.etcd_known:
        if not view.reachable:
            return _kept(view, machine, kind)
        text = "etcd gave no member list" + (f": {clip(view.etcd.get('message'))}" if view.etcd.get("message") else "")
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, text)
    member = machine.member
    if member is None:
        if machine.node is None:
            return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, "Waiting for the machine's Node")
        return condition(kind, terms.FALSE, "NotHealthy", f"Etcd has no member {clip(machine.node_name)}")
    alarms = sorted(
        {
            clip(str(each.get("alarm")), 40)
            for each in view.etcd.get("alarms") or ()
            if each.get("memberID") == member.id
        }
    )
    if alarms:
        return condition(kind, terms.FALSE, "NotHealthy", f"Etcd member reports alarms: {', '.join(alarms)}")
    if not member.name:
        return condition(kind, terms.FALSE, "NotHealthy", f"Etcd member {member.id} was added and never started")
    if member.learner:
        return condition(kind, terms.FALSE, "NotHealthy", "Etcd member is a learner: it does not vote yet")
    if member.healthy:
        return condition(kind, terms.TRUE, "Healthy")
    status = (view.etcd.get("statuses") or {}).get(member.id)
    if status is None:
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, "The etcd member's own status is not known")
    text = clip(status.get("message")) or clip("; ".join(map(str, status.get("errors") or ())))
    return condition(kind, terms.FALSE, "NotHealthy", f"Etcd member is not healthy: {text or 'no reason given'}")


def _labels_and_taints(view: View, machine: MachineView) -> Object:
    kind = "NodeKubeadmLabelsAndTaintsSet"
    node = machine.node or {}
    try:
        labels = kubernetes_facts.role_labels(machine.version)
        taints = registered_taints(configuration(view, machine), machine.version)
    except ValueError:
        return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, f"{machine.version!r} is not a Kubernetes version")
    missing = [f"label {label}" for label in labels if label not in (node.get("labels") or {})]
    present = node.get("taints") or ()
    missing += [
        f"taint {taint_title(taint) if 'effect' in taint else clip(taint.get('key'), 120)}"
        for taint in taints
        if not any(same_taint(taint, each) for each in present)
    ]
    if missing:
        return condition(kind, terms.FALSE, "NotSet", f"Node lacks {', '.join(missing)}, which kubeadm sets")
    return condition(kind, terms.TRUE, "Set")


def up_to_date(machine: MachineView, outdated: Sequence[Outdated]) -> Object:
    """Return the condition UpToDate."""
    kind = types.UP_TO_DATE
    if outdated:
        return condition(kind, terms.FALSE, "NotUpToDate", "\n".join(f"* {each.message}" for each in outdated))
    kubelet = (machine.node or {}).get("kubeletVersion")
    if kubelet and machine.version and kubelet != machine.version:
        return condition(
            kind, terms.FALSE, "Updating", f"Node runs kubelet {clip(kubelet, 40)}, {machine.version} wanted"
        )
    return condition(kind, terms.TRUE, "UpToDate")


def api_conditions(view: View, machine: MachineView) -> list[Object]:
    """Return the conditions of infrastructure, bootstrap and Node."""
    gone = machine.infrastructure_gone
    if gone:
        infrastructure = condition(types.INFRASTRUCTURE_READY, terms.FALSE, "NotReady", f"The provider says: {gone}")
    elif machine.provisioned:
        infrastructure = condition(types.INFRASTRUCTURE_READY, terms.TRUE, "Ready")
    else:
        infrastructure = condition(
            types.INFRASTRUCTURE_READY, terms.FALSE, "NotReady", "Waiting for the machine's infrastructure"
        )
    if machine.bootstrap == terms.SUCCEEDED:
        bootstrap = condition("BootstrapConfigReady", terms.TRUE, "Ready")
    elif machine.bootstrap == terms.FAILED:
        text = f"kubeadm failed: {machine.bootstrap_message or 'no reason recorded'}"
        bootstrap = condition("BootstrapConfigReady", terms.FALSE, "NotReady", text)
    else:
        text = "kubeadm is at work" if machine.bootstrap == terms.RUNNING else "Waiting for kubeadm to be started"
        bootstrap = condition("BootstrapConfigReady", terms.FALSE, "NotReady", text)
    return [infrastructure, bootstrap, *(_node(view, machine, kind) for kind in _NODE_REASONS)]


def deleting_condition(machine: MachineView) -> Object:
    """Return the condition Deleting, with the stored phase of the deletion."""
    if not machine.deleting:
        return condition(types.DELETING, terms.FALSE, "NotDeleting")
    stored = condition_of(machine.machine, types.DELETING)
    if stored.get("status") == terms.TRUE and stored.get("reason"):
        return condition(types.DELETING, terms.TRUE, clip(stored["reason"]), clip(stored.get("message"), 1024))
    return condition(types.DELETING, terms.TRUE, "Deleting", "Machine metadata.deletionTimestamp is set")


def paused_condition(view: View) -> Object:
    """Return the condition Paused, for every object of the cluster."""
    found = view.paused
    if found:
        return condition(types.PAUSED, terms.TRUE, "Paused", ", ".join(found))
    return condition(types.PAUSED, terms.FALSE, "NotPaused")


def _node(view: View, machine: MachineView, kind: str) -> Object:
    """Return Cluster API's condition NodeReady or NodeHealthy.

    NodeReady is the kubelet's Ready; NodeHealthy includes the pressures.
    """
    reasons = _NODE_REASONS[kind]
    if not view.reachable and not machine.deleting:
        return _kept(view, machine, kind)
    if machine.node is None:
        return _without_node(machine, kind)
    ready, why = machine.node.get("ready"), why_not_ready(machine.node)
    troubles = []
    if ready == terms.FALSE:
        troubles.append((terms.FALSE, f"Node is not Ready ({why})"))
    elif ready != terms.TRUE:
        troubles.append((terms.UNKNOWN, f"Node's Ready condition is Unknown ({why})"))
    if kind == "NodeHealthy":
        troubles += _pressures(machine.node)
    states = {status for status, _text in troubles}
    worst = next((each for each in (terms.FALSE, terms.UNKNOWN) if each in states), terms.TRUE)
    return condition(kind, worst, reasons[worst], "; ".join(text for _status, text in troubles))


def _pressures(node: Object) -> list[tuple[str, str]]:
    """Return a Node's pressures that are True or Unknown, with texts.

    A kubelet reports all of a Node's conditions at once: a pressure that it never reported is no problem beside a known
    Ready, and a silent kubelet is reported once.
    """
    found = []
    for each in node.get("conditions") or ():
        kind, why = each["type"], clip(each.get("reason"), 80) or "no reason given"
        if kind in _PRESSURES and each["status"] == terms.TRUE:
            found.append((terms.FALSE, f"Node has {kind} ({why})"))
        elif kind in _PRESSURES and each["status"] == terms.UNKNOWN and node.get("ready") != terms.UNKNOWN:
            found.append((terms.UNKNOWN, f"Node's condition {kind} is Unknown ({why})"))
    return found


def _without_node(machine: MachineView, kind: str) -> Object:
    if machine.impostor or machine.node_lost:
        text = f"Node {clip(machine.node_name)} of this machine does not exist"
        return condition(kind, terms.FALSE, "NodeDeleted", text)
    if machine.deleting:
        return condition(kind, terms.UNKNOWN, "NodeDoesNotExist", "Node does not exist")
    return condition(kind, terms.UNKNOWN, INSPECTION_FAILED, "Waiting for the machine's Node")


def ready_condition(machine: MachineView, conditions: list[Object], gates: Sequence[str]) -> Object:
    """Return the condition Ready, the summary of `gates`."""
    if machine.deleting:
        return condition(types.READY, terms.FALSE, "NotReady", "Machine is deleting")
    by_kind = {each["type"]: each for each in conditions}
    failing = [by_kind[gate] for gate in gates if gate in by_kind and by_kind[gate]["status"] != terms.TRUE]
    if not failing:
        return condition(types.READY, terms.TRUE, "Ready")
    text = "\n".join(f"* {each['type']}: {each['message'] or each['reason']}" for each in failing)
    if any(each["status"] == terms.FALSE for each in failing):
        return condition(types.READY, terms.FALSE, "NotReady", text)
    return condition(types.READY, terms.UNKNOWN, "ReadyUnknown", text)


def min_ready_seconds(view: View) -> Optional[int]:
    """Return the seconds of Ready after which a machine counts as available.

    0 where the annotation is absent, None where it can't be read: then no machine counts as available, because the
    desired number is unknown.
    """
    text = annotations_of(view.control_plane).get(kinds.ANNOTATION_MIN_READY_SECONDS)
    if text is None:
        return 0
    return int(text) if isinstance(text, str) and _SECONDS.fullmatch(text) else None


def _available(view: View, machine: MachineView, ready: Object) -> Object:
    if ready["status"] != terms.TRUE:
        return condition(types.AVAILABLE, terms.FALSE, "NotReady", "")
    wanted = min_ready_seconds(view)
    held = view.held(machine.machine, types.READY, terms.TRUE)
    if wanted is None:
        text = f"The annotation {kinds.ANNOTATION_MIN_READY_SECONDS} of the control plane is no number of seconds"
        return condition(types.AVAILABLE, terms.UNKNOWN, "InternalError", text)
    if wanted and (held is None or held < wanted):
        return condition(types.AVAILABLE, terms.FALSE, "WaitingForMinReadySeconds", f"Not Ready for {wanted} s yet")
    return condition(types.AVAILABLE, terms.TRUE, "Available")
