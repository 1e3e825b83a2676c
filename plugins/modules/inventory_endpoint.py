#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_endpoint
short_description: Keep a cluster's endpoint on the hosts of its machines
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Calls M(kubeadm.control_plane.host_endpoint) on the host of each machine that belongs behind the cluster's endpoint, and then takes the hosts of its
    other machines out. A host that doesn't answer is left as it is, with a warning.
  - Before a machine has a host, the free hosts of the pool are asked whether they can have the address, and whether another host has it.
    Nothing is changed then.
options:
  servers:
    description: The machines behind the endpoint.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The machine's name.
        type: str
        required: true
      address:
        description: Its IP address.
        type: str
        required: true
  router_id:
    description: The virtual router's ID. V(0) is the last byte of the address.
    type: int
    default: 0
  kube_vip_image:
    description: kube-vip's image with its tag, to have kube-vip hold the address instead of keepalived and haproxy.
    type: str
    default: ""
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.host_endpoint
"""

EXAMPLES = r"""
- name: Bring the endpoint's hosts to what is wanted
  kubeadm.control_plane.inventory_endpoint:
    cluster: prod
    store:
      path: /srv/clusters/store
    servers:
      - name: prod-control-plane-x7k2p
        address: 192.0.2.11
"""

RETURN = r"""
unused:
  description: Whether no machine has a host yet, and the address is free.
  returned: success
  type: bool
"""
