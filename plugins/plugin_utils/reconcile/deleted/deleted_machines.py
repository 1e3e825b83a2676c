# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore of machine objects deleted from the store.

A Machine that is deleted from the store is a request to remove the machine. Only the removal that every machine gets
fulfils it safely: with the quorum's check, a drain and a snapshot. Without the Machine its infrastructure would count
as prepared ahead, and be deleted.
"""

from __future__ import annotations

import copy
import functools
import typing as t

from ....module_utils.common.values import now_rfc3339
from ...calls.failure import ControlPlaneFailure
from ...objects import kinds
from ...providers.contract import is_provisioned
from ...records.cluster_objects import (
    BOOTSTRAP_STARTED_ANNOTATION,
    BOOTSTRAP_TOKEN_ANNOTATION,
    MACHINE,
    RESTORED_ANNOTATION,
    ClusterObjects,
    Object,
    follow_infrastructure,
    followed_status,
    kind_of,
    machine_kind_of_template,
)
from ...records.machine_objects import infrastructure_api_version, machine_metadata, machine_object
from ...records.propagation import give_new
from ...store import opening
from ...store.base import kind_ref_of
from ...store.interrupted_creation import complete_status
from .deleted_workers import lacks_status, restore_workers
from .finalizers import with_finalizer


def restore(objects: ClusterObjects) -> list[str]:
    """Restore deleted objects of started machines; return the changes in words.

    Started: kubeadm may have been started on the machine.

    A Machine is made from its InfraMachine and its KubeadmConfig and is marked for deletion at once. An InfraMachine is made from its
    Machine, which stays. A KubeadmConfig is not made again: what is not known of a machine counts as up to date
    (docs/reference/cluster_api.md, "Up to date or not").
    Finalizers that were taken off are put back. Of a cluster that is deleted as a whole only InfraMachines
    are made, so that the machines can be deleted.
    ``objects`` is brought up to date. Machines get what can't be known any more once their InfraMachine is gone.

    Raises:
        ControlPlaneFailure: of an initialized cluster no Machine is left that would stay. That is a lost store, not a
            request.
    """
    if objects.control_plane is None or objects.paused:
        return []
    if objects.going:
        return _of_a_cascade(objects)
    _follow(objects)
    lost = _lost(objects)
    if lost and objects.initialized and not any(_stays(machine) for machine in objects.machines):
        raise _all_gone(objects, lost)
    changes = _infrastructures(objects, [*lost, *_bare(objects)])
    for name in lost:
        objects.machines.append(objects.store.create(_machine(objects, name)))
        changes.append(
            f"make Machine {objects.namespace}/{name} again, which was deleted from the store, to remove it safely"
        )
    for index, machine in enumerate(objects.machines):
        # Also after a run that was killed before it came to this.
        if not kinds.is_marked(machine, RESTORED_ANNOTATION):
            continue
        name = str(machine["metadata"]["name"])
        if "bootstrap" not in (machine.get("status") or {}) and name in objects.infrastructure_machines:
            machine = complete_status(objects.store, machine, _machine(objects, name)) or machine
            objects.machines[index] = machine
        if _stays(machine):
            objects.machines[index] = objects.store.delete(MACHINE, objects.namespace, name) or machine
            changes.append(f"mark Machine {objects.namespace}/{name} for deletion")
    objects.machines.sort(key=lambda each: str(each["metadata"]["name"]))
    return changes + _keep_until_removed(objects) + restore_workers(objects)


def _of_a_cascade(objects: ClusterObjects) -> list[str]:
    """Restore the InfraMachines of a cluster that is being deleted.

    InfraMachines have no finalizer: ``kubectl delete --cascade=foreground`` deletes them before their machines, which
    no provider could delete then.

    A cluster that keeps its own objects is not deleted (``decision/removal/whole_control_plane.py``).
    """
    if opening.keeps_itself(objects.store, objects.cluster):
        return []
    return _infrastructures(objects, _bare(objects)) + restore_workers(objects)


def _keep_until_removed(objects: ClusterObjects) -> list[str]:
    """Restore removed finalizers; return the changes in words."""
    changes: list[str] = []
    control_plane = t.cast(Object, objects.control_plane)
    objects.cluster = with_finalizer(objects, objects.cluster, changes)
    objects.control_plane = with_finalizer(objects, control_plane, changes)
    for index, machine in enumerate(objects.machines):
        # One that isn't ours yet gets it when it is adopted.
        if any(each.get("uid") == control_plane["metadata"].get("uid") for each in _owners(machine)):
            objects.machines[index] = with_finalizer(objects, machine, changes)
    return changes


def _owners(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []


def _follow(objects: ClusterObjects) -> None:
    # A machine that was prepared ahead was made when it had no Machine yet that could have followed.
    for machines in (objects.machines, objects.workers):
        for index, machine in enumerate(machines):
            name = str(machine["metadata"]["name"])
            infrastructure = objects.infrastructure_machines.get(name) or {}
            same_kind = infrastructure.get("kind") == machine["spec"]["infrastructureRef"]["kind"]
            if same_kind and is_provisioned(infrastructure):
                change = functools.partial(follow_infrastructure, infrastructure=infrastructure)
                altered = copy.deepcopy(machine)
                change(altered)
                if altered != machine:
                    machines[index] = objects.store.modify(MACHINE, objects.namespace, name, change)


def _stays(machine: Object) -> bool:
    return not machine["metadata"].get("deletionTimestamp")


def _lost(objects: ClusterObjects) -> list[str]:
    """Return the names of started machines without a Machine.

    Started: kubeadm may have been started on the machine.
    """
    prepared = {each["metadata"]["name"] for each in objects.prepared_machines()}
    names = {each["metadata"]["name"] for each in objects.unowned_machines()} - prepared
    for name, config in objects.kubeadm_configs.items():
        own = not objects.has_machine(name) and objects.may_be_own(config)
        if name not in prepared and own and objects.may_have_started(name):
            names.add(config["metadata"]["name"])
    return sorted(names)


def _bare(objects: ClusterObjects) -> list[str]:
    """Return the names of Machines whose infrastructure may lack its object.

    Their infrastructure was made, or they are being deleted without ever having had one: their provider is asked in any case.
    """
    found = []
    for machine in objects.machines:
        status = machine.get("status") or {}
        made = (status.get("initialization") or {}).get("infrastructureProvisioned")
        if objects.going or made or (status.get("bootstrap") or {}).get("state") or not _stays(machine):
            found.append(str(machine["metadata"]["name"]))
    return found


def _infrastructures(objects: ClusterObjects, names: t.Iterable[str]) -> list[str]:
    """Make these InfraMachines where they are missing; return the changes in words.

    One that a killed run made without its status gets that.
    """
    changes = []
    for name in names:
        known = objects.infrastructure_machines.get(name)
        if known is None:
            known = objects.store.create(_infrastructure(objects, name))
            changes.append(
                f"make {known['kind']} {objects.namespace}/{known['metadata']['name']} again, which was deleted from the store"
            )
        elif lacks_status(known):
            known = complete_status(objects.store, known, _infrastructure(objects, name)) or known
        objects.infrastructure_machines[name] = known
    return changes


def _infrastructure(objects: ClusterObjects, name: str) -> Object:
    """Return a machine's InfraMachine, made again; it is not stored."""
    machine = objects.machine(name) or {}
    control_plane = t.cast(Object, objects.control_plane)
    group, kind = machine_kind_of_template(objects.template_reference())
    reference = (machine.get("spec") or {}).get("infrastructureRef") or {"apiGroup": group, "kind": kind}
    template = (objects.machine_template or {}).get("spec", {}).get("template", {}).get("spec") or {}
    # A template that makes another kind now says nothing of this machine.
    spec = copy.deepcopy(template) if kind_of(reference) == (group, kind) else {}
    if (machine.get("spec") or {}).get("providerID"):
        spec["providerID"] = machine["spec"]["providerID"]
    known = machine.get("status") or {}
    # Its provider knows the machine by the name that it had, which Cluster API may have made another one than the Machine's.
    metadata = machine_metadata(objects, control_plane, str(reference.get("name") or name))
    # No note of a template that it was cloned from: what is not known counts as up to date.
    metadata["annotations"].update(
        {
            BOOTSTRAP_STARTED_ANNOTATION: "true",
            RESTORED_ANNOTATION: "true",
            kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN: str((machine.get("spec") or {}).get("failureDomain", "")),
            kinds.ANNOTATION_PREPARED_VERSION: str(
                (machine.get("spec") or {}).get("version") or control_plane["spec"]["version"]
            ),
        }
    )
    made = {
        "apiVersion": infrastructure_api_version(objects, str(reference["apiGroup"])),
        "kind": reference["kind"],
        "metadata": metadata,
        "spec": spec,
        "status": {**followed_status(known), "initialization": {"provisioned": True}},
    }
    if objects.going:
        # What its owner owns, the API's garbage collector would take away again.
        metadata.pop("ownerReferences")
    return give_new(made, control_plane)


def _machine(objects: ClusterObjects, name: str) -> Object:
    control_plane = t.cast(Object, objects.control_plane)
    infrastructure = objects.infrastructure_machines[name]
    noted = infrastructure["metadata"].get("annotations") or {}
    made = machine_object(objects, control_plane, name, noted.get(kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN, ""))
    made["spec"]["version"] = noted.get(kinds.ANNOTATION_PREPARED_VERSION) or made["spec"]["version"]
    group, kind = kind_ref_of(infrastructure)
    made["spec"]["infrastructureRef"].update(apiGroup=group, kind=kind, name=name)
    if (infrastructure.get("spec") or {}).get("providerID"):
        made["spec"]["providerID"] = infrastructure["spec"]["providerID"]
    annotations = made["metadata"]["annotations"]
    annotations[RESTORED_ANNOTATION] = "true"
    # A remediation that is under way waits for the replacement, which this is not.
    annotations.pop(kinds.ANNOTATION_REMEDIATION_FOR, None)
    known = infrastructure.get("status") or {}
    made["status"] = {
        **followed_status(known),
        "initialization": {"infrastructureProvisioned": bool((known.get("initialization") or {}).get("provisioned"))},
        "bootstrap": _bootstrap(objects, name),
    }
    return made


def _bootstrap(objects: ClusterObjects, name: str) -> Object:
    """Return the bootstrap status to record for a restored Machine."""
    made = {"message": "its Machine was deleted from the store"}
    if not objects.initialized:
        # Before there was a control plane it is removed on evidence alone.
        return {"state": "Failed", **made}
    config = objects.kubeadm_configs.get(name) or {"metadata": {}}
    if BOOTSTRAP_TOKEN_ANNOTATION in (config["metadata"].get("annotations") or {}):
        # Nobody saw the end of its join: the machine is asked, and kubeadm waited for, before it is removed. When it began went with the
        # Machine; counted from now it is waited for too long rather than not long enough.
        return {"state": "Running", "startedAt": now_rfc3339(), **made}
    # It may carry a member like any other. So may one without a KubeadmConfig: taken for under way, a machine that has no record of a
    # bootstrap (adopted, say) would then count as one that was never started, which goes without etcd being asked.
    return {"state": "Succeeded", **made}


def _all_gone(objects: ClusterObjects, lost: t.Sequence[str]) -> ControlPlaneFailure:
    return ControlPlaneFailure(
        f"the store has no Machine left that would stay of the cluster {objects.namespace}/{objects.name}, which is initialized; those of "
        f"{', '.join(lost)} were deleted from it. Taking that for the desired state would destroy the control plane, so nothing was done. Put the "
        "Machines' files back from a backup of the store or from version control, then run reconcile again. To end the cluster, "
        "run the playbook delete."
    )
