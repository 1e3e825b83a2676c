#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: api_endpoints
short_description: Correct the API server addresses that kubeadm gives to joining machines
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - kubeadm join takes the API's address from the ConfigMap C(kube-public/cluster-info), and before Kubernetes 1.22 the addresses of etcd's members
    from the ClusterStatus in the ConfigMap C(kube-system/kubeadm-config). What names a machine there that is gone makes the next join fail.
  - Takes the entries of Nodes that are gone out of ClusterStatus, and brings the server in cluster-info to the control plane's endpoint. The certificate
    authority in cluster-info stays, and its signatures are renewed by the controller manager.
  - A cluster without ClusterStatus, or without cluster-info, is left as it is. Nothing is written where nothing changes.
  - Run it on a control plane node that stays, or give O(cluster) and O(store).
options:
  removed_nodes:
    description: Names of control plane Nodes that are gone or are going.
    type: list
    elements: str
    default: []
  endpoint:
    description: The control plane's endpoint. With O(cluster), the Cluster's where it is left out; without either, cluster-info is left alone.
    type: dict
    suboptions:
      host:
        description: Name or address.
        type: str
        required: true
      port:
        description: Port; 6443 where it is left out.
        type: int
extends_documentation_fragment:
  - kubeadm.control_plane._workload
  - kubeadm.control_plane._store
  - kubeadm.control_plane._workload.kubeconfig
seealso:
  - module: kubeadm.control_plane.kubeadm_config_map
"""

EXAMPLES = r"""
- name: Forget a control plane node that was taken down
  kubeadm.control_plane.api_endpoints:
    removed_nodes:
      - prod-control-plane-2
    endpoint:
      host: api.prod.example.org
      port: 6443
  become: true

- name: The same for a stored cluster, whose endpoint is known
  kubeadm.control_plane.api_endpoints:
    cluster: prod
    store:
      path: /srv/clusters/store
    removed_nodes:
      - prod-control-plane-2
"""

RETURN = r"""
msg:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
cluster_info_server:
  description: The server that cluster-info names now; null where there is no cluster-info of kubeadm's, or it was not to be read.
  returned: success
  type: str
  sample: https://api.prod.example.org:6443
"""
