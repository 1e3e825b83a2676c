#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nspawn_machine
short_description: Create, start and remove real local machines
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - A machine is a systemd-nspawn container with its own systemd, sshd, containerd, kubelet, address and host key, made from an image in about two seconds.
  - It runs on when this module and Ansible have ended. Creation that was cut off is completed by the next run, or removed with O(state=absent).
  - Where the image is missing it is built first, when O(kubernetes_version) is given and unless O(build=false) (see M(kubeadm.control_plane.nspawn_image)).
options:
  state:
    description:
      - V(present) makes the machine and starts it. One that exists is left as it is, also when it is dead; the result's RV(machine.state) says so.
      - V(started) also starts one that is dead.
      - V(absent) removes it without a trace, its processes, mounts, control groups, network interface and folder.
    type: str
    choices: [present, started, absent]
    default: present
  name:
    description: The machine's name, which becomes its host name. Unique in O(directory).
    type: str
    required: true
  cluster:
    description: Name of the cluster that the machine belongs to. Required unless O(state=absent); with it, a machine of another cluster is never removed.
    type: str
  namespace:
    description: Namespace of the cluster.
    type: str
    default: default
  image:
    description: Name of the machine's image. Left out, it is C(kubernetes-) and O(kubernetes_version).
    type: str
  kubernetes_version:
    description: The Kubernetes version that the image must have, such as V(v1.20.2).
    type: str
  source:
    description: Where the binaries of an image that is still to be built come from (see M(kubeadm.control_plane.nspawn_image)).
    type: str
    choices: [auto, release, debian-source, directory]
    default: auto
  build:
    description: Whether an image that is missing is built, which takes minutes.
    type: bool
    default: true
  binaries:
    description: Folder with binaries, for O(source=directory).
    type: path
  mirror:
    description: URL of the Debian mirror for building an image. Left out, it is the one that this host's apt uses.
    type: str
  debian_release:
    description: The release of Debian that the machine has. Left out, it is the one of the image that there is, or V(bookworm) for one to build.
    type: str
    choices: [bookworm, trixie]
    version_added: 0.10.0
  release_url:
    description: Where published binaries come from, for O(source=release).
    type: str
    default: https://dl.k8s.io/release
  install_packages:
    description: Whether to install packages that building an image needs and that are missing on this host.
    type: bool
    default: true
  address:
    description: The machine's address. Left out, it is a free one of O(subnet).
    type: str
  unreachable:
    description:
      - Networks that the machine's own kernel refuses at once. A machine has no route out of its bridge, so no host answers there, but
        without this some programs wait for an answer. A kubelet asks a cloud's metadata service at each start and waits for 6 seconds.
      - Takes effect where the machine is made.
    type: list
    elements: str
    default: [169.254.169.254/32]
    version_added: 0.5.0
  authorized_key:
    description: Public SSH key that may log in as root. Without one no user can.
    type: str
    default: ''
  wait:
    description: Whether to wait until SSH answers in a machine that was started.
    type: bool
    default: true
  timeout:
    description: For how many seconds at most.
    type: int
    default: 60
extends_documentation_fragment:
  - kubeadm.control_plane._nspawn
  - kubeadm.control_plane._nspawn.cache
  - kubeadm.control_plane._nspawn.network
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.nspawn_machine_info
  - module: kubeadm.control_plane.nspawn_image
"""

EXAMPLES = r"""
- name: A machine with Kubernetes 1.20.2
  kubeadm.control_plane.nspawn_machine:
    name: demo-1
    cluster: demo
    kubernetes_version: v1.20.2
    authorized_key: "{{ lookup('file', '~/.ssh/id_ed25519.pub') }}"
  register: made

- name: Remove it without a trace
  kubeadm.control_plane.nspawn_machine:
    name: demo-1
    state: absent
"""

RETURN = r"""
kubeadm:
  description: What the image asks of kubeadm (V(skipPhases), V(ignorePreflightErrors)) and why (V(reason)).
  returned: O(state) is not V(absent), not in check mode
  type: dict
machine:
  description: The machine.
  returned: O(state) is not V(absent); in check mode only when the machine exists
  type: dict
  contains:
    name:
      description: The machine's name.
      type: str
    namespace:
      description: Namespace of the cluster that it belongs to.
      type: str
    cluster:
      description: Name of the cluster that it belongs to.
      type: str
    state:
      description: V(running), V(dead) (made, and its init process is gone) or V(incomplete) (its creation was cut off).
      type: str
    image:
      description: The image that it was made from.
      type: str
    kubernetes_version:
      description: The Kubernetes version in that image.
      type: str
    address:
      description: Its address on the bridge.
      type: str
    pod_subnet:
      description: The subnet of its pods.
      type: str
    pid:
      description: Its init process on this host, or null.
      type: int
    machine_id:
      description: Its systemd machine-id.
      type: str
    provider_id:
      description: Its providerID for Kubernetes.
      type: str
    host_keys:
      description: Its SSH host keys, as in a known_hosts file after the host.
      type: list
      elements: str
    directory:
      description: Its folder.
      type: str
    console:
      description: The file that takes its console.
      type: str
"""

import os
import typing as t

from ..module_utils.common import settings
from ..module_utils.node.module import NodeModule
from ..module_utils.nspawn import host
from ..module_utils.nspawn.addresses import DEFAULT_UNREACHABLE, unreachable_networks
from ..module_utils.nspawn.arguments import (
    CACHE_ARGUMENTS,
    DIRECTORY_ARGUMENTS,
    NETWORK_ARGUMENTS,
    cache_of,
    layout_of,
    network_from,
)
from ..module_utils.nspawn.errors import NspawnError
from ..module_utils.nspawn.image import cache, debian, kubernetes_release
from ..module_utils.nspawn.machine import lifecycle


def execute(params: t.Mapping[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Create, start or remove the machine; return the module's result."""
    host.require_root()
    layout, name = layout_of(params), params["name"]
    known = lifecycle.look(layout, name)
    if params["state"] == "absent":
        owner = (params["namespace"], params["cluster"]) if params["cluster"] else None
        return {"changed": known is not None if check_mode else lifecycle.remove(layout, name, owner)}
    if check_mode:
        fine = known is not None and known["state"] in (
            ("running", "dead") if params["state"] == "present" else ("running",)
        )
        return {"changed": not fine, "machine": known or {}}
    warnings: list[str] = []
    network = network_from(params)
    unreachable = unreachable_networks(network, params["unreachable"])
    record = cache.for_machine(cache_of(params), params, warnings)
    wanted = lifecycle.Wanted(
        name, params["namespace"], params["cluster"], record, params["authorized_key"], params["address"], unreachable
    )
    restart = params["state"] == "started"
    made, changed = lifecycle.ensure(layout, network, wanted, restart, params["timeout"] if params["wait"] else 0)
    needs = dict(record.get("kubeadm") or {})
    if record.get("missingImages"):
        needs["reason"] = f"the image {record['name']} lacks {', '.join(record['missingImages'])}"
    return {"changed": changed, "machine": made, "kubeadm": needs, "warnings": warnings}


def main() -> None:
    """Run the module."""
    arguments = {
        "state": {"type": "str", "choices": ["present", "started", "absent"], "default": "present"},
        "name": {"type": "str", "required": True},
        "cluster": {"type": "str"},
        "namespace": {"type": "str", "default": "default"},
        "image": {"type": "str"},
        "kubernetes_version": {"type": "str"},
        "source": {"type": "str", "choices": ["auto", "release", "debian-source", "directory"], "default": "auto"},
        "build": {"type": "bool", "default": True},
        "binaries": {"type": "path"},
        "mirror": {"type": "str"},
        "debian_release": {"type": "str", "choices": list(debian.RELEASES)},
        "release_url": {"type": "str", "default": kubernetes_release.RELEASE_URL},
        "install_packages": {"type": "bool", "default": True},
        "address": {"type": "str"},
        "unreachable": {"type": "list", "elements": "str", "default": list(DEFAULT_UNREACHABLE)},
        "authorized_key": {"type": "str", "default": "", "no_log": False},
        "wait": {"type": "bool", "default": True},
        "timeout": {"type": "int", "default": settings.MACHINE_SECONDS},
    }
    module = NodeModule(
        argument_spec={**DIRECTORY_ARGUMENTS, **CACHE_ARGUMENTS, **NETWORK_ARGUMENTS, **arguments},
        required_if=[
            ("state", "present", ["cluster"]),
            ("state", "started", ["cluster"]),
            ("state", "present", ["image", "kubernetes_version"], True),
            ("state", "started", ["image", "kubernetes_version"], True),
            ("source", "directory", ["binaries"]),
        ],
    )
    os.umask(0o022)
    with module.failing(NspawnError, OSError):
        result = execute(module.params, module.check_mode)
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
