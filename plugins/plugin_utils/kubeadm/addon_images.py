# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of kube-proxy and CoreDNS. Pure.

Sources: docs/reference/cluster_api.md, "Add-ons"; docs/reference/kubeadm.md, "Image registry".
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...module_utils.common import kubernetes_facts, kubernetes_versions
from . import coredns_releases, image_references

_Object = t.Mapping[str, t.Any]

KUBE_PROXY, COREDNS = "kube-proxy", "coredns"
# The key of ConfigMap kube-system/coredns under which what runs is kept during an upgrade
# (docs/reference/cluster_api.md, "Add-ons").
COREFILE_BACKUP = "Corefile-backup"
# From 1.8.0 on the default registries have CoreDNS one folder deeper.
_DEEPER_SINCE = (1, 8, 0)


@dataclass(frozen=True)
class CorednsWanted:
    """Desired state of CoreDNS: a KubeadmControlPlane's version and image settings.

    The settings are clusterConfiguration's imageRepository, dns.imageRepository and dns.imageTag.
    """

    kubernetes_version: t.Optional[str] = None
    cluster_image_repository: t.Optional[str] = None
    image_repository: t.Optional[str] = None
    image_tag: t.Optional[str] = None

    @property
    def configured(self) -> bool:
        """Presence of a configured setting that decides the image."""
        return bool(self.image_tag or self.image_repository or self.cluster_image_repository)


def image_repository(control_plane: _Object) -> t.Optional[str]:
    """Return clusterConfiguration.imageRepository of a KubeadmControlPlane."""
    return _configuration(control_plane).get("imageRepository") or None


def wanted_coredns(control_plane: _Object) -> CorednsWanted:
    """Return a KubeadmControlPlane's desired state of CoreDNS."""
    dns = _configuration(control_plane).get("dns") or {}
    return CorednsWanted(
        kubernetes_version=str(control_plane["spec"]["version"]),
        cluster_image_repository=image_repository(control_plane),
        image_repository=dns.get("imageRepository") or None,
        image_tag=dns.get("imageTag") or None,
    )


def kube_proxy_image(running: str, version: str, repository: t.Optional[str]) -> image_references.Image:
    """Return the image of kube-proxy for a control plane's version.

    Args:
        running: the image that it runs.
        version: the control plane's Kubernetes version.
        repository: clusterConfiguration.imageRepository; without it the repository stays, but for the registry that is frozen.

    Raises:
        ValueError: the image is named by digest or is none, or the version isn't one.
    """
    before = image_references.parse(running)
    kubernetes_versions.parse(version)
    home = repository.rstrip("/") if repository else moved_repository(before.repository, version)
    return image_references.Image(home, before.name, image_references.tag_of_version(version))


def coredns_image(before: image_references.Image, wanted: CorednsWanted) -> image_references.Image:
    """Return the image of CoreDNS for its desired state.

    The more special setting wins; what the user did not set stays.

    Source: docs/reference/cluster_api.md, "Add-ons".

    Raises:
        ImageError: what comes out is no image.
    """
    tag = wanted.image_tag or before.tag
    configured = wanted.image_repository or wanted.cluster_image_repository
    repository = before.repository
    if configured:
        repository = configured.rstrip("/")
    elif wanted.kubernetes_version:
        repository = moved_repository(repository, wanted.kubernetes_version)
    name = before.name
    if repository in kubernetes_facts.DEFAULT_REGISTRIES and name == COREDNS and release_key(tag) >= _DEEPER_SINCE:
        repository = f"{repository}/{COREDNS}"
    return image_references.parse(f"{repository}/{name}:{tag}" if repository else f"{name}:{tag}")


def release_key(tag: str) -> tuple[int, ...]:
    """Return the release of a CoreDNS tag as numbers, for comparing.

    A tag that is no release sorts before every release.
    """
    try:
        return coredns_releases.version_key(coredns_releases.release_of(tag))
    except coredns_releases.ReleaseError:
        return (0,)


def moved_repository(repository: str, version: str) -> str:
    """Return an unconfigured repository, its frozen registry replaced.

    It is replaced where kubeadm of this version does so.

    Source: docs/reference/kubeadm.md, "Image registry".
    """
    host, slash, rest = repository.partition("/")
    return (
        f"{kubernetes_facts.default_image_repository(version)}{slash}{rest}"
        if host == kubernetes_facts.OLD_REGISTRY
        else repository
    )


def _configuration(control_plane: _Object) -> _Object:
    return (control_plane["spec"].get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
