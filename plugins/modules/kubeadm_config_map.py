#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_config_map
short_description: Read and edit the ConfigMap kubeadm-config of any kubeadm API version
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - kubeadm reads the ConfigMap C(kube-system/kubeadm-config) at every join and upgrade. This module edits its
    ClusterConfiguration, and before Kubernetes 1.22 its ClusterStatus, in the one form that Cluster API v1beta2 has, and
    writes it in the kubeadm API version that O(kubernetes_version) wants.
  - A field that isn't known is kept. Without a change of the API version, everything that is not to change stays exactly as it was written.
  - Nothing is written where nothing changes. Where another client wrote meanwhile, it is read and worked out again, at most five times.
  - Run it on a control plane node, or give O(cluster) and O(store). The node needs Python and C(kubectl) alone.
options:
  kubernetes_version:
    description:
      - The Kubernetes version. It decides the kubeadm API version that is written; without it that version stays.
      - Feature gates that kubeadm of this version doesn't know are removed, since kubeadm would refuse the configuration. Each is named in a warning.
      - A C(imageRepository) of C(k8s.gcr.io), which is frozen, becomes C(registry.k8s.io) where kubeadm of this version does the same.
    type: str
  image_repository:
    description: The registry of the control plane's images. An empty text takes the field out, so that kubeadm's own registry holds.
    type: str
  feature_gates:
    description: kubeadm's feature gates, V(true) or V(false) each; they replace those that are there.
    type: dict
  api_server:
    description:
      - C(apiServer) with C(extraArgs), C(extraVolumes), C(extraEnvs) and C(certSANs); it replaces what is there as a whole.
      - C(extraArgs) is a list of names and values, or a mapping. C(timeoutForControlPlane) stays in the API versions that have it.
    type: dict
  controller_manager:
    description: C(controllerManager), as O(api_server).
    type: dict
  scheduler:
    description: C(scheduler), as O(api_server).
    type: dict
  etcd:
    description:
      - C(etcd) with C(local) or C(external); it replaces what is there as a whole.
      - A change between local and external is refused.
    type: dict
  dns:
    description: C(dns) with C(imageRepository) and C(imageTag). M(kubeadm.control_plane.coredns) sets it along with what runs.
    type: dict
  certificate_validity_period_days:
    description:
      - How long certificates are good for, in days; kubeadm of Kubernetes 1.31 and newer.
      - V(0) takes the field out, so that kubeadm's own value holds.
    type: int
  encryption_algorithm:
    description:
      - The algorithm of keys, such as V(ECDSA-P256); kubeadm of Kubernetes 1.31 and newer.
      - An empty text takes the field out, so that kubeadm's own value holds.
    type: str
  api_endpoints:
    description:
      - Nodes' entries in ClusterStatus, which kubeadm keeps before Kubernetes 1.22. Entries that are not named stay.
      - One that is to be absent from a cluster without ClusterStatus is; one that is to be present there is refused.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The Node's name.
        type: str
        required: true
      state:
        description: Whether it is to have an entry.
        type: str
        choices: [present, absent]
        default: present
      advertise_address:
        description: The address of the Node's API server. Needed for O(api_endpoints[].state=present).
        type: str
      bind_port:
        description: The port of the Node's API server.
        type: int
        default: 6443
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
notes:
  - With O(cluster) and none of the options above, everything that the KubeadmControlPlane says is brought to kubeadm-config, as
    Cluster API does before a rollout's first new machine. With one of them, only what is given.
  - The structures are in the form of Cluster API v1beta2, which is described in the collection's page on manifests.
seealso:
  - module: kubeadm.control_plane.api_endpoints
  - module: kubeadm.control_plane.kubelet_config_map
  - module: kubeadm.control_plane.coredns
"""

EXAMPLES = r"""
- name: See what kubeadm-config says, in one form for every version
  kubeadm.control_plane.kubeadm_config_map:
  become: true
  register: found

- name: Prepare an upgrade
  kubeadm.control_plane.kubeadm_config_map:
    kubernetes_version: v1.22.17
  become: true
  run_once: true

- name: Give API servers that are made from now on one more flag and name
  kubeadm.control_plane.kubeadm_config_map:
    api_server:
      extraArgs:
        - name: audit-log-path
          value: /var/log/kubernetes/audit.log
      certSANs:
        - api.example.org
  become: true
  run_once: true

- name: Forget a control plane node that is gone (before Kubernetes 1.22)
  kubeadm.control_plane.kubeadm_config_map:
    api_endpoints:
      - name: prod-control-plane-2
        state: absent
  become: true
  run_once: true

- name: Bring it to what a stored cluster's KubeadmControlPlane says, through one of its machines
  kubeadm.control_plane.kubeadm_config_map:
    cluster: prod
    store:
      path: /srv/clusters/store
"""

RETURN = r"""
msg:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
api_version:
  description: The kubeadm API version that the ClusterConfiguration is written in now.
  returned: success
  type: str
  sample: kubeadm.k8s.io/v1beta3
configuration:
  description:
    - The ClusterConfiguration in the form of Cluster API v1beta2, with fields that Cluster API doesn't have.
    - Values of environment variables, and of arguments that look like secrets, are replaced by V([redacted]).
  returned: success
  type: dict
"""
