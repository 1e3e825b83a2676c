# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineHealthChecks' findings: unhealthy machines, and allowed remediations.

Source: docs/reference/cluster_api.md, "Remediation".

Pure: MachineHealthChecks and a snapshot in, findings out. An unknown state is never unhealthy. Every duration is
between two times of one clock: a Node condition's time and the snapshot's ``now`` are the workload API's; conditions of
Machines were stored with such a ``now``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import clip, condition_in, format_time, parse_time
from ...documents.scalars import format_duration
from ...objects import advice, kinds, machine_health_check, restore_note
from ...objects.conditions import HEALTH_CHECK_SUCCEEDED, INFRASTRUCTURE_READY
from ...objects.validate import object_selector
from .. import terms
from ..checks.trouble import other_etcd
from ..conditions.control_plane import initialized
from ..snapshot.typed_snapshot import MachineView, View, condition_of
from ..workers.worker_view import read_workers

Object = dict[str, Any]

HEALTHY = "healthy"
UNHEALTHY = "unhealthy"
# It will be unhealthy when its problem lasts until a known time.
PENDING = "pending"
UNKNOWN = "unknown"
DELETING = "deleting"
# Among the findings of several health checks about one machine, the first of these states wins.
ORDER = (UNHEALTHY, DELETING, PENDING, UNKNOWN, HEALTHY)

# Stable reasons; those of unhealthy machines are Cluster API's.
ANNOTATED = "HasRemediateAnnotation"
NODE_DELETED = "NodeDeleted"
STARTUP = "NodeStartupTimeout"
UNHEALTHY_NODE = "UnhealthyNode"
UNHEALTHY_MACHINE = "UnhealthyMachine"
NOT_REACHABLE = "APIUnreachable"
NOT_JUDGED = "NotJudged"
NOT_RESTORED = "NodeNotRestored"
PAUSED = "Paused"


@dataclass(frozen=True)
class Finding:
    """Finding of one health check about one machine.

    `until`: seconds since the epoch when a PENDING machine becomes unhealthy, if that is known.
    """

    machine: str
    state: str
    reason: str = ""
    message: str = ""
    until: Optional[int] = None


@dataclass
class Result:
    """Result of one MachineHealthCheck.

    It has the findings by machine, and whether its limits allow remediation (None: no machine was evaluated).
    """

    name: str
    findings: dict[str, Finding] = field(default_factory=dict)
    allowed: Optional[bool] = None
    message: str = ""
    status: Object = field(default_factory=dict)
    conditions: list[Object] = field(default_factory=list)
    # Machines that the selector selects and an annotation of the user excludes, with that annotation.
    skipped: dict[str, str] = field(default_factory=dict)


def check(document: Object, view: View) -> Result:
    """Evaluate one MachineHealthCheck on the machines of a snapshot.

    The MachineHealthCheck is in the hub form, defaulted; the snapshot has the stored conditions in their current state.

    `status` and `conditions` of the result are to be stored on the MachineHealthCheck; `status` is empty where no
    machine was evaluated.
    """
    result = Result(str(document["metadata"]["name"]))
    spec = document.get("spec") or {}
    targets = []
    for machine in watched(view):
        if not object_selector.selects(spec.get("selector") or {}, _labels(machine)):
            continue
        annotation = taken_out(machine)
        if annotation:
            result.skipped[machine.name] = annotation
        else:
            targets.append(machine)
    why = _nobody(document, view)
    if why is not None:
        result.message = why[1]
        result.findings = {each.name: Finding(each.name, UNKNOWN, why[0], why[1]) for each in targets}
        if why[0] == PAUSED:
            result.conditions = [{"type": PAUSED, "status": terms.TRUE, "reason": PAUSED, "message": why[1]}]
        return result
    series = _Series(document, view)
    result.findings = {each.name: _judge(spec.get("checks") or {}, view, each, series) for each in targets}
    _limits(result, spec, document, series)
    return result


def watched(view: View) -> list[MachineView]:
    """Return the machines that health checks select from, also workers."""
    return [*view.machines, *read_workers(view).machines]


def taken_out(machine: MachineView) -> str:
    """Return the annotation with which the user excludes a machine, else ""."""
    annotations = (kinds.ANNOTATION_PAUSED, kinds.ANNOTATION_SKIP_REMEDIATION)
    return next((each for each in annotations if kinds.is_flagged(machine.machine, each)), "")


def _labels(machine: MachineView) -> Object:
    labels: Object = machine.machine["metadata"].get("labels") or {}
    return labels


def is_paused(document: Object) -> bool:
    """Return whether this MachineHealthCheck itself is paused."""
    return kinds.is_flagged(document, kinds.ANNOTATION_PAUSED)


def _nobody(document: Object, view: View) -> Optional[tuple[str, str]]:
    """Return why no machine is evaluated now, None where they are."""
    if view.paused:
        return PAUSED, f"the cluster is paused: {', '.join(view.paused)}"
    if is_paused(document):
        return PAUSED, f"the MachineHealthCheck has the annotation {kinds.ANNOTATION_PAUSED}"
    if view.deleting:
        return NOT_JUDGED, "the cluster is being deleted"
    if not view.infrastructure_ready:
        return NOT_JUDGED, "the cluster's infrastructure is not ready"
    if found := other_etcd(view):
        return NOT_JUDGED, f"{found[0].message}: it has other Nodes"
    skew = view.workload.get("clockSkewSeconds")
    if isinstance(skew, (int, float)) and abs(skew) > settings.CLOCK_SKEW_SECONDS:
        text = f"the clocks of the workload cluster and of this controller differ by {abs(skew):.0f} s: no duration can be trusted"
        return "ClockSkew", text
    if not view.reachable and _exists(view):
        said = clip(view.workload.get("message")) or "no reason given"
        return NOT_REACHABLE, f"no machine's API server answers, and what is not known is not unhealthy ({said})"
    return None


def _exists(view: View) -> bool:
    """Return whether a control plane exists that could be asked.

    Before that, a machine is evaluated from its time to start alone.
    """
    return initialized(view) or any(machine.joined for machine in view.machines)


def _judge(checks: Object, view: View, machine: MachineView, series: _Series) -> Finding:
    if machine.deleting:
        return Finding(machine.name, DELETING, "Deleting", "it is being deleted")
    if kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE):
        text = f"Health check failed: marked for remediation via {kinds.ANNOTATION_REMEDIATE_MACHINE} annotation"
        return Finding(machine.name, UNHEALTHY, ANNOTATED, text)
    found = list(_node(checks, view, machine))
    if not any(each.reason == NOT_RESTORED for each in found):
        found += _machine_conditions(checks, view, machine, series)
    if not found:
        return Finding(machine.name, HEALTHY, HEALTH_CHECK_SUCCEEDED)
    return min(found, key=lambda each: (ORDER.index(each.state), each.until or 0))


def _node(checks: Object, view: View, machine: MachineView) -> Iterator[Finding]:
    name = machine.name
    if machine.impostor:
        text = f"Node {clip(machine.impostor)} is another host under this machine's name"
        yield Finding(name, UNKNOWN, "NodeIdentityDiffers", text)
    elif machine.node_unlabelled:
        text = f"Node {clip(machine.node_name)} exists, but without the control plane's label"
        yield Finding(name, UNKNOWN, "NodeLabelMissing", text)
    elif machine.node_labelled:
        text = f"Node {clip(machine.node_name)} exists, but with the control plane's label, which a worker's never has"
        yield Finding(name, UNKNOWN, "NodeLabelUnexpected", text)
    elif (
        machine.node is None
        and (machine.node_lost or machine.joined)
        and restore_note.covers(view.control_plane, machine.created)
    ):
        # Its kubelet works and registers the Node only when it starts; the Machine's conditions follow from the Node.
        text = (
            f"Node {clip(machine.node_name)} does not exist, and etcd was restored after this machine was made, maybe from before it joined. Restart kubelet "
            f"on the machine: it registers its Node again. Where the machine is gone for good, have it replaced {advice.replace(name)}"
        )
        yield Finding(name, UNKNOWN, NOT_RESTORED, text)
    elif machine.node_lost:
        text = f"Health check failed: Node {clip(machine.node_name)} has been deleted"
        yield Finding(name, UNHEALTHY, NODE_DELETED, text)
    elif machine.node is None:
        yield from _startup(checks, view, machine)
    else:
        yield from _node_conditions(checks, view, machine)


def _startup(checks: Object, view: View, machine: MachineView) -> Iterator[Finding]:
    limit = checks.get("nodeStartupTimeoutSeconds")
    if not limit:
        yield Finding(machine.name, UNKNOWN, "WaitingForNode", "it has no Node yet, and there is no limit to that")
        return
    stored = (
        (machine.machine, INFRASTRUCTURE_READY),
        (view.cluster, INFRASTRUCTURE_READY),
        (view.cluster, "ControlPlaneInitialized"),
    )
    since = [machine.created]
    for obj, kind in stored:
        condition = condition_of(obj, kind)
        began = parse_time(condition.get("lastTransitionTime"))
        if condition.get("status") == terms.TRUE and began is not None:
            since.append(began)
    text = f"Health check failed: Node failed to report startup in {format_duration(limit)}"
    waiting = f"it has no Node yet; at most {format_duration(limit)} are given"
    yield _lasted(view, machine, max(since) + limit, STARTUP, text, waiting)


def _node_conditions(checks: Object, view: View, machine: MachineView) -> Iterator[Finding]:
    wanted = checks.get("unhealthyNodeConditions") or []
    node = machine.node or {}
    listed = node.get("conditions")
    if listed is None and wanted:
        yield Finding(machine.name, UNKNOWN, NOT_JUDGED, "the conditions of its Node are not known")
        return
    for check_for in wanted:
        current = condition_in(listed, str(check_for.get("type")))
        if current.get("status") != check_for.get("status"):
            continue
        what = f"Condition {clip(check_for['type'], 80)} on Node is reporting status {check_for['status']}"
        began = parse_time(current.get("lastTransitionTime"))
        yield _since(view, machine, began, check_for["timeoutSeconds"], UNHEALTHY_NODE, what)


def _machine_conditions(checks: Object, view: View, machine: MachineView, series: _Series) -> Iterator[Finding]:
    for check_for in checks.get("unhealthyMachineConditions") or []:
        current = condition_of(machine.machine, check_for["type"])
        if current.get("status") != check_for["status"]:
            continue
        timeout = check_for["timeoutSeconds"]
        what = f"Condition {clip(check_for['type'], 80)} on Machine is reporting status {check_for['status']}"
        began = parse_time(current.get("lastTransitionTime"))
        if began is not None and timeout > 0:
            # An unobserved machine may have been healthy in between.
            began, what = max(began, series.begin(timeout)), what + series.remark(timeout)
        yield _since(view, machine, began, timeout, UNHEALTHY_MACHINE, what)


def _since(view: View, machine: MachineView, began: Optional[int], timeout: int, reason: str, what: str) -> Finding:
    if began is None:
        return Finding(machine.name, UNKNOWN, NOT_JUDGED, f"{what}, and does not say since when")
    text = f"Health check failed: {what} for more than {format_duration(timeout)}"
    return _lasted(view, machine, began + timeout, reason, text, f"{what}; {format_duration(timeout)} are given")


def _lasted(view: View, machine: MachineView, until: int, reason: str, unhealthy: str, waiting: str) -> Finding:
    if view.now >= until:
        return Finding(machine.name, UNHEALTHY, reason, unhealthy)
    return Finding(machine.name, PENDING, reason, f"{waiting}: until {format_time(until)}", until)


class _Series:
    """Series of evaluations without a gap longer than a timeout.

    It is kept in the MachineHealthCheck's status.
    ``status.observations``: ``at``, the last evaluation, and ``since``, by timeout in seconds, when the series started.
    """

    def __init__(self, document: Object, view: View) -> None:
        kept = (document.get("status") or {}).get("observations")
        kept = kept if isinstance(kept, dict) else {}
        self._now = view.now
        self._at = parse_time(kept.get("at"))
        since = kept.get("since")
        self._since: Object = since if isinstance(since, dict) else {}
        listed = ((document.get("spec") or {}).get("checks") or {}).get("unhealthyMachineConditions") or []
        self._timeouts = sorted({each["timeoutSeconds"] for each in listed if each["timeoutSeconds"] > 0})

    def begin(self, timeout: int) -> int:
        """Return when the series for this timeout started."""
        if self._at is None or not 0 <= self._now - self._at <= timeout:
            return self._now
        began = parse_time(self._since.get(str(timeout)))
        return self._at if began is None else min(began, self._at)

    def remark(self, timeout: int) -> str:
        """Return the remark where counting starts again, else ""."""
        if self._at is None or self._now - self._at <= timeout:
            return ""
        return f" (it was last observed {format_duration(self._now - self._at)} ago, so counting starts again: check more often than that)"

    def document(self) -> Object:
        """Return the series as the status keeps them."""
        if not self._timeouts:
            return {}
        since = {str(timeout): format_time(self.begin(timeout)) for timeout in self._timeouts}
        return {"at": format_time(self._now), "since": since}


def _limits(result: Result, spec: Object, document: Object, series: _Series) -> None:
    """Set whether the number of unhealthy machines allows remediation.

    Upstream calls this short-circuiting.
    """
    total = len(result.findings)
    healthy = sum(1 for each in result.findings.values() if each.state == HEALTHY)
    unhealthy = total - healthy
    result.allowed, remaining, limit = _allowed(spec, total, unhealthy)
    if not result.allowed:
        result.message = (
            f"Remediation is not allowed, the number of not started or unhealthy machines {limit[0]} {limit[1]} "
            f"(total: {total}, unhealthy: {unhealthy}, {limit[1]}: {limit[2]})"
        )
    result.status = {
        "expectedMachines": total,
        "currentHealthy": healthy,
        "remediationsAllowed": remaining,
        "targets": sorted(result.findings),
        "observedGeneration": document["metadata"].get("generation", 1),
        "observations": series.document(),
    }
    reason = "RemediationAllowed" if result.allowed else "TooManyUnhealthy"
    status = terms.TRUE if result.allowed else terms.FALSE
    result.conditions = [
        {"type": "RemediationAllowed", "status": status, "reason": reason, "message": result.message},
        {"type": PAUSED, "status": terms.FALSE, "reason": "NotPaused", "message": ""},
    ]


def _allowed(spec: Object, total: int, unhealthy: int) -> tuple[bool, int, tuple[str, str, str]]:
    """Return whether remediation is allowed, and the limit.

    After that come the number of further remediations and the limit in words.
    """
    trigger = (spec.get("remediation") or {}).get("triggerIf") or {}
    span = machine_health_check.unhealthy_range(trigger.get("unhealthyInRange"))
    if span is not None:
        allowed = span[0] <= unhealthy <= span[1]
        said = ("is not in", "unhealthyInRange", str(trigger["unhealthyInRange"]))
        return allowed, span[1] - unhealthy if allowed else 0, said
    given = trigger.get("unhealthyLessThanOrEqualTo")
    most = machine_health_check.unhealthy_limit(given, total)
    if given is not None and most is not None:
        shown = str(given) if isinstance(given, int) else f"{given} = {most}"
        return unhealthy <= most, max(0, most - unhealthy), ("exceeds", "unhealthyLessThanOrEqualTo", shown)
    return True, total - unhealthy, ("", "", "")


def worst(results: Sequence[Result], machine: str) -> Optional[Finding]:
    """Return the worst finding of several health checks about a machine.

    Unhealthy wins; None where none covers it.
    """
    found = [result.findings[machine] for result in results if machine in result.findings]
    return min(found, key=lambda each: ORDER.index(each.state)) if found else None
