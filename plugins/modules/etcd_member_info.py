#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_member_info
short_description: Show the members of an etcd cluster, as each reports them
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Asks every member of an etcd cluster itself for its member list, its status, its alarms and a linearizable read,
    all at once, and says whether they agree.
  - It needs nothing on the machine but Python - no C(etcdctl). It uses etcd's JSON gateway, which is on by default.
extends_documentation_fragment:
  - kubeadm.control_plane._etcd
  - kubeadm.control_plane._etcd.credentials
  - kubeadm.control_plane._node
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
seealso:
  - module: kubeadm.control_plane.etcd_member
"""

EXAMPLES = r"""
- name: Look at etcd from a control plane node
  kubeadm.control_plane.etcd_member_info:
  become: true
  register: seen

- name: Show the unhealthy members
  ansible.builtin.debug:
    msg: "{{ seen.etcd.statuses | dict2items | rejectattr('value.healthy') | items2dict }}"
"""

RETURN = r"""
etcd:
  description: The cluster. IDs are 16 hexadecimal digits.
  returned: success
  type: dict
  contains:
    reachable:
      description: Whether any member gave its list.
      type: bool
      returned: success
    message:
      description: Why not, or what the members disagree about.
      type: str
      returned: success
    members:
      description: The members, each with C(id), C(name), C(peerURLs), C(clientURLs) and C(isLearner).
      type: list
      elements: dict
      returned: success
    memberListAgrees:
      description: Whether all members that answered list the same members; null where too few answered to tell.
      type: bool
      returned: success
    leader:
      description: The ID of the leader; null where there is none, or the members disagree.
      type: str
      returned: success
    clusterID:
      description: The ID of the cluster.
      type: str
      returned: success
    alarms:
      description: The alarms that are raised, each with C(memberID) and C(alarm).
      type: list
      elements: dict
      returned: success
    statuses:
      description:
        - For each member, by its ID, whether it is proven healthy, why not, its version, its sizes in bytes, and
          where its log stands.
      type: dict
      returned: success
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.etcd import arguments as etcd_arguments
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(etcd_arguments.ETCD, fencing=False)
    with module.failing(NodeError):
        module.check()
    view = etcd_arguments.cluster(module.params).patient_view()
    module.exit_json(changed=False, etcd=view.document())


if __name__ == "__main__":
    main()
