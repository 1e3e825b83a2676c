#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: recover_single_voter
short_description: Recover a cluster's etcd on one machine, its second voter lost
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs M(kubeadm.control_plane.etcd_recover_single_voter) on the machine that is left, waits for its end, and gives the lost machine up in the store, so that
    the next decisions remove and replace it. A machine whose bootstrap had not succeeded counts as failed; one that had joined is marked with the annotation
    C(cluster.x-k8s.io/remediate-machine).
  - It must only be called with a decision of M(kubeadm.control_plane.decide) in hand, which has asked for a person's consent.
options:
  machine:
    description: The machine that is left.
    type: str
    required: true
  member_id:
    description: The ID of the etcd member that is lost.
    type: str
    required: true
  lost:
    description: The name of the machine that is lost.
    type: str
    default: ""
  timeout:
    description: For how many seconds at most it is waited for.
    type: int
    default: 900
  fencing:
    description: The number of this run's lock, as M(kubeadm.control_plane.run) returns it.
    type: int
    required: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.step
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
seealso:
  - module: kubeadm.control_plane.etcd_recover_single_voter
  - module: kubeadm.control_plane.decide
"""

EXAMPLES = r"""
- name: Continue without the machine that was lost while it joined
  kubeadm.control_plane.recover_single_voter:
    cluster: prod
    store:
      path: /srv/clusters/store
    machine: prod-control-plane-x7k2p
    member_id: 8e9e05c52164694d
    lost: prod-control-plane-9h4zt
    fencing: "{{ lease.fencing }}"
"""

RETURN = r"""
msg:
  description: What was done, and where snapshot and copy are.
  returned: success, not in check mode
  type: str
snapshot:
  description: The snapshot that the machine keeps, as M(kubeadm.control_plane.etcd_recover_single_voter) returns it.
  returned: success, not in check mode
  type: dict
"""
