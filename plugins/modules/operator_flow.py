#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operator_flow
short_description: Approve, pause, resume, retry, skip or abort an Action
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Writes what a person wants of an Action into its object, with optimistic concurrency and without the cluster's lock. A run that is at work sees it before
    its next Task; what runs on a node is never interrupted.
options:
  verb:
    description:
      - V(approve) lets Tasks run that wait for it in the mode Controlled. V(pause) stops before the next Task, and V(resume) continues with it.
      - V(retry) runs the failed command again, V(skip) leaves it out, once each. V(skip) with O(node) leaves a Node out.
      - V(abort) gives the Action up. What is done stays done.
    type: str
    choices: [approve, pause, resume, retry, skip, abort]
    required: true
  name:
    description: The Action's name; without it the one that has begun and not ended.
    type: str
    default: ""
  task:
    description: With V(approve), V(retry) and V(skip), the one Task that is meant.
    type: str
    default: ""
  node:
    description:
      - With V(skip), the Node that is left out of everything that is still to be done.
      - It is refused where the Action would end without a step of the whole cluster, or record of the control plane what is not so.
    type: str
    default: ""
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
  idempotent:
    support: partial
    details:
      - V(approve), V(retry) and V(skip) of a command fail where there is nothing (more) to approve, retry or skip.
seealso:
  - module: kubeadm.control_plane.operator_info
"""

EXAMPLES = r"""
- name: Hold an upgrade before its next node
  kubeadm.control_plane.operator_flow:
    cluster: prod
    store:
      path: /srv/clusters/store
    verb: pause
"""

RETURN = r"""
action:
  description: The Action's name.
  returned: success
  type: str
go_on:
  description: Whether there is something for a run to do now.
  returned: success
  type: bool
msg:
  description: What was said to the Action.
  returned: always
  type: str
"""
