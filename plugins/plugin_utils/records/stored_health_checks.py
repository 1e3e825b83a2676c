# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stored MachineHealthChecks of a cluster: applied, evaluated, and their marks written."""

from __future__ import annotations

import copy
import typing as t

from ...module_utils.common.values import condition_of
from ..decision.decide import decide
from ..decision.remediation.health_marks import Evaluation, Marks, evaluate, is_marked, outlived
from ..decision.remediation.unhealthy_machines import watched
from ..decision.snapshot.typed_snapshot import read_snapshot
from ..objects import kinds
from ..objects.conditions import HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, remove_condition, set_condition
from ..objects.manifest.reader import ClusterManifest
from ..store.base import Store
from .cluster_objects import CLUSTER_LABEL, MACHINE, ClusterObjects, Object, delete_finally
from .status.status_writer import write_status

HEALTH_CHECK = (kinds.GROUP_CLUSTER, kinds.MACHINE_HEALTH_CHECK)


def of_cluster(store: Store, namespace: str, cluster: str) -> list[Object]:
    """Return the MachineHealthChecks of a cluster, sorted by name."""
    found = store.list(HEALTH_CHECK, namespace, {CLUSTER_LABEL: cluster})
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


def delete_others(store: Store, manifest: ClusterManifest) -> list[str]:
    """Delete MachineHealthChecks that left the manifest; return the changes in words.

    This causes no rollout and no removal.
    """
    metadata = manifest.cluster["metadata"]
    namespace = str(metadata.get("namespace") or "default")
    wanted = {str(each["metadata"]["name"]) for each in manifest.health_checks}
    changes = []
    for each in of_cluster(store, namespace, str(metadata["name"])):
        name = str(each["metadata"]["name"])
        if name not in wanted:
            delete_finally(store, HEALTH_CHECK, namespace, name)
            changes.append(f"delete {kinds.MACHINE_HEALTH_CHECK} {namespace}/{name}: it is no longer in the manifest")
    return changes


def annotate(objects: ClusterObjects, names: t.Iterable[str]) -> list[str]:
    """Set the remediation annotation on Machines; return those newly annotated.

    The Machines must exist. A restore's annotation becomes the user's, which no restore removes.
    """
    new = []
    for name in names:

        def mark(stored: Object) -> None:
            stored["metadata"].setdefault("annotations", {})[kinds.ANNOTATION_REMEDIATE_MACHINE] = ""

        before = objects.machine(name) or {"metadata": {}}
        if not kinds.is_flagged(before, kinds.ANNOTATION_REMEDIATE_MACHINE) or kinds.is_marked_by_restore(before):
            new.append(name)
            objects.store.modify(MACHINE, objects.namespace, name, mark)
    _read_again(objects, new)
    return new


def _read_again(objects: ClusterObjects, names: t.Container[str]) -> None:
    """Read machines and workers again that were changed."""

    def read(machine: Object) -> Object:
        name = str(machine["metadata"]["name"])
        return (objects.store.get(MACHINE, objects.namespace, name) or machine) if name in names else machine

    objects.machines = [read(each) for each in objects.machines]
    objects.workers = [read(each) for each in objects.workers]


def check_health(objects: ClusterObjects, snapshot: Object) -> Evaluation:
    """Evaluate the cluster's MachineHealthChecks and write the results to the store.

    Written are the conditions and the status that were observed, as every pass writes them, the marks of Machines, and the status of
    the MachineHealthChecks; nothing else. Returns the evaluation.
    """
    now = str(snapshot["now"])
    documents, observed = _observed(objects, snapshot)
    evaluation = evaluate(documents, observed)
    marked = _with_marks(observed, evaluation.marks)
    write_status(objects, _without_intentions(decide(marked)), now, begins=False)
    _write_marks(objects, evaluation.marks, now)
    for result in evaluation.results:

        def record(stored: Object, result: t.Any = result) -> None:
            stored.setdefault("status", {}).update(result.status)
            for each in result.conditions:
                set_condition(stored, each["type"], each["status"], each["reason"], each["message"], now)

        objects.store.modify(HEALTH_CHECK, objects.namespace, result.name, record)
    _read_again(objects, {str(each["metadata"]["name"]) for each in [*objects.machines, *objects.workers]})
    return evaluation


def take_back(objects: ClusterObjects, snapshot: Object) -> tuple[Object, list[str]]:
    """Take back the marks that their machines have outlived.

    A mark may be old: a machine can become healthy while a run removes another one, and no health check takes its mark back meanwhile. Returns the snapshot
    without these marks, and the changes in words. Where no machine is marked, nothing is evaluated.
    """
    if not any(is_marked(each) for each in watched(read_snapshot(snapshot))):
        return snapshot, []
    found = outlived(*_observed(objects, snapshot))
    marks = {name: each for name, (each, _why) in found.items()}
    _write_marks(objects, marks, str(snapshot["now"]))
    _read_again(objects, marks)
    said = [f"take back the mark for remediation of machine {name}: {why}" for name, (_marks, why) in found.items()]
    return _with_marks(snapshot, marks), said


def _observed(objects: ClusterObjects, snapshot: Object) -> tuple[list[Object], Object]:
    """Return the health checks, and the snapshot with the observed conditions."""
    known = _without_intentions(decide(snapshot))["conditions"]
    observed = with_conditions(snapshot, {**known["machines"], **known.get("workers", {})})
    return of_cluster(objects.store, objects.namespace, objects.name), observed


def _with_marks(snapshot: Object, marks: t.Mapping[str, Marks]) -> Object:
    return with_conditions(
        snapshot,
        {name: each.set for name, each in marks.items()},
        {name: each.remove for name, each in marks.items()},
    )


def _write_marks(objects: ClusterObjects, marks: t.Mapping[str, Marks], now: str) -> None:
    for name, each in marks.items():

        def mark(stored: Object, changes: Marks = each) -> None:
            for wanted in changes.set:
                set_condition(stored, wanted["type"], wanted["status"], wanted["reason"], wanted["message"], now)
            for kind in changes.remove:
                remove_condition(stored, kind)

        _explain(objects, name, objects.store.modify(MACHINE, objects.namespace, name, mark))


def _explain(objects: ClusterObjects, name: str, marked: Object) -> None:
    """Record an Event when a Machine is newly marked for remediation.

    Cluster API's MachineHealthCheck does so too, once for each mark.
    """
    before, now = condition_of(objects.machine(name) or {}, OWNER_REMEDIATED), condition_of(marked, OWNER_REMEDIATED)
    if (now or {}).get("status") == "False" and (before or {}).get("status") != "False":
        said = condition_of(marked, HEALTH_CHECK_SUCCEEDED).get("message") or now.get("message") or ""
        objects.store.record(marked, "MachineMarkedUnhealthy", f"Machine {name} is to be remediated: {said}", True)


def with_conditions(
    snapshot: Object,
    conditions: t.Mapping[str, t.Sequence[Object]],
    removed: t.Optional[t.Mapping[str, t.Sequence[str]]] = None,
) -> Object:
    """Return a copy of the snapshot with conditions set on its Machines.

    Conditions and removals are by Machine name, also of workers; the snapshot itself is not changed.
    """

    def changed(entry: Object) -> Object:
        machine = copy.deepcopy(entry["machine"])
        name = machine["metadata"]["name"]
        for each in conditions.get(name) or ():
            set_condition(
                machine, each["type"], each["status"], each["reason"], each.get("message", ""), str(snapshot["now"])
            )
        for kind in (removed or {}).get(name) or ():
            remove_condition(machine, kind)
        return {**entry, "machine": machine}

    made = {**snapshot, "machines": [changed(entry) for entry in snapshot["machines"]]}
    if workers := snapshot.get("workers"):
        made["workers"] = {**workers, "machines": [changed(entry) for entry in workers["machines"]]}
    return made


def _without_intentions(decision: Object) -> Object:
    """Return the decision without its OwnerRemediated conditions.

    It is not carried out; the next reconcile decides on remediation itself.
    """
    conditions = dict(decision.get("conditions") or {})
    for kind in {"machines", "workers"} & conditions.keys():
        conditions[kind] = {
            name: [each for each in listed if each["type"] != OWNER_REMEDIATED]
            for name, listed in conditions[kind].items()
        }
    return {**decision, "conditions": conditions}
