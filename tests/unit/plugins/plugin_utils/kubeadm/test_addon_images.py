# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References of images, and which images the add-ons are to run."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm import addon_images, image_references


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("kube-proxy", ("", "kube-proxy", "")),
        ("kube-proxy:v1", ("", "kube-proxy", "v1")),
        ("registry.k8s.io/coredns/coredns:v1.9.3", ("registry.k8s.io/coredns", "coredns", "v1.9.3")),
        ("localhost:5000/a:b", ("localhost:5000", "a", "b")),
        ("localhost:5000/a", ("localhost:5000", "a", "")),
        ("[fd00::1]:5000/x/a_b__c:1", ("[fd00::1]:5000/x", "a_b__c", "1")),
    ],
)
def test_references_of_images(text: str, parts: tuple[str, str, str]) -> None:
    image = image_references.parse(text)
    assert (image.repository, image.name, image.tag) == parts
    assert str(image) == text


@pytest.mark.parametrize(
    "text",
    ["", "a@sha256:" + "0" * 64, "A:1", "a/:1", "a:", "a: b", "a:" + "x" * 129, "http://a/b:1", "a/" * 600 + "b"],
)
def test_what_is_no_image_by_tag(text: str) -> None:
    with pytest.raises(image_references.ImageError):
        image_references.parse(text)


@pytest.mark.parametrize(
    ("image", "wanted", "expected"),
    [
        ("k8s.gcr.io/coredns:1.7.0", {"image_tag": "v1.8.0"}, "k8s.gcr.io/coredns/coredns:v1.8.0"),
        ("k8s.gcr.io/coredns:1.6.7", {"image_tag": "1.7.0"}, "k8s.gcr.io/coredns:1.7.0"),
        ("k8s.gcr.io/coredns-arm64:1.7.0", {"image_tag": "v1.8.0"}, "k8s.gcr.io/coredns-arm64:v1.8.0"),
        ("k8s.gcr.io/coredns/coredns:v1.8.0", {"image_tag": "v1.8.4"}, "k8s.gcr.io/coredns/coredns:v1.8.4"),
        (
            "k8s.gcr.io/coredns/coredns:v1.8.6",
            {"image_tag": "v1.9.3", "kubernetes_version": "v1.25.0"},
            "registry.k8s.io/coredns/coredns:v1.9.3",
        ),
        (
            "k8s.gcr.io/coredns:1.7.0",
            {"image_tag": "v1.8.0", "cluster_image_repository": "registry.k8s.io"},
            "registry.k8s.io/coredns/coredns:v1.8.0",
        ),
        (
            "registry.k8s.io/coredns/coredns:v1.9.3",
            {"image_repository": "registry.k8s.io/coredns", "cluster_image_repository": "example.org"},
            "registry.k8s.io/coredns/coredns:v1.9.3",
        ),
        (
            "registry.k8s.io/coredns/coredns:v1.9.3",
            {"cluster_image_repository": "example.org/k8s/"},
            "example.org/k8s/coredns:v1.9.3",
        ),
        (
            "example.org/my-coredns:v1.8.0-build.1",
            {"image_tag": "v1.8.0-build.2"},
            "example.org/my-coredns:v1.8.0-build.2",
        ),
    ],
)
def test_corednss_image(image: str, wanted: dict[str, t.Any], expected: str) -> None:
    assert (
        str(addon_images.coredns_image(image_references.parse(image), addon_images.CorednsWanted(**wanted))) == expected
    )


@pytest.mark.parametrize(
    ("running", "version", "repository", "expected"),
    [
        ("k8s.gcr.io/kube-proxy:v1.20.2", "v1.21.0", None, "k8s.gcr.io/kube-proxy:v1.21.0"),
        ("k8s.gcr.io/kube-proxy:v1.24.17", "v1.25.0", None, "registry.k8s.io/kube-proxy:v1.25.0"),
        ("k8s.gcr.io/kube-proxy:v1.20.2", "v1.21.0+b.1", "example.org/k8s/", "example.org/k8s/kube-proxy:v1.21.0_b.1"),
        ("kube-proxy", "v1.21.0", None, "kube-proxy:v1.21.0"),
    ],
)
def test_kube_proxys_image(running: str, version: str, repository: t.Optional[str], expected: str) -> None:
    assert str(addon_images.kube_proxy_image(running, version, repository)) == expected


@pytest.mark.parametrize(("running", "version"), [("a@sha256:" + "0" * 64, "v1.21.0"), ("a:1", "1.x"), ("", "v1.21.0")])
def test_what_has_no_successor(running: str, version: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        addon_images.kube_proxy_image(running, version, None)
