# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore of a cluster's etcd on one machine after quorum loss.

The other machines are given up and replaced.
"""

from __future__ import annotations

import os
import typing as t

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.legible import block
from ..module_utils.common.redact import redact
from ..module_utils.etcd.restore import info as restore_info
from ..module_utils.etcd.snapshot import revision
from ..plugin_utils.backup import begun_restore, copies, restore_choice
from ..plugin_utils.backup.restore_choice import BACKUP, Choice, History
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import Answer
from ..plugin_utils.decision import ownership
from ..plugin_utils.objects import advice, kinds, origin, restore_note
from ..plugin_utils.objects.etcd_member import recorded_cluster
from ..plugin_utils.objects.restore_note import BEGUN, DONE
from ..plugin_utils.records.cluster_objects import ClusterObjects, Object
from ..plugin_utils.records.secret_values import secret_value
from ..plugin_utils.store import pause

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
        noted, started = begun_restore.noted(objects)
        if started is None and consent and consent == noted.get("consent"):
            return self._said(objects, False, f"this restore was done at {noted.get('at')}; nothing is restored again")
        asked = {name: arguments[name].strip() for name in ("snapshot", "machine")}
        directory = arguments["directory"]
        if started is not None and consent == started.consent and not any(asked.values()):
            # What was asked for when it was started, and what is consented to now.
            remembered = {name: str(value) for name, value in (noted.get("asked") or {}).items()}
            directory = directory or remembered.get("directory", "")
            asked = {name: remembered.get(name, "") for name in asked}
        asked["snapshot"] = _absolute(asked["snapshot"])
        self._infos = self._ask(objects)
        state = begun_restore.under_way(started, self._infos)
        if started is not None and state:
            begun_restore.refuse_other(started, state, **asked, typed=WHAT_TO_TYPE.format(started.consent))
            choice = started
        else:
            chosen = self._choose(objects, directory, **asked)
            if chosen is None:
                return self._nothing_to_restore(objects, arguments, started)
            choice = begun_restore.continued(chosen, started, noted)
            self._refuse_alive(objects, choice)
            self._verify(objects, choice)
        text = block([*choice.lines(), *begun_restore.lines(choice, started, state, self._infos)])
        if self.check_mode:
            typed = WHAT_TO_TYPE.format(choice.consent)
            return self._said(objects, True, f"{text}\nIt is done with the consent {typed}", consent=choice.consent)
        if consent != choice.consent:
            resumes = started is not None and started.consent == choice.consent
            raise ControlPlaneFailure(_wanted(consent, choice, text, resumes), consent=choice.consent)
        self.check_lock(arguments)
        if state:
            path = str(self._infos[choice.machine]["restore"]["snapshot"])
        else:
            path = self._send(objects, choice)
            self._forget(objects, choice, path)
            if started is not None and choice.machine in started.give_up:
                begun_restore.unmark(objects, choice.machine)
        journal = self.journal(arguments)
        details = {"fencing": arguments["fencing"], "message": choice.consent}
        entry = journal.intent("restore", choice.machine, arguments["run"], details) if arguments["run"] else ""
        begun_restore.note(
            objects,
            {
                "state": BEGUN,
                "choice": choice.document(),
                "consent": choice.consent,
                "asked": {**asked, "directory": directory and os.path.abspath(directory)},
            },
        )
        done = self._restore(objects, choice, path, arguments)
        at = str(done.get("finishedAt") or "")
        left = begun_restore.forget_applied(objects, choice)
        newest = restore_note.newest([*objects.machines, *objects.workers])
        document = {"state": DONE, "consent": choice.consent, "at": at, restore_note.NEWEST: newest}
        begun_restore.note(objects, document, self._cluster_id(objects, choice))
        # Noted first: a run that ends in between must not find an etcd that works, and nothing that says why.
        self._forget(objects, choice)
        said = (
            f"etcd of {objects.title} was restored on machine {choice.machine} to revision {choice.source.revision}, from"
            f" {choice.source.title()}; the data of before is in {done.get('dataBefore') or 'no folder: there was none'} there."
            " Restart the kubelet of every worker node: it may hold what is no longer true." + left
        )
        if entry:
            journal.outcome(entry, "succeeded", said)
        return self._said(objects, True, said, consent=choice.consent, lost=list(choice.give_up))

    def _said(self, objects: ClusterObjects, changed: bool, text: str, **more: t.Any) -> dict[str, t.Any]:
        for line in text.splitlines():
            self.progress(objects.name, redact(line))
        return {"changed": changed, "msg": redact(text), **more}

    def _ask(self, objects: ClusterObjects) -> dict[str, Object]:
        """Return what each machine says that can be reached."""
        infos: dict[str, Object] = {}
        for each in objects.machines:
            name = str(each["metadata"]["name"])
            answer = self._caller.call(objects.reach(name), INFO, {})
            if answer.failed:
                self.progress(objects.name, f"{name}: {redact(answer.message)}")
            else:
                infos[name] = answer.result
        return infos

    def _choose(self, objects: ClusterObjects, directory: str, *, snapshot: str, machine: str) -> t.Optional[Choice]:
        """Return the restore to do, or None.

        None where etcd works and the user chose no snapshot.
        """
        if restore_choice.works(self._infos) and (not snapshot or restore_choice.is_own_data(snapshot)):
            return None
        folder = copies.folder_of(directory, objects.namespace, objects.name)
        files = restore_info.snapshots(folder) if directory else []
        if os.path.isfile(snapshot):
            known = {os.path.abspath(each["path"]) for each in files}
            files = [*files, *(_file(snapshot) if snapshot not in known else [])]
            files = [{**each, "path": os.path.abspath(each["path"])} for each in files]
        names = [str(each["metadata"]["name"]) for each in objects.machines]
        control_plane = t.cast(Object, objects.control_plane)
        metadata = control_plane["metadata"]
        history = History(
            recorded_cluster(control_plane).lower(),
            origin.created(metadata) or str(metadata.get("creationTimestamp") or ""),
        )
        going = {
            str(each["metadata"]["name"]) for each in objects.machines if each["metadata"].get("deletionTimestamp")
        }
        return restore_choice.choose(
            objects.name, names, self._infos, files, snapshot=snapshot, machine=machine, history=history, going=going
        )

    def _nothing_to_restore(
        self, objects: ClusterObjects, arguments: t.Mapping[str, t.Any], started: t.Optional[Choice]
    ) -> dict[str, t.Any]:
        """Return that etcd works; a restore that was started ends with it."""
        restore_choice.refuse_another(objects.control_plane, self._infos)
        said = f"etcd of {objects.title} has its quorum: nothing has to be restored"
        if started is None:
            return self._said(objects, False, said)
        stopped = sorted(name for name, info in self._infos.items() if info.get("stopped"))
        working = begun_restore.working(objects, started, self._infos)
        machines = {name: objects.machine(name) for name in sorted(started.give_up) if name not in self._infos}
        silent = [
            name
            for name, each in machines.items()
            if each and not kinds.is_flagged(each, kinds.ANNOTATION_REMEDIATE_MACHINE)
        ]
        if not self.check_mode:
            self.check_lock(arguments)
            for name in stopped:
                begun_restore.mark(objects, name, started.machine, stopped=True)
            for name in working:
                begun_restore.unmark(objects, name)
            begun_restore.note(objects, None)
        end = "would end" if self.check_mode else "has ended"
        text = f"{said}. The restore that was started on machine {started.machine} {end} with that."
        if stopped:
            text += f" Reconcile replaces {', '.join(stopped)}, which it stopped."
        if working:
            text += f" No longer marked for replacement, as their etcd answers and it did not stop them: {', '.join(working)}."
        if silent:
            text += (
                f" Not reached, so that it is not known whether it stopped them: {', '.join(silent)}."
                f" Have those that it stopped replaced {advice.replace(*silent)}."
            )
        return self._said(objects, True, text)

    def _refuse_alive(self, objects: ClusterObjects, choice: Choice) -> None:
        """Refuse while an etcd that can't be stopped listens.

        Beside the restored etcd it could continue as a second cluster.
        """
        etcds = [info["etcd"] for info in self._infos.values()]
        stoppable = {etcd.get("memberID") for etcd in etcds}
        # A member that was restored has another ID in the data of those that it was restored without.
        urls = {
            url
            for etcd in etcds
            for member in etcd["members"]
            if member["id"] in stoppable
            for url in member.get("peerURLs") or ()
        }
        known = {str(each["metadata"]["name"]) for each in objects.machines}
        known |= {str((each.get("status") or {}).get("nodeRef", {}).get("name")) for each in objects.machines}
        for etcd in etcds:
            for member in etcd["members"]:
                stops = member["id"] in stoppable or urls & set(member.get("peerURLs") or ())
                if member.get("listens") and not stops:
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

    def _forget(self, objects: ClusterObjects, choice: Choice, path: t.Optional[str] = None) -> None:
        """Make the machine note the success.

        Its next restore is then another one. The next one, from ``path``, is refused where the machine would take it for the one before.
        """
        machine = objects.reach(choice.machine)
        answer = self._caller.call(machine, INFO, {})
        known = answer.result.get("restore") or {}
        if not answer.failed and known.get("state") == "Succeeded":
            call = {"snapshot": known["snapshot"], "revision": known["revision"], "wait": 0, "settle": True}
            answer = self._caller.call(machine, MODULE, call)
        same = not known or (known.get("snapshot"), known.get("revision")) == (path, choice.source.revision)
        if path is not None and answer.failed and same:
            raise ControlPlaneFailure(
                f"machine {machine.name} did not take note that its last restore, if any, is done: {redact(answer.message)}. It may take this one for"
                " that one, and restore nothing. This run stopped no machine. Mend that, then run restore again, with the same consent."
            )

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
        self._verify_there(objects, choice, choice.source.path)

    def _send(self, objects: ClusterObjects, choice: Choice) -> str:
        """Return the source's path on the machine.

        A backup is sent there, and verified there.
        """
        if choice.source.kind != BACKUP:
            return choice.source.path
        self.progress(objects.name, f"machine {choice.machine}: the backup is sent there")
        path = copies.send(self._caller, objects.reach(choice.machine), choice.source.path)
        self._verify_there(objects, choice, path)
        return path

    def _verify_there(self, objects: ClusterObjects, choice: Choice, path: str) -> None:
        call = {"snapshot": path, "revision": choice.source.revision, "replace_working": choice.working}
        before, self._task.check_mode = self._task.check_mode, True
        try:
            answer = self._caller.call(objects.reach(choice.machine), MODULE, call)
        finally:
            self._task.check_mode = before
        # Those that listen can be stopped, or this would have ended before.
        if answer.failed and answer.result.get("reason") != "OthersAlive":
            raise ControlPlaneFailure(
                f"machine {choice.machine}: {redact(answer.message)} This run stopped no machine. Mend that, or choose another machine or "
                "snapshot: -e control_plane_restore_machine=NAME, -e control_plane_restore_snapshot=WHAT."
            )

    def _restore(
        self, objects: ClusterObjects, choice: Choice, path: str, arguments: t.Mapping[str, t.Any]
    ) -> dict[str, t.Any]:
        fencing = {"fencing": arguments["fencing"]} if arguments["fencing"] is not None else {}
        there = [name for name in choice.give_up if objects.machine(name) is not None]
        for name in there:
            stop = {"state": "stopped", "replace_working": choice.working, **fencing}
            answer = self._caller.call(objects.reach(name), MODULE, stop)
            if answer.failed and answer.reached:
                raise ControlPlaneFailure(
                    f"machine {name} was not stopped: {redact(answer.message)}. Run restore again."
                )
            begun_restore.mark(objects, name, choice.machine, stopped=answer.reached)
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
    if external := copies.said_of_external(objects, "restored"):
        raise ControlPlaneFailure(external)
    if objects.going:
        raise ControlPlaneFailure(
            f"the cluster {objects.title} is marked for deletion. Nothing was done. Run delete, which ends it."
        )
    if why := pause.reasons(objects.store, objects.namespace, objects.name):
        adopting = any(kinds.is_paused_by_adoption(each) for each in (objects.cluster, objects.control_plane) if each)
        todo = "" if adopting else ": remove spec.paused, its annotation, or the ConfigMap of its namespace"
        raise ControlPlaneFailure(
            f"the cluster {objects.title} is paused: {'; '.join(why)}. Nothing was done. "
            f"Run this again once that pause has ended{todo}."
        )
    if objects.others:
        # Restored without them, their etcd would go on as a second cluster.
        said = ownership.controlled(objects.others)
        raise ControlPlaneFailure(
            f"{said}, which the Cluster {objects.title} does not name. Nothing was done. "
            f"Name it in the Cluster's spec.controlPlaneRef again ({advice.edit(kinds.CLUSTER, objects.cluster['metadata'])}), then restore."
        )
    if not objects.initialized or objects.control_plane is None:
        raise ControlPlaneFailure(
            f"the cluster {objects.title} has never had a control plane. Nothing was done. Run reconcile."
        )


def _absolute(snapshot: str) -> str:
    """Return a controller's file by its absolute path.

    Any other text is returned unchanged.
    """
    path = os.path.expanduser(snapshot)
    return os.path.abspath(path) if path and os.path.isfile(path) else path


def _wanted(consent: str, choice: Choice, text: str, resumes: bool) -> str:
    typed = WHAT_TO_TYPE.format(choice.consent)
    given = f"The consent that was given, {consent}, is another one.\n" if consent else ""
    if resumes:
        return f"{text}\n{given}This run did nothing. To resume it, run again with {typed}"
    return f"{text}\n{given}Nothing was done. To do this and lose what is named, run again with {typed}"
