# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts, kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload import kubeadm_config_map


@pytest.mark.parametrize(
    ("version", "api", "known"),
    [
        ("v1.16.0", 2, True),
        ("v1.20.2", 2, True),
        ("v1.21.14", 2, True),
        ("v1.22.0-alpha.0.734+ba502ee555924a", 3, True),
        ("v1.22.0", 3, True),
        ("v1.30.14", 3, True),
        ("v1.31.0-rc.1", 4, True),
        ("v1.37.0", 4, True),
        ("v1.38.0", 4, False),
        ("1.20.2", 2, True),
    ],
)
def test_the_kubeadm_api_of_a_version(version: str, api: int, known: bool) -> None:
    choice = kubernetes_versions.api_version_for(version)
    assert (choice.number, choice.known) == (api, known)
    assert choice.api_version == f"kubeadm.k8s.io/v1beta{api}"


@pytest.mark.parametrize("version", ["v1.15.9", "v0.20.0", "v2.0.0"])
def test_versions_without_an_api(version: str) -> None:
    with pytest.raises(ManifestError, match="no kubeadm API"):
        kubernetes_versions.api_version_for(version)


# Semantic versioning 2.0, and what of it is broken.
NO_VERSIONS = {
    **dict.fromkeys(("", "v1.20", "1", "v1.20.", "latest", "v1.20.-1", " v1.20.2", "V1.20.2"), "form v1.20.2"),
    **dict.fromkeys(("v1.020.2", "v01.20.2", "v1.20.02", "v1.20.2" + "0" * 20), "leading zeros|after the patch level"),
    **dict.fromkeys(("v1.20.2.1", "v1.20.2rc1", "v1.20.2 ", "v1.20.2\n", "v1.20.2_1"), "after the patch level"),
    **dict.fromkeys(
        ("v1.20.2-", "v1.20.2-+build", "v1.20.2-rc.", "v1.20.2-.1", "v1.20.2-rc..1"), "one of them is empty"
    ),
    **dict.fromkeys(("v1.20.2-01", "v1.20.2-rc.01"), "no leading zeros"),
    **dict.fromkeys(("v1.20.2-rc_1", "v1.20.2-\u00e4", "v1.20.2-rc 1", "v1.20.2-rc\n", "v1.20.2-rc/1"), "pre-release"),
    **dict.fromkeys(("v1.20.2+", "v1.20.2-rc.1+", "v1.20.2+a..b", "v1.20.2+."), "one of them is empty"),
    **dict.fromkeys(("v1.20.2+a+b", "v1.20.2+a_b", "v1.20.2+a b"), "build"),
    "v1.20.2-" + "a" * 1000 + ".": "one of them is empty",
    "v1.20.2" + "x" * 1000: "after the patch level",
}


@pytest.mark.parametrize(("text", "why"), NO_VERSIONS.items(), ids=[text[:20] for text in NO_VERSIONS])
def test_what_is_no_version(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        kubernetes_versions.parse(text)
    assert len(str(caught.value)) < 600
    assert re.fullmatch(rf"v?1\.{kubernetes_versions.REST_PATTERN}", text) is None, "schemas refuse it too"


@pytest.mark.parametrize(
    "text", ["v1.20.2-0", "v1.20.2-rc.1", "v1.20.2--", "v1.20.2-a-b.0a", "v1.20.2+001.k3s-1", "1.20.2-x+y", "v1.20.0"]
)
def test_what_is_a_version(text: str) -> None:
    assert str(kubernetes_versions.parse(text)) == kubernetes_versions.with_v(text)
    assert re.fullmatch(rf"v?1\.{kubernetes_versions.REST_PATTERN}", text)


def test_another_api_version_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """kubeadm.k8s.io/v1 is announced: nothing but the table knows what an API version is called."""
    monkeypatch.setattr(kubernetes_versions, "APIS", (*kubernetes_versions.APIS, kubernetes_versions.Api(5, "v1", 40)))
    hub = {"clusterConfiguration": {"clusterName": "prod", "apiServer": {"extraArgs": [{"name": "v", "value": "2"}]}}}
    hub["initConfiguration"] = {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 300}, "skipPhases": ["addon"]}
    written = for_version.convert(hub, "v1.40.0")
    assert {each["apiVersion"] for each in written.documents} == {"kubeadm.k8s.io/v1"}
    assert any_form.read(written.text).hub == {key: hub[key] for key in ("initConfiguration", "clusterConfiguration")}
    older = for_version.convert(written.text, "v1.39.0")
    assert older.api_version == "kubeadm.k8s.io/v1beta4" and older.text == written.text.replace("/v1\n", "/v1beta4\n")
    assert "kubeadm v1 has no such field" in any_form.read(written.text + "newer: 1\n").warnings[0]
    with pytest.raises(ManifestError, match=r"does not read kubeadm.k8s.io/v1\. It reads"):
        for_version.convert(hub, "v1.39.0", api=5)
    text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.39.0\n"
    item = {"metadata": {"resourceVersion": "1"}, "data": {"ClusterConfiguration": text}}
    done = kubeadm_config_map.plan(
        {kubeadm_config_map.PATH: item}, kubeadm_config_map.Wanted(kubernetes_version="v1.40.0")
    )
    assert done.facts["api_version"] == "kubeadm.k8s.io/v1"


def test_versions_are_ordered_as_semantic_versions() -> None:
    ordered = [
        "v1.19.16",
        "v1.20.0-alpha.1",
        "v1.20.0-alpha.2",
        "v1.20.0-alpha.10",
        "v1.20.0-alpha.beta",
        "v1.20.0-beta.0",
        "v1.20.0-rc.1",
        "v1.20.0",
        "v1.20.2",
        "v1.20.10",
        "v1.21.0",
    ]
    assert [str(version) for version in sorted(map(kubernetes_versions.parse, reversed(ordered)))] == ordered
    assert kubernetes_versions.parse("v1.20.2+a") == kubernetes_versions.parse("1.20.2+b")
    assert kubernetes_versions.parse("v1.20.2") != kubernetes_versions.parse("v1.20.2-rc.1")


@given(st.tuples(*[st.integers(0, 99)] * 3))
def test_a_version_survives_its_text(numbers: tuple[int, int, int]) -> None:
    text = "v{}.{}.{}".format(*numbers)
    assert str(kubernetes_versions.parse(text)) == text


def test_what_each_kubeadm_reads() -> None:
    assert [api for api in (1, 2, 3, 4) if kubernetes_versions.readable_by("v1.20.2", api)] == [1, 2]
    assert [api for api in (1, 2, 3, 4) if kubernetes_versions.readable_by("v1.22.0", api)] == [2, 3]
    assert [api for api in (1, 2, 3, 4) if kubernetes_versions.readable_by("v1.37.0", api)] == [4]
    for minor in range(16, 38):
        version = f"v1.{minor}.0"
        assert kubernetes_versions.readable_by(version, kubernetes_versions.api_version_for(version).number)


MASTER, CONTROL_PLANE = "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"


@pytest.mark.parametrize(
    ("version", "labels", "taints"),
    [
        ("v1.19.9", (MASTER,), (MASTER,)),
        ("v1.20.2", (MASTER, CONTROL_PLANE), (MASTER,)),
        ("v1.23.0", (MASTER, CONTROL_PLANE), (MASTER,)),
        ("v1.24.0", (CONTROL_PLANE,), (MASTER, CONTROL_PLANE)),
        ("v1.25.0", (CONTROL_PLANE,), (CONTROL_PLANE,)),
    ],
)
def test_labels_and_taints(version: str, labels: tuple[str, ...], taints: tuple[str, ...]) -> None:
    assert kubernetes_facts.role_labels(version) == labels
    assert kubernetes_facts.default_taint_keys(version) == taints


def test_other_facts() -> None:
    assert kubernetes_facts.kubelet_config_map_names("v1.20.2") == (
        "kubelet-config-1.20",
        "kubelet-config-1.19",
        "kubelet-config",
    )
    assert kubernetes_facts.kubelet_config_map_names("v1.24.0") == (
        "kubelet-config",
        "kubelet-config-1.24",
        "kubelet-config-1.23",
    )
    assert [kubernetes_facts.has_cluster_status(f"v1.{minor}.0") for minor in (20, 21, 22)] == [True, True, False]
    assert [kubernetes_facts.patches_flag(f"v1.{minor}.0") for minor in (18, 19, 21, 22)] == [
        "",
        "--experimental-patches",
        "--experimental-patches",
        "--patches",
    ]
    assert [
        kubernetes_facts.default_image_repository(version) for version in ("v1.24.8", "v1.24.9", "v1.25.0", "v1.21.99")
    ] == [
        "k8s.gcr.io",
        "registry.k8s.io",
        "registry.k8s.io",
        "k8s.gcr.io",
    ]
    assert kubernetes_facts.default_cri_socket("v1.23.0") == "/var/run/dockershim.sock"
    assert kubernetes_facts.default_cri_socket("v1.24.0") == "unix:///var/run/containerd/containerd.sock"


@pytest.mark.parametrize(
    ("gate", "known", "default"),
    [
        ("IPv6DualStack", range(16, 24), 21),
        ("PublicKeysECDSA", range(19, 37), None),
        ("RootlessControlPlane", range(22, 38), None),
        ("UnversionedKubeletConfigMap", range(23, 26), 24),
        ("EtcdLearnerMode", range(27, 33), 29),
        ("UpgradeAddonsBeforeControlPlane", range(28, 31), None),
        ("WaitForAllControlPlaneComponents", range(30, 38), 33),
        ("ControlPlaneKubeletLocalMode", range(31, 36), 33),
        ("NodeLocalCRISocket", range(32, 37), 34),
    ],
)
def test_feature_gates(gate: str, known: range, default: int | None) -> None:
    minors = [
        minor
        for minor in range(16, 38)
        if gate in kubernetes_facts.feature_gates(kubernetes_versions.parse(f"v1.{minor}.0"))
    ]
    assert minors == list(known)
    refused = [
        minor
        for minor in range(16, 38)
        if kubernetes_facts.feature_gate_refused(kubernetes_versions.parse(f"v1.{minor}.0"), gate)
    ]
    assert sorted([*minors, *refused]) == list(range(16, 38))
    on = [minor for minor in range(16, 38) if kubernetes_facts.gate_on(f"v1.{minor}.0", gate, None)]
    assert on == ([] if default is None else list(range(default, 38)))


@pytest.mark.parametrize(
    ("version", "gate", "said", "on"),
    [
        ("v1.21.0", "UnversionedKubeletConfigMap", True, False),
        ("v1.22.3", "UnversionedKubeletConfigMap", True, False),
        ("v1.23.0", "UnversionedKubeletConfigMap", True, True),
        ("v1.24.9", "UnversionedKubeletConfigMap", False, False),
        ("v1.25.0", "UnversionedKubeletConfigMap", False, True),
        ("v1.26.0", "EtcdLearnerMode", True, False),
        ("v1.27.0", "EtcdLearnerMode", True, True),
        ("v1.31.0", "EtcdLearnerMode", False, False),
        ("v1.32.0", "EtcdLearnerMode", False, True),
    ],
)
def test_a_gate_is_switched_only_while_it_is_one(version: str, gate: str, said: bool, on: bool) -> None:
    assert kubernetes_facts.gate_on(version, gate, {gate: said}) is on


def test_names_that_only_a_newer_table_can_tell_about() -> None:
    configuration = {"featureGates": {"Brand": True, "PublicKeysECDSA": True}, "encryptionAlgorithm": "ML-DSA-65"}
    known, newer = kubernetes_versions.parse("v1.37.0"), kubernetes_versions.parse("v1.38.0-alpha.1")
    assert kubernetes_facts.feature_gate_refused(known, "Brand") and not kubernetes_facts.feature_gate_refused(
        newer, "Brand"
    )
    assert kubernetes_facts.feature_gate_refused(newer, "PublicKeysECDSA")
    assert kubernetes_facts.encryption_algorithm_refused(known, "ML-DSA-65")
    assert not kubernetes_facts.encryption_algorithm_refused(newer, "ML-DSA-65")
    assert not kubernetes_facts.encryption_algorithm_refused(kubernetes_versions.parse("v1.30.0"), "ML-DSA-65")
    assert kubernetes_facts.unknown_names(known, configuration) == []
    assert [name for _path, name in kubernetes_facts.unknown_names(newer, configuration)] == ["ML-DSA-65", "Brand"]


def test_which_kubeadm_takes_a_member_that_is_there_and_names_it() -> None:
    minors = (18, 19, 21, 22, 28)
    versions = [f"v1.{minor}.0" for minor in minors]
    assert [kubernetes_facts.finds_etcd_member(each) for each in versions] == [False, True, True, True, True]
    assert [kubernetes_facts.names_etcd_member(each) for each in versions] == [False, False, False, True, True]


def test_facts_that_change_once_or_twice() -> None:
    def by_minor(fact: Any) -> list[Any]:
        return [fact(f"v1.{minor}.0") for minor in (19, 20, 21, 22, 24, 25, 26, 28, 29, 32, 34, 37)]

    assert by_minor(kubernetes_facts.has_super_admin) == [False] * 8 + [True] * 4
    assert by_minor(kubernetes_facts.makes_kubelet_client_binding) == [False] * 12
    assert kubernetes_facts.makes_kubelet_client_binding("v1.38.0")
    assert by_minor(kubernetes_facts.sets_systemd_cgroups) == [False] * 3 + [True] * 9
    assert by_minor(kubernetes_facts.cgroup_v1) == [""] * 9 + ["deprecated"] * 2 + ["refused"]
    assert (
        by_minor(lambda version: kubernetes_facts.kubelet_skew(kubernetes_versions.parse(version))) == [2] * 7 + [3] * 5
    )
    assert (
        by_minor(lambda version: kubernetes_facts.kubelet_upgrade_skew(kubernetes_versions.parse(version)))
        == [1] * 8 + [3] * 4
    )
    assert [kubernetes_facts.certs_command(f"v1.{minor}.0") for minor in (19, 20)] == [("alpha", "certs"), ("certs",)]
    assert kubernetes_facts.drain_options("v1.17.0", True) == ("--delete-local-data",)
    assert kubernetes_facts.drain_options("v1.18.0", True) == (
        "--delete-local-data",
        "--skip-wait-for-delete-timeout=1",
    )
    assert kubernetes_facts.drain_options("v1.20.0", False) == ("--delete-emptydir-data",)
    assert [kubernetes_facts.minimum_external_etcd(f"v1.{minor}.0") for minor in (20, 22, 25, 28, 35)] == [
        "3.2.18",
        "3.2.18",
        None,
        "3.4.13",
        "3.5.24",
    ]
    assert kubernetes_facts.patch_targets("v1.18.0") == ()
    assert [len(kubernetes_facts.patch_targets(f"v1.{minor}.0")) for minor in (19, 25, 32)] == [4, 5, 6]
    assert kubernetes_facts.dns_toleration_keys("v1.19.0") == (MASTER,)
    assert kubernetes_facts.dns_toleration_keys("v1.25.0") == (CONTROL_PLANE, MASTER)
    assert kubernetes_facts.dns_toleration_keys("v1.26.0") == (CONTROL_PLANE,)


PLUGINS = Path(kubernetes_facts.__file__).parents[2]
TABLES = {
    Path("module_utils/common/kubernetes_facts.py"),
    Path("module_utils/common/kubernetes_versions.py"),
    Path("plugin_utils/kubeadm/etcd_releases.py"),
    Path("module_utils/node/host/requirements.py"),
    Path("plugin_utils/kubeadm/configuration/render.py"),
}


@functools.cache
def sources() -> dict[Path, ast.Module]:
    """Every file of the plugins; parsed where a test asks, not wherever tests are looked for."""
    return {file.relative_to(PLUGINS): ast.parse(file.read_text(encoding="utf-8")) for file in PLUGINS.rglob("*.py")}


def test_every_public_fact_has_a_user() -> None:
    body = sources()[Path("module_utils/common/kubernetes_facts.py")].body
    stored = {
        node.id
        for one in body
        if isinstance(one, (ast.Assign, ast.AnnAssign))
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    public = stored | {one.name for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    used: set[str] = set()
    for path, tree in sources().items():
        if path.name != "kubernetes_facts.py":
            used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            used |= {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
    assert sorted(name for name in public - used if not name.startswith("_")) == []


def test_nothing_but_the_tables_decides_by_a_versions_number() -> None:
    found = set()
    for path in sources().keys() - TABLES:
        for node in ast.walk(sources()[path]):
            compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            parts = [one for each in compared for one in ast.walk(each) if isinstance(one, ast.Attribute)]
            if any(one.attr in ("minor", "major", "patch") for one in parts) or (
                isinstance(node, ast.Attribute) and node.attr == "at_least"
            ):
                found.add(f"{path}:{node.lineno}")
    assert found == set()
