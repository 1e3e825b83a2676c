#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_backup
short_description: Back up a cluster's etcd to a machine and the controller
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Takes a snapshot with M(kubeadm.control_plane.etcd_snapshot) on the newest machine that can, preferring one that knows a leader, and brings a copy home
    where O(directory) says so. A machine with another etcd cluster than the recorded one takes none. Nothing that is older is removed before the new one is
    whole and verified.
  - It needs no lock and may run beside any other run.
  - The copy is named after the controller's clock, and takes no name that a file has. One that is no database of etcd's, or another cluster's, is not kept.
  - An external etcd is backed up where it runs. Of its cluster nothing is done here; C(msg) says so, and nothing fails.
  - A snapshot holds every Secret of the cluster. Folders are made for their owner alone, files with mode 0600.
options:
  name:
    description: What the file's name has behind the cluster's.
    type: str
    default: backup
  directory:
    description:
      - The folder on the controller for copies; they go to C(NAMESPACE/CLUSTER) in it. Without it, the snapshot stays on the machine alone.
      - One that goes with the container of a job, as in AWX, is refused.
    type: path
    default: ""
  keep:
    description:
      - How many backups of this O(name) are kept, on the machine and on the controller.
      - On the controller, those that came from the new one's machine and those that came from others are counted apart.
    type: int
    default: 7
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
    support: none
    details:
      - Every call takes another backup.
seealso:
  - module: kubeadm.control_plane.etcd_snapshot
  - module: kubeadm.control_plane.cluster_restore
"""

EXAMPLES = r"""
- name: Back up and bring home
  kubeadm.control_plane.cluster_backup:
    cluster: prod
    store:
      path: /srv/clusters/store
    directory: /srv/backups
    keep: 48
"""

RETURN = r"""
msg:
  description: What was kept where, or that etcd is external.
  returned: success
  type: str
machine:
  description: The machine that keeps it.
  returned: success, unless etcd is external
  type: str
path:
  description: The file there.
  returned: success, not in check mode, unless etcd is external
  type: str
backup:
  description: The copy on the controller.
  returned: where O(directory) is given, not in check mode, unless etcd is external
  type: str
revision:
  description: The revision of the snapshot; null where no tool read it.
  returned: success, not in check mode, unless etcd is external
  type: int
taken_at:
  description: When it was taken, by the machine's clock.
  returned: success, not in check mode, unless etcd is external
  type: str
bytes:
  description: Its size.
  returned: success, not in check mode, unless etcd is external
  type: int
sha256:
  description: The SHA-256 of the file.
  returned: success, not in check mode, unless etcd is external
  type: str
verified_by:
  description: What verified it, see M(kubeadm.control_plane.etcd_snapshot).
  returned: success, not in check mode, unless etcd is external
  type: str
verify_note:
  description: Why no tool verified it; empty where one did.
  returned: success, not in check mode, unless etcd is external
  type: str
cluster_id:
  description: The ID of the etcd cluster.
  returned: success, not in check mode, unless etcd is external
  type: str
etcd_version:
  description: The version of the member.
  returned: success, not in check mode, unless etcd is external
  type: str
removed:
  description: Older files that were removed, on the machine and on the controller.
  returned: success, not in check mode, unless etcd is external
  type: list
  elements: str
"""
