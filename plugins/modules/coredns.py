#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: coredns
short_description: Update CoreDNS to another image and migrate its Corefile
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Changes CoreDNS's image, and its Corefile where the new release removed, ignores or by default has something, by the rules of CoreDNS's own
    migration library, which kubeadm and Cluster API use.
  - The order is such that CoreDNS can restart at any moment. First kubeadm-config's C(dns), then the running Corefile is kept under the key
    C(Corefile-backup) and the Deployment is pointed there, then the new Corefile is written, and at last the Deployment gets the new image together with the
    new Corefile, and a toleration of the control plane's taints where it lacks one. A run that was killed in between is completed by the next one.
  - From CoreDNS 1.8.1 on, the ClusterRole C(system:coredns) is given the right to watch EndpointSlices, without which it would not answer.
  - Refused, before anything is written, are an older release, a release that the rules don't know, an image by digest, a Corefile that can't be read or
    that uses what the new release has no equivalent for.
  - Run it on a control plane node, or give O(cluster) and O(store); the annotation
    C(controlplane.cluster.x-k8s.io/skip-coredns) on the KubeadmControlPlane then leaves CoreDNS alone.
options:
  image_tag:
    description: CoreDNS's image tag (C(dns.imageTag)). Without it the tag stays.
    type: str
  image_repository:
    description:
      - CoreDNS's registry (C(dns.imageRepository)). With O(cluster), C(imageRepository) of the whole configuration comes next. Without any, the registry stays.
      - In the default registries the image is C(coredns/coredns) from 1.8.0 on; in others it keeps its name.
    type: str
  kubernetes_version:
    description:
      - The control plane's Kubernetes version, which decides the taints that CoreDNS is to tolerate, and whether C(registry.k8s.io) takes the place of the
        frozen C(k8s.gcr.io).
      - With O(cluster), the KubeadmControlPlane's where it is left out.
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
seealso:
  - module: kubeadm.control_plane.kube_proxy
  - name: Corefile migration
    description: The library whose rules these are.
    link: https://github.com/coredns/corefile-migration
"""

EXAMPLES = r"""
- name: Finish an upgrade to Kubernetes 1.21
  kubeadm.control_plane.coredns:
    kubernetes_version: v1.21.14
    image_tag: v1.8.0
  become: true
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
image:
  description: The image that CoreDNS is to run.
  returned: when there is a CoreDNS
  type: str
  sample: registry.k8s.io/coredns/coredns:v1.11.3
corefile_changes:
  description: What was changed in the Corefile, in words, each with the CoreDNS release that needs it.
  returned: when the image changes
  type: list
  elements: str
  sample:
    - "1.5.0: plugin proxy becomes forward (CoreDNS removed proxy)"
"""
