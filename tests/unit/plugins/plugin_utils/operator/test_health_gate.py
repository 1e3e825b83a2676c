# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate between disruptive commands: what an observation of a Node's own machine says is not well."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.health_gate import judge, version_of

Object = dict[str, t.Any]
NAMES = ("cp-a", "cp-b", "cp-c")
IDS = ("000000000000000a", "000000000000000b", "000000000000000c")
MACHINE = "0123456789abcdef0123456789abcdef"


def observation() -> Object:
    """Three healthy Nodes, asked on cp-a."""

    def pod(node: str, component: str) -> Object:
        return {
            "metadata": {"name": f"{component}-{node}", "labels": {"component": component, "tier": "control-plane"}},
            "spec": {
                "nodeName": node,
                "containers": [{"name": component, "image": f"k8s.gcr.io/{component}:v1.20.2", "readinessProbe": True}],
            },
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": component, "ready": True, "state": {"running": {}}}],
            },
        }

    def node(name: str) -> Object:
        return {
            "metadata": {"name": name, "labels": {"node-role.kubernetes.io/control-plane": ""}},
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.20.2", "machineID": MACHINE if name == "cp-a" else name},
            },
        }

    components = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
    return {
        "observationVersion": "v1",
        "machine": {
            "machineID": MACHINE,
            "componentHealth": {"kube-controller-manager": True, "kube-scheduler": True},
        },
        "api": {"answers": True, "ready": True, "date": "", "message": "", "server": "https://192.0.2.7:6443"},
        "objects": {
            "nodes": [node(name) for name in NAMES],
            "pods": [pod(name, component) for name in NAMES for component in components],
            "workerNodes": [],
        },
        "etcd": {
            "reachable": True,
            "message": "",
            "members": [
                {"id": identity, "name": name, "peerURLs": [], "clientURLs": [], "isLearner": False}
                for identity, name in zip(IDS, NAMES)
            ],
            "statuses": {identity: {"healthy": True, "message": ""} for identity in IDS},
            "memberListAgrees": True,
            "leader": IDS[0],
            "clusterID": "00000000000000ff",
            "alarms": [],
        },
    }


def changed(change: t.Callable[[Object], t.Any]) -> Object:
    """The healthy observation with one thing that is not."""
    seen = copy.deepcopy(observation())
    change(seen)
    return seen


def test_all_is_well() -> None:
    """Nothing to wait for."""
    assert judge(observation(), "cp-a") == []
    assert judge(observation(), "cp-a", kubelet="v1.20.2", api_server="v1.20.2") == []


def joining(name: str) -> Object:
    """The healthy observation with a learner that does not answer."""
    learner = {"id": "000000000000000d", "name": name, "peerURLs": [], "clientURLs": [], "isLearner": True}
    return changed(lambda seen: seen["etcd"]["members"].append(learner))


def test_a_learner_that_has_not_begun_holds_nothing() -> None:
    """It has no vote; that of the Node itself has to be healthy."""
    assert judge(joining(""), "cp-a") == [] and judge(joining("cp-d"), "cp-a") == []
    assert judge(joining("cp-a"), "cp-a") == ["etcd member cp-a is not healthy ()"]


@pytest.mark.parametrize(
    ("url", "learner", "found"),
    [
        ("https://192.0.2.1:2380", False, []),
        ("https://[fd00::1]:2380", False, ["no etcd member has its name or address"]),
        ("https://192.0.2.11:2380", False, ["no etcd member has its name or address"]),
        # One that is its own and has no vote is waited for.
        ("https://192.0.2.1:2380", True, ["etcd member old-name is not healthy ()"]),
    ],
)
def test_a_member_with_the_name_that_the_host_had_is_known_by_its_address(
    url: str, learner: bool, found: list[str]
) -> None:
    """An adopted cluster's host may have been renamed after its etcd was made."""

    def renamed(seen: Object) -> None:
        addresses = [{"type": "InternalIP", "address": "192.0.2.1"}]
        seen["objects"]["nodes"][0]["status"]["addresses"] = addresses
        seen["etcd"]["members"][0].update(name="old-name", peerURLs=[url], isLearner=learner)
        seen["etcd"]["statuses"][IDS[0]]["healthy"] = not learner

    assert judge(changed(renamed), "cp-a") == found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda seen: seen["api"].update(answers=False, message="refused"), "its API server does not answer (refused)"),
        (lambda seen: seen["api"].update(ready=False), "its kube-apiserver does not report that it is healthy"),
        (
            lambda seen: seen["machine"]["componentHealth"].update({"kube-scheduler": False}),
            "its kube-scheduler does not report that it is healthy",
        ),
        (
            lambda seen: seen["etcd"]["statuses"][IDS[1]].update(healthy=False, message="it knows of no leader"),
            "etcd member cp-b is not healthy (it knows of no leader)",
        ),
        (lambda seen: seen["etcd"].update(reachable=False, message="gone"), "its etcd does not answer (gone)"),
        (lambda seen: seen["etcd"].update(memberListAgrees=False), "etcd's members disagree about who they are"),
        (lambda seen: seen["etcd"]["members"].pop(0), "no etcd member has its name"),
        (lambda seen: seen["objects"]["nodes"].pop(0), "the cluster has no Node of its name"),
        (
            lambda seen: seen["objects"]["nodes"][0]["status"]["conditions"][0].update(status="Unknown"),
            "its Node is not Ready",
        ),
        (lambda seen: seen.clear(), "the observation holds no answer of the API"),
    ],
)
def test_what_is_not_well(change: t.Callable[[Object], t.Any], words: str) -> None:
    """Each is named, so that whoever waits knows for what."""
    assert words in "; ".join(judge(changed(change), "cp-a"))


def test_versions_that_have_not_come_yet() -> None:
    """A kubelet that reports the old version has not been restarted, whatever its Node's condition says."""
    assert judge(observation(), "cp-a", kubelet="v1.21.0", api_server="v1.21.0") == [
        "its kubelet reports v1.20.2, v1.21.0 is wanted",
        "its API server is v1.20.2, v1.21.0 is wanted",
    ]


def test_a_component_that_moved_its_port() -> None:
    """One that nobody could ask on its usual port is judged by its pod."""
    seen = changed(lambda seen: seen["machine"]["componentHealth"].update({"kube-scheduler": None}))
    assert judge(seen, "cp-a") == []


def test_an_external_etcd() -> None:
    """It is not this Node's business."""
    assert judge(changed(lambda seen: seen.update(etcd=None)), "cp-a") == []


def test_another_nodes_trouble() -> None:
    """Another Node that is not Ready is no reason to wait: its etcd member is."""
    seen = changed(lambda seen: seen["objects"]["nodes"][1]["status"]["conditions"][0].update(status="False"))
    assert judge(seen, "cp-a") == []


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("k8s.gcr.io/kube-apiserver:v1.20.2", "v1.20.2"),
        ("reg:5000/kube-apiserver:v1.30.2_build@sha256:abc", "v1.30.2+build"),
        ("kube-apiserver@sha256:abc", ""),
        ("", ""),
    ],
)
def test_the_version_in_an_image(image: str, version: str) -> None:
    """A tag, without the digest."""
    assert version_of(image) == version
