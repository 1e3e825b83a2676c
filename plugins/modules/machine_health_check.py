#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_health_check
short_description: Check the machines' health and mark unhealthy ones for remediation
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Observes a cluster, evaluates its C(MachineHealthCheck) objects as Cluster API does, and marks machines by the conditions C(HealthCheckSucceeded) and
    C(OwnerRemediated), by which M(kubeadm.control_plane.decide) remediates. It removes nothing and changes nothing in the cluster.
  - A machine is unhealthy when a condition of its Node or of its Machine has had an unhealthy status for the timeout, when its Node was deleted, when it got no
    Node in time, or when a person asks for its remediation with the annotation C(cluster.x-k8s.io/remediate-machine).
  - What is not known is not unhealthy. While no API server answers, no machine is evaluated and every mark stays as it is.
  - More machines that are not healthy than a MachineHealthCheck allows keep all of them from being marked for remediation by it.
  - The caller holds the cluster's lock (M(kubeadm.control_plane.run)).
options:
  remediate:
    description:
      - Names of machines that are to be remediated, whatever health checks say of them; each gets the annotation C(cluster.x-k8s.io/remediate-machine).
      - Names of other clusters' machines are left out. Where none is this cluster's, RV(concerned) is V(false) and nothing is done.
    type: list
    elements: str
    default: []
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
      - Shows what would be marked.
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - Observed conditions and times of evaluation are written each time; only changed marks are reported as a change.
seealso:
  - module: kubeadm.control_plane.decide
  - module: kubeadm.control_plane.cluster_status
"""

EXAMPLES = r"""
- name: Check the machines
  kubeadm.control_plane.machine_health_check:
    cluster: prod
    store:
      path: /srv/clusters/store
  register: health

- name: Notify the operator
  ansible.builtin.debug:
    msg: "{{ item.machine }}: {{ item.message }}"
  loop: "{{ health.unhealthy }}"
"""

RETURN = r"""
exists:
  description: Whether the store has the cluster.
  returned: success
  type: bool
concerned:
  description: Whether the cluster was checked. V(false) where it does not exist, or none of O(remediate) is its machine.
  returned: success
  type: bool
machines:
  description: What was found of every machine that a MachineHealthCheck covers.
  returned: success
  type: list
  elements: dict
  contains:
    machine:
      description: The machine's name.
      type: str
    state:
      description: V(healthy), V(unhealthy), V(pending) (unhealthy when it lasts), V(deleting) or V(unknown).
      type: str
    reason:
      description: The reason's stable name.
      type: str
      sample: UnhealthyNode
    message:
      description: The reason in words.
      type: str
    marked:
      description: Whether it is marked for remediation.
      type: bool
    note:
      description: What became of it, such as why it was not marked.
      type: str
    healthChecks:
      description: The MachineHealthChecks that say so.
      type: list
      elements: str
unhealthy:
  description: Those of RV(machines) that are unhealthy.
  returned: success
  type: list
  elements: dict
health_checks:
  description: The MachineHealthChecks, with whether their limits allow remediation.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    allowed:
      description: Whether it allows remediation; null where no machine was evaluated.
      type: bool
    message:
      description: Why not.
      type: str
    expected:
      description: How many machines it covers.
      type: int
    healthy:
      description: How many of them are healthy.
      type: int
    skipped:
      description: Machines that it selects and that an annotation excludes.
      type: list
      elements: str
msg:
  description: What was found, in one line.
  returned: success
  type: str
"""
