#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_sets
short_description: Apply a cluster's ClusterResourceSets
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Applies what the stored ClusterResourceSets that select a Cluster name and what is not applied yet, through one of the cluster's
    machines. What was tried is recorded in the Cluster's ClusterResourceSetBinding.
  - What the API server refuses is no failure of this task. It is shown, recorded, and returned in RV(refused).
  - The step C(applyResourceSets) of M(kubeadm.control_plane.decide) is this module.
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
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
  - module: kubeadm.control_plane.workload_apply
"""

EXAMPLES = r"""
- name: Apply what the cluster's sets name
  kubeadm.control_plane.resource_sets:
    cluster: prod
    store:
      path: "{{ inventory_dir }}/store"
"""

RETURN = r"""
applied:
  description: The resources that were applied, each as set, kind and name.
  returned: success
  type: list
  elements: str
  sample: ["ClusterResourceSet cni, ConfigMap flannel"]
refused:
  description: The resources of which the API server refused something, each with what it said.
  returned: success
  type: list
  elements: str
"""
