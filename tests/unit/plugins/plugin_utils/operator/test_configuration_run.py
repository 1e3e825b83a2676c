# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands of a changed configuration ask of which node, write into the cluster, and take back."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from stand_in_configurations import BAD_FLAG, BAD_PODS, KUBELET
from stand_in_machine import World, new_state
from task_context import CommandRun, StandInAction

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import components
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure

Object = dict[str, t.Any]
SYSTEM = "/api/v1/namespaces/kube-system/configmaps"
KUBEADM, PROXY = f"{SYSTEM}/kubeadm-config", f"{SYSTEM}/kube-proxy"
CLUSTER_TEXT = """\
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
clusterName: kubernetes
networking: {dnsDomain: cluster.local, serviceSubnet: 10.96.0.0/12}
etcd: {local: {dataDir: /var/lib/etcd}}
apiServer: {timeoutForControlPlane: 4m0s}
"""
KUBELET_TEXT = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\n"
PROXY_TEXT = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ''\n"
FLAG = {"apiServer": {"extraArgs": {"audit-log-maxage": "30"}}}
NODES = ("cp-a", "cp-b", "w")


class Cluster:
    """Two control plane nodes and a worker, answered for by the stand-in for machines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.silent: set[str] = set()
        self._runs = 0
        self.state = new_state()
        objects = self.state["objects"]
        objects[KUBEADM] = kept({"ClusterConfiguration": CLUSTER_TEXT})
        objects[KUBELET] = kept({"kubelet": KUBELET_TEXT})
        objects[PROXY] = kept({"config.conf": PROXY_TEXT})
        counts = dict.fromkeys(("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"), 3)
        objects[components.DAEMON_SET] = {
            "metadata": {"name": "kube-proxy", "resourceVersion": "1", "generation": 1},
            "spec": {"updateStrategy": {"type": "RollingUpdate"}, "template": {"metadata": {}}},
            "status": {"observedGeneration": 1, **counts},
        }
        machines = {
            name: {"name": name, "machineID": name, "state": "running", "address": f"198.51.100.{number}"}
            for number, name in enumerate(NODES)
        }
        self._cloud: Object = {"machines": machines, "balancers": {}}
        self._addresses = {name: each["address"] for name, each in machines.items()}

    def __call__(self, name: str, module: str, arguments: Object) -> t.Optional[Object]:
        """Answer as a module on that node would."""
        if name in self.silent:
            return None
        given = {key: value for key, value in arguments.items() if key != "machine_id"}
        return World(self.state, self._cloud, self._addresses[name]).answer(module, given)

    def run(self, command: str, node: str = "cp-a", looks: int = 5, **parameters: t.Any) -> CommandRun:
        """A command on a node."""
        facts = ClusterFacts(
            "acme",
            "v1.20.2",
            tuple(NodeFacts(name, name != "w", inventory_host=name) for name in NODES),
            cluster_configuration=CLUSTER_TEXT,
            kubelet_configuration=KUBELET_TEXT,
            kube_proxy_configuration=PROXY_TEXT,
        )
        self._runs += 1
        folder = self.folder / str(self._runs)
        folder.mkdir()
        return CommandRun(folder, facts, node, {command: parameters}, StandInAction(self, looks))

    def text(self, path: str, key: str) -> Object:
        """What a ConfigMap holds."""
        return dict(yaml.safe_load(self.state["objects"][path]["data"][key]))

    def put(self, path: str, key: str, text: str) -> None:
        """Somebody else writes a ConfigMap."""
        self.state["objects"][path]["data"][key] = text


def kept(data: dict[str, str]) -> Object:
    """A ConfigMap."""
    return {"metadata": {"name": "x", "resourceVersion": "1"}, "data": data}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A cluster as kubeadm made it."""
    return Cluster(tmp_path)


def change(cluster: Cluster, patch: Object, node: str = "cp-a", **more: t.Any) -> CommandRun:
    """The change of a control plane node."""
    return cluster.run("changeControlPlaneConfiguration", node, patch=patch, components=["kube-apiserver"], **more)


def test_the_check_changes_nothing_and_tells_what_would_change(cluster: Cluster) -> None:
    """With the node's own refusal where it has one."""
    check = cluster.run("checkControlPlaneConfiguration", "cp-b", patch=FLAG, components=["kube-apiserver"])
    check.run()
    assert check.notes() == ["flags change"]
    assert check.action.locks == 0
    [(node, _module, arguments)] = check.action.calls
    assert (node, arguments["only_compare"], arguments["manual_changes"]) == ("cp-b", True, "Refuse")
    assert "fencing" not in arguments
    cluster.state["lacks"] = "cp-b"
    with pytest.raises(CommandFailure, match=r"Node cp-b: .*does not have: /etc/audit"):
        check.run()


def test_the_change_is_awaited_and_found_again(cluster: Cluster) -> None:
    """One work of one name, with the fencing number; a second call of the same command does nothing more."""
    run = change(cluster, FLAG)
    run.run()
    assert cluster.state["configurations"]["cp-a"]["flags"] == {"audit-log-maxage": "30"}
    assert run.action.locks == 1
    assert len({arguments["step"] for _node, _module, arguments in run.action.calls}) == 1
    assert {arguments["fencing"] for _node, _module, arguments in run.action.calls} == {7}
    assert run.notes() == ["flags change"]
    run.run()
    again = change(cluster, FLAG)
    again.run()
    assert again.notes()[-1] == "already as wanted: nothing was changed here"
    assert cluster.state["changed"] == [["cp-a", "flags"]]


def test_what_does_not_work_is_told_with_node_and_reason(cluster: Cluster) -> None:
    """And that the node is as before; retry tries it anew."""
    run = change(cluster, {"apiServer": {"extraArgs": {BAD_FLAG: "1"}}})
    with pytest.raises(CommandFailure, match=r"Node cp-a: .*It says: Error: it does not work\. This Node was put back"):
        run.run()
    cluster.state["known_flags"] = True
    run.run()
    assert cluster.state["changed"] == [["cp-a", "flags"], ["cp-a", "flags"]]


def test_a_work_that_takes_too_long_goes_on_by_itself(cluster: Cluster) -> None:
    """The patience of the run has an end; what was begun is found by the next call."""
    run = change(cluster, FLAG)
    run.action._looks = 0
    with pytest.raises(CommandFailure, match="has not ended within"):
        run.run()
    run.action._looks = 5
    run.run()
    assert cluster.state["changed"] == [["cp-a", "flags"]]


def test_kubeadm_config_is_written_once_and_never_over_somebody_elses(cluster: Cluster) -> None:
    """The whole document as kubeadm reads it, with the change."""
    record = stored(cluster.run("recordClusterConfiguration", patch=FLAG))
    record.run()
    document = cluster.text(KUBEADM, "ClusterConfiguration")
    assert document["apiServer"] == {"extraArgs": {"audit-log-maxage": "30"}, "timeoutForControlPlane": "4m0s"}
    assert document["apiVersion"] == "kubeadm.k8s.io/v1beta2"
    version = cluster.state["objects"][KUBEADM]["metadata"]["resourceVersion"]
    record.run()
    assert cluster.state["objects"][KUBEADM]["metadata"]["resourceVersion"] == version
    cluster.put(KUBEADM, "ClusterConfiguration", CLUSTER_TEXT + "scheduler: {extraArgs: {v: '9'}}\n")
    with pytest.raises(CommandFailure, match=r'scheduler\.extraArgs\.v: not set -> "9"'):
        record.run()


def stored(run: CommandRun) -> CommandRun:
    """The control plane and its machines are in the store."""
    objects = run.objects
    for each in (objects.control_plane, *objects.machines, *objects.kubeadm_configs.values()):
        if each is not None:
            each["metadata"].pop("resourceVersion", None)
            run.store.create(each)
    return run


def test_the_store_follows(cluster: Cluster) -> None:
    """The control plane and its machines say the same as before each other: no rollout follows."""
    record = stored(cluster.run("recordClusterConfiguration", patch=FLAG))
    record.run()
    store = record.store
    wanted = {"name": "audit-log-maxage", "value": "30"}
    kinds = (("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"))
    for kind in kinds:
        for each in store.list(kind, "default"):
            spec = each["spec"].get("kubeadmConfigSpec") or each["spec"]
            # What the cluster was made with stays.
            assert spec["clusterConfiguration"]["apiServer"]["extraArgs"] == [{"name": "v", "value": "2"}, wanted]


def test_a_kubelet_that_does_not_come_up_takes_its_config_map_back(cluster: Cluster) -> None:
    """For it, the next joining machine would read the same."""
    good = cluster.run("changeKubeletConfiguration", "cp-a", patch={"maxPods": 120})
    good.run()
    assert cluster.text(KUBELET, "kubelet")["maxPods"] == 120
    cluster.put(KUBELET, "kubelet", KUBELET_TEXT)
    bad = cluster.run("changeKubeletConfiguration", "w", patch={"maxPods": BAD_PODS})
    with pytest.raises(CommandFailure, match=r"Node w: .*Its ConfigMap is as before, too"):
        bad.run()
    assert cluster.text(KUBELET, "kubelet")["maxPods"] == 110


def test_a_kubelet_beside_one_that_failed_does_not_count_as_changed(cluster: Cluster) -> None:
    """The other one has taken the ConfigMap back: what this one has read, nobody knows."""
    run = cluster.run("changeKubeletConfiguration", "w", patch={"maxPods": 120})
    answer = run.action._node

    def beside(name: str, module: str, arguments: Object) -> t.Optional[Object]:
        result = answer(name, module, arguments)
        if module == "node_configuration":
            cluster.put(KUBELET, "kubelet", KUBELET_TEXT)
        return result

    run.action._node = beside
    with pytest.raises(CommandFailure, match="taken back meanwhile"):
        run.run()


def test_a_kubelet_is_asked_for_flags_that_outweigh_what_changes(cluster: Cluster) -> None:
    """First with nothing begun; and again where it is changed, for a flag may have come meanwhile."""
    check = cluster.run("checkKubeletConfiguration", "w", fields=["evictionHard.memory.available", "maxPods"])
    check.run()
    [(node, _module, arguments)] = check.action.calls
    assert (node, arguments["only_compare"], arguments["manual_changes"]) == ("w", True, "Refuse")
    assert arguments["fields"] == ["evictionHard.memory.available", "maxPods"]
    patch = {"maxPods": 120, "evictionHard": {"memory.available": "100Mi"}}
    run = cluster.run("changeKubeletConfiguration", "w", patch=patch, manualChanges="Overwrite")
    run.run()
    asked = [arguments for _node, module, arguments in run.action.calls if module == "node_configuration"]
    assert {(tuple(each["fields"]), each["manual_changes"]) for each in asked} == {
        (("evictionHard.memory.available", "maxPods"), "Overwrite")
    }


def test_which_credentials_the_kubelets_use(cluster: Cluster) -> None:
    """A worker has no admin.conf."""
    for node, path in (("cp-b", "/etc/kubernetes/admin.conf"), ("w", "/etc/kubernetes/kubelet.conf")):
        run = cluster.run("changeKubeletConfiguration", node, patch={"maxPods": 120})
        run.run()
        used = {
            arguments.get("kubeconfig") for _name, module, arguments in run.action.calls if module != "workload_objects"
        }
        assert used == {path}


def test_a_kubelet_whose_node_is_silent_keeps_what_was_begun(cluster: Cluster) -> None:
    """Nobody knows how far it came: the ConfigMap stays, and a retry takes the result."""
    cluster.silent = {"w"}
    run = cluster.run("changeKubeletConfiguration", "w", patch={"maxPods": 120})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "ansible_collections.kubeadm.control_plane.plugins.module_utils.common.settings.SILENCE_SECONDS",
            -1.0,
        )
        with pytest.raises(CommandFailure, match="was not reached"):
            run.run()
    assert cluster.text(KUBELET, "kubelet")["maxPods"] == 120


def test_kube_proxys_pods_that_do_not_stay_up_go_back(cluster: Cluster) -> None:
    """ConfigMap, pods and minReadySeconds; the outcome of the way back is told."""
    daemon_set = cluster.state["objects"][components.DAEMON_SET]
    cluster.run("changeKubeProxyConfiguration", patch={"conntrack": {"min": 1}}).run()
    assert cluster.text(PROXY, "config.conf")["conntrack"] == {"min": 1}
    assert daemon_set is not cluster.state["objects"][components.DAEMON_SET]
    assert cluster.state["objects"][components.DAEMON_SET]["spec"]["minReadySeconds"] == 0
    cluster.put(PROXY, "config.conf", PROXY_TEXT)
    cluster.state["objects"][components.DAEMON_SET]["status"]["numberAvailable"] = 2
    bad = cluster.run("changeKubeProxyConfiguration", patch={"conntrack": {"min": 2}})
    with pytest.raises(CommandFailure, match=r"did not stay up .* 2 run for 10 s or longer.*It was put back, and then"):
        bad.run()
    assert "conntrack" not in cluster.text(PROXY, "config.conf")
    assert cluster.state["objects"][components.DAEMON_SET]["spec"]["minReadySeconds"] == 0
