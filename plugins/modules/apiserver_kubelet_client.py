#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: apiserver_kubelet_client
short_description: Bind the API servers' kubelet client certificate to its role
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Makes the ClusterRoleBinding C(kubeadm:apiserver-kubelet-client) where it is missing. It binds the user C(kube-apiserver-kubelet-client) to the
    ClusterRole C(system:kubelet-api-admin). An API server's client certificate for kubelets is no longer one of C(system:masters) from kubeadm 1.37
    on, and without the binding logs, exec and port-forward stop working on such a machine.
  - An existing one is left alone.
  - Run it on a control plane node, or give O(cluster) and O(store).
options:
  kubernetes_version:
    description:
      - The Kubernetes version that is wanted. For 1.38 and newer nothing is made, for every kubeadm that may still be about does it itself.
      - With O(cluster), the KubeadmControlPlane's where it is left out.
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
"""

EXAMPLES = r"""
- name: Prepare a rollout
  kubeadm.control_plane.apiserver_kubelet_client:
  become: true
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
"""
