#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operator_task
short_description: Run Tasks of an Action on their nodes
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs the commands of Tasks in their order, and then the other Tasks of the same TaskGroup. The status is saved before and after each command, with what it
    said, its exit status, start and end. Before each further Task everything is observed again, so that a pause holds.
  - Ends before a Task for which a machine leaves the control plane's endpoint.
  - A Task continues where a killed run left it. What that run had started on a node is found there and awaited, never started twice.
  - A command that fails is no failure of this module. It is kept in its Task, and M(kubeadm.control_plane.operator_next) returns it.
options:
  name:
    description: The Action's name.
    type: str
    required: true
  tasks:
    description: The names of the Tasks, as M(kubeadm.control_plane.operator_next) gives them. Several are run beside each other.
    type: list
    elements: str
    required: true
  out_of_endpoint:
    description:
      - The machines that are not behind the control plane's endpoint now, as RV(kubeadm.control_plane.operator_next#module:out_of_endpoint) says.
      - Where there are any, no further Task follows O(tasks), so that they can come back first.
    type: list
    elements: str
    default: []
  manifests:
    description: The files in which the cluster's documents are; a version that was changed in place is brought into them.
    type: list
    elements: path
    default: []
  fencing:
    description: The number of the run's lock on the cluster.
    type: int
    required: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._cluster.run
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: none
    details:
      - In check mode it is skipped. M(kubeadm.control_plane.operator_action) shows what would be run.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Each call runs what is next.
seealso:
  - module: kubeadm.control_plane.operator_next
"""

EXAMPLES = r"""
- name: Run what is next
  kubeadm.control_plane.operator_task:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-upgrade-1
    tasks: "{{ step.tasks }}"
    out_of_endpoint: "{{ step.out_of_endpoint }}"
    fencing: "{{ lease.fencing }}"
  when: step.act
"""

RETURN = r"""
phases:
  description: The phase of each Task that was run, by its name.
  returned: success
  type: dict
msg:
  description: The same in words.
  returned: always
  type: str
"""
