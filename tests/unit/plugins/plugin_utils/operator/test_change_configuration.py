# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner of changeConfiguration: who gets what in which order, what is refused, and what a patch means."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from task_context import CommandRun, StandInAction

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.change_configuration import commands, plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    GroupPlan,
    NodeFacts,
    RefusedAction,
)

# As kubeadm 1.20 keeps it.
GROUPS = ["kubelet-check", "check", "control-plane", "record", "kubelet-cp", "kubelet-w", "kube-proxy"]
CLUSTER = """\
apiServer:
  certSANs:
  - api.example.com
  extraArgs:
    audit-log-maxage: "7"
    authorization-mode: Node,RBAC
  timeoutForControlPlane: 4m0s
apiVersion: kubeadm.k8s.io/v1beta2
certificatesDir: /etc/kubernetes/pki
clusterName: prod
controlPlaneEndpoint: 10.0.0.10:6443
controllerManager: {}
dns:
  type: CoreDNS
etcd:
  local:
    dataDir: /var/lib/etcd
imageRepository: k8s.gcr.io
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
networking:
  dnsDomain: cluster.local
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/12
scheduler: {}
"""
KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
clusterDomain: cluster.local
evictionHard: {memory.available: 100Mi}
staticPodPath: /etc/kubernetes/manifests
"""
KUBE_PROXY = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clusterCIDR: 10.244.0.0/16
mode: ""
conntrack: {maxPerCore: null}
"""


def facts(**over: t.Any) -> ClusterFacts:
    """Two control plane Nodes and two workers of 1.20.2."""
    nodes = tuple(
        NodeFacts(name, name.startswith("cp"), api_server_version="v1.20.2" if name.startswith("cp") else "")
        for name in ("cp-a", "cp-b", "w-1", "w-2")
    )
    values = {
        "cluster_configuration": CLUSTER,
        "kubelet_configuration": KUBELET,
        "kube_proxy_configuration": KUBE_PROXY,
        **over,
    }
    return dataclasses.replace(ClusterFacts("prod", "v1.20.2", nodes), **values)


def planned(spec: dict[str, t.Any], **over: t.Any) -> dict[str, GroupPlan]:
    """The groups of a valid struct by their names, in their order."""
    assert plan.validate(spec, "spec.changeConfiguration") == []
    groups = {each.name: each for each in plan.plan(spec, facts(**over))}
    for group in groups.values():
        for descriptor in group.commands:
            ((name, parameters),) = descriptor.items()
            known = {each.name: each for each in commands.COMMANDS}
            if name in known:
                assert known[name].errors(parameters, name) == []
                assert known[name].describe(known[name].complete(parameters), NodeFacts("cp-a", True))
    return groups


def refusal(spec: dict[str, t.Any], **over: t.Any) -> RefusedAction:
    """Why a struct that is valid by itself is refused."""
    assert plan.validate(spec, "spec.changeConfiguration") == []
    with pytest.raises(RefusedAction) as caught:
        plan.plan(spec, facts(**over))
    return caught.value


def cluster(patch: dict[str, t.Any]) -> dict[str, t.Any]:
    """A struct that changes ClusterConfiguration alone."""
    return {"clusterConfiguration": patch}


def names(group: GroupPlan) -> list[str]:
    """The commands' names."""
    return [next(iter(each)) for each in group.commands]


def test_all_control_plane_nodes_are_checked_before_the_first_changes() -> None:
    """A file that the third machine lacks is found while the first is still as it was."""
    groups = planned(cluster({"apiServer": {"certSANs": ["api.example.com", "new.example.com"]}}))
    assert list(groups) == ["check", "control-plane", "record"]
    assert groups["check"].nodes == groups["control-plane"].nodes == ("cp-a", "cp-b")
    assert names(groups["check"]) == ["waitHealthy", "checkControlPlaneConfiguration"]
    assert names(groups["control-plane"]) == ["changeControlPlaneConfiguration", "waitHealthy"]
    # kubeadm-config says it only when all of them run it.
    assert groups["record"].nodes == ("cp-a",)
    command = groups["control-plane"].commands[0]["changeControlPlaneConfiguration"]
    assert command["components"] == ["kube-apiserver"]
    assert command["certificates"] == ["apiserver"]
    [described] = [each.describe for each in commands.COMMANDS if each.name == "changeControlPlaneConfiguration"]
    shown = described(command, NodeFacts("cp-a", True))
    assert "rm $certificatesDir/apiserver.crt $certificatesDir/apiserver.key" in shown


def test_kubelets_follow_the_control_plane_and_workers_come_after_it() -> None:
    """Control plane before workers, one by one; waitHealthy after each."""
    spec = {
        "clusterConfiguration": {"scheduler": {"extraArgs": {"v": "3"}}},
        "kubeletConfiguration": {"maxPods": 120},
        "kubeProxyConfiguration": {"conntrack": {"maxPerCore": 0}},
    }
    groups = planned(spec)
    assert list(groups) == GROUPS
    # Before anything changes anywhere, every kubelet is asked for flags that outweigh its configuration.
    assert groups["kubelet-check"].nodes == (*groups["kubelet-cp"].nodes, "w-1", "w-2")
    assert groups["kubelet-check"].commands == (
        {"checkKubeletConfiguration": {"fields": ["maxPods"], "manualChanges": "Refuse"}},
    )
    assert groups["kubelet-w"].nodes == ("w-1", "w-2")
    assert {each.policy for each in groups.values()} == {"Serial"}
    assert names(groups["kubelet-cp"]) == ["changeKubeletConfiguration", "waitHealthy"]


def test_drained_and_in_parallel() -> None:
    """A drain stands around each kubelet's change; the budget holds for workers alone."""
    groups = planned({"kubeletConfiguration": {"maxPods": 120}, "drain": True, "maxUnavailable": 5})
    assert names(groups["kubelet-w"]) == [
        "kubectlDrain",
        "changeKubeletConfiguration",
        "waitHealthy",
        "kubectlUncordon",
    ]
    assert (groups["kubelet-w"].policy, groups["kubelet-w"].max_unavailable) == ("Parallel", 2)
    assert (groups["kubelet-cp"].policy, groups["kubelet-cp"].max_unavailable) == ("Serial", 1)


def test_what_is_only_recorded_restarts_nothing() -> None:
    """A validity period holds for certificates to come: no static pod is touched."""
    text = CLUSTER.replace("v1beta2", "v1beta4").replace("  timeoutForControlPlane: 4m0s\n", "")
    text = text.replace('    audit-log-maxage: "7"\n    authorization-mode: Node,RBAC\n', "  - {name: v, value: '1'}\n")
    text = text.replace("  type: CoreDNS\n", "  imageTag: v1.11.1\n").replace("v1.20.2", "v1.32.0")
    groups = planned(
        cluster({"certificateValidityPeriodDays": 90}), cluster_configuration=text, kubernetes_version="v1.32.0"
    )
    assert list(groups) == ["record"]


def test_which_components_a_patch_touches() -> None:
    """By the fields that it names, also where it removes them."""
    affected = plan.affected
    assert affected({"etcd": {"local": {"extraArgs": {"quota-backend-bytes": "1"}}}}, False) == (("etcd",), ())
    assert affected({"etcd": {"local": None}}, False) == (("etcd",), ("etcd-server", "etcd-peer"))
    assert affected({"etcd": {"external": {"caFile": "/x"}}}, True) == (("kube-apiserver",), ())
    assert affected({"etcd": {"local": {"peerCertSANs": ["a"]}}, "apiServer": {"extraArgs": None}}, False) == (
        ("etcd", "kube-apiserver"),
        ("etcd-peer",),
    )
    assert affected({"apiServer": None}, False) == (("kube-apiserver",), ("apiserver",))
    assert affected({"imageRepository": "r"}, True)[0] == (
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    )


@pytest.mark.parametrize(
    ("patch", "field", "why"),
    [
        ({"networking": {"serviceSubnet": "10.97.0.0/16"}}, "networking.serviceSubnet", "every Service has an address"),
        ({"networking": {"podSubnet": "10.245.0.0/16"}}, "networking.podSubnet", "shares"),
        ({"networking": {"dnsDomain": "other.local"}}, "networking.dnsDomain", "issuer"),
        ({"clusterName": "other"}, "clusterName", "kubeconfigs"),
        ({"controlPlaneEndpoint": "lb.example.com:6443"}, "controlPlaneEndpoint", "every kubelet"),
        ({"certificatesDir": "/elsewhere"}, "certificatesDir", "same moment"),
        ({"kubernetesVersion": "v1.21.0"}, "kubernetesVersion", "what runs"),
        ({"etcd": {"local": {"dataDir": "/data"}}}, "etcd.local.dataDir", "without its data"),
        ({"etcd": {"local": {"imageTag": "3.5.0-0"}}}, "etcd.local.imageTag", "can't go back"),
        ({"etcd": {"local": None, "external": {"endpoints": ["https://a:2379"]}}}, "etcd.local.dataDir", "data"),
        ({"dns": {"imageTag": "1.8.0"}}, "dns", "manifest"),
        (
            {"apiServer": {"extraArgs": {"etcd-servers": "https://a:2379"}}},
            "apiServer.extraArgs.etcd-servers",
            "where the cluster's data is",
        ),
        (
            {"controllerManager": {"extraArgs": {"cluster-cidr": "10.1.0.0/16"}}},
            "controllerManager.extraArgs.cluster-cidr",
            "ranges",
        ),
        (
            {"apiServer": {"extraArgs": {"service-account-issuer": "https://issuer.example.com"}}},
            "apiServer.extraArgs.service-account-issuer",
            "tokens of the present issuer",
        ),
        (
            {"etcd": {"local": {"extraArgs": {"initial-cluster": "a=b"}}}},
            "etcd.local.extraArgs.initial-cluster",
            "where the cluster's data is",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused_with_the_reason(patch: dict[str, t.Any], field: str, why: str) -> None:
    """Field, reason and way out are told; nothing is planned."""
    error = refusal(cluster(patch)).error
    assert error.path == f"spec.changeConfiguration.clusterConfiguration.{field}"
    assert why in error.rule
    assert error.fix


def test_saying_what_is_there_already_is_not_refused() -> None:
    """A patch may repeat what can't be changed."""
    planned(cluster({"networking": {"podSubnet": "10.244.0.0/16"}, "clusterName": "prod"}))


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"kubeletConfiguration": {"cgroupDriver": "cgroupfs"}}, "kubeletConfiguration.cgroupDriver"),
        ({"kubeletConfiguration": {"staticPodPath": None}}, "kubeletConfiguration.staticPodPath"),
        (
            {"kubeletConfiguration": {"authentication": {"x509": {"clientCAFile": "/x"}}}},
            "kubeletConfiguration.authentication.x509.clientCAFile",
        ),
        ({"kubeProxyConfiguration": {"clusterCIDR": "10.1.0.0/16"}}, "kubeProxyConfiguration.clusterCIDR"),
        ({"kubeProxyConfiguration": {"mode": "ipvs"}}, "kubeProxyConfiguration.mode"),
    ],
)
def test_other_components_fields_that_cannot_change(spec: dict[str, t.Any], path: str) -> None:
    """Kubelet and kube-proxy have such fields too."""
    assert refusal(spec).error.path == f"spec.changeConfiguration.{path}"


def test_a_cluster_that_is_not_settled_is_refused() -> None:
    """Half an upgrade, no answer, no ConfigMap, nothing to change of an external etcd."""
    spec = cluster({"scheduler": {"extraArgs": {"v": "3"}}})
    half = tuple(
        NodeFacts(name, True, api_server_version=version) for name, version in (("a", "v1.20.2"), ("b", "v1.21.0"))
    )
    assert "half done" in str(refusal(spec, nodes=half))
    assert "no API server answers" in str(refusal(spec, api_answers=False))
    assert "could not be read" in str(refusal(spec, cluster_configuration=""))
    assert "can't be read" in str(refusal(spec, cluster_configuration="kind: ClusterConfiguration\napiVersion: x\n"))
    assert "external" in str(
        refusal(
            cluster({"etcd": {"local": {"extraArgs": {"quota-backend-bytes": "1"}}}}),
            external_etcd=True,
            cluster_configuration=CLUSTER.replace("local:", "external:").replace(
                "dataDir: /var/lib/etcd", "endpoints: [https://a:2379]"
            ),
        )
    )


def test_what_kubeadm_itself_would_refuse_is_refused_before_anything_starts() -> None:
    """Values, gates and fields that the API version of this Kubernetes version can't hold."""
    assert "certificate's name" in str(refusal(cluster({"apiServer": {"certSANs": ["not a name"]}})))
    assert "feature gate" in str(refusal(cluster({"featureGates": {"NoSuchGate": True}})))
    assert "extraEnvs" in str(refusal(cluster({"apiServer": {"extraEnvs": [{"name": "A", "value": "b"}]}})))


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, ""),
        ({"clusterConfiguration": {}}, ".clusterConfiguration"),
        ({"clusterConfiguration": ["a"]}, ".clusterConfiguration"),
        ({"clusterConfigurations": {"a": 1}}, ".clusterConfigurations"),
        ({"kubeletConfiguration": {"a": 1}, "maxUnavailable": 0}, ".maxUnavailable"),
        ({"kubeletConfiguration": {"a": 1}, "drain": "yes"}, ".drain"),
        ({"kubeletConfiguration": {"a": 1}, "manualChanges": "Keep"}, ".manualChanges"),
        ({"clusterConfiguration": {"apiServers": {}}}, ".clusterConfiguration.apiServers"),
        (
            {"clusterConfiguration": {"apiServer": {"certSANs": "a"}}},
            ".clusterConfiguration.apiServer.certSANs",
        ),
        (
            {"clusterConfiguration": {"apiServer": {"extraArgs": {"v": 3}}}},
            ".clusterConfiguration.apiServer.extraArgs.v",
        ),
        (
            {"clusterConfiguration": {"apiServer": {"timeoutForControlPlane": "1m"}}},
            ".clusterConfiguration.apiServer.timeoutForControlPlane",
        ),
    ],
)
def test_a_struct_that_is_wrong_by_itself(spec: dict[str, t.Any], path: str) -> None:
    """Each mistake with its path."""
    errors = plan.validate(spec, "spec.changeConfiguration")
    assert f"spec.changeConfiguration{path}" in [each.path for each in errors]


def test_the_difference_comes_with_every_task() -> None:
    """Before a Task runs, a person reads what it changes: in the plan, in DryRun, in Controlled."""
    groups = planned(cluster({"apiServer": {"extraArgs": {"audit-log-maxage": "30"}}}))
    line = 'clusterConfiguration.apiServer.extraArgs.audit-log-maxage: "7" -> "30"'
    for name, group in groups.items():
        told = [
            parameters["changes"] for each in group.commands for parameters in each.values() if "changes" in parameters
        ]
        assert told == [[line]], name


def test_the_example_of_the_page_is_one_that_is_taken() -> None:
    """docs/change_configuration.md shows an Action; it is planned here."""
    page = (Path(__file__).parents[5] / "docs" / "change_configuration.md").read_text()
    found = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    spec = yaml.safe_load(found.group(1))["spec"]["changeConfiguration"]
    assert list(planned(spec)) == GROUPS


@pytest.mark.parametrize(("version", "given"), [("v1.18.20", None), ("v1.24.17", None), ("v1.25.0", "/patches")])
def test_a_kubelet_gets_patches_where_it_can_be_patched(tmp_path: Path, version: str, given: t.Optional[str]) -> None:
    """kubeadm's phase knows no flag for them before, and the folder is there for the static pods."""
    answers = StandInAction(lambda *_each: {"changes": []})
    facts = ClusterFacts("prod", version, (NodeFacts("cp-a", True, machine="cp-a", inventory_host="cp-a"),))
    run = CommandRun(tmp_path, facts, "cp-a", {"checkKubeletConfiguration": {"fields": ["maxPods"]}}, answers)
    made = {"spec": {"joinConfiguration": {"patches": {"directory": "/patches"}}}}
    run.objects.kubeadm_configs["cp-a"] = made
    run.run()
    [(_name, _module, asked)] = answers.calls
    assert (asked["work"], asked.get("patches")) == ("kubelet", given)
