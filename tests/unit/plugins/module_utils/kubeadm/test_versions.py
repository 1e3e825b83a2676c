# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm import facts, versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.errors import ManifestError


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
    choice = versions.api_version_for(version)
    assert (choice.number, choice.known) == (api, known)
    assert choice.api_version == f"kubeadm.k8s.io/v1beta{api}"


@pytest.mark.parametrize("version", ["v1.15.9", "v0.20.0", "v2.0.0"])
def test_versions_without_an_api(version: str) -> None:
    with pytest.raises(ManifestError, match="no kubeadm API"):
        versions.api_version_for(version)


@pytest.mark.parametrize(
    "text", ["", "v1.20", "1", "v1.20.2.1", "v1.020.2", "v1.20.2rc1", "latest", "v1.20.-1", " v1.20.2"]
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"v1\.20\.2|after the patch level"):
        versions.parse(text)


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
    assert [str(version) for version in sorted(map(versions.parse, reversed(ordered)))] == ordered
    assert versions.parse("v1.20.2+a") == versions.parse("1.20.2+b")
    assert versions.parse("v1.20.2") != versions.parse("v1.20.2-rc.1")


@given(st.tuples(*[st.integers(0, 99)] * 3))
def test_a_version_survives_its_text(numbers: tuple[int, int, int]) -> None:
    text = "v{}.{}.{}".format(*numbers)
    assert str(versions.parse(text)) == text


def test_what_each_kubeadm_reads() -> None:
    assert [api for api in (1, 2, 3, 4) if versions.readable_by("v1.20.2", api)] == [1, 2]
    assert [api for api in (1, 2, 3, 4) if versions.readable_by("v1.22.0", api)] == [2, 3]
    assert [api for api in (1, 2, 3, 4) if versions.readable_by("v1.37.0", api)] == [4]
    for minor in range(16, 38):
        version = f"v1.{minor}.0"
        assert versions.readable_by(version, versions.api_version_for(version).number)


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
    assert facts.role_labels(version) == labels
    assert facts.default_taint_keys(version) == taints


def test_other_facts() -> None:
    assert facts.kubelet_config_map_names("v1.20.2") == ("kubelet-config-1.20",)
    assert facts.kubelet_config_map_names("v1.23.1") == ("kubelet-config-1.23", "kubelet-config")
    assert facts.kubelet_config_map_names("v1.24.0") == ("kubelet-config", "kubelet-config-1.24")
    assert facts.kubelet_config_map_names("v1.26.0") == ("kubelet-config",)
    assert [facts.has_cluster_status(f"v1.{minor}.0") for minor in (20, 21, 22)] == [True, True, False]
    assert [facts.patches_flag(f"v1.{minor}.0") for minor in (18, 19, 21, 22)] == [
        "",
        "--experimental-patches",
        "--experimental-patches",
        "--patches",
    ]
    assert [facts.default_image_repository(version) for version in ("v1.24.8", "v1.24.9", "v1.25.0", "v1.21.99")] == [
        "k8s.gcr.io",
        "registry.k8s.io",
        "registry.k8s.io",
        "k8s.gcr.io",
    ]
    assert facts.default_cri_socket("v1.23.0") == "/var/run/dockershim.sock"
    assert facts.default_cri_socket("v1.24.0") == "unix:///var/run/containerd/containerd.sock"


@pytest.mark.parametrize(
    ("version", "etcd", "coredns", "pause"),
    [
        ("v1.16.0", ("3.3.15-0",), ("1.6.2",), "3.1"),
        ("v1.19.0", ("3.4.9-1",), ("1.7.0",), "3.2"),
        ("v1.19.7", ("3.4.9-1", "3.4.13-0"), ("1.7.0",), "3.2"),
        ("v1.20.2", ("3.4.13-0",), ("1.7.0",), "3.2"),
        ("v1.21.0", ("3.4.13-0",), ("v1.8.0",), "3.4.1"),
        ("v1.25.4", ("3.5.5-0",), ("v1.9.3",), "3.8"),
        ("v1.25.20", ("3.5.9-0",), ("v1.9.3",), "3.8"),
        ("v1.28.13", ("3.5.12-0",), ("v1.10.1",), "3.9"),
        ("v1.30.4", ("3.5.12-0",), ("v1.11.1",), "3.9"),
        ("v1.30.5", ("3.5.15-0",), ("v1.11.3",), "3.9"),
        ("v1.33.0", ("3.5.21-0",), ("v1.12.0",), "3.10"),
        ("v1.33.5", ("3.5.21-0", "3.5.24-0"), ("v1.12.0",), "3.10"),
        ("v1.36.1", ("3.6.8-0",), ("v1.14.2",), "3.10.2"),
        ("v1.37.0-rc.0", ("3.7.0-0",), ("v1.14.6",), None),
    ],
)
def test_the_images_of_a_version(
    version: str, etcd: tuple[str, ...], coredns: tuple[str, ...], pause: str | None
) -> None:
    assert facts.images(version) == facts.Images(etcd, coredns, pause)


def test_images_are_known_for_every_minor_and_for_no_other() -> None:
    assert all(facts.images(f"v1.{minor}.0") for minor in range(versions.OLDEST_MINOR, versions.NEWEST_KNOWN_MINOR + 1))
    assert facts.images("v1.99.0") is None


def test_where_coredns_is() -> None:
    assert facts.coredns_image_name("k8s.gcr.io", "1.7.0") == "coredns"
    assert facts.coredns_image_name("registry.k8s.io", "v1.8.0") == "coredns/coredns"
    assert facts.coredns_image_name("example.org/mirror", "v1.8.0") == "coredns"
    assert facts.coredns_image_name("k8s.gcr.io", "latest") == "coredns"


@pytest.mark.parametrize(
    ("gate", "known", "default"),
    [
        ("IPv6DualStack", range(16, 24), 21),
        ("PublicKeysECDSA", range(19, 37), None),
        ("RootlessControlPlane", range(22, 38), None),
        ("UnversionedKubeletConfigMap", range(22, 26), 24),
        ("EtcdLearnerMode", range(27, 33), 29),
        ("UpgradeAddonsBeforeControlPlane", range(28, 31), None),
        ("WaitForAllControlPlaneComponents", range(30, 38), 33),
        ("ControlPlaneKubeletLocalMode", range(31, 36), 33),
        ("NodeLocalCRISocket", range(32, 37), 34),
    ],
)
def test_feature_gates(gate: str, known: range, default: int | None) -> None:
    minors = [minor for minor in range(16, 38) if facts.feature_gate_known(versions.parse(f"v1.{minor}.0"), gate)]
    assert minors == list(known)
    on = [minor for minor in range(16, 38) if facts.gate_default(f"v1.{minor}.0", gate)]
    assert on == ([] if default is None else list(range(default, 38)))


def test_facts_that_change_once_or_twice() -> None:
    def by_minor(fact: Any) -> list[Any]:
        return [fact(f"v1.{minor}.0") for minor in (19, 20, 21, 22, 24, 25, 26, 28, 29, 32, 34, 37)]

    assert by_minor(facts.has_super_admin) == [False] * 8 + [True] * 4
    assert facts.admin_organization("v1.28.9") == "system:masters"
    assert facts.admin_organization("v1.29.0") == "kubeadm:cluster-admins"
    assert by_minor(facts.kubelet_client_needs_binding) == [False] * 11 + [True]
    assert by_minor(facts.excluded_from_load_balancers) == [False, False] + [True] * 10
    assert by_minor(facts.cri_socket_in_instance_config) == [False] * 10 + [True, True]
    assert by_minor(facts.minimum_control_plane_minor) == [18, 19, 20, 21, 23, 24, 25, 27, 28, 31, 33, 36]
    assert [facts.default_cgroup_driver(f"v1.{minor}.0") for minor in (20, 21, 22)] == [
        "cgroupfs",
        "systemd",
        "systemd",
    ]
    assert [facts.default_cgroup_driver(f"v1.{minor}.0", upgraded=True) for minor in (20, 21, 22)] == [
        "cgroupfs",
        "cgroupfs",
        "systemd",
    ]
    assert [facts.minimum_external_etcd(f"v1.{minor}.0") for minor in (20, 25, 35)] == ["3.2.18", None, "3.5.24"]
    assert facts.kubelet_config_role("kubelet-config-1.20") == "kubeadm:kubelet-config-1.20"
    assert facts.patch_targets("v1.18.0") == ()
    assert [len(facts.patch_targets(f"v1.{minor}.0")) for minor in (19, 25, 32)] == [4, 5, 6]
    assert facts.dns_toleration_keys("v1.19.0") == (MASTER,)
    assert facts.dns_toleration_keys("v1.25.0") == (MASTER, CONTROL_PLANE)
    assert facts.dns_toleration_keys("v1.26.0") == (CONTROL_PLANE,)
