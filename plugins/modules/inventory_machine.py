#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_machine
short_description: Claim a host of the inventory for a machine, or release it
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - The controller's half of the provider C(machine_inventory). With O(state=present), takes the first host by name of the group that
    the InventoryMachine's C(spec.group) names, that its selector takes, that is in O(failure_domain), and that is fit; notes it in the
    store (C(status.claim)), and then claims it on the host itself (see M(kubeadm.control_plane.host_claim)).
  - A run that was killed is resumed with the host that it had chosen. Where no host fits, every host of the group is named with what keeps it
    from being used.
  - With O(state=absent), undoes what kubeadm made on the host and releases it. A host that carries something else than what was claimed, by
    its machine-id, its claim or the cluster's CA, is left as it is unless O(consent_wipe) names it.
  - Hosts are reached by their names in the inventory, so that their own variables (bastion, become) hold.
  - Where the task's host has the variable C(machine_inventory_groups), a group that isn't in that list is refused.
options:
  state:
    description: Whether the machine has a host.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Name of the InventoryMachine.
    type: str
    required: true
  kubernetes_version:
    description: The version that kubeadm and kubelet on the host must have. Required with O(state=present).
    type: str
  failure_domain:
    description: The failure domain that the host must be in; empty for any.
    type: str
    default: ""
  timeout:
    description: For how many seconds at most a host is tried that was claimed and doesn't answer.
    type: int
    default: 60
  consent_wipe:
    description:
      - Hosts that may be wiped whatever they carry. What they carry is lost.
      - It is for the claim, or none, that the host has when it is first asked. Where another cluster has claimed the host by a later call, it is left alone.
    type: list
    elements: str
    default: []
  consent_forget:
    description: Hosts that are given up unwiped, because they are lost. Their claim stays on their disk, so that no other cluster takes them.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: partial
    details:
      - No host is asked; the result is always changed.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.host_claim
  - module: kubeadm.control_plane.inventory_machine_info
"""

EXAMPLES = r"""
- name: Claim a host for a machine
  kubeadm.control_plane.inventory_machine:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-control-plane-x7k2p
    kubernetes_version: v1.20.2
  register: machine
"""

RETURN = r"""
machine:
  description: The machine - C(inventory_host), C(provider_id), C(address), C(hostname), C(machine_id) and C(instance_data).
  returned: O(state=present) and success
  type: dict
msg:
  description: What was done, or what is wrong and the remedy.
  returned: O(state=absent), or failure
  type: str
"""
