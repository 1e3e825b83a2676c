#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_bootstrap
short_description: Bootstrap a booted machine as control plane node with kubeadm
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Renders the machine's KubeadmConfig for the kubeadm API version that its Kubernetes version wants and runs kubeadm C(init) or C(join) on it, with the
    files, users and commands of the configuration.
  - The commands run on the machine as one transient systemd unit. A run that is killed leaves it running; the next one finds it, waits for it and takes its
    result, and never starts a second one.
  - A bootstrap token is minted on a control plane machine for each join, lives for minutes and is deleted after use.
options:
  name:
    description: The machine's name.
    type: str
    required: true
  fencing:
    description: The number of this run's lock, as M(kubeadm.control_plane.run) returns it. The machine refuses a smaller one than it has seen.
    type: int
    required: true
  learner:
    description:
      - Whether the etcd member of a machine that joins is added as a learner before kubeadm is started, and promoted as soon as it has caught up. kubeadm of
        Kubernetes 1.19 or newer takes the member that is there; etcd has learners since 3.4 (docs/decisions/104-member-joins-as-learner.md).
      - It counts for the call that starts the bootstrap. Where it is not known beforehand which address the machine's etcd will have, kubeadm adds the
        member.
    type: bool
    default: false
    version_added: 0.10.0
  wait:
    description: Whether the end of the bootstrap is waited for.
    type: bool
    default: true
  timeout:
    description:
      - For how many seconds at most.
      - The machine itself ends what was started after twice as long, and not before 30 minutes, whoever waits for it (docs/reference/bootstrap.md).
    type: int
    default: 900
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
    details:
      - The configuration holds tokens and keys.
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.node_bootstrap
"""

EXAMPLES = r"""
- name: Bootstrap
  kubeadm.control_plane.machine_bootstrap:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-control-plane-x7k2p
    fencing: "{{ lease.fencing }}"
"""

RETURN = r"""
state:
  description: V(Running) or V(Succeeded); a failed bootstrap is a failure.
  returned: success, not in check mode
  type: str
output:
  description: The end of the output of the command that failed, without secrets.
  returned: failure of a command on the machine
  type: str
"""
