# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of a cluster as decisions read it, and its hash.

A predicted and an observed state have the same form (docs/reference/plan.md).

Two kinds of facts are left out:
- those that a prediction can't know and no decision depends on: IDs, addresses, times, facts of hosts, the leader, a
  Node's Ready condition
- those that only hold a step back: windows, readiness gates, consent; the decision itself reports them each time
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Optional

from ....module_utils.common import kubernetes_facts, settings
from ....module_utils.common.quorum import MemberState
from ....module_utils.common.values import clip, controller_of, parse_time
from ...objects import kinds
from ...objects.conditions import HEALTH_MARKS
from .. import ownership, terms
from ..checks.trouble import other_etcd
from ..conditions.cluster import endpoint_is_unused
from ..conditions.control_plane import initialized, strangers
from ..conditions.machine import health_conditions
from ..decide import decide_on
from ..outcome import AUTHORITIES
from ..remediation.retry import read_record
from ..rollout import resource_sets
from ..rollout.addons import outdated_addons
from ..rollout.uptodate import Desired, outdated
from ..workers import state as worker_state
from .typed_snapshot import MachineView, View, annotations_of, condition_of, read_snapshot

Object = dict[str, Any]
_MARKING_ANNOTATIONS = (
    kinds.ANNOTATION_DELETE_MACHINE,
    kinds.ANNOTATION_REMEDIATE_MACHINE,
    kinds.ANNOTATION_SKIP_REMEDIATION,
)
_MISSING = object()


def state_of(snapshot: Object, decision: Optional[Object] = None) -> Object:
    """Return the state of a snapshot, a small JSON document.

    The fields that a decision writes back to the stored objects count as written, so that the state is the same before
    and after that.
    `decision` is decide(snapshot), computed here where it is None.
    """
    view = read_snapshot(snapshot)
    return state_of_view(view, decision if decision is not None else decide_on(view))


def state_of_view(view: View, decision: Object) -> Object:
    """Return the state of a snapshot that has been read already.

    As state_of().
    """
    snapshot, desired = view.raw, Desired(view)
    return {
        "paused": bool(view.paused),
        "deleting": view.deleting,
        "initialized": initialized(view),
        "reachable": view.reachable,
        "clocksApart": _clocks_apart(view),
        "infrastructure": {
            "cluster": "missing"
            if snapshot.get("infrastructureCluster") is None
            else ("ready" if view.infrastructure_ready else "notReady"),
            "machineTemplate": "missing" if snapshot.get("machineTemplate") is None else "present",
            "failureDomains": view.failure_domains,
        },
        "endpoint": {"set": bool(view.endpoint), "answers": _endpoint(view)},
        "certificates": _certificates(view),
        "machines": {machine.name: _machine(view, desired, machine, decision) for machine in view.known},
        "unmanagedNodes": _unmanaged_nodes(view),
        "etcd": _etcd(view),
        "workers": _workers(view),
        "addons": {each.name: "leftAlone" if each.problem else "outdated" for each in outdated_addons(view)},
        "records": _records(view, decision),
        # Without any, plans of earlier releases still hold.
        **({"resourceSets": sets} if (sets := resource_sets.states(view)) else {}),
        **({"machineDeployments": found} if (found := worker_state.states(view)) else {}),
    }


def fingerprint(state: Object) -> str:
    """Return the hash of a state, or of any JSON document.

    "sha256:" and 64 hexadecimal digits; the order of keys doesn't matter.
    """
    text = json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def difference(expected: Object, observed: Object) -> list[Object]:
    """Return the differences between two states.

    [{path, expected, observed}] with texts for people, in the order of the paths.
    """
    return [
        {"path": path, "expected": _word(before), "observed": _word(after)}
        for path, before, after in _differences(expected, observed, "")
    ]


def distance(expected: Object, observed: Object) -> int:
    """Return the number of values in which two states differ.

    A machine that only one of them has counts with all of its own.
    """
    return sum(max(_size(before), _size(after)) for _path, before, after in _differences(expected, observed, ""))


def _size(value: Any) -> int:
    return sum(map(_size, value.values())) if isinstance(value, dict) and value else 1


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            one, other = before.get(key, _MISSING), after.get(key, _MISSING)
            if one != other:
                yield from _differences(one, other, f"{path}.{key}" if path else str(key))
    else:
        yield path, before, after


def _word(value: Any) -> str:
    if value is _MISSING:
        return "not there"
    if isinstance(value, dict):
        return "there" if value else "none"
    if isinstance(value, list):
        return clip(", ".join(map(_word, value))) or "none"
    if value is None:
        return "not known"
    return clip(value) if isinstance(value, str) and value else json.dumps(value)


def _clocks_apart(view: View) -> bool:
    skew = view.workload.get("clockSkewSeconds")
    return isinstance(skew, (int, float)) and not isinstance(skew, bool) and abs(skew) > settings.CLOCK_SKEW_SECONDS


def _endpoint(view: View) -> Optional[bool]:
    answers = view.endpoint_answers
    if answers is None and not view.reachable and endpoint_is_unused(view):
        # It is said that nothing answers there; the probe's result decides nothing then.
        return False
    return answers if isinstance(answers, bool) else None


def _certificates(view: View) -> Object:
    stored = view.raw.get("certificates") or {}
    found: Object = {}
    for purpose in AUTHORITIES:
        one = stored.get(purpose) or {}
        end = parse_time(one.get("notAfter"))
        if not one.get("present"):
            found[purpose] = "missing"
        elif end is not None and end <= view.now:
            found[purpose] = "expired"
        else:
            found[purpose] = "present" if one.get("hasKey") else "withoutKey"
    found["kubeconfig"] = "present" if (stored.get("kubeconfig") or {}).get("present") else "missing"
    return found


def _machine(view: View, desired: Desired, machine: MachineView, decision: Object) -> Object:
    conditions = ((decision.get("conditions") or {}).get("machines") or {}).get(machine.name) or ()
    statuses = {each["type"]: each["status"] for each in conditions}
    provided = "ready" if machine.provisioned else "notReady"
    record = read_record(annotations_of(machine.machine).get(kinds.ANNOTATION_REMEDIATION_FOR))
    return {
        "version": machine.version,
        "failureDomain": machine.failure_domain,
        "deleting": machine.deleting,
        "bootstrap": machine.bootstrap,
        "infrastructure": "gone" if machine.infrastructure_gone else provided,
        "node": _node(view, machine),
        "notHealthy": {
            kind: statuses.get(kind, terms.UNKNOWN)
            for kind in health_conditions(view)
            if statuses.get(kind) != terms.TRUE
        },
        "member": _member(view, machine.member),
        "outdated": sorted({each.reason for each in outdated(view, desired, machine)}),
        "marks": _marks(machine, decision),
        "controller": _controller(view, machine),
        "config": "missing" if machine.config is None else "present",
        "replaces": {"machine": record.machine, "retryCount": record.retry_count} if record is not None else {},
    }


def _node(view: View, machine: MachineView) -> str:
    if machine.impostor:
        return "otherHost"
    if machine.node is not None:
        return "present"
    if not view.reachable:
        return "unknown"
    return "lost" if machine.node_lost else "none"


def _member(view: View, member: Optional[MemberState]) -> Object:
    if not view.managed_etcd:
        return {}
    if member is None:
        return {"state": "none" if view.etcd_known else "unknown", "healthy": False}
    state = "unnamed" if not member.name else ("learner" if member.learner else "voter")
    return {"state": state, "healthy": member.healthy}


def _marks(machine: MachineView, decision: Object) -> list[str]:
    removed = ((decision.get("removedConditions") or {}).get("machines") or {}).get(machine.name) or ()
    marks = [
        kind
        for kind in HEALTH_MARKS
        if kind not in removed and condition_of(machine.machine, kind).get("status") == terms.FALSE
    ]
    return marks + [key for key in _MARKING_ANNOTATIONS if key in annotations_of(machine.machine)]


def _controller(view: View, machine: MachineView) -> str:
    owner = controller_of(machine.machine)
    if owner is None:
        return "none"
    name = ownership.control_plane_name(view.cluster, view.control_plane)
    return "this" if ownership.is_own(owner, name) else "other"


def _unmanaged_nodes(view: View) -> list[str]:
    known = {machine.node["name"] for machine in view.known if machine.node is not None}
    roles = (kubernetes_facts.LABEL_CONTROL_PLANE, kubernetes_facts.LABEL_MASTER)
    return sorted(
        clip(node["name"], 80)
        for node in view.workload.get("nodes") or ()
        if node["name"] not in known and any(role in (node.get("labels") or {}) for role in roles)
    )


def _etcd(view: View) -> Object:
    if not view.managed_etcd:
        return {"external": True, "answers": view.etcd.get("reachable") is not False}
    owners = {machine.member.id: machine.name for machine in view.known if machine.member is not None}
    agrees = view.etcd.get("memberListAgrees")
    alarms = {
        f"{clip(str(alarm.get('alarm')), 40)} on {owners.get(str(alarm.get('memberID')), 'a member of no machine')}"
        for alarm in view.etcd.get("alarms") or ()
    }
    return {
        "known": view.etcd_known,
        "listsAgree": agrees if view.etcd_known and isinstance(agrees, bool) else None,
        "alarms": sorted(alarms),
        "strayMembers": sorted(_stray(member) for member in strangers(view)),
        "otherCluster": bool(other_etcd(view)),
    }


def _stray(member: MemberState) -> str:
    kind = "learner" if member.learner else "voter"
    return f"{clip(member.name, 80) or 'unnamed'} ({kind}, {'healthy' if member.healthy else 'not healthy'})"


def _workers(view: View) -> Object:
    if not view.reachable:
        return {"exist": None, "versions": []}
    listed = set(view.workload.get("workerNodes") or ())
    versions = Counter(view.workload.get("workerVersions") or {})
    for machine in view.known:
        # A Node gets its label last of all: that of a joining machine is listed among the workers.
        if machine.node_name in listed and machine.impostor != machine.node_name:
            listed.remove(machine.node_name)
            versions[machine.version] -= 1
    for name, version in worker_state.managed_nodes(view).items():
        # What becomes of a deployment's is in its own state.
        listed.discard(name)
        versions[version] -= 1
    found = sorted(clip(version, 40) for version, count in versions.items() if count > 0)
    return {"exist": bool(listed or found), "versions": found}


def _records(view: View, decision: Object) -> Object:
    status = (decision.get("status") or {}).get("controlPlane") or {}
    rollout = status.get("rollout", (view.control_plane.get("status") or {}).get("rollout")) or {}
    written = (decision.get("annotations") or {}).get("controlPlane") or {}
    key = kinds.ANNOTATION_REMEDIATION_IN_PROGRESS
    record = read_record(written[key] if key in written else annotations_of(view.control_plane).get(key))
    return {
        "rollout": {"replicas": rollout["replicas"]} if rollout.get("replicas") is not None else {},
        "remediation": {"machine": record.machine, "retryCount": record.retry_count} if record is not None else {},
    }
