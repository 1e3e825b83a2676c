#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: infrastructure_info
short_description: Return facts about a cluster for an infrastructure provider's role
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Returns the provider's roles, the infrastructure cluster, the machines and the machines behind the endpoint.
  - Makes the SSH key of the cluster's machines where it has none yet, and returns its public half.
options:
  providers:
    description: The infrastructure providers' roles by the kind of template or cluster that they serve.
    type: dict
    required: true
  out_of_endpoint:
    description: Names of machines that are to leave the endpoint for a while, such as one whose API server is about to stop.
    type: list
    elements: str
    default: []
    version_added: 0.6.0
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
"""

EXAMPLES = r"""
- name: Ask
  kubeadm.control_plane.infrastructure_info:
    cluster: prod
    store:
      path: /srv/clusters/store
    providers:
      NspawnCluster: kubeadm.control_plane.machine_nspawn
      NspawnMachineTemplate: kubeadm.control_plane.machine_nspawn
  register: infrastructure
"""

RETURN = r"""
cluster_role:
  description: The role that serves the infrastructure cluster.
  returned: success
  type: str
machine_role:
  description: The role that serves the machines that are made now. What there is may be another role's (RV(machine_roles)).
  returned: success
  type: str
machine_roles:
  description: The role that serves each of RV(machines) and RV(stale), by the machine's name.
  returned: success
  type: dict
  version_added: 0.10.0
machine_names:
  description:
    - The name of the Machine of each of RV(machines), by the infrastructure machine's name. Cluster API may have given it another one.
    - Of one that was prepared ahead it is its own.
  returned: success
  type: dict
  version_added: 0.10.0
infrastructure_cluster:
  description: The contract variable of the same name.
  returned: success
  type: dict
machines:
  description: The machines, those prepared ahead included, each as the contract variable infrastructure_machine.
  returned: success
  type: list
  elements: dict
stale:
  description: The machines prepared ahead that no new machine will use any more.
  returned: success
  type: list
  elements: dict
endpoint_servers:
  description: Names and addresses of the machines that belong behind the endpoint.
  returned: success
  type: list
  elements: dict
ssh_public_key:
  description: The public half of the cluster's SSH key.
  returned: success
  type: str
"""
