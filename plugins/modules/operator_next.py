#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operator_next
short_description: Decide an Action's next step
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Compares an Action with its frozen plan and with the cluster's Nodes, writes phases, counters and reasons, makes the next TaskGroup and Tasks, and says
    which Tasks are to be run now.
  - Whatever is not as it was frozen pauses the Action, and is named. While the cluster is paused (docs/eda.md, "A pause") no Task is to be run.
options:
  name:
    description: The Action's name; without it the one that has begun and not ended.
    type: str
    default: ""
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
    details:
      - What would be written stays in memory.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.operator_task
"""

EXAMPLES = r"""
- name: What is to be run now?
  kubeadm.control_plane.operator_next:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-upgrade-1
    fencing: "{{ lease.fencing }}"
  register: step
"""

RETURN = r"""
step:
  description: What comes next.
  returned: success
  type: str
  choices: [run, completed, aborted, paused, approval, failed, inconsistent, pending]
act:
  description: Whether RV(tasks) are to be run.
  returned: success
  type: bool
fails:
  description: Whether the user must do something before it can continue.
  returned: success
  type: bool
action:
  description: The Action's name.
  returned: success
  type: str
tasks:
  description: The names of the Tasks that are to be run, wait for approval, or have failed.
  returned: success
  type: list
  elements: str
out_of_endpoint:
  description:
    - The machines to take from behind the control plane's endpoint while RV(tasks) run, as these stop their API servers.
    - Empty where no other API server behind it is ready.
  returned: success
  type: list
  elements: str
phase:
  description: The Action's phase.
  returned: success
  type: str
msg:
  description: What stands, and what to type; empty where Tasks are to be run.
  returned: always
  type: str
"""
