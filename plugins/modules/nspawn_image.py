#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nspawn_image
short_description: Build images of local machines
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - An image is a Debian root file system with systemd, containerd, kubeadm, kubelet and kubectl of one Kubernetes version, and a containerd folder with its
    container images already in it.
  - It is built once and cached. A build that is killed leaves nothing that could be taken for an image; two builds at once don't collide.
  - The first build takes minutes. It says what it is doing in a log (see RV(log)).
options:
  state:
    description:
      - Whether the image is there. With V(absent), an image is refused that a machine of O(directory), or a running one of any other folder, is made of.
        Machines of other folders that don't run are not known; without their image they can't be started again.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: The image's name, C(kubernetes-) and O(kubernetes_version) when it is left out.
    type: str
  kubernetes_version:
    description: The Kubernetes version with all three numbers, such as V(v1.20.2). Required with O(state=present).
    type: str
  source:
    description:
      - Where the Kubernetes binaries and container images come from. The result says which one was used and why.
      - V(release) takes published binaries, checked against their published checksums, and published container images, of any version.
      - V(debian-source) builds Debian's source package of Kubernetes, for hosts that reach only Debian's mirrors. Another O(kubernetes_version) than the
        package's gives the same code under another version stamp, with a warning; it exercises upgrades and is not that version.
      - V(directory) takes the files in O(binaries), of whatever origin and version. Everything that is missing there is named at once, before anything is
        built and in check mode, too. Two folders of the same contents give the same image.
      - V(auto) takes V(release) where its host answers within three seconds, else V(debian-source).
    type: str
    choices: [auto, release, debian-source, directory]
    default: auto
  binaries:
    description:
      - Folder with C(kubeadm), C(kubelet) and C(kubectl), for O(source=directory). C(kubeadm) and C(kubelet) report O(kubernetes_version).
      - For each image that this C(kubeadm) asks for it has an archive (of C(docker save) or C(ctr images export), anywhere below, found by the name in the
        archive), or the program of that name, of which an image is made. Without either, C(pause) is compiled, C(etcd) is Debian's, and CoreDNS is left out.
    type: path
  mirror:
    description: URL of the Debian mirror. Left out, it is the one that this host's apt uses.
    type: str
  debian_release:
    description: The release of Debian that an image consists of, with its containerd, runc and etcd. Left out, it is V(bookworm).
    type: str
    choices: [bookworm, trixie]
    version_added: 0.10.0
  release_url:
    description: Where published binaries come from, for O(source=release).
    type: str
    default: https://dl.k8s.io/release
  install_packages:
    description: Whether to install packages that a build needs and that are missing on this host.
    type: bool
    default: true
extends_documentation_fragment:
  - kubeadm.control_plane._nspawn
  - kubeadm.control_plane._nspawn.cache
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: An image with published binaries, or built here where they can't be fetched
  kubeadm.control_plane.nspawn_image:
    kubernetes_version: v1.20.2

- name: The same code under another version stamp, for trying an upgrade
  kubeadm.control_plane.nspawn_image:
    kubernetes_version: v1.21.0
    source: debian-source
"""

RETURN = r"""
image:
  description: The image.
  returned: O(state=present), and not in check mode when it would be built
  type: dict
  contains:
    name:
      description: The image's name.
      type: str
    kubernetesVersion:
      description: The Kubernetes version that its binaries report.
      type: str
    source:
      description: Where the binaries came from.
      type: str
    sourceReason:
      description: Why from there.
      type: str
    path:
      description: The image's folder.
      type: str
    images:
      description: The container images in it.
      type: list
      elements: str
    missingImages:
      description: Container images that kubeadm asks for and that are not in it.
      type: list
      elements: str
    kubeadm:
      description: What a manifest has to say to kubeadm on machines of this image (V(skipPhases), V(ignorePreflightErrors)).
      type: dict
    warnings:
      description: What is not as the image's name suggests.
      type: list
      elements: str
log:
  description: The log of builds.
  returned: O(state=present)
  type: str
"""

import os
import typing as t

from ..module_utils.node.module import NodeModule
from ..module_utils.nspawn import host
from ..module_utils.nspawn.arguments import CACHE_ARGUMENTS, DIRECTORY_ARGUMENTS, cache_of, layout_of
from ..module_utils.nspawn.errors import NspawnError
from ..module_utils.nspawn.image import cache as image
from ..module_utils.nspawn.image import debian, kubernetes_release
from ..module_utils.nspawn.machine import lifecycle


def execute(params: t.Mapping[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Build or remove the image; return the module's result."""
    host.require_root()
    cache = cache_of(params)
    name = params["name"] or image.image_name(params["kubernetes_version"] or "")
    if params["state"] == "absent":
        used_by = lifecycle.using_image(layout_of(params), name)
        return {"changed": image.remove(cache, name, used_by, check=check_mode)}
    request = image.request_of(params, name, params["kubernetes_version"])
    log = image.progress_of(cache, request)
    if check_mode:
        record = image.cached(cache, request)
        if record is None:
            image.resolve_source(request)
        return {"changed": record is None, "image": record or {}, "log": log.path}
    record, changed = image.ensure(cache, request, log)
    return {"changed": changed, "image": record, "log": log.path, "warnings": record["warnings"] if changed else []}


def main() -> None:
    """Run the module."""
    arguments = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "name": {"type": "str"},
        "kubernetes_version": {"type": "str"},
        "source": {"type": "str", "choices": ["auto", "release", "debian-source", "directory"], "default": "auto"},
        "binaries": {"type": "path"},
        "mirror": {"type": "str"},
        "debian_release": {"type": "str", "choices": list(debian.RELEASES)},
        "release_url": {"type": "str", "default": kubernetes_release.RELEASE_URL},
        "install_packages": {"type": "bool", "default": True},
    }
    module = NodeModule(
        argument_spec={**DIRECTORY_ARGUMENTS, **CACHE_ARGUMENTS, **arguments},
        required_if=[("state", "present", ["kubernetes_version"]), ("source", "directory", ["binaries"])],
        required_one_of=[("name", "kubernetes_version")],
    )
    os.umask(0o022)
    with module.failing(NspawnError, OSError):
        result = execute(module.params, module.check_mode)
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
