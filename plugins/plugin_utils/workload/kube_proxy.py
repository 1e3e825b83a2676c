# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan for kube-proxy's image (docs/reference/cluster_api.md, "Add-ons")."""

from __future__ import annotations

import typing as t

from ...module_utils.workload_api import compare_and_swap
from ..kubeadm import addon_images
from .writes import Change, Objects, Plan, WorkloadError, resource_version

NAME = addon_images.KUBE_PROXY
PATH = f"/apis/apps/v1/namespaces/kube-system/daemonsets/{NAME}"
READS = (
    compare_and_swap.Read(PATH, ("spec.template.spec.containers[].name", "spec.template.spec.containers[].image")),
)


def plan(objects: Objects, version: str, image_repository: t.Optional[str]) -> Plan:
    """Return the plan for kube-proxy's image of ``version``.

    Args:
        objects: what READS found.
        version: the control plane's Kubernetes version.
        image_repository: clusterConfiguration.imageRepository; without it the repository stays, but for the registry that is frozen.

    Raises:
        WorkloadError: the image is named by digest or is none, or the version isn't one.
    """
    item = objects[PATH]
    if item is None:
        return Plan("there is no DaemonSet kube-system/kube-proxy: nothing to do")
    image = container_image(item, NAME)
    if image is None:
        return Plan("the DaemonSet kube-system/kube-proxy has no container kube-proxy: nothing to do")
    try:
        after = addon_images.kube_proxy_image(image, version, image_repository)
    except ValueError as error:
        raise WorkloadError(
            f"DaemonSet kube-system/kube-proxy: {error}; nothing was written. Name the image by a tag, or keep kube-proxy to "
            "yourself (annotation controlplane.cluster.x-k8s.io/skip-kube-proxy)."
        ) from error
    known = {"image": str(after)}
    if str(after) == image:
        return Plan(f"kube-proxy runs {image}", facts=known)
    container = {"name": NAME, "image": str(after)}
    document = {"spec": {"template": {"spec": {"containers": [container]}}}}
    write = compare_and_swap.Write(PATH, compare_and_swap.STRATEGIC, document, resource_version(item))
    change = Change("DaemonSet kube-system/kube-proxy", f"image: {image}\n", f"image: {after}\n")
    return Plan(f"kube-proxy: {image} becomes {after}", (write,), (change,), facts=known)


def container_image(item: t.Mapping[str, t.Any], name: str) -> t.Optional[str]:
    """Return the image of a DaemonSet's or Deployment's container, else None."""
    template = ((item.get("spec") or {}).get("template") or {}).get("spec") or {}
    found = [str(each.get("image") or "") for each in template.get("containers") or [] if each.get("name") == name]
    return found[0] if found else None
