# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done next, rule by rule (docs/reference/cluster_api.md, "Order of one pass")."""

from __future__ import annotations

from typing import Optional

import pytest
from builders import at, cluster, healthy
from decisions import Change, changed, step
from rules import external, seen

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


class TestOrder:
    def test_a_new_cluster_step_by_step(self) -> None:
        builder = cluster(3).bare()
        assert step(builder) == ("createInfrastructure", "InfrastructureNotReady")
        builder.snapshot["infrastructureCluster"]["status"] = {"initialization": {"provisioned": True}}
        assert step(builder) == ("createInfrastructure", "WaitingForEndpoint")
        builder.snapshot["cluster"]["spec"]["controlPlaneEndpoint"] = {"host": "10.0.0.100", "port": 6443}
        assert step(builder) == ("createCertificates", "CertificatesNotAvailable")
        for facts in builder.snapshot["certificates"].values():
            facts.update(present=True, hasKey=True)
        builder.endpoint(False)
        assert step(builder) == ("initialize", "NotInitialized")

    def test_nothing_to_do(self) -> None:
        assert step(healthy(3)) == ("none", "UpToDate")
        decision = decide(healthy(3).build())
        assert [each["reason"] for each in decision["reasons"]] == ["UpToDate"]
        assert decision["removedConditions"] == {}

    def test_a_cluster_without_its_control_plane_object_is_named(self) -> None:
        builder = cluster(3)
        builder.snapshot["controlPlane"] = None
        assert step(builder) == ("blocked", "ControlPlaneNotFound")

    def test_a_missing_infrastructure_cluster_is_named(self) -> None:
        builder = cluster(3)
        builder.snapshot["infrastructureCluster"] = None
        assert step(builder) == ("blocked", "InfrastructureClusterNotFound")

    def test_the_same_snapshot_gives_the_same_decision(self) -> None:
        snapshot = healthy(5).build()
        shuffled = healthy(5).build()
        shuffled["machines"].reverse()
        shuffled["workload"]["nodes"].reverse()
        assert decide(snapshot)["action"] == decide(shuffled)["action"]
        assert decide(snapshot) == decide(snapshot)
        assert snapshot == healthy(5).build()


class TestPaused:
    SWITCHES: tuple[Change, ...] = (
        lambda b: b.snapshot["cluster"]["spec"].update(paused=True),
        lambda b: b.snapshot["controlPlane"]["metadata"]["annotations"].update({"cluster.x-k8s.io/paused": ""}),
        lambda b: b.snapshot["cluster"]["metadata"]["annotations"].update({"cluster.x-k8s.io/paused": "true"}),
    )

    @pytest.mark.parametrize("switch", SWITCHES)
    def test_everything_stops_also_a_deletion(self, switch: Change) -> None:
        assert step(changed(healthy(1, replicas=3), switch)) == ("none", "Paused")
        assert step(changed(cluster(3).bare(), switch)) == ("none", "Paused")
        assert step(changed(healthy(3).deleting(), switch)) == ("none", "Paused")

    @pytest.mark.parametrize(
        ("value", "marked", "again", "held"),
        [
            ("", "", False, False),
            ("", "cluster", False, False),
            ("adoption", "", True, False),
            ("adoption", "cluster", False, True),
            ("adoption", "controlPlane", False, True),
        ],
    )
    def test_the_pause_of_an_adoption_says_how_it_ends(self, value: str, marked: str, again: bool, held: bool) -> None:
        """Adopt ends it, but refuses what is marked for deletion."""
        builder = healthy(1, replicas=3)
        builder.snapshot["controlPlane"]["metadata"]["annotations"]["cluster.x-k8s.io/paused"] = value
        if marked:
            builder.snapshot[marked]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        [found] = decide(builder.build())["reasons"]
        said = found["message"]
        assert ("run the playbook adopt again" in said, "adopt refuses" in said) == (again, held)


class TestCertificates:
    def test_missing_ones_are_made_before_the_first_machine(self) -> None:
        builder = cluster(3)
        builder.snapshot["certificates"]["sa"].update(present=False)
        assert step(builder) == ("createCertificates", "CertificatesNotAvailable")

    def test_never_again_once_a_control_plane_exists(self) -> None:
        builder = healthy(2, replicas=3)
        builder.snapshot["certificates"]["sa"].update(present=False)
        assert step(builder) == ("blocked", "CertificatesNotAvailable")
        [blocked] = decide(builder.build())["blockedOn"]
        assert "prod-sa" in blocked["message"] and "from certificatesDir of a control plane machine" in blocked["fix"]

    @pytest.mark.parametrize("state", ["Running", "Failed"])
    def test_nor_while_one_may_exist(self, state: str) -> None:
        builder = cluster(3).machine("x", state)
        builder.snapshot["certificates"]["ca"].update(present=False)
        assert step(builder)[0] != "createCertificates"

    def test_a_users_ca_without_its_key_is_enough(self) -> None:
        builder = cluster(3)
        builder.snapshot["certificates"]["ca"].update(hasKey=False)
        builder.snapshot["certificates"]["kubeconfig"].update(present=False)
        assert step(builder) == ("initialize", "NotInitialized")

    def test_a_missing_kubeconfig_is_made_at_any_time(self) -> None:
        builder = healthy(3)
        builder.snapshot["certificates"]["kubeconfig"].update(present=False)
        assert step(builder) == ("createCertificates", "KubeconfigNotAvailable")

    def test_an_external_etcds_ca_is_the_users(self) -> None:
        builder = cluster(3)
        builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {}}
        builder.snapshot["certificates"]["etcd"].update(present=False)
        assert step(builder) == ("blocked", "CertificatesNotAvailable")

    def test_expired_ones_block(self) -> None:
        builder = cluster(3)
        builder.snapshot["certificates"]["ca"].update(notAfter=at(1))
        assert step(builder) == ("blocked", "CertificatesExpired")
        assert "with the same key" in decide(builder.build())["blockedOn"][0]["fix"]


class TestFirstMachine:
    def test_an_answering_endpoint_without_machines_is_somebody_elses(self) -> None:
        assert step(cluster(3).endpoint(True)) == ("blocked", "ForeignControlPlane")
        assert step(cluster(3).bare().endpoint(True)) == ("blocked", "ForeignControlPlane")
        assert step(cluster(3).machine("x", "").endpoint(True)) == ("blocked", "ForeignControlPlane")

    def test_a_control_plane_that_was_there_and_has_no_machine_left(self) -> None:
        builder = cluster(3)
        builder.snapshot["controlPlane"]["status"] = {"initialization": {"controlPlaneInitialized": True}}
        assert step(builder) == ("blocked", "ControlPlaneLost")

    def test_an_endpoint_that_cannot_be_asked_is_looked_at_again_and_then_blocks(self) -> None:
        assert step(cluster(3).endpoint(None)) == ("wait", "EndpointUnknown")
        assert step(cluster(3).endpoint(None).stored("ControlPlaneEndpointReachable", "Unknown", 61, "cluster")) == (
            "blocked",
            "EndpointUnknown",
        )

    def test_unless_the_user_says_that_nothing_is_there(self) -> None:
        builder = cluster(3).endpoint(None)
        annotations = builder.snapshot["cluster"]["metadata"]["annotations"]
        for value in ("false", "no", ""):
            annotations["kubeadm.control-plane/endpoint-is-unused"] = value
            assert step(builder) == ("wait", "EndpointUnknown")
        annotations["kubeadm.control-plane/endpoint-is-unused"] = "true"
        assert step(builder) == ("initialize", "NotInitialized")
        builder.endpoint(True)
        assert step(builder) == ("blocked", "ForeignControlPlane")

    def test_unless_the_role_that_makes_the_endpoint_found_nobody_there(self) -> None:
        """It has the network asked again on the first machine's host, before kubeadm runs."""
        builder = cluster(3).endpoint(None)
        status = builder.snapshot["infrastructureCluster"]["status"]
        status["endpointIsUnused"] = False
        assert step(builder) == ("wait", "EndpointUnknown")
        status["endpointIsUnused"] = True
        assert step(builder) == ("initialize", "NotInitialized")
        builder.endpoint(True)
        assert step(builder) == ("blocked", "ForeignControlPlane")

    @pytest.mark.parametrize("state", ["", "Running"])
    def test_a_machine_that_was_begun_is_gone_on_with(self, state: str) -> None:
        decision = decide(cluster(3).machine("x", state).build())
        assert decision["action"] == "initialize"
        assert decision["target"] == {
            "machine": "x",
            "failureDomain": None,
            "resume": True,
            "memberID": None,
            "name": None,
        }

    def test_a_running_init_is_gone_on_with_whatever_answers(self) -> None:
        assert step(cluster(3).machine("x", "Running").endpoint(True))[0] == "initialize"
        assert step(cluster(3).machine("x", "Running").endpoint(None))[0] == "initialize"

    @pytest.mark.parametrize("state", [None, "missing"])
    def test_a_machine_that_never_booted_is_provisioned_again(self, state: Optional[str]) -> None:
        builder = cluster(3).machine("x", "")
        builder.entry("x")["infrastructureMachine"]["status"] = {"state": state}
        assert step(builder)[0] == "initialize"

    def test_a_failed_one_is_removed_on_evidence_that_there_is_nothing(self) -> None:
        decision = decide(cluster(3).machine("x", "Failed").build())
        assert (decision["action"], decision["target"]["machine"]) == ("remove", "x")

    def test_a_failed_one_whose_api_has_no_kubeadm_config_is_removed(self) -> None:
        builder = cluster(3).machine("x", "Failed")
        builder.workload.update(reachable=True, via="x", initialized=False)
        builder.endpoint(True)
        assert step(builder) == ("remove", "BootstrapFailed")

    def test_unknown_is_no_evidence(self) -> None:
        builder = cluster(3).machine("x", "Failed").endpoint(None)
        assert step(builder) == ("wait", "InitializationUnknown")
        assert step(builder.stored("ControlPlaneEndpointReachable", "Unknown", 61, "cluster")) == (
            "blocked",
            "InitializationUnknown",
        )

    def test_an_api_that_answers_is_not_thrown_away(self) -> None:
        assert step(cluster(3).machine("x", "Failed").endpoint(True)) == ("blocked", "CannotBeRemediated")

    def test_a_failed_one_that_initialized_is_kept(self) -> None:
        builder = healthy(1, replicas=3)
        builder.entry("m1")["machine"]["status"]["bootstrap"]["state"] = "Failed"
        assert step(builder) in (("blocked", "CannotBeRemediated"), ("wait", "CannotBeRemediated"))

    def test_a_bootstrap_that_lost_its_machine_counts_as_failed(self) -> None:
        builder = cluster(3).machine("x", "Running")
        builder.entry("x")["infrastructureMachine"]["status"]["state"] = "dead"
        assert step(builder) == ("remove", "BootstrapFailed")

    def test_one_that_would_be_made_differently_now_is_replaced_before_it_starts(self) -> None:
        builder = cluster(3).machine("x", "")
        builder.spec["version"] = "v1.21.0"
        assert step(builder) == ("remove", "NeverBootstrapped")

    def test_one_that_was_made_to_join_nothing_is_replaced(self) -> None:
        assert step(cluster(3).machine("x", "", init=False)) == ("remove", "NeverBootstrapped")

    def test_a_missing_template_is_named(self) -> None:
        builder = cluster(3)
        builder.snapshot["machineTemplate"] = None
        assert step(builder) == ("blocked", "MachineTemplateNotFound")

    def test_the_next_machines_are_prepared_meanwhile(self) -> None:
        decision = decide(cluster(3).domains("a", "b", "c").build())
        assert decision["target"]["failureDomain"] == "a"
        assert decision["prepare"] == ["b", "c"]
        assert decide(cluster(1).build())["prepare"] == []

    def test_never_ahead_with_max_surge_0(self) -> None:
        builder = cluster(3)
        builder.spec["rollout"] = {"strategy": {"rollingUpdate": {"maxSurge": 0}}}
        assert decide(builder.build())["prepare"] == []


class TestJoin:
    def test_the_next_machine_in_the_emptiest_domain(self) -> None:
        builder = cluster(3).domains("a", "b", "c").machine("m1", domain="b").machine("m2", domain="a")
        decision = decide(builder.build())
        assert decision["action"] == "join"
        assert decision["target"] == {
            "machine": None,
            "failureDomain": "c",
            "resume": False,
            "memberID": None,
            "name": None,
        }
        assert {each["result"] for each in decision["preflight"]} == {"pass", "skip"}
        assert decision["quorum"]["before"] == {"voters": 2, "healthy": 2, "quorum": 2, "tolerance": 0}
        assert decision["quorum"]["after"] == {"voters": 3, "healthy": 2, "quorum": 2, "tolerance": 0}
        assert decision["quorum"]["leader"] == "m1"

    def test_the_risk_of_the_second_voter_is_stated(self) -> None:
        why = decide(healthy(1, replicas=3).build())["quorum"]["whyThisOrder"]
        assert "RISK" in why
        assert "learner" not in why
        assert "RISK" not in decide(healthy(2, replicas=3).build())["quorum"]["whyThisOrder"]

    @pytest.mark.parametrize("state", ["", "Running"])
    def test_one_that_was_begun_is_gone_on_with_and_no_second_one_starts(self, state: str) -> None:
        decision = decide(healthy(1, replicas=5).machine("m2", state, age=30).build())
        assert (decision["action"], decision["target"]["machine"], decision["target"]["resume"]) == ("join", "m2", True)

    def test_a_running_join_is_waited_for_while_the_api_is_away(self) -> None:
        assert step(healthy(1, replicas=3).machine("m2", "Running", age=30).unreachable())[0] == "join"

    def test_one_that_never_started_waits_for_preflight(self) -> None:
        builder = healthy(1, replicas=3).machine("m2", "").pod("m1", "kube-scheduler", phase="Pending")
        assert step(builder) == ("wait", "ComponentProvisioning")

    def test_one_that_never_started_and_is_not_wanted_any_more_goes(self) -> None:
        assert step(healthy(1, replicas=1).machine("m2", "")) == ("remove", "NeverBootstrapped")

    def test_one_that_never_started_and_that_a_person_gives_up_goes(self) -> None:
        """It died before kubeadm was started on it, and going on with it would never end."""
        builder = healthy(3, replicas=5).machine("m4", "").annotate("cluster.x-k8s.io/remediate-machine", "", "m4")
        assert step(builder) == ("remove", "NeverBootstrapped")
        assert decide(builder.build())["target"]["machine"] == "m4"

    def test_the_running_one_comes_before_the_failed_one(self) -> None:
        builder = healthy(2, replicas=5).machine("m3", "Failed").machine("m4", "Running", age=10)
        assert decide(builder.build())["target"]["machine"] == "m4"

    def test_external_etcd_has_no_quorum(self) -> None:
        builder = healthy(1, replicas=2)
        builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {}}
        builder.entry("m1")["kubeadmConfig"]["spec"]["clusterConfiguration"]["etcd"] = {"external": {}}
        builder.workload["etcd"] = None
        decision = decide(builder.build())
        assert (decision["action"], decision["quorum"]) == ("join", None)
        builder.workload["etcd"] = {"reachable": False, "message": "timeout"}
        assert step(builder)[1] == "EtcdUnreachable"


class TestBeforeEverythingElse:
    def test_etcd_on_the_machines_does_not_become_external(self) -> None:
        """No quorum is asked for with an external etcd: a rollout to one would take all members away, and the data with them."""
        builder = external(healthy(3)).wants(version="v1.21.0")
        assert step(builder)[1] != "EtcdLeftBehind"
        builder.snapshot["controlPlane"]["status"]["etcdClusterID"] = "00000000000000cc"
        assert step(builder) == ("blocked", "EtcdLeftBehind")

    def test_a_begun_join_still_ends(self) -> None:
        builder = healthy(1, replicas=3).machine("m2", "Running", age=10)
        builder.spec["version"] = "v1.21.0"
        assert step(builder)[0] == "join"

    def test_a_rollout_does_not_hide_health(self) -> None:
        builder = healthy(3).sick_member("m2")
        builder.spec["version"] = "v1.21.0"
        decision = decide(builder.build())
        assert "EtcdMemberUnhealthy" in [each["reason"] for each in decision["blockedOn"]]
        healthy_etcd = next(
            each for each in decision["conditions"]["controlPlane"] if each["type"] == "EtcdClusterHealthy"
        )
        assert healthy_etcd["status"] == "False"

    def test_a_kubeadm_config_that_is_gone(self) -> None:
        for builder in (
            healthy(3),
            healthy(3, replicas=5),
            healthy(3).marked("m2"),
            healthy(3).wants(version="v1.21.0"),
        ):
            builder.workload["initialized"] = False
            assert step(builder) == ("blocked", "KubeadmConfigNotFound")
            [blocked] = decide(builder.build())["blockedOn"]
            assert "kubeadm --config FILE" in blocked["fix"] and "docs/workload.md" in blocked["fix"]

    def test_nor_does_the_status_remember_it(self) -> None:
        """A machine has joined, and nothing else says that there is a control plane."""
        builder = healthy(1)
        for owner in ("cluster", "controlPlane"):
            builder.snapshot[owner]["status"].pop("initialization")
        for told in (False, None):
            builder.workload["initialized"] = told
            action, reason = step(builder)
            assert action in ("wait", "blocked") and (reason == "KubeadmConfigNotFound") is (told is False)


class TestThePriorityLadder:
    """Each rung comes before all that follow: the snapshot offers all of them, and one after the other is taken away."""

    def test_from_the_top(self) -> None:
        builder = healthy(3, replicas=5).wants(version="v1.21.0").marked("m2").member("stray")
        seen(builder, 600, "stray")
        builder.snapshot["certificates"]["kubeconfig"].update(present=False)
        builder.snapshot["infrastructureCluster"]["status"] = {}
        builder.entry("m3")["machine"]["metadata"]["ownerReferences"] = []
        builder.wants(replicas=4)
        builder.deleting()
        builder.snapshot["cluster"]["spec"]["paused"] = True
        assert step(builder) == ("none", "Paused")
        builder.snapshot["cluster"]["spec"]["paused"] = False
        assert step(builder)[0] == "deleteMachines"
        for owner in ("cluster", "controlPlane"):
            del builder.snapshot[owner]["metadata"]["deletionTimestamp"]
        assert step(builder) == ("blocked", "ReplicasInvalid")
        builder.wants(replicas=5)
        assert step(builder)[0] == "adopt"
        builder.entry("m3")["machine"]["metadata"]["ownerReferences"] = builder.entry("m1")["machine"]["metadata"][
            "ownerReferences"
        ]
        assert step(builder)[0] == "createInfrastructure"
        builder.snapshot["infrastructureCluster"]["status"] = {"initialization": {"provisioned": True}}
        assert step(builder)[0] == "createCertificates"
        builder.snapshot["certificates"]["kubeconfig"].update(present=True)
        assert step(builder) == ("removeMember", "StrayMember")
        builder.without_member("stray")
        assert step(builder) == ("remove", "MachineUnhealthy")
        for name in ("m2",):
            builder.entry(name)["machine"]["status"]["conditions"] = []
        assert step(builder) == ("join", "ScalingUp")
        builder.wants(replicas=3)
        assert step(builder) == ("join", "RollingOut")
        builder.wants(version="v1.20.2")
        assert step(builder) == ("none", "UpToDate")

    def test_what_is_going_comes_before_what_failed_and_what_is_unhealthy(self) -> None:
        builder = healthy(5).machine("m6", "Failed", age=20).marked("m2").deleting("m4")
        assert decide(builder.build())["target"]["machine"] == "m4"
        builder = healthy(5).machine("m6", "Failed", age=20).marked("m2")
        assert decide(builder.build())["target"]["machine"] == "m6"
