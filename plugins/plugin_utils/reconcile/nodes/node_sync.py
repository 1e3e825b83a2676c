# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sync of Machine labels and taints to Nodes, as in Cluster API.

What of a Node is a Machine's is in node_labels.py and node_taints.py. Both go in one patch, compared with the version
of the Node that was read: a Node's taints are one list for all its writers.
"""

from __future__ import annotations

import json
import typing as t

from ....module_utils.common.kubernetes_facts import LABEL_CONTROL_PLANE, LABEL_MASTER, role_labels
from ...calls.machine_connection import Answer
from ...decision.conditions.node_registration import registered_taints, same_taint
from ...objects import kinds
from ...observe.observation import Caller
from ...records.cluster_objects import ClusterObjects, Object
from ...workload.swap import MODULE
from . import node_labels, node_taints

_EVICTING = "NoExecute"
_KEEP = ("metadata.labels", "metadata.annotations", "spec.taints")


class FromMachine(t.NamedTuple):
    """Labels and taints of a Machine for its Node, and kubeadm's own."""

    labels: dict[str, str]
    taints: list[Object]
    registered: list[Object]
    roles: tuple[str, ...] = ()

    def patch(self, node: t.Mapping[str, t.Any], taints: t.Sequence[Object]) -> tuple[t.Optional[Object], str]:
        """Return a Node's merge patch and its summary; None without a difference.

        Args:
            node: what has the Node's ``labels`` and ``annotations``.
            taints: the Node's.
        """
        labels = node_labels.patch(self.labels, node, self.roles)
        change = self.change_taints(node, taints)
        named = sorted(labels["metadata"]["labels"]) if labels else []
        said = [f"labels {', '.join(named)}"] if named else []
        made: Object = labels or {"metadata": {}}
        if change is not None:
            annotations = made["metadata"].setdefault("annotations", {})
            annotations[node_taints.FROM_MACHINE_ANNOTATION] = change.record
            if change.added or change.removed:
                made["spec"] = {"taints": change.taints or None}
            said += [f"taint {name} set" for name in change.added] + [
                f"taint {name} removed" for name in change.removed
            ]
        return (made if labels or change else None), "; ".join(said)

    def change_taints(
        self, node: t.Mapping[str, t.Any], taints: t.Sequence[Object]
    ) -> t.Optional[node_taints.TaintChange]:
        """Return the change of a Node's taints; arguments as for patch()."""
        return node_taints.change_taints(self.taints, taints, node.get("annotations") or {}, self._is_registered)

    def _is_registered(self, taint: Object) -> bool:
        # kubeadm's own are named without their effect, which is NoSchedule.
        return any(same_taint({"effect": "NoSchedule", **each}, taint) for each in self.registered)


def sync(objects: ClusterObjects, caller: Caller, snapshot: Object, tainted: bool = False) -> list[str]:
    """Sync the Machines' labels and taints to their Nodes; return the changes.

    The changes have no values. Nothing is asked where what was just observed shows no difference. What can't be written now is left to the next
    run, and so is a Node that another writer changes meanwhile. Nothing is done while the cluster is paused or
    deleted.

    Args:
        objects: the cluster's objects.
        caller: reaches the machines.
        snapshot: what was observed of the Nodes.
        tainted: only the Nodes of Machines that have taints.
    """
    wanted = {path: each for path, each in differing(objects, snapshot).items() if each.taints or not tainted}
    if not wanted:
        return []
    found = _ask(objects, caller, {"read": [{"path": path, "keep": list(_KEEP)} for path in sorted(wanted)]})
    writes, told = [], []
    for path, from_machine in sorted(wanted.items()):
        node = ((found or {}).get("objects") or {}).get(path)
        if not node:
            continue
        change, said = from_machine.patch(node["metadata"], (node.get("spec") or {}).get("taints") or ())
        if change:
            version = node["metadata"]["resourceVersion"]
            write = {"path": path, "method": "merge", "document": json.dumps(change), "resource_version": version}
            writes.append(write)
            told.append(f"Node {node['metadata']['name']}: {said}" if said else "")
    done = _ask(objects, caller, {"write": writes}) if writes else None
    return [each for each in told[: int((done or {}).get("written") or 0)] if each]


def differing(objects: ClusterObjects, snapshot: Object) -> dict[str, FromMachine]:
    """Return labels and taints of Machines whose observed Node differs.

    They are by the Node's path in the API; none of a paused or deleted cluster.
    """
    found = _with_node(objects, snapshot)
    return {_path(node["name"]): each for node, each in found if each.patch(node, node.get("taints") or ())[0]}


def _with_node(objects: ClusterObjects, snapshot: Object) -> t.Iterator[tuple[Object, FromMachine]]:
    """Yield each observed Node whose Machine stays, with that one's share."""
    workload = snapshot.get("workload") or {}
    nodes = {str(each["name"]): each for key in ("nodes", "workers") for each in workload.get(key) or ()}
    machines = () if objects.paused or objects.going else (*objects.machines, *objects.workers)
    for machine in machines:
        node = nodes.get(str(((machine.get("status") or {}).get("nodeRef") or {}).get("name") or ""))
        if node is not None and not machine["metadata"].get("deletionTimestamp"):
            yield node, _from_machine(objects, machine)


def evictions(objects: ClusterObjects, snapshot: Object) -> list[str]:
    """Return what the sync would set on Nodes that ends pods there.

    A taint with the effect NoExecute: Kubernetes evicts what doesn't tolerate it at once, past every PodDisruptionBudget.
    """
    found = []
    for node, from_machine in sorted(_with_node(objects, snapshot), key=lambda each: str(each[0]["name"])):
        change = from_machine.change_taints(node, node.get("taints") or ())
        evicting = [name for name in (change.added if change else ()) if name.endswith(f":{_EVICTING}")]
        if evicting:
            found.append(
                f"set the taint {', '.join(evicting)} on Node {node['name']} (risk: every pod there that doesn't tolerate it is evicted, "
                "whatever a PodDisruptionBudget says)"
            )
    return found


def _from_machine(objects: ClusterObjects, machine: Object) -> FromMachine:
    config = objects.kubeadm_configs.get(machine["metadata"]["name"])
    spec = (
        (config or {}).get("spec") or ((objects.control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
    )
    labels = machine["metadata"].get("labels") or {}
    if kinds.LABEL_CONTROL_PLANE not in labels:
        registration = (spec.get("joinConfiguration") or {}).get("nodeRegistration") or {}
        # With kubeadm's own role its Node would count as a control plane's that no store knows.
        own = {key: each for key, each in labels.items() if key not in (LABEL_CONTROL_PLANE, LABEL_MASTER)}
        return FromMachine(
            node_labels.managed(own), machine["spec"].get("taints") or [], registration.get("taints") or []
        )
    version = str(machine["spec"].get("version") or "")
    try:
        roles, registered = role_labels(version), registered_taints(spec, version)
    except ValueError:
        roles, registered = (LABEL_CONTROL_PLANE, LABEL_MASTER), []
    return FromMachine(node_labels.managed(labels), machine["spec"].get("taints") or [], registered, roles)


def _path(node: str) -> str:
    return f"/api/v1/nodes/{node}"


def _ask(objects: ClusterObjects, caller: Caller, call: Object) -> t.Optional[Object]:
    """Return the first answer of a control plane machine, else None."""
    for each in objects.bootstrapped_machines():
        answer: Answer = caller.call(objects.reach(str(each["metadata"]["name"])), MODULE, call)
        if not answer.failed:
            return answer.result
    return None
