#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_alarm
short_description: List etcd's alarms, and disarm those whose cause is gone
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Run it on a control plane node.
  - V(NOSPACE) is disarmed only where every member that raised it has a database below 95% of its quota; otherwise etcd would raise it again at once.
    The refusal gives the figures. With O(defragment=true), this machine's member is defragmented first. Other members are defragmented on their own machines,
    one after another.
  - A member that is defragmented serves nothing meanwhile. It is refused, with the figures, where etcd would have no quorum then. If the member leads,
    leadership moves first.
  - V(CORRUPT) is disarmed only for the member that O(corrupt_member) names.
options:
  state:
    description: Whether alarms are listed, or disarmed.
    type: str
    choices: [listed, disarmed]
    default: listed
  alarm:
    description: The alarm that is disarmed.
    type: str
    choices: [NOSPACE, CORRUPT]
    default: NOSPACE
  defragment:
    description:
      - With O(state=disarmed) and O(alarm=NOSPACE), whether this machine's member is defragmented first. Without an alarm, it is where less than half of its
        database is in use.
    type: bool
    default: false
  compact:
    description:
      - With O(state=disarmed) and O(alarm=NOSPACE), whether etcd forgets first what was overwritten or deleted, where the alarm is raised. That frees what a
        defragmentation then gives back. kube-apiserver compacts every five minutes by itself, but not while the alarm is raised, as its compaction begins
        with a write. Clients that watch from an older revision list again, as after each of kube-apiserver's own.
    type: bool
    default: false
    version_added: 0.5.0
  allow_interruption:
    description:
      - Whether a member is defragmented too that is the only voter of a cluster, or one of two that both serve. etcd serves nothing meanwhile.
      - For one of two voters since release 0.10.0; before, it was refused.
    type: bool
    default: false
  corrupt_member:
    description: The ID of the member whose alarm V(CORRUPT) is disarmed; the consent that this needs.
    type: str
  quota:
    description: The quota of the members' databases, in bytes. V(0) takes what this machine's static pod manifest says, or etcd's default of 2 GiB.
    type: int
    default: 0
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
    details:
      - What would be refused is refused in check mode too. A defragmentation is taken to leave what is in use.
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.etcd_member_info
"""

EXAMPLES = r"""
- name: Which alarms are raised?
  kubeadm.control_plane.etcd_alarm:
  become: true
  register: etcd

- name: Make room in every member, one after another, and take NOSPACE back at the last
  kubeadm.control_plane.etcd_alarm:
    state: disarmed
    compact: true
    defragment: true
  become: true
  throttle: 1
"""

RETURN = r"""
msg:
  description: What was found or done, or why it was refused, with the figures.
  returned: always
  type: str
reason:
  description: A stable name of the refusal.
  returned: when refused
  type: str
  sample: NoSpaceLeft
alarms:
  description: The alarms that are raised, or are left, each with C(memberID) and C(alarm).
  returned: success
  type: list
  elements: dict
sizes:
  description: For each member that answers, by its ID, its C(name), and C(dbSize), C(dbSizeInUse) and C(quota) in bytes.
  returned: success
  type: dict
defragmented:
  description: The member that was defragmented, or would be; empty for none.
  returned: success
  type: str
quorum:
  description: Voters, healthy voters, quorum and tolerance, before and while a member is defragmented.
  returned: when the figures were worked out
  type: dict
"""

import typing as t

from ..module_utils.common.guard import NodeError, read_text
from ..module_utils.common.quorum import Verdict
from ..module_utils.etcd import arguments as etcd_arguments
from ..module_utils.etcd.alarms import CORRUPT, NOSPACE, disarm, listed, quota_of
from ..module_utils.etcd.membership import MembershipError
from ..module_utils.etcd.snapshot.tool import MANIFEST
from ..module_utils.etcd.types import Alarm, from_hex
from ..module_utils.etcd.view import View
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["listed", "disarmed"], "default": "listed"},
            "alarm": {"type": "str", "choices": [NOSPACE, CORRUPT], "default": NOSPACE},
            "compact": {"type": "bool", "default": False},
            "defragment": {"type": "bool", "default": False},
            "allow_interruption": {"type": "bool", "default": False},
            "corrupt_member": {"type": "str"},
            "quota": {"type": "int", "default": 0},
            "cluster_id": {"type": "str"},
            **etcd_arguments.ETCD,
        },
    )
    params = module.params
    with module.failing(MembershipError, NodeError, ValueError):
        module.check()
        quota = params["quota"] or quota_of(read_text(MANIFEST))
        cluster_id = from_hex(params["cluster_id"]) if params["cluster_id"] else None
        cluster = etcd_arguments.cluster(params)
        if params["state"] == "listed":
            view = listed(cluster, cluster_id)
            said = f"{len(view.alarms)} alarms are raised" if view.alarms else "no alarm is raised"
            module.exit_json(
                changed=False, msg=said, alarms=shown(view.alarms), sizes=sizes(view, quota), defragmented=""
            )
        done = disarm(
            cluster,
            params["alarm"],
            quota=quota,
            compact=params["compact"],
            defragment=params["defragment"],
            corrupt_member=from_hex(params["corrupt_member"]) if params["corrupt_member"] else None,
            allow_interruption=params["allow_interruption"],
            cluster_id=cluster_id,
            check=module.check_mode,
            before_change=module.check,
        )
    module.exit_json(
        changed=done.changed,
        msg=done.message,
        alarms=shown(done.alarms),
        sizes=sizes(done.view, quota),
        defragmented=done.defragmented,
        diff={"before": {"alarms": shown(done.before)}, "after": {"alarms": shown(done.alarms)}},
        **figures(done.verdict),
    )


def figures(verdict: t.Optional[Verdict]) -> dict[str, t.Any]:
    """Return the figures of a verdict as a part of the result."""
    if verdict is None:
        return {}
    return {"quorum": {"before": verdict.before.document(), "after": verdict.after.document()}}


def shown(alarms: t.Iterable[Alarm]) -> list[dict[str, str]]:
    """Return alarms in the form of the module's result."""
    return [each.document() for each in alarms]


def sizes(view: View, quota: int) -> dict[str, dict[str, t.Any]]:
    """Return the database size of every member that reported one."""
    found = {}
    for member in view.members:
        witness = view.witnesses.get(member.id)
        if witness is not None and witness.status is not None:
            status = witness.status
            known = {"name": member.name, "dbSize": status.db_size, "dbSizeInUse": status.db_size_in_use}
            found[member.hex_id] = {**known, "quota": quota}
    return found


if __name__ == "__main__":
    main()
