#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_export
short_description: Copy a cluster's objects to the controller
version_added: 0.7.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Brings the copy that O(store.export) names to what the Kubernetes API has of a cluster now, as a store of type V(file) whose Secrets are encrypted with the
    run's vault password. Where the option isn't given, nothing is done.
  - It is for clusters that keep their own objects - while such a cluster's API is down, the copy is the store that it is restored with.
  - A copy that has been worked with since is left as it is, and the call fails.
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
seealso:
  - module: kubeadm.control_plane.cluster_move
"""

EXAMPLES = r"""
- name: Keep a copy
  kubeadm.control_plane.cluster_export:
    cluster: prod
    store:
      type: kubernetes
      kubeconfig: /srv/clusters/prod.kubeconfig
      path: /srv/clusters/journal
      export: /srv/clusters/export
"""

RETURN = r"""
directory:
  description: The folder of the copy; empty where none is kept.
  returned: success
  type: str
changes:
  description: What was brought into the copy, in words. It is no change of the cluster, and the task counts as unchanged.
  returned: success
  type: list
  elements: str
"""
