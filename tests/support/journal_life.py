# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journals written by the collection's own journal, at times that a test says."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import format_time
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

# 2026-01-02T12:00:00Z
NOON = 1767355200
MACHINES = ("prod-4t7kx", "prod-x7k2p", "prod-q9w3z")
INIT = (
    "init",
    "preflight",
    "certs",
    "kubeconfig",
    "etcd",
    "control-plane",
    "kubelet-start",
    "wait-control-plane",
    "addons",
)
JOIN = ("preflight", "certs", "kubeconfig", "check-etcd", "kubelet-start", "etcd", "mark-control-plane")
PLAN = "createInfrastructure createCertificates initialize join join"


def at(seconds: float) -> str:
    """The time so many seconds after noon."""
    return format_time(NOON + seconds)


class Life:
    """A cluster's journal in a store, written second by second."""

    def __init__(self, store: Path, cluster: str = "prod", run: str = "run-1") -> None:
        self.now = 0.0
        self.run = run
        self.journal = Journal(str(store), "default", cluster, clock=lambda: at(self.now))

    def begin(self, second: float, action: str, target: str = "", **details: t.Any) -> str:
        """Begin a step."""
        self.now = second
        return self.journal.intent(action, target, self.run, {"message": f"{action} it", **details})

    def end(self, second: float, identifier: str, result: str = "succeeded", message: str = "") -> None:
        """End a step."""
        self.now = second
        self.journal.outcome(identifier, result, message)

    def step(self, begin: float, end: float, action: str, target: str = "", **details: t.Any) -> None:
        """A step that succeeds."""
        self.end(end, self.begin(begin, action, target, **details))

    def fact(
        self, second: float, event: str, message: str = "", target: str = "", identifier: str = "", **details: t.Any
    ) -> str:
        """A fact."""
        self.now = second
        return self.journal.fact(event, self.run, message, target, details, identifier)

    def phases(self, second: float, machine: str, names: t.Sequence[str], begin: float, every: float = 3) -> None:
        """kubeadm's phases, ``every`` seconds each."""
        found = [[name, at(begin + number * every)] for number, name in enumerate(names)]
        self.fact(second, "phases", target=machine, phases=found)

    def close(self, second: float, result: str = "changed", message: str = "", playbook: str = "reconcile") -> None:
        """The run's end."""
        self.fact(second, "end", message, playbook=playbook, result=result)


def creation(life: Life) -> None:
    """A control plane of three is made, with one wait."""
    one, two, three = MACHINES
    life.step(0, 4, "createInfrastructure", plan=PLAN, replicas=0, wanted=3)
    life.step(4, 6, "createCertificates", replicas=0, wanted=3)
    first = life.begin(6, "initialize", votersBefore=0, votersAfter=1, replicas=0, wanted=3)
    life.phases(38, one, INIT, 12)
    life.end(44, first)
    wait = life.fact(44, "wait", f"waiting: Node {one} is not Ready yet", reason="NodesReady")
    life.fact(51, "waited", identifier=wait)
    seen: dict[str, t.Any] = {"wanted": 3, "leader": one, "endpoint": True}
    second = life.begin(51, "join", votersBefore=1, votersAfter=2, voters=1, healthy=1, quorum=1, replicas=1, **seen)
    life.phases(79, two, JOIN, 56)
    life.end(84, second)
    third = life.begin(85, "join", votersBefore=2, votersAfter=3, voters=2, healthy=2, quorum=2, replicas=2, **seen)
    life.phases(113, three, JOIN, 90)
    life.end(121, third)
    ends = [
        ["ca", at(86400 * 3650)],
        ["kubeconfig", at(86400 * 365)],
        *([f"{each} apiserver.crt", at(86400 * 365)] for each in MACHINES),
    ]
    life.fact(124, "state", "nothing to do", voters=3, healthy=3, quorum=2, replicas=3, certificates=ends, **seen)
    life.close(125, message="5 steps: createInfrastructure, createCertificates, initialize, join, join")


def failed_rollout(life: Life, begin: float = 3600) -> None:
    """A machine is added and another one removed; the next join fails, and the endpoint is gone meanwhile."""
    one, two, three = MACHINES
    life.run = "run-2"
    seen: dict[str, t.Any] = {"wanted": 3, "replicas": 3, "healthy": 3}
    plan = "join remove join remove join remove"
    join = life.begin(
        begin, "join", votersBefore=3, votersAfter=4, voters=3, leader=one, endpoint=True, plan=plan, **seen
    )
    life.phases(begin + 25, "prod-zzzzz", JOIN, begin + 5)
    life.end(begin + 30, join)
    life.step(
        begin + 32,
        begin + 50,
        "remove",
        one,
        votersBefore=4,
        votersAfter=3,
        voters=4,
        leader=two,
        endpoint=True,
        **seen,
    )
    failing = life.begin(
        begin + 52, "join", votersBefore=3, votersAfter=4, voters=3, leader=three, endpoint=False, **seen
    )
    life.phases(begin + 58, "prod-bbbbb", JOIN[:1], begin + 57)
    error = "the bootstrap of machine prod-bbbbb failed: kubeadm join ended with exit status 1: [ERROR Port-10250]: Port 10250 is in use"
    life.end(begin + 70, failing, "failed", error)
    life.close(begin + 71, "failed", error)
