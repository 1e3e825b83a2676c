# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check before a join and before a removal: Missing, False and Unknown fail alike.

Source: docs/reference/cluster_api.md, "Preflight checks".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy, member_id
from decisions import Change, changed
from rules import check, external, lasting, outdate, reasons, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
MISSING: dict[str, Any] = {}
FALSE: dict[str, Any] = {"phase": "Failed"}
UNKNOWN: dict[str, Any] = {"phase": "Unknown"}


def joining() -> Builder:
    return healthy(3, replicas=5)


def leaving() -> Builder:
    return healthy(5, replicas=3)


def failing(builder: Builder, change: Change) -> set[str]:
    """The checks that fail, where the step is not taken; nothing where it is."""
    decision = decide(changed(builder, change).build())
    failed = {each["check"] for each in decision["preflight"] if each["result"] == "fail"}
    assert (decision["action"] in ("wait", "blocked")) is bool(failed)
    return failed


def test_all_pass() -> None:
    for builder in (joining(), leaving(), upgrade(healthy(3))):
        decision = decide(builder.build())
        assert {each["result"] for each in decision["preflight"]} <= {"pass", "skip"}
        assert all(each["message"] for each in decision["preflight"])
        names = [each["check"] for each in decision["preflight"]]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["EndpointReachable", "MachinesHaveNodes", "EtcdQuorum", "NoDeletingMachine"])
def test_what_was_looked_at_is_listed(name: str) -> None:
    assert check(decide(joining().build()), name) == "pass"
    assert check(decide(leaving().build()), name) is not None


def test_hosts_are_asked_for_where_they_exist_already() -> None:
    for builder in (joining(), leaving()):
        assert check(decide(builder.build()), "HostsAvailable") == "skip"


def test_a_removal_is_asked_for_who_stays_and_who_leads_and_a_join_is_not() -> None:
    joins, leaves = ({each["check"] for each in decide(b.build())["preflight"]} for b in (joining(), leaving()))
    assert leaves - joins == {"AnotherMachineHealthy", "LeadershipCandidate"}


@pytest.mark.parametrize("facts", [MISSING, FALSE, UNKNOWN], ids=["missing", "False", "Unknown"])
@pytest.mark.parametrize("component", COMPONENTS)
def test_row_5_components(component: str, facts: dict[str, Any]) -> None:
    for builder in (joining(), leaving()):
        assert failing(builder, lambda b: b.pod("m3", component, **facts)) == {"ControlPlaneComponentsHealthy"}


def test_a_machine_that_works_stays() -> None:
    builder = leaving()
    for name in ("m2", "m3", "m4", "m5"):
        builder.pod(name, "kube-scheduler")
    decision = decide(builder.build())
    assert check(decision, "AnotherMachineHealthy") == "fail"
    assert "NoOtherHealthyMachine" in reasons(decision)


@pytest.mark.parametrize("facts", [MISSING, FALSE, UNKNOWN], ids=["missing", "False", "Unknown"])
def test_row_6_etcd_pods(facts: dict[str, Any]) -> None:
    for builder in (joining(), leaving()):
        assert failing(builder, lambda b: b.pod("m3", "etcd", **facts)) == {"EtcdClusterHealthy"}


MEMBERS: list[tuple[str, Change]] = [
    ("False", lambda b: b.sick_member("m3")),
    ("Unknown", lambda b: b.workload["etcd"]["statuses"].pop(member_id("m3"))),
    ("missing", lambda b: b.without_member("m3")),
    ("learner", lambda b: b.member("m3", learner=True)),
    ("alarm", lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m3"), "alarm": "NOSPACE"})),
    ("no list", lambda b: b.workload["etcd"].update(reachable=False)),
]


@pytest.mark.parametrize(("what", "change"), MEMBERS, ids=[case[0] for case in MEMBERS])
def test_row_6_members(what: str, change: Change) -> None:
    for builder in (joining(), leaving()):
        assert "EtcdClusterHealthy" in failing(builder, change)


def test_a_quorum_that_would_be_at_risk_is_listed() -> None:
    for builder in (joining(), leaving()):
        assert "EtcdQuorum" in failing(builder, lambda b: b.sick_member("m2").sick_member("m3"))
        assert "QuorumAtRisk" in reasons(decide(builder.build()))


def test_a_quorum_at_risk_is_waited_for_until_it_lasts() -> None:
    for builder in (joining(), leaving()):
        builder.sick_member("m2").sick_member("m3")
        assert decide(builder.build())["action"] == "wait"
        assert decide(lasting(builder).build())["action"] == "blocked"


def test_the_machine_that_goes_may_lack_a_member() -> None:
    builder = leaving()
    etcd = builder.workload["etcd"]
    etcd["members"] = [each for each in etcd["members"] if each["id"] != member_id("m1")]
    builder.workload["etcd"] = etcd
    decision = decide(builder.build())
    assert decision["action"] == "wait" and check(decision, "EtcdClusterHealthy") == "fail", decision


def test_row_4_nodes() -> None:
    for builder in (joining(), leaving()):
        assert "MachinesHaveNodes" in failing(builder, lambda b: b.workload["nodes"].pop(2))


def test_a_silent_kubelet_makes_everything_unknown() -> None:
    for builder in (joining(), leaving()):
        assert failing(builder, lambda b: b.node("m3", ready="Unknown")) >= {"ControlPlaneComponentsHealthy"}


def test_row_2_certificates_only_before_a_join() -> None:
    assert failing(joining(), lambda b: b.snapshot["certificates"]["ca"].update(present=False)) == {
        "CertificatesAvailable"
    }
    assert failing(leaving(), lambda b: b.snapshot["certificates"]["ca"].update(present=False)) == set()


@pytest.mark.parametrize("purpose", ["ca", "etcd", "proxy"])
def test_without_its_key_no_machine_joins_unless_something_brings_its_certificates(purpose: str) -> None:
    """kubeadm signs nothing then, and refuses; what commands bring can't be known."""
    signed = {"ca": "apiserver.crt", "etcd": "etcd/server.crt", "proxy": "front-proxy-client.crt"}[purpose]
    given: list[Any] = [
        {},
        {"files": [{"path": "/etc/kubernetes/pki/other.crt"}]},
        {"files": [{"path": f"/etc/kubernetes/pki/{signed}"}]},
        {"preKubeadmCommands": ["sign-certificates"]},
        {"clusterConfiguration": {"certificatesDir": "/srv/pki/"}, "files": [{"path": f"/srv/pki/{signed}"}]},
    ]
    said = []
    for count in (1, 3):
        for each in given:
            builder = healthy(count, replicas=3)
            builder.snapshot["certificates"][purpose].update(hasKey=False)
            builder.spec["kubeadmConfigSpec"] = each
            for machine in builder.snapshot["machines"]:
                machine["kubeadmConfig"]["spec"] = each
            decision = decide(builder.build())
            told = [why["reason"] for why in decision["reasons"]]
            said.append((decision["action"], "CertificatesNotAvailable" in told))
    # A control plane that is complete works on, and says so.
    refused, none = [("blocked", True)] * 2, [("none", True)] * 2
    assert said == [*refused, *[("join", False)] * 3, *none, *[("none", False)] * 3]


@pytest.mark.parametrize(("folder", "named"), [("/srv/pki", True), ("/etc/kubernetes/pki/", False)])
def test_certificates_of_an_image_have_a_way_past_it(folder: str, named: bool) -> None:
    builder = healthy(1, replicas=3)
    builder.snapshot["certificates"]["ca"].update(hasKey=False)
    spec: dict[str, Any] = {"clusterConfiguration": {"certificatesDir": folder}}
    builder.spec["kubeadmConfigSpec"] = builder.entry("m1")["kubeadmConfig"]["spec"] = spec
    [why] = [each for each in decide(builder.build())["blockedOn"] if each["reason"] == "CertificatesNotAvailable"]
    assert ('preKubeadmCommands: ["true"]' in why["fix"]) is named


def test_row_1_topology() -> None:
    for builder in (joining(), leaving()):
        assert failing(builder, lambda b: b.snapshot["cluster"]["spec"].update(topology={"version": "v1.21.1"})) == {
            "TopologyVersion"
        }


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("EndpointReachable", lambda b: b.endpoint(False)),
        ("EndpointReachable", lambda b: b.endpoint(None)),
        ("ClockSkew", lambda b: b.workload.update(clockSkewSeconds=31)),
        ("MemberListAgrees", lambda b: b.workload["etcd"].update(memberListAgrees=False)),
        ("MemberListAgrees", lambda b: b.workload["etcd"].update(memberListAgrees=None)),
        ("MembersMatchMachines", lambda b: b.node("stray")),
    ],
)
def test_our_own_checks(name: str, change: Change) -> None:
    for builder in (joining(), leaving()):
        assert name in failing(builder, change)


def test_a_clock_that_was_not_compared_is_skipped() -> None:
    for builder in (joining(), leaving()):
        assert check(decide(builder.build()), "ClockSkew") == "skip"
        builder.workload["clockSkewSeconds"] = 0
        assert check(decide(builder.build()), "ClockSkew") == "pass"


def test_labels_taints_and_readiness_are_no_part_of_it() -> None:
    for builder in (joining(), leaving()):
        assert failing(builder, lambda b: b.workload["nodes"][2].update(labels={}, taints=[], ready="False")) == set()


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.pod("m3", "kube-apiserver"),
        lambda b: b.pod("m3", "etcd", phase="Failed"),
        lambda b: b.sick_member("m3"),
        lambda b: b.node("m3", ready="Unknown"),
    ],
)
def test_the_one_that_goes_is_not_judged(change: Change) -> None:
    builder = leaving().annotate("cluster.x-k8s.io/delete-machine", "", "m3")
    assert failing(builder, change) == set()
    assert decide(builder.build())["target"]["machine"] == "m3"


def test_a_rollouts_removal_judges_all_others() -> None:
    builder = outdate(healthy(4, replicas=3), "m2")
    assert decide(builder.build())["target"]["machine"] == "m2"
    assert failing(builder, lambda b: b.pod("m4", "kube-scheduler")) == {"ControlPlaneComponentsHealthy"}


ETCD_CHECKS = ("EtcdQuorum", "EtcdVersionsAgree", "MemberListAgrees")


def test_external_etcd() -> None:
    decision = decide(external(joining()).build())
    of_etcd = [each for each in decision["preflight"] if each["check"] in ETCD_CHECKS]
    assert [(each["result"], each["message"]) for each in of_etcd] == [("skip", "external etcd")] * len(ETCD_CHECKS)
    assert check(decision, "EtcdClusterHealthy") in ("skip", "pass")
    assert failing(external(joining(), {"reachable": False}), lambda b: b) == {"EtcdClusterHealthy"}
    assert failing(external(healthy(4, replicas=2), {"reachable": False}), lambda b: b) == {"EtcdClusterHealthy"}
    assert check(decide(external(joining(), {"reachable": True}).build()), "EtcdClusterHealthy") == "pass"


def test_everything_that_fails_is_shown_at_once() -> None:
    def change(builder: Builder) -> None:
        builder.pod("m2", "kube-scheduler").sick_member("m3").endpoint(False)
        builder.snapshot["certificates"]["ca"].update(present=False)

    assert failing(joining(), change) >= {
        "CertificatesAvailable",
        "EndpointReachable",
        "ControlPlaneComponentsHealthy",
        "EtcdClusterHealthy",
    }
