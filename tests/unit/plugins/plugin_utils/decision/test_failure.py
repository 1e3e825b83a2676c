# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminal failures in the contract's fields, with the five reasons of the first proposal for KubeadmControlPlane."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, cluster, healthy
from rules import lasting, outdate, replaces, surge, upgrade
from worker_snapshots import WorkerBuilder, deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

Object = dict[str, Any]


def lost() -> Builder:
    """A control plane of which nothing is left but the record that it was there."""
    builder = cluster(3)
    builder.snapshot["controlPlane"]["status"] = {"initialization": {"controlPlaneInitialized": True}}
    return builder


def paused() -> Builder:
    """A cluster that nothing is done to, whatever is wrong."""
    builder = healthy(3).wants(replicas=2)
    builder.snapshot["cluster"]["spec"]["paused"] = True
    return builder


def with_workers() -> Builder:
    """A control plane that is to be deleted and still has workers."""
    builder = healthy(3).deleting()
    builder.workload["workerNodes"] = ["w1"]
    return builder


def without_window() -> Builder:
    """A replacement is due, and when it may be nobody can tell."""
    builder = upgrade(healthy(3))
    builder.snapshot["maintenance"] = {"open": None, "message": "there is no such weekday"}
    return builder


def without_infrastructure() -> Builder:
    """The Cluster refers to an infrastructure cluster that isn't there."""
    builder = cluster(3).bare()
    builder.snapshot["infrastructureCluster"] = None
    return builder


def tried_enough() -> Builder:
    """The machine that a rollout makes failed, and so did the one before it; no more are wanted."""
    builder = outdate(healthy(3), "m1", "m2", "m3").wants(remediation={"maxRetry": 1})
    builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    return replaces(builder.machine("m4", "Failed", age=50), "m4", 100, 1)


def to_external_etcd() -> Builder:
    """What was observed with etcd on the machines is stored; then somebody names an external etcd."""
    observed = decide(healthy(3).build())["status"]["controlPlane"]
    builder = healthy(3)
    builder.snapshot["controlPlane"]["status"] = observed
    etcd = {"external": {"endpoints": ["https://etcd.example:2379"]}}
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = etcd
    return builder


FAILURES: dict[str, tuple[Any, str]] = {
    "an even number": (lambda: healthy(3).wants(replicas=2), "InvalidConfiguration"),
    "no machine may go and none may come": (lambda: surge(upgrade(healthy(1)), 0), "InvalidConfiguration"),
    "a window that is none": (without_window, "InvalidConfiguration"),
    "no infrastructure cluster": (without_infrastructure, "InvalidConfiguration"),
    "a version back": (lambda: upgrade(healthy(3), "v1.19.1"), "UnsupportedChange"),
    "a version skipped": (lambda: upgrade(healthy(3), "v1.22.1"), "UnsupportedChange"),
    "etcd becomes external": (to_external_etcd, "UnsupportedChange"),
    "the first machine failed": (lambda: cluster(3).machine("x", "Failed").endpoint(True), "CreateError"),
    "a machine failed as often as it may": (tried_enough, "UpdateError"),
    "etcd lost its quorum": (
        lambda: lasting(upgrade(healthy(3)).sick_member("m2").sick_member("m3")),
        "UpdateError",
    ),
    "every machine is gone": (lost, "UpdateError"),
    "the only machine is to go": (lambda: healthy(1).marked("m1"), "UpdateError"),
    "workers while it is deleted": (with_workers, "DeleteError"),
}


def fields(status: Object) -> tuple[Any, Any, Any]:
    older = status["deprecated"]["v1beta1"]
    return status.get("failureReason"), older.get("failureReason"), older.get("failureMessage")


@pytest.mark.parametrize(("make", "reason"), FAILURES.values(), ids=FAILURES.keys())
def test_what_no_run_gets_over(make: Any, reason: str) -> None:
    """On the control plane and on its Cluster, in the fields of the contract v1beta1 and where v1beta2 keeps them."""
    decision = decide(make().build())
    assert decision["action"] == "blocked"
    for part in ("controlPlane", "cluster"):
        at_the_top, kept, message = fields(decision["status"][part])
        assert (at_the_top, kept) == (reason, reason)
        assert message == decision["blockedOn"][0]["message"]
        assert decision["status"][part]["failureMessage"] == message


def outdated_worker() -> WorkerBuilder:
    """An unhealthy, outdated worker that nothing replaces: it blocks, and is no failure of the control plane."""
    workers = deployment(healthy(3), 1).strategy(kind="OnDelete").worker("a", "old", marked=True)
    assert decide(workers.build())["blockedOn"][0]["reason"] == "CannotBeRemediated"
    return workers


TRANSIENT: dict[str, Any] = {
    "nothing": lambda: healthy(3),
    "an unhealthy member": lambda: healthy(3, replicas=5).sick_member("m2"),
    "no answer": lambda: healthy(3).unreachable(),
    "a rollout": lambda: upgrade(healthy(3)),
    "paused": paused,
    "a worker": outdated_worker,
}


@pytest.mark.parametrize("make", TRANSIENT.values(), ids=TRANSIENT.keys())
def test_what_passes_or_can_be_tried_again_is_none(make: Any) -> None:
    status = decide(make().build())["status"]
    assert fields(status["controlPlane"]) == fields(status["cluster"]) == (None, None, None)
    assert "failureReason" not in status["controlPlane"]


def test_it_goes_when_it_was_mended() -> None:
    """The writer takes away what is None."""
    builder = healthy(3)
    builder.snapshot["controlPlane"]["status"].update(failureReason="InvalidConfiguration", failureMessage="…")
    status = decide(builder.build())["status"]["controlPlane"]
    assert status["failureReason"] is None and status["failureMessage"] is None
    assert "failureReason" not in status["deprecated"]["v1beta1"]
