# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Event explains a decision: the reason is Cluster API's where it has one, and who is told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import Builder, cluster, healthy
from explained_store import ExplainedStore
from rules import upgrade
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import decision_text
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CONTROL_PLANE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.status import decision_events


class Kept:
    """The stored cluster prod with the machines m1, m2 and m3."""

    def __init__(self, folder: Path) -> None:
        stored_cluster(folder, "v1.20.2", {}, {}, dict.fromkeys(("m1", "m2", "m3"), "localhost"))
        self.store = ExplainedStore(str(folder))

    def objects(self) -> ClusterObjects:
        found = ClusterObjects.read(self.store, "default", "prod")
        assert found is not None
        return found

    def decided(self, builder: Builder) -> list[tuple[str, str, bool, str, str]]:
        decision = decide(builder.build())
        decision_events.record_decision(self.objects(), decision, decision_text.describe(decision))
        return self.store.told


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


BEGUN: dict[str, tuple[Any, str, list[str]]] = {
    "a machine more": (lambda: healthy(3, replicas=5), "ScalingUp", ["prod"]),
    "a machine less": (lambda: healthy(3, replicas=1), "ScalingDown", ["prod", "m1"]),
    "a rollout's new machine": (lambda: upgrade(healthy(3)), "RollingOut", ["prod"]),
    "an unhealthy machine": (lambda: healthy(3).marked("m2"), "Remediating", ["prod", "m2"]),
    "the first machine": (lambda: cluster(3).machine("m1", "").endpoint(False), "Initializing", ["prod", "m1"]),
    "the end": (lambda: healthy(3).deleting(), "Deleting", ["prod"]),
}


@pytest.mark.parametrize(("make", "reason", "about"), BEGUN.values(), ids=BEGUN.keys())
def test_what_begins(kept: Kept, make: Any, reason: str, about: list[str]) -> None:
    """On the control plane, and on the machine where there is one yet; the message is the run's own line."""
    builder = make()
    told = kept.decided(builder)
    line = decision_text.describe(decide(builder.build()))
    assert [(name, warning, why, message) for _kind, name, warning, why, message in told] == [
        (each, False, reason, line) for each in about
    ]
    assert told[0][0] == "KubeadmControlPlane"


@pytest.mark.parametrize(
    "make",
    [
        lambda: healthy(3),
        lambda: healthy(3).unreachable(),
        lambda: cluster(3).endpoint(None),
    ],
    ids=["nothing to do", "what is waited for", "an endpoint that can't be asked"],
)
def test_what_is_no_news(kept: Kept, make: Any) -> None:
    """Waiting shows in the conditions; an Event for each look would bury the others."""
    assert decide(make().build())["action"] in ("none", "wait")
    assert kept.decided(make()) == []


def test_what_blocks_is_a_warning(kept: Kept) -> None:
    """Cluster API's reason where its preflight checks would say it, else the decision's own."""
    alarm = healthy(3, replicas=5)
    alarm.workload["etcd"]["alarms"] = [{"memberID": alarm.workload["etcd"]["members"][0]["id"], "alarm": "NOSPACE"}]
    (kind, name, warning, reason, message), *_rest = kept.decided(alarm)
    assert (kind, name, warning, reason) == ("KubeadmControlPlane", "prod", True, "ControlPlaneUnhealthy")
    assert "alarm" in message
    kept.store.told.clear()
    kept.decided(healthy(3).wants(replicas=2))
    assert [(each[2], each[3]) for each in kept.store.told] == [(True, "ReplicasInvalid")]


FAILED = {
    "initialize": "FailedInitialization",
    "join": "FailedScaleUp",
    "remove": "FailedScaleDown",
    "adopt": "AdoptionFailed",
    "deleteMachines": "FailedDelete",
    "updateAddons": "FailedUpdateAddons",
}


@pytest.mark.parametrize(("action", "reason"), FAILED.items())
def test_what_failed(kept: Kept, action: str, reason: str) -> None:
    intent = {"action": action, "target": "m2"}
    decision_events.record_failure(kept.objects(), intent, "kubeadm ended with 1")
    assert [(each[1], each[2], each[3], each[4]) for each in kept.store.told] == [
        ("prod", True, reason, "kubeadm ended with 1"),
        ("m2", True, reason, "kubeadm ended with 1"),
    ]


def test_where_the_control_planes_object_is_gone_the_cluster_is_told_of(kept: Kept) -> None:
    kept.store.delete(CONTROL_PLANE, "default", "prod")
    decision_events.record_failure(kept.objects(), {"action": "deleteInfrastructure", "target": ""}, "no route to host")
    assert [each[:2] for each in kept.store.told] == [("Cluster", "prod")]
