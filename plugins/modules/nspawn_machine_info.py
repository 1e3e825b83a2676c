#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nspawn_machine_info
short_description: List local machines
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Lists the machines of a cluster or of this host and says which ones run. It asks the kernel, never SSH.
options:
  cluster:
    description: Only machines of the cluster of this name.
    type: str
  namespace:
    description: Only machines of clusters in this namespace.
    type: str
  machine_ids:
    description:
      - The machine-ids of machines, by name, that are expected here. One that runs on this host and was made in another folder than O(directory) is an error,
        since O(directory) is not that of its machines then.
    version_added: 0.10.0
    type: dict
    default: {}
extends_documentation_fragment:
  - kubeadm.control_plane._nspawn
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
"""

EXAMPLES = r"""
- name: What runs here?
  kubeadm.control_plane.nspawn_machine_info:
    cluster: demo
  register: local
"""

RETURN = r"""
machines:
  description: The machines, sorted by name.
  returned: success
  type: list
  elements: dict
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
    interface:
      description: The host's end of the machine's network interface, or null.
      type: str
"""

from ..module_utils.node.module import NodeModule
from ..module_utils.nspawn import host
from ..module_utils.nspawn.arguments import DIRECTORY_ARGUMENTS, layout_of
from ..module_utils.nspawn.errors import NspawnError
from ..module_utils.nspawn.machine import lifecycle


def main() -> None:
    """Run the module."""
    arguments = {
        "cluster": {"type": "str"},
        "namespace": {"type": "str"},
        "machine_ids": {"type": "dict", "default": {}},
    }
    module = NodeModule(argument_spec={**DIRECTORY_ARGUMENTS, **arguments})
    with module.failing(NspawnError, OSError):
        host.require_root()
        layout = layout_of(module.params)
        host.require_here(layout, module.params["machine_ids"])
        found = lifecycle.list_machines(layout, module.params["namespace"], module.params["cluster"])
    module.exit_json(changed=False, machines=found)


if __name__ == "__main__":
    main()
