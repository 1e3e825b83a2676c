#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: apiserver_kubelet_client
short_description: Make the ClusterRoleBindings that a rollout needs before its first machine
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Makes the ClusterRoleBinding C(kubeadm:apiserver-kubelet-client) where it is missing. It binds the user C(kube-apiserver-kubelet-client) to the
    ClusterRole C(system:kubelet-api-admin). An API server's client certificate for kubelets is no longer one of C(system:masters) from kubeadm 1.37
    on, and without the binding logs, exec and port-forward stop working on such a machine.
  - Makes the ClusterRoleBinding C(kubeadm:cluster-admins) where it is missing, for O(kubernetes_version) 1.29 and newer. It binds the group of that
    name to the ClusterRole C(cluster-admin). C(admin.conf) is of that group from kubeadm 1.29 on, instead of C(system:masters), and C(kubeadm join) of a
    control plane machine fails without the binding. Only C(kubeadm init) and C(kubeadm upgrade apply) make it.
  - An existing one is left alone.
  - The kubeconfig must be allowed to grant these roles. C(admin.conf) of a machine that kubeadm made before 1.29 is.
  - Run it on a control plane node, or give O(cluster) and O(store).
options:
  kubernetes_version:
    description:
      - The Kubernetes version that is wanted. For 1.38 and newer C(kubeadm:apiserver-kubelet-client) is not made, for every kubeadm that may still be
        about does it itself. Before 1.29 C(kubeadm:cluster-admins) is not made, for it would give a group all rights that no kubeadm uses there.
      - With O(cluster), the KubeadmControlPlane's where it is left out. Without either, only C(kubeadm:apiserver-kubelet-client) is made.
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
"""

EXAMPLES = r"""
- name: Prepare a rollout to Kubernetes 1.29
  kubeadm.control_plane.apiserver_kubelet_client:
    kubernetes_version: v1.29.15
  become: true
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done about each of the ClusterRoleBindings that are wanted, or why nothing had to be.
  returned: success
  type: str
"""
