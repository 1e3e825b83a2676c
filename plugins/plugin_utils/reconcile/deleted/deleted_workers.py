# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore of workers' objects deleted from the store.

As of control plane machines (deleted_machines.py): a worker's Machine that is deleted is a request to remove the worker, which only a drain and
its provider do safely. A run that was killed before it made the Machine leaves the other objects, which are completed.
"""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import controller_of, now_rfc3339
from ...objects import kinds
from ...records.cluster_objects import (
    BOOTSTRAP_STARTED_ANNOTATION,
    BOOTSTRAP_TOKEN_ANNOTATION,
    CONTROL_PLANE_LABEL,
    MACHINE,
    MACHINE_SET,
    RESTORED_ANNOTATION,
    ClusterObjects,
    Object,
    followed_status,
)
from ...records.workers import stored_workers, worker_objects
from ...records.workers.machine_sets import ensure_set
from ...store.base import kind_ref_of
from ...store.interrupted_creation import complete_status
from .finalizers import with_finalizer

# On what is left of workers whose Machines the store lost all at once, until they are back.
_KEPT = kinds.ANNOTATION_PREFIX + "machine-lost-with-all"


def restore_workers(objects: ClusterObjects) -> list[str]:
    """Restore deleted objects of workers; return the changes in words.

    MachineSets that Machines belong to, Machines and infrastructure machines; `objects` is brought up to date. A Machine that is made again is marked
    for deletion, unless kubeadm was never started on its machine, or no other worker is left that would stay.
    """
    lost = _lost(objects)
    if not (lost or objects.workers):
        return []
    listed = {str(each["metadata"]["name"]): each for each in stored_workers.deployments(objects)}
    owned: dict[str, Object] = {}
    for deployment in listed.values():
        owned.update((str(each["metadata"]["name"]), each) for each in stored_workers.sets(objects, deployment))
    changes = _sets(objects, listed, owned, [*objects.workers, *lost.values()])
    ours = {name: owned[_set_of(each)] for name, each in lost.items() if _set_of(each) in owned}
    # All of several at once is a store that was lost, and no request.
    asked = len([name for name in ours if objects.may_have_started(name)]) < 2 or any(
        not each["metadata"].get("deletionTimestamp") for each in objects.workers
    )
    if not asked:
        # A run that is killed between two of them must not leave the rest as a request.
        _mark_kept(objects, lost.values(), ours)
    kept = {name for name in ours if _is_kept(lost[name])}
    changes += [_complete(objects, each, name, asked and name not in kept) for name, each in ours.items()]
    for index, machine in enumerate(objects.workers):
        if _set_of(machine) in owned:
            objects.workers[index] = _completed(objects, machine, changes)
    _unmark_kept(objects)
    for machine in objects.workers:
        if _set_of(machine) in owned and _was_made(machine):
            changes += _with_infrastructure(objects, owned[_set_of(machine)], machine)
    objects.workers.sort(key=lambda each: str(each["metadata"]["name"]))
    if not objects.going:
        for each in [*listed.values(), *owned.values()]:
            with_finalizer(objects, each, changes)
        objects.workers = [
            with_finalizer(objects, each, changes) if _set_of(each) in owned else each for each in objects.workers
        ]
    return changes


def _set_of(obj: Object) -> str:
    owner = controller_of(obj) or {}
    return str(owner.get("name")) if owner.get("kind") == kinds.MACHINE_SET else ""


def _lost(objects: ClusterObjects) -> dict[str, Object]:
    """Return an object of each worker that has no Machine, by name."""
    found: dict[str, Object] = {}
    for known in (objects.kubeadm_configs, objects.infrastructure_machines):
        for each in known.values():
            name, labels = str(each["metadata"]["name"]), each["metadata"].get("labels") or {}
            if CONTROL_PLANE_LABEL not in labels and _set_of(each) and not objects.has_machine(name):
                found[name] = each
    return dict(sorted(found.items()))


def _is_kept(obj: Object) -> bool:
    return kinds.is_marked(obj, _KEPT)


def _mark_kept(objects: ClusterObjects, lost: t.Iterable[Object], names: t.Container[str]) -> None:
    """Note on what is left of lost workers that their Machines stay."""
    for obj in lost:
        if obj["metadata"]["name"] in names and not _is_kept(obj):
            _kept(obj)
            objects.store.modify(kind_ref_of(obj), objects.namespace, str(obj["metadata"]["name"]), _kept)


def _kept(stored: Object) -> None:
    stored["metadata"]["annotations"] = {**(stored["metadata"].get("annotations") or {}), _KEPT: "true"}


def _unmark_kept(objects: ClusterObjects) -> None:
    for obj in (*objects.kubeadm_configs.values(), *objects.infrastructure_machines.values()):
        if _is_kept(obj) and objects.has_machine(str(obj["metadata"]["name"])):
            _not_kept(obj)
            objects.store.modify(kind_ref_of(obj), objects.namespace, str(obj["metadata"]["name"]), _not_kept)


def _not_kept(stored: Object) -> None:
    (stored["metadata"].get("annotations") or {}).pop(_KEPT, None)


def _sets(
    objects: ClusterObjects, listed: t.Mapping[str, Object], owned: dict[str, Object], members: t.Sequence[Object]
) -> list[str]:
    """Restore MachineSets from their deployment and their machines' version."""
    changes = []
    for each in members:
        name, labels = _set_of(each), each["metadata"].get("labels") or {}
        deployment = listed.get(str(labels.get(kinds.LABEL_DEPLOYMENT_NAME)))
        if name in owned or deployment is None or objects.store.get(MACHINE_SET, objects.namespace, name) is not None:
            continue
        template = deployment["spec"]["template"]
        version = str((each.get("spec") or {}).get("version") or template["spec"]["version"])
        former = {**template, "spec": {**template["spec"], "version": version}}
        owned[name] = ensure_set(objects, {**deployment, "spec": {**deployment["spec"], "template": former}}, name)
        changes.append(f"make MachineSet {objects.namespace}/{name} again, which was deleted from the store")
    return changes


def _complete(objects: ClusterObjects, owned: Object, name: str, asked: bool) -> str:
    known = objects.infrastructure_machines.get(name)
    started = objects.may_have_started(name)
    noted = ((known or {}).get("metadata") or {}).get("annotations") or {}
    entry = {
        "deployment": str((owned["metadata"].get("labels") or {}).get(kinds.LABEL_DEPLOYMENT_NAME)),
        "machineSet": str(owned["metadata"]["name"]),
        "machine": name,
        "failureDomain": noted.get(kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN) or None,
    }
    if not started:
        worker_objects.create_worker(objects, entry)
        return f"make Machine {objects.namespace}/{name}, which an earlier run had begun"

    def restored(made: Object) -> None:
        if asked:
            made["metadata"]["annotations"][RESTORED_ANNOTATION] = "true"
        made["status"] = _status(objects, name)

    worker_objects.create_worker(objects, entry, restored)
    why = (
        "to remove it safely" if asked else "and stays: the store had lost all workers at once, which asks for nothing"
    )
    return f"make Machine {objects.namespace}/{name} again, which was deleted from the store, {why}"


def _completed(objects: ClusterObjects, machine: Object, changes: list[str]) -> Object:
    """Complete a worker's Machine that was made again, and mark it.

    Marked for deletion, unless it stays. Also after a run that was killed before it came to this, or before it wrote the status.
    """
    name, metadata = str(machine["metadata"]["name"]), machine["metadata"]
    left = (objects.kubeadm_configs.get(name), objects.infrastructure_machines.get(name))
    kept = any(each is not None and _is_kept(each) for each in left) and objects.may_have_started(name)
    asked = kinds.is_marked(machine, RESTORED_ANNOTATION)
    if (asked or kept) and "bootstrap" not in (machine.get("status") or {}):
        desired = {"status": _status(objects, name)}
        machine = complete_status(objects.store, machine, desired) or machine
    if asked and not metadata.get("deletionTimestamp"):
        machine = objects.store.delete(MACHINE, objects.namespace, name) or machine
        changes.append(f"mark Machine {objects.namespace}/{name} for deletion")
    return machine


def _status(objects: ClusterObjects, name: str) -> Object:
    """Return the status of a worker's Machine that is made again."""
    status = (objects.infrastructure_machines.get(name) or {}).get("status") or {}
    provisioned = bool((status.get("initialization") or {}).get("provisioned"))
    return {
        **followed_status(status),
        "initialization": {"infrastructureProvisioned": provisioned},
        "bootstrap": _bootstrap(objects, name),
    }


def _bootstrap(objects: ClusterObjects, name: str) -> Object:
    made = {"message": "its Machine was deleted from the store"}
    config = objects.kubeadm_configs.get(name) or {"metadata": {}}
    if BOOTSTRAP_TOKEN_ANNOTATION in (config["metadata"].get("annotations") or {}):
        # Nobody saw the end of its join.
        return {"state": "Running", "startedAt": now_rfc3339(), **made}
    return {"state": "Succeeded", **made}


def _was_made(machine: Object) -> bool:
    """Return whether a Machine's infrastructure was made, or may have been."""
    status = machine.get("status") or {}
    provisioned = (status.get("initialization") or {}).get("infrastructureProvisioned")
    return bool(
        provisioned or (status.get("bootstrap") or {}).get("state") or machine["metadata"].get("deletionTimestamp")
    )


def _with_infrastructure(objects: ClusterObjects, owned: Object, machine: Object) -> list[str]:
    """Make a worker's infrastructure machine, or complete it; return the changes."""
    name = str(machine["metadata"]["name"])
    known = objects.infrastructure_machines.get(name)
    if known is not None and not lacks_status(known):
        return []
    wanted = _infrastructure(objects, owned, machine)
    if known is not None:
        objects.infrastructure_machines[name] = complete_status(objects.store, known, wanted) or known
        return []
    made = objects.store.create(wanted)
    objects.infrastructure_machines[name] = made
    return [
        f"make {made['kind']} {objects.namespace}/{made['metadata']['name']} again, which was deleted from the store"
    ]


def lacks_status(infrastructure: Object) -> bool:
    """Return whether an infrastructure machine was made again without its status."""
    marked = kinds.is_marked(infrastructure, RESTORED_ANNOTATION)
    return marked and "initialization" not in (infrastructure.get("status") or {})


def _infrastructure(objects: ClusterObjects, owned: Object, machine: Object) -> Object:
    """Return a worker's infrastructure machine, made again; it is not stored."""
    spec, status = machine["spec"], machine.get("status") or {}
    name = str(machine["metadata"]["name"])
    made = worker_objects.infrastructure_machine(objects, owned, name, {"failureDomain": spec.get("failureDomain")})
    # As its provider knows it (deleted_machines.py).
    made["metadata"]["name"] = str(spec["infrastructureRef"].get("name") or name)
    made["metadata"]["annotations"].update({BOOTSTRAP_STARTED_ANNOTATION: "true", RESTORED_ANNOTATION: "true"})
    if spec.get("providerID"):
        made["spec"]["providerID"] = spec["providerID"]
    made["status"] = {**followed_status(status), "initialization": {"provisioned": True}}
    if objects.going:
        # What its owner owns, the API's garbage collector would take away again.
        made["metadata"].pop("ownerReferences")
    return made
