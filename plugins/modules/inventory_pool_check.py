#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_pool_check
short_description: Check what each host of a cluster's pool lacks to become a machine
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Asks every host of the inventory group that the cluster's InventoryMachineTemplate names, and prints a table of the hosts, what each lacks, and what
    to do. Nothing is changed, neither on a host nor in the store.
  - A host that is a machine of the cluster is asked what it would lack once it is given back.
  - Fails where a machine that the manifest wants now can't be made, as M(kubeadm.control_plane.plan) does - too few hosts fit, a failure domain has none,
    the group doesn't exist, there is no endpoint, a provider's role is missing, the external etcd can't be used.
options:
  manifests:
    description: The files in which the cluster's documents are. They are taken as if they were in the store already.
    type: list
    elements: path
    default: []
  must_fit:
    description:
      - Whether it fails where a machine that is to be made now lacks a host.
      - With V(false) it fails where the hosts are not known.
    type: bool
    default: true
  show:
    description: Whether the table is printed.
    type: bool
    default: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._cluster.providers
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
seealso:
  - module: kubeadm.control_plane.host_claim
  - module: kubeadm.control_plane.inventory_pool_info
  - module: kubeadm.control_plane.plan
"""

EXAMPLES = r"""
- name: Which hosts can become machines of this cluster?
  kubeadm.control_plane.inventory_pool_check:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml
  register: pool
"""

RETURN = r"""
hosts:
  description: The hosts that were asked, and those of the group that can't be used.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The host's name in the inventory.
      type: str
    failure_domain:
      description: Its failure domain; empty where the template names no variable for it.
      type: str
    machine:
      description: The machine of this cluster that it is now; empty for none.
      type: str
    missing:
      description: What keeps it from being used, each with C(check), C(message) and C(fix), as M(kubeadm.control_plane.host_claim) returns them.
      type: list
      elements: dict
fit:
  description: The names of the free hosts that lack nothing.
  returned: always
  type: list
  elements: str
wanted:
  description:
    - What the manifest asks of a host's programs - C(kubernetes_version), C(cgroup_driver) and C(images), as M(kubeadm.control_plane.host_images) takes it.
      Empty where it says nothing.
    - C(bind_port) is the API server's port, C(endpoint_port) the endpoint's, V(0) where the manifest names no endpoint.
  returned: always
  type: dict
  sample: {"kubernetes_version": "v1.33.2", "cgroup_driver": "", "images": {"repository": ""}, "bind_port": 6443, "endpoint_port": 6443}
msg:
  description: Whether what is to be made now can be made, and the remedy where it can't.
  returned: always
  type: str
"""
