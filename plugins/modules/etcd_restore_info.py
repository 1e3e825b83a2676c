#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_restore_info
short_description: List a node's sources for an etcd restore
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads whether etcd on this machine answers and knows a leader, who its members are and which of them listen, how far its data
    goes, and which snapshots are kept on this machine. It works where etcd has lost its quorum or doesn't run.
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
seealso:
  - module: kubeadm.control_plane.etcd_restore
"""

EXAMPLES = r"""
- name: What is there to restore from?
  kubeadm.control_plane.etcd_restore_info:
  become: true
  register: etcd
"""

RETURN = r"""
etcd:
  description:
    - Whether it C(answers), its C(leader), this machine's C(memberID), the C(clusterID), and the C(members), each with the address at which it C(listens).
  returned: success
  type: dict
data:
  description:
    - The C(revision) and the C(clusterID) of this machine's own data, or the C(message) that says why they are unknown. Of a machine that was stopped, they
      are those of the data that was moved aside.
  returned: success
  type: dict
snapshots:
  description: The snapshots on this machine, the highest revision first - C(path), C(revision), C(cluster_id), C(taken_at), C(bytes), C(sha256), C(message).
  returned: success
  type: list
  elements: dict
restore:
  description: A restore that was begun and not taken note of; null where there is none.
  returned: success
  type: dict
stopped:
  description: Whether the control plane was stopped here with M(kubeadm.control_plane.etcd_restore).
  returned: success
  type: bool
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.etcd.restore.info import gather
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule({})
    with module.failing(NodeError):
        module.check()
        found = gather()
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
