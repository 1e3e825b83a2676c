# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small clusters and Actions for tests of the operator, and a run of one without any node."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import flow, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.flow import Step
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.matching import Execution, NodeNow
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import (
    TASK,
    Secrets,
    TaskRecord,
    next_command,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

CLUSTER = "prod"
MASTER = "node-role.kubernetes.io/master"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
Object = dict[str, t.Any]


def node(name: str, label: str = CONTROL_PLANE, **more: t.Any) -> NodeFacts:
    """A Node; a worker where the label is empty."""
    labels = {"kubernetes.io/hostname": name, **({label: ""} if label else {})}
    known = {"kubelet_version": "v1.20.2", "machine": name if label else "", "machine_id": name.ljust(32, "0")}
    return NodeFacts(name=name, control_plane=bool(label), labels=labels, **{**known, **more})


def facts(*nodes: NodeFacts, **more: t.Any) -> ClusterFacts:
    """A cluster of these Nodes, else of three control plane nodes and two workers."""
    chosen = nodes or (node("cp-a"), node("cp-b"), node("cp-c"), node("w-1", ""), node("w-2", ""))
    return ClusterFacts(cluster=CLUSTER, kubernetes_version="v1.20.2", nodes=chosen, **more)


def group(name: str, *commands: t.Any, selector: t.Any = None, **more: t.Any) -> Object:
    """A group of a custom workflow; the control plane's Nodes by default."""
    chosen = {"matchLabels": {CONTROL_PLANE: ""}} if selector is None else selector
    return {"name": name, "nodeSelector": chosen, "commands": list(commands or ["pass"]), **more}


def action(*groups: Object, name: str = "first", **spec: t.Any) -> Object:
    """A custom Action as it is written."""
    content = {"custom": {"workflow": list(groups)}} if groups else {}
    return document(actions.ACTION, name, {**content, **spec})


def document(kind: str, name: str, spec: Object) -> Object:
    """An object as it is written."""
    return {"apiVersion": actions.API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def hub(data: Object) -> Object:
    """A valid object in the one form."""
    made, errors = actions.to_hub(data)
    assert errors == []
    return made


def executions(where: t.Union[Path, Store]) -> Executions:
    """A cluster's Actions in a store that is empty, or in a new one in a folder."""
    store = where if isinstance(where, Store) else FileStore(str(where / "store"))
    metadata = {"name": CLUSTER, "namespace": "default"}
    store.create({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata, "spec": {}})
    return Executions(store, "default", CLUSTER)


def begun(where: Executions, data: Object, cluster: t.Optional[ClusterFacts] = None) -> Object:
    """An Action that has begun."""
    obj = hub(data)
    plan = freeze.freeze(obj, cluster or facts(), "2026-01-01T00:00:00Z")
    return where.begin(where.put(obj), plan)


class Walk:
    """Carries an Action out with Tasks that do nothing but succeed, or fail where they are told to.

    Args:
        where: the cluster's Actions.
        root: the one that is carried out.
        fails: at which Node's how-manieth command (from 0) something fails.
    """

    def __init__(self, where: Executions, root: Object, fails: t.Optional[dict[str, int]] = None) -> None:
        self.where = where
        self.root = root
        self.fails = dict(fails or {})
        self.ran: list[tuple[str, str, int]] = []
        self.nodes: t.Optional[tuple[NodeNow, ...]] = None

    def look(self) -> tuple[Execution, Step]:
        """What comes next."""
        return self.where.advance(self.root, self.nodes)

    def until_it_ends(self) -> Step:
        """Run Tasks until the run ends."""
        while True:
            execution, step = self.look()
            if step.kind != flow.RUN:
                return step
            for name in step.tasks:
                self.task(execution, name)

    def task(self, execution: Execution, name: str) -> None:
        """Run one Task, as far as it comes."""
        record = TaskRecord(self.where.store, "default", name, Secrets())
        task = record.begin()
        where = str(task["spec"]["nodeName"])
        group_name = (task["metadata"].get("labels") or {}).get(actions.LABEL_TASK_GROUP, "")
        for index in range(next_command(task), len(task["spec"]["commands"])):
            (command,) = task["spec"]["commands"][index]
            record.begin_command(index, command)
            self.ran.append((group_name, where, index))
            if self.fails.get(where) == index:
                record.fail(index, command, "it was told to fail")
                return
            record.end_command(index)
        record.complete()

    def say(self, name: str, **spec: t.Any) -> None:
        """Change an object's spec as a person does."""
        for kind in actions.KINDS:
            if self.where.store.get(actions.kind_ref(kind), "default", name):
                self.where.store.modify(actions.kind_ref(kind), "default", name, lambda each: each["spec"].update(spec))
                return
        raise AssertionError(f"there is no {name}")

    def stored(self, kind: str, name: str) -> Object:
        """A stored object."""
        found = self.where.store.get(actions.kind_ref(kind), "default", name)
        assert found is not None, name
        return found

    @property
    def status(self) -> Object:
        """The Action's status."""
        return t.cast(Object, self.stored(self.root["kind"], self.root["metadata"]["name"])["status"])


__all__ = ["TASK", "Walk", "action", "begun", "document", "executions", "facts", "group", "hub", "node"]


Make = t.Callable[..., Walk]
