# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prediction after a removal of machines, members and Nodes.

The half of predict.py for those.
"""

from __future__ import annotations

from typing import Any

from ...objects import kinds
from ...objects.conditions import DELETING
from .. import terms
from ..creation import existing_hosts
from ..removal.hooks import hooks
from ..snapshot.typed_snapshot import machine_view
from ..snapshot.unreached import unreached
from .predict_etcd import seen_by_witnesses, without_member

Object = dict[str, Any]


def removed(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after `remove`."""
    target = decision["target"]
    gone = [entry for entry in snapshot["machines"] if entry["machine"]["metadata"]["name"] == target["machine"]]
    if gone and hooks(gone[0]["machine"], kinds.HOOK_PRE_DRAIN) + hooks(gone[0]["machine"], kinds.HOOK_PRE_TERMINATE):
        # Nobody can foresee when somebody else lets go of it: the plan ends there.
        return _held(snapshot, gone[0])
    snapshot["machines"] = [entry for entry in snapshot["machines"] if entry not in gone]
    if "hosts" in snapshot:
        snapshot["hosts"] = existing_hosts.give_back(snapshot, str(target["machine"]))
    nodes = {machine_view(entry).node_name for entry in gone}
    workload = dict(snapshot["workload"])
    if workload.get("via") == target["machine"]:
        left = [entry for entry in snapshot["machines"] if _state(entry) == terms.SUCCEEDED]
        if not left:
            snapshot["workload"] = nothing_left()
            return snapshot
        workload["via"] = left[0]["machine"]["metadata"]["name"]
    workload["nodes"] = [node for node in workload.get("nodes") or [] if node["name"] not in nodes]
    workload["pods"] = {name: pods for name, pods in (workload.get("pods") or {}).items() if name not in nodes}
    workload["witnesses"] = _other_witnesses(snapshot, workload)
    leaders = _next_leaders(snapshot, decision)
    if workload.get("etcd") and target.get("memberID"):
        workload["etcd"] = without_member(workload["etcd"], target["memberID"], leaders)
        seen_by_witnesses(workload, lambda etcd: without_member(etcd, target["memberID"], leaders))
    snapshot["workload"] = workload
    return snapshot


def _held(snapshot: Object, held: Object) -> Object:
    deleting = {"deletionTimestamp": held["machine"]["metadata"].get("deletionTimestamp") or snapshot["now"]}
    machine = {**held["machine"], "metadata": {**held["machine"]["metadata"], **deleting}}
    if not hooks(machine, kinds.HOOK_PRE_DRAIN):
        stage = {"type": DELETING, "status": terms.TRUE, "reason": terms.WAITING_FOR_PRE_TERMINATE}
        status = machine.get("status") or {}
        machine["status"] = {**status, "conditions": [*(status.get("conditions") or []), stage]}
    snapshot["machines"] = [{**entry, "machine": machine} if entry is held else entry for entry in snapshot["machines"]]
    return snapshot


def member_removed(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after `removeMember`."""
    workload, leaders = dict(snapshot["workload"]), _next_leaders(snapshot, decision)
    workload["etcd"] = without_member(workload["etcd"], decision["target"]["memberID"], leaders)
    seen_by_witnesses(workload, lambda etcd: without_member(etcd, decision["target"]["memberID"], leaders))
    snapshot["workload"] = workload
    return snapshot


def node_removed(snapshot: Object, decision: Object) -> Object:
    """Return the snapshot after `removeNode`."""
    workload = dict(snapshot["workload"])
    for key in ("nodes", "leftBehind"):
        workload[key] = [node for node in workload.get(key) or [] if node["name"] != decision["target"]["node"]]
    snapshot["workload"] = workload
    return snapshot


def _next_leaders(snapshot: Object, decision: Object) -> list[str]:
    """Return the members to which leadership is moved, best first.

    By name.
    """
    machines = (decision.get("leadership") or {}).get("to") or []
    nodes = {entry["machine"]["metadata"]["name"]: machine_view(entry).node_name for entry in snapshot["machines"]}
    return [nodes.get(name) or name for name in machines]


def _other_witnesses(snapshot: Object, workload: Object) -> list[Object]:
    """Return the witnesses among the machines that are left.

    Where all of them are gone, another machine is asked the next time.
    """
    asked = workload.get("witnesses") or []
    joined = [
        entry["machine"]["metadata"]["name"]
        for entry in snapshot["machines"]
        if _state(entry) == terms.SUCCEEDED and not entry["machine"]["metadata"].get("deletionTimestamp")
    ]
    left = [each for each in asked if each["machine"] in joined and each["machine"] != workload.get("via")]
    heard = next((each for each in asked if each.get("reachable") is True), None)
    others = [name for name in joined if name != workload.get("via")]
    if heard is not None and others and not any(each.get("reachable") is True for each in left):
        return [{**heard, "machine": others[0]}]
    return left


def _state(entry: Object) -> str:
    return str(((entry["machine"].get("status") or {}).get("bootstrap") or {}).get("state") or "")


def nothing_left() -> Object:
    """Return the workload of a cluster without machines."""
    return unreached("no machine has been bootstrapped yet", False)
