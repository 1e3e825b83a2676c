#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kube_proxy
short_description: Update kube-proxy's image to the control plane's version
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Sets the image of the container C(kube-proxy) of the DaemonSet C(kube-system/kube-proxy) to the tag of O(kubernetes_version). Nothing else of the
    DaemonSet changes.
  - Nothing is done where there is no such DaemonSet or container. An image that is named by its digest is refused.
  - kube-proxy must not be newer than an API server. Run it when every control plane machine has the new version.
  - Run it on a control plane node, or give O(cluster) and O(store); the annotation
    C(controlplane.cluster.x-k8s.io/skip-kube-proxy) on the KubeadmControlPlane then leaves kube-proxy alone.
options:
  kubernetes_version:
    description: The control plane's Kubernetes version. With O(cluster), the KubeadmControlPlane's where it is left out.
    type: str
  image_repository:
    description:
      - The registry of the control plane's images.
      - Without it the image's registry stays, but for C(k8s.gcr.io), which is frozen and becomes C(registry.k8s.io) where kubeadm of this version
        does the same.
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
seealso:
  - module: kubeadm.control_plane.coredns
"""

EXAMPLES = r"""
- name: Finish an upgrade
  kubeadm.control_plane.kube_proxy:
    kubernetes_version: v1.31.4
  become: true
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
image:
  description: The image that kube-proxy is to run.
  returned: when there is a kube-proxy
  type: str
  sample: registry.k8s.io/kube-proxy:v1.31.4
"""
