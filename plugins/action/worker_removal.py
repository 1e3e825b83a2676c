# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of workers: drains beside each other, then what is left."""

from __future__ import annotations

import time
import typing as t

from ..module_utils.common import settings
from ..module_utils.common.values import parse_time
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.providers.contract import machine_for_provider, provider_role
from ..plugin_utils.reconcile.machine_removal import Removal
from ..plugin_utils.records.cluster_objects import MACHINE, ClusterObjects, Object
from ..plugin_utils.records.workers import stored_workers

_SHOWN = 10


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
        waiting = self.waiting(objects.name, min(settings.WORKERS_SLICE, arguments["timeout"]))
        left, ready = {name: "" for name in arguments["workers"] if objects.machine(name) is not None}, []
        while True:
            for name in list(left):
                call = {**arguments, "name": name, "member_id": "", "leadership": [], "worker": True}
                told = Removal(self, caller, objects, call).take_out()
                left[name] = told["msg"]
                if told["ready"]:
                    left.pop(name)
                    ready.append(name)
            # One that is ready need not wait for the others.
            if not left or ready or not waiting.again(f"{len(left)} workers are drained: {', '.join([*left][:10])}"):
                break
            objects = self.open_objects(arguments)
        late = {name: said for name, said in left.items() if _is_late(objects.machine(name), arguments["timeout"])}
        if late and not ready:
            raise _not_drained(objects, late)
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


def _is_late(machine: t.Optional[Object], seconds: int) -> bool:
    """Return whether a worker's drain takes longer than a run waits."""
    begun = parse_time((((machine or {}).get("status") or {}).get("deletion") or {}).get("nodeDrainStartTime"))
    return begun is not None and time.time() - begun > seconds


def _not_drained(objects: ClusterObjects, late: t.Mapping[str, str]) -> ControlPlaneFailure:
    told = "; ".join(f"{name}: {said}" for name, said in [*late.items()][:_SHOWN])
    return ControlPlaneFailure(
        f"{len(late)} workers of {objects.title} are still drained: {told}. Their Nodes are cordoned and stay so, nothing of them was removed. Free what "
        "holds them (kubectl get pdb -A, kubectl get volumeattachments), or bound the wait by nodeDrainTimeoutSeconds in the MachineDeployment's "
        "template, and run reconcile again."
    )


def _described(objects: ClusterObjects, name: str, providers: t.Mapping[str, str]) -> dict[str, t.Any]:
    infrastructure = objects.infrastructure_machines.get(name)
    if infrastructure is None:
        return {"name": name, "role": "", "infrastructure_machine": {}}
    return {
        "name": name,
        "role": provider_role(f"{infrastructure['kind']}Template", providers),
        "infrastructure_machine": machine_for_provider(infrastructure, objects.machine(name)),
    }
