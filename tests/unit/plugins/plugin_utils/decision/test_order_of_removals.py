# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who goes first of several that are to go: what is refused for the first one is asked of the next.

Without that one, what holds the first one up may hold it up for ever.
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy
from rules import (
    REMEDIATE_MACHINE,
    condition,
    dead,
    etcd_version,
    external,
    in_progress,
    replaces,
    says,
    victim,
    walk,
    witness,
)

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def test_a_second_dead_machine_goes_before_a_marked_one_that_works() -> None:
    """An etcd that adds nothing beside a silent voter: the replacement of the first one waits for the second one's end."""
    builder = etcd_version(healthy(4, replicas=5), "3.4.23")
    builder = in_progress(dead(builder, "m4"), "gone").marked("m4").annotate(REMEDIATE_MACHINE, "", "m1")
    assert victim(witness(builder, "m3")) == "m4"


def test_a_marked_one_that_works_stays_where_the_quorum_needs_it_and_the_dead_one_goes() -> None:
    builder = dead(healthy(3), "m3").marked("m3").annotate(REMEDIATE_MACHINE, "", "m2")
    decision = decide(witness(builder, "m2").build())
    assert (decision["action"], decision["target"]["machine"]) == ("remove", "m3")
    told = condition(decision, "OwnerRemediated", "m2")
    assert (told["reason"], told["status"]) == ("CannotBeRemediated", "False")


def test_nor_does_one_whose_retries_are_used_up() -> None:
    builder = healthy(5).marked("m2", "m4").wants(remediation={"maxRetry": 0})
    record = '{"machine": "earlier", "timestamp": "2026-01-31T11:50:00Z", "retryCount": 0}'
    assert victim(builder.annotate("controlplane.cluster.x-k8s.io/remediation-for", record, "m2")) == "m4"


def test_of_deleted_machines_the_dead_one_goes_first() -> None:
    """The older mark is the healthy machine's, whose removal would take the quorum while the other one is dead."""
    builder = dead(healthy(3), "m3").deleting("m2", "m3")
    builder.entry("m2")["machine"]["metadata"]["deletionTimestamp"] = "2026-01-31T11:00:00Z"
    assert victim(witness(builder, "m2")) == "m3"


def test_of_failed_bootstraps_the_one_that_may_be_tried_again() -> None:
    builder = healthy(3, replicas=5).machine("m4", "Failed", age=60).machine("m5", "Failed", age=30)
    builder.wants(remediation={"maxRetry": 0})
    record = '{"machine": "earlier", "timestamp": "2026-01-31T11:50:00Z", "retryCount": 0}'
    assert victim(builder.annotate("controlplane.cluster.x-k8s.io/remediation-for", record, "m4")) == "m5"


def test_one_at_a_time_it_stays() -> None:
    """Where the replacement can join, the next one waits for it."""
    builder = in_progress(healthy(4, replicas=5), "gone").marked("m1", "m2")
    assert walk(builder)[0] == "+"


PERIOD = {"retryPeriodSeconds": 600}
TRIED = {"maxRetry": 0}


class TestBesideAnotherRemoval:
    """Beside one that is refused or postponed nothing else begins (docs/reference/invariants.md, I2), and what is wrong is told."""

    def failed(self, **limits: int) -> Builder:
        """The fifth machine's bootstrap failed, and is not tried again now."""
        builder = healthy(4, replicas=5).machine("m5", "Failed", age=1000).wants(remediation=limits)
        return replaces(builder, "m5", 100)

    def told(self, builder: Builder, machine: str) -> list[str]:
        """The remedies for this machine; nothing is done."""
        decision = decide(builder.build())
        assert (decision["action"], decision["target"]) == ("blocked", None)
        return [each["fix"] for each in decision["blockedOn"] if f"machine {machine}" in each["message"]]

    @pytest.mark.parametrize("limits", [PERIOD, TRIED])
    def test_a_dead_machine_is_told_beside_a_failed_one_that_is_not_tried_again(self, limits: dict[str, int]) -> None:
        builder = dead(self.failed(**limits), "m2").stored("EtcdMemberHealthy", "False", 3000, "m2")
        assert self.told(builder, "m2") and self.told(builder, "m5")

    @pytest.mark.parametrize("limits", [PERIOD, TRIED])
    def test_where_it_is_marked_the_way_out_is_told_and_is_one(self, limits: dict[str, int]) -> None:
        builder = dead(self.failed(**limits), "m2").stored("EtcdMemberHealthy", "False", 3000, "m2").marked("m2")
        assert any("kubectl delete machine m2" in fix for fix in self.told(builder, "m2"))
        assert condition(decide(builder.build()), "OwnerRemediated", "m2")["reason"] == "RemediationDeferred"
        assert victim(builder.deleting("m2")) == "m2"

    def test_so_it_is_beside_a_deleted_one_that_the_quorum_needs(self) -> None:
        builder = dead(healthy(3), "m3").stored("EtcdMemberHealthy", "False", 3000, "m3").marked("m3").deleting("m2")
        assert any("kubectl delete machine m3" in fix for fix in self.told(builder, "m3"))
        assert walk(builder.deleting("m3"))[:3] == ["-m3", "-m2", "+"]

    @pytest.mark.parametrize("limits", [PERIOD, TRIED])
    def test_a_certificate_authority_that_is_missing_is_told(self, limits: dict[str, int]) -> None:
        builder = self.failed(**limits)
        builder.snapshot["certificates"]["etcd"]["present"] = False
        decision = decide(builder.build())
        assert decision["action"] == "blocked"
        assert [each["reason"] for each in decision["blockedOn"]].count("CertificatesNotAvailable") == 1

    def test_where_nothing_else_is_wrong_it_stays_postponed(self) -> None:
        decision = decide(self.failed(**PERIOD).build())
        assert says(decision) == ("postponed", "RemediationDeferred")
        assert {each["message"].split(":")[0] for each in decision["blockedOn"]} == {"machine m5 is not remediated"}

    def test_a_marked_one_that_works_changes_no_ending(self) -> None:
        assert walk(self.failed(**PERIOD).marked("m2")) == ["postponed RemediationDeferred"]

    @pytest.mark.parametrize("etcd", [{"reachable": True}, {"reachable": False}])
    def test_with_an_external_etcd(self, etcd: Any) -> None:
        decision = decide(external(self.failed(**PERIOD).marked("m2"), etcd).build())
        assert decision["action"] == ("postponed" if etcd["reachable"] else "wait")
        assert any("machine m2" in each["message"] for each in decision["blockedOn"])

    def test_a_deletion_that_a_hook_holds_is_waited_for(self) -> None:
        """Its end changes what may go, and it is under way: no trouble breaks the wait off."""
        builder = dead(healthy(5), "m3").marked("m3").deleting("m2")
        builder.annotate("pre-drain.delete.hook.machine.cluster.x-k8s.io/of-others", "", "m2")
        decision = decide(builder.build())
        assert says(decision) == ("wait", "WaitingForPreDrainHook")
        assert any("machine m3" in each["message"] for each in decision["blockedOn"])
