#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_certificates
short_description: Generate a cluster's certificate authorities, service account keys and kubeconfig
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Generates the Secrets C(CLUSTER-ca), C(CLUSTER-etcd), C(CLUSTER-proxy) and C(CLUSTER-sa) where they are missing, before the control plane is initialized;
    after that they are never made again.
  - Makes C(CLUSTER-kubeconfig) once the endpoint is known, and renews its client certificate when less than six months are left.
  - A user's own Secrets are used untouched, also a certificate authority without its key.
requirements:
  - cryptography (on the controller)
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
    details:
      - Secrets are never part of a diff.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Make what is missing
  kubeadm.control_plane.cluster_certificates:
    cluster: prod
    store:
      path: /srv/clusters/store
"""

RETURN = r"""
certificates:
  description: Public facts of each Secret.
  returned: success, not in check mode
  type: dict
  sample:
    ca:
      present: true
      hasKey: true
      notAfter: "2036-11-18T05:00:00Z"
kubeconfig:
  description: What was done with the kubeconfig, in words.
  returned: success, not in check mode
  type: str
"""
