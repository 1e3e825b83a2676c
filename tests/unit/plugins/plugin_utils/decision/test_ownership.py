# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose machines they are: a controller decides, never labels (docs/reference/decision.md)."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, cluster, healthy, member_id
from rules import condition, lasting, reasons, says, short, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan

MARK = "2026-01-31T11:59:00Z"
NOBODY: list[Any] = []
PROD = [{"kind": "KubeadmControlPlane", "name": "prod", "controller": True}]


def named(builder: Builder, name: str = "new") -> Builder:
    """The Cluster names another KubeadmControlPlane than the one that controls the machines (prod)."""
    builder.snapshot["controlPlane"]["metadata"]["name"] = name
    builder.snapshot["controlPlane"]["status"] = {}
    return builder


def owned(builder: Builder, owners: list[Any], *machines: str) -> Builder:
    """These machines (all without names) have these owner references."""
    for entry in builder.snapshot["machines"]:
        if not machines or entry["machine"]["metadata"]["name"] in machines:
            entry["machine"]["metadata"]["ownerReferences"] = owners
    return builder


def marked(builder: Builder, *owners: str) -> Builder:
    """These objects are marked for deletion."""
    for owner in owners:
        builder.snapshot[owner]["metadata"]["deletionTimestamp"] = MARK
    return builder


def new() -> list[Any]:
    """The owner reference of the control plane that the Cluster names now."""
    return [{"kind": "KubeadmControlPlane", "name": "new", "controller": True}]


class TestDeletedAlone:
    """A KubeadmControlPlane is deleted, and its Cluster is not."""

    def test_another_ones_machines_stay(self) -> None:
        """Pointed to a new one, and that one deleted to back out."""
        decision = decide(marked(named(healthy(3)), "controlPlane").build())
        assert says(decision) == ("none", "DeletionCompleted")
        assert "machines m1, m2, m3 are controlled by KubeadmControlPlane prod" in decision["reasons"][0]["message"]
        assert condition(decision, "Deleting")["reason"] == "DeletionCompleted"
        assert decision["conditions"]["machines"] == {} and decision["status"]["machines"] == {}
        assert decision["status"]["controlPlane"]["replicas"] == 0

    def test_it_was_never_initialized_itself(self) -> None:
        decision = decide(marked(named(healthy(3)), "controlPlane").build())
        assert condition(decision, "Initialized")["status"] == "False"
        assert decision["status"]["controlPlane"]["initialized"] is False

    def test_machines_of_nobody_stay(self) -> None:
        """They were never its own: it could have adopted them."""
        decision = decide(marked(owned(healthy(3), NOBODY), "controlPlane").build())
        assert says(decision) == ("none", "DeletionCompleted")
        assert "without a controller" in decision["reasons"][0]["message"]

    def test_its_own_that_never_carried_anything_goes(self) -> None:
        builder = named(healthy(3)).machine("m4", "")
        decision = decide(marked(owned(builder, new(), "m4"), "controlPlane").build())
        assert decision["action"] == "deleteMachines" and decision["target"]["machines"] == ["m4"]
        builder = marked(owned(builder, new(), "m4"), "controlPlane")
        assert [short(step) for step in plan(builder.build())] == ["deleteMachines", "none"]

    @pytest.mark.parametrize("owners", [PROD, NOBODY])
    def test_what_shares_etcd_with_others_does_not_go_at_once(self, owners: list[Any]) -> None:
        """Machines of a whole control plane are deleted without asking etcd, which is the others' as well."""
        builder = marked(owned(owned(named(healthy(3)), new()), owners, "m3"), "controlPlane")
        decision = decide(builder.build())
        assert says(decision) == ("blocked", "MixedManagement")
        assert "m1, m2 would be deleted at once" in decision["blockedOn"][0]["message"]
        assert "ownerReferences" in decision["blockedOn"][0]["fix"]
        assert decision["status"]["controlPlane"]["failureReason"] == "DeleteError"

    def test_a_member_alone_is_shared_and_a_machine_that_carries_nothing_is_not(self) -> None:
        builder = owned(owned(named(healthy(2)).machine("m3", ""), new()), PROD, "m3")
        assert decide(marked(builder, "controlPlane").build())["target"]["machines"] == ["m1", "m2"]
        builder.member("m3", address="10.0.0.3")
        assert says(decide(builder.build())) == ("blocked", "MixedManagement")

    def test_all_of_its_own_go(self) -> None:
        decision = decide(marked(healthy(3), "controlPlane").build())
        assert decision["action"] == "deleteMachines" and decision["target"]["machines"] == ["m1", "m2", "m3"]


class TestTheClusterIsDeleted:
    """The Cluster is marked for deletion, and so is the control plane that it names."""

    def test_machines_of_nobody_go_with_it(self) -> None:
        decision = decide(owned(healthy(3), NOBODY, "m2").deleting().build())
        assert decision["action"] == "deleteMachines" and decision["target"]["machines"] == ["m1", "m2", "m3"]

    def test_another_ones_do_not(self) -> None:
        decision = decide(named(healthy(3)).deleting().build())
        assert says(decision) == ("blocked", "MixedManagement")
        assert "KubeadmControlPlane prod" in decision["blockedOn"][0]["message"]
        assert "spec.controlPlaneRef" in decision["blockedOn"][0]["fix"]

    def test_a_control_plane_that_is_gone_is_known_by_the_clusters_reference(self) -> None:
        builder = healthy(3).deleting()
        builder.snapshot["controlPlane"] = None
        builder.snapshot["cluster"]["spec"]["controlPlaneRef"] = {"kind": "KubeadmControlPlane", "name": "prod"}
        assert decide(builder.build())["target"]["machines"] == ["m1", "m2", "m3"]
        builder.snapshot["cluster"]["spec"]["controlPlaneRef"]["name"] = "new"
        assert says(decide(builder.build())) == ("blocked", "MixedManagement")


class TestTwoInOneCluster:
    """Every rule where machines of another KubeadmControlPlane carry the cluster's labels."""

    @pytest.mark.parametrize(
        "builder",
        [
            named(healthy(3)),
            named(healthy(3, replicas=5)),
            named(healthy(5, replicas=3)),
            upgrade(named(healthy(3))),
            named(healthy(3).marked("m2")),
            named(healthy(3).deleting("m2")),
            named(lasting(healthy(3).member("stray").stored("EtcdClusterHealthy", "False", 600))),
            owned(named(healthy(3)), NOBODY, "m1"),
        ],
        ids=["replicas", "more", "fewer", "version", "marked", "deleted", "stray", "nobody's"],
    )
    def test_nothing_is_done(self, builder: Builder) -> None:
        decision = decide(builder.build())
        assert says(decision) == ("blocked", "MixedManagement")
        assert "KubeadmControlPlane prod" in decision["blockedOn"][0]["message"]
        assert "spec.controlPlaneRef" in decision["blockedOn"][0]["fix"]
        assert not any(decision["annotations"].values()) and decision["removedConditions"] == {}

    def test_what_is_theirs_is_nobodys_stray(self) -> None:
        """Neither their members nor their Nodes; a member of no machine at all is one still."""
        decision = decide(named(healthy(3).member("x")).build())
        text = condition(decision, "EtcdClusterHealthy")["message"]
        assert member_id("x") in text and member_id("m1") not in text
        assert "StrayMember" not in reasons(decision) and "UnmanagedNode" not in reasons(decision)

    def test_their_controller_is_named_where_the_clusters_own_is_missing(self) -> None:
        builder = healthy(3)
        builder.snapshot["controlPlane"] = None
        builder.snapshot["cluster"]["spec"]["controlPlaneRef"] = {"kind": "KubeadmControlPlane", "name": "new"}
        decision = decide(builder.build())
        assert says(decision) == ("blocked", "ControlPlaneNotFound")
        assert "KubeadmControlPlane prod" in decision["blockedOn"][0]["message"]


@pytest.mark.parametrize(
    ("owner", "own"),
    [
        ({"kind": "KubeadmControlPlane", "name": "prod"}, True),
        ({"kind": "KubeadmControlPlane", "name": "prod", "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1"}, True),
        ({"kind": "KubeadmControlPlane", "name": "prod", "apiVersion": "example.org/v1"}, False),
        ({"kind": "KubeadmControlPlane", "name": "other"}, False),
        ({"kind": "MachineSet", "name": "prod"}, False),
    ],
)
def test_a_controller_is_known_by_kind_group_and_name(owner: dict[str, str], own: bool) -> None:
    decision = decide(owned(healthy(3), [{**owner, "controller": True}]).build())
    assert says(decision)[1] == ("UpToDate" if own else "MixedManagement")


def test_an_owner_that_does_not_control_is_none() -> None:
    builder = cluster(1).machine("m1")
    assert decide(owned(builder, [{"kind": "KubeadmControlPlane", "name": "other"}]).build())["action"] == "adopt"
