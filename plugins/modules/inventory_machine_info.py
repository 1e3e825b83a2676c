#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_machine_info
short_description: Check that machines that are inventory hosts are still there
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Asks each machine's host whose it is. A host that carries neither the machine's claim nor anything of the cluster, or another's claim, is
    evidence that the machine is gone.
  - A host that doesn't answer is none, nor is one that left its group or the inventory, or that answers with another machine-id; these are
    named in RV(machines[].message) and as warnings.
options:
  names:
    description: Names of the InventoryMachines.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
"""

EXAMPLES = r"""
- name: Ask
  kubeadm.control_plane.inventory_machine_info:
    cluster: prod
    store:
      path: /srv/clusters/store
    names: [prod-control-plane-x7k2p]
  register: known
"""

RETURN = r"""
machines:
  description: What is known of each machine.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The machine's name.
      type: str
    inventory_host:
      description: The host that it is or was.
      type: str
    state:
      description: V(running) or V(missing); empty where there is no evidence.
      type: str
    message:
      description: What a person should know; empty where there is nothing.
      type: str
"""
