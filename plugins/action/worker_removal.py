# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of workers: drains beside each other, then what is left."""

from __future__ import annotations

import typing as t

from ..module_utils.common import settings
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.providers.contract import machine_for_provider, provider_role
from ..plugin_utils.reconcile.machine_removal import Removal
from ..plugin_utils.records.cluster_objects import MACHINE, ClusterObjects
from ..plugin_utils.records.workers import stored_workers


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.worker_removal; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "workers": {"type": "list", "elements": "str", "default": []},
        "deployments": {"type": "list", "elements": "str", "default": []},
        "providers": {"type": "dict", "default": {}},
        "infrastructure_deleted": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 600},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Drain marked workers' Nodes, or delete what is left of them."""
        objects = self.open_objects(arguments)
        if self.check_mode:
            return {"changed": True, "machines": [], "msg": "check mode: nothing was removed"}
        self.check_lock(arguments)
        if arguments["infrastructure_deleted"]:
            return self._finish(arguments, objects)
        for name in arguments["workers"]:
            machine = objects.machine(name)
            if machine is not None and not machine["metadata"].get("deletionTimestamp"):
                objects.store.delete(MACHINE, objects.namespace, name)
                self.note(f"mark worker {name} for deletion")
        return self._take_out(arguments)

    def _take_out(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Drain the Nodes for a while; return workers ready to be deleted.

        A later step continues with what is not ready then.
        """
        objects = self.open_objects(arguments)
        caller = self.machine_caller(arguments, objects)
        waiting = self.waiting(objects.name, settings.WORKERS_SLICE)
        left, ready = [name for name in arguments["workers"] if objects.machine(name) is not None], []
        while True:
            for name in list(left):
                call = {**arguments, "name": name, "member_id": "", "leadership": [], "worker": True}
                if Removal(self, caller, objects, call).take_out()["ready"]:
                    left.remove(name)
                    ready.append(name)
            # One that is ready need not wait for the others.
            if not left or ready or not waiting.again(f"{len(left)} workers are drained: {', '.join(left[:10])}"):
                break
            objects = self.open_objects(arguments)
        return {
            "changed": True,
            "machines": [_described(objects, name, arguments["providers"]) for name in ready],
            "msg": f"{len(ready)} workers are ready to be deleted, {len(left)} are drained",
        }

    def _finish(self, arguments: dict[str, t.Any], objects: ClusterObjects) -> dict[str, t.Any]:
        caller = self.machine_caller(arguments, objects)
        said = []
        for name in arguments["workers"]:
            self.note(f"delete what is left of worker {name}")
            call = {**arguments, "name": name, "member_id": "", "leadership": [], "worker": True}
            said.append(Removal(self, caller, objects, call).finish()["msg"])
        for name in arguments["deployments"]:
            said += stored_workers.delete_deployment(objects, name)
        return {"changed": bool(said), "machines": [], "msg": "; ".join(said)}


def _described(objects: ClusterObjects, name: str, providers: t.Mapping[str, str]) -> dict[str, t.Any]:
    infrastructure = objects.infrastructure_machines.get(name)
    if infrastructure is None:
        return {"name": name, "role": "", "infrastructure_machine": {}}
    return {
        "name": name,
        "role": provider_role(f"{infrastructure['kind']}Template", providers),
        "infrastructure_machine": machine_for_provider(infrastructure, objects.machine(name)),
    }
