#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_pool_info
short_description: Show the pool of hosts behind a cluster's machine template
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads the group, the selector and the failure domains of the cluster's InventoryMachineTemplate from this run's inventory, and which of the
    hosts the store has claimed. No host is asked.
  - Where the task's host has the variable C(machine_inventory_groups), a group that isn't in that list is refused.
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
"""

EXAMPLES = r"""
- name: Show the pool
  kubeadm.control_plane.inventory_pool_info:
    cluster: prod
    store:
      path: /srv/clusters/store
  register: pool
"""

RETURN = r"""
hosts:
  description: The hosts that the selector takes, by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The host's name.
      type: str
    failure_domain:
      description: Its failure domain; empty where the template names no variable for it.
      type: str
    claimed_by:
      description: The cluster and the machine that this store has claimed it for; empty for a host that it has not.
      type: str
failure_domains:
  description: The cluster's failure domains, each with C(name) and C(controlPlane) - those of the InventoryCluster, else those of the hosts.
  returned: success
  type: list
  elements: dict
endpoint:
  description: The control plane endpoint, C(host) and C(port), as stored; empty where there is none.
  returned: success
  type: dict
"""
