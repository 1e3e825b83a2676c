#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: worker_turn
short_description: Whether a step begins with another worker
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - A step takes workers one after another for a while; then everything is observed again, so that the control plane comes first.
  - Fails where the run no longer holds the cluster's lock.
options:
  until:
    description: Until when (seconds since 1970) the step begins with another worker, as M(kubeadm.control_plane.worker_machines) or
      M(kubeadm.control_plane.worker_removal) said.
    type: float
    required: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
seealso:
  - module: kubeadm.control_plane.worker_machines
  - module: kubeadm.control_plane.worker_removal
"""

EXAMPLES = r"""
- name: See whether there is time for another worker
  kubeadm.control_plane.worker_turn:
    cluster: prod
    store:
      path: /srv/clusters/store
    until: "{{ made.until }}"
"""

RETURN = r"""
begins:
  description: Whether the time has not come yet.
  returned: success
  type: bool
"""
