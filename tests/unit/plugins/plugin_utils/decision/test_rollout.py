# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replacing machines that are not up to date, one by one (docs/reference/cluster_api.md, "Rollout").

The invariants: docs/reference/invariants.md, "Quorum stays", "One change at a time", "The last voter stays".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, at, cluster, healthy, member_id
from decisions import Change, changed
from rules import (
    ALLOW_PATCH_DOWNGRADE,
    condition,
    external,
    lasting,
    outdate,
    reasons,
    rename,
    says,
    short,
    sicken,
    surge,
    upgrade,
    walk,
    walked,
)

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict

EXPIRY = "machine.cluster.x-k8s.io/certificates-expiry"


def template(found: Any) -> Change:
    """The machine template is this one, or none."""
    return lambda builder: builder.snapshot.update(machineTemplate=found)


def authority(purpose: str, **facts: bool) -> Change:
    """These facts hold of an authority's Secret."""
    return lambda builder: builder.snapshot["certificates"][purpose].update(facts)


def replaced(builder: Builder, count: int) -> list[str]:
    """So many replacements with maxSurge 1, the oldest machine first, and then nothing."""
    return [step for number in range(1, count + 1) for step in ("+", f"-m{number}")] + ["none"]


class TestOrder:
    @pytest.mark.parametrize("count", [1, 3, 5])
    def test_surge_1_adds_and_then_removes(self, count: int) -> None:
        assert walk(upgrade(healthy(count))) == replaced(healthy(count), count)

    @pytest.mark.parametrize("count", [3, 5])
    @pytest.mark.parametrize("zero", [0, "0"])
    def test_surge_0_removes_and_then_adds(self, count: int, zero: Any) -> None:
        expected = [step for number in range(1, count + 1) for step in (f"-m{number}", "+")] + ["none"]
        assert walk(upgrade(surge(healthy(count), zero))) == expected

    @pytest.mark.parametrize(
        "change",
        [template(None), authority("ca", present=False), authority("sa", present=False), authority("ca", hasKey=False)],
    )
    def test_surge_0_removes_nothing_for_a_machine_that_cannot_be_made(self, change: Change) -> None:
        """Nor would surge 1 add it; the plan says so, too."""
        first = [walk(changed(surge(upgrade(healthy(3)), count), change)) for count in (0, 1)]
        assert first == [first[0]] * 2 and first[0][0].startswith("blocked ")

    @pytest.mark.parametrize(
        "change",
        [template(None), authority("sa", present=False), lambda builder: builder],
        ids=["template", "sa", "none"],
    )
    def test_surge_0_ends_a_replacement_that_was_begun_with_a_surge(self, change: Change) -> None:
        """Its machine is there: what the next one needs is no reason to keep a fourth voter."""
        builder = surge(walked(upgrade(surge(healthy(3), 1)), 1), 0)
        assert walk(changed(builder, change))[0] == "-m1"

    @pytest.mark.parametrize("one", [1, "1"])
    def test_1_is_the_default_and_may_be_text(self, one: Any) -> None:
        assert walk(upgrade(surge(healthy(3), one))) == walk(upgrade(healthy(3)))

    @pytest.mark.parametrize("builder", [healthy(1), external(healthy(2)), external(healthy(1))])
    def test_surge_0_wants_three_replicas(self, builder: Builder) -> None:
        assert walk(upgrade(surge(builder, 0))) == ["blocked RolloutStrategyInvalid"]

    def test_only_what_is_outdated_is_replaced(self) -> None:
        assert walk(outdate(healthy(3), "m2")) == ["+", "-m2", "none"]

    def test_the_voters_go_up_and_down_by_one(self) -> None:
        builder = upgrade(healthy(3))
        join = decide(builder.build())
        assert [join["quorum"][side]["voters"] for side in ("before", "after")] == [3, 4]
        remove = decide(walked(builder, 1).build())
        assert [remove["quorum"][side]["voters"] for side in ("before", "after")] == [4, 3]
        assert remove["target"]["memberID"]

    def test_new_machines_go_where_fewest_up_to_date_ones_are(self) -> None:
        builder = cluster(3).domains("a", "b", "c")
        for number, domain in enumerate("abc", start=1):
            builder.machine(f"m{number}", age=4000 - number, domain=domain)
        assert walk(upgrade(builder)) == ["+a", "-m1", "+b", "-m2", "+c", "-m3", "none"]

    def test_external_etcd(self) -> None:
        assert walk(upgrade(external(healthy(2)))) == ["+", "-m1", "+", "-m2", "none"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda b: b.spec["machineTemplate"]["spec"]["infrastructureRef"].update(name="bigger"),
            lambda b: b.spec["kubeadmConfigSpec"].update(preKubeadmCommands=["true"]),
            lambda b: b.wants(rollout={"after": at(60)}),
            upgrade,
        ],
    )
    def test_whatever_the_cause(self, change: Change) -> None:
        assert walk(changed(healthy(3), change)) == replaced(healthy(3), 3)


class TestReasons:
    @pytest.mark.parametrize("steps", [0, 1, 2, 5])
    def test_both_halves_are_the_rollouts(self, steps: int) -> None:
        decision = decide(walked(upgrade(healthy(3)), steps).build())
        assert says(decision)[1] == "RollingOut"
        assert condition(decision, "RollingOut")["status"] == "True"

    def test_what_is_outdated_is_said(self) -> None:
        text = str(decide(upgrade(healthy(3)).build())["reasons"]) + str(
            condition(decide(upgrade(healthy(3)).build()), "RollingOut")["message"]
        )
        assert "v1.20.2" in text
        assert "v1.21.1" in text

    def test_the_cluster_is_made_ready_for_the_new_version_first(self) -> None:
        named = [each["name"] for each in decide(upgrade(healthy(3)).build())["prerequisites"]]
        assert named == ["kubeletClientBinding", "kubeadmConfig", "kubeletConfigMap"]
        assert all(each["message"] for each in decide(upgrade(healthy(3)).build())["prerequisites"])

    def test_that_is_done_once_and_not_before_every_machine(self) -> None:
        """The newest machine joined as the next one will, so that all of it was there before."""
        joins = [walked(upgrade(healthy(3)), steps).build() for steps in (0, 2, 4)]
        assert [decide(each)["action"] for each in joins] == ["join"] * 3
        assert [bool(decide(each)["prerequisites"]) for each in joins] == [True, False, False]

    @pytest.mark.parametrize("old", [["m3"], ["m1", "m2", "m3"]])
    def test_it_is_done_again_where_the_newest_machine_is_of_another_spec(self, old: list[str]) -> None:
        """Changed back in the middle, or all are outdated: what the cluster says is not as wanted; the version's ConfigMap is there."""
        builder = outdate(healthy(3), *old)
        assert [each["name"] for each in decide(builder.build())["prerequisites"]] == [
            "kubeletClientBinding",
            "kubeadmConfig",
        ]

    def test_nothing_is_prepared_where_nothing_is_new(self) -> None:
        assert decide(healthy(1, replicas=3).build())["prerequisites"] == []
        assert decide(healthy(3).build())["prerequisites"] == []
        assert decide(walked(upgrade(healthy(3)), 1).build())["prerequisites"] == []

    @pytest.mark.parametrize("steps", [0, 2])
    def test_what_another_spec_left_is_written_anew_before_the_next_join(self, steps: int) -> None:
        """A spec that was taken back, also in the middle of a rollout to another one, was written for a machine that is not there."""
        builder = walked(upgrade(healthy(3)), steps) if steps else healthy(2, replicas=3)
        builder.workload["kubeadmConfig"]["asWanted"] = False
        snapshot = builder.build()
        decision = decide(snapshot)
        assert decision["action"] == "join"
        assert [each["name"] for each in decision["prerequisites"]] == ["kubeadmConfig"]
        assert predict(snapshot, decision)["workload"]["kubeadmConfig"]["asWanted"] is True
        builder.workload["kubeadmConfig"]["asWanted"] = True
        assert decide(builder.build())["prerequisites"] == []

    @pytest.mark.parametrize(
        ("old", "new", "bindings"),
        [
            ("v1.27.16", "v1.28.15", ["kubeletClientBinding"]),
            ("v1.28.15", "v1.29.0", ["kubeletClientBinding", "clusterAdminsBinding"]),
            ("v1.37.0", "v1.38.0", ["clusterAdminsBinding"]),
        ],
    )
    def test_what_rights_a_version_needs(self, old: str, new: str, bindings: list[str]) -> None:
        """kubeadm makes the one itself from 1.38 on; the other it needs from 1.29 on, and no join makes it."""
        builder = upgrade(cluster(3, old).machine("m1").machine("m2").machine("m3"), new)
        named = [each["name"] for each in decide(builder.build())["prerequisites"]]
        assert named == [*bindings, "kubeadmConfig", "kubeletConfigMap"]

    def test_surge_0_prepares_no_machine_ahead(self) -> None:
        assert decide(upgrade(surge(healthy(3), 0)).build())["prepare"] == []


class TestTimes:
    def test_machines_from_before_the_time_are_replaced_once_it_has_passed(self) -> None:
        builder = cluster(3).machine("m1", age=5000).machine("m2", age=100).machine("m3", age=4000)
        assert walk(builder.wants(rollout={"after": at(600)})) == ["+", "-m1", "+", "-m3", "none"]

    def test_a_time_to_come_changes_nothing(self) -> None:
        assert walk(healthy(3).wants(rollout={"after": at(-1)})) == ["none"]

    def test_certificates_that_end_soon_replace_only_their_machine(self) -> None:
        builder = healthy(3).wants(rollout={"before": {"certificatesExpiryDays": 30}})
        for name, days in (("m2", 29), ("m3", 31)):
            builder.entry(name)["machine"]["metadata"]["creationTimestamp"] = at(300 * 86400)
            builder.entry(name)["kubeadmConfig"]["metadata"]["annotations"] = {EXPIRY: at(-days * 86400)}
        assert walk(builder) == ["+", "-m2", "none"]

    def test_an_end_that_is_not_known_replaces_nothing(self) -> None:
        assert walk(healthy(3).wants(rollout={"before": {"certificatesExpiryDays": 30}})) == ["none"]

    def test_the_users_own_date_wins(self) -> None:
        builder = healthy(3).wants(rollout={"before": {"certificatesExpiryDays": 30}})
        builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {EXPIRY: at(-29 * 86400)}
        builder.annotate(EXPIRY, at(-300 * 86400), "m2")
        assert walk(builder) == ["none"]


class TestSpecChangesMidWay:
    def test_back_before_the_first_removal(self) -> None:
        builder = upgrade(walked(upgrade(healthy(3)), 1), "v1.20.2")
        assert walk(builder) == ["-new-1", "none"]

    def test_back_with_one_replica(self) -> None:
        assert walk(upgrade(walked(upgrade(healthy(1)), 1), "v1.20.2")) == ["-new-1", "none"]

    def test_back_after_two_were_replaced(self) -> None:
        builder = healthy(3).wants()
        builder.spec["kubeadmConfigSpec"]["preKubeadmCommands"] = ["true"]
        walked(builder, 4)
        del builder.spec["kubeadmConfigSpec"]["preKubeadmCommands"]
        assert rename(walk(builder)) == ["+", "-new", "+", "-new", "none"]

    def test_back_in_the_middle_of_a_replacement_takes_the_surplus_first(self) -> None:
        builder = healthy(3)
        builder.spec["kubeadmConfigSpec"]["preKubeadmCommands"] = ["true"]
        walked(builder, 3)
        del builder.spec["kubeadmConfigSpec"]["preKubeadmCommands"]
        assert rename(walk(builder)) == ["-new", "+", "-new", "none"]

    def test_a_version_does_not_come_back_by_itself(self) -> None:
        builder = upgrade(walked(upgrade(healthy(3)), 3), "v1.20.2")
        assert walk(builder) == ["-new-1", "blocked VersionDowngrade"]

    def test_a_patch_release_may_where_the_user_says_so(self) -> None:
        builder = upgrade(walked(upgrade(healthy(3), "v1.20.9"), 3), "v1.20.2")
        assert walk(builder)[-1] == "blocked VersionDowngrade"
        builder.annotate(ALLOW_PATCH_DOWNGRADE, "true")
        assert rename(walk(builder)) == ["-new", "+", "-new", "none"]

    def test_forward_again_finishes_with_the_newest(self) -> None:
        builder = upgrade(walked(upgrade(healthy(3)), 2), "v1.21.2")
        assert rename(walk(builder)) == ["+", "-m2", "+", "-m3", "+", "-new", "none"]

    def test_a_join_that_was_begun_ends_before_it_is_replaced(self) -> None:
        builder = healthy(3).machine("m4", "Running", age=30).wants()
        outdate(builder, "m1", "m2", "m3", "m4")
        assert walk(builder)[0] == "~m4"

    def test_one_that_never_started_is_not_even_started(self) -> None:
        builder = outdate(healthy(3).machine("m4", "", age=30), "m4")
        assert walk(builder) == ["-m4", "none"]


class TestReplicasMidWay:
    """A rollout counts with the replicas it began with: scaling never together with upgrading.

    Source: the proposal for KubeadmControlPlane, "Scale Up".
    """

    def test_the_number_is_recorded_while_it_is_under_way(self) -> None:
        builder = upgrade(healthy(3))
        for _step in range(6):
            assert decide(builder.build())["status"]["controlPlane"]["rollout"] == {"replicas": 3}
            walked(builder, 1)
        assert decide(builder.build())["status"]["controlPlane"]["rollout"] == {}
        assert decide(healthy(3).build())["status"]["controlPlane"]["rollout"] == {}

    @pytest.mark.parametrize("step", ["-m2", "removeMember"])
    def test_another_step_begins_none(self, step: str) -> None:
        """The rollout is held back by the user: what is removed or joined meanwhile keeps no scaling waiting."""
        builder = upgrade(healthy(3))
        builder.snapshot["policy"] = {"replace": "never"}
        if step == "-m2":
            builder.entry("m2")["machine"]["status"]["bootstrap"].update(state="Failed", message="exited with 1")
        else:
            builder.member("stray", healthy=False)
            builder.snapshot["controlPlane"]["status"]["strayMembers"] = [{"id": member_id("stray"), "since": at(3600)}]
        decision = decide(builder.build())
        assert short(decision) == step
        assert decision["status"]["controlPlane"]["rollout"] == {}

    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_more_wait_for_the_end(self, steps: int) -> None:
        builder = walked(upgrade(healthy(3)), steps).wants(replicas=5)
        assert "ScalingDeferred" in reasons(decide(builder.build()))
        left = ["+", "-m1", "+", "-m2", "+", "-m3"][steps:]
        assert walk(builder) == [*left, "+", "+", "none"]

    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_fewer_wait_for_the_end(self, steps: int) -> None:
        builder = walked(upgrade(healthy(3)), steps).wants(replicas=1)
        left = ["+", "-m1", "+", "-m2", "+", "-m3"][steps:]
        found = walk(builder)
        assert found[: len(left)] == left
        assert rename(found[len(left) :]) == ["-new", "-new", "none"]

    def test_surge_0_too(self) -> None:
        builder = walked(upgrade(surge(healthy(3), 0)), 1).wants(replicas=5)
        assert walk(builder) == ["+", "-m2", "+", "-m3", "+", "+", "+", "none"]

    def test_without_a_change_nothing_is_deferred(self) -> None:
        assert "ScalingDeferred" not in reasons(decide(walked(upgrade(healthy(3)), 1).build()))


class TestReplicasAndSpecAtOnce:
    def test_more_machines_come_first_and_are_made_to_the_new_spec(self) -> None:
        assert walk(upgrade(healthy(3).wants(replicas=5))) == ["+", "+", "+", "-m1", "+", "-m2", "+", "-m3", "none"]

    def test_fewer_machines_come_first_too(self) -> None:
        assert walk(upgrade(healthy(5).wants(replicas=3))) == [
            *("-m1", "-m2"),
            *("+", "-m3", "+", "-m4", "+", "-m5", "none"),
        ]

    def test_one_grows_to_three(self) -> None:
        assert walk(upgrade(healthy(1).wants(replicas=3))) == ["+", "+", "+", "-m1", "none"]


class TestTroubleMidWay:
    def test_it_does_not_begin_beside_trouble(self) -> None:
        decision = decide(upgrade(lasting(healthy(3).pod("m2", "kube-scheduler"))).build())
        assert says(decision) in (("wait", "ComponentMissing"), ("blocked", "ComponentMissing"))

    def test_it_stops_at_trouble(self) -> None:
        builder = walked(upgrade(healthy(3)), 1).pod("prod-new-1", "kube-scheduler")
        assert says(decide(builder.build()))[0] == "wait"

    def test_the_machine_that_is_in_trouble_goes_first(self) -> None:
        builder = walked(upgrade(healthy(3)), 1).pod("m3", "kube-scheduler")
        assert walk(builder) == ["-m3", "+", "-m1", "+", "-m2", "none"]

    def test_two_in_trouble_stop_it(self) -> None:
        builder = walked(upgrade(healthy(3)), 1).pod("m2", "kube-scheduler").pod("m3", "kube-scheduler")
        assert decide(builder.build())["action"] == "wait"

    def test_a_machine_that_somebody_took_away_meanwhile_is_made_up_for(self) -> None:
        builder = walked(upgrade(healthy(3)), 2).deleting("m2")
        assert walk(builder) == ["-m2", "+", "+", "-m3", "none"]

    def test_the_only_other_voter_must_work_before_the_old_one_goes(self) -> None:
        builder = sicken(walked(upgrade(healthy(1)), 1), "prod-new-1")
        assert decide(builder.build())["action"] in ("wait", "blocked")
