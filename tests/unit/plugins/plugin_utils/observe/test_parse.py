# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a node sends, the controller reads the same shape, and never more than was there."""

from __future__ import annotations

import datetime
import json
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import bootstrap_token, trim
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import own_server
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("{{ 1 }}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SHAPE: dict[str, t.Any] = {
    "machine": {"bootstrap": {}, "certificates": {"ca.crt": ""}, "staticPodManifests": [], "machineID": ""},
    "api": {"answers": True, "date": "Sat, 21 Nov 2026 06:27:06 GMT", "message": ""},
    "endpoint": {"answers": True, "message": ""},
    "etcd": {"reachable": True, "members": [{"id": "1"}], "statuses": {"1": {}}, "alarms": [{}], "leader": "1"},
    "objects": {
        "nodes": [
            {"metadata": {"labels": {}}, "spec": {"taints": [{}]}, "status": {"conditions": [{}], "addresses": [{}]}}
        ],
        "pods": [{"metadata": {"labels": {}}, "spec": {"containers": [{}]}, "status": {"containerStatuses": [{}]}}],
        "kubeadmConfig": {"data": {}},
        "kubeProxy": {"spec": {"containers": [{}]}, "status": {}},
        "dns": {"spec": {}, "status": {}},
        "bootstrap": {"clusterInfo": True, "kubeletBootstrap": {"subjects": [{}]}},
        "workerNodes": [""],
        "workerVersions": {"v1.20.2": 1},
    },
    "wanted": [{"found": True, "object": {}, "message": ""}],
}


def paths(document: t.Any, prefix: tuple[t.Any, ...] = ()) -> list[tuple[t.Any, ...]]:
    keys: t.Iterable[t.Any] = ()
    if isinstance(document, dict):
        keys = document
    elif isinstance(document, list):
        keys = range(len(document))
    return [prefix, *(path for key in keys for path in paths(document[key], (*prefix, key)))]


@given(st.sampled_from(paths(SHAPE)), JSON)
@settings(max_examples=400)
def test_any_value_in_any_place_gives_the_same_shape(path: tuple[t.Any, ...], value: t.Any) -> None:
    document = json.loads(json.dumps(SHAPE))
    if path:
        target = document
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    else:
        document = value
    workload = parse(document, "m")
    assert set(workload) == set(parse(SHAPE, "m"))
    assert isinstance(workload["reachable"], bool)
    assert workload["initialized"] in (True, False, None)
    json.dumps(workload)


def test_an_add_ons_image_is_that_of_the_container_of_its_name() -> None:
    proxy = {
        "metadata": {"generation": 3},
        "spec": {"containers": [{"name": "sidecar", "image": "s:1"}, {"name": "kube-proxy", "image": "kube-proxy:v1"}]},
        "status": {"observedGeneration": 2, "updatedNumberScheduled": 3},
    }
    objects = {**SHAPE["objects"], "kubeProxy": proxy, "dns": {"spec": {"containers": [{"name": "x", "image": "y:1"}]}}}
    addons = parse({**SHAPE, "objects": {**objects, "corefile": False}}, "m")["addons"]
    assert (addons["kubeProxy"]["image"], addons["kubeProxy"]["updated"]) == ("kube-proxy:v1", 0)
    assert (addons["dns"]["image"], addons["dns"]["corefile"]) == ("", False)
    proxy["status"]["observedGeneration"] = 3
    assert parse({**SHAPE, "objects": objects}, "m")["addons"]["kubeProxy"]["updated"] == 3


def test_what_a_kubelet_tells_of_its_machine_comes_whole() -> None:
    """Every text of core/v1 NodeSystemInfo, because Cluster API's schema asks for all of them, and nothing else that somebody put there."""
    texts = {name: f"the {name}" for name in trim.NODE_INFO}
    node = {"metadata": {"name": "n"}, "status": {"nodeInfo": {**texts, "swap": {"capacity": 7}, "theirs": "x"}}}
    workload = parse({**SHAPE, "objects": {**SHAPE["objects"], "nodes": [trim.node(node)]}}, "m")
    assert workload["nodes"][0]["nodeInfo"] == {**texts, "swap": {"capacity": 7}}
    node["status"]["nodeInfo"] = {"osImage": "o" * 5000, "bootID": 7}
    [found] = parse({**SHAPE, "objects": {**SHAPE["objects"], "nodes": [trim.node(node)]}}, "m")["nodes"]
    assert found["nodeInfo"] == {**dict.fromkeys(trim.NODE_INFO, ""), "osImage": "o" * 256}
    node["status"] = {}
    [found] = parse({**SHAPE, "objects": {**SHAPE["objects"], "nodes": [trim.node(node)]}}, "m")["nodes"]
    assert found["nodeInfo"] == {}, "its kubelet never reported"


def test_an_api_that_did_not_answer_leaves_the_question_open() -> None:
    silent = {**SHAPE, "api": {"answers": False, "message": "refused"}, "objects": None}
    workload = parse(silent, "m")
    assert (workload["reachable"], workload["initialized"], workload["now"]) == (False, None, None)
    assert workload["message"] == "refused"
    assert workload["addons"] == {}
    # Not even where objects came along: a part of the picture is not the picture.
    assert parse({**silent, "objects": SHAPE["objects"]}, "m")["reachable"] is False


def test_a_missing_kubeadm_config_of_an_answering_api_is_a_no() -> None:
    objects = {**SHAPE["objects"], "kubeadmConfig": None}
    assert parse({**SHAPE, "objects": objects}, "m")["initialized"] is False
    assert parse(SHAPE, "m")["initialized"] is True


def test_the_clock_is_the_apis() -> None:
    assert parse(SHAPE, "m")["now"] == "2026-11-21T06:27:06Z"
    for date in ("yesterday", "Fri, 31 Dec 9999 23:59:59 -0500", "Sat, 21 Nov 2026 06:27:06 +99999999999999"):
        assert parse({**SHAPE, "api": {"answers": True, "date": date}}, "m")["now"] is None


def pod(**status: t.Any) -> dict[str, t.Any]:
    container = {"name": "etcd", "image": "etcd:1", **status.pop("container", {})}
    return {
        "metadata": {"name": "etcd-n", "labels": {"component": "etcd", "tier": "control-plane"}},
        "spec": {
            "volumes": [{"name": "v"}],
            "nodeName": "n",
            "containers": [{"name": "etcd", "image": "etcd:1", "env": [{"name": "X"}]}],
        },
        "status": {"phase": "Running", "containerStatuses": [container], **status},
    }


def facts(item: dict[str, t.Any]) -> dict[str, t.Any]:
    objects = {**SHAPE["objects"], "pods": [trim.pod(item)]}
    return t.cast("dict[str, t.Any]", parse({**SHAPE, "objects": objects}, "m")["pods"]["n"]["etcd"])


def test_a_crashing_static_pod_shows_why() -> None:
    state = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 2}}}
    seen = facts(pod(container=state))
    assert (seen["ready"], seen["waitingReason"], seen["lastExitCode"]) == (False, "CrashLoopBackOff", 2)
    ended = facts(pod(container={"state": {"terminated": {"exitCode": 0}}}))
    assert (ended["terminated"], ended["lastExitCode"]) == (True, 0)
    ready = facts(pod(conditions=[{"type": "Ready", "status": "True"}], container={"state": {"running": {}}}))
    assert (ready["ready"], ready["lastExitCode"], ready["terminated"]) == (True, None, False)


def test_a_pod_that_only_carries_the_labels_is_not_taken_for_a_static_one() -> None:
    item = pod()
    item["metadata"]["name"] = "not-of-kubeadm"
    objects = {**SHAPE["objects"], "pods": [trim.pod(item)]}
    assert parse({**SHAPE, "objects": objects}, "m")["pods"] == {}


def test_trimming_keeps_no_arguments_environment_or_unknown_annotations() -> None:
    text = json.dumps(trim.pod(pod()))
    assert "env" not in text
    assert set(trim.pod(pod())["spec"]) == {"nodeName", "containers"}
    node = {
        "metadata": {
            "name": "n",
            "annotations": {"secret": "s3cret", "cluster.x-k8s.io/machine": "m"},
            "managedFields": [1],
        }
    }
    kept = trim.node(node)
    assert kept["metadata"]["annotations"] == {"cluster.x-k8s.io/machine": "m"}
    assert "managedFields" not in json.dumps(kept)


@pytest.mark.parametrize(("length", "kept"), [(100_000, 100_000), (140_000, 4096)])
def test_annotations_are_whole_as_far_as_an_api_server_takes_them(length: int, kept: int) -> None:
    annotations = {f"cluster.x-k8s.io/{each}": "a" * length for each in "ab"}
    objects = {**SHAPE["objects"], "nodes": [{"metadata": {"name": "n", "annotations": annotations}}]}
    [node] = parse({**SHAPE, "objects": objects}, "m")["nodes"]
    assert [len(each) for each in node["annotations"].values()] == [kept, kept]


@pytest.mark.parametrize(
    ("label", "expected"),
    [("node-role.kubernetes.io/master", True), ("node-role.kubernetes.io/control-plane", True), ("x", False)],
)
def test_control_plane_nodes_are_told_by_the_old_and_the_new_label(label: str, expected: bool) -> None:
    assert trim.is_control_plane({"metadata": {"labels": {label: ""}}}) is expected


@pytest.mark.parametrize(
    ("text", "server"),
    [
        (
            "    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 10.0.0.1:6443\n",
            "https://10.0.0.1:6443",
        ),
        ("    - --advertise-address=10.0.0.1\n    - --secure-port=7443\n", "https://10.0.0.1:7443"),
        ("    - --advertise-address=fd00::1\n", "https://[fd00::1]:6443"),
        ("kind: Pod\n", None),
        ("", None),
    ],
)
def test_the_own_address_of_an_api_server_is_in_its_manifest(
    tmp_path: t.Any, text: str, server: t.Optional[str]
) -> None:
    (tmp_path / "kube-apiserver.yaml").write_text(text)
    assert own_server(str(tmp_path)) == server


def test_a_token_is_random_well_formed_and_never_in_an_error() -> None:
    made = {bootstrap_token.new_token() for _unused in range(100)}
    assert len(made) == 100
    assert all(bootstrap_token.TOKEN_PATTERN.fullmatch(token) for token in made)
    now = datetime.datetime(2026, 11, 21, tzinfo=datetime.timezone.utc)
    document = bootstrap_token.secret_document("abcdef.0123456789abcdef", 900, "d", now)
    assert document["metadata"]["name"] == "bootstrap-token-abcdef"
    assert document["stringData"]["expiration"] == "2026-11-21T00:15:00Z"
    with pytest.raises(ValueError, match="not a bootstrap token") as refused:
        bootstrap_token.secret_document("abcdef.0123456789ABCDEF", 900, "d", now)
    assert "0123456789" not in str(refused.value)


def test_wanted_objects_are_told_from_those_that_could_not_be_read() -> None:
    raw = [
        {"found": True, "object": {"a": 1}},
        {"found": True, "object": None},
        {"found": False, "object": {"a": 1}, "message": "the API has no such object"},
        {"found": "yes", "object": {}},
    ]
    found = parse({**SHAPE, "wanted": raw}, None)["wanted"]
    assert [(each["found"], each["object"]) for each in found] == [
        (True, {"a": 1}),
        (None, None),
        (False, None),
        (None, None),
    ]
    assert parse({**SHAPE, "api": {"answers": False}, "wanted": raw}, None)["wanted"] is None


def test_an_alarm_of_a_newer_etcd_is_an_alarm() -> None:
    raised = [{"memberID": "1", "alarm": kind} for kind in ("NOSPACE", "OVERHEATED", "NONE", "", None, 5)]
    etcd = parse({**SHAPE, "etcd": {**SHAPE["etcd"], "alarms": raised}}, None)["etcd"]
    assert [each["alarm"] for each in etcd["alarms"]] == ["NOSPACE", "OVERHEATED"]


def test_a_nodes_conditions_are_kept_with_their_times_and_without_their_messages() -> None:
    """What is none is left out, and a time that is none is no time."""
    written = [
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-31T12:00:00Z", "message": "stopped"},
        {"type": "DiskPressure", "status": "False", "reason": "Enough", "lastTransitionTime": "yesterday"},
        {"type": "Odd", "status": "Perhaps"},
        {"status": "True"},
        "nonsense",
    ]
    item = {"metadata": {"name": "a"}, "status": {"conditions": written}}
    [node] = parse({"api": {"answers": True}, "objects": {"nodes": [trim.node(item)]}}, "a")["nodes"]
    assert node["conditions"] == [
        {"type": "Ready", "status": "Unknown", "reason": "", "lastTransitionTime": "2026-01-31T12:00:00Z"},
        {"type": "DiskPressure", "status": "False", "reason": "Enough", "lastTransitionTime": None},
    ]
    assert node["ready"] == "Unknown" and "networkReady" not in node


@pytest.mark.parametrize(
    "said",
    [
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: "
        "cni plugin not initialized",
        # A kubelet 1.20, above containerd and with dockershim, whose pods' conditions it names besides.
        "runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
        "[runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config "
        "uninitialized, CSINode is not yet initialized]",
    ],
)
def test_a_kubelet_without_a_network_plugin_is_told_from_others(said: str) -> None:
    """Its reason is KubeletNotReady like any other one's; what the runtime lacks is in the message alone."""
    ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": said}
    item = {"metadata": {"name": "a"}, "status": {"conditions": [ready]}}
    [node] = parse({"api": {"answers": True}, "objects": {"nodes": [trim.node(item)]}}, "a")["nodes"]
    assert (node["networkReady"], node["readyReason"]) == (False, "KubeletNotReady")
    assert said not in json.dumps(node)
