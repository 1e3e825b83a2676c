#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_info
short_description: Return the selected clusters, and which of them have nothing to do
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Fails where the play has no cluster, no host of the group C(control_planes).
  - Fails where the run has the limit that a rulebook gives it for one cluster, and that selects another one.
  - It returns the clusters in which a playbook would find nothing to do, in as many processes as Ansible has C(forks). No lock is
    taken, each cluster is asked at one machine, and nothing is written but when its API answered last, and its metrics where they are wanted.
  - A cluster that is selected alone is observed so only where O(playbook=reconcile).
  - Whatever can't be decided so is not among them. A cluster that another run works on, that a killed run left, that has a mark, whose store keeps a copy of
    its objects (its option C(export)), or for which a file is to be written or followed, is observed by the playbook itself.
  - The playbooks of this collection begin with it; a role needs none of it.
options:
  playbook:
    description: The playbook that the clusters are observed for. Without it none is observed.
    type: str
    default: ""
    choices: ["", reconcile, plan, health_check, metrics]
extends_documentation_fragment:
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
  diff_mode:
    support: N/A
  idempotent:
    support: full
notes:
  - It reads the variables of the clusters' hosts, such as C(control_plane_store), and those that the role C(control_plane) has by default.
"""

EXAMPLES = r"""
# In a play for control_planes
- name: Which clusters are as their manifests say?
  kubeadm.control_plane.fleet_info:
    playbook: reconcile
  register: fleet
  run_once: true
"""

RETURN = r"""
clusters:
  description: How many clusters are selected.
  returned: success
  type: int
settled:
  description: The hosts of the clusters with nothing to do.
  returned: success
  type: list
  elements: str
ansible_stats:
  description:
    - With O(playbook=plan) an empty C(control_plane_plan), to which each cluster that is planned adds its digest; see M(kubeadm.control_plane.plan).
    - With O(playbook=reconcile) and O(playbook=health_check) the outcomes of the clusters with nothing to do; see M(kubeadm.control_plane.run).
  returned: with O(playbook=plan), and where RV(settled) has clusters with the two others
  type: dict
  version_added: 0.10.0
ansible_facts:
  description: For the play that follows.
  returned: success
  type: dict
  contains:
    fleet_hosts:
      description: The hosts of the other clusters, or a pattern that they fit.
      type: raw
    fleet_settled:
      description: How many clusters have nothing to do.
      type: int
    fleet_strategy:
      description: The strategy that the others are played with.
      type: str
"""
