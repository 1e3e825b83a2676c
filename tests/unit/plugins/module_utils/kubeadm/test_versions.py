# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

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
