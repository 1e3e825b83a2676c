#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operator_action
short_description: Start an Action on a cluster's nodes, with its plan frozen
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads an Action (or a detached TaskGroup or Task) of C(operator.kubeadm.x-k8s.io/v1alpha1) from a file, from a spec, or from the store, and checks it.
  - Asks the cluster for its Nodes and for how each is reached, works out every TaskGroup and Task in order, and keeps the object with that plan and its
    hash in the store. Nothing is run on a node; M(kubeadm.control_plane.operator_next) and M(kubeadm.control_plane.operator_task) do that.
  - Refuses what can't be carried out, with the reason, and has then written nothing. A rollout under way, a second Action, a selected node that
    can't be reached, and an Action that asks for something else than the stored one of its name are refused.
  - While the cluster is paused (docs/eda.md, "A pause") no Action begins, unless in check mode or as a dry run; that is no failure.
  - An Action that has begun is found again; one that has ended never runs again, which is no failure.
options:
  manifest:
    description: File with exactly one Action, TaskGroup or Task. It is read as data, never as a template.
    type: path
  spec:
    description: An Action's spec, as a manifest of an Action has it.
    type: dict
  name:
    description:
      - The Action's name. With O(spec) and without a name, it is called after cluster and kind, with a number.
      - Without O(manifest) and O(spec), the stored Action that is meant; without a name the one that has begun and not ended.
    type: str
    default: ""
  mode:
    description: The executionMode of an object that says none. V(Controlled) stops before each Task, V(DryRun) shows every Task and runs none.
    type: str
    choices: ["", Auto, Controlled, DryRun]
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
      - The exact ordered list of Tasks, and what each would run, is shown and returned. Nothing is written anywhere.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.operator_next
"""

EXAMPLES = r"""
- name: Begin an upgrade
  kubeadm.control_plane.operator_action:
    cluster: prod
    store:
      path: /srv/clusters/store
    spec:
      upgrade:
        targetVersion: v1.21.0
    fencing: "{{ lease.fencing }}"
  register: begun
"""

RETURN = r"""
action:
  description: The Action's name.
  returned: success
  type: str
kind:
  description: V(Action), V(TaskGroup) or V(Task).
  returned: success
  type: str
act:
  description: Whether there is something to run.
  returned: success
  type: bool
step:
  description:
    - V(would) in check mode where a run would run Tasks. V(paused) where it is held, V(aborted) where it was given up before it began. In check mode also
      what keeps an Action that has begun from continuing, as M(kubeadm.control_plane.operator_next) names it. Else it is empty.
  returned: success
  type: str
left_endpoint:
  description: Whether a run that was killed may have left a machine outside the control plane's endpoint, so that it must be brought back first.
  returned: success
  type: bool
groups:
  description: The plan's TaskGroups in their order.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The TaskGroup's name.
      type: str
    nodes:
      description: Its Nodes in their order.
      type: list
      elements: str
    maxUnavailable:
      description: On how many of them it works at a time.
      type: int
msg:
  description: What was begun, or why nothing was; in check mode every Task with what it would run.
  returned: always
  type: str
"""
