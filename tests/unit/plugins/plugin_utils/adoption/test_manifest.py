# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of a control plane made by hand says what runs and nothing that kubeadm does anyway; another one must not contradict it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from hand_made import HandMade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption import manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    read_cluster,
)

Object = dict[str, t.Any]


@pytest.fixture
def hand() -> HandMade:
    return HandMade()


def made(hand: HandMade, **template: t.Any) -> tuple[dict[str, Object], list[str]]:
    """The specs by kind, and the notes."""
    documents, notes = manifest.documents_of(
        hand.hub(), hand.hosts(), "prod", "default", 3, {"group": "prod_hosts", **template}
    )
    return {each["kind"]: each["spec"] for each in documents}, notes


def read(hand: HandMade, tmp_path: Path, change: t.Callable[[dict[str, Object]], None]) -> ClusterManifest:
    """A manifest that a user gives: what runs, with a change."""
    documents, _notes = manifest.documents_of(hand.hub(), hand.hosts(), "prod", "default", 3, {"group": "g"})
    change({each["kind"]: each["spec"] for each in documents})
    (tmp_path / "prod.yaml").write_text(yaml.safe_dump_all(documents))
    return read_cluster([str(tmp_path / "prod.yaml")], "default", "prod")


def test_what_runs_and_nothing_that_kubeadm_does_anyway(hand: HandMade) -> None:
    specs, notes = made(hand, failureDomainVariable="rack")
    arguments = [{"name": "node-labels", "value": "rack=a"}]
    spec = specs["KubeadmControlPlane"]
    assert (spec["replicas"], spec["version"]) == (3, "v1.20.2")
    assert spec["kubeadmConfigSpec"]["clusterConfiguration"] == {
        "apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}]},
        "clusterName": "kubernetes",
    }
    assert spec["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"] == {
        "criSocket": "/run/containerd/containerd.sock",
        "kubeletExtraArgs": arguments,
    }
    assert specs["Cluster"]["clusterNetwork"] == {
        "services": {"cidrBlocks": ["10.96.0.0/12"]},
        "pods": {"cidrBlocks": ["10.244.0.0/16"]},
        "serviceDomain": "cluster.local",
    }
    assert specs["InventoryCluster"] == {"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}}
    assert specs["InventoryMachineTemplate"]["template"]["spec"] == {
        "group": "prod_hosts",
        "failureDomainVariable": "rack",
    }
    assert notes == []


def test_what_differs_between_hosts_is_told_and_left_out(hand: HandMade) -> None:
    def other(answer: Object) -> None:
        answer["adoption"]["kubeletArguments"] = [["node-labels", "rack=b"]]

    hand.changes["host-2"] = other
    hand.nodes["host-3"]["metadata"]["annotations"]["kubeadm.alpha.kubernetes.io/cri-socket"] = "/run/crio/crio.sock"
    specs, notes = made(hand)
    # Nothing that they have in common is left to say, and Cluster API has no empty structures.
    assert not {"initConfiguration", "joinConfiguration"} & specs["KubeadmControlPlane"]["kubeadmConfigSpec"].keys()
    assert any("--node-labels" in each for each in notes) and any("container runtimes" in each for each in notes)


def test_control_planes_that_take_work(hand: HandMade) -> None:
    """Nobody has the taint: new machines have none either."""
    for node in hand.nodes.values():
        node["spec"]["taints"] = []
    specs, _notes = made(hand)
    assert specs["KubeadmControlPlane"]["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"]["taints"] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lb.example:8443", ("lb.example", 8443)),
        ("lb.example", ("lb.example", 6443)),
        ("10.0.0.100", ("10.0.0.100", 6443)),
        ("[fd00::1]:7443", ("fd00::1", 7443)),
        ("fd00::1", ("fd00::1", 6443)),
        ("a:²", ("a:²", 6443)),
        (f"a:{'9' * 5000}", (f"a:{'9' * 5000}", 6443)),
    ],
)
def test_an_endpoint_in_every_form_that_kubeadm_takes(text: str, expected: tuple[str, int]) -> None:
    assert manifest.host_and_port(text) == expected


def nothing(specs: dict[str, Object]) -> None:
    del specs


def another_version(specs: dict[str, Object]) -> None:
    specs["KubeadmControlPlane"]["version"] = "v1.21.0"


def another_size(specs: dict[str, Object]) -> None:
    specs["KubeadmControlPlane"]["replicas"] = 5


def another_network(specs: dict[str, Object]) -> None:
    specs["Cluster"]["clusterNetwork"]["pods"]["cidrBlocks"] = ["10.245.0.0/16"]


def another_endpoint(specs: dict[str, Object]) -> None:
    specs["InventoryCluster"]["controlPlaneEndpoint"]["host"] = "10.0.0.101"


def another_flag(specs: dict[str, Object]) -> None:
    arguments = specs["KubeadmControlPlane"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"]
    arguments[0]["value"] = "30"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (nothing, []),
        (another_version, ["spec.version: the manifest says v1.21.0, and v1.20.2 runs"]),
        (another_size, ["spec.replicas: the manifest says 5, and 3 runs"]),
        (another_network, ["Cluster spec.clusterNetwork.pods.cidrBlocks: the manifest says 10.245.0.0/16"]),
        (another_endpoint, ["Cluster spec.controlPlaneEndpoint: the manifest says 10.0.0.101:6443"]),
        (another_flag, ["clusterConfiguration.apiServer.extraArgs: the manifest and kubeadm-config differ"]),
    ],
)
def test_a_manifest_that_contradicts_what_runs(
    hand: HandMade, tmp_path: Path, change: t.Callable[[dict[str, Object]], None], words: list[str]
) -> None:
    """Every difference is named by its path; values, which may be secret, are not where users write their own."""
    found = manifest.contradictions(read(hand, tmp_path, change), hand.hub(), 3)
    assert len(found) == len(words), found
    assert all(word in str(each) for word, each in zip(words, found)), found
    assert "30" not in "".join(each.message for each in found)


def test_an_even_number_of_machines(hand: HandMade, tmp_path: Path) -> None:
    """Somebody stopped at two: the user says where it is to go, in an argument or in a manifest of their own."""
    hub = hand.hub()
    [problem] = manifest.even_replicas(hub, 2, 2)
    assert problem.reason == "EvenReplicas" and "control_plane_adopt_replicas" in problem.fix
    assert manifest.even_replicas(hub, 2, 3) == []
    assert manifest.contradictions(read(hand, tmp_path, nothing), hub, 2) == []
    external = {"endpoints": ["https://10.0.1.1:2379"]}
    elsewhere = {"clusterConfiguration": {**hub["clusterConfiguration"], "etcd": {"external": external}}}
    assert manifest.even_replicas(elsewhere, 2, 2) == []
