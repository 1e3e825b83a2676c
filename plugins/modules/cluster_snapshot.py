#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_snapshot
short_description: Take a verified etcd snapshot on a machine of a cluster
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs M(kubeadm.control_plane.etcd_snapshot) on a machine of the cluster's control plane and leaves the snapshot there. The machines are asked one after
    the other, the newest first, until one has taken it. One of another etcd cluster than the recorded one, or whose member knows no leader, takes none.
  - A snapshot is not taken, which is no failure, where the KubeadmControlPlane has the annotation C(kubeadm.control-plane/skip-etcd-snapshot) with
    another value than V(false); that is said and recorded in the journal. Nor is one taken of an external etcd.
options:
  name:
    description: What the snapshot is for. Its file's name begins with the cluster's and this.
    type: str
    required: true
  keep:
    description: How many snapshots of this O(name) are kept; older ones are deleted once the new one is verified.
    type: int
    default: 5
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._cluster.run
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: partial
    details:
      - Check mode says whether a snapshot would be taken, and asks no machine.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Every call takes another snapshot.
seealso:
  - module: kubeadm.control_plane.etcd_snapshot
"""

EXAMPLES = r"""
- name: Keep a snapshot before something is tried
  kubeadm.control_plane.cluster_snapshot:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: before-the-trial
"""

RETURN = r"""
msg:
  description: What was kept where, or why nothing was; in check mode, whether anything would be.
  returned: success
  type: str
taken:
  description: Whether a snapshot was taken; V(false) in check mode.
  returned: success
  type: bool
machine:
  description: The machine that keeps it.
  returned: when taken
  type: str
path:
  description: The file there.
  returned: when taken
  type: str
"""
