# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of add-ons, names by version, rights, and what is refused; how it is written is tested against a real API server."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import compare_and_swap
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm import addon_images
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload import (
    coredns,
    corefile_migration,
    desired_state,
    kube_proxy,
    kubeadm_config_map,
    kubelet_config_map,
    rbac,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.writes import WorkloadError


def daemon_set(image: str, name: str = "kube-proxy") -> dict[str, t.Any]:
    """What is read of kube-proxy."""
    containers = [{"name": "other", "image": "other@sha256:1"}, {"name": name, "image": image}]
    return {"metadata": {"resourceVersion": "1"}, "spec": {"template": {"spec": {"containers": containers}}}}


@pytest.mark.parametrize(
    ("image", "version", "repository", "expected"),
    [
        ("k8s.gcr.io/kube-proxy:v1.20.2", "v1.21.0", None, "k8s.gcr.io/kube-proxy:v1.21.0"),
        ("k8s.gcr.io/kube-proxy:v1.24.9", "v1.25.0", None, "registry.k8s.io/kube-proxy:v1.25.0"),
        ("k8s.gcr.io/kube-proxy:v1.24.0", "v1.24.9", None, "registry.k8s.io/kube-proxy:v1.24.9"),
        ("registry.k8s.io/kube-proxy:v1.24.9", "v1.24.0", None, "registry.k8s.io/kube-proxy:v1.24.0"),
        ("example.org/a/kube-proxy:v1.30.0", "v1.31.0+b.1", None, "example.org/a/kube-proxy:v1.31.0_b.1"),
        ("example.org/a/kube-proxy-arm64:v1.30.0", "v1.31.0", "b.org/c/", "b.org/c/kube-proxy-arm64:v1.31.0"),
        ("kube-proxy", "v1.31.0", None, "kube-proxy:v1.31.0"),
    ],
)
def test_kube_proxys_image(image: str, version: str, repository: t.Optional[str], expected: str) -> None:
    done = kube_proxy.plan({kube_proxy.PATH: daemon_set(image)}, version, repository)
    [write] = done.writes
    assert write.document == {
        "spec": {"template": {"spec": {"containers": [{"name": "kube-proxy", "image": expected}]}}}
    }
    assert kube_proxy.plan({kube_proxy.PATH: daemon_set(expected)}, version, repository).writes == ()


def test_where_kube_proxy_is_not_to_be_touched() -> None:
    assert kube_proxy.plan({kube_proxy.PATH: None}, "v1.20.2", None).writes == ()
    assert kube_proxy.plan({kube_proxy.PATH: daemon_set("x:1", "y")}, "v1.20.2", None).writes == ()
    for image in ("k8s.gcr.io/kube-proxy@sha256:" + "0" * 64, "Not An Image"):
        with pytest.raises(WorkloadError, match="skip-kube-proxy"):
            kube_proxy.plan({kube_proxy.PATH: daemon_set(image)}, "v1.20.2", None)


def dns(image: str, corefile: str = ".:53 {\n    errors\n}\n", **pod: t.Any) -> dict[str, t.Any]:
    """What is read of CoreDNS."""
    volume = {
        "name": "config-volume",
        "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]},
    }
    template = {"containers": [{"name": "coredns", "image": image}], "volumes": [volume], **pod}
    return {
        kubeadm_config_map.PATH: None,
        coredns.CONFIG_MAP: {"metadata": {"resourceVersion": "1"}, "data": {"Corefile": corefile}},
        coredns.DEPLOYMENT: {"metadata": {"resourceVersion": "2"}, "spec": {"template": {"spec": template}}},
        f"{rbac.RBAC}/clusterroles/system:coredns": None,
    }


@pytest.mark.parametrize(
    ("image", "wanted", "says"),
    [
        ("k8s.gcr.io/coredns:1.7.0", {"image_tag": "1.6.7"}, "older than 1.7.0"),
        ("k8s.gcr.io/coredns:1.7.0", {"image_tag": "latest"}, "'latest' is not a version"),
        ("k8s.gcr.io/coredns:mine", {"image_tag": "v1.8.0"}, "'mine' is not a version"),
        ("k8s.gcr.io/coredns:1.7.0", {"image_tag": "v1.8.2"}, "none of the releases"),
        ("k8s.gcr.io/coredns@sha256:" + "0" * 64, {"image_tag": "v1.8.0"}, "by its digest"),
        ("k8s.gcr.io/coredns:1.7.0", {"image_tag": "not a tag"}, "no valid tag"),
    ],
)
def test_what_coredns_can_not_become(image: str, wanted: dict[str, t.Any], says: str) -> None:
    with pytest.raises(WorkloadError, match=says) as refused:
        coredns.plan(dns(image), coredns.Wanted(**wanted))
    assert "skip-coredns" in str(refused.value) and "Nothing was written" in str(refused.value)


def test_a_corefile_that_can_not_be_migrated_is_refused_before_all_else() -> None:
    broken = dns("k8s.gcr.io/coredns:1.6.7", ".:53 {\n    federation x y\n}\n")
    with pytest.raises(WorkloadError, match="federation"):
        coredns.plan(broken, coredns.Wanted(cluster_image_repository="example.org", image_tag="1.7.0"))


@pytest.mark.parametrize(
    ("volumes", "says"),
    [
        ([], "0 volumes"),
        (
            [{"name": "a", "configMap": {"name": "coredns", "items": [{"key": "mine", "path": "Corefile"}]}}],
            "neither of",
        ),
        (
            [
                {
                    "name": "a",
                    "configMap": {"name": "coredns", "items": [{"key": "Corefile-backup", "path": "Corefile"}]},
                }
            ],
            "no key",
        ),
    ],
)
def test_an_unusual_deployment_is_refused(volumes: list[t.Any], says: str) -> None:
    with pytest.raises(WorkloadError, match=says):
        coredns.plan(
            dns("k8s.gcr.io/coredns:1.6.7", volumes=volumes), coredns.Wanted(cluster_image_repository="example.org")
        )


def test_where_coredns_is_not_to_be_touched() -> None:
    wanted = coredns.Wanted(image_tag="1.7.0")
    for missing in (coredns.CONFIG_MAP, coredns.DEPLOYMENT):
        assert coredns.plan({**dns("k8s.gcr.io/coredns:1.6.7"), missing: None}, wanted).writes == ()
    assert coredns.plan(dns("k8s.gcr.io/coredns:1.7.0"), wanted).writes == ()
    assert coredns.plan(dns("mine/coredns:mine"), coredns.Wanted()).writes == ()
    assert coredns.plan(dns("mine/coredns@sha256:" + "0" * 64), coredns.Wanted()).writes == ()


_CONFIGURATION = (
    "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\ndns:\n  type: CoreDNS\n  imageTag: v1.8.0\n"
)
STORED = {"metadata": {"resourceVersion": "3"}, "data": {"ClusterConfiguration": _CONFIGURATION}}
BROKEN_OFF = [
    {
        "name": "config-volume",
        "configMap": {"name": "coredns", "items": [{"key": "Corefile-backup", "path": "Corefile"}]},
    }
]


@pytest.mark.parametrize(
    ("migrated", "written"),
    [
        # Broken off before the new text was written, and after it: the old image may not read that.
        (".:53 {\n    errors\n}\n", []),
        (".:53 {\n    errors\n    transfer\n}\n", [".:53 {\n    errors\n}\n"]),
        (None, [".:53 {\n    errors\n}\n"]),
    ],
)
def test_an_upgrade_that_was_broken_off_and_is_wanted_no_more_is_taken_back(
    migrated: t.Optional[str], written: list[str]
) -> None:
    objects = dns("k8s.gcr.io/coredns:1.7.0", volumes=BROKEN_OFF)
    data = {"Corefile": migrated, "Corefile-backup": ".:53 {\n    errors\n}\n"}
    objects[coredns.CONFIG_MAP]["data"] = {key: text for key, text in data.items() if text is not None}
    objects[kubeadm_config_map.PATH] = STORED
    done = coredns.plan(objects, coredns.Wanted(image_tag="1.7.0"))
    config, *before, deployment = done.writes
    assert "imageTag: 1.7.0" in config.document["data"]["ClusterConfiguration"]
    assert [each.document["data"] for each in before] == [{"Corefile": text} for text in written]
    [volume] = deployment.document["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]["items"] == [{"key": "Corefile", "path": "Corefile"}]
    assert "image" not in str(deployment.document) and "is taken back" in done.message
    assert bool(done.warnings) == bool(written)


RUNS = ".:53 {\n    kubernetes cluster.local {\n        transfer to *\n    }\n    forward . 1.1.1.1\n}\n"


@pytest.mark.parametrize(
    ("earlier", "wanted"), [("1.7.0", "1.8.0"), ("1.8.0", "1.7.0"), ("1.8.0", "1.8.0"), ("1.6.7", "1.8.0")]
)
@pytest.mark.parametrize("edited", [False, True])
def test_what_an_interrupted_upgrade_to_another_release_wrote_is_nobodys_edit(
    earlier: str, wanted: str, edited: bool
) -> None:
    """The Corefile that runs is migrated to what is wanted now, and no person is said to have been there."""
    objects = {**dns("k8s.gcr.io/coredns:1.6.7", volumes=BROKEN_OFF), kubeadm_config_map.PATH: STORED}
    there = corefile_migration.migrate(RUNS, "1.6.7", earlier).text
    there = there.replace("1.1.1.1", "8.8.8.8") if edited else there
    objects[coredns.CONFIG_MAP]["data"] = {"Corefile": there, "Corefile-backup": RUNS}
    done = coredns.plan(objects, coredns.Wanted(image_tag=wanted))
    written = [each.document["data"]["Corefile"] for each in done.writes if "Corefile" in each.document.get("data", {})]
    expected = corefile_migration.migrate(there if edited else RUNS, "1.6.7", wanted).text
    assert (written or [there]) == [expected]
    assert any("changed meanwhile" in words for words in done.warnings) is edited


def test_a_backup_that_is_gone_is_not_taken_for_what_runs() -> None:
    objects = dns("k8s.gcr.io/coredns:1.7.0", volumes=BROKEN_OFF)
    with pytest.raises(WorkloadError, match="no key"):
        coredns.plan(objects, coredns.Wanted(image_tag="1.7.0"))


def test_other_files_of_the_volume_stay() -> None:
    others = [{"key": "example.db", "path": "example.db"}]
    items = [{"key": "Corefile", "path": "Corefile"}, *others]
    volume = {"name": "config-volume", "configMap": {"name": "coredns", "items": items}}
    done = coredns.plan(
        dns("example.org/coredns:1.6.7", ".:53 {\n    forward . 1.1.1.1\n}\n", volumes=[volume]),
        coredns.Wanted(cluster_image_repository="other.org", image_tag=None),
    )
    patched = done.writes[-1].document["spec"]["template"]["spec"]["volumes"][0]["configMap"]["items"]
    assert patched == [{"key": "Corefile", "path": "Corefile"}, *others]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1.19.0", ["node-role.kubernetes.io/master"]),
        ("v1.20.2", ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]),
        ("v1.25.0", ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]),
        ("v1.26.0", ["node-role.kubernetes.io/control-plane"]),
    ],
)
def test_tolerations_by_version(version: str, expected: list[str]) -> None:
    wanted = coredns.Wanted(kubernetes_version=version, cluster_image_repository="example.org")
    own = [{"key": "CriticalAddonsOnly", "operator": "Exists"}]
    patched = (
        coredns.plan(dns("a/coredns:1.6.7", tolerations=own), wanted).writes[-1].document["spec"]["template"]["spec"]
    )
    assert patched["tolerations"] == [*own, *({"key": key, "effect": "NoSchedule"} for key in expected)]
    all_of_them = [{"operator": "Exists"}]
    assert (
        "tolerations"
        not in (
            coredns.plan(dns("a/coredns:1.6.7", tolerations=all_of_them), wanted)
            .writes[-1]
            .document["spec"]["template"]["spec"]
        )
    )


@pytest.mark.parametrize(
    ("version", "gates", "name"),
    [
        ("v1.21.3", {}, "kubelet-config-1.21"),
        ("v1.22.0", {}, "kubelet-config-1.22"),
        ("v1.23.1", {"UnversionedKubeletConfigMap": True}, "kubelet-config"),
        ("v1.24.0", {}, "kubelet-config"),
        ("v1.24.0", {"UnversionedKubeletConfigMap": False}, "kubelet-config-1.24"),
        ("v1.25.0", {"UnversionedKubeletConfigMap": False}, "kubelet-config"),
        ("v1.36.0-rc.1", {}, "kubelet-config"),
    ],
)
def test_the_kubelets_config_map_by_version(version: str, gates: dict[str, bool], name: str) -> None:
    text = f"apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nfeatureGates: {gates!r}\n"
    objects: dict[str, t.Any] = {read.path: None for read in kubelet_config_map.reads(version)}
    objects[kubeadm_config_map.PATH] = {"data": {"ClusterConfiguration": text}}
    # Root has no kubeconfig of its own on a control plane machine.
    command = f"kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system create configmap {name} "
    with pytest.raises(WorkloadError, match=f"kube-system/{name}, which does not exist.*{command}"):
        kubelet_config_map.plan(objects, version)
    source = next(path for path in objects if "kubelet-config" in path and not path.endswith(f"/{name}"))
    objects[source] = {"metadata": {"annotations": {"a": "b"}}, "data": {"kubelet": "x"}}
    config_map, role, binding = kubelet_config_map.plan(objects, version).writes
    assert config_map.document["metadata"] == {"name": name, "namespace": "kube-system", "annotations": {"a": "b"}}
    assert config_map.document["data"] == {"kubelet": "x"}
    assert role.document["rules"][0]["resourceNames"] == [name]
    assert binding.document["roleRef"]["name"] == f"kubeadm:{name}"


def test_a_role_that_allows_enough_stays() -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["c"], "verbs": ["get"]}
    for enough in ({**rule, "verbs": ["get", "list"]}, {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, rule):
        assert rbac.role_allows({"rules": [enough]}, "/p", "r", rule, "n") == ((), ())
    for less in ({**rule, "resourceNames": ["d"]}, {**rule, "verbs": ["list"]}, {**rule, "apiGroups": ["apps"]}):
        [write] = rbac.role_allows({"rules": [less], "metadata": {"resourceVersion": "3"}}, "/p", "r", rule, "n")[0]
        assert (write.path, write.resource_version, write.document) == ("/p/r", "3", {"rules": [less, rule]})


def test_a_binding_to_another_role_is_refused() -> None:
    with pytest.raises(WorkloadError, match="kubectl -n kube-system delete rolebinding r"):
        rbac.groups_bound({"roleRef": {"kind": "ClusterRole", "name": "r"}}, "/p", "kube-system", "r", ["g"])


@pytest.mark.parametrize(
    ("version", "made"),
    [
        (None, ["kubeadm:apiserver-kubelet-client"]),
        ("v1.16.0", ["kubeadm:apiserver-kubelet-client"]),
        ("v1.28.15", ["kubeadm:apiserver-kubelet-client"]),
        ("v1.29.0-rc.1", ["kubeadm:apiserver-kubelet-client", "kubeadm:cluster-admins"]),
        ("v1.38.0", ["kubeadm:cluster-admins"]),
    ],
)
def test_bindings_by_version(version: str | None, made: list[str]) -> None:
    plan = rbac.bindings_plan({each.path: None for each in rbac.BINDINGS_READS}, version)
    assert [write.document["metadata"]["name"] for write in plan.writes] == made
    assert len(plan.changes) == len(made) and all(f"{name} created" in plan.message for name in made)


def test_bindings_that_are_there_are_left_alone() -> None:
    there = {each.path: {"roleRef": {"name": "view"}} for each in rbac.BINDINGS_READS}
    done = rbac.bindings_plan(there, "v1.38.0")
    assert done.writes == () and len(done.warnings) == 2 and "bound to view, not to cluster-admin" in done.warnings[1]
    assert rbac.bindings_plan(there, "v1.28.0").warnings == done.warnings[:1]


def test_what_a_control_plane_says() -> None:
    cluster = {"metadata": {"name": "prod"}, "spec": {}}
    configuration = {"imageRepository": "a.org", "dns": {"imageTag": "v1.11.3"}, "apiServer": {"certSANs": ["x"]}}
    spec = {"version": "v1.31.4", "kubeadmConfigSpec": {"clusterConfiguration": configuration}}
    plane = {"metadata": {"annotations": {desired_state.SKIP_COREDNS: ""}}, "spec": spec}
    wanted = desired_state.wanted_kubeadm_config_map(cluster, plane)
    assert wanted.feature_gates == {"ControlPlaneKubeletLocalMode": True}
    assert (wanted.image_repository, wanted.api_server, wanted.scheduler, wanted.dns) == (
        "a.org",
        {"certSANs": ["x"]},
        {},
        None,
    )
    assert addon_images.wanted_coredns(plane) == coredns.Wanted("v1.31.4", "a.org", None, "v1.11.3")
    assert desired_state.skips(plane, desired_state.SKIP_COREDNS)
    assert not desired_state.skips(plane, desired_state.SKIP_KUBE_PROXY)
    bare = {"metadata": {}, "spec": {"version": "v1.20.2"}}
    assert desired_state.wanted_kubeadm_config_map(cluster, bare).feature_gates == {}
    assert addon_images.image_repository(bare) is None


def test_what_was_taken_out_of_the_spec_is_taken_out_of_kubeadm_config() -> None:
    """A rollout for it would make machines as before; a registry that nobody's spec named is somebody else's word."""
    cluster = {"metadata": {"name": "prod"}, "spec": {}}
    plane = {"metadata": {}, "spec": {"version": "v1.31.4", "kubeadmConfigSpec": {}}}
    wanted = desired_state.wanted_kubeadm_config_map(cluster, plane)
    assert (wanted.certificate_validity_period_days, wanted.encryption_algorithm) == (0, "")
    assert wanted.image_repository is None
    machines = [{"spec": {"clusterConfiguration": {"imageRepository": "a.org"}}}]
    assert desired_state.wanted_kubeadm_config_map(cluster, plane, machines).image_repository == ""


def test_fields_that_are_kept() -> None:
    item = {"a": {"b": [{"c": 1, "d": 2}, {"c": 3}], "e.f/g": 4, "h": 5}, "i": 6}
    assert compare_and_swap.keep(item, ["a.b[].c", "a[e.f/g]", "x.y", "i.j"]) == {
        "a": {"b": [{"c": 1}, {"c": 3}], "e.f/g": 4}
    }
    assert compare_and_swap.keep(item, ["a.b[].c", "a.b[].d"])["a"]["b"] == [{"c": 1, "d": 2}, {"c": 3}]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/kube-system/secrets/x",
        "/api/v1/../secrets",
        "/metrics",
        "api/v1/nodes/x",
        "/api/v1/nodes/x?y=z",
    ],
)
def test_paths_that_are_refused(path: str) -> None:
    with pytest.raises(NodeError):
        compare_and_swap.check_path(path)
