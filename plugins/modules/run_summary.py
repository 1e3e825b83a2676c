#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_summary
short_description: Record a cluster's outcome, and show a summary after the last
version_added: 0.7.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Notes what came of one cluster of a play. When all clusters of the play have been noted, it shows how many failed, changed, wait or had nothing to do,
    with a line for each of which there is something to say.
  - The role C(kubeadm.control_plane.control_plane) calls it for every cluster where a play has several, whatever came of the others.
  - What is noted is kept in the run's own temporary folder and is gone with it. Nothing of a cluster is changed.
options:
  playbook:
    description: What was run.
    type: str
    default: reconcile
  hosts:
    description: The hosts of all clusters of the play, for example C(ansible_play_hosts_all).
    type: list
    elements: str
    required: true
  error:
    description: Why the cluster failed; its first line is shown. Empty where it did not.
    type: str
    default: ""
  held_by:
    description: Which other run the cluster was left to, as M(kubeadm.control_plane.cluster_lock) returns it.
    type: str
    default: ""
  run:
    description: The run's name in the journal, as M(kubeadm.control_plane.cluster_lock) returns it; the steps that it took are told by that.
    type: str
    default: ""
  decision:
    description: What M(kubeadm.control_plane.decide) returned last.
    type: dict
    default: {}
  ends:
    description: Whether no other cluster is begun after one that failed, so that the summary is shown then, when those of O(batch) are done.
    type: bool
    default: false
  batch:
    description: With O(ends), the hosts that are worked on beside this one.
    type: list
    elements: str
    default: []
    version_added: 0.9.0
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
    details:
      - In check mode it tells which clusters would change.
  diff_mode:
    support: N/A
  idempotent:
    support: N/A
    details:
      - It changes nothing.
seealso:
  - module: kubeadm.control_plane.failure_report
"""

EXAMPLES = r"""
- name: Sum the run up after its last cluster
  kubeadm.control_plane.run_summary:
    cluster: prod
    store:
      path: /srv/clusters/store
    hosts: "{{ ansible_play_hosts_all }}"
    run: "{{ lease.run }}"
    decision: "{{ decision }}"
"""

RETURN = r"""
result:
  description: What came of this cluster.
  returned: always
  type: str
  sample: changed
summary:
  description: How many clusters had which result.
  returned: with the last cluster of the play
  type: dict
  sample:
    failed: 1
    nothing: 98
    changed: 1
"""
