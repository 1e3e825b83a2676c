#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_lock
short_description: Acquire or release a cluster's lock
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Takes the lock that lets one run at a time change a cluster, or releases it.
  - The lock names its holder (user, host, process, AWX job). A helper process renews it and ends with the run, so a killed run's lock is free at once on the
    same host, and after it made no progress as seen by the waiter elsewhere; clocks are never compared.
  - A lock that another run holds is a failure that names the holder; nothing waits for it. With O(skip_if_held) it is no failure.
options:
  state:
    description: Whether this run is to hold the lock.
    type: str
    choices: [present, absent]
    default: present
  skip_if_held:
    description: Whether a lock that another run holds is no failure; RV(held_by) then names the holder, and the caller does nothing under the lock.
    type: bool
    default: false
    version_added: 0.3.0
  use_export:
    description:
      - Whether the copy that O(store.export) of another store left may be worked with, because the cluster's own API doesn't answer. It counts as newer than
        what the API has from then on. See M(kubeadm.control_plane.cluster_export).
    type: bool
    default: false
    version_added: 0.7.0
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
      - In check mode the lock is not taken, as nothing will be changed under it.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.decide
"""

EXAMPLES = r"""
- name: Take the lock
  kubeadm.control_plane.cluster_lock:
    cluster: prod
    store:
      path: /srv/clusters/store
  register: lease

- name: Release it
  kubeadm.control_plane.cluster_lock:
    cluster: prod
    store:
      path: /srv/clusters/store
    state: absent
"""

RETURN = r"""
fencing:
  description: The number of this holding; it grows with every holder and travels with every irreversible call. 0 in check mode.
  returned: O(state=present)
  type: int
  sample: 7
run:
  description: The run's name in the journal. Empty in check mode.
  returned: O(state=present)
  type: str
  sample: 3f9a1c2b
held_by:
  description: Who holds the lock, where that is another run; empty where this run holds it.
  returned: O(state=present)
  type: str
  version_added: 0.3.0
released:
  description: Whether a lock of this run was released.
  returned: O(state=absent)
  type: bool
"""
