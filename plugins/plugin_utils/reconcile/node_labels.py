# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sync of Machine labels to Nodes, as Cluster API's core does it.

Source: docs/reference/cluster_api.md, "Propagation".

Three domains are a Machine's to set; every other label of a Node is another writer's. The Node's own annotation
remembers which came from the Machine: what leaves the Machine leaves the Node, and what kubeadm or a user has set
there stays.
"""

from __future__ import annotations

import json
import typing as t

from ..calls.machine_connection import Answer
from ..observe.observation import Caller
from ..records.cluster_objects import ClusterObjects, Object

ROLE_PREFIX = "node-role.kubernetes.io/"
RESTRICTION_DOMAIN = "node-restriction.kubernetes.io"
MANAGED_DOMAIN = "node.cluster.x-k8s.io"
FROM_MACHINE_ANNOTATION = "cluster.x-k8s.io/labels-from-machine"
MODULE = "workload_objects"
_KEEP = ("metadata.labels", "metadata.annotations")


def sync(objects: ClusterObjects, caller: Caller, snapshot: Object) -> list[str]:
    """Sync the Machines' labels to their Nodes; return the changes, never values.

    Nothing is asked where what was just observed shows no difference. What can't be written now is left to the next
    run, and so is a Node that another writer changes meanwhile. Nothing is done while the cluster is paused or
    deleted.

    Args:
        objects: the cluster's objects.
        caller: reaches the machines.
        snapshot: what was observed of the Nodes.
    """
    wanted = differing(objects, snapshot)
    if not wanted:
        return []
    found = _ask(objects, caller, {"read": [{"path": path, "keep": list(_KEEP)} for path in sorted(wanted)]})
    writes, told = [], []
    for path, labels in sorted(wanted.items()):
        node = ((found or {}).get("objects") or {}).get(path)
        change = patch(labels, node["metadata"]) if node else None
        if node and change:
            version = node["metadata"]["resourceVersion"]
            write = {"path": path, "method": "merge", "document": json.dumps(change), "resource_version": version}
            writes.append(write)
            told.append(f"labels of Node {node['metadata']['name']}: {', '.join(sorted(change['metadata']['labels']))}")
    done = _ask(objects, caller, {"write": writes}) if writes else None
    return told[: int((done or {}).get("written") or 0)]


def differing(objects: ClusterObjects, snapshot: Object) -> dict[str, dict[str, str]]:
    """Return the labels of Machines whose observed Node differs.

    They are by the Node's path in the API; none of a paused or deleted cluster.
    """
    if objects.paused or objects.going:
        return {}
    nodes = {str(each["name"]): each for each in (snapshot.get("workload") or {}).get("nodes") or ()}
    wanted = {}
    for machine in objects.machines:
        name = str(((machine.get("status") or {}).get("nodeRef") or {}).get("name") or "")
        labels = managed(machine["metadata"].get("labels") or {})
        if name in nodes and not machine["metadata"].get("deletionTimestamp") and patch(labels, nodes[name]):
            wanted[_path(name)] = labels
    return wanted


def managed(labels: t.Mapping[str, str]) -> dict[str, str]:
    """Return the Machine labels that are synced to its Node."""
    return {key: value for key, value in labels.items() if _is_managed(key)}


def patch(labels: t.Mapping[str, str], node: t.Mapping[str, t.Any]) -> t.Optional[Object]:
    """Return the merge patch for a Node's labels, None without a difference.

    Args:
        labels: the Machine's, of the three domains.
        node: what has the Node's ``labels`` and ``annotations``.
    """
    present, annotations = node.get("labels") or {}, node.get("annotations") or {}
    recorded = str(annotations.get(FROM_MACHINE_ANNOTATION, ""))
    gone = {key for key in recorded.split(",") if _is_managed(key)} - set(labels)
    changes: dict[str, t.Optional[str]] = {key: None for key in gone if key in present}
    changes.update({key: value for key, value in labels.items() if present.get(key) != value})
    record = ",".join(sorted(labels))
    if not changes and record == recorded:
        return None
    return {"metadata": {"labels": changes, "annotations": {FROM_MACHINE_ANNOTATION: record or None}}}


def _is_managed(key: str) -> bool:
    domain = key.partition("/")[0]
    return "/" in key and (
        key.startswith(ROLE_PREFIX)
        or any(domain == each or domain.endswith(f".{each}") for each in (RESTRICTION_DOMAIN, MANAGED_DOMAIN))
    )


def _path(node: str) -> str:
    return f"/api/v1/nodes/{node}"


def _ask(objects: ClusterObjects, caller: Caller, call: Object) -> t.Optional[Object]:
    """Return the first answer of a control plane machine, else None."""
    for each in objects.bootstrapped_machines():
        answer: Answer = caller.call(objects.reach(str(each["metadata"]["name"])), MODULE, call)
        if not answer.failed:
            return answer.result
    return None
