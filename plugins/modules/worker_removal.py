#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: worker_removal
short_description: Remove workers, or what is left of them
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Marks workers for deletion and drains their Nodes, several beside each other, in the order of Cluster API's Machine controller, as
    M(kubeadm.control_plane.machine_removal) does it with one machine of a control plane. Where the whole cluster is being deleted nothing is drained.
  - It ends as soon as one of them is ready to be deleted, and after half a minute at the latest. A later call continues the others' drains.
  - One whose drain fails, or takes longer than O(timeout), holds none of the others; see RV(failed_workers).
  - With O(infrastructure_deleted=true), deletes the Nodes and then the objects of machines whose infrastructure is gone.
options:
  workers:
    description: The names of the Machines.
    type: list
    elements: str
    default: []
  deployments:
    description: The names of MachineDeployments that are being deleted and have no machine any more. With O(infrastructure_deleted=true) they are deleted.
    type: list
    elements: str
    default: []
  providers:
    description: Roles that provide infrastructure, by the kinds of their templates and clusters.
    type: dict
    default: {}
  infrastructure_deleted:
    description: That the infrastructure of the machines is gone, and their Nodes and objects are to be deleted.
    type: bool
    default: false
  timeout:
    description: Seconds for which a part that the Machine sets no bound for is waited for, from this run's first look at it.
    type: int
    default: 600
  looked:
    description: RV(looked) of the call before in the same run, so that its looks count.
    type: dict
    default: {}
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.step
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
seealso:
  - module: kubeadm.control_plane.decide
"""

EXAMPLES = r"""
- name: Drain a worker
  kubeadm.control_plane.worker_removal:
    cluster: prod
    store:
      path: /srv/clusters/store
    workers: [prod-workers-x7k2p]
    providers:
      InventoryMachineTemplate: kubeadm.control_plane.machine_inventory
"""

RETURN = r"""
machines:
  description:
    - The workers that may be deleted now, each with C(name), the provider's C(role), C(provisioned) and what the role needs, C(infrastructure_machine).
  returned: success
  type: list
  elements: dict
failed_workers:
  description: The workers that can't be removed now, each with C(name) and C(message).
  returned: success
  type: list
  elements: dict
looked:
  description: C(run) with its name, and C(since) when (seconds since 1970) it first asked about each worker.
  returned: success, with workers and without O(infrastructure_deleted=true)
  type: dict
until:
  description: Until when (seconds since 1970) the provider is to begin with another one of RV(machines). The others are a later step's.
  returned: success
  type: float
msg:
  description: What was done.
  returned: success
  type: str
"""
