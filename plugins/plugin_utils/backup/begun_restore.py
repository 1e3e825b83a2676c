# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore of etcd that was started and is not done (docs/backup_and_restore.md, "A restore that was started").

What its machine has begun is completed. Otherwise it is chosen again, as it may be one that can't be completed.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace

from ...module_utils.common.values import format_time, parse_time
from ..calls.failure import ControlPlaneFailure
from ..objects import kinds, restore_note
from ..records.cluster_objects import CONTROL_PLANE, MACHINE, ClusterObjects, Object
from ..records.resource_sets import stored_resource_sets
from ..store.base import StoreError
from .restore_choice import DATA, Choice, of_document

Infos = t.Mapping[str, t.Mapping[str, t.Any]]
# States of a restore on its machine (module_utils/etcd/restore/recorded_unit.py) that no other can take the place of.
_UNDER_WAY = ("Running", "Interrupted", "Succeeded")
# The beginning of why a machine's bootstrap counts as failed.
_GAVE_UP = "a restore of etcd on "


def noted(objects: ClusterObjects) -> tuple[dict[str, t.Any], t.Optional[Choice]]:
    """Return a restore's note, and a started restore's choice.

    None where no restore was started, or it is done.

    Raises:
        ControlPlaneFailure: the note can't be read.
    """
    control_plane = t.cast(Object, objects.control_plane)
    try:
        found = restore_note.read(control_plane)
        return found, of_document(found["choice"]) if found.get("state") == restore_note.BEGUN else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        name = control_plane["metadata"]["name"]
        raise ControlPlaneFailure(
            f"the annotation {restore_note.ANNOTATION} of the KubeadmControlPlane {objects.namespace}/{name} can't be read ({error}), so whether a restore has "
            "begun is not known. Nothing was done. Look who changed it; where none has begun, remove it and run again."
        ) from None


def note(objects: ClusterObjects, document: t.Optional[dict[str, t.Any]], cluster_id: str = "") -> None:
    """Write the note of a restore, or remove it (None).

    That of one that is begun keeps the last one that was done, which is noted again where this one ends without being done.
    """
    control_plane = t.cast(Object, objects.control_plane)

    def write(stored: Object) -> None:
        annotations = stored["metadata"].setdefault("annotations", {})
        last = restore_note.read(stored)
        done = last if last.get("state") == restore_note.DONE else last.get("last")
        annotations.pop(restore_note.ANNOTATION, None)
        written = done if document is None else document
        if written and done and written["state"] == restore_note.BEGUN:
            written = {**written, "last": done}
        if written:
            annotations[restore_note.ANNOTATION] = json.dumps(written, sort_keys=True)
        if cluster_id:
            stored.setdefault("status", {})["etcdClusterID"] = cluster_id

    objects.store.modify(CONTROL_PLANE, objects.namespace, control_plane["metadata"]["name"], write)


def forget_applied(objects: ClusterObjects, choice: Choice) -> str:
    """Forget what ClusterResourceSets applied after the snapshot.

    A snapshot lacks it. Returns what is to be done where that failed, "" otherwise: etcd is restored by then, and that is noted all the same.
    """
    if choice.source.kind == DATA:
        return ""
    try:
        stored_resource_sets.forget_applied(objects.store, objects.cluster, choice.source.taken_at)
    except StoreError as error:
        return (
            " What ClusterResourceSets applied after the snapshot still counts as applied, so that reconcile does not apply it again: delete the "
            f"ClusterResourceSetBinding {objects.namespace}/{objects.name} in the store, and the next reconcile applies everything again. "
            f"Forgetting it failed: {error}"
        )
    return ""


def mark(objects: ClusterObjects, name: str, restored: str, *, stopped: bool) -> None:
    """Mark a machine for removal and replacement.

    Its etcd can never be a part again of the cluster whose etcd is restored on the machine ``restored``.
    The user's own mark stays the user's.
    A bootstrap has failed only where the machine was ``stopped``: elsewhere kubeadm may add its member to that etcd yet.
    """

    def mark(stored: Object) -> None:
        bootstrap = kinds.record_bootstrap(stored).setdefault("status", {}).setdefault("bootstrap", {})
        if stopped and bootstrap.get("state") == "Running":
            bootstrap.update(state="Failed", message=f"{_GAVE_UP}{restored} gave it up")
        elif bootstrap.get("state"):
            annotations = stored["metadata"].setdefault("annotations", {})
            annotations.setdefault(kinds.ANNOTATION_REMEDIATE_MACHINE, kinds.REMEDIATED_BY_RESTORE)

    objects.store.modify(MACHINE, objects.namespace, name, mark)


def unmark(objects: ClusterObjects, name: str) -> None:
    """Undo a restore's mark on a machine that stays.

    The user's own mark is left.
    Of a bootstrap that counted as failed by it, the next run asks the machine for the result.
    """

    def unmark(stored: Object) -> None:
        if kinds.is_marked_by_restore(stored):
            del stored["metadata"]["annotations"][kinds.ANNOTATION_REMEDIATE_MACHINE]
        if _failed_by_restore(stored):
            stored["status"]["bootstrap"].update(state="Running", message="")

    objects.store.modify(MACHINE, objects.namespace, name, unmark)


def working(objects: ClusterObjects, started: Choice, infos: Infos) -> list[str]:
    """Return the machines that a started restore marked wrongly.

    It did not stop them, and their etcd answers.
    """
    found = []
    for name in sorted(set(started.give_up) & set(infos)):
        machine = objects.machine(name)
        marked = kinds.is_marked_by_restore(machine) or _failed_by_restore(machine or {})
        if marked and infos[name]["etcd"].get("answers") and not infos[name].get("stopped"):
            found.append(name)
    return found


def _failed_by_restore(machine: Object) -> bool:
    bootstrap = (machine.get("status") or {}).get("bootstrap") or {}
    return bootstrap.get("state") == "Failed" and str(bootstrap.get("message")).startswith(_GAVE_UP)


def under_way(started: t.Optional[Choice], infos: Infos) -> str:
    """Return a started restore's state on its machine.

    "" where nothing of it is there.
    """
    known = (infos.get(started.machine) or {}).get("restore") if started else None
    if started is None or not known or known.get("revision") != started.source.revision:
        return ""
    return str(known["state"]) if known.get("state") in _UNDER_WAY else ""


def refuse_other(started: Choice, state: str, snapshot: str, machine: str, typed: str) -> None:
    """Refuse options that name another restore than the one under way.

    Raises:
        ControlPlaneFailure: they do.
    """
    if snapshot in ("", started.source.name) and machine in ("", started.machine):
        return
    raise ControlPlaneFailure(
        f"the restore of {started.cluster} to revision {started.source.revision}, from {started.source.title()}, is under way on machine {started.machine} "
        f"({state}), and control_plane_restore_snapshot or control_plane_restore_machine names another one. Nothing was done. Complete it first: run again "
        f"without them, with {typed}. {_beyond(started)}"
    )


def continued(choice: Choice, started: t.Optional[Choice], noted: t.Mapping[str, t.Any]) -> Choice:
    """Return the choice, with what earlier restores mean for it.

    The etcd that worked when it was started was stopped by it.
    """
    if started is None:
        moment = parse_time(noted.get("at"))
        return replace(choice, after="" if moment is None else format_time(moment))
    same = started.source == choice.source and started.machine == choice.machine
    return replace(choice, working=choice.working or (same and started.working), after=started.after)


def lines(choice: Choice, started: t.Optional[Choice], state: str, infos: Infos) -> list[str]:
    """Return lines on a started restore, for the user.

    They say what the choice has to do with it; none where no restore was started.
    """
    if started is None:
        return []
    if state:
        return [
            f"This restore was started and has not finished. It is under way on machine {started.machine} ({state}), so that no other can be chosen. "
            f"{_beyond(started)}"
        ]
    if started.consent == choice.consent and started.machine == choice.machine:
        return ["This restore was started and has not finished."]
    text = (
        f"Another restore was started and has not finished: on machine {started.machine} to revision {started.source.revision}, "
        f"from {started.source.title()}. "
    )
    if started.machine in infos:
        return [
            f"{text}Nothing of it is under way there, and what there is or what was asked for differs now. What it stopped stays stopped."
        ]
    return [
        f"{text}Machine {started.machine} can't be reached, so whether it is at work there is not known. Make it reachable to resume that restore. Before you "
        "consent to this one instead, cut its power: it must never run again as it is."
    ]


def _beyond(started: Choice) -> str:
    return (
        f"Where machine {started.machine} can never complete it, cut its power: the next run chooses again, without it."
    )
