# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-proxy, the kubelets' ConfigMap and the rights around them in a real API server, which is asked who may do what."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from stored_cluster import stored_cluster
from tasks import Playbook, Task

from .conftest import APPS, SYSTEM, Workload

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PROXY = f"{APPS}/daemonsets/kube-proxy"
SECRET = "a-password-of-the-user"
CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nfeatureGates: {gates}\n"


def put_kube_proxy(workload: Workload, image: str) -> None:
    """kube-proxy with this image and something of the user's."""
    labels = {"k8s-app": "kube-proxy"}
    containers = [
        {"name": "sidecar", "image": "example.org/sidecar:1"},
        {
            "name": "kube-proxy",
            "image": image,
            "env": [{"name": "PASSWORD", "value": SECRET}],
            "command": ["/kube-proxy"],
        },
    ]
    template = {"metadata": {"labels": labels}, "spec": {"hostNetwork": True, "containers": containers}}
    workload.put(
        f"{APPS}/daemonsets",
        {"metadata": {"name": "kube-proxy"}, "spec": {"selector": {"matchLabels": labels}, "template": template}},
    )


def containers(workload: Workload) -> list[dict[str, t.Any]]:
    """kube-proxy's containers."""
    return list(workload.there(PROXY)["spec"]["template"]["spec"]["containers"])


def may(workload: Workload, verb: str, groups: t.Sequence[str] = (), user: str = "somebody", **what: str) -> bool:
    """Whether somebody may do something, as the API server's own authorizer says."""
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    spec = {"user": user, "groups": list(groups), "resourceAttributes": {"verb": verb, **what}}
    with workload.server.client() as client:
        answer = client.checked(client.send("POST", path, {"spec": spec}), path)
    return bool(answer["status"]["allowed"])


def test_kube_proxys_image_and_nothing_else(workload: Workload, playbook: Playbook) -> None:
    put_kube_proxy(workload, "k8s.gcr.io/kube-proxy:v1.24.3")
    before = containers(workload)
    version = workload.version(PROXY)
    options = {"kubernetes_version": "v1.25.0+build.1"}
    checked, current = playbook.run(
        Task("kube_proxy", options, check=True), Task("kube_proxy", {"kubernetes_version": "v1.24.3"})
    )
    assert checked["changed"] and not current["changed"] and workload.version(PROXY) == version
    results = playbook.run(Task("kube_proxy", options), Task("kube_proxy", options))
    done, again = results
    assert done["changed"] and not again["changed"]
    before[1]["image"] = "registry.k8s.io/kube-proxy:v1.25.0_build.1"
    assert containers(workload) == before
    assert done["diff"] == checked["diff"]
    assert done["diff"][0]["after"] == "image: registry.k8s.io/kube-proxy:v1.25.0_build.1\n"
    assert SECRET not in results.output


def test_a_kube_proxy_that_is_not_to_be_touched(workload: Workload, playbook: Playbook) -> None:
    put_kube_proxy(workload, "k8s.gcr.io/kube-proxy@sha256:" + "0" * 64)
    [digest] = playbook.run(Task("kube_proxy", {"kubernetes_version": "v1.25.0"}))
    assert digest["failed"] and "by its digest" in digest["msg"]
    workload.delete(PROXY)
    gone, nothing = playbook.run(Task("kube_proxy", {"kubernetes_version": "v1.25.0"}), Task("kube_proxy", {}))
    assert not gone["changed"] and "there is no DaemonSet" in gone["msg"]
    assert nothing["failed"] and "kubernetes_version is needed" in nothing["msg"]


@pytest.fixture
def kubelet_config(workload: Workload) -> t.Iterator[None]:
    """The kubelets' configuration as kubeadm 1.20 leaves it, and nothing of other versions."""
    names = [f"kubelet-config{version}" for version in ("", "-1.20", "-1.21", "-1.22", "-1.23", "-1.24")]

    def clean() -> None:
        for name in names:
            workload.delete(f"{SYSTEM}/configmaps/{name}")
            for kind in ("rolebindings", "roles"):
                workload.delete(f"{RBAC}/namespaces/kube-system/{kind}/kubeadm:{name}")

    clean()
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION.replace("{gates}", "{}")})
    hash_annotation = {"kubeadm.kubernetes.io/component-config.hash": "sha256:1"}
    workload.config_map("kubelet-config-1.20", {"kubelet": "cgroupDriver: systemd\n"}, annotations=hash_annotation)
    yield
    clean()


@pytest.mark.usefixtures("kubelet_config")
def test_the_kubelets_config_map_follows_the_versions(workload: Workload, playbook: Playbook) -> None:
    groups = ("system:nodes", "system:bootstrappers:kubeadm:default-node-token")
    ask = {"namespace": "kube-system", "resource": "configmaps"}
    steps = ("v1.21.3", "v1.22.0", "v1.23.1", "v1.24.0", "v1.25.0")
    names = ("kubelet-config-1.21", "kubelet-config-1.22", "kubelet-config-1.23", "kubelet-config", "kubelet-config")
    [checked] = playbook.run(Task("kubelet_config_map", {"kubernetes_version": steps[0]}, check=True))
    assert checked["changed"] and workload.get(f"{SYSTEM}/configmaps/{names[0]}") is None
    assert not may(workload, "get", groups[:1], name=names[0], **ask)
    results = playbook.run(
        *(Task("kubelet_config_map", {"kubernetes_version": version}) for version in (*steps, steps[0]))
    )
    assert [result["changed"] for result in results] == [True, True, True, True, False, False]
    assert [result["config_map"] for result in results] == [*names, names[0]]
    assert results[0]["diff"] == checked["diff"] and len(checked["diff"]) == 3
    for name in names:
        assert workload.data(name) == {"kubelet": "cgroupDriver: systemd\n"}
        annotations = workload.there(f"{SYSTEM}/configmaps/{name}")["metadata"]["annotations"]
        assert annotations["kubeadm.kubernetes.io/component-config.hash"] == "sha256:1"
        assert all(may(workload, "get", [group], name=name, **ask) for group in groups)
        assert not may(workload, "update", groups[:1], name=name, **ask)
    assert not may(workload, "get", groups[:1], name="coredns", **ask)


@pytest.mark.usefixtures("kubelet_config")
def test_rights_that_are_there_are_completed_and_others_are_respected(workload: Workload, playbook: Playbook) -> None:
    roles, bindings = (f"{RBAC}/namespaces/kube-system/{kind}" for kind in ("roles", "rolebindings"))
    name = {"name": "kubeadm:kubelet-config-1.21"}
    other = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    workload.put(roles, {"metadata": name, "rules": [other]})
    group = "rbac.authorization.k8s.io"
    mine = {"apiGroup": group, "kind": "User", "name": "me"}
    workload.put(
        bindings, {"metadata": name, "roleRef": {"apiGroup": group, "kind": "Role", **name}, "subjects": [mine]}
    )
    options = {"kubernetes_version": "v1.21.0"}
    done, again = playbook.run(Task("kubelet_config_map", options), Task("kubelet_config_map", options))
    assert done["changed"] and not again["changed"]
    ask = {"namespace": "kube-system", "resource": "configmaps", "name": "kubelet-config-1.21"}
    assert may(workload, "get", ["system:nodes"], **ask) and may(workload, "get", user="me", **ask)
    assert may(workload, "get", user="me", namespace="kube-system", resource="pods", name="x")
    workload.delete(f"{bindings}/{name['name']}")
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "view"}
    workload.put(bindings, {"metadata": name, "roleRef": role, "subjects": [mine]})
    [refused] = playbook.run(Task("kubelet_config_map", options))
    assert refused["failed"] and "bound to ClusterRole view" in refused["msg"]


@pytest.mark.usefixtures("kubelet_config")
def test_the_feature_gate_and_a_missing_source(workload: Workload, playbook: Playbook) -> None:
    gates = "{UnversionedKubeletConfigMap: true}"
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION.replace("{gates}", gates)})
    far, gated = playbook.run(
        Task("kubelet_config_map", {"kubernetes_version": "v1.23.0"}),
        Task("kubelet_config_map", {"kubernetes_version": "v1.21.0"}),
    )
    assert far["failed"] and "searched for kubelet-config-1.23, kubelet-config-1.22" in far["msg"]
    assert gated["config_map"] == "kubelet-config-1.21"


def test_the_rights_of_api_servers_and_of_admin_conf(workload: Workload, playbook: Playbook) -> None:
    """What `kubeadm join` asks with the admin.conf of 1.29 (its phase check-etcd) is allowed from that version on, and not before."""
    for name in ("kubeadm:apiserver-kubelet-client", "kubeadm:cluster-admins"):
        workload.delete(f"{RBAC}/clusterrolebindings/{name}")
    ask: dict[str, t.Any] = {"user": "kube-apiserver-kubelet-client", "resource": "nodes", "subresource": "proxy"}
    admin: dict[str, t.Any] = {"user": "kubernetes-admin", "groups": ["kubeadm:cluster-admins"]}
    pods = {"resource": "pods", "namespace": "kube-system"}
    assert not may(workload, "create", **ask)
    before = playbook.run(
        Task("apiserver_kubelet_client", {"kubernetes_version": "v1.29.0"}, check=True),
        Task("apiserver_kubelet_client", {"kubernetes_version": "v1.28.15"}),
        Task("apiserver_kubelet_client", {}),
    )
    assert [each["changed"] for each in before] == [True, True, False]
    assert may(workload, "create", **ask) and not may(workload, "list", **admin, **pods)
    since = playbook.run(
        Task("apiserver_kubelet_client", {"kubernetes_version": "v1.29.0"}),
        Task("apiserver_kubelet_client", {"kubernetes_version": "v1.38.0"}),
    )
    assert [each["changed"] for each in since] == [True, False]
    assert may(workload, "list", **admin, **pods)


def test_through_the_machines_of_a_stored_cluster(workload: Workload, tmp_path: Path) -> None:
    """With a cluster, the KubeadmControlPlane says what is wanted, and machines that don't answer are passed over."""
    store = tmp_path / "store"
    configuration = {
        "imageRepository": "example.org",
        "dns": {"imageTag": "1.7.0"},
        "scheduler": {"extraArgs": [{"name": "v", "value": "4"}]},
    }
    annotations = {"controlplane.cluster.x-k8s.io/skip-coredns": ""}
    stored_cluster(store, "v1.21.5", configuration, annotations, machines={"m-1": "node", "m-2": "dead"})
    dead = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    playbook = Playbook(
        tmp_path, workload.server.kubeconfig, workload.server.kubectl, {"prod": {}, "node": {}, "dead": dead}
    )
    put_kube_proxy(workload, "k8s.gcr.io/kube-proxy:v1.20.2")
    workload.config_map(
        "kubeadm-config",
        {
            "ClusterConfiguration": "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: v1.20.2\n"
        },
    )
    workload.config_map("kubelet-config-1.20", {"kubelet": "x"})
    common = {"cluster": "prod", "store": {"path": str(store)}}
    modules = ("apiserver_kubelet_client", "kubeadm_config_map", "kubelet_config_map", "kube_proxy", "coredns")
    results = playbook.run(*(Task(module, common) for module in modules))
    assert not any(result.get("failed") for result in results), results.items
    assert "skip-coredns" in results[4]["msg"] and not results[4]["changed"]
    assert results[1]["configuration"]["kubernetesVersion"] == "v1.21.5"
    assert results[1]["configuration"]["imageRepository"] == "example.org"
    assert results[2]["config_map"] == "kubelet-config-1.21"
    assert containers(workload)[1]["image"] == "example.org/kube-proxy:v1.21.5"
    again = playbook.run(*(Task(module, common) for module in modules))
    assert [result["changed"] for result in again] == [False] * 5
    gone = {**common, "api_endpoints": [{"name": "m-9", "state": "absent"}]}
    [only] = playbook.run(Task("kubeadm_config_map", gone))
    assert not only["changed"]
