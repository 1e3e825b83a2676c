#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: worker_machines
short_description: Make the objects of workers
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Makes what is missing of each worker that a step of M(kubeadm.control_plane.decide) names, from the templates that its MachineSet names, the MachineSet
    itself, an infrastructure machine, a KubeadmConfig and the Machine. Nothing is done on a machine.
  - It can be run again; what a run that was killed has begun is completed.
options:
  workers:
    description:
      - The workers, as the decision's target has them, each with C(deployment), C(machineSet), C(machine), C(name) and C(failureDomain). C(machine) is null for
        a new one.
    type: list
    elements: dict
    required: true
  providers:
    description: Roles that provide infrastructure, by the kinds of their templates and clusters.
    type: dict
    required: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.step
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  idempotent:
    support: partial
    details:
      - A worker without a name is a new one each time.
seealso:
  - module: kubeadm.control_plane.decide
"""

EXAMPLES = r"""
- name: Make the objects of one more worker
  kubeadm.control_plane.worker_machines:
    cluster: prod
    store:
      path: /srv/clusters/store
    workers: "{{ decided.decision.target.workers }}"
    providers:
      InventoryMachineTemplate: kubeadm.control_plane.machine_inventory
"""

RETURN = r"""
machines:
  description:
    - The workers in the order of O(workers), without RV(failed_workers).
    - Each has C(name), the provider's C(role), C(provisioned) and what the role needs, C(infrastructure_machine).
  returned: success
  type: list
  elements: dict
failed_workers:
  description: The workers that can't be made or resumed now, each with C(name) and C(message).
  returned: success
  type: list
  elements: dict
until:
  description: Until when (seconds since 1970) the provider is to begin with another one of RV(machines). The others are a later step's.
  returned: success
  type: float
"""
