#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_status
short_description: Show a cluster's state and return it as data
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Observes the cluster through one of its healthy machines and prints a verdict, what next with what to type, and the step that failed last. Then comes one
    table, with replicas desired, ready and up to date, the version, etcd's members with leader and alarms, each machine's conditions, and whether kube-proxy
    and the cluster's DNS work and new Nodes can register.
  - Changes nothing, takes no lock and can run beside a reconcile.
options:
  kubeconfig:
    description:
      - A file to which the administrator's kubeconfig is written, readable for its owner alone.
      - A file that holds anything but a kubeconfig of this cluster alone is never overwritten.
    type: path
  show:
    description: Whether the table is printed.
    type: bool
    default: true
  fail_when:
    description:
      - Fail, after the table was printed, where the cluster is one of these. The result has RV(status) all the same.
      - V(unhealthy) where something does not work or nothing is known of it, V(blocked) where no step is taken until a person acts, V(outdated) where the
        cluster is not as the stored manifest says, or an Action or a rotation of certificate authorities is not over.
    type: list
    elements: str
    choices: [unhealthy, blocked, outdated]
    default: []
    version_added: 0.10.0
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
    support: full
"""

EXAMPLES = r"""
- name: Show the cluster and keep its kubeconfig
  kubeadm.control_plane.cluster_status:
    cluster: prod
    store:
      path: /srv/clusters/store
    kubeconfig: /srv/clusters/prod.kubeconfig
  register: prod
"""

RETURN = r"""
status:
  description: What the table shows.
  returned: success
  type: dict
  contains:
    observedAt:
      description: When the cluster was observed, by the controller's clock.
      type: str
      version_added: 0.10.0
    cluster:
      description: Name of the cluster.
      type: str
    replicas:
      description: The numbers of machines desired, existing, ready and up to date.
      type: dict
    version:
      description: The Kubernetes version that the manifest wants, and those that run.
      type: dict
    endpoint:
      description: The control plane endpoint, and whether the API answers there.
      type: dict
    etcd:
      description:
        - The members with leader, learners and alarms.
        - C(quorum) has the C(voters), the C(healthy) ones, the C(quorum) and the C(tolerance), C(raftTerm) is the leader's term.
          Since release 0.10.0.
      type: dict
    machines:
      description: Each machine with version, failure domain, Node, conditions and, since release 0.10.0, when its certificates end.
      type: list
      elements: dict
    addons:
      description: Whether kube-proxy and the cluster's DNS work and whether new Nodes can register.
      type: dict
    readinessGates:
      description: Each readiness gate of the user's own with C(name), C(status) (True, False or Unknown) and C(message).
      type: list
      elements: dict
    maintenance:
      description: Whether the maintenance window is open, until when, or when it opens; null where none is set.
      type: dict
    witnesses:
      description: The machines that were asked for a second view of etcd, and whether they gave one.
      type: list
      elements: dict
    decision:
      description: What would be done next, or what the cluster waits for and why.
      type: dict
    host:
      description: The cluster's host in the inventory.
      type: str
      version_added: 0.10.0
    trouble:
      description:
        - What is wrong, in words, by its kind. V(unhealthy), V(blocked) until a person acts, and V(outdated) where the cluster is not as the stored
          manifest says, or an Action or a rotation of certificate authorities is not over; an empty list for each that it is not.
      type: dict
      version_added: 0.10.0
    next:
      description:
        - What comes next. C(message) is what reconcile would do, or what is waited for, C(todo) what a person does, and C(command) what to type.
      type: dict
      version_added: 0.10.0
    lastFailure:
      description:
        - The step that failed last, with C(at), C(action), C(target), C(message) and C(isLast), whether no step was finished since. Null where none did.
      type: dict
      version_added: 0.10.0
"""
