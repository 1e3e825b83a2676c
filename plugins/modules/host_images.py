#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_images
short_description: List the images that a Kubernetes version needs, load them from archives, pull them, and write archives of them
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Asks the host's own kubeadm which images it takes, with the registries and tags that a manifest names, and the container runtime which of them are there.
  - Loads archives into containerd where an image is missing, and writes archives of images that are there. No image is removed.
options:
  kubernetes_version:
    description:
      - The version of Kubernetes, such as V(v1.30.2), which must be that of the host's kubeadm, or of the one that
        M(kubeadm.control_plane.host_packages) has staged there (O(kubeadm.control_plane.host_packages#module:stage)).
    type: str
    required: true
  images:
    description:
      - What a manifest says of its images, as M(kubeadm.control_plane.inventory_pool_check) returns it (C(wanted.images)).
    default: {}
  load:
    description: Archives on the host, as C(docker save) and C(ctr images export) write them. They are loaded, all of them, where an image is missing.
    type: list
    elements: path
    default: []
  pull:
    description:
      - Whether the container runtime pulls by C(crictl) what is missing after archives were loaded, from its mirrors or the registry. Nothing is pulled where
        RV(out_of_reach) says why it can't be. What a pull doesn't bring stays in RV(missing), which is no failure.
    type: bool
    default: false
  worker:
    description: Whether only what may run on a worker is asked for - the images of kube-proxy, the sandbox (pause) and CoreDNS.
    type: bool
    default: false
  save:
    description: A folder on the host to which an archive of each needed image is written that is there. It belongs to the folder's owner.
    type: path
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.images
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - Archives that don't have what is missing are loaded again each time. Those of O(save) are written each time.
seealso:
  - module: kubeadm.control_plane.host_packages
  - module: kubeadm.control_plane.host_claim
"""

EXAMPLES = r"""
- name: Which images does v1.33.2 need, and which are missing?
  kubeadm.control_plane.host_images:
    kubernetes_version: v1.33.2
  become: true

- name: Load what is missing
  kubeadm.control_plane.host_images:
    kubernetes_version: v1.33.2
    load: [/srv/images/registry.k8s.io_kube-apiserver_v1.33.2.tar]
  become: true
"""

RETURN = r"""
needed:
  description: The images that this version needs.
  returned: success
  type: list
  elements: str
  sample: ["registry.k8s.io/kube-apiserver:v1.33.2"]
missing:
  description: Those of them that are not there, after archives were loaded and images pulled.
  returned: success
  type: list
  elements: str
out_of_reach:
  description: Why those that are missing can't be pulled from this host; empty where they may be, or where only the container runtime knows.
  returned: success
  type: str
  sample: registry.k8s.io can't be reached from here
archives:
  description: The name of each needed image's archive, as O(save) writes it.
  returned: success
  type: dict
  sample: {"registry.k8s.io/pause:3.10": "registry.k8s.io_pause_3.10.tar"}
free:
  description: The bytes that were free before, on the file system of C(/var/lib/kubeadm-control-plane), where the role C(host) brings archives.
  returned: success
  type: int
  sample: 21474836480
saved:
  description: The files that were written.
  returned: success
  type: list
  elements: str
"""

import contextlib

from ..module_utils.common import settings, timed_command
from ..module_utils.common.guard import NodeError
from ..module_utils.common.kubernetes_versions import read_version
from ..module_utils.node import arguments
from ..module_utils.node.bootstrap.image_check import Images
from ..module_utils.node.host import host_facts, image_archives, missing_images
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.node.packages import packages, staged_kubeadm

_SHORT = ("version", "-o", "short")


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "kubernetes_version": {"type": "str", "required": True},
            "images": {**arguments.IMAGES, "default": {}},
            "load": {"type": "list", "elements": "path", "default": []},
            "pull": {"type": "bool", "default": False},
            "worker": {"type": "bool", "default": False},
            "save": {"type": "path"},
        },
        fencing=False,
    )
    params, saved = module.params, []
    if read_version(params["kubernetes_version"]) is None:
        module.fail_json(msg=f"kubernetes_version {params['kubernetes_version']!r} is no version such as v1.30.2.")
    images = Images.read(params["kubernetes_version"], params["images"])
    with module.failing(NodeError):
        module.check()
        needed, free = needed_by(images), image_archives.free()
        if params["worker"]:
            needed = [each for each in needed if missing_images.name_of(each) in missing_images.OF_WORKERS]
        missing = lacking(images, needed)
        loads = bool(params["load"] and missing)
        if loads and not module.check_mode:
            image_archives.load(params["load"])
            missing = lacking(images, needed)
        no_way = missing_images.out_of_reach(missing, images.pull)
        pulls = bool(params["pull"] and missing and not no_way)
        if pulls and not module.check_mode:
            asked = missing
            missing = pulled(images, needed, missing)
            pulls = missing != asked
        there = [each for each in needed if each not in missing]
        if params["save"] and not module.check_mode:
            saved = image_archives.save(there, params["save"])
    module.exit_json(
        changed=loads or pulls or bool(params["save"] and there),
        needed=needed,
        missing=missing,
        out_of_reach=no_way,
        archives={each: image_archives.archive_name(each) for each in needed},
        free=free,
        saved=saved,
    )


def needed_by(images: Images) -> list[str]:
    """Return the images that kubeadm of that version takes.

    It is installed or staged here.

    Raises:
        NodeError: it is neither, or doesn't list them.
    """
    version = host_facts.version_of(["kubeadm", *_SHORT])
    if version == images.version:
        return missing_images.needed(images)
    # Each family of systems has it in the same place, and others have none.
    with staged_kubeadm.unpacked(packages.PackageManager()) as staged:
        if staged and host_facts.version_of([staged, *_SHORT]) == images.version:
            return missing_images.needed(images, missing_images.ImagePlaces(kubeadm=staged))
    raise NodeError(
        f"kubeadm is {version or 'not there'} on this host, and only kubeadm {images.version} knows the images of that version.",
        "Install or stage that version, as the playbook prepare does, or ask another host.",
    )


def pulled(images: Images, needed: list[str], missing: list[str]) -> list[str]:
    """Have images pulled; return those that are missing then.

    Raises:
        NodeError: the container runtime doesn't say.
    """
    # Where one isn't there in time the others aren't either: each try takes minutes.
    with contextlib.suppress(NodeError):
        for each in missing:
            words = [
                "crictl",
                "--runtime-endpoint",
                f"unix://{missing_images.socket_path(images.socket)}",
                "pull",
                each,
            ]
            timed_command.run(words, seconds=settings.IMAGE_PULL_SECONDS)
    return lacking(images, needed)


def lacking(images: Images, needed: list[str]) -> list[str]:
    """Return the images that are not there.

    Raises:
        NodeError: the container runtime doesn't say.
    """
    has = missing_images.present(images.socket)
    if has is None:
        raise NodeError(
            "The container runtime doesn't say which images it has.",
            "Look whether it runs. Where there are several, name one: criSocket.",
        )
    return [each for each in needed if each not in has]


if __name__ == "__main__":
    main()
