# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of remediations, and limits for retries.

Source: docs/reference/cluster_api.md, "Remediation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.bounded_yaml import read_json
from ....module_utils.common.values import clip, parse_time
from ...objects import kinds
from ..creation.bootstrap import has_failed, marked
from ..outcome import max_surge
from ..snapshot.typed_snapshot import MachineView, View, annotations_of
from .repair import beyond_repair

Object = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """Record of one remediation.

    It has the removed machine, the time, and the number of earlier attempts for this problem.
    """

    machine: str
    timestamp: str
    retry_count: int

    def document(self) -> Object:
        """Return the record as the annotations hold it."""
        return {"machine": self.machine, "timestamp": self.timestamp, "retryCount": self.retry_count}


@dataclass(frozen=True)
class Refusal:
    """Refusal to remediate a machine now.

    It has the reason's stable name, the text, and the remedy.
    """

    reason: str
    message: str
    fix: str


def to_be_remediated(view: View, machine: MachineView) -> bool:
    """Return whether a machine is to be removed and replaced.

    It is marked for remediation, or it can't come back.
    """
    return marked(machine) or bool(beyond_repair(view, machine))


def read_record(text: Any) -> Optional[Record]:
    """Return the record in an annotation's text, None without a legible one."""
    try:
        found = read_json(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("machine"), str):
        return None
    count = found.get("retryCount")
    stamp = found.get("timestamp")
    return Record(
        found["machine"],
        stamp if isinstance(stamp, str) else "",
        count if isinstance(count, int) and not isinstance(count, bool) else 0,
    )


def in_progress(view: View) -> Optional[Record]:
    """Return the remediation whose replacement is not made yet.

    None where there is none, or where a newer machine exists already.
    """
    record = read_record(annotations_of(view.control_plane).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS))
    return None if record is None or _stale(view, record) else record


def replacement_owed(view: View) -> bool:
    """Return whether a remediated machine is gone and not yet replaced."""
    record = in_progress(view)
    return record is not None and all(machine.name != record.machine for machine in view.machines)


def is_stale(view: View) -> bool:
    """Return whether the control plane's remediation record is stale.

    It is to be removed then.
    """
    text = annotations_of(view.control_plane).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS)
    if text is None:
        return False
    record = read_record(text)
    return record is None or _over(view, record) or (_enough(view, record) and not _rollout_owes(view))


def _rollout_owes(view: View) -> bool:
    """Return whether a rollout makes the failed machine's replacement.

    The next machine is the one that a rollout makes first: it replaces the failed one, though there are enough without
    it.

    No step waits for it, but its record must keep the earlier attempts. Otherwise each run would make a machine that
    fails, for ever.
    """
    recorded = ((view.control_plane.get("status") or {}).get("rollout") or {}).get("replicas")
    if not isinstance(recorded, int) or len(view.live) >= recorded + max_surge(view):
        return False
    return all(machine.joined for machine in view.live)


def _stale(view: View, record: Record) -> bool:
    return _over(view, record) or _enough(view, record)


def _over(view: View, record: Record) -> bool:
    since = parse_time(record.timestamp)
    if since is None or any(machine.created > since for machine in view.machines):
        return True
    there = next((machine for machine in view.machines if machine.name == record.machine), None)
    if there is not None and not there.deleting:
        # The run ended before the Machine was deleted: it is resumed only while the machine is still unhealthy.
        failed = has_failed(view, there) or bool(there.infrastructure_gone)
        return not failed and not to_be_remediated(view, there)
    return False


def _enough(view: View, record: Record) -> bool:
    """Return whether there are enough machines without a replacement.

    Waiting for it would never end.
    """
    return all(machine.name != record.machine for machine in view.machines) and len(view.live) >= view.replicas


def last_remediation(view: View) -> Optional[Object]:
    """Return the value of status.lastRemediation.

    It is the remediation in progress, else the newest that a machine replaces.
    """
    record = in_progress(view)
    if record is None:
        texts = [annotations_of(machine.machine).get(kinds.ANNOTATION_REMEDIATION_FOR) for machine in view.machines]
        records = [found for found in map(read_record, texts) if found is not None]
        record = max(records, key=lambda each: (parse_time(each.timestamp) or 0, each.machine), default=None)
    if record is None:
        return None
    return {"machine": record.machine, "time": record.timestamp, "retryCount": record.retry_count}


def try_again(view: View, machine: MachineView) -> tuple[Record, Optional[Refusal]]:
    """Return the record of a remediation now, and its refusal.

    The refusal is None where the remediation is allowed.

    The machine's own annotation remediation-for names the machine that it replaces. Where that one failed less than
    minHealthyPeriodSeconds ago, it is the same problem, and retryPeriodSeconds and maxRetry limit the attempts, in this
    order.

    A control plane has room for one record. One that it still keeps, of another machine, is replaced, and its attempts count on.
    """
    kept = read_record(annotations_of(view.control_plane).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS))
    owed = kept.retry_count if kept is not None and not is_stale(view) else 0
    fresh = Record(machine.name, str(view.raw.get("now") or ""), owed)
    earlier = read_record(annotations_of(machine.machine).get(kinds.ANNOTATION_REMEDIATION_FOR))
    last = parse_time(earlier.timestamp) if earlier is not None else None
    if earlier is None or last is None:
        return fresh, None
    strategy = view.spec.get("remediation") or {}
    healthy_period = _seconds(strategy.get("minHealthyPeriodSeconds"), settings.MIN_HEALTHY_PERIOD)
    if last + healthy_period <= view.now:
        return fresh, None
    period = _seconds(strategy.get("retryPeriodSeconds"), 0)
    limit = strategy.get("maxRetry")
    what = f"machine {machine.name} replaces {clip(earlier.machine, 80)}, which failed at {earlier.timestamp}"
    if last + period > view.now:
        text = f"{what}: the next try is not before {period} s after that (remediation.retryPeriodSeconds)"
        fix = "Find out why the machines fail; the next run after that time tries again."
        return fresh, Refusal("RemediationDeferred", text, fix)
    if isinstance(limit, int) and earlier.retry_count >= limit:
        text = f"{what}: it has been tried {earlier.retry_count + 1} times, and remediation.maxRetry is {limit}"
        fix = "Find out why the machines fail, repair that, then raise spec.remediation.maxRetry of the KubeadmControlPlane."
        return fresh, Refusal("CannotBeRemediated", text, fix)
    return Record(machine.name, fresh.timestamp, max(owed, earlier.retry_count + 1)), None


def _seconds(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
