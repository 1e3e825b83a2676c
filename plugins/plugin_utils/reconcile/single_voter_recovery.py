# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recovery of etcd as a single voter after the second was lost.

On the machine that is left, and in the store.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common import settings
from ...module_utils.common.redact import redact
from ...module_utils.common.values import now_rfc3339
from ..base_classes.control_plane_action import Waiting
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer
from ..objects import kinds
from ..observe.observation import Caller
from ..records.cluster_objects import MACHINE, ClusterObjects, Object

MODULE = "etcd_recover_single_voter"


class Action(t.Protocol):
    """Interface of :class:`ControlPlaneAction` that a recovery needs."""

    def progress(self, cluster: str, text: str) -> None:
        """Show a progress line to the user."""

    def waiting(self, cluster: str, bound_seconds: float) -> Waiting:
        """Start a bounded wait."""


def recover(
    action: Action, caller: Caller, objects: ClusterObjects, arguments: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Run or resume the single-voter recovery and give the lost machine up.

    Waits for its end and records it.

    Args:
        action: the running action, which shows progress and bounds waits.
        caller: reaches the machines.
        objects: the cluster's objects, just read.
        arguments: the action's arguments (see the module recover_single_voter).

    Raises:
        ControlPlaneFailure: it was refused, failed or did not end in time.
    """
    name = arguments["machine"]
    waiting = action.waiting(objects.name, arguments["timeout"])
    answer = _call(caller, objects, arguments, wait=0)
    # From here on nothing can bring the other member back: its machine is not gone on with.
    give_up(objects, arguments["lost"], name)
    while answer.result.get("state") == "Running":
        stage = answer.result.get("stage")
        if not waiting.again(f"machine {name}: etcd is recovered as the only voter ({stage})", pause_seconds=0.0):
            raise ControlPlaneFailure(
                f"the recovery of etcd on machine {name} did not end within {arguments['timeout']} s and continues there (now: {stage}). "
                "Nothing else was done. Run reconcile again to wait for it further."
            )
        answer = _call(caller, objects, arguments, wait=settings.WAITING_CALL_SECONDS)
    _call(caller, objects, arguments, wait=0, settle=True)
    kept = answer.result.get("snapshot") or {}
    said = f"etcd on machine {name} continues as the only voter"
    if kept.get("path"):
        said += f"; its snapshot of before is {kept['path']} there, a copy of its data {answer.result.get('dataCopy')}"
    if answer.result.get("message"):
        said += f"; {answer.result['message']}"
    action.progress(objects.name, redact(said))
    return {"changed": True, "msg": redact(said), "snapshot": kept}


def _call(
    caller: Caller, objects: ClusterObjects, arguments: t.Mapping[str, t.Any], wait: int, settle: bool = False
) -> Answer:
    call = {key: arguments[key] for key in ("member_id", "lost", "fencing")}
    answer = caller.call(objects.reach(arguments["machine"]), MODULE, {**call, "wait": wait, "settle": settle})
    if answer.failed:
        what = "" if answer.reached else ". It may be at work there all the same: run reconcile again, which finds it"
        raise ControlPlaneFailure(
            f"etcd on machine {arguments['machine']} was not recovered as the only voter: {redact(answer.message)}{what}"
        )
    return answer


def give_up(objects: ClusterObjects, lost: str, survivor: str) -> None:
    """Record in the store that a lost machine can't rejoin the cluster.

    Nothing where the store has no such machine.

    One that had not joined counts as failed, one that had is marked for remediation: both are removed and replaced next.
    """
    if objects.machine(lost) is None:
        return
    text = f"its etcd member was lost while it was one of two, and etcd on {survivor} continued without it"

    def note(stored: Object) -> None:
        bootstrap = kinds.record_bootstrap(stored).setdefault("status", {}).setdefault("bootstrap", {})
        if bootstrap.get("state") == "Succeeded":
            stored["metadata"].setdefault("annotations", {})[kinds.ANNOTATION_REMEDIATE_MACHINE] = ""
        else:
            bootstrap.update(state="Failed", message=text)
            bootstrap.setdefault("startedAt", now_rfc3339())

    objects.store.modify(MACHINE, objects.namespace, lost, note)
