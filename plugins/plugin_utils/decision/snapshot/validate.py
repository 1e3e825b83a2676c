# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of a snapshot against its schema and for contradictions.

The pages: docs/reference/snapshot.md, snapshot.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import clip, parse_time
from .. import terms
from .json_shape import Path, shown, written
from .shape import SNAPSHOT

Object = dict[str, Any]
MOST_PROBLEMS = 50


@dataclass(frozen=True)
class Problem:
    """Problem with a snapshot: the offending field's path, and a message."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def check_snapshot(document: Any) -> list[Problem]:
    """Return the problems with a snapshot, [] for a valid one.

    At most the first 50.

    Violations of the schema come first. Only a document without any is checked for contradictions: a machine, Node or
    member twice, a member of two machines, a leader that is no member, a clock that goes back, a snapshot older than
    the journal's last action. Never raises, whatever the document is; texts in it are data of any length.
    """
    problems: list[Problem] = []

    def say(path: Path, message: str) -> None:
        if len(problems) < MOST_PROBLEMS:
            problems.append(Problem(written(path), message))

    version = document.get("snapshotVersion") if isinstance(document, dict) else None
    if version is not None and version != terms.SNAPSHOT_VERSION:
        # The fields of another version are unknown to this code: it reports nothing else of such a document.
        return [Problem("snapshotVersion", f"is {shown(version)}; this code reads {terms.SNAPSHOT_VERSION!r} only")]
    if document is None:
        return [Problem("$", "a snapshot is a mapping, not nothing")]
    SNAPSHOT.check(document, None, say)
    return problems or [Problem(path, message) for path, message in _contradictions(document)][:MOST_PROBLEMS]


Found = Iterator[tuple[str, str]]


def _contradictions(document: Object) -> Found:
    yield from _times(document)
    yield from _machines(document)
    yield from _gates(document)
    workload = document["workload"]
    machines = {entry["machine"]["metadata"]["name"] for entry in document["machines"]}
    yield from _workload(workload, machines)
    yield from _witnesses(workload, machines)


def _times(document: Object) -> Found:
    now = parse_time(document["now"]) or 0
    for path, moment in _moments(document):
        then = parse_time(moment)
        if then is not None and then - now > settings.CLOCK_SKEW_SECONDS:
            yield "now", f"{document['now']} is {then - now} s before {path} ({moment}): the clock went back"
    action, observed = document.get("lastAction"), document.get("observedAt")
    if action and observed and (parse_time(action["at"]) or 0) > (parse_time(observed) or 0):
        yield (
            "observedAt",
            f"{observed} is older than the journal's last action ({clip(action['action'], 40)} at {action['at']}): "
            "what is here may be gone by now; observe again",
        )
    window = document.get("maintenance") or {}
    opens, closes = parse_time(window.get("opensAt")), parse_time(window.get("closesAt"))
    if opens is not None and closes is not None and closes <= opens:
        yield "maintenance.closesAt", f"{window['closesAt']} is not after opensAt ({window['opensAt']})"


def _moments(document: Object) -> Found:
    """Yield the times that can't be later than the snapshot, with paths."""
    objects: list[tuple[str, Optional[Object]]] = [
        ("cluster", document["cluster"]),
        ("controlPlane", document.get("controlPlane")),
        ("infrastructureCluster", document.get("infrastructureCluster")),
    ]
    for index, entry in enumerate(document["machines"]):
        path = f"machines[{index}]"
        yield f"{path}.machine.metadata.creationTimestamp", entry["machine"]["metadata"].get("creationTimestamp") or ""
        objects += [(f"{path}.{key}", entry.get(key)) for key in ("machine", "infrastructureMachine", "kubeadmConfig")]
    for path, obj in objects:
        for number, condition in enumerate(((obj or {}).get("status") or {}).get("conditions") or ()):
            yield (
                f"{path}.status.conditions[{number}].lastTransitionTime",
                condition.get("lastTransitionTime") or "",
            )


def _machines(document: Object) -> Found:
    seen: dict[tuple[str, str], str] = {}
    for index, entry in enumerate(document["machines"]):
        path, machine = f"machines[{index}]", entry["machine"]
        status = machine.get("status") or {}
        identities = (
            ("metadata.name", machine["metadata"]["name"]),
            ("spec.providerID", machine["spec"].get("providerID")),
            ("status.machineID", status.get("machineID")),
            ("status.nodeRef.name", (status.get("nodeRef") or {}).get("name")),
        )
        for field, value in identities:
            first = seen.setdefault((field, value), path) if value else path
            if first != path:
                what = "it is the same machine twice"
                if "nodeRef" in field:
                    what = "a Node and its etcd member belong to one machine"
                yield f"{path}.machine.{field}", f"{shown(value)} is also that of {first}; {what}"


def _gates(document: Object) -> Found:
    yield from _twice(document.get("readinessGates"), "readinessGates", "name", "gates")


def _workload(workload: Object, machines: set[str]) -> Found:
    via = workload.get("via")
    if via is not None and via not in machines:
        yield "workload.via", f"{shown(via)} is not one of the machines"
    if workload.get("initialized") is True and workload["reachable"] is False:
        yield "workload.initialized", "is true, though no API answered that could have said so"
    yield from _twice(workload.get("nodes"), "workload.nodes", "name", "Nodes")
    workers, versions = workload.get("workerNodes"), workload.get("workerVersions") or {}
    if workers is not None and sum(versions.values()) > len(workers):
        yield "workload.workerVersions", f"counts {sum(versions.values())} worker Nodes, and there are {len(workers)}"
    if workload.get("etcd"):
        yield from _etcd(workload["etcd"], "workload.etcd")


def _witnesses(workload: Object, machines: set[str]) -> Found:
    witnesses = workload.get("witnesses")
    yield from _twice(witnesses, "workload.witnesses", "machine", "witnesses")
    for index, witness in enumerate(witnesses or ()):
        path, name = f"workload.witnesses[{index}]", witness["machine"]
        if name not in machines:
            yield f"{path}.machine", f"{shown(name)} is not one of the machines"
        elif name == workload.get("via"):
            yield f"{path}.machine", f"{shown(name)} is the machine that gave the first view: it is no second witness"
        etcd = witness.get("etcd")
        if witness["reachable"] and not (etcd and etcd["reachable"]):
            yield f"{path}.etcd", "is missing or not reachable, though the witness is said to have given a view"
        if etcd:
            yield from _etcd(etcd, f"{path}.etcd")


def _etcd(etcd: Object, path: str) -> Found:
    members = etcd.get("members")
    yield from _twice(members, f"{path}.members", "id", "members")
    yield from _twice(members, f"{path}.members", "name", "members")
    identities = {member["id"] for member in members or ()}
    leader = etcd.get("leader")
    if leader is not None and leader not in identities:
        yield f"{path}.leader", f"{leader!r} is not a member; members are {', '.join(sorted(identities)) or 'none'}"
    for identity, status in (etcd.get("statuses") or {}).items():
        if identity not in identities:
            yield f"{path}.statuses[{identity}]", "is the status of something that is not a member"
            continue
        looks, failed = status.get("looks"), status.get("failedLooks") or 0
        if looks is not None and failed > looks:
            where = f"{path}.statuses[{identity}].failedLooks"
            yield where, f"{shown(failed)} of {shown(looks)} observations can't have failed"


def _twice(entries: Optional[list[Object]], path: str, key: str, what: str) -> Found:
    """Yield the entries with the same, non-empty text under a key."""
    seen: set[str] = set()
    for index, entry in enumerate(entries or ()):
        value = entry.get(key)
        if value and value in seen:
            yield f"{path}[{index}].{key}", f"there are two {what} {shown(value)}"
        elif value:
            seen.add(value)
