# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore of a cluster's etcd on one machine after quorum loss.

The other machines are given up and replaced.
"""

from __future__ import annotations

import json
import os
import typing as t

from ..module_utils.common import settings
from ..module_utils.common.bounded_yaml import read_json
from ..module_utils.common.guard import NodeError
from ..module_utils.common.legible import block
from ..module_utils.common.redact import redact
from ..module_utils.etcd.restore import info as restore_info
from ..module_utils.etcd.snapshot import revision
from ..plugin_utils.backup import copies, restore_choice
from ..plugin_utils.backup.restore_choice import BACKUP, Choice
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import Answer
from ..plugin_utils.decision import ownership
from ..plugin_utils.objects import advice, kinds
from ..plugin_utils.records.cluster_objects import CONTROL_PLANE, MACHINE, ClusterObjects, Object
from ..plugin_utils.records.secret_values import secret_value

# On the KubeadmControlPlane: the restore that was begun, or the last one that was done.
ANNOTATION = kinds.ANNOTATION_PREFIX + "etcd-restore"
BEGUN, DONE = "Begun", "Done"
MODULE, INFO = "etcd_restore", "etcd_restore_info"
WHAT_TO_TYPE = "-e control_plane_restore_consent={}"


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_restore; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "directory": {"type": "path", "default": ""},
        "snapshot": {"type": "str", "default": ""},
        "machine": {"type": "str", "default": ""},
        "consent": {"type": "str", "default": ""},
        "timeout": {"type": "int", "default": settings.CLUSTER_RESTORE_SECONDS},
        "run": {"type": "str", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Restore etcd on one machine and mark the others for replacement.

        The snapshot is chosen and verified and consent asked for first; then the others' etcd is stopped.
        """
        objects = self.open_objects(arguments)
        _refuse(objects)
        self._caller = self.machine_caller(arguments, objects)
        consent = arguments["consent"].strip()
        noted = _noted(objects)
        if noted.get("state") == BEGUN:
            choice = restore_choice.of_document(noted["choice"])
        else:
            if consent and consent == noted.get("consent"):
                return self._said(
                    objects, False, f"this restore was done at {noted.get('at')}; nothing is restored again"
                )
            chosen = self._choose(objects, arguments)
            if chosen is None:
                return self._said(objects, False, f"etcd of {objects.title} has its quorum: nothing has to be restored")
            choice = chosen
            self._refuse_alive(objects, choice)
            self._verify(objects, choice)
        text = block(choice.lines())
        if self.check_mode:
            typed = WHAT_TO_TYPE.format(choice.consent)
            return self._said(objects, True, f"{text}\nIt is done with the consent {typed}", consent=choice.consent)
        if consent != choice.consent:
            begun = noted.get("state") == BEGUN
            raise ControlPlaneFailure(_wanted(consent, choice, text, begun), consent=choice.consent)
        self.check_lock(arguments)
        if noted.get("state") != BEGUN:
            self._forget(objects, choice)
        journal = self.journal(arguments)
        details = {"fencing": arguments["fencing"], "message": choice.consent}
        entry = journal.intent("restore", choice.machine, arguments["run"], details) if arguments["run"] else ""
        _note(objects, {"state": BEGUN, "choice": choice.document(), "consent": choice.consent})
        done = self._restore(objects, choice, arguments)
        at = str(done.get("finishedAt") or "")
        _note(objects, {"state": DONE, "consent": choice.consent, "at": at}, self._cluster_id(objects, choice))
        # Noted first: a run that ends in between must not find an etcd that works, and nothing that says why.
        self._forget(objects, choice)
        said = (
            f"etcd of {objects.title} was restored on machine {choice.machine} to revision {choice.source.revision}, from"
            f" {choice.source.title()}; the data of before is in {done.get('dataBefore') or 'no folder: there was none'} there."
            " Restart the kubelet of every worker node: it may hold what is no longer true."
        )
        if entry:
            journal.outcome(entry, "succeeded", said)
        return self._said(objects, True, said, consent=choice.consent, lost=list(choice.give_up))

    def _said(self, objects: ClusterObjects, changed: bool, text: str, **more: t.Any) -> dict[str, t.Any]:
        for line in text.splitlines():
            self.progress(objects.name, redact(line))
        return {"changed": changed, "msg": redact(text), **more}

    def _choose(self, objects: ClusterObjects, arguments: t.Mapping[str, t.Any]) -> t.Optional[Choice]:
        """Return the restore to do, or None.

        None where etcd works and the user chose no snapshot.
        """
        infos: dict[str, Object] = {}
        silent = []
        names = [str(each["metadata"]["name"]) for each in objects.machines]
        for name in names:
            answer = self._caller.call(objects.reach(name), INFO, {})
            if answer.failed:
                silent.append(f"{name}: {redact(answer.message)}")
            else:
                infos[name] = answer.result
        for each in silent:
            self.progress(objects.name, each)
        self._infos = infos
        if restore_choice.works(infos) and not arguments["snapshot"]:
            return None
        folder = copies.folder_of(arguments["directory"], objects.namespace, objects.name)
        files = restore_info.snapshots(folder) if arguments["directory"] else []
        snapshot = os.path.expanduser(arguments["snapshot"])
        if snapshot and os.path.isfile(snapshot):
            snapshot = os.path.abspath(snapshot)
            known = {os.path.abspath(each["path"]) for each in files}
            files = [*files, *(_file(snapshot) if snapshot not in known else [])]
            files = [{**each, "path": os.path.abspath(each["path"])} for each in files]
        return restore_choice.choose(
            objects.name, names, infos, files, snapshot=snapshot, machine=arguments["machine"].strip()
        )

    def _refuse_alive(self, objects: ClusterObjects, choice: Choice) -> None:
        """Refuse while an etcd that can't be stopped listens.

        Beside the restored etcd it could continue as a second cluster.
        """
        stoppable = {info["etcd"].get("memberID") for info in self._infos.values()}
        known = {str(each["metadata"]["name"]) for each in objects.machines}
        known |= {str((each.get("status") or {}).get("nodeRef", {}).get("name")) for each in objects.machines}
        for info in self._infos.values():
            for member in info["etcd"]["members"]:
                if member.get("listens") and member["id"] not in stoppable:
                    name = member["name"] or member["id"]
                    way_out = "Make its machine reachable, or cut its power."
                    if name not in known:
                        way_out = "The store knows no such machine; a copy may be older than it. Find that machine and cut its power."
                    raise ControlPlaneFailure(
                        f"the etcd member {name} listens at {member['listens']}, and its machine can't be reached to"
                        f" stop it. Beside what is restored on {choice.machine} it could continue as a second cluster. Nothing was done. {way_out}"
                    )

    def _cluster_id(self, objects: ClusterObjects, choice: Choice) -> str:
        """Return the restored etcd's cluster ID.

        To the ID that reconcile recorded before, the restored etcd would be another cluster.
        """
        answer = self._caller.call(objects.reach(choice.machine), INFO, {})
        found = (answer.result.get("etcd") or {}).get("clusterID")
        if answer.failed or not found:
            raise ControlPlaneFailure(
                f"etcd was restored on machine {choice.machine}, and does not say which cluster it is: {redact(answer.message)}."
                " Run restore again, with the same consent."
            )
        return str(found)

    def _forget(self, objects: ClusterObjects, choice: Choice) -> None:
        """Make the machine note the success.

        Its next restore is then another one.
        """
        machine = objects.reach(choice.machine)
        answer = self._caller.call(machine, INFO, {})
        known = answer.result.get("restore") or {}
        if not answer.failed and known.get("state") == "Succeeded":
            call = {"snapshot": known["snapshot"], "revision": known["revision"], "wait": 0, "settle": True}
            self._caller.call(machine, MODULE, call)

    def _verify(self, objects: ClusterObjects, choice: Choice) -> None:
        """Refuse before consent is asked what would be refused later.

        Nothing has been done by then.
        """
        if choice.source.kind == BACKUP:
            authority = secret_value(objects.store, objects.namespace, f"{objects.name}-ca", "tls.crt")
            try:
                revision.verified(choice.source.path, authority, choice.source.revision)
            except NodeError as error:
                raise ControlPlaneFailure(f"{error} Nothing was done.") from error
            return
        if choice.working:
            # The machine itself refuses while etcd works; the same is verified again when it has stopped.
            return
        call = {"snapshot": choice.source.path, "revision": choice.source.revision}
        before, self._task.check_mode = self._task.check_mode, True
        try:
            answer = self._caller.call(objects.reach(choice.machine), MODULE, call)
        finally:
            self._task.check_mode = before
        # Those that listen can be stopped, or this would have ended before.
        if answer.failed and answer.result.get("reason") != "OthersAlive":
            raise ControlPlaneFailure(f"machine {choice.machine}: {redact(answer.message)}")

    def _restore(self, objects: ClusterObjects, choice: Choice, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        path = choice.source.path
        if choice.source.kind == BACKUP:
            self.progress(objects.name, f"machine {choice.machine}: the backup is sent there")
            path = copies.send(self._caller, objects.reach(choice.machine), path)
        fencing = {"fencing": arguments["fencing"]} if arguments["fencing"] is not None else {}
        there = [name for name in choice.give_up if objects.machine(name) is not None]
        for name in there:
            self._give_up(objects, name, choice)
            stop = {"state": "stopped", "replace_working": choice.working, **fencing}
            answer = self._caller.call(objects.reach(name), MODULE, stop)
            if answer.failed and answer.reached:
                raise ControlPlaneFailure(
                    f"machine {name} was not stopped: {redact(answer.message)}. Run restore again."
                )
            said = "stopped" if answer.reached else f"not stopped: {redact(answer.message)}"
            self.progress(objects.name, f"machine {name}: {said}")
        waiting = self.waiting(objects.name, arguments["timeout"])
        call = {"snapshot": path, "revision": choice.source.revision, "replace_working": choice.working, **fencing}
        machine = objects.reach(choice.machine)
        answer = self._call(machine, call, 0)
        while answer.result.get("state") == "Running":
            stage = answer.result.get("stage")
            if not waiting.again(f"machine {choice.machine}: etcd is restored ({stage})", pause_seconds=0.0):
                raise ControlPlaneFailure(
                    f"the restore on machine {choice.machine} did not end within {arguments['timeout']} s and continues there (now: {stage})."
                    " Run restore again, with the same consent, to wait for it further."
                )
            answer = self._call(machine, call, settings.WAITING_CALL_SECONDS)
        return answer.result

    def _call(self, machine: t.Any, call: dict[str, t.Any], wait: int) -> Answer:
        answer = self._caller.call(machine, MODULE, {**call, "wait": wait, "settle": False})
        if answer.failed:
            after = (
                "" if answer.reached else " It may be at work there all the same: run restore again, which finds it."
            )
            raise ControlPlaneFailure(f"machine {machine.name}: {redact(answer.message)}{after}")
        return answer

    @staticmethod
    def _give_up(objects: ClusterObjects, name: str, choice: Choice) -> None:
        """Mark a machine for removal and replacement.

        Its etcd can never be a part of the cluster again.
        """
        text = f"etcd was restored on {choice.machine} without it"

        def mark(stored: Object) -> None:
            bootstrap = stored.setdefault("status", {}).setdefault("bootstrap", {})
            if bootstrap.get("state") in ("Succeeded", "Failed"):
                stored["metadata"].setdefault("annotations", {})[kinds.ANNOTATION_REMEDIATE_MACHINE] = ""
            elif bootstrap.get("state"):
                bootstrap.update(state="Failed", message=text)

        objects.store.modify(MACHINE, objects.namespace, name, mark)


def _file(path: str) -> list[dict[str, t.Any]]:
    try:
        # First: what a truncated file holds no more may be what would be read next.
        revision.require_whole(path)
    except NodeError as error:
        raise ControlPlaneFailure(f"{error} Nothing was done.") from error
    found = restore_info.snapshot(path)
    if found["revision"] is None:
        raise ControlPlaneFailure(f"{found['message']} Nothing was done.")
    return [found]


def _refuse(objects: ClusterObjects) -> None:
    copies.refuse_external(objects, "restored")
    if objects.going or objects.paused:
        what, todo = ("paused", "Remove spec.paused, its annotation, or the ConfigMap of its namespace")
        if objects.going:
            what, todo = ("marked for deletion", "Run delete, which ends it")
        raise ControlPlaneFailure(f"the cluster {objects.title} is {what}. Nothing was done. {todo}.")
    if objects.others:
        # Restored without them, their etcd would go on as a second cluster.
        said = ownership.controlled(objects.others)
        raise ControlPlaneFailure(
            f"{said}, which the Cluster {objects.title} does not name. Nothing was done. "
            f"Name it in the Cluster's spec.controlPlaneRef again ({advice.edit(kinds.CLUSTER, objects.name)}), then restore."
        )
    if not objects.initialized or objects.control_plane is None:
        raise ControlPlaneFailure(
            f"the cluster {objects.title} has never had a control plane. Nothing was done. Run reconcile."
        )


def _noted(objects: ClusterObjects) -> dict[str, t.Any]:
    control_plane = t.cast(Object, objects.control_plane)
    text = (control_plane["metadata"].get("annotations") or {}).get(ANNOTATION)
    try:
        found = read_json(text) if text else {}
    except ValueError as error:
        name = control_plane["metadata"]["name"]
        raise ControlPlaneFailure(
            f"the annotation {ANNOTATION} of the KubeadmControlPlane {objects.namespace}/{name} can't be read ({error}), so whether a restore has "
            "begun is not known. Nothing was done. Look who changed it; where none has begun, remove it and run again."
        ) from None
    return found if isinstance(found, dict) else {}


def _note(objects: ClusterObjects, document: dict[str, t.Any], cluster_id: str = "") -> None:
    control_plane = t.cast(Object, objects.control_plane)

    def write(stored: Object) -> None:
        stored["metadata"].setdefault("annotations", {})[ANNOTATION] = json.dumps(document, sort_keys=True)
        if cluster_id:
            stored.setdefault("status", {})["etcdClusterID"] = cluster_id

    objects.store.modify(CONTROL_PLANE, objects.namespace, control_plane["metadata"]["name"], write)


def _wanted(consent: str, choice: Choice, text: str, begun: bool) -> str:
    typed = WHAT_TO_TYPE.format(choice.consent)
    given = f"The consent that was given, {consent}, is another one.\n" if consent else ""
    if begun:
        return f"{text}\n{given}This restore was started and has not finished. This run did nothing. To resume it, run again with {typed}"
    return f"{text}\n{given}Nothing was done. To do this and lose what is named, run again with {typed}"
