# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking over machines that no control plane owns yet (docs/reference/cluster_api.md, "Adoption")."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy
from rules import says, short, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan


def orphan(builder: Builder, *names: str, owners: Any = None) -> Builder:
    """These machines (all without names) have other owner references."""
    for entry in builder.snapshot["machines"]:
        if not names or entry["machine"]["metadata"]["name"] in names:
            entry["machine"]["metadata"]["ownerReferences"] = owners or []
    return builder


OTHER = [{"kind": "MachineSet", "name": "md-0", "controller": True}]
NOT_CONTROLLING = [{"kind": "KubeadmControlPlane", "name": "prod"}, {"kind": "Cluster", "name": "prod"}]


@pytest.mark.parametrize("owners", [None, NOT_CONTROLLING])
def test_all_at_once(owners: Any) -> None:
    decision = decide(orphan(healthy(3), owners=owners).build())
    assert decision["action"] == "adopt"
    assert decision["target"]["machines"] == ["m1", "m2", "m3"]
    assert decision["target"]["machine"] is None
    assert decision["quorum"] is None


def test_without_any_reference() -> None:
    builder = healthy(3)
    del builder.entry("m2")["machine"]["metadata"]["ownerReferences"]
    assert decide(builder.build())["target"]["machines"] == ["m2"]


@pytest.mark.parametrize("recorded", [True, False], ids=["own", "another controller's"])
def test_then_they_are_managed(recorded: bool) -> None:
    builder = orphan(healthy(1))
    if not recorded:
        del builder.entry("m1")["machine"]["status"]["bootstrap"]
    steps = plan(upgrade(builder).build())
    assert [short(step) for step in steps] == ["adopt", "+", "-m1", "none"]


def test_nothing_else_happens_in_the_same_step() -> None:
    """Scaling and upgrading never together with adopting (the proposal for KubeadmControlPlane, "Scale Up")."""
    for builder in (healthy(3, replicas=5), healthy(5, replicas=3), upgrade(healthy(3)), healthy(3).marked("m2")):
        assert decide(orphan(builder, "m1").build())["action"] == "adopt"


@pytest.mark.parametrize(
    ("version", "action"),
    [
        ("v1.19.9", "adopt"),
        ("v1.20.2", "adopt"),
        ("v1.21.0", "adopt"),
        ("v1.21.0-rc.1", "adopt"),
        ("", "adopt"),
        ("v1.18.9", "blocked"),
        ("v1.22.0", "blocked"),
        ("v2.20.2", "blocked"),
    ],
)
def test_versions_may_be_one_minor_apart(version: str, action: str) -> None:
    builder = orphan(healthy(3))
    builder.entry("m2")["machine"]["spec"]["version"] = version
    decision = decide(builder.build())
    assert decision["action"] == action
    if action == "blocked":
        assert says(decision) == ("blocked", "AdoptionFailed")
        assert "m2" in decision["blockedOn"][0]["message"]
        assert decision["blockedOn"][0]["fix"]


def test_a_machine_without_a_version_field_is_accepted() -> None:
    builder = orphan(healthy(3))
    del builder.entry("m2")["machine"]["spec"]["version"]
    assert decide(builder.build())["action"] == "adopt"


def test_each_needs_its_config_and_else_nobody_is_adopted() -> None:
    builder = orphan(healthy(3))
    builder.entry("m3")["kubeadmConfig"] = None
    assert says(decide(builder.build())) == ("blocked", "AdoptionFailed")
    assert "m3" in decide(builder.build())["blockedOn"][0]["message"]


def test_one_that_is_managed_needs_none() -> None:
    builder = orphan(healthy(3), "m1")
    builder.entry("m3")["kubeadmConfig"] = None
    assert decide(builder.build())["target"]["machines"] == ["m1"]


@pytest.mark.parametrize(
    "owners",
    [
        OTHER,
        [{"kind": "KubeadmControlPlane", "name": "other", "controller": True}],
        [{"kind": "KubeadmControlPlane", "name": "prod"}, *OTHER],
    ],
)
def test_a_machine_of_somebody_else_stops_everything(owners: Any) -> None:
    for builder in (healthy(3), healthy(3, replicas=5), upgrade(healthy(3))):
        assert says(decide(orphan(builder, "m2", owners=owners).build())) == ("blocked", "MixedManagement")
    assert says(decide(orphan(orphan(healthy(3)), "m2", owners=OTHER).build())) == ("blocked", "MixedManagement")


def test_a_machine_that_is_going_is_not_adopted() -> None:
    builder = orphan(healthy(3), "m2").deleting("m2")
    assert decide(builder.build())["action"] == "remove"


def test_a_pause_and_a_deletion_come_first_and_the_number_of_replicas_too() -> None:
    paused = orphan(healthy(3))
    paused.snapshot["cluster"]["spec"]["paused"] = True
    assert says(decide(paused.build())) == ("none", "Paused")
    assert decide(orphan(healthy(3)).deleting().build())["action"] == "deleteMachines"
    assert says(decide(orphan(healthy(3)).wants(replicas=2).build())) == ("blocked", "ReplicasInvalid")


def test_nobody_needs_to_answer() -> None:
    assert decide(orphan(healthy(3)).unreachable().build())["action"] == "adopt"


def test_the_plan_foresees_the_rebuilt_spec() -> None:
    """Without a spec of its own the control plane gets what the machines were made from: nothing is outdated afterwards."""
    builder = orphan(healthy(3), "m1", "m2", "m3")
    builder.spec["kubeadmConfigSpec"] = {"format": "cloud-config"}
    assert [short(step) for step in plan(builder.build())] == ["adopt", "none"]


def test_flags_that_somebody_edited_are_said_and_nothing_is_done() -> None:
    """A hand in a static pod's manifest is told for as long as its Node is there; it never makes a machine outdated."""
    builder = healthy(3)
    found = {"node": "m1", "component": "kube-apiserver", "flag": "audit-log-maxage", "kind": "added"}
    builder.workload["staticPodDrift"] = [found, {**found, "node": "m3"}, {**found, "node": "gone"}]
    decision = decide(builder.build())
    assert decision["action"] == "none"
    [told] = [each["message"] for each in decision["reasons"] if each["reason"] == "StaticPodDrift"]
    assert told.startswith("kube-apiserver of m1, m3: --audit-log-maxage is neither kubeadm's own nor in the spec")
