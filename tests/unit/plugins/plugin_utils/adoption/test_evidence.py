# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks against adopting a control plane made by hand: each has a name, says where, and what to do."""

from __future__ import annotations

import typing as t

import pytest
from hand_made import HandMade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.evidence import (
    configuration,
    workers_left_alone,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.host_problems import other_etcds, unfit

Object = dict[str, t.Any]


@pytest.fixture
def hand() -> HandMade:
    return HandMade()


def refused(hand: HandMade) -> dict[str, str]:
    """The problems by name."""
    found = hand.problems()
    assert all(each.fix for each in found)
    return {each.reason: str(each) for each in found}


def test_a_sound_control_plane_has_none(hand: HandMade) -> None:
    assert hand.problems() == []
    [first, *_others] = hand.hosts()
    assert first.node is not None and first.node["name"] == "cp-1"
    assert first.keys["ca"] == hand.pairs["ca"].key
    assert str(hand.pairs["ca"].key) not in repr(first)


def test_an_answer_that_was_changed_on_its_way_is_not_taken(hand: HandMade) -> None:
    hand.changes["host-1"] = lambda answer: answer["adoption"].update(
        sealed=answer["adoption"]["sealed"][:-8] + "AAAAAAA="
    )
    _host, problem = hand.read("host-1")
    assert problem is not None and problem.reason == "KeysUnreadable"


def test_workers_are_left_alone_and_named(hand: HandMade) -> None:
    """Not those that have a Machine already."""
    hosts = hand.hosts()
    for host in hosts:
        host.workload["workerNodes"] = ["w-1", "w-2"]
    [said] = workers_left_alone(hosts, ["w-2"])
    assert said.startswith("1 worker Node stays as it is, and has no Machine: w-1.") and "MachineDeployment" in said
    assert "w-1, w-2" in workers_left_alone(hosts, [])[0]
    assert workers_left_alone(hosts, ["w-1", "w-2"]) == []


def test_an_etcd_that_kubeadm_did_not_make_is_named_beforehand(hand: HandMade) -> None:
    """No run resets its host, which would delete the external etcd's member there."""
    hosts = hand.hosts()
    assert other_etcds(hosts) == []
    hosts[0].adoption["otherEtcd"] = "an etcd runs on this host\noutside of pods " + "x" * 5000
    [said] = other_etcds(hosts)
    assert said.startswith("host-1: an etcd runs on this host outside of pods") and len(said) < 1000


def test_a_spare_host_and_one_whose_api_is_down_are_told_apart(hand: HandMade) -> None:
    hand.changes["host-1"] = lambda answer: answer["observation"]["machine"].update(staticPodManifests=[])
    hand.changes["host-2"] = lambda answer: answer["observation"]["api"].update(answers=False, message="refused")
    hand.changes["host-3"] = lambda answer: answer["observation"]["objects"].update(kubeadmConfig=None)
    problems = [problem for name in hand.names for _host, problem in [hand.read(name)] if problem is not None]
    assert [each.reason for each in problems] == ["NotAControlPlane", "APIUnreachable", "NotMadeByKubeadm"]
    assert "kubeadm --config FILE" in problems[-1].fix


@pytest.mark.parametrize("what", ["ca", "sa", "etcd"])
def test_hosts_of_two_clusters(hand: HandMade, what: str) -> None:
    other = HandMade(cluster_id="00000000000000c2")

    def mixed(answer: Object) -> None:
        if what == "etcd":
            answer["observation"]["etcd"]["clusterID"] = other.cluster_id
        else:
            answer["adoption"]["public"][what] = other.pairs[what].crt

    hand.changes["host-3"] = mixed
    assert "host-1, host-2: " in refused(hand)["MixedClusters"]


def test_a_host_that_answers_as_somebody_else(hand: HandMade) -> None:
    """Its machine-id is that of no Node of the cluster whose API server runs there."""
    hand.changes["host-2"] = lambda answer: answer["observation"]["machine"].update(
        machineID="f" * 32, hostname="web-7"
    )
    assert "host-2: it answers as another machine" in refused(hand)["WrongHost"]


def test_two_names_of_one_machine(hand: HandMade) -> None:
    first = {"machineID": "1" * 32, "hostname": "cp-1", "bootID": "boot-1"}
    hand.changes["host-2"] = lambda answer: answer["observation"]["machine"].update(first)
    assert "host-1, host-2: these names lead to one and the same machine" in refused(hand)["WrongHost"]


def test_two_machines_with_one_machine_id(hand: HandMade) -> None:
    """Clones: nothing would tell them apart later."""
    hand.nodes["host-2"]["status"]["nodeInfo"]["machineID"] = "1" * 32
    hand.changes["host-2"] = lambda answer: answer["observation"]["machine"].update(machineID="1" * 32)
    assert "different machines with one machine-id" in refused(hand)["WrongHost"]


def test_a_control_plane_node_without_a_host(hand: HandMade) -> None:
    hand.nodes["gone"] = hand.node(9, "gone")
    assert "Node cp-9 belongs to none of the hosts" in refused(hand)["UnknownNode"]


@pytest.mark.parametrize(
    ("version", "allowed"), [("v1.21.9", True), ("v1.19.1", True), ("v1.18.0", False), ("v1.22.0", False)]
)
def test_skew_of_one_minor_version_at_most(hand: HandMade, version: str, allowed: bool) -> None:
    hand.nodes["host-3"]["status"]["nodeInfo"]["kubeletVersion"] = version
    found = refused(hand)
    assert ("VersionSkew" not in found) is allowed
    assert allowed or f"host-3: its kubelet has version {version}" in found["VersionSkew"]


@pytest.mark.parametrize(
    ("manager", "conversion", "count"),
    [("", "None", 1), ("kubeadm.control-plane", "None", 0), ("kubeadm.control-plane", "Webhook", 1)],
)
def test_machines_of_cluster_api(hand: HandMade, manager: str, conversion: str, count: int) -> None:
    """Two must never manage one control plane; workers that Cluster API has there say nothing, nor do Machines of this collection."""
    definition = {
        "metadata": {"labels": {"app.kubernetes.io/managed-by": manager}},
        "spec": {"conversion": {"strategy": conversion}},
    }
    machine = {"name": "prod-x", "namespace": "default", "node": "cp-2", "controlPlane": True}
    worker = {"name": "md-0", "namespace": "default", "node": "worker-1", "controlPlane": False}

    def served(answer: Object) -> None:
        found = {"served": True, "machines": [machine, worker], "definition": definition, "message": ""}
        answer["adoption"]["clusterAPI"] = found

    hand.changes["host-1"] = served
    found = [each for each in hand.problems() if each.reason == "ManagedByClusterAPI"]
    assert len(found) == count and all("Machine default/prod-x" in str(each) for each in found)


def test_a_node_that_says_whose_it_is(hand: HandMade) -> None:
    hand.nodes["host-1"]["metadata"]["annotations"]["cluster.x-k8s.io/machine"] = "prod-x"
    assert "host-1: its Node belongs to Machine prod-x of Cluster API" in refused(hand)["ManagedByClusterAPI"]


def test_whether_cluster_api_manages_it_must_be_known(hand: HandMade) -> None:
    hand.changes["host-1"] = lambda answer: answer["adoption"].update(
        clusterAPI={"served": None, "machines": [], "message": "403"}
    )
    assert "could not be asked: 403" in refused(hand)["APIUnreachable"]


def test_no_endpoint_no_further_machine(hand: HandMade) -> None:
    hand.configuration.pop("controlPlaneEndpoint")
    said = refused(hand)["NoControlPlaneEndpoint"]
    assert "controlPlaneEndpoint" in said
    # kubeadm keeps a certificate that is there, and reads the new endpoint from a file.
    assert (
        "on every control plane host, one after another: move apiserver.crt and apiserver.key in certificatesDir aside"
        in said
    )
    assert "kubeadm init phase certs apiserver --config FILE" in said


def test_a_key_that_is_not_its_certificates(hand: HandMade) -> None:
    other = HandMade(1)
    for name in hand.names:
        hand.changes[name] = lambda answer: answer["adoption"]["public"].update(etcd=other.pairs["etcd"].crt)
    assert "etcd: " in refused(hand)["CertificatesNotAvailable"]
    for name in hand.names:
        hand.changes[name] = lambda answer: answer["adoption"]["public"].pop("proxy")
    assert "no host has the certificate of proxy" in refused(hand)["CertificatesNotAvailable"]


def test_a_configuration_that_is_none(hand: HandMade) -> None:
    hand.configuration["apiVersion"] = "kubeadm.k8s.io/v9"
    [host, *_others] = hand.hosts()
    hub, wrong = configuration(host)
    assert hub == {} and [each.reason for each in wrong] == ["NotMadeByKubeadm"]


def test_a_host_that_another_store_has_claimed(hand: HandMade) -> None:
    """A claim of this cluster's own, from a run that was killed, is none."""
    claim = {
        "id": "one",
        "namespace": "default",
        "cluster": "other",
        "machine": "m-1",
        "claimedAt": "2026-01-01T00:00:00Z",
    }
    hand.changes["host-2"] = lambda answer: answer["adoption"].update(claim=claim)
    [problem] = unfit(hand.hosts(), lambda host: "two")
    assert (problem.reason, problem.host) == ("HostClaimed", "host-2")
    assert "cluster default/other, machine m-1" in problem.message
    assert unfit(hand.hosts(), lambda host: "one") == []


def test_a_host_that_lacks_something(hand: HandMade) -> None:
    missing = {
        "check": "ClockSkew",
        "message": "the clock is +90 s off the controller's",
        "fix": "Synchronise both clocks.",
    }
    hand.changes["host-3"] = lambda answer: answer["adoption"].update(missing=[missing])
    assert [str(each) for each in unfit(hand.hosts(), lambda host: "")] == [
        "HostUnfit: host-3: the clock is +90 s off the controller's (ClockSkew). Synchronise both clocks."
    ]
