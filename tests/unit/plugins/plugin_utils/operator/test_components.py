# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelets' and kube-proxy's ConfigMaps: changed, taken back, and never written over what somebody else has put there."""

from __future__ import annotations

import copy
import typing as t

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.compare_and_swap import (
    MERGE,
    Read,
    Write,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import components
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload import swap
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.writes import Plan, WorkloadError

KUBELET = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 110\n"
PROXY = "kind: KubeProxyConfiguration\napiVersion: kubeproxy.config.k8s.io/v1alpha1\nmode: ''\n"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
VERSION = "v1.20.2"


class Cluster:
    """The objects that a plan is made from, with its writes applied as the API does."""

    def __init__(self) -> None:
        self.objects: dict[str, t.Any] = {
            f"{CONFIG_MAPS}/kubelet-config-1.20": config_map({"kubelet": KUBELET}),
            f"{CONFIG_MAPS}/kube-proxy": config_map({"config.conf": PROXY, "kubeconfig.conf": "kind: Config\n"}),
            components.DAEMON_SET: {
                "metadata": {"resourceVersion": "1", "generation": 3},
                "spec": {"updateStrategy": {"type": "RollingUpdate"}, "template": {"metadata": {}}},
                "status": status(3, 2, 2, 2),
            },
        }

    def text(self, name: str, key: str) -> dict[str, t.Any]:
        """What a ConfigMap holds."""
        return dict(yaml.safe_load(self.objects[f"{CONFIG_MAPS}/{name}"]["data"][key]))

    def apply(self, planner: t.Callable[[t.Any], Plan]) -> Plan:
        """Plan, and write."""
        plan = planner(copy.deepcopy(self.objects))
        for write in plan.writes:
            self._write(write)
        return plan

    def _write(self, write: Write) -> None:
        item = self.objects[write.path]
        assert write.resource_version == item["metadata"]["resourceVersion"]
        before = copy.deepcopy(item.get("spec"))
        _merge(item, write.document)
        item["metadata"]["resourceVersion"] += "1"
        if item.get("spec") != before:
            item["metadata"]["generation"] += 1


def _merge(item: dict[str, t.Any], patch: t.Mapping[str, t.Any]) -> None:
    for key, value in patch.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict):
            _merge(item.setdefault(key, {}), value)
        else:
            item[key] = value


def config_map(data: dict[str, str]) -> dict[str, t.Any]:
    """A ConfigMap."""
    return {"metadata": {"resourceVersion": "1"}, "data": data}


def status(generation: int, wanted: int, updated: int, available: int) -> dict[str, int]:
    """A DaemonSet's status."""
    return {
        "observedGeneration": generation,
        "desiredNumberScheduled": wanted,
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
    }


def change(kind: str, text: str, patch: dict[str, t.Any]) -> components.Change:
    """A patch on a text."""
    return components.Change.of(kind, text, patch)


def test_the_kubelets_configuration_is_changed_and_taken_back() -> None:
    """Under the name that this version's kubeadm looks for; twice is once; the way back is the same function."""
    cluster = Cluster()
    wanted = change("KubeletConfiguration", KUBELET, {"maxPods": 120})
    plan = cluster.apply(components.kubelet_plan(wanted, VERSION))
    assert [each.method for each in plan.writes] == [MERGE]
    assert cluster.text("kubelet-config-1.20", "kubelet")["maxPods"] == 120
    assert cluster.apply(components.kubelet_plan(wanted, VERSION)).writes == ()
    cluster.apply(components.kubelet_plan(wanted.reversed(), VERSION))
    assert cluster.text("kubelet-config-1.20", "kubelet")["maxPods"] == 110


def test_what_somebody_else_wrote_is_not_written_over() -> None:
    """Neither forward nor back; the difference is told."""
    cluster = Cluster()
    wanted = change("KubeletConfiguration", KUBELET, {"maxPods": 120})
    cluster.objects[f"{CONFIG_MAPS}/kubelet-config-1.20"]["data"]["kubelet"] = KUBELET + "podPidsLimit: 100\n"
    for planner in (components.kubelet_plan(wanted, VERSION), components.kubelet_plan(wanted.reversed(), VERSION)):
        with pytest.raises(WorkloadError, match="podPidsLimit: not set -> 100"):
            cluster.apply(planner)


def test_a_config_map_that_is_not_there() -> None:
    """Named, and nothing is written."""
    cluster = Cluster()
    wanted = change("KubeletConfiguration", KUBELET, {"maxPods": 120})
    with pytest.raises(WorkloadError, match=r"no ConfigMap kube-system/kubelet-config "):
        cluster.apply(components.kubelet_plan(wanted, "v1.26.1"))


def test_kube_proxy_changes_with_its_pods_one_machine_at_a_time() -> None:
    """Pods that end at once must not count as available: minReadySeconds holds the rolling update, and is taken back afterwards."""
    cluster = Cluster()
    wanted = change("KubeProxyConfiguration", PROXY, {"conntrack": {"maxPerCore": 0}})
    cluster.apply(components.proxy_plan(wanted))
    daemon_set = cluster.objects[components.DAEMON_SET]
    assert cluster.text("kube-proxy", "config.conf")["conntrack"] == {"maxPerCore": 0}
    assert cluster.objects[f"{CONFIG_MAPS}/kube-proxy"]["data"]["kubeconfig.conf"] == "kind: Config\n"
    assert daemon_set["spec"]["minReadySeconds"] == settings.KUBE_PROXY_READY_SECONDS
    first = daemon_set["spec"]["template"]["metadata"]["annotations"][components.ANNOTATION_CONFIGURATION]
    assert cluster.apply(components.proxy_plan(wanted)).writes == ()
    template = copy.deepcopy(daemon_set["spec"]["template"])
    cluster.apply(components.proxy_settled)
    assert daemon_set["spec"]["minReadySeconds"] == 0
    assert components.ANNOTATION_MIN_READY not in daemon_set["metadata"]["annotations"]
    assert daemon_set["spec"]["template"] == template
    assert cluster.apply(components.proxy_settled).writes == ()
    cluster.apply(components.proxy_plan(wanted.reversed()))
    second = daemon_set["spec"]["template"]["metadata"]["annotations"][components.ANNOTATION_CONFIGURATION]
    assert first != second
    assert cluster.text("kube-proxy", "config.conf") == yaml.safe_load(PROXY)


def test_a_users_longer_min_ready_seconds_stays() -> None:
    """It serves as well, and is the user's."""
    cluster = Cluster()
    cluster.objects[components.DAEMON_SET]["spec"]["minReadySeconds"] = 30
    cluster.apply(components.proxy_plan(change("KubeProxyConfiguration", PROXY, {"conntrack": {"min": 1}})))
    cluster.apply(components.proxy_settled)
    assert cluster.objects[components.DAEMON_SET]["spec"]["minReadySeconds"] == 30


@pytest.mark.parametrize(("patch", "set_since", "left"), [(1, None, 5), (2, None, 5), (2, 30, 30), (2, 7, 7)])
def test_the_next_change_of_kube_proxy_takes_back_what_an_aborted_one_left(
    patch: int, set_since: int | None, left: int
) -> None:
    """The same change again, or another one; what another client has set since is its own."""
    cluster = Cluster()
    spec = cluster.objects[components.DAEMON_SET]["spec"]
    spec["minReadySeconds"] = 5
    cluster.apply(components.proxy_plan(change("KubeProxyConfiguration", PROXY, {"conntrack": {"min": 1}})))
    spec = cluster.objects[components.DAEMON_SET]["spec"]
    spec["minReadySeconds"] = set_since or spec["minReadySeconds"]
    stored = cluster.objects[f"{CONFIG_MAPS}/kube-proxy"]["data"]["config.conf"]
    cluster.apply(components.proxy_plan(change("KubeProxyConfiguration", stored, {"conntrack": {"min": patch}})))
    cluster.apply(components.proxy_settled)
    daemon_set = cluster.objects[components.DAEMON_SET]
    assert daemon_set["spec"]["minReadySeconds"] == left
    assert components.ANNOTATION_MIN_READY not in daemon_set["metadata"]["annotations"]


def test_kube_proxys_pods_that_nobody_restarts() -> None:
    """With OnDelete, or without a DaemonSet, the change would never come."""
    wanted = change("KubeProxyConfiguration", PROXY, {"conntrack": {"min": 1}})
    cluster = Cluster()
    cluster.objects[components.DAEMON_SET]["spec"]["updateStrategy"]["type"] = "OnDelete"
    with pytest.raises(WorkloadError, match="OnDelete"):
        cluster.apply(components.proxy_plan(wanted))
    cluster.objects[components.DAEMON_SET] = None
    with pytest.raises(WorkloadError, match="no DaemonSet"):
        cluster.apply(components.proxy_plan(wanted))


@pytest.mark.parametrize(
    ("seen", "done"),
    [
        (status(3, 2, 2, 2), True),
        (status(2, 2, 2, 2), False),
        (status(3, 2, 1, 2), False),
        (status(3, 2, 2, 1), False),
    ],
)
def test_when_kube_proxy_is_rolled_out(seen: dict[str, int], done: bool) -> None:
    """All pods new, all available, and said of this very generation."""
    cluster = Cluster()
    cluster.objects[components.DAEMON_SET]["status"] = seen
    assert cluster.apply(components.proxy_progress).facts["rolledOut"] is done


@pytest.mark.parametrize(
    ("odd", "where"),
    [
        ([], "$ must be a mapping"),
        ({"data": ["a"]}, "data must be a mapping"),
        ({"data": {"kubelet": {"a": 1}}}, "data[kubelet] must be text"),
        ({"metadata": {"annotations": {"a": 1}}}, "metadata.annotations[a] must be text"),
        ({"items": {"a": "b"}}, "items must be a list"),
        ({"items": ["a"]}, "items[0] must be a mapping"),
        ({"items": [{}]}, "items[0].metadata is missing"),
        ({"items": [{"metadata": {"name": 7}}]}, "items[0].metadata.name must be text"),
        ({"items": [{"metadata": {"name": "a", "labels": ["b"]}}]}, "items[0].metadata.labels must be a mapping"),
        ({"items": [{"metadata": {"name": "a"}, "status": {"conditions": ["b"]}}]}, "conditions[0] must be a mapping"),
        ({"spec": {"template": {"spec": {"containers": [7]}}}}, "containers[0] must be a mapping"),
    ],
)
def test_an_api_that_answers_what_no_kubernetes_does_is_named(odd: t.Any, where: str) -> None:
    def ask(_name: str, _call: dict[str, t.Any]) -> Answer:
        return Answer(True, {"objects": {"/api/v1/nodes": odd}})

    def planner(_objects: t.Any) -> t.Any:
        raise AssertionError("nothing is worked out from it")

    reads, through = (Read("/api/v1/nodes", ()),), swap.through(ask, ["a"])
    for call in (
        lambda: swap.read(through, reads),
        lambda: swap.converge(through, reads, planner, list, lambda _plan: None),
    ):
        with pytest.raises((swap.SwapFailure, WorkloadError)) as refused:
            call()
        assert where in str(refused.value) and "/api/v1/nodes" in str(refused.value)


def test_the_api_server_that_did_not_confirm_a_write_is_asked_last_from_then_on() -> None:
    asked: list[tuple[str, bool]] = []

    def ask(name: str, call: dict[str, t.Any]) -> Answer:
        asked.append((name, writes := bool(call.get("write"))))
        said = f"/x: {name} is ill (HTTP 500)" if writes and name in ill else ""
        written = int(writes and not said)
        return Answer(True, {"objects": {}, "written": written, "conflict": "", "unconfirmed": said})

    def swapped() -> bool:
        asked.clear()
        write = Write("/api/v1/nodes/n", MERGE, {}, "1")
        through = swap.through(ask, ["a", "b"])
        return swap.converge(through, (), lambda _objects: Plan("", writes=(write,)), list, lambda _plan: None)

    ill = {"a"}
    assert swapped() and asked == [("a", False), ("a", True), ("b", False), ("b", True)]
    ill = {"a", "b"}
    with pytest.raises(swap.SwapFailure, match=r"did not confirm .*: Node a: /x: a is ill \(HTTP 500\)"):
        swapped()
    assert [name for name, writes in asked if writes] == ["a", "b", "a", "b", "a"]
