# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletion of a whole control plane.

Workers come first, then all of its own machines at once, without any etcd operation.

A machine is deleted by its controller reference, never by labels alone (docs/reference/decision.md, "Whose machines
they are").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Optional

from ....module_utils.common.values import clip, shortened
from ...objects import advice, kinds
from ...objects.conditions import DELETING
from .. import ownership, terms
from ..checks.trouble import unreachable
from ..creation.adoption import MIXED_MANAGEMENT
from ..outcome import Context, Outcome, block, reason, target
from ..snapshot.typed_snapshot import View, condition_of
from .hooks import deletion_held_by_hooks

WAITING_FOR_WORKERS = "WaitingForWorkersDeletion"
WAITING_FOR_MACHINES = "WaitingForMachineDeletion"
COMPLETED = "DeletionCompleted"
OBJECTS_IN_ITSELF = "ObjectsInItself"
OBJECTS_SHARED = "ObjectsShared"
MOVE_OUT = (
    'Carry them to files first (playbook kubeadm.control_plane.move, -e \'{"control_plane_move_to": {"path": "/FOLDER/store"}}\') and name that store '
    "in the inventory. A mark of deletion stays behind then: the cluster lives on, and the playbook delete deletes it where you want that."
)
_SHOWN = 10


def in_itself(title: str, marked: bool) -> str:
    """Return the refusal to delete a cluster that keeps its own objects.

    As a text for messages; ``marked``: the cluster is marked for deletion already.
    """
    what = f"the objects of the cluster {title} are in its own API"
    why = "with its last machine they would be deleted, and with them the record of the infrastructure that is left"
    if not marked:
        return f"{what}: {why}"
    return f"{what}, and it is marked there for deletion, which can't be taken back in an API: {why}"


def shared_with(
    metadata: Mapping[str, Any], control_plane: Optional[Mapping[str, Any]], other: str, has_machines: bool
) -> tuple[str, str]:
    """Return why what another Cluster names isn't deleted, and the remedy.

    Of two Clusters the copy is the one without machines.
    """
    name, other = clip(metadata["name"], 80), clip(other, 80)
    copy = {"name": other if has_machines else name, "namespace": metadata.get("namespace")}
    first = ""
    if control_plane and control_plane["metadata"].get("deletionTimestamp"):
        first = (
            "The KubeadmControlPlane is marked for deletion: once one Cluster alone names it, the next run deletes all its machines. Where they are to "
            "live on, take metadata.deletionTimestamp out of its file first, in a store of files. In an API a mark can't be taken back. "
            f"{MOVE_OUT} Only then: "
        )
    return (
        f"the Cluster {other} of the same namespace names the same KubeadmControlPlane or infrastructure as {name}: with {name} it would lose "
        "them, and its machines",
        f"{first}Delete from the spec of {copy['name']} what isn't its own (controlPlaneRef, infrastructureRef): {advice.edit(kinds.CLUSTER, copy)}.",
    )


def is_completed(reasons: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a decision's reasons say that nothing is left."""
    return any(each["reason"] == COMPLETED for each in reasons)


def decide_deletion(context: Context) -> Outcome:
    """Return the next step of a deletion.

    It is one of four: blocked by workers or by the place of the objects, deleteMachines, deleteInfrastructure, none.
    """
    view = context.view
    if view.raw.get("keepsItself"):
        # Also where they were marked with kubectl, which no playbook could refuse.
        text = in_itself(clip(view.name, 80), True)
        outcome = block(OBJECTS_IN_ITSELF, text, MOVE_OUT)
        outcome.deletion = (OBJECTS_IN_ITSELF, f"* {text}")
        return outcome
    stop = refused(view)
    if stop is not None:
        return stop
    prepared = view.raw.get("preparedMachines") or []
    if view.machines or prepared:
        waiting = deletion_held_by_hooks(view.machines)
        if waiting is not None:
            waiting.deletion = (WAITING_FOR_MACHINES, waiting.reasons[0]["message"])
            return waiting
        listed = [machine.name for machine in view.machines] + [str(each["metadata"]["name"]) for each in prepared]
        text = f"delete all machines, in parallel: {', '.join(listed)}"
        outcome = Outcome(terms.DELETE_MACHINES, [reason(WAITING_FOR_MACHINES, text)])
        outcome.target = {**target(None), "machines": listed}
        outcome.deletion = (WAITING_FOR_MACHINES, f"* Control plane Machines: {', '.join(listed)}")
        return outcome
    if not (view.cluster.get("metadata") or {}).get("deletionTimestamp"):
        text = (
            "deleted: no machine of it is left. Only the KubeadmControlPlane was marked, so the Cluster, its infrastructure and its keys stay; the "
            "playbook delete removes them"
        )
        if view.others:
            text += f". What isn't its own stays, too: {ownership.controlled(each.machine for each in view.others)}"
        outcome = Outcome(terms.NONE, [reason(COMPLETED, text)])
    elif view.raw.get("infrastructureCluster") is not None:
        outcome = Outcome(
            terms.DELETE_INFRASTRUCTURE, [reason(COMPLETED, "no machine is left: delete the cluster's infrastructure")]
        )
    else:
        outcome = Outcome(terms.NONE, [reason(COMPLETED, "deleted: no machine and no infrastructure is left")])
    outcome.deletion = (COMPLETED, "Deletion completed")
    return outcome


def refused(view: View, going: Collection[str] = ()) -> Optional[Outcome]:
    """Return why a control plane may not be deleted, or None.

    `going` are the Nodes of the workers that are deleted before it.
    """
    if view.raw.get("sharedWith"):
        has_machines = bool(view.machines or view.others)
        text, fix = shared_with(view.cluster["metadata"], view.control_plane, str(view.raw["sharedWith"]), has_machines)
        outcome = block(OBJECTS_SHARED, text, fix)
        outcome.deletion = (OBJECTS_SHARED, f"* {text}")
        return outcome
    if shared := _shared(view):
        return shared
    return _workers(view, going) if view.machines or view.raw.get("preparedMachines") else None


def _shared(view: View) -> Optional[Outcome]:
    """Return the refusal because of machines that another controller has.

    None where there is no reason to refuse. Machines are deleted at once and without etcd operations, which is right
    only where no member of that etcd stays.
    """
    staying = [each for each in view.others if each.bootstrap or each.node is not None or each.member is not None]
    going = [each for each in view.machines if each.bootstrap or each.node is not None or each.member is not None]
    if not staying or (ownership.deleted_alone(view.cluster, view.control_plane) and not going):
        return None
    said = ownership.controlled(each.machine for each in staying)
    if ownership.deleted_alone(view.cluster, view.control_plane):
        listed = shortened([each.name for each in going], _SHOWN)
        text = f"{listed} would be deleted at once, and {said}: without asking etcd, which they share, that may take its quorum away"
        fix = (
            f"Make what stays the controller of these Machines, too (metadata.ownerReferences: {advice.edit(kinds.MACHINE, going[0].machine['metadata'])}); "
            "or end the whole cluster with the playbook delete."
        )
    else:
        text = f"the Cluster is marked for deletion, and {said}, which the Cluster does not name: they are not deleted with it"
        fix = (
            f"Name that one in the Cluster's spec.controlPlaneRef ({advice.edit(kinds.CLUSTER, view.cluster['metadata'])}) and run the playbook "
            "delete again; where it is gone, remove its reference from metadata.ownerReferences of each Machine "
            f"({advice.edit(kinds.MACHINE, staying[0].machine['metadata'])})."
        )
    outcome = block(MIXED_MANAGEMENT, text, fix)
    outcome.deletion = (MIXED_MANAGEMENT, f"* {text}")
    return outcome


def _workers(view: View, going: Collection[str]) -> Optional[Outcome]:
    """Return the refusal because of workers' Nodes, None without one."""
    if any(kinds.is_flagged(obj, kinds.ANNOTATION_IGNORE_WORKER_NODES) for obj in (view.cluster, view.control_plane)):
        return None
    if view.reachable:
        # A Node gets its label last of all: that of a machine whose join has failed may lack it.
        own = {machine.node_name for machine in view.machines if machine.node is None} | {*going}
        workers = [clip(name, 80) for name in view.workload.get("workerNodes") or () if name not in own]
        if not workers:
            return None
        shown = shortened(workers, _SHOWN)
        text = f"worker Nodes still belong to the cluster: {shown}. Deleting its control plane would leave them without one"
        fix = (
            "Remove the workers first (kubectl drain, kubectl delete node), "
            "or agree to leave them behind: run delete with -e control_plane_ignore_worker_nodes=true."
        )
        outcome = block(WAITING_FOR_WORKERS, text, fix)
        outcome.deletion = (WAITING_FOR_WORKERS, f"* Worker Nodes: {shown}")
        return outcome
    begun = condition_of(view.control_plane, DELETING).get("reason") in (WAITING_FOR_MACHINES, COMPLETED)
    started = view.latched or any(machine.joined or machine.bootstrap == terms.RUNNING for machine in view.machines)
    if begun or not started:
        # Either workers were checked before the first machine was deleted, or no API existed that they could join.
        return None
    trouble = unreachable(view)
    text = f"it is unknown whether worker Nodes still belong to the cluster: {trouble.message}"
    fix = "Bring one machine's API back, or agree to leave workers behind: run delete with -e control_plane_ignore_worker_nodes=true."
    outcome = block("WorkersUnknown", text, fix)
    outcome.action = terms.WAIT if trouble.waits else terms.BLOCKED
    outcome.deletion = (WAITING_FOR_WORKERS, "* Worker Nodes: not known, no API server answers")
    return outcome
