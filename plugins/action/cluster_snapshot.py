# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verified etcd snapshot, kept on a machine of a cluster."""

from __future__ import annotations

import typing as t

from ..module_utils.common import settings
from ..module_utils.common.redact import redact
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.objects import kinds
from ..plugin_utils.reconcile import snapshot_before_change
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.records.journal_entries import note_snapshot


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_snapshot; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str", "required": True},
        "keep": {"type": "int", "default": settings.SNAPSHOTS_KEPT},
        "run": {"type": "str", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Take a snapshot on one machine, or state why none is taken.

        The first machine that can take one takes it.
        """
        objects = self.open_objects(arguments)
        waived = self._waived(objects)
        if self.check_mode:
            return {"changed": not waived, "taken": False, "msg": waived or "a snapshot would be taken and verified"}
        if waived:
            self.progress(objects.name, waived)
            self._record(arguments, waived)
            return {"changed": False, "taken": False, "msg": waived}
        self.check_lock(arguments)
        self.progress(objects.name, "an etcd snapshot is taken and verified")
        call = snapshot_before_change.call_of(objects, arguments["name"], arguments["keep"])
        if arguments["fencing"] is not None:
            call["fencing"] = arguments["fencing"]
        caller = self.machine_caller(arguments, objects)
        failures = []
        for machine in reversed(objects.bootstrapped_machines()):
            name = str(machine["metadata"]["name"])
            answer = caller.call(objects.reach(name), snapshot_before_change.MODULE, call)
            if not answer.failed:
                said = f"machine {name} keeps {answer.result.get('path')}"
                note_snapshot(objects, answer.result.get("path"))
                return {"changed": True, "taken": True, "msg": said, "machine": name, "path": answer.result.get("path")}
            failures.append(f"{name}: {redact(answer.message)}")
        why = "; ".join(failures) or "no machine has been bootstrapped"
        raise snapshot_before_change.not_taken(why, f"nothing else was done to {objects.title}.")

    def _record(self, arguments: dict[str, t.Any], text: str) -> None:
        if arguments["run"]:
            journal = self.journal(arguments)
            identifier = journal.intent(
                "snapshot", arguments["name"], arguments["run"], {"waived": True, "message": text}
            )
            journal.outcome(identifier, "waived", text)

    @staticmethod
    def _waived(objects: ClusterObjects) -> str:
        if snapshot_before_change.is_waived(objects):
            return f"no etcd snapshot is taken: the annotation {kinds.ANNOTATION_SKIP_ETCD_SNAPSHOT} waives it"
        spec = (objects.control_plane or {}).get("spec", {}).get("kubeadmConfigSpec", {})
        configuration = spec.get("clusterConfiguration") or {}
        if (configuration.get("etcd") or {}).get("external") is not None:
            return "no etcd snapshot is taken: etcd is external"
        return ""
