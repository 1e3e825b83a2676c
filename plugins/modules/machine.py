#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine
short_description: Create the objects of a control plane machine, or mark it for deletion
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(state=present), makes the infrastructure machine, the KubeadmConfig and the Machine, in this order, and completes what an earlier run left half
    done. A machine prepared ahead is used when it still matches.
  - With O(state=absent), marks the Machine for deletion, and does nothing else. The next run of the playbook C(reconcile) takes it out of the control plane
    as safely as any other, and replaces it where fewer machines than wanted are left.
  - It works on objects; the infrastructure itself is the provider's.
options:
  state:
    description: Whether the machine's objects are to exist.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: The machine's name. A new one is made up when it is left out; needed for O(state=absent).
    type: str
  kind:
    description: Whether the machine's configuration is the one of the first machine or of one that joins; by default V(init) when there is no machine yet.
    type: str
    choices: [init, join]
  failure_domain:
    description: The failure domain of a new machine; empty where the cluster has none.
    type: str
    default: ""
  prepare:
    description: The failure domains of the machines whose infrastructure objects are made ahead of their turn.
    type: list
    elements: str
    default: []
  prepare_names:
    description: The names of these machines, in the same order, where a plan fixed them; names are made up for the rest.
    type: list
    elements: str
    default: []
    version_added: 0.2.0
  remediation:
    description:
      - With O(state=absent), what is recorded on the KubeadmControlPlane before the machine is marked for deletion, as the decision gives it. The machine that
        replaces this one carries the record afterwards; how often a replacement is tried is counted in it.
    type: dict
    suboptions:
      machine:
        description: Name of the removed machine.
        type: str
        required: true
      timestamp:
        description: When it was removed, RFC 3339.
        type: str
        required: true
      retryCount:
        description: How many times a replacement was tried before.
        type: int
        required: true
    version_added: 0.2.0
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
    support: full
  idempotent:
    support: partial
    details:
      - Without O(name) every call with O(state=present) makes one more machine.
"""

EXAMPLES = r"""
- name: Complete a machine
  kubeadm.control_plane.machine:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-control-plane-x7k2p
    kind: join

- name: Have a machine removed by the next reconcile
  kubeadm.control_plane.machine:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-control-plane-x7k2p
    state: absent
"""

RETURN = r"""
name:
  description: The machine's name.
  returned: O(state=present), not in check mode
  type: str
provisioned:
  description: Whether its infrastructure was made already, and all instance data recorded that its configuration names.
  returned: O(state=present), not in check mode
  type: bool
infrastructure_machine:
  description: The contract variable of the same name.
  returned: O(state=present), not in check mode
  type: dict
prepared:
  description: The machines to be made ahead, each as the contract variable infrastructure_machine.
  returned: O(state=present), not in check mode
  type: list
  elements: dict
msg:
  description: What was done.
  returned: O(state=absent)
  type: str
"""
