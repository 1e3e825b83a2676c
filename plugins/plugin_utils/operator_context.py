# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command of a Task is given: its node, the frozen plan, and the means to run things there and to ask the cluster."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.plans import NodeFacts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload.compare_and_swap import Read
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects, Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload_action import Planner

# A command: it may have run before, whole or in part, and does what is left.
Run = t.Callable[["TaskContext", t.Mapping[str, t.Any]], None]


class CommandFailure(Exception):
    """A command that failed: what is wrong, and what to do, in words. Its Action pauses."""


@dataclass(frozen=True)
class Output:
    """What a command on a node left. ``head`` and ``tail`` are at most 16 KiB each, without secrets; ``tail`` is "" where head has it all."""

    argv: tuple[str, ...]
    rc: int
    start_time: str
    end_time: str
    head: str
    tail: str
    size: int
    sha256: str
    log_path: str

    @property
    def text(self) -> str:
        """All of the output that is kept."""
        return self.head + (f"\n[...]\n{self.tail}" if self.tail else "")


class TaskContext:
    """One command of a Task, on one node.

    Attributes:
        cluster, objects: the cluster's name and what the store holds of it.
        action: the Action ({} for a detached Task). task: the Task.
        index: the command's place in the Task, from 0.
        node: the Task's Node, as the frozen plan has it. nodes: all Nodes of the frozen plan, by name.
        plan_facts: what the frozen plan recorded of the cluster: kubernetesVersion, clusterConfiguration, externalEtcd, extra, …
        fencing: the run's fencing number; every irreversible call on a node gets it.
    """

    cluster: str
    objects: ClusterObjects
    action: Object
    task: Object
    index: int
    node: NodeFacts
    nodes: tuple[NodeFacts, ...]
    plan_facts: t.Mapping[str, t.Any]
    fencing: t.Optional[int]

    def now(self) -> str:
        """The time, RFC 3339 UTC."""
        raise NotImplementedError

    def note(self, text: str) -> None:
        """Keep a line in the Task's record ("already …"), and show it."""
        raise NotImplementedError

    def progress(self, text: str) -> None:
        """Show a line for people; nothing is kept."""
        raise NotImplementedError

    def call(self, module: str, arguments: t.Mapping[str, t.Any], node: t.Optional[str] = None) -> dict[str, t.Any]:
        """Run a module of the collection on this Task's node (or another Node, by name); its machine-id and the fencing number travel along.

        Raises:
            CommandFailure: the node was not reached, or the module failed.
        """
        raise NotImplementedError

    def run(
        self,
        argv: t.Sequence[str],
        step: str = "",
        timeout_seconds: int = 600,
        node: t.Optional[str] = None,
        ok: t.Sequence[int] = (0,),
    ) -> Output:
        """Run a program on the node, without a shell, to its end; it is kept in the Task's record.

        It runs as a transient unit named after Task, command and step: after a kill it is found again, awaited, and its result
        taken; it is never started twice. A command that runs several programs names each by a step of its own.

        Raises:
            CommandFailure: not reached, not ended within the time, or an exit status that isn't in ``ok``.
        """
        raise NotImplementedError

    def workload(self, reads: t.Sequence[Read], planner: Planner) -> dict[str, t.Any]:
        """Read objects of the workload cluster on a control plane node that answers, and write what the planner says, by compare and swap.

        Returns:
            the plan's facts, with ``changed`` and ``msg``.

        Raises:
            CommandFailure: no node answers, or somebody else keeps writing there.
        """
        raise NotImplementedError

    def observe(self) -> dict[str, t.Any]:
        """What the cluster says of itself now: the snapshot's ``workload`` part (etcd, pods, nodes, component health)."""
        raise NotImplementedError

    def check_lock(self) -> None:
        """Before anything irreversible. Raises CommandFailure where this run has lost the cluster's lock."""
        raise NotImplementedError

    def secret(self, name: str) -> t.Optional[dict[str, bytes]]:
        """A Secret of the store by its whole name, decoded; None where there is none. Its values are removed from all records from now on."""
        raise NotImplementedError

    def put_secret(self, name: str, data: t.Mapping[str, bytes]) -> None:
        """Write a Secret whole; its values are removed from all records from now on."""
        raise NotImplementedError

    def forget_secret(self, name: str) -> None:
        """Delete a Secret; one that isn't there is no error."""
        raise NotImplementedError
