#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_restore
short_description: Restore the etcd of a cluster that lost its quorum
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Searches every machine of the control plane for what there is to restore from - the data of an etcd that survived, snapshots kept on machines, backups
    on the controller - and takes what goes furthest, or what O(snapshot) names. It is verified first - whole, and of this cluster.
  - Without the right O(consent) it ends there, says what would be lost and what to type.
  - With it, every other machine that can be reached is stopped and its etcd data moved aside, etcd is restored on one machine with
    M(kubeadm.control_plane.etcd_restore), and the others are marked, so that C(reconcile) removes and replaces them.
  - Revisions of another etcd's history are not compared with this one's. What is not known to be of this control plane's etcd is taken only where
    O(snapshot) names it.
  - A run that was killed is resumed by the next one with the same consent. Where nothing of it is under way on its machine, it is chosen again, and what
    differs wants another consent. Where etcd works again, it ends. A restore that was done is not done again by the same consent.
options:
  directory:
    description: The folder of backups on the controller, as in M(kubeadm.control_plane.cluster_backup).
    type: path
    default: ""
  snapshot:
    description:
      - What to restore from - C(MACHINE:/path) for a snapshot on a machine, C(MACHINE:data) for its own data, or the path of a file on the controller. Without
        it, what goes furthest is taken.
      - With a file, etcd is restored also where it has its quorum. The consent says so then.
    type: str
    default: ""
  machine:
    description: The machine to restore on. Without it, the one that has what is restored from, or whose data goes furthest.
    type: str
    default: ""
  consent:
    description: What is consented to losing, as a run without consent prints it.
    type: str
    default: ""
  timeout:
    description: For how many seconds at most the restore on the machine is waited for.
    type: int
    default: 1200
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._cluster.run
  - kubeadm.control_plane._store
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
  - module: kubeadm.control_plane.etcd_restore
  - module: kubeadm.control_plane.cluster_backup
"""

EXAMPLES = r"""
- name: What would be lost, and what has to be typed?
  kubeadm.control_plane.cluster_restore:
    cluster: prod
    store:
      path: /srv/clusters/store
    directory: /srv/backups
  check_mode: true

- name: Continue with what is left
  kubeadm.control_plane.cluster_restore:
    cluster: prod
    store:
      path: /srv/clusters/store
    consent: prod:everythingAfterRevision:48790:etcdOf:prod-control-plane-b,prod-control-plane-c
"""

RETURN = r"""
msg:
  description: What was done, or would be, and what is lost.
  returned: always
  type: str
consent:
  description: The consent that this restore wants.
  returned: unless nothing has to be restored
  type: str
lost:
  description: The machines that were given up.
  returned: when etcd was restored
  type: list
  elements: str
"""
