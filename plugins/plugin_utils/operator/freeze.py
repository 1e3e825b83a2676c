# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frozen plan of an Action, its hashes, and its child objects.

Source: docs/reference/kubeadm_operator.md, "Defects".
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..objects import actions, origin
from ..objects.actions import Object
from ..objects.kinds import LABEL_CLUSTER_NAME
from . import kinds
from .custom import plan as custom
from .planner_types import ClusterFacts, GroupPlan, NodeFacts, RefusedAction, require_reachable

# A store keeps an object in a file of its name.
LONGEST_NAME = 240


def group_plans(root: Mapping[str, Any], facts: ClusterFacts) -> tuple[GroupPlan, ...]:
    """Return the planned TaskGroups of an Action.

    A detached TaskGroup or Task has exactly one. Raises RefusedAction.
    """
    if root["kind"] == actions.TASK_GROUP:
        return (custom.group_plan(str(root["metadata"]["name"]), root["spec"], facts, "spec"),)
    if root["kind"] == actions.TASK:
        return (custom.task_plan(root["spec"], facts),)
    kind = actions.what(root)
    return kinds.planner_of(kind).plan(root["spec"][kind], facts)


def freeze(root: Mapping[str, Any], facts: ClusterFacts, now: str = "") -> Object:
    """Return the plan of an Action for the present cluster (``now``: RFC 3339).

    Returns:
        the content of ``status.plan``: the groups with their numbers, names, Nodes and commands, the recorded facts of
        the cluster, and hashes of the request and of the plan itself. A plan without groups means that there is nothing
        to do.

    Raises:
        RefusedAction: it can't be carried out on this cluster; a Node that is needed can't be reached.
    """
    planned = [each for each in group_plans(root, facts) if each.nodes]
    require_reachable(facts, {name for each in planned for name in each.nodes})
    name = str(root["metadata"]["name"])
    width = max(2, len(str(len(planned))))
    groups = []
    for number, each in enumerate(planned, 1):
        order = str(number).zfill(width)
        own = root["kind"] != actions.ACTION
        full = name if own else f"{name}-{order}-{each.name}"
        groups.append(
            {
                "order": order,
                "name": full,
                "nodes": list(each.nodes),
                "policy": each.policy,
                "maxUnavailable": each.max_unavailable,
                "commands": [dict(command) for command in each.commands],
            }
        )
        for node in each.nodes:
            _require_name(task_name(root, groups[-1], node))
    plan = {
        "frozenAt": now,
        "requestHash": request_hash(root),
        "groups": groups,
        "nodes": [_node_record(each) for each in facts.nodes],
        "facts": {
            "cluster": facts.cluster,
            "kubernetesVersion": facts.kubernetes_version,
            "clusterConfiguration": facts.cluster_configuration,
            "kubeletConfiguration": facts.kubelet_configuration,
            "kubeProxyConfiguration": facts.kube_proxy_configuration,
            "externalEtcd": facts.external_etcd,
            "apiAnswers": facts.api_answers,
            "certificates": dict(facts.certificates),
            "etcdVersions": dict(facts.etcd_versions),
            "extra": dict(facts.extra),
        },
    }
    plan = json.loads(json.dumps(plan))
    return {**plan, "hash": plan_hash(plan)}


def _require_name(name: str) -> None:
    if len(name) > LONGEST_NAME:
        rule = f"is too long: a Task would be named {name[:60]}… with {len(name)} of at most {LONGEST_NAME} characters"
        raise RefusedAction("metadata.name", None, rule, "Give the Action a shorter name.")


def _node_record(node: NodeFacts) -> Object:
    record = dataclasses.asdict(node)
    return {
        "name": record["name"],
        "controlPlane": record["control_plane"],
        "labels": dict(record["labels"]),
        "kubeletVersion": record["kubelet_version"],
        "apiServerVersion": record["api_server_version"],
        "machine": record["machine"],
        "inventoryHost": record["inventory_host"],
        "machineID": record["machine_id"],
        "osImage": record["os_image"],
        "patches": record["patches"],
    }


def nodes_of(plan: Mapping[str, Any]) -> tuple[NodeFacts, ...]:
    """Return the Nodes of a frozen plan."""
    return tuple(
        NodeFacts(
            name=each["name"],
            control_plane=each["controlPlane"],
            labels=each["labels"],
            kubelet_version=each["kubeletVersion"],
            api_server_version=each["apiServerVersion"],
            machine=each["machine"],
            inventory_host=each["inventoryHost"],
            machine_id=each["machineID"],
            # A plan that an earlier version of this collection froze has neither.
            os_image=each.get("osImage", ""),
            patches=each.get("patches", ""),
        )
        for each in plan["nodes"]
    )


def request_hash(root: Mapping[str, Any]) -> str:
    """Return the hash of an Action's request.

    Fields that the user may change while the Action runs are not part of it.
    """
    spec = {key: value for key, value in root["spec"].items() if key not in actions.FLOW_FIELDS}
    return _hash({"kind": root["kind"], "spec": spec})


def plan_hash(plan: Mapping[str, Any]) -> str:
    """Return the hash of a plan, without its own ``hash`` field."""
    return _hash({key: value for key, value in plan.items() if key != "hash"})


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def task_name(root: Mapping[str, Any], group: Mapping[str, Any], node: str) -> str:
    """Return the name of a group's Task on a Node (docs/reference/kubeadm_operator.md, "Names")."""
    return str(root["metadata"]["name"]) if root["kind"] == actions.TASK else f"{group['name']}-{node}"


def group_spec(group: Mapping[str, Any]) -> Object:
    """Return the spec of a TaskGroup that is made from the plan."""
    return {
        "nodeNames": list(group["nodes"]),
        "policy": group["policy"],
        "maxUnavailable": group["maxUnavailable"],
        "selector": {"matchLabels": {actions.LABEL_TASK_GROUP: _label_value(group["name"])}},
        "template": {"spec": {"commands": list(group["commands"])}},
    }


def build_group(root: Mapping[str, Any], group: Mapping[str, Any]) -> Object:
    """Return an Action's TaskGroup object for the store."""
    return _child(actions.TASK_GROUP, group["name"], group_spec(group), root, root, group)


def build_task(root: Mapping[str, Any], group: Mapping[str, Any], owner: Mapping[str, Any], node: str) -> Object:
    """Return a TaskGroup's Task object for the store."""
    spec = {"nodeName": node, "commands": list(group["commands"])}
    return _child(actions.TASK, task_name(root, group, node), spec, root, owner, group)


def _child(
    kind: str,
    name: str,
    spec: Object,
    root: Mapping[str, Any],
    owner: Mapping[str, Any],
    group: Mapping[str, Any],
) -> Object:
    metadata = root["metadata"]
    labels = {**(metadata.get("labels") or {})}
    labels[actions.LABEL_UID] = origin.uid(root)
    labels[actions.LABEL_ORDER] = group["order"]
    labels[actions.LABEL_TASK_GROUP] = _label_value(group["name"])
    if root["kind"] == actions.ACTION:
        labels[actions.LABEL_ACTION] = _label_value(str(metadata["name"]))
    reference = {
        "apiVersion": actions.API_VERSION,
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {
        "apiVersion": actions.API_VERSION,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [reference],
        },
        "spec": spec,
    }


def _label_value(name: str) -> str:
    """Return a name as a label's value, of at most 63 characters."""
    if len(name) <= 63:
        return name
    return f"{name[:52].rstrip('-.')}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def new_root(obj: Mapping[str, Any], cluster: str, namespace: str) -> Object:
    """Return the user's object as created in the store for a cluster."""
    metadata = obj["metadata"]
    made: Object = {"apiVersion": actions.API_VERSION, "kind": obj["kind"], "spec": obj["spec"]}
    labels = {**(metadata.get("labels") or {}), LABEL_CLUSTER_NAME: cluster}
    made["metadata"] = {"name": metadata["name"], "namespace": namespace, "labels": labels}
    if metadata.get("annotations"):
        made["metadata"]["annotations"] = metadata["annotations"]
    return made
