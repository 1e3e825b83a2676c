#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_leader
short_description: Move the leadership of an etcd cluster away from a member
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Sees to it that one member does not lead, so that etcd needs no election when that member goes. Run it on any control
    plane node whose member answers.
  - Leadership moves only to a voter that has just proven itself healthy, with a linearizable read. The module waits
    until the members agree on the new leader.
  - A member that does not lead, or that is not there, is no change.
  - Only the leader itself can hand over. One that can't be asked is refused (RV(reason=LeaderSilent)); M(kubeadm.control_plane.etcd_member) removes it.
options:
  member_id:
    description:
      - The ID of the member that is not to lead, up to 16 hexadecimal digits, as M(kubeadm.control_plane.etcd_member_info)
        or C(etcdctl member list) shows it.
    type: str
  name:
    description:
      - The name of the member that is not to lead. kubeadm sets it to the Node's.
      - With O(member_id) also given, both must fit.
    type: str
  to:
    description:
      - Names of the members that may lead instead, best first. Each is tried in this order, and no other is.
      - Without it, every healthy voter is tried, the one whose log is furthest first.
    type: list
    elements: str
    default: []
  cluster_id:
    description: The ID of the etcd cluster that is meant. Another cluster is refused.
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._etcd
  - kubeadm.control_plane._etcd.credentials
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.etcd_member
  - module: kubeadm.control_plane.etcd_member_info
"""

EXAMPLES = r"""
- name: Let another member lead before this machine is maintained
  kubeadm.control_plane.etcd_leader:
    name: prod-control-plane-x7k2p
  become: true

- name: The same, with the newest machine first
  kubeadm.control_plane.etcd_leader:
    name: prod-control-plane-x7k2p
    to:
      - prod-control-plane-9qd4w
      - prod-control-plane-c2m8t
  become: true
"""

RETURN = r"""
msg:
  description: What was done, or why it was not.
  returned: always
  type: str
reason:
  description: A stable name of the refusal.
  returned: when refused
  type: str
  sample: LeadershipNotMoved
leader:
  description:
    - The member that leads now, with C(id), C(name), C(peerURLs), C(clientURLs) and C(isLearner). In check mode, the one that still leads.
  returned: success
  type: dict
"""

import typing as t

from ..module_utils.common.guard import NodeError
from ..module_utils.etcd import arguments as etcd_arguments
from ..module_utils.etcd.leadership_transfer import hand_over
from ..module_utils.etcd.membership import MembershipError
from ..module_utils.etcd.types import from_hex
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "member_id": {"type": "str"},
            "name": {"type": "str"},
            "to": {"type": "list", "elements": "str", "default": []},
            "cluster_id": {"type": "str"},
            **etcd_arguments.ETCD,
        },
        required_one_of=[("member_id", "name")],
    )
    params = module.params
    with module.failing(MembershipError, NodeError, ValueError):
        module.check()
        done = hand_over(
            etcd_arguments.cluster(params),
            member_id=from_hex(params["member_id"]) if params["member_id"] else None,
            name=params["name"],
            to=params["to"],
            cluster_id=from_hex(params["cluster_id"]) if params["cluster_id"] else None,
            check=module.check_mode,
            before_change=module.check,
        )
    result: dict[str, t.Any] = {"changed": done.changed, "msg": done.message, "leader": done.leader.document()}
    if done.changed:
        before = done.before.get(done.before.leader)
        after = "another healthy voter" if module.check_mode else done.leader.name
        result["diff"] = {"before": {"leader": before.name if before else ""}, "after": {"leader": after}}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
