# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of workers: drains beside each other, then what is left."""

from __future__ import annotations

import time
import typing as t

from ..module_utils.common import settings
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import MachineCaller
from ..plugin_utils.decision.removal import hooks
from ..plugin_utils.providers.contract import described_worker
from ..plugin_utils.reconcile.removal import deletion_times
from ..plugin_utils.reconcile.removal.machine_removal import Removal
from ..plugin_utils.records.cluster_objects import MACHINE, ClusterObjects, Object
from ..plugin_utils.records.workers import stored_workers

_SHOWN = 10
_VOLUMES_START = "waitForNodeVolumeDetachStartTime"


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.worker_removal; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "workers": {"type": "list", "elements": "str", "default": []},
        "deployments": {"type": "list", "elements": "str", "default": []},
        "providers": {"type": "dict", "default": {}},
        "infrastructure_deleted": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 600},
        "looked": {"type": "dict", "default": {}},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Drain marked workers' Nodes, or delete what is left of them."""
        objects = self.open_objects(arguments)
        if self.check_mode:
            return _answer(True, "check mode: nothing was removed")
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

        A later step continues with what is not ready then. What went wrong with one of them, or takes too long, holds none of the others.
        """
        objects = self.open_objects(arguments)
        caller = self.machine_caller(arguments, objects)
        looked = self._looked(arguments)
        waiting = self.waiting(objects.name, min(settings.WORKERS_SLICE, arguments["timeout"]))
        left = {name: "" for name in arguments["workers"] if objects.machine(name) is not None}
        ready: list[Object] = []
        failed: dict[str, str] = {}
        while True:
            for name in list(left):
                try:
                    # Before its drain: one whose kind no role serves any more can't be deleted after it.
                    described = described_worker(objects, name, arguments["providers"])
                    told = self._removal(arguments, objects, caller, name).take_out()
                except ControlPlaneFailure as error:
                    # A run that has lost its lock ends here.
                    self.check_lock(arguments)
                    failed[name] = str(error)
                    left.pop(name)
                    continue
                left[name] = told["msg"]
                if told["ready"]:
                    left.pop(name)
                    ready.append(described)
            # One that is ready need not wait for the others.
            if (
                not left
                or ready
                or not waiting.again(f"{len(left)} workers are drained: {', '.join([*left][:_SHOWN])}")
            ):
                break
            objects = self.open_objects(arguments)
        objects = self.open_objects(arguments)
        before = time.time() - arguments["timeout"]
        late = [name for name in left if looked["since"][name] < before and _is_drained(objects.machine(name))]
        failed.update((name, _not_drained(t.cast(Object, objects.machine(name)), left[name])) for name in late)
        answer = _answer(
            True,
            f"{len(ready)} workers are ready to be deleted, {len(left)} are drained, {len(failed)} could not be removed",
            ready,
            [{"name": name, "message": said} for name, said in failed.items()],
        )
        return {**answer, "looked": looked}

    def _looked(self, arguments: t.Mapping[str, t.Any]) -> Object:
        """Return since when this run asks about each worker's drain.

        By this controller's clock. An earlier run may have begun the drain, and what held it may be gone since.
        """
        run, known = self.run_id(arguments), arguments["looked"]
        since = known.get("since") or {} if known.get("run") == run else {}
        now = time.time()
        return {"run": run, "since": {**dict.fromkeys(arguments["workers"], now), **since}}

    def _removal(
        self, arguments: t.Mapping[str, t.Any], objects: ClusterObjects, caller: MachineCaller, name: str
    ) -> Removal:
        call = {**arguments, "name": name, "member_id": "", "leadership": [], "worker": True}
        return Removal(self, caller, objects, call)

    def _finish(self, arguments: dict[str, t.Any], objects: ClusterObjects) -> dict[str, t.Any]:
        caller = self.machine_caller(arguments, objects)
        said = []
        for name in arguments["workers"]:
            self.note(f"delete what is left of worker {name}")
            said.append(self._removal(arguments, objects, caller, name).finish()["msg"])
        for name in arguments["deployments"]:
            said += stored_workers.delete_deployment(objects, name)
        return _answer(bool(said), "; ".join(said))


def _answer(
    changed: bool, said: str, machines: t.Sequence[Object] = (), failed: t.Sequence[Object] = ()
) -> dict[str, t.Any]:
    return {
        "changed": changed,
        "machines": list(machines),
        "failed_workers": list(failed),
        "until": time.time() + settings.WORKERS_STEP,
        "msg": said,
    }


def _is_drained(machine: t.Optional[Object]) -> bool:
    """Return whether a worker's drain is under way.

    The wait for its volumes belongs to it. A hook before or after it is no drain.
    """
    begun = {} if machine is None or hooks.drained(machine) else deletion_times.begun(machine)
    return "nodeDrainStartTime" in begun or _VOLUMES_START in begun


def _not_drained(machine: Object, said: str) -> str:
    if _VOLUMES_START in deletion_times.begun(machine):
        return (
            f"the volumes of its Node are still waited for: {said}. Nothing was removed. Free what holds them (kubectl get volumeattachments), or bound the "
            "wait by nodeVolumeDetachTimeoutSeconds in the MachineDeployment's template"
        )
    return (
        f"its Node is still being drained: {said}. It is cordoned and stays so, nothing was removed. Free what holds it (kubectl get pdb -A), or bound the "
        "wait by nodeDrainTimeoutSeconds in the MachineDeployment's template"
    )
