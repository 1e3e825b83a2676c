#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operator_info
short_description: Show a cluster's Actions
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Shows all Actions of a cluster, or one with its TaskGroups and Tasks, their commands, exit statuses, times and notes.
  - Nothing is asked of the cluster, and nothing is written.
options:
  name:
    description: The Action that is shown with its Tasks; without it all are listed.
    type: str
    default: ""
  task:
    description: With O(name), the one Task that is shown.
    type: str
    default: ""
  logs:
    description: With O(name), whether what was kept of the commands' outputs is shown too.
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
  - kubeadm.control_plane._attributes.info_module
seealso:
  - module: kubeadm.control_plane.operator_flow
"""

EXAMPLES = r"""
- name: What did the upgrade do on each node?
  kubeadm.control_plane.operator_info:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-upgrade-1
    logs: true
"""

RETURN = r"""
actions:
  description: The Actions, the oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    kind:
      description: What it does, the field of its spec that says it; V(TaskGroup) or V(Task) for a detached one.
      type: str
    mode:
      description: Its executionMode.
      type: str
    phase:
      description: V(Pending), V(Running), V(Paused), V(Failed), V(Succeeded), V(Aborted) or V(Deleted).
      type: str
    tasks:
      description: How many of its Tasks are done.
      type: str
      sample: 2/4
    started:
      description: When it began.
      type: str
    ended:
      description: When it ended.
      type: str
    message:
      description: Why it failed or paused.
      type: str
tasks:
  description: The Tasks that were made, in the plan's order, each with the records of its commands.
  returned: when O(name) is given
  type: list
  elements: dict
msg:
  description: The same as text.
  returned: always
  type: str
"""
