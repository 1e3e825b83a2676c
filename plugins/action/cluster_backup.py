# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backup of a cluster's etcd: a verified snapshot, copied to the controller."""

from __future__ import annotations

import os
import typing as t

from ..module_utils.common import settings
from ..module_utils.common.redact import redact
from ..plugin_utils.backup import copies
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import MachineCaller
from ..plugin_utils.objects.etcd_member import cluster_argument
from ..plugin_utils.pki.secrets import read_certificates
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.records.journal_entries import note_snapshot
from ..plugin_utils.store import lasting

MODULE = "etcd_snapshot"


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_backup; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str", "default": "backup"},
        "directory": {"type": "path", "default": ""},
        "keep": {"type": "int", "default": settings.BACKUPS_KEPT},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Take a snapshot on one machine, copy it here, remove old ones.

        The first machine that can take one takes it.
        """
        objects = self.open_objects(arguments)
        if arguments["keep"] < 1:
            raise ControlPlaneFailure("keep is 0 or less: the backup just taken would be removed. Give 1 or more.")
        external = copies.said_of_external(objects, "backed up")
        if external:
            # No failure: a schedule over all clusters would never succeed.
            self.progress(objects.name, external)
            return {"changed": False, "msg": external}
        directory = arguments["directory"]
        why = lasting.what_is_lost(os.path.abspath(directory)) if directory else ""
        if why:
            raise ControlPlaneFailure(
                f"a copy in {directory} would be lost: {why}. No backup was taken. Give as control_plane_backup_directory a folder that is mounted into each "
                'job (in AWX: the setting "Paths to expose to isolated jobs"), or leave the variable out: then the snapshot stays on its machine.'
            )
        caller = self.machine_caller(arguments, objects)
        prefix = f"{objects.name}-{arguments['name']}"
        folder = copies.folder_of(directory, objects.namespace, objects.name) if directory else ""
        if folder and not self.check_mode:
            copies.require_folder(folder)
        # A machine that a restore gave up may run the etcd of before.
        call = {"name": prefix, "keep": arguments["keep"], **cluster_argument(objects.control_plane)}
        name, taken = self._take(caller, objects, call)
        if self.check_mode:
            said = f"machine {name} would keep {taken.get('path')}" + (f", and {folder} a copy" if folder else "")
            return {"changed": True, "msg": said, "machine": name}
        result = {key: taken[key] for key in _SHOWN if key in taken}
        result.update(changed=True, machine=name, removed=list(taken.get("removed") or []), warnings=_warnings(taken))
        said = f"machine {name} keeps {taken.get('path')} (revision {taken.get('revision')}, verified by {taken.get('verified_by')})"
        note_snapshot(objects, taken.get("path"))
        if folder:
            authority = (read_certificates(objects.store, objects.cluster).get("ca") or {}).get("crt") or ""
            path = copies.fetch(caller, objects.reach(name), taken, folder, prefix, str(authority).encode())
            result["backup"] = path
            result["removed"] += copies.prune(path, prefix, arguments["keep"])
            said += f"; a copy is {result['backup']}"
        self.progress(objects.name, said)
        return {**result, "msg": said}

    def _take(
        self, caller: MachineCaller, objects: ClusterObjects, call: dict[str, t.Any]
    ) -> tuple[str, dict[str, t.Any]]:
        """Take the snapshot on the newest machine that can.

        A member that knows no leader may lack what the others have: its snapshot is taken only where all members are
        so.
        """
        failures, second = [], None
        for machine in reversed(objects.bootstrapped_machines()):
            name = str(machine["metadata"]["name"])
            answer = caller.call(objects.reach(name), MODULE, call)
            if answer.failed:
                failures.append(f"{name}: {redact(answer.message)}")
            elif not _warnings(answer.result):
                return name, answer.result
            else:
                second = second or (name, answer.result)
        if second is not None:
            return second
        raise ControlPlaneFailure(
            f"no etcd snapshot of {objects.title} could be taken and verified: {'; '.join(failures) or 'no machine has been bootstrapped'}."
            " No older backup was removed. Mend what is named, then run again. Where it is another etcd cluster, the playbook plan says how."
        )


_SHOWN = ("path", "taken_at", "bytes", "sha256", "verified_by", "verify_note", "revision", "cluster_id", "etcd_version")


def _warnings(result: t.Mapping[str, t.Any]) -> list[str]:
    return [str(each) for each in result.get("warnings") or () if "no leader" in str(each)]
