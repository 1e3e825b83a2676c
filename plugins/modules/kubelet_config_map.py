#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_map
short_description: Create the kubelets' ConfigMap for a Kubernetes version
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - A machine that joins reads its kubelet's configuration from a ConfigMap whose name depends on kubeadm's version -
    C(kubelet-config-X.Y) before Kubernetes 1.24 and C(kubelet-config) from then on. Only C(kubeadm upgrade apply) makes the new one, which a
    rollout that replaces machines never runs. So this module copies the old one, as it is, before the first new machine joins.
  - It also makes the Role and the RoleBinding with which joining machines and Nodes may read it, and adds to them what is missing.
  - A ConfigMap that exists is left alone, whatever it says.
  - Run it on a control plane node, or give O(cluster) and O(store).
options:
  kubernetes_version:
    description:
      - The Kubernetes version of the machines that are to join. With O(cluster), the KubeadmControlPlane's where it is left out.
      - In 1.23 and 1.24, kubeadm-config's feature gate C(UnversionedKubeletConfigMap) decides the name.
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
seealso:
  - module: kubeadm.control_plane.kubeadm_config_map
"""

EXAMPLES = r"""
- name: Prepare a rollout to Kubernetes 1.21
  kubeadm.control_plane.kubelet_config_map:
    kubernetes_version: v1.21.14
  become: true
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
config_map:
  description: The ConfigMap's name.
  returned: success
  type: str
  sample: kubelet-config-1.21
"""
